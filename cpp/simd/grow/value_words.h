// Rows that are a few words, as cells of simd/grow/value_block_body.h: sums of numbers, weights of two classes,
// counts of more classes. The words lie beside the list and move with it; those of rows in lanes are in registers.
// For wide registers; included inside the namespace that HORNBEAM_KERNELS names.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "criterion/counts.h"
#include "grow/fast/value_block.h"
#include "simd/grow/value_block_registers.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

using criterion::GiniTerm;

namespace {

// The sums of eight registers of eight words each.
__m512i sums_of(const __m512i* eight) {
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

  // What two branches each of four tests score; -1 where a test is not admitted.
  static void write_scores(__m512d branches, __mmask8 admitted, double* scores) {
    const __m256d both = _mm256_add_pd(_mm512_castpd512_pd256(branches), _mm512_extractf64x4_pd(branches, 1));
    _mm256_storeu_pd(scores, _mm256_mask_mov_pd(_mm256_set1_pd(-1.0), admitted, both));
  }

  // A set of lanes for each lane: the ones whose words are its own.
  void find_same(const std::int64_t* words, std::size_t n_rows, std::size_t n_words) {
    for (std::size_t i = 0; i < n_rows; ++i) same_[i] = first_lanes(n_rows);
    for (std::size_t w = 0; w < n_words; ++w, words += words_.stride) {
      const __m512i low = _mm512_loadu_si512(words);
      const __m512i high = _mm512_loadu_si512(words + 8);
      for (std::size_t i = 0; i < n_rows; ++i) {
        const __m512i own = _mm512_set1_epi64(words[i]);
        same_[i] &= std::uint32_t{_mm512_cmpeq_epi64_mask(low, own)} |
                    std::uint32_t{_mm512_cmpeq_epi64_mask(high, own)} << 8;
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

// ---- two sums

struct TwoSums {
  std::int64_t first = 0;
  std::int64_t second = 0;
};

// Four tests: how many rows go left, and what they add up to: the first word of each test, then the second.
struct FourSums {
  std::uint32_t rows[kFour];
  alignas(64) std::int64_t words[2 * kFour];
};

// A branch's weight and score follow from its two sums.
template <class Derived>
class TwoSumCells : public WordCells {
 public:
  using Counts = FourSums;
  using Left = TwoSums;

  using WordCells::WordCells;

  // ---- nodes whose rows move

  Counts count(const FourColumns& columns, const BlockGrowth::Waiting& node, const FourTests& tests) const {
    const FourBounds bounds(tests.bound);
    const std::int64_t* first = words_.word(node.side, 0, node.begin);
    const std::int64_t* second = words_.word(node.side, 1, node.begin);
    __m512i sums[2 * kFour];
    for (__m512i& sum : sums) sum = _mm512_setzero_si512();
    Counts found{};
    for (std::size_t i = 0; i < node.n_rows; i += kLanes) {
      const Lanes here = first_lanes(std::min(kLanes, node.n_rows - i));
      const __m512i first_low = _mm512_loadu_si512(first + i);
      const __m512i first_high = _mm512_loadu_si512(first + i + 8);
      const __m512i second_low = _mm512_loadu_si512(second + i);
      const __m512i second_high = _mm512_loadu_si512(second + i + 8);
      for (std::size_t c = 0; c < kFour; ++c) {
        const std::uint32_t left = bounds.up_to(c, columns.at[c] + i, here);
        found.rows[c] += static_cast<std::uint32_t>(std::popcount(left));
        __m512i& sum = sums[c];
        sum = _mm512_mask_add_epi64(sum, low_half(left), sum, first_low);
        sum = _mm512_mask_add_epi64(sum, high_half(left), sum, first_high);
        __m512i& other = sums[kFour + c];
        other = _mm512_mask_add_epi64(other, low_half(left), other, second_low);
        other = _mm512_mask_add_epi64(other, high_half(left), other, second_high);
      }
    }
    _mm512_store_si512(found.words, sums_of(sums));
    return found;
  }

  void score(const Counts& left, std::int32_t node, Lanes informative, double* scores) const {
    const std::int64_t* all = words_.sums + 2 * node;
    const __m512i sums = _mm512_load_si512(left.words);
    const __m256i left_first = _mm512_castsi512_si256(sums);
    const __m256i left_second = _mm512_extracti64x4_epi64(sums, 1);
    const auto branches = [](std::int64_t of_node, __m256i of_left) {
      const __m256i of_right = _mm256_sub_epi64(_mm256_set1_epi64x(of_node), of_left);
      return _mm512_inserti64x4(_mm512_castsi256_si512(of_left), of_right, 1);
    };
    const __m512i first = branches(all[0], left_first);
    const __m512i second = branches(all[1], left_second);
    __mmask8 admitted = with_enough_rows(left.rows, node, informative);
    if (rules_.min_weight > 0) {
      const __mmask8 heavy =
          _mm512_cmpge_epi64_mask(derived().weights(first, second), _mm512_set1_epi64(rules_.min_weight));
      admitted &= heavy & (heavy >> kFour);
    }
    write_scores(derived().scores_of_sums(first, second), admitted, scores);
  }
  void score_lanes(const Counts& left, std::int32_t node, Lanes informative, double* scores) const {
    score(left, node, informative, scores);
  }
  Left left_of(const Counts& left, std::size_t test) const {
    return {left.words[test], left.words[kFour + test]};
  }
  double score_of(std::int32_t node) const {
    return derived().score_of_sums(words_.sums[2 * node], words_.sums[2 * node + 1]);
  }
  void divide(std::int32_t parent, std::int32_t first, std::uint32_t left_rows, const Left& left) const {
    write_samples(parent, first, left_rows);
    std::int64_t* sums = words_.sums + 2 * first;
    sums[0] = left.first;
    sums[1] = left.second;
    sums[2] = words_.sums[2 * parent] - left.first;
    sums[3] = words_.sums[2 * parent + 1] - left.second;
  }

  // ---- nodes whose rows are lanes

  void start_lanes(const BlockGrowth::Waiting& root, std::size_t) {
    for (std::size_t w = 0; w < 2; ++w) {
      lane_words_[w] = words_.word(root.side, w, root.begin);
      low_[w] = _mm512_loadu_si512(lane_words_[w]);
      high_[w] = _mm512_loadu_si512(lane_words_[w] + 8);
    }
  }
  void start(std::int32_t node, Lanes rows) {
    derived().start(node);
    if (words_.nodes[node].samples != 2) return;
    const auto one = static_cast<std::size_t>(std::countr_zero(rows));
    const auto other = static_cast<std::size_t>(std::bit_width(rows)) - 1;
    score_of_pair_ = derived().score_of_sums(lane_words_[0][one], lane_words_[1][one]) +
                     derived().score_of_sums(lane_words_[0][other], lane_words_[1][other]);
  }
  double score_of_pair() const { return score_of_pair_; }
  double score_of(std::int32_t node, Lanes) const { return score_of(node); }
  Counts count(const Lanes* left, Lanes) const {
    Counts found;
    __m512i sums[2 * kFour];
    for (std::size_t c = 0; c < kFour; ++c) {
      found.rows[c] = static_cast<std::uint32_t>(std::popcount(left[c]));
      sums[c] = of_lanes(0, left[c]);
      sums[kFour + c] = of_lanes(1, left[c]);
    }
    _mm512_store_si512(found.words, sums_of(sums));
    return found;
  }
  void divide_lanes(std::int32_t parent, std::int32_t first, Lanes left, Lanes) const {
    const Left sums{_mm512_reduce_add_epi64(of_lanes(0, left)), _mm512_reduce_add_epi64(of_lanes(1, left))};
    divide(parent, first, static_cast<std::uint32_t>(std::popcount(left)), sums);
  }

 private:
  const Derived& derived() const { return static_cast<const Derived&>(*this); }
  Derived& derived() { return static_cast<Derived&>(*this); }

  __m512i of_lanes(std::size_t word, Lanes rows) const {
    const __m512i low = _mm512_maskz_mov_epi64(low_half(rows), low_[word]);
    return _mm512_mask_add_epi64(low, high_half(rows), low, high_[word]);
  }

  const std::int64_t* lane_words_[2] = {};
  __m512i low_[2];
  __m512i high_[2];
  double score_of_pair_ = 0.0;
};

// Weights of two classes, as TwoWeightStats has them (criterion/two_weights.h).
class TwoWeightCells : public TwoSumCells<TwoWeightCells> {
 public:
  using TwoSumCells<TwoWeightCells>::TwoSumCells;
  using TwoSumCells<TwoWeightCells>::start;
  static constexpr bool kDescribesRows = false;

  void start(std::int32_t) {}
  double score_of_sums(std::int64_t zeros, std::int64_t ones) const {
    const auto w0 = static_cast<double>(zeros);
    const auto w1 = static_cast<double>(ones);
    return (w0 * w0 + w1 * w1) / static_cast<double>(zeros + ones);
  }
  __m512i weights(__m512i zeros, __m512i ones) const { return _mm512_add_epi64(zeros, ones); }
  __m512d scores_of_sums(__m512i zeros, __m512i ones) const {
    const __m512d w0 = _mm512_cvtepi64_pd(zeros);
    const __m512d w1 = _mm512_cvtepi64_pd(ones);
    return _mm512_div_pd(_mm512_add_pd(_mm512_mul_pd(w0, w0), _mm512_mul_pd(w1, w1)),
                         _mm512_cvtepi64_pd(weights(zeros, ones)));
  }
  bool opens(std::int32_t node, std::int32_t depth) const {
    const std::int64_t* sums = words_.sums + 2 * node;
    return rules_.opens(words_.nodes[node].samples, sums[0] + sums[1], sums[0] == 0 || sums[1] == 0, depth);
  }
  bool opens(std::int32_t node, Lanes, std::int32_t depth) const { return opens(node, depth); }
  void describe(std::int32_t, std::int32_t, std::size_t) const {}
  void finish_lanes(std::size_t) const {}
};

// Sums of numbers and of their weights, as SumStats has them, scored as by SumScorer<SquaredErrorBranch>
// (criterion/sums.h). Two words more of a row are its number and its weight as they are: what a node says is
// computed from those, row by row, as in real_facts (criterion/facts.h).
class SumCells : public TwoSumCells<SumCells> {
 public:
  using TwoSumCells<SumCells>::TwoSumCells;
  using TwoSumCells<SumCells>::start;
  static constexpr bool kDescribesRows = true;

  // ---- scores

  void start(std::int32_t node) {
    const std::int64_t* sums = words_.sums + 2 * node;
    centre_ = std::llround(static_cast<double>(sums[0]) / static_cast<double>(sums[1]));
  }
  double score_of_sums(std::int64_t sum, std::int64_t weight) const {
    const auto moved = static_cast<double>(sum - weight * centre_);
    return moved * moved / static_cast<double>(weight);
  }
  __m512i weights(__m512i, __m512i weights) const { return weights; }
  __m512d scores_of_sums(__m512i sums, __m512i weights) const {
    const __m512i centres = _mm512_mullo_epi64(weights, _mm512_set1_epi64(centre_));
    const __m512d moved = _mm512_cvtepi64_pd(_mm512_sub_epi64(sums, centres));
    return _mm512_div_pd(_mm512_mul_pd(moved, moved), _mm512_cvtepi64_pd(weights));
  }

  // ---- what nodes say

  bool opens(std::int32_t node, std::int32_t depth) const {
    const bool pure = is_pure_[node & 1];
    return rules_.opens(words_.nodes[node].samples, words_.sums[2 * node + 1], pure, depth);
  }
  void describe(std::int32_t node, std::int32_t side, std::size_t begin) {
    const std::size_t n_rows = words_.nodes[node].samples;
    const std::int64_t* numbers = words_.word(side, kNumber, begin);
    const std::int64_t* row_weights = words_.word(side, kRowWeight, begin);
    double weight = 0.0;
    double sum = 0.0;
    double least = kInfinity;
    double largest = -kInfinity;
    for (std::size_t i = 0; i < n_rows; ++i) {
      const auto w = std::bit_cast<double>(row_weights[i]);
      const auto y = std::bit_cast<double>(numbers[i]);
      weight += w;
      sum += w * y;
      least = std::min(least, y);
      largest = std::max(largest, y);
    }
    const bool pure = is_pure_[node & 1] = least == largest;
    const double mean = sum / weight;
    double spread = 0.0;
    for (std::size_t i = 0; i < n_rows; ++i) {
      const auto w = std::bit_cast<double>(row_weights[i]);
      const auto y = std::bit_cast<double>(numbers[i]);
      spread += w * (y - mean) * (y - mean);
    }
    words_.weight[node] = weight;
    words_.value[node] = pure ? least : mean;
    words_.impurity[node] = pure ? 0.0 : spread / weight;
  }

  // ---- the same for nodes whose rows are lanes, all of them at the end

  void start_lanes(const BlockGrowth::Waiting& root, std::size_t n_nodes) {
    TwoSumCells<SumCells>::start_lanes(root, n_nodes);
    numbers_ = words_.word(root.side, kNumber, root.begin);
    row_weights_ = words_.word(root.side, kRowWeight, root.begin);
    n_rows_ = root.n_rows;
    first_node_ = n_nodes;
    find_same_numbers();
  }
  void divide_lanes(std::int32_t parent, std::int32_t first, Lanes left, Lanes right) {
    TwoSumCells<SumCells>::divide_lanes(parent, first, left, right);
    std::uint16_t* sets = sets_ + (static_cast<std::size_t>(first) - first_node_);
    sets[0] = static_cast<std::uint16_t>(left);
    sets[1] = static_cast<std::uint16_t>(right);
  }
  bool opens(std::int32_t node, Lanes rows, std::int32_t depth) const {
    return rules_.opens(words_.nodes[node].samples, words_.sums[2 * node + 1], are_same(rows), depth);
  }
  // Eight nodes at once, each adding up its rows in their order.
  void finish_lanes(std::size_t n_nodes) const {
    for (std::size_t first = first_node_; first < n_nodes; first += 8) {
      const __m128i sets = _mm_loadu_si128(reinterpret_cast<const __m128i*>(sets_ + (first - first_node_)));
      __m512d weight = _mm512_setzero_pd();
      __m512d sum = _mm512_setzero_pd();
      __m512d least = _mm512_set1_pd(kInfinity);
      __m512d largest = _mm512_set1_pd(-kInfinity);
      for (std::size_t i = 0; i < n_rows_; ++i) {
        const __mmask8 in = nodes_with(sets, i);
        const __m512d w = _mm512_set1_pd(std::bit_cast<double>(row_weights_[i]));
        const __m512d y = _mm512_set1_pd(std::bit_cast<double>(numbers_[i]));
        weight = _mm512_mask_add_pd(weight, in, weight, w);
        sum = _mm512_mask_add_pd(sum, in, sum, _mm512_mul_pd(w, y));
        least = _mm512_mask_min_pd(least, in, y, least);
        largest = _mm512_mask_max_pd(largest, in, y, largest);
      }
      const __m512d mean = _mm512_div_pd(sum, weight);
      __m512d spread = _mm512_setzero_pd();
      for (std::size_t i = 0; i < n_rows_; ++i) {
        const __m512d w = _mm512_set1_pd(std::bit_cast<double>(row_weights_[i]));
        const __m512d away = _mm512_sub_pd(_mm512_set1_pd(std::bit_cast<double>(numbers_[i])), mean);
        const __m512d term = _mm512_mul_pd(_mm512_mul_pd(w, away), away);
        spread = _mm512_mask_add_pd(spread, nodes_with(sets, i), spread, term);
      }
      const __mmask8 pure = _mm512_cmp_pd_mask(least, largest, _CMP_EQ_OQ);
      const __mmask8 impure = static_cast<__mmask8>(~pure);
      const auto here = static_cast<__mmask8>(first_lanes(std::min<std::size_t>(8, n_nodes - first)));
      _mm512_mask_storeu_pd(words_.weight + first, here, weight);
      _mm512_mask_storeu_pd(words_.value + first, here, _mm512_mask_mov_pd(mean, pure, least));
      _mm512_mask_storeu_pd(words_.impurity + first, here, _mm512_maskz_div_pd(impure, spread, weight));
    }
  }

 private:
  static constexpr std::size_t kNumber = 2;
  static constexpr std::size_t kRowWeight = 3;

  static __mmask8 nodes_with(__m128i sets, std::size_t row) {
    return _mm_test_epi16_mask(sets, _mm_set1_epi16(static_cast<short>(1u << row)));
  }

  // Zeros of either sign are the same number.
  void find_same_numbers() {
    const __m512d low = _mm512_loadu_pd(numbers_);
    const __m512d high = _mm512_loadu_pd(numbers_ + 8);
    for (std::size_t i = 0; i < n_rows_; ++i) {
      const __m512d own = _mm512_set1_pd(std::bit_cast<double>(numbers_[i]));
      same_[i] = std::uint32_t{_mm512_cmp_pd_mask(low, own, _CMP_EQ_OQ)} |
                 std::uint32_t{_mm512_cmp_pd_mask(high, own, _CMP_EQ_OQ)} << 8;
    }
  }

  std::int64_t centre_ = 0;  // the node's mean, subtracted from every number
  bool is_pure_[2] = {};     // the children that were described last
  const std::int64_t* numbers_ = nullptr;
  const std::int64_t* row_weights_ = nullptr;
  std::size_t n_rows_ = 0;
  std::size_t first_node_ = 0;
  std::uint16_t sets_[2 * kLanes + 8] = {};  // the rows of all nodes below
};

// ---- counts

// Four tests: how many rows go left, and of which class they are.
struct FourClassCounts {
  std::uint32_t rows[kFour] = {};
  std::uint32_t of[kFour][BlockWords::kMostClasses];
};

// Rows in lanes: the sum over classes of the squared count is the number of pairs of rows of the same class.
struct FourPairCounts {
  std::uint32_t rows[kFour];
  __m128i of_left;   // pairs within the left branch
  __m128i and_node;  // a row of the left branch and one of the node
};

// Rows of more than two classes, each drawn once: a word is 1 in the byte of the row's class.
class CountCells : public WordCells {
 public:
  using Counts = FourClassCounts;
  using Left = std::uint32_t;  // nothing more: the counts of the best test are kept here
  static constexpr bool kDescribesRows = false;

  explicit CountCells(BlockGrowth& growth)
      : WordCells(growth),
        n_classes_(growth.words.n_classes),
        least_(std::max(growth.rules.min_samples_leaf, growth.rules.min_weight)) {
    least_rows_ = _mm_set1_epi32(static_cast<int>(std::min<std::int64_t>(least_, kMaxRows)));
  }

  // ---- nodes whose rows move

  void start(std::int32_t) {}
  Counts count(const FourColumns& columns, const BlockGrowth::Waiting& node, const FourTests& tests) const {
    const FourBounds bounds(tests.bound);
    Counts found;
    for (std::size_t c = 0; c < kFour; ++c) std::fill_n(found.of[c], 8 * words_.n_words, 0u);
    for (std::size_t first = 0; first < node.n_rows; first += kMostCountedHere) {
      const std::size_t n = std::min(kMostCountedHere, node.n_rows - first);
      for (std::size_t w = 0; w < words_.n_words; ++w) {
        const std::int64_t* words = words_.word(node.side, w, node.begin + first);
        count_stretch(columns, first, n, bounds, words, w, found);
      }
    }
    return found;
  }
  void score(const Counts& left, std::int32_t node, Lanes informative, double* scores) const {
    const std::uint32_t* all = counts_of(node);
    const std::uint32_t n_rows = words_.nodes[node].samples;
    for (std::size_t c = 0; c < kFour; ++c) {
      std::int64_t left_terms = 0;
      std::int64_t right_terms = 0;
      for (std::size_t k = 0; k < n_classes_; ++k) {
        const std::int64_t in_left = left.of[c][k];
        const std::int64_t in_right = std::int64_t{all[k]} - in_left;
        left_terms += in_left * in_left;
        right_terms += in_right * in_right;
      }
      const GiniTerm term(0);
      const std::uint32_t right_rows = n_rows - left.rows[c];
      const double both = term.branch(left_terms, left.rows[c]) + term.branch(right_terms, right_rows);
      const bool admitted =
          (informative >> c & 1) != 0 && std::int64_t{std::min(left.rows[c], right_rows)} >= least_;
      scores[c] = admitted ? both : -1.0;
    }
  }
  Left left_of(const Counts& counts, std::size_t test) {
    std::copy_n(counts.of[test], n_classes_, best_);
    return counts.rows[test];
  }
  double score_of(std::int32_t node) const {
    const std::uint32_t* counts = counts_of(node);
    std::int64_t terms = 0;
    for (std::size_t k = 0; k < n_classes_; ++k) terms += std::int64_t{counts[k]} * counts[k];
    return GiniTerm(0).branch(terms, words_.nodes[node].samples);
  }
  void divide(std::int32_t parent, std::int32_t first, std::uint32_t left_rows, Left) const {
    write_samples(parent, first, left_rows);
    const std::uint32_t* all = counts_of(parent);
    std::uint32_t* left = counts_of(first);
    std::uint32_t* right = counts_of(first + 1);
    for (std::size_t k = 0; k < n_classes_; ++k) {
      left[k] = best_[k];
      right[k] = all[k] - best_[k];
    }
  }
  bool opens(std::int32_t node, std::int32_t depth) const {
    const std::uint32_t* counts = counts_of(node);
    const std::uint32_t n_rows = words_.nodes[node].samples;
    const bool pure = std::find(counts, counts + n_classes_, n_rows) != counts + n_classes_;
    return rules_.opens(n_rows, n_rows, pure, depth);
  }
  void describe(std::int32_t, std::int32_t, std::size_t) const {}

  // ---- nodes whose rows are lanes

  void start_lanes(const BlockGrowth::Waiting& root, std::size_t) {
    const std::int64_t* words = words_.word(root.side, 0, root.begin);
    find_same(words, root.n_rows, words_.n_words);
    for (std::size_t i = 0; i < root.n_rows; ++i) {
      std::size_t w = 0;
      while (words[w * words_.stride + i] == 0) ++w;
      const auto word = static_cast<std::uint64_t>(words[w * words_.stride + i]);
      class_of_[i] = BlockWords::kClassesPerWord * w + static_cast<std::size_t>(std::countr_zero(word)) / 8;
    }
    same_rows_ = _mm512_load_si512(same_);
  }
  void finish_lanes(std::size_t) const {}
  bool any_pair_will_do() const { return least_ <= 1; }
  void start(std::int32_t, Lanes rows) {
    // With each row of the node, so many of its class: in the upper half, where they are added up apart.
    const __m512i same = _mm512_and_si512(same_rows_, _mm512_set1_epi32(static_cast<int>(rows)));
    const __m512i counts = _mm512_maskz_popcnt_epi32(static_cast<__mmask16>(rows), same);
    pairs_ = _mm512_reduce_add_epi32(counts);
    in_node_ = _mm512_slli_epi32(counts, 16);
  }
  double score_of(std::int32_t node, Lanes) const {
    return GiniTerm(0).branch(pairs_, words_.nodes[node].samples);
  }
  double score_of_pair() const { return 2.0; }  // each row by itself
  FourPairCounts count(const Lanes* left, Lanes) const {
    FourPairCounts found;
    __m512 pairs[kFour];
    for (std::size_t c = 0; c < kFour; ++c) {
      found.rows[c] = static_cast<std::uint32_t>(std::popcount(left[c]));
      const __m512i same = _mm512_and_si512(same_rows_, _mm512_set1_epi32(static_cast<int>(left[c])));
      const __m512i both =
          _mm512_maskz_add_epi32(static_cast<__mmask16>(left[c]), in_node_, _mm512_popcnt_epi32(same));
      pairs[c] = _mm512_castsi512_ps(both);
    }
    const __m128i sums = _mm_castps_si128(join_lanes(pairs, Sum{}));
    found.of_left = _mm_and_si128(sums, _mm_set1_epi32(0xffff));
    found.and_node = _mm_srli_epi32(sums, 16);
    return found;
  }
  void score_lanes(const FourPairCounts& left, std::int32_t node, Lanes informative, double* scores) const {
    const __m128i left_rows = _mm_loadu_si128(reinterpret_cast<const __m128i*>(left.rows));
    const __m128i n_rows = _mm_set1_epi32(static_cast<int>(words_.nodes[node].samples));
    const __m128i right_rows = _mm_sub_epi32(n_rows, left_rows);
    // (n - l)^2 = n^2 - 2 n l + l^2, class by class
    const __m128i of_right =
        _mm_add_epi32(_mm_sub_epi32(_mm_set1_epi32(pairs_), _mm_slli_epi32(left.and_node, 1)), left.of_left);
    const __m512d terms = _mm512_cvtepi32_pd(_mm256_set_m128i(of_right, left.of_left));
    const __m512d rows = _mm512_cvtepi32_pd(_mm256_set_m128i(right_rows, left_rows));
    write_scores(_mm512_div_pd(terms, rows), with_enough_rows(left.rows, node, informative), scores);
  }
  void divide_lanes(std::int32_t parent, std::int32_t first, Lanes left, Lanes right) const {
    write_samples(parent, first, static_cast<std::uint32_t>(std::popcount(left)));
    write_counts(first, left);
    write_counts(first + 1, right);
  }
  bool opens(std::int32_t node, Lanes rows, std::int32_t depth) const {
    const std::uint32_t n_rows = words_.nodes[node].samples;
    return rules_.opens(n_rows, n_rows, are_same(rows), depth);
  }

 private:
  // Bytes of eight registers, in which two rows of each sixteen come together, have room for so many rows.
  static constexpr std::size_t kMostCountedHere = 127 * kLanes;

  std::uint32_t* counts_of(std::int32_t node) const {
    return words_.counts + static_cast<std::size_t>(node) * n_classes_;
  }
  void write_counts(std::int32_t node, Lanes rows) const {
    std::uint32_t* counts = counts_of(node);
    std::fill_n(counts, n_classes_, 0u);
    for (Lanes rest = rows; rest != 0; rest &= rest - 1) ++counts[class_of_[std::countr_zero(rest)]];
  }

  static void count_stretch(const FourColumns& columns, std::size_t first, std::size_t n,
                            const FourBounds& bounds, const std::int64_t* words, std::size_t word,
                            Counts& found) {
    __m512i sums[kFour];
    for (__m512i& sum : sums) sum = _mm512_setzero_si512();
    std::uint32_t rows[kFour] = {};
    for (std::size_t i = 0; i < n; i += kLanes) {
      const Lanes here = first_lanes(std::min(kLanes, n - i));
      const __m512i low = _mm512_loadu_si512(words + i);
      const __m512i high = _mm512_loadu_si512(words + i + 8);
      for (std::size_t c = 0; c < kFour; ++c) {
        const std::uint32_t left = bounds.up_to(c, columns.at[c] + first + i, here);
        rows[c] += static_cast<std::uint32_t>(std::popcount(left));
        sums[c] = _mm512_mask_add_epi64(sums[c], low_half(left), sums[c], low);
        sums[c] = _mm512_mask_add_epi64(sums[c], high_half(left), sums[c], high);
      }
    }
    // Bytes become pairs of bytes before they are added up across a register.
    const __m512i every_other = _mm512_set1_epi16(0xff);
    __m512i halves[2 * kFour];
    for (std::size_t c = 0; c < kFour; ++c) {
      halves[2 * c] = _mm512_and_si512(sums[c], every_other);
      halves[2 * c + 1] = _mm512_and_si512(_mm512_srli_epi64(sums[c], 8), every_other);
    }
    alignas(64) std::uint64_t total[2 * kFour];
    _mm512_store_si512(total, sums_of(halves));
    for (std::size_t c = 0; c < kFour; ++c) {
      if (word == 0) found.rows[c] += rows[c];
      std::uint32_t* counts = found.of[c] + BlockWords::kClassesPerWord * word;
      for (std::size_t k = 0; k < BlockWords::kClassesPerWord; ++k)
        counts[k] += static_cast<std::uint16_t>(total[2 * c + k % 2] >> (k / 2 * 16));
    }
  }

  std::size_t n_classes_;
  std::int64_t least_;  // rows of a branch; every row weighs the same
  std::uint32_t best_[BlockWords::kMostClasses] = {};
  std::size_t class_of_[kLanes] = {};
  __m512i same_rows_;
  __m512i in_node_;
  std::int32_t pairs_ = 0;  // of rows of the same class, of the node
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
