// The loops over rows of grow/fast/random_nodes.h; included once per instruction set, inside a namespace that
// HORNBEAM_KERNELS names.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "grow/fast/value_block.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

namespace {

#if defined(__AVX512F__)

ValueRange fetch_values(const float* from, const std::uint32_t* offsets, std::size_t n, float* to) {
  __m512 least = _mm512_set1_ps(from[offsets[0]]);
  __m512 largest = least;
  for (std::size_t i = 0; i < n; i += 16) {
    const std::size_t left = std::min<std::size_t>(16, n - i);
    const auto here = static_cast<__mmask16>((1u << left) - 1);
    const __m512i places = _mm512_maskz_loadu_epi32(here, offsets + i);
    const __m512 values = _mm512_mask_i32gather_ps(least, here, places, from, 4);
    _mm512_mask_storeu_ps(to + i, here, values);
    least = _mm512_mask_min_ps(least, here, least, values);
    largest = _mm512_mask_max_ps(largest, here, largest, values);
  }
  return {_mm512_reduce_min_ps(least), _mm512_reduce_max_ps(largest)};
}

// So many words at once, whose sums stay in registers.
template <std::size_t kWords>
std::size_t sum_some_words(const float* values, std::size_t n, float bound, const std::int64_t* words,
                           std::size_t stride, std::int64_t* sums) {
  const __m512 most = _mm512_set1_ps(bound);
  __m512i low[kWords];
  __m512i high[kWords];
  for (std::size_t w = 0; w < kWords; ++w) low[w] = high[w] = _mm512_setzero_si512();
  std::size_t n_found = 0;
  for (std::size_t i = 0; i < n; i += 16) {
    const std::size_t left = std::min<std::size_t>(16, n - i);
    const auto here = static_cast<__mmask16>((1u << left) - 1);
    const std::uint32_t found =
        _mm512_mask_cmp_ps_mask(here, _mm512_maskz_loadu_ps(here, values + i), most, _CMP_LE_OQ);
    n_found += static_cast<std::size_t>(std::popcount(found));
    for (std::size_t w = 0; w < kWords; ++w) {
      const std::int64_t* word = words + w * stride + i;
      low[w] = _mm512_add_epi64(low[w], _mm512_maskz_loadu_epi64(static_cast<__mmask8>(found), word));
      high[w] =
          _mm512_add_epi64(high[w], _mm512_maskz_loadu_epi64(static_cast<__mmask8>(found >> 8), word + 8));
    }
  }
  for (std::size_t w = 0; w < kWords; ++w)
    sums[w] = _mm512_reduce_add_epi64(_mm512_add_epi64(low[w], high[w]));
  return n_found;
}

#else

ValueRange fetch_values(const float* from, const std::uint32_t* offsets, std::size_t n, float* to) {
  ValueRange range{from[offsets[0]], from[offsets[0]]};
  for (std::size_t i = 0; i < n; ++i) {
    const float value = to[i] = from[offsets[i]];
    range.least = value < range.least ? value : range.least;
    range.largest = value > range.largest ? value : range.largest;
  }
  return range;
}

template <std::size_t kWords>
std::size_t sum_some_words(const float* values, std::size_t n, float bound, const std::int64_t* words,
                           std::size_t stride, std::int64_t* sums) {
  std::int64_t total[kWords] = {};
  std::size_t n_found = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int64_t mask = -static_cast<std::int64_t>(values[i] <= bound);
    n_found += static_cast<std::size_t>(-mask);
    for (std::size_t w = 0; w < kWords; ++w) total[w] += words[w * stride + i] & mask;
  }
  std::copy_n(total, kWords, sums);
  return n_found;
}

#endif

std::size_t sum_words(const float* values, std::size_t n, float bound, const std::int64_t* words,
                      std::size_t stride, std::size_t n_words, std::int64_t* sums) {
  std::size_t n_found = 0;
  for (std::size_t w = 0; w < n_words;) {
    const std::int64_t* some = words + w * stride;
    if (n_words - w >= 4) {
      n_found = sum_some_words<4>(values, n, bound, some, stride, sums + w);
      w += 4;
    } else if (n_words - w >= 2) {
      n_found = sum_some_words<2>(values, n, bound, some, stride, sums + w);
      w += 2;
    } else {
      n_found = sum_some_words<1>(values, n, bound, some, stride, sums + w);
      w += 1;
    }
  }
  return n_found;
}

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
