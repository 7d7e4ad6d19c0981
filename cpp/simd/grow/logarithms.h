// Logarithms of many numbers at once, for kernels with wide registers. Included inside the namespace that
// HORNBEAM_KERNELS names.
#pragma once

#include <immintrin.h>

#include "base/math.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

namespace {

// Of eight numbers, as base/math.h computes one.
inline __m512d ln_of(__m512d numbers) {
  alignas(64) double each[8];
  _mm512_store_pd(each, numbers);
  for (double& number : each) number = hornbeam::ln_of(number);
  return _mm512_load_pd(each);
}

// x log2 x of eight numbers, none of which is negative, 0 where the number is; as base/math.h computes one.
inline __m512d x_log2_x(__m512d numbers) {
  const __mmask8 positive = _mm512_cmp_pd_mask(numbers, _mm512_setzero_pd(), _CMP_GT_OQ);
  alignas(64) double each[8];
  _mm512_store_pd(each, _mm512_mask_mov_pd(_mm512_set1_pd(1.0), positive, numbers));
  for (double& number : each) number = hornbeam::log2_of(number);
  return _mm512_maskz_mul_pd(positive, numbers, _mm512_load_pd(each));
}

// The same of sixteen numbers of at most 1, roughly, as base/math.h computes one.
inline __m512 rough_x_log2_x(__m512 numbers) {
  const __m512i bits = _mm512_castps_si512(numbers);
  const __m512i exponents = _mm512_srai_epi32(_mm512_sub_epi32(bits, _mm512_set1_epi32(kRoughMantissa)), 23);
  const __m512i mantissas = _mm512_sub_epi32(bits, _mm512_slli_epi32(exponents, 23));
  const __m512 t = _mm512_sub_ps(_mm512_castsi512_ps(mantissas), _mm512_set1_ps(1.0f));
  __m512 series = _mm512_set1_ps(kRoughSeries[0]);
  for (int i = 1; i < 7; ++i) series = _mm512_fmadd_ps(series, t, _mm512_set1_ps(kRoughSeries[i]));
  return _mm512_mul_ps(numbers, _mm512_fmadd_ps(t, series, _mm512_cvtepi32_ps(exponents)));
}

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
