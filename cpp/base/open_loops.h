// Parallel loops that idle threads may join while their owners work on different things.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <vector>

#include "base/parallel.h"
#include "base/work_stealing.h"

namespace hornbeam {

class OpenLoops {
 public:
  using Task = std::function<void(std::size_t, int)>;

  // `opened` is called whenever there is a loop to join.
  explicit OpenLoops(std::function<void()> opened) : opened_(std::move(opened)) {}

  // Calls task(index, worker) for every index in [0, n_tasks). This thread is `worker` and begins with the first
  // index; threads that join begin with the last. Returns when all are done. The first exception ends the loop
  // and is rethrown here.
  void run(std::size_t n_tasks, int worker, const Task& task);

  // Whether there is a loop to join.
  bool has_tasks();

  // Joins a loop, if one is open, until all its tasks are handed out.
  void join(int worker);

 private:
  struct Loop {
    Loop(std::size_t n_tasks, const Task& t) : tasks(n_tasks, 1), task(t) {}
    void work(int worker, bool is_owner);

    TaskRuns tasks;
    const Task& task;
    std::atomic<int> n_joined{0};
    std::atomic<bool> failed{false};
    std::exception_ptr error;  // of the first that failed
  };

  Loop* find();
  void wait_for_joined(const Loop& loop);

  std::function<void()> opened_;
  SpinLock lock_;  // of the list
  std::vector<Loop*> open_;
  std::atomic<int> n_departures_{0};  // of threads that had joined a loop
};

}  // namespace hornbeam
