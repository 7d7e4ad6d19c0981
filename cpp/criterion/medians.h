// Absolute error: a node predicts the weighted median, and a test is worth what it takes off the sum of absolute
// differences from the median.
//
//   absolute_error  weight * impurity = sum w |y - median of y|
//
// Medians cannot be computed from cells of fixed size, so cells only add up weights, and searching a test needs the
// rows themselves (split/find_medians.h). Numbers are rounded to 62 bits and weights to 52; sums of their products
// are whole numbers, the same in any order of the rows.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "criterion/stats.h"
#include "criterion/vectors.h"

namespace hornbeam::criterion {

__extension__ using WideInt = __int128;

// The cells of squared error supply the weights and counts that every criterion must give.
class MedianScorer : public VectorScorer<VectorSquaredError> {
 public:
  static constexpr bool kShowsAnother = true;
  static constexpr bool kNeedsRows = true;

  MedianScorer(const Target& target, const Sample& sample)
      : VectorScorer(VectorStats(target, sample)),
        numbers_(std::make_shared<std::vector<std::int64_t>>(target.reals.size())) {
    const auto n_outputs = static_cast<std::size_t>(target.n_outputs);
    for (std::size_t o = 0; o < n_outputs; ++o) {
      double least = kInfinity;
      double largest = -kInfinity;
      for (const RowId row : sample.rows) {
        least = std::min(least, target.real(row, static_cast<int>(o)));
        largest = std::max(largest, target.real(row, static_cast<int>(o)));
      }
      const double centre = least / 2 + largest / 2;
      const double radius = largest / 2 - least / 2;
      int exponent = 0;
      std::frexp(radius, &exponent);
      for (const RowId row : sample.rows) {
        const double moved = target.real(row, static_cast<int>(o)) - centre;
        (*numbers_)[row * n_outputs + o] = std::llround(std::ldexp(moved, 61 - exponent));
      }
      // Errors of all outputs are added up in the same unit.
      units_.push_back(std::ldexp(1.0, exponent - 61) * stats().weight_unit());
    }
  }

  std::int64_t number(RowId row, int output) const {
    return (*numbers_)[static_cast<std::size_t>(row) * units_.size() + static_cast<std::size_t>(output)];
  }
  double unit(int output) const { return units_[static_cast<std::size_t>(output)]; }
  int n_outputs() const { return static_cast<int>(units_.size()); }

 private:
  std::shared_ptr<std::vector<std::int64_t>> numbers_;  // [row, output]; shared by the copies of the threads
  std::vector<double> units_;
};

// Weights and weighted numbers by rank, in a Fenwick tree: adding a row takes log n steps, and so does the sum of
// absolute differences from the median.
class AbsoluteErrors {
 public:
  // `numbers` are the numbers of the ranks, ascending.
  void start(std::span<const std::int64_t> numbers) {
    numbers_ = numbers;
    sums_.assign(numbers.size() + 1, {});
    whole_ = {};
    top_ = 1;
    while (2 * top_ <= numbers.size()) top_ *= 2;
  }
  void add(std::size_t rank, std::int64_t weight) {
    const WideInt weighted = WideInt{numbers_[rank]} * weight;
    whole_.weight += weight;
    whole_.sum += weighted;
    for (std::size_t at = rank + 1; at < sums_.size(); at += at & (~at + 1)) {
      sums_[at].weight += weight;
      sums_[at].sum += weighted;
    }
  }
  // The sum of w |y - median| over the rows added so far.
  WideInt error() const {
    // The largest rank with less than half of the weight before it holds the median.
    Sum below;
    std::size_t at = 0;
    for (std::size_t step = top_; step > 0; step /= 2) {
      if (at + step >= sums_.size()) continue;
      const std::int64_t weight = below.weight + sums_[at + step].weight;
      if (2 * weight >= whole_.weight) continue;
      at += step;
      below.weight = weight;
      below.sum += sums_[at].sum;
    }
    const WideInt median = at < numbers_.size() ? numbers_[at] : 0;
    return (whole_.sum - 2 * below.sum) - median * (whole_.weight - 2 * below.weight);
  }

 private:
  struct Sum {
    std::int64_t weight = 0;
    WideInt sum = 0;
  };
  std::span<const std::int64_t> numbers_;
  std::vector<Sum> sums_;  // as Fenwick has them: [i] of the ranks up to i - 1 that its lowest bit spans
  Sum whole_;
  std::size_t top_ = 1;
};

}  // namespace hornbeam::criterion
