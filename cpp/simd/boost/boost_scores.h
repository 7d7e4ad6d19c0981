// Kernels that score the cuts of a feature from the sums of its codes.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "base/math.h"
#include "boost/boost_kernels.h"
#include "boost/histogram/tiles.h"

namespace hornbeam::boost::HORNBEAM_KERNELS {

using data::Number;

namespace {

double shrunk(double gradient, double l1) {
  const double size = (gradient < 0 ? -gradient : gradient) - l1;
  return size > 0 ? size : 0.0;  // its square is all that is needed
}

// Eight running maxima, since each step of a single one would have to wait for the step before.
double largest_of(const double* scores, std::size_t n) {
  constexpr std::size_t kLanes = 8;
  double best[kLanes];
  for (double& b : best) b = -kInfinity;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) best[j] = scores[i + j] > best[j] ? scores[i + j] : best[j];
  }
  for (; i < n; ++i) best[0] = std::max(best[0], scores[i]);
  return *std::max_element(best, best + kLanes);
}

// G_l^2 / (H_l + l2) + G_r^2 / (H_r + l2) with one division.
template <bool kShrink, class Number>
double score_cuts(const Number* __restrict left_gradients, const Number* __restrict left_hessians,
                  std::size_t n, const CutTerms& terms, double* __restrict scores) {
  const double gradient = terms.gradient;
  const double hessian = terms.hessian;
  const double unit = terms.hessian_unit;
  const double l1 = terms.l1;
  const double l2 = terms.l2;
  const double least = terms.min_hessian;
  for (std::size_t i = 0; i < n; ++i) {
    double gl = static_cast<double>(left_gradients[i]);
    const double hl = static_cast<double>(left_hessians[i]);
    double gr = gradient - gl;
    const double hr = hessian - hl;
    if constexpr (kShrink) {
      gl = shrunk(gl, l1);
      gr = shrunk(gr, l1);
    }
    const double a = hl * unit + l2;
    const double b = hr * unit + l2;
    const double score = (gl * gl * b + gr * gr * a) / (a * b);
    scores[i] = ((hl >= least) & (hr >= least)) ? score : -kInfinity;
  }
  return largest_of(scores, n);
}

// Compares every key with every other: for few keys this is faster than sorting, whose branches are
// unpredictable.
void rank_keys(const double* keys, std::size_t n, std::uint32_t* places) {
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t place = 0;
#if defined(__AVX512F__)
    const __m512d key = _mm512_set1_pd(keys[i]);
    for (std::size_t j = 0; j < n; j += 8) {
      const auto first = [j](std::size_t end) {  // of eight from j, those before `end`
        return static_cast<__mmask8>(end >= j + 8 ? 0xff : end <= j ? 0 : (1u << (end - j)) - 1);
      };
      const __m512d eight = _mm512_maskz_loadu_pd(first(n), keys + j);
      const unsigned less = _mm512_mask_cmp_pd_mask(first(n), eight, key, _CMP_LT_OQ);
      const unsigned equal = _mm512_mask_cmp_pd_mask(first(i), eight, key, _CMP_EQ_OQ);
      place += static_cast<std::uint64_t>(std::popcount(less | equal));
    }
#else
    for (std::size_t j = 0; j < i; ++j) place += keys[j] <= keys[i];
    for (std::size_t j = i + 1; j < n; ++j) place += keys[j] < keys[i];
#endif
    places[i] = static_cast<std::uint32_t>(place);
  }
}

#if defined(__AVX512F__)

std::size_t first_at_least(const double* scores, std::size_t n, double floor) {
  const __m512d least = _mm512_set1_pd(floor);
  for (std::size_t i = 0;; i += 8) {
    const auto inside = static_cast<__mmask8>(n - i >= 8 ? 0xff : (1u << (n - i)) - 1);
    const __m512d eight = _mm512_maskz_loadu_pd(inside, scores + i);
    const auto found = _mm512_mask_cmp_pd_mask(inside, eight, least, _CMP_GE_OQ);
    if (found != 0) return i + static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(found)));
  }
}

// Running sums of eight cells: three shifted additions.
__m512i prefix_sums(__m512i cells) {
  const __m512i zero = _mm512_setzero_si512();
  cells = _mm512_add_epi64(cells, _mm512_alignr_epi64(cells, zero, 7));
  cells = _mm512_add_epi64(cells, _mm512_alignr_epi64(cells, zero, 6));
  return _mm512_add_epi64(cells, _mm512_alignr_epi64(cells, zero, 4));
}

