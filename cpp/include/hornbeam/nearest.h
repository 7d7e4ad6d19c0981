// The k nearest rows of one query, as far as they are known: rows with their distances come in, in any order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace hornbeam {

// Nearer first; of equally near rows the one with the smaller number.
struct Neighbor {
  double distance;
  std::uint32_t row;

  friend bool operator<(const Neighbor& a, const Neighbor& b) {
    return a.distance < b.distance || (a.distance == b.distance && a.row < b.row);
  }
};

// A heap in memory that belongs to the caller, with the worst of the k on top.
class Nearest {
 public:
  explicit Nearest(std::span<Neighbor> room) : room_(room) {}

  // A row that is farther than this is none of the k; one that is as far may be.
  double worst() const {
    return size_ < room_.size() ? std::numeric_limits<double>::infinity() : room_[0].distance;
  }

  void offer(Neighbor candidate) {
    if (size_ < room_.size()) {
      room_[size_++] = candidate;
      std::push_heap(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(size_));
    } else if (candidate < room_[0]) {
      std::pop_heap(room_.begin(), room_.end());
      room_.back() = candidate;
      std::push_heap(room_.begin(), room_.end());
    }
  }

  // The neighbours in order; afterwards the heap is one no more.
  std::span<const Neighbor> sorted() {
    std::sort(room_.begin(), room_.begin() + static_cast<std::ptrdiff_t>(size_));
    return room_.first(size_);
  }

 private:
  std::span<Neighbor> room_;
  std::size_t size_ = 0;
};

// Offers points 0, 1, ... whose distances are given; `row_of` tells their rows. Most are too far, and are
// passed over eight at a time.
template <class RowOf>
void offer(std::size_t n_points, const double* distances, Nearest& nearest, RowOf row_of) {
  constexpr std::size_t kAtOnce = 8;
  for (std::size_t begin = 0; begin < n_points; begin += kAtOnce) {
    const std::size_t end = std::min(begin + kAtOnce, n_points);
    const double worst = nearest.worst();
    bool any = end - begin < kAtOnce;
    if (!any) {
      for (std::size_t i = 0; i < kAtOnce; ++i) any |= distances[begin + i] <= worst;
    }
    if (!any) continue;
    for (std::size_t i = begin; i < end; ++i) {
      if (distances[i] <= nearest.worst())
        nearest.offer({distances[i], row_of(static_cast<std::uint32_t>(i))});
    }
  }
}

}  // namespace hornbeam
