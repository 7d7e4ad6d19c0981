// Stopping work that runs without Python's lock. Loops over rows call `poll` with the work they just did;
// about every 50 ms the thread that called in from Python asks the host whether a signal came, and raises a
// flag all threads see.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>

namespace hornbeam {

// Thrown in whichever thread notices; the bindings turn it into the exception Python has already set.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "the work was interrupted"; }
};

class Cancel {
 public:
  // `host_wants_stop` runs on the calling thread only; it may be null (tests, pure C++ programs).
  explicit Cancel(bool (*host_wants_stop)() = nullptr) : host_wants_stop_(host_wants_stop) {}

  void request() { stop_.store(true, std::memory_order_relaxed); }
  bool requested() const { return stop_.load(std::memory_order_relaxed); }
  bool ask_host() const { return host_wants_stop_ != nullptr && host_wants_stop_(); }

 private:
  std::atomic<bool> stop_{false};
  bool (*host_wants_stop_)();
};

// One per thread and piece of work: counts work so that the clock is read rarely.
class CancelPoller {
 public:
  CancelPoller(Cancel& cancel, bool on_calling_thread)
      : cancel_(&cancel), on_calling_thread_(on_calling_thread), last_(Clock::now()) {}

  // `work` is in row visits, roughly nanoseconds.
  void poll(std::size_t work) {
    done_ += work;
    if (done_ < kWorkBetweenChecks) return;
    done_ = 0;
    check();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kWorkBetweenChecks = 1 << 18;
  static constexpr std::chrono::milliseconds kHostInterval{50};

  void check() {
    if (cancel_->requested()) throw Cancelled();
    if (!on_calling_thread_ || Clock::now() - last_ < kHostInterval) return;
    last_ = Clock::now();
    if (cancel_->ask_host()) {
      cancel_->request();
      throw Cancelled();
    }
  }

  Cancel* cancel_;
  bool on_calling_thread_;
  Clock::time_point last_;
  std::size_t done_ = 0;
};

}  // namespace hornbeam
