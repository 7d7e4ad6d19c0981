// Loops of threads that work on different things, for a thread that has nothing to do to join.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <vector>

#include "hornbeam/parallel.h"

namespace hornbeam {

class OpenLoops {
 public:
  using Task = std::function<void(std::size_t, int)>;

  // `opened` is called whenever there is a loop to join.
  explicit OpenLoops(std::function<void()> opened) : opened_(std::move(opened)) {}

  // Calls task(index, worker) for every index in [0, n_tasks), on this thread as `worker` and on those that
  // join. Returns when all are done. The first exception ends the loop and is rethrown here.
  void run(std::size_t n_tasks, int worker, const Task& task);

  // Whether there is a loop to join.
  bool has_tasks();

  // Works on somebody's loop, if there is one, until its tasks are handed out.
  void join(int worker);

 private:
  struct Loop {
    Loop(std::size_t n, const Task& t) : n_tasks(n), task(t) {}
    bool has_tasks() const { return next.load(std::memory_order_relaxed) < n_tasks; }
    void work(int worker);

    const std::size_t n_tasks;
    const Task& task;
    std::atomic<std::size_t> next{0};
    std::atomic<int> n_joined{0};
    std::atomic<bool> failed{false};
    std::exception_ptr error;  // of the first that failed
  };

  Loop* find();

  std::function<void()> opened_;
  SpinLock lock_;  // of the list
  std::vector<Loop*> open_;
};

}  // namespace hornbeam
