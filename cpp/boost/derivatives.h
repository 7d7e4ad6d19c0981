// First and second derivatives of the loss by the score. Usually they are kept, one per row. If memory is
// short they are computed from the scores each time they are needed: three times per round, which takes less
// time than reading them back from a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.h"
#include "boost/losses.h"

namespace hornbeam::boost {

// Derivatives that are not kept, of a loss with one score.
class FreshDerivatives {
 public:
  // Targets are `y`, unless there are `y_codes` of two classes. The arrays must outlive this and may change.
  FreshDerivatives(std::span<const double> scores, std::span<const float> y,
                   std::span<const std::uint8_t> y_codes, std::span<const float> weights)
      : scores_(scores), y_(y), y_codes_(y_codes), weights_(weights) {}

  void set(const Loss& loss, double huber_delta) {
    loss_ = loss;
    huber_delta_ = huber_delta;
  }
  bool hessian_is_one() const { return loss_.hessian_is_one() && weights_.empty(); }

  // For rows [begin, begin + n); hessians are not written if all are 1.
  void find(std::size_t begin, std::size_t n, float* gradients, float* hessians) const;
  // For n rows of a list, from index `begin` on; an empty list means all rows.
  void find_listed(std::span<const RowId> rows, std::size_t begin, std::size_t n, float* gradients,
                   float* hessians) const;

 private:
  std::span<const double> scores_;
  std::span<const float> y_;
  std::span<const std::uint8_t> y_codes_;
  std::span<const float> weights_;
  Loss loss_;
  double huber_delta_ = 0.0;
};

// One per row of the data set.
struct Derivatives {
  std::span<const float> gradients;
  std::span<const float> hessians;          // empty: all are 1
  bool weighted = false;                    // rows have weights, so their derivatives have no common scale
  const FreshDerivatives* fresh = nullptr;  // if they are not kept

  bool hessian_is_one() const { return fresh == nullptr ? hessians.empty() : fresh->hessian_is_one(); }
};

}  // namespace hornbeam::boost
