// The loops of explain_kernels.h, for one instruction set; plain loops that compilers make wide.
#include <cstddef>
#include <cstdint>

#include "explain/explain_kernels.h"

namespace hornbeam::explain::HORNBEAM_KERNELS {

namespace {

void compare(const double* values, std::size_t n, double threshold, bool missing_right, std::uint8_t* right) {
  if (missing_right) {
    for (std::size_t i = 0; i < n; ++i) right[i] = !(values[i] <= threshold);
  } else {
    for (std::size_t i = 0; i < n; ++i) right[i] = values[i] > threshold;
  }
}

void look_up(const std::uint8_t* patterns, std::size_t n, const double* __restrict table,
             double* __restrict sums) {
  for (std::size_t i = 0; i < n; ++i) sums[i] += table[patterns[i]];
}

void descend(const double* __restrict above, const double* __restrict in, Factors factors, const double* at,
             std::size_t n_points, double* __restrict below) {
  for (std::size_t t = 0; t < n_points; ++t) {
    const double c = factors.c[t];
    const double slope = at[t];
    for (std::size_t i = 0; i < kLanes; ++i)
      below[t * kLanes + i] = above[t * kLanes + i] * (c + slope * in[i]);
  }
}

void descend_again(const double* __restrict above, const double* __restrict in, Factors factors,
                   const double* __restrict former_in, Factors former, const double* at, std::size_t n_points,
                   double* __restrict below) {
  for (std::size_t t = 0; t < n_points; ++t) {
    const double c = factors.c[t];
    const double slope = at[t];
    const double inverse = former.inverse[t];
    const double more = former.more[t];
    for (std::size_t i = 0; i < kLanes; ++i) {
      const double without = above[t * kLanes + i] * (inverse + more * former_in[i]);
      below[t * kLanes + i] = without * (c + slope * in[i]);
    }
  }
}

void share_out(const double* __restrict worth, const double* __restrict in, double out, Factors factors,
               std::size_t n_points, double scale, double* __restrict parts) {
  double sums[kLanes] = {};
  for (std::size_t t = 0; t < n_points; ++t) {
    const double inverse = factors.inverse[t];
    const double more = factors.more[t];
    for (std::size_t i = 0; i < kLanes; ++i) sums[i] += worth[t * kLanes + i] * (inverse + more * in[i]);
  }
  for (std::size_t i = 0; i < kLanes; ++i) parts[i] += scale * (in[i] - out) * sums[i];
}

}  // namespace

extern const ExplainKernels explain_table;
const ExplainKernels explain_table = {compare, look_up, descend, descend_again, share_out};

}  // namespace hornbeam::explain::HORNBEAM_KERNELS
