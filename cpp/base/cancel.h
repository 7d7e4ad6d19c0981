// Stopping work that runs without Python's lock. Loops over rows call `poll` with the amount of work they have just
// done. About every 50 ms the thread that Python called asks the host whether a signal came; if so, it sets a flag
// that all threads see.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <utility>

namespace hornbeam {

// Thrown in whichever thread notices; the bindings turn it into the exception Python has already set.
struct Cancelled : std::exception {
  const char* what() const noexcept override { return "the work was interrupted"; }
};

class Cancel {
 public:
  // `host_wants_stop` runs on the calling thread only; it may be null (tests, pure C++ programs).
  explicit Cancel(bool (*host_wants_stop)() = nullptr)
      : host_wants_stop_(host_wants_stop), last_asked_(Clock::now().time_since_epoch().count()) {}

  void request() { stop_.store(true, std::memory_order_relaxed); }
  bool requested() const { return stop_.load(std::memory_order_relaxed); }
  bool ask_host() const { return host_wants_stop_ != nullptr && host_wants_stop_(); }

  // For the calling thread: asks the host, unless it was asked a short while ago.
  void ask_host_now_and_then() {
    const auto now = Clock::now().time_since_epoch();
    if (now - Clock::duration(last_asked_.load(std::memory_order_relaxed)) < kHostInterval) return;
    last_asked_.store(now.count(), std::memory_order_relaxed);
    if (!ask_host()) return;
    request();
    throw Cancelled();
  }

 private:
  friend class CancelPoller;
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kHostInterval{50};

  std::atomic<bool> stop_{false};
  bool (*host_wants_stop_)();
  std::atomic<Clock::rep> last_asked_;
  std::atomic<std::size_t> uncounted_{0};  // work counted by earlier pollers of the calling thread
};

// One per thread and piece of work: counts work, so that the clock is read rarely. Pieces may be short, like the
// trees of a forest of stumps, so on the calling thread a poller goes on counting where the last one ended.
class CancelPoller {
 public:
  CancelPoller(Cancel& cancel, bool on_calling_thread)
      : cancel_(&cancel), on_calling_thread_(on_calling_thread) {
    if (on_calling_thread_) done_ = cancel_->uncounted_.exchange(0, std::memory_order_relaxed);
  }
  CancelPoller(CancelPoller&& other) noexcept
      : cancel_(other.cancel_),
        on_calling_thread_(other.on_calling_thread_),
        done_(std::exchange(other.done_, 0)) {}
  CancelPoller(const CancelPoller&) = delete;
  CancelPoller& operator=(const CancelPoller&) = delete;
  CancelPoller& operator=(CancelPoller&&) = delete;
  ~CancelPoller() {
    if (on_calling_thread_) cancel_->uncounted_.fetch_add(done_, std::memory_order_relaxed);
  }

  // `work` is in row visits, roughly nanoseconds.
  void poll(std::size_t work) {
    done_ += work;
    if (done_ < kWorkBetweenChecks) return;
    done_ = 0;
    if (cancel_->requested()) throw Cancelled();
    if (on_calling_thread_) cancel_->ask_host_now_and_then();
  }

 private:
  static constexpr std::size_t kWorkBetweenChecks = 1 << 18;

  Cancel* cancel_;
  bool on_calling_thread_;
  std::size_t done_ = 0;
};

}  // namespace hornbeam
