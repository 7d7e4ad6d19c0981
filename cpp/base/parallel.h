// The thread pool. One pool per process, started on first use and rebuilt after a fork; a fit borrows some of
// its threads. No OpenMP runtime is loaded, so nothing here can clash with one that is.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>

#include "base/cancel.h"
#include "base/platform.h"

namespace hornbeam {

// Calls task(index, worker) for every index in [0, n_tasks), on at most n_threads threads, the caller being
// worker 0. Each thread begins with a run of neighbouring tasks, the same run in every loop of as many tasks, and
// then takes tasks from the others (base/work_stealing.h). Worker numbers are < n_threads, so each can own a
// workspace. After an exception no further task starts, and the first exception is rethrown here when all running
// tasks have stopped. A call from inside a task runs serially.
void parallel_for(std::size_t n_tasks, int n_threads, const std::function<void(std::size_t, int)>& task,
                  Cancel* cancel = nullptr);

// A lock that is held for a few instructions only. A thread that finds it taken tries again instead of going to
// sleep, as it would with a mutex: falling asleep and waking up takes longer than the work it waits for.
class SpinLock {
 public:
  void lock() {
    while (taken_.test_and_set(std::memory_order_acquire)) {
      for (int i = 0; taken_.test(std::memory_order_relaxed); ++i) {
        if (i < kSpins) {
          relax_processor();
        } else if (i < kSpins + kYields) {
          std::this_thread::yield();  // the owner may be waiting for this processor
        } else {
          std::this_thread::sleep_for(std::chrono::microseconds(50));  // or for another one that is busy
        }
      }
    }
  }
  void unlock() { taken_.clear(std::memory_order_release); }

 private:
  static constexpr int kSpins = 200;
  static constexpr int kYields = 16;
  std::atomic_flag taken_;
};

// Whether the system has refused to start a thread since the last call; fewer threads then did the work.
bool thread_was_refused();

}  // namespace hornbeam
