#include "base/work_stealing.h"

#include <limits>
#include <stdexcept>

namespace hornbeam {

namespace {

constexpr std::uint64_t pack(std::uint64_t first, std::uint64_t end) {
  return first << 32 | end;
}
constexpr std::uint64_t first_of(std::uint64_t tasks) {
  return tasks >> 32;
}
constexpr std::uint64_t end_of(std::uint64_t tasks) {
  return tasks & 0xffff'ffff;
}
constexpr bool is_empty(std::uint64_t tasks) {
  return first_of(tasks) >= end_of(tasks);
}

}  // namespace

TaskRuns::TaskRuns(std::size_t n_tasks, int n_workers) {
  if (n_tasks > std::numeric_limits<std::uint32_t>::max())
    throw std::length_error("a loop of too many tasks");
  const auto n = static_cast<std::size_t>(n_workers);
  if (n > kFew) many_ = std::vector<Run>(n);
  runs_ = n > kFew ? std::span(many_) : std::span(few_).first(n);
  for (std::size_t i = 0; i < n; ++i) {
    runs_[i].tasks.store(pack(n_tasks * i / n, n_tasks * (i + 1) / n), std::memory_order_relaxed);
  }
}

// Memory that tasks write is synchronised where the loop waits for its end; here threads only have to agree on who
// takes which task.
std::optional<std::size_t> TaskRuns::take(int worker) {
  const auto own = static_cast<std::size_t>(worker);
  std::uint64_t tasks = runs_[own].tasks.load(std::memory_order_relaxed);
  while (!is_empty(tasks)) {
    const std::uint64_t rest = pack(first_of(tasks) + 1, end_of(tasks));
    if (runs_[own].tasks.compare_exchange_weak(tasks, rest, std::memory_order_relaxed))
      return first_of(tasks);
  }
  return help(own + 1);
}

std::optional<std::size_t> TaskRuns::help(std::size_t first) {
  for (std::size_t i = 0; i < runs_.size(); ++i) {
    std::atomic<std::uint64_t>& run = runs_[(first + i) % runs_.size()].tasks;
    std::uint64_t tasks = run.load(std::memory_order_relaxed);
    while (!is_empty(tasks)) {
      const std::uint64_t rest = pack(first_of(tasks), end_of(tasks) - 1);
      if (run.compare_exchange_weak(tasks, rest, std::memory_order_relaxed)) return end_of(tasks) - 1;
    }
  }
  return std::nullopt;
}

bool TaskRuns::has_tasks() const {
  for (const Run& run : runs_) {
    if (!is_empty(run.tasks.load(std::memory_order_relaxed))) return true;
  }
  return false;
}

void TaskRuns::end() {
  for (Run& run : runs_) run.tasks.store(0, std::memory_order_relaxed);
}

}  // namespace hornbeam
