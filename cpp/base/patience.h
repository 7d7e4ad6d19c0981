// Waiting for another thread: looking again and again is quick but takes a processor from everybody else,
// going to sleep takes long until one is awake again.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/platform.h"

namespace hornbeam {

// How long a thread looks for something to happen before it goes to sleep: as long as that has been worth it
// lately. Where processors are free, passes over a node's rows and rounds of boosting follow one another
// quickly, and whoever looked for twice as long as the last wait took mostly sees the next one end. Where other
// processes keep the processors busy, the thread that is waited for has often lost its own for some
// milliseconds; then every wait in vain halves the time, until next to nothing is taken from those others.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr Clock::duration kMost = std::chrono::microseconds(300);
  static constexpr Clock::duration kLeast = std::chrono::microseconds(2);

  // The one of the thread that asks.
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

  // What a wait of this length teaches.
  void learn(Clock::duration waited) {
    if (waited <= kMost) {
      budget_ = std::min(kMost, std::max(budget_, 2 * waited));
    } else {
      budget_ = std::max(kLeast, budget_ / 2);
    }
  }
  Clock::duration budget() const { return budget_; }

 private:
  static constexpr int kLooksBetween = 16;  // looks at the clock
  Clock::duration budget_ = kMost;
};

}  // namespace hornbeam
