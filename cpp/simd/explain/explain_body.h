// The loops of explain/explain_kernels.h, for one instruction set; plain loops that compilers make wide.
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

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

void set_bits(const std::uint8_t* __restrict bits, std::size_t n, int place,
              std::uint8_t* __restrict patterns) {
  for (std::size_t i = 0; i < n; ++i)
    patterns[i] = static_cast<std::uint8_t>(patterns[i] | (bits[i] << place));
}

#if defined(__AVX512F__)
// Eight rows at a time: a register for what each has to say to the eight sums, turned into one for each sum.
void look_up(const std::uint8_t* patterns, std::size_t n, const double* table, double* const* sums) {
  for (std::size_t i = 0; i < n; i += 8) {
    __m512d r[8];
    for (int k = 0; k < 8; ++k) r[k] = _mm512_loadu_pd(table + std::size_t{patterns[i + k]} * kTables);
    __m512d pairs[8];
    for (int k = 0; k < 8; k += 2) {
      pairs[k] = _mm512_unpacklo_pd(r[k], r[k + 1]);
      pairs[k + 1] = _mm512_unpackhi_pd(r[k], r[k + 1]);
    }
    // Each of `pairs` has sums 0, 2, 4, 6 or 1, 3, 5, 7 of two rows; quarters go where they belong.
    for (int odd = 0; odd < 2; ++odd) {
      const __m512d a = _mm512_shuffle_f64x2(pairs[odd], pairs[2 + odd], 0x88);
      const __m512d b = _mm512_shuffle_f64x2(pairs[odd], pairs[2 + odd], 0xdd);
      const __m512d c = _mm512_shuffle_f64x2(pairs[4 + odd], pairs[6 + odd], 0x88);
      const __m512d d = _mm512_shuffle_f64x2(pairs[4 + odd], pairs[6 + odd], 0xdd);
      const __m512d found[4] = {_mm512_shuffle_f64x2(a, c, 0x88), _mm512_shuffle_f64x2(b, d, 0x88),
                                _mm512_shuffle_f64x2(a, c, 0xdd), _mm512_shuffle_f64x2(b, d, 0xdd)};
      for (int quarter = 0; quarter < 4; ++quarter) {
        double* sum = sums[2 * quarter + odd] + i;
        _mm512_storeu_pd(sum, _mm512_add_pd(_mm512_loadu_pd(sum), found[quarter]));
      }
    }
  }
}
#else
void look_up(const std::uint8_t* patterns, std::size_t n, const double* table, double* const* sums) {
  for (std::size_t i = 0; i < n; ++i) {
    const double* found = table + std::size_t{patterns[i]} * kTables;
    for (std::size_t k = 0; k < kTables; ++k) sums[k][i] += found[k];
  }
}
#endif

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

void add_scaled(const double* __restrict from, double scale, std::size_t n, double* __restrict to) {
  for (std::size_t i = 0; i < n; ++i) to[i] += scale * from[i];
}

}  // namespace

extern const ExplainKernels explain_table;
const ExplainKernels explain_table = {compare,       set_bits,  look_up,   descend,
                                      descend_again, share_out, add_scaled};

}  // namespace hornbeam::explain::HORNBEAM_KERNELS
