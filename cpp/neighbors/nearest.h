// The k nearest rows of one query among those offered so far; rows and their distances may come in any order.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "neighbors/distances.h"

namespace hornbeam::neighbors {

// Nearer first; of equally near rows the one with the smaller number.
struct Neighbor {
  double distance;
  std::uint32_t row;

  friend bool operator<(const Neighbor& a, const Neighbor& b) {
    return a.distance < b.distance || (a.distance == b.distance && a.row < b.row);
  }
};

// In memory that belongs to the caller. A few neighbours are kept in order, which moves fewer of them than a
// heap; more are a heap with the worst of the k on top.
class Nearest {
 public:
  explicit Nearest(std::span<Neighbor> found) : found_(found) {}

  // A row farther than this is not among the k; one exactly as far may be.
  double worst() const { return worst_; }

  void offer(Neighbor candidate) {
    if (found_.size() <= kFew) {
      insert(candidate);
    } else {
      push(candidate);
    }
  }

  // The neighbours in order. Sorts the heap, so nothing may be offered afterwards.
  std::span<const Neighbor> sorted() {
    if (found_.size() > kFew) std::sort(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(size_));
    return found_.first(size_);
  }

 private:
  static constexpr std::size_t kFew = 24;

  void insert(Neighbor candidate) {
    if (size_ < found_.size()) {
      ++size_;
    } else if (!(candidate < found_[size_ - 1])) {
      return;
    }
    std::size_t place = size_ - 1;
    for (; place > 0 && candidate < found_[place - 1]; --place) found_[place] = found_[place - 1];
    found_[place] = candidate;
    if (size_ == found_.size()) worst_ = found_[size_ - 1].distance;
  }

  void push(Neighbor candidate) {
    if (size_ < found_.size()) {
      found_[size_++] = candidate;
      std::push_heap(found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(size_));
    } else if (candidate < found_[0]) {
      std::pop_heap(found_.begin(), found_.end());
      found_.back() = candidate;
      std::push_heap(found_.begin(), found_.end());
    }
    if (size_ == found_.size()) worst_ = found_[0].distance;
  }

  std::span<Neighbor> found_;
  std::size_t size_ = 0;
  double worst_ = std::numeric_limits<double>::infinity();
};

// Offers points 0, 1, ..., at most kMostAtOnce, whose distances are given; `row_of` gives their row numbers.
// Most are too far away, and are skipped eight at a time.
template <class RowOf>
void offer(const DistanceKernels& kernels, std::size_t n_points, const double* distances, Nearest& nearest,
           RowOf row_of) {
  std::uint64_t near_enough = kernels.not_above(distances, n_points, nearest.worst());
  for (; near_enough != 0; near_enough &= near_enough - 1) {
    const int i = std::countr_zero(near_enough);
    if (distances[i] <= nearest.worst()) nearest.offer({distances[i], row_of(static_cast<std::uint32_t>(i))});
  }
}

}  // namespace hornbeam::neighbors
