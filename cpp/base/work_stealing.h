// The tasks of a loop, shared out between threads so that each meets again what it has in its cache.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hornbeam {

// Tasks 0, 1, ... in runs of neighbours, one run per worker. A worker takes those of its own run in order
// and, when none is left there, the last ones of another's. So in loops that follow one another over the same
// rows a thread mostly has the rows it had before, and nobody waits while there is something to do.
class TaskRuns {
 public:
  TaskRuns(std::size_t n_tasks, int n_workers);
  TaskRuns(const TaskRuns&) = delete;
  TaskRuns& operator=(const TaskRuns&) = delete;

  // A task for this worker, unless all have been taken.
  std::optional<std::size_t> take(int worker);
  // One for somebody without a run, the last of another's; the runs from `first` on are asked first.
  std::optional<std::size_t> help(std::size_t first = 0);
  bool has_tasks() const;
  // Nobody gets a task from now on.
  void end();

 private:
  // The tasks that nobody has taken, first and end in one word so that one exchange takes one; in a cache
  // line of its own, which its worker mostly has to itself.
  struct alignas(64) Run {
    std::atomic<std::uint64_t> tasks{0};
  };
  static constexpr std::size_t kFew = 4;
  Run few_[kFew];  // loops over small nodes are short, so asking for memory would be felt
  std::vector<Run> many_;
  std::span<Run> runs_;
};

}  // namespace hornbeam
