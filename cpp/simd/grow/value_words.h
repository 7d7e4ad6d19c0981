// What cells of rows that are a few words have in common (simd/grow/value_sums.h, simd/grow/value_class_counts.h,
// simd/grow/value_class_weights.h).
// The words lie beside the list and move with it; those of rows in lanes are in registers.
// For wide registers; included inside the namespace that HORNBEAM_KERNELS names.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "grow/fast/value_block.h"
#include "simd/grow/value_block_registers.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

namespace {

// The sums of eight registers of eight words each.
[[gnu::always_inline]] inline __m512i sums_of(const __m512i* eight) {
  const auto join = [](__m512i a, __m512i b) {
    return _mm512_add_epi64(_mm512_unpacklo_epi64(a, b), _mm512_unpackhi_epi64(a, b));
  };
  const auto fold = [](__m512i a, __m512i b) {
    return _mm512_add_epi64(_mm512_shuffle_i64x2(a, b, 0x88), _mm512_shuffle_i64x2(a, b, 0xdd));
  };
  const __m512i low = fold(join(eight[0], eight[1]), join(eight[2], eight[3]));
  const __m512i high = fold(join(eight[4], eight[5]), join(eight[6], eight[7]));
  return fold(low, high);
}

__mmask8 low_half(std::uint32_t rows) {
  return static_cast<__mmask8>(rows);
}
__mmask8 high_half(std::uint32_t rows) {
  return static_cast<__mmask8>(rows >> 8);
}

// The same, reversed. It is put together in a mask register: where it has no register left, GCC 12 stores one
// byte of the result of a compare and loads four (seen with -O1 -fsanitize=undefined), so the bits beyond are
// anything.
std::uint32_t both_halves(__mmask8 low, __mmask8 high) {
  return _mm512_kunpackb(high, low);
}

// Which of a stretch of values are not larger than four bounds.
class FourBounds {
 public:
  explicit FourBounds(const float* bounds) {
    for (std::size_t c = 0; c < kFour; ++c) bound_[c] = _mm512_set1_ps(bounds[c]);
  }
  std::uint32_t up_to(std::size_t c, const float* values, Lanes here) const {
    return _mm512_mask_cmp_ps_mask(static_cast<__mmask16>(here), _mm512_loadu_ps(values), bound_[c],
                                   _CMP_LE_OQ);
  }

 private:
  __m512 bound_[kFour];
};

// What cells of words have in common.
class WordCells {
 public:
  using Node = BlockNode;

  explicit WordCells(BlockGrowth& growth)
      : growth_(growth),
        words_(growth.words),
        rules_(growth.rules),
        least_rows_(_mm_set1_epi32(static_cast<int>(growth.rules.min_samples_leaf))) {}

  Node* nodes() const { return words_.nodes; }
  static double tie_scale(std::int32_t) { return 0.0; }
  bool any_pair_will_do() const { return rules_.min_samples_leaf <= 1 && rules_.min_weight == 0; }

  void move_words(const BlockGrowth::Waiting& node, const float* tested, float bound,
                  std::size_t n_left) const {
    const __m512 most = _mm512_set1_ps(bound);
    const std::size_t n_words = words_.n_words + words_.n_carried;
    const std::int64_t* from = words_.word(node.side, 0, node.begin);
    std::int64_t* left = words_.word(1 - node.side, 0, node.begin);
    std::int64_t* right = left + n_left;
    for (std::size_t i = 0; i < node.n_rows; i += 8) {
      const auto here = static_cast<__mmask8>(first_lanes(std::min<std::size_t>(8, node.n_rows - i)));
      const __mmask8 low = _mm256_mask_cmp_ps_mask(here, _mm256_loadu_ps(tested + i),
                                                   _mm512_castps512_ps256(most), _CMP_LE_OQ);
      const auto high = static_cast<__mmask8>(here & ~low);
      const auto n_low = static_cast<std::size_t>(std::popcount(std::uint32_t{low}));
      const auto n_high = static_cast<std::size_t>(std::popcount(std::uint32_t{high}));
      for (std::size_t w = 0, at = 0; w < n_words; ++w, at += words_.stride) {
        const __m512i these = _mm512_loadu_si512(from + i + at);
        _mm512_mask_storeu_epi64(left + at, static_cast<__mmask8>(first_lanes(n_low)),
                                 _mm512_maskz_compress_epi64(low, these));
        _mm512_mask_storeu_epi64(right + at, static_cast<__mmask8>(first_lanes(n_high)),
                                 _mm512_maskz_compress_epi64(high, these));
      }
      left += n_low;
      right += n_high;
    }
  }

 protected:
  // The tests of four that leave enough rows on both sides.
  __mmask8 with_enough_rows(const std::uint32_t* left_rows, std::int32_t node, Lanes informative) const {
    const __m128i left = _mm_loadu_si128(reinterpret_cast<const __m128i*>(left_rows));
    const __m128i all = _mm_set1_epi32(static_cast<int>(words_.nodes[node].samples));
    const __m128i smaller = _mm_min_epi32(left, _mm_sub_epi32(all, left));
    return _mm_mask_cmpge_epi32_mask(static_cast<__mmask8>(informative), smaller, least_rows_);
  }

  void write_samples(std::int32_t parent, std::int32_t first, std::uint32_t left_rows) const {
    words_.nodes[first].samples = left_rows;
    words_.nodes[first + 1].samples = words_.nodes[parent].samples - left_rows;
  }

  // What two branches each of four tests score; kNoTest where one is not admitted.
  static void write_scores(__m512d branches, __mmask8 admitted, double* scores) {
    const __m256d both = _mm256_add_pd(_mm512_castpd512_pd256(branches), _mm512_extractf64x4_pd(branches, 1));
    _mm256_storeu_pd(scores, _mm256_mask_mov_pd(_mm256_set1_pd(kNoTest), admitted, both));
  }

  // A set of lanes for each lane: the ones whose words are its own.
  void find_same(const std::int64_t* words, std::size_t n_rows, std::size_t n_words) {
    for (std::size_t i = 0; i < n_rows; ++i) same_[i] = first_lanes(n_rows);
    for (std::size_t w = 0; w < n_words; ++w, words += words_.stride) {
      const __m512i low = _mm512_loadu_si512(words);
      const __m512i high = _mm512_loadu_si512(words + 8);
      for (std::size_t i = 0; i < n_rows; ++i) {
        const __m512i own = _mm512_set1_epi64(words[i]);
        same_[i] &= both_halves(_mm512_cmpeq_epi64_mask(low, own), _mm512_cmpeq_epi64_mask(high, own));
      }
    }
  }
  bool are_same(Lanes rows) const { return (same_[std::countr_zero(rows)] & rows) == rows; }

  BlockGrowth& growth_;
  const BlockWords& words_;
  const TreeRules& rules_;
  __m128i least_rows_;  // of a branch
  alignas(64) std::uint32_t same_[kLanes] = {};
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
