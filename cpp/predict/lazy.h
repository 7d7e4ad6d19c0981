// A value that is computed from its owner's data when it is first needed. Threads that need it at the same time may
// each compute it; the first to finish wins, and the other results are dropped. There is no lock, because a process
// forked in the meantime would inherit it locked.
#pragma once

#include <atomic>
#include <memory>

namespace hornbeam::predict {

template <class T>
class Lazy {
 public:
  Lazy() = default;
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;
  ~Lazy() { delete made_.load(); }

  // Null if it has not been made yet.
  const T* get() const { return made_.load(std::memory_order_acquire); }

  template <class Make>
  const T& get_or_make(Make&& make) const {
    if (const T* made = get()) return *made;
    auto fresh = std::make_unique<const T>(make());
    const T* before = nullptr;
    if (made_.compare_exchange_strong(before, fresh.get(), std::memory_order_acq_rel))
      return *fresh.release();
    return *before;
  }

 private:
  mutable std::atomic<const T*> made_{nullptr};
};

}  // namespace hornbeam::predict
