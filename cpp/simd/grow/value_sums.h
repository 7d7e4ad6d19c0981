// Rows that are two sums, as cells of simd/grow/value_block_body.h: weights of two classes, and numbers with their
// weights. For wide registers; included inside the namespace that HORNBEAM_KERNELS names.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/math.h"
#include "base/types.h"
#include "grow/fast/value_block.h"
#include "simd/grow/logarithms.h"
#include "simd/grow/value_words.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

namespace {

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

// How sums are scored and what nodes show: squared error, as SumScorer<SquaredErrorBranch> (criterion/sums.h).
class SquaredErrors {
 public:
  explicit SquaredErrors(const BlockWords&) {}
  void start(std::int64_t sum, std::int64_t weight) {
    centre_ = std::llround(static_cast<double>(sum) / static_cast<double>(weight));
  }
  double score(std::int64_t sum, std::int64_t weight) const {
    const auto moved = static_cast<double>(sum - weight * centre_);
    return moved * moved / static_cast<double>(weight);
  }
  __m512d score(__m512i sums, __m512i weights) const {
    const __m512i centres = _mm512_mullo_epi64(weights, _mm512_set1_epi64(centre_));
    const __m512d moved = _mm512_cvtepi64_pd(_mm512_sub_epi64(sums, centres));
    return _mm512_div_pd(_mm512_mul_pd(moved, moved), _mm512_cvtepi64_pd(weights));
  }
  // Of the rows of a node, whose numbers and weights are the bits of float64; and what a row adds to that of eight nodes.
  static double spread_of(const std::int64_t* numbers, const std::int64_t* row_weights, std::size_t n,
                          double mean) {
    double spread = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      const auto w = std::bit_cast<double>(row_weights[i]);
      const auto y = std::bit_cast<double>(numbers[i]);
      spread += w * (y - mean) * (y - mean);
    }
    return spread;
  }
  static __m512d spread_of(double number, double row_weight, __m512d means) {
    const __m512d away = _mm512_sub_pd(_mm512_set1_pd(number), means);
    return _mm512_mul_pd(_mm512_mul_pd(_mm512_set1_pd(row_weight), away), away);
  }

 private:
  std::int64_t centre_ = 0;  // the node's mean, subtracted from every number
};

// The same for the deviance of counts, as SumScorer<PoissonBranch>.
class PoissonDeviances {
 public:
  explicit PoissonDeviances(const BlockWords& words) : mean_unit_(words.mean_unit) {}
  void start(std::int64_t, std::int64_t) {}
  double score(std::int64_t sum, std::int64_t weight) const {
    return poisson_branch(static_cast<double>(sum), static_cast<double>(weight), mean_unit_);
  }
  __m512d score(__m512i sums, __m512i weights) const {
    const __m512d sum = _mm512_cvtepi64_pd(sums);
    const __m512d mean =
        _mm512_mul_pd(_mm512_div_pd(sum, _mm512_cvtepi64_pd(weights)), _mm512_set1_pd(mean_unit_));
    const __mmask8 positive = _mm512_cmp_pd_mask(mean, _mm512_setzero_pd(), _CMP_GT_OQ);
    return _mm512_mul_pd(sum, ln_of(_mm512_mask_mov_pd(_mm512_set1_pd(1.0), positive, mean)));
  }
  static double spread_of(const std::int64_t* numbers, const std::int64_t* row_weights, std::size_t n,
                          double mean) {
    double spread = 0.0;
    for (std::size_t first = 0; first < n; first += 8) {
      const auto here = static_cast<__mmask8>(first_lanes(std::min<std::size_t>(8, n - first)));
      const __m512d y = _mm512_castsi512_pd(_mm512_maskz_loadu_epi64(here, numbers + first));
      const __m512d w = _mm512_castsi512_pd(_mm512_maskz_loadu_epi64(here, row_weights + first));
      const __mmask8 positive = _mm512_cmp_pd_mask(y, _mm512_setzero_pd(), _CMP_GT_OQ);
      const __m512d ratios = _mm512_mask_div_pd(_mm512_set1_pd(1.0), positive, y, _mm512_set1_pd(mean));
      alignas(64) double terms[8];
      _mm512_store_pd(terms, _mm512_mul_pd(_mm512_mul_pd(w, y), ln_of(ratios)));
      for (std::size_t i = 0; i < std::min<std::size_t>(8, n - first); ++i) spread += terms[i];
    }
    return spread;
  }
  static __m512d spread_of(double number, double row_weight, __m512d means) {
    if (!(number > 0)) return _mm512_setzero_pd();
    const __m512d logs = ln_of(_mm512_div_pd(_mm512_set1_pd(number), means));
    return _mm512_mul_pd(_mm512_set1_pd(row_weight * number), logs);
  }

 private:
  double mean_unit_;
};

// Sums of numbers and of their weights, as SumStats has them. Two more words hold a row's target and weight
// unrounded: a node's value and facts are computed from those, row by row, as in real_facts
// (criterion/facts.h).
template <class Loss>
class SumCells : public TwoSumCells<SumCells<Loss>> {
  using Base = TwoSumCells<SumCells<Loss>>;

 public:
  explicit SumCells(BlockGrowth& growth) : Base(growth), loss_(growth.words) {}
  using Base::start;
  static constexpr bool kDescribesRows = true;

  // ---- scores

  void start(std::int32_t node) {
    const std::int64_t* sums = words_.sums + 2 * node;
    loss_.start(sums[0], sums[1]);
  }
  double score_of_sums(std::int64_t sum, std::int64_t weight) const { return loss_.score(sum, weight); }
  __m512i weights(__m512i, __m512i weights) const { return weights; }
  __m512d scores_of_sums(__m512i sums, __m512i weights) const { return loss_.score(sums, weights); }

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
    const double spread = Loss::spread_of(numbers, row_weights, n_rows, mean);
    words_.weight[node] = weight;
    words_.value[node] = pure ? least : mean;
    words_.impurity[node] = pure ? 0.0 : spread / weight;
  }

  // ---- the same for nodes whose rows are lanes, all of them at the end

  void start_lanes(const BlockGrowth::Waiting& root, std::size_t n_nodes) {
    Base::start_lanes(root, n_nodes);
    numbers_ = words_.word(root.side, kNumber, root.begin);
    row_weights_ = words_.word(root.side, kRowWeight, root.begin);
    n_rows_ = root.n_rows;
    first_node_ = n_nodes;
    find_same_numbers();
  }
  void divide_lanes(std::int32_t parent, std::int32_t first, Lanes left, Lanes right) {
    Base::divide_lanes(parent, first, left, right);
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
        const __m512d term =
            Loss::spread_of(std::bit_cast<double>(numbers_[i]), std::bit_cast<double>(row_weights_[i]), mean);
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
      same_[i] =
          both_halves(_mm512_cmp_pd_mask(low, own, _CMP_EQ_OQ), _mm512_cmp_pd_mask(high, own, _CMP_EQ_OQ));
    }
  }

  using Base::are_same;
  using Base::rules_;
  using Base::same_;
  using Base::words_;

  Loss loss_;
  bool is_pure_[2] = {};  // the children that were described last
  const std::int64_t* numbers_ = nullptr;
  const std::int64_t* row_weights_ = nullptr;
  std::size_t n_rows_ = 0;
  std::size_t first_node_ = 0;
  std::uint16_t sets_[2 * kLanes + 8] = {};  // the rows of all nodes below
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
