// Kernels over all rows: derivatives of the losses, how far they spread, and their fixed point.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "boost/boost_kernels.h"

namespace hornbeam::boost::HORNBEAM_KERNELS {

namespace {

// Many sums side by side, put together in a fixed order: the same bits in every build.
BoostKernels::Spread spread(const float* __restrict values, std::size_t n) {
  constexpr std::size_t kLanes = 64;
  double largest[kLanes] = {};
  double sums[kLanes] = {};
  for (std::size_t i = 0; i + kLanes <= n; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double size = std::abs(static_cast<double>(values[i + lane]));
      largest[lane] = largest[lane] < size ? size : largest[lane];
      sums[lane] += size;
    }
  }
  BoostKernels::Spread all;
  const auto take = [&](double most, double sum) {
    all.largest = std::max(all.largest, most);
    all.sum += sum;
  };
  for (std::size_t lane = 0; lane < kLanes; ++lane) take(largest[lane], sums[lane]);
  for (std::size_t i = n - n % kLanes; i < n; ++i) {
    const double size = std::abs(static_cast<double>(values[i]));
    take(size, size);
  }
  return all;
}

template <bool kOnes>
WideCell pack_some(const float* __restrict gradients, const float* __restrict hessians, std::size_t n,
                   RowId first_row, double gradient_scale, double hessian_scale,
                   BoostEntry* __restrict entries) {
  std::int64_t gradient_sum = 0;
  std::int64_t hessian_sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t gradient = fixed_point(gradients[i], gradient_scale);
    const std::int32_t hessian = kOnes ? 1 : fixed_hessian(hessians[i], hessian_scale);
    gradient_sum += gradient;
    hessian_sum += hessian;
    entries[i] = static_cast<std::uint64_t>(static_cast<std::int64_t>(gradient)) << 48 |
                 static_cast<std::uint64_t>(static_cast<std::int64_t>(hessian)) << 32 |
                 (first_row + static_cast<std::uint64_t>(i));
  }
  return {gradient_sum, hessian_sum};
}

WideCell pack_rows(const float* gradients, const float* hessians, std::size_t n, RowId first_row,
                   double gradient_scale, double hessian_scale, BoostEntry* entries) {
  return hessians == nullptr
             ? pack_some<true>(gradients, hessians, n, first_row, gradient_scale, hessian_scale, entries)
             : pack_some<false>(gradients, hessians, n, first_row, gradient_scale, hessian_scale, entries);
}

void log_loss(const double* __restrict scores, const float* __restrict y, std::size_t n,
              float* __restrict gradients, float* __restrict hessians) {
  for (std::size_t i = 0; i < n; ++i) {
    const double p = 1.0 / (1.0 + exp_of(-scores[i]));
    gradients[i] = static_cast<float>(p - static_cast<double>(y[i]));
    hessians[i] = static_cast<float>(p * (1.0 - p));
  }
}

// Goes through all rows class by class. Rows do not depend on each other, so the bits are those of a loop over rows,
// but the exponentials of many rows are computed together.
void softmax(const double* scores, const float* y, std::size_t n, std::size_t n_classes, std::size_t stride,
             double* scratch, float* gradients, float* hessians) {
  double* const most = scratch + n_classes * n;
  double* const sum = most + n;
  for (std::size_t i = 0; i < n; ++i) most[i] = scores[i];
  for (std::size_t k = 1; k < n_classes; ++k) {
    const double* of_class = scores + k * stride;
    for (std::size_t i = 0; i < n; ++i) most[i] = std::max(most[i], of_class[i]);
  }
  for (std::size_t i = 0; i < n; ++i) sum[i] = 0.0;
  for (std::size_t k = 0; k < n_classes; ++k) {
    const double* __restrict of_class = scores + k * stride;
    double* __restrict exponentials = scratch + k * n;
    for (std::size_t i = 0; i < n; ++i) exponentials[i] = exp_of(of_class[i] - most[i]);
    for (std::size_t i = 0; i < n; ++i) sum[i] += exponentials[i];
  }
  for (std::size_t k = 0; k < n_classes; ++k) {
    const double* __restrict exponentials = scratch + k * n;
    const auto number = static_cast<float>(k);
    float* __restrict out = gradients + k * stride;
    float* __restrict out_hessians = hessians + k * stride;
    for (std::size_t i = 0; i < n; ++i) {
      const double probability = exponentials[i] / sum[i];
      const double truth = y[i] == number ? 1.0 : 0.0;
      out[i] = static_cast<float>(probability - truth);
      out_hessians[i] = static_cast<float>(probability * (1.0 - probability));
    }
  }
}

}  // namespace

}  // namespace hornbeam::boost::HORNBEAM_KERNELS
