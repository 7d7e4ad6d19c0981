// A pool of large objects that are used again and again. Thread-safe.
#pragma once

#include <deque>
#include <mutex>
#include <vector>

#include "base/parallel.h"

namespace hornbeam::boost {

template <class Item>
class ReusePool {
 public:
  // A free one, or else a new one, made from `arguments`.
  template <class... Arguments>
  Item* take(Arguments... arguments) {
    const std::lock_guard lock(lock_);
    if (free_.empty()) return &all_.emplace_back(arguments...);
    Item* item = free_.back();
    free_.pop_back();
    return item;
  }
  // Takes nullptr for "none".
  void give_back(Item* item) {
    if (item == nullptr) return;
    const std::lock_guard lock(lock_);
    free_.push_back(item);
  }

 private:
  SpinLock lock_;
  std::deque<Item> all_;  // its members never move
  std::vector<Item*> free_;
};

}  // namespace hornbeam::boost
