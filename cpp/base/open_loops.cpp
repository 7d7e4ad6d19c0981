#include "base/open_loops.h"

#include <mutex>
#include <optional>
#include <thread>

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
  const auto is_left_alone = [&] { return loop.n_joined.load(std::memory_order_acquire) == 0; };
  wait_a_little(is_left_alone);  // the others are about to finish their last task
  while (!is_left_alone()) std::this_thread::yield();
  if (loop.error) std::rethrow_exception(loop.error);
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
  loop->work(worker, false);
  loop->n_joined.fetch_sub(1, std::memory_order_release);  // from here on it may be gone
}

}  // namespace hornbeam