// The same operations in the same order as score_cuts, eight cuts at a time.
template <bool kShrink>
double score_eights(const PackedCell* cells, std::size_t n, PackedCell start, const CutTerms& terms,
                    double* scores) {
  const __m512d gradient = _mm512_set1_pd(terms.gradient);
  const __m512d hessian = _mm512_set1_pd(terms.hessian);
  const __m512d unit = _mm512_set1_pd(terms.hessian_unit);
  const __m512d l1 = _mm512_set1_pd(terms.l1);
  const __m512d l2 = _mm512_set1_pd(terms.l2);
  const __m512d least = _mm512_set1_pd(terms.min_hessian);
  const __m512d never = _mm512_set1_pd(-kInfinity);
  const __m512i low_half = _mm512_set1_epi64(0xffffffff);
  const __m512i last = _mm512_set1_epi64(7);
  const auto shrink = [&](__m512d g) {
    return _mm512_max_pd(_mm512_sub_pd(_mm512_abs_pd(g), l1), _mm512_setzero_pd());
  };
  __m512i carried = _mm512_set1_epi64(static_cast<long long>(start));
  __m512d largest = never;
  for (std::size_t i = 0; i < n; i += 8) {
    const auto inside = static_cast<__mmask8>(n - i >= 8 ? 0xff : (1u << (n - i)) - 1);
    const __m512i left = _mm512_add_epi64(prefix_sums(_mm512_maskz_loadu_epi64(inside, cells + i)), carried);
    carried = _mm512_permutexvar_epi64(last, left);
    __m512d gl = _mm512_cvtepi64_pd(_mm512_srai_epi64(left, 32));
    const __m512d hl = _mm512_cvtepi64_pd(_mm512_and_si512(left, low_half));
    __m512d gr = _mm512_sub_pd(gradient, gl);
    const __m512d hr = _mm512_sub_pd(hessian, hl);
    if constexpr (kShrink) {
      gl = shrink(gl);
      gr = shrink(gr);
    }
    const __m512d a = _mm512_add_pd(_mm512_mul_pd(hl, unit), l2);
    const __m512d b = _mm512_add_pd(_mm512_mul_pd(hr, unit), l2);
    const __m512d above =
        _mm512_add_pd(_mm512_mul_pd(_mm512_mul_pd(gl, gl), b), _mm512_mul_pd(_mm512_mul_pd(gr, gr), a));
    const __mmask8 enough =
        _mm512_cmp_pd_mask(hl, least, _CMP_GE_OQ) & _mm512_cmp_pd_mask(hr, least, _CMP_GE_OQ);
    const __m512d score = _mm512_mask_div_pd(never, enough, above, _mm512_mul_pd(a, b));
    _mm512_mask_storeu_pd(scores + i, inside, score);
    largest = _mm512_mask_max_pd(largest, inside, largest, score);
  }
  return _mm512_reduce_max_pd(largest);
}

double score_packed(const PackedCell* cells, std::size_t n, PackedCell start, const CutTerms& terms,
                    double* scores) {
  return terms.l1 > 0 ? score_eights<true>(cells, n, start, terms, scores)
                      : score_eights<false>(cells, n, start, terms, scores);
}

#else

std::size_t first_at_least(const double* scores, std::size_t, double floor) {
  std::size_t i = 0;
  while (scores[i] < floor) ++i;
  return i;
}

double score_packed(const PackedCell* cells, std::size_t n, PackedCell start, const CutTerms& terms,
                    double* scores) {
  std::int32_t gradients[kCellsPerSlot];
  std::int32_t hessians[kCellsPerSlot];
  PackedCell left = start;
  for (std::size_t i = 0; i < n; ++i) {
    left += cells[i];
    gradients[i] = static_cast<std::int32_t>(left >> 32);
    hessians[i] = static_cast<std::int32_t>(left);
  }
  return terms.l1 > 0 ? score_cuts<true>(gradients, hessians, n, terms, scores)
                      : score_cuts<false>(gradients, hessians, n, terms, scores);
}

#endif

double score_wide(const WideCell* cells, std::size_t n, const WideCell& start, const CutTerms& terms,
                  double* scores) {
  double gradients[kCellsPerSlot];
  double hessians[kCellsPerSlot];
  WideCell left = start;
  for (std::size_t i = 0; i < n; ++i) {
    left += cells[i];
    gradients[i] = static_cast<double>(left.gradient);
    hessians[i] = static_cast<double>(left.hessian);
  }
  return terms.l1 > 0 ? score_cuts<true>(gradients, hessians, n, terms, scores)
                      : score_cuts<false>(gradients, hessians, n, terms, scores);
}

}  // namespace

}  // namespace hornbeam::boost::HORNBEAM_KERNELS
