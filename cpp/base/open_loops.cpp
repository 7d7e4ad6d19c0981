#include "base/open_loops.h"

#include <mutex>
#include <optional>

#include "base/counters.h"
#include "base/patience.h"

namespace hornbeam {

void OpenLoops::Loop::work(int worker, bool is_owner) {
  try {
    while (const std::optional<std::size_t> index = is_owner ? tasks.take(0) : tasks.help()) {
      task(*index, worker);
    }
  } catch (...) {
    tasks.end();
    if (!failed.exchange(true)) error = std::current_exception();
  }
}

void OpenLoops::run(std::size_t n_tasks, int worker, const Task& task) {
  Loop loop(n_tasks, task);
  {
    const std::lock_guard lock(lock_);
    open_.push_back(&loop);
  }
  opened_();
  loop.work(worker, true);
  {
    const std::lock_guard lock(lock_);
    std::erase(open_, &loop);
  }
  wait_for_joined(loop);
  if (loop.error) std::rethrow_exception(loop.error);
}

// The threads that joined are about to finish their last tasks, unless they have lost their processors.
void OpenLoops::wait_for_joined(const Loop& loop) {
  const Timed timed("wait for who joined");
  const auto is_left_alone = [&] { return loop.n_joined.load(std::memory_order_acquire) == 0; };
  Patience::of_this_thread().wait(is_left_alone, [&] {
    const int seen = n_departures_;
    if (!is_left_alone()) n_departures_.wait(seen);
  });
}

// The lock must be held.
OpenLoops::Loop* OpenLoops::find() {
  for (Loop* loop : open_) {
    if (loop->tasks.has_tasks()) return loop;
  }
  return nullptr;
}

bool OpenLoops::has_tasks() {
  const std::lock_guard lock(lock_);
  return find() != nullptr;
}

void OpenLoops::join(int worker) {
  Loop* loop = nullptr;
  {
    const std::lock_guard lock(lock_);
    loop = find();
    if (loop == nullptr) return;
    loop->n_joined.fetch_add(1, std::memory_order_relaxed);
  }
  const Timed timed("help");
  loop->work(worker, false);
  loop->n_joined.fetch_sub(1);  // from here on the loop may be destroyed
  ++n_departures_;
  n_departures_.notify_all();
}

}  // namespace hornbeam
