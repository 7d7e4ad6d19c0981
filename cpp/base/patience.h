// Waiting for another thread. Checking again and again reacts quickly but occupies a processor; a thread that
// sleeps leaves the processor to others but takes long to wake up.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/platform.h"

namespace hornbeam {

// How long a thread keeps checking before it goes to sleep; this follows from its recent waits. Where processors are
// free, passes over a node's rows and rounds of boosting follow one another quickly, and checking for twice as long
// as the last wait took is mostly enough for the next one. Where other processes keep the processors busy, the thread
// that is waited for has often lost its processor for some milliseconds. Then each wait that ends in sleep halves the
// time, until almost nothing is taken from the other processes.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kMost = std::chrono::microseconds(300);
  static constexpr Clock::duration kLeast = std::chrono::microseconds(2);

  // That of the calling thread.
  static Patience& of_this_thread() {
    static thread_local Patience patience;
    return patience;
  }

  // Waits until `happened()`; `sleep()` must return when it has, and may return earlier.
  template <class Happened, class Sleep>
  void wait(Happened happened, Sleep sleep) {
    if (happened()) return;
    const Clock::time_point start = Clock::now();
    Clock::time_point now = start;
    while (now - start < budget_) {
      for (int i = 0; i < kLooksBetween; ++i) {
        relax_processor();
        if (happened()) return learn(Clock::now() - start);
      }
      now = Clock::now();
    }
    while (!happened()) sleep();
    learn(Clock::now() - start);
  }

  // Adapts to a wait of this length.
  void learn(Clock::duration waited) {
    if (waited <= kMost) {
      budget_ = std::min(kMost, std::max(budget_, 2 * waited));
    } else {
      budget_ = std::max(kLeast, budget_ / 2);
    }
  }
  Clock::duration budget() const { return budget_; }

 private:
  static constexpr int kLooksBetween = 16;  // checks between two readings of the clock
  Clock::duration budget_ = kMost;
};

}  // namespace hornbeam
