// First and second derivatives of the loss by the score. As a rule they are kept, one per row. Where memory is
// short they are found again from the scores whenever they are asked for: that is three times per round, and
// takes less time than reading them back from a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.h"
#include "boost/losses.h"

namespace hornbeam::boost {

// Of a loss with one score.
class FreshDerivatives {
 public:
  // Targets are numbers or, if there are any, codes of two classes. All stay alive and may change.
  FreshDerivatives(std::span<const double> scores, std::span<const float> y,
                   std::span<const std::uint8_t> y_codes, std::span<const float> weights)
      : scores_(scores), y_(y), y_codes_(y_codes), weights_(weights) {}

  void set(const Loss& loss, double huber_delta) {
    loss_ = loss;
    huber_delta_ = huber_delta;
  }
  bool hessian_is_one() const { return loss_.hessian_is_one() && weights_.empty(); }

  // Those of rows [begin, begin + n); hessians are left alone if all are 1.
  void find(std::size_t begin, std::size_t n, float* gradients, float* hessians) const;
  // Those of n rows of a list, from place `begin` on; of all rows if it is empty.
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
