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
// worker 0. Each has a run of neighbouring tasks, the same thread the same run in loops of as many tasks, and
// helps others when its own are done (base/work_stealing.h). Worker numbers are < n_threads, so each can own
// a workspace. The first exception wins: no further task starts, and it is rethrown here when all running
// ones have stopped. A call from inside a task runs serially.
void parallel_for(std::size_t n_tasks, int n_threads, const std::function<void(std::size_t, int)>& task,
                  Cancel* cancel = nullptr);

// A lock for a few instructions. Who finds it taken looks again instead of going to sleep, which a mutex does
// at once and which takes a thread longer than the work it waited for.
class SpinLock {
 public:
  void lock() {
    while (taken_.test_and_set(std::memory_order_acquire)) {
      for (int i = 0; taken_.test(std::memory_order_relaxed); ++i) {
        if (i < kSpins) {
          relax_processor();
        } else if (i < kSpins + kYields) {
          std::this_thread::yield();  // its owner may be waiting for this very processor
        } else {
          std::this_thread::sleep_for(std::chrono::microseconds(50));  // or for another, which is busy
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

// Whether the system refused a thread since the last time this was asked; the work was then done by fewer.
bool thread_was_refused();

}  // namespace hornbeam
