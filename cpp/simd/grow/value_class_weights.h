// Weighted rows of several classes, as cells of simd/grow/value_block_body.h: a word has the class and the weight
// of a row. Classes that a node lacks are left out: they would add zeros. (Gini of two classes has quicker cells:
// simd/grow/value_sums.h.) For wide registers; included inside the namespace that HORNBEAM_KERNELS names.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/types.h"
#include "criterion/class_weights.h"
#include "grow/fast/value_block.h"
#include "simd/grow/logarithms.h"
#include "simd/grow/value_words.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

using criterion::ClassWeight;
using criterion::EntropyOfWeights;
using criterion::GiniOfWeights;

namespace {

// Four tests: how many rows go left, and what they weigh by class: two of the node's classes at a time, the first of
// each test, then the second.
struct FourClassWeights {
  std::uint32_t rows[kFour];
  alignas(64) std::int64_t of[BlockWords::kMostClasses / 2][2 * kFour];
};

// Scores as those of criterion/class_weights.h, `Terms` being one of its two: squares or logarithms are added up in the
// order of the classes.
template <class Terms>
class ClassWeightCells : public WordCells {
 public:
  using Counts = FourClassWeights;
  struct Left {};  // the weights of the best test are kept here
  static constexpr bool kDescribesRows = false;

  explicit ClassWeightCells(BlockGrowth& growth) : WordCells(growth), n_classes_(growth.words.n_classes) {}

  // ---- nodes whose rows move

  void start(std::int32_t node) {
    const std::int64_t* weights = weights_of(node);
    n_present_ = 0;
    double weight = 0.0;
    double squares = 0.0;
    for (std::size_t k = 0; k < n_classes_; ++k) {
      const auto w = static_cast<double>(weights[k]);
      present_[n_present_] = static_cast<std::int64_t>(k);
      of_present_[n_present_] = weights[k];
      n_present_ += weights[k] > 0;
      weight += w;
      squares += w * w;
    }
    if (n_present_ % 2 != 0) {  // they come in pairs
      present_[n_present_] = kNoClass;
      of_present_[n_present_] = 0;
    }
    if constexpr (kOfSquares) {
      score_ = squares / weight;
    } else {
      score_by_logarithms(weight);
    }
  }
  double tie_scale(std::int32_t) const { return tie_scale_; }
  double score_of(std::int32_t) const { return score_; }
  Counts count(const FourColumns& columns, const BlockGrowth::Waiting& node, const FourTests& tests) const {
    const FourBounds bounds(tests.bound);
    const std::int64_t* words = words_.word(node.side, 0, node.begin);
    Counts found;
    for (std::size_t p = 0; 2 * p < n_present_; ++p) {
      const __m512i first = _mm512_set1_epi64(present_[2 * p]);
      const __m512i second = _mm512_set1_epi64(present_[2 * p + 1]);
      __m512i sums[2 * kFour];
      for (__m512i& sum : sums) sum = _mm512_setzero_si512();
      std::uint32_t rows[kFour] = {};
      for (std::size_t i = 0; i < node.n_rows; i += kLanes) {
        const Lanes here = first_lanes(std::min(kLanes, node.n_rows - i));
        const __m512i low = _mm512_loadu_si512(words + i);
        const __m512i high = _mm512_loadu_si512(words + i + 8);
        const __m512i low_weights = weights_in(low);
        const __m512i high_weights = weights_in(high);
        const std::uint32_t of_first = lanes_of(low, high, first);
        const std::uint32_t of_second = lanes_of(low, high, second);
        for (std::size_t c = 0; c < kFour; ++c) {
          const std::uint32_t left = bounds.up_to(c, columns.at[c] + i, here);
          rows[c] += static_cast<std::uint32_t>(std::popcount(left));
          add(left & of_first, low_weights, high_weights, sums[c]);
          add(left & of_second, low_weights, high_weights, sums[kFour + c]);
        }
      }
      std::copy_n(rows, kFour, found.rows);
      _mm512_store_si512(found.of[p], sums_of(sums));
    }
    return found;
  }
  void score(const Counts& left, std::int32_t node, Lanes informative, double* scores) const {
    __m512d weight = _mm512_setzero_pd();
    __m512d terms = weight;
    for_branches(left, [&](__m512d of_class) {
      weight = _mm512_add_pd(weight, of_class);
      if constexpr (kOfSquares) terms = _mm512_add_pd(terms, _mm512_mul_pd(of_class, of_class));
    });
    if constexpr (!kOfSquares) {
      terms = _mm512_sub_pd(terms, x_log2_x(weight));
      for_branches(left, [&](__m512d of_class) { terms = _mm512_add_pd(terms, x_log2_x(of_class)); });
    }
    __mmask8 admitted = with_enough_rows(left.rows, node, informative);
    if (rules_.min_weight > 0) {
      const __mmask8 heavy =
          _mm512_cmp_pd_mask(weight, _mm512_set1_pd(static_cast<double>(rules_.min_weight)), _CMP_GE_OQ);
      admitted &= heavy & (heavy >> kFour);
    }
    write_scores(kOfSquares ? _mm512_div_pd(terms, weight) : terms, admitted, scores);
  }
  Left left_of(const Counts& left, std::size_t test) {
    std::fill_n(best_, n_classes_, std::int64_t{0});
    for (std::size_t j = 0; j < n_present_; ++j) best_[present_[j]] = left.of[j / 2][j % 2 * kFour + test];
    return {};
  }
  void divide(std::int32_t parent, std::int32_t first, std::uint32_t left_rows, const Left&) const {
    write_samples(parent, first, left_rows);
    std::copy_n(best_, n_classes_, weights_of(first));
    subtract(parent, first, first + 1);
  }
  bool opens(std::int32_t node, std::int32_t depth) const {
    const std::int64_t* weights = weights_of(node);
    std::int64_t weight = 0;
    std::int64_t largest = 0;
    for (std::size_t k = 0; k < n_classes_; ++k) {
      weight += weights[k];
      largest = std::max(largest, weights[k]);
    }
    return rules_.opens(words_.nodes[node].samples, weight, largest == weight, depth);
  }
  void describe(std::int32_t, std::int32_t, std::size_t) const {}

  // ---- nodes whose rows are lanes

  void start_lanes(const BlockGrowth::Waiting& root, std::size_t) {
    const std::int64_t* words = words_.word(root.side, 0, root.begin);
    low_ = weights_in(_mm512_loadu_si512(words));
    high_ = weights_in(_mm512_loadu_si512(words + 8));
    std::fill_n(lanes_of_class_, n_classes_, Lanes{0});
    for (std::size_t i = 0; i < root.n_rows; ++i) {
      class_at_[i] = static_cast<std::size_t>(words[i] >> ClassWeight::kLabelShift);
      weight_at_[i] = words[i] & kWeightBits;
      lanes_of_class_[class_at_[i]] |= Lanes{1} << i;
    }
  }
  void finish_lanes(std::size_t) const {}
  void start(std::int32_t node, Lanes rows) {
    start(node);
    if (!kOfSquares || words_.nodes[node].samples != 2) return;  // by entropy, a row by itself scores nothing
    const auto score_of_row = [&](int lane) {
      const auto w = static_cast<double>(weight_at_[lane]);
      return w * w / w;
    };
    score_of_pair_ =
        score_of_row(std::countr_zero(rows)) + score_of_row(static_cast<int>(std::bit_width(rows)) - 1);
  }
  double score_of_pair() const { return score_of_pair_; }
  double score_of(std::int32_t node, Lanes) const { return score_of(node); }
  Counts count(const Lanes* left, Lanes) const {
    Counts found;
    for (std::size_t c = 0; c < kFour; ++c)
      found.rows[c] = static_cast<std::uint32_t>(std::popcount(left[c]));
    for (std::size_t p = 0; 2 * p < n_present_; ++p) {
      const Lanes of_first = lanes_of_class_[present_[2 * p]];
      const Lanes of_second = lanes_of_class_[present_[2 * p + 1]];
      __m512i sums[2 * kFour];
      for (std::size_t c = 0; c < kFour; ++c) {
        sums[c] = of_lanes(left[c] & of_first);
        sums[kFour + c] = of_lanes(left[c] & of_second);
      }
      _mm512_store_si512(found.of[p], sums_of(sums));
    }
    return found;
  }
  void score_lanes(const Counts& left, std::int32_t node, Lanes informative, double* scores) const {
    score(left, node, informative, scores);
  }
  void divide_lanes(std::int32_t parent, std::int32_t first, Lanes left, Lanes right) const {
    write_samples(parent, first, static_cast<std::uint32_t>(std::popcount(left)));
    const std::int32_t smaller = std::popcount(left) <= std::popcount(right) ? 0 : 1;
    std::int64_t* weights = weights_of(first + smaller);
    std::fill_n(weights, n_classes_, std::int64_t{0});
    for (Lanes rest = smaller == 0 ? left : right; rest != 0; rest &= rest - 1) {
      const int lane = std::countr_zero(rest);
      weights[class_at_[lane]] += weight_at_[lane];
    }
    subtract(parent, first + smaller, first + 1 - smaller);
  }
  bool opens(std::int32_t node, Lanes, std::int32_t depth) const { return opens(node, depth); }

 private:
  static constexpr bool kOfSquares = std::is_same_v<Terms, GiniOfWeights>;
  static constexpr std::int64_t kWeightBits = (std::int64_t{1} << ClassWeight::kLabelShift) - 1;
  static constexpr std::int64_t kNoClass = BlockWords::kMostClasses;

  static __m512i weights_in(__m512i words) { return _mm512_and_si512(words, _mm512_set1_epi64(kWeightBits)); }
  static std::uint32_t lanes_of(__m512i low, __m512i high, __m512i label) {
    return both_halves(_mm512_cmpeq_epi64_mask(_mm512_srli_epi64(low, ClassWeight::kLabelShift), label),
                       _mm512_cmpeq_epi64_mask(_mm512_srli_epi64(high, ClassWeight::kLabelShift), label));
  }
  static void add(Lanes rows, __m512i low, __m512i high, __m512i& sum) {
    sum = _mm512_mask_add_epi64(sum, low_half(rows), sum, low);
    sum = _mm512_mask_add_epi64(sum, high_half(rows), sum, high);
  }
  __m512i of_lanes(Lanes rows) const {
    const __m512i low = _mm512_maskz_mov_epi64(low_half(rows), low_);
    return _mm512_mask_add_epi64(low, high_half(rows), low, high_);
  }

  // Calls with what each class weighs in the branches of four tests: left ones, then right ones.
  template <class Call>
  [[gnu::always_inline]] void for_branches(const Counts& left, const Call& call) const {
    const auto branches = [](std::int64_t of_node, __m256i of_left) {
      const __m256i of_right = _mm256_sub_epi64(_mm256_set1_epi64x(of_node), of_left);
      return _mm512_cvtepi64_pd(_mm512_inserti64x4(_mm512_castsi256_si512(of_left), of_right, 1));
    };
    for (std::size_t p = 0; 2 * p < n_present_; ++p) {
      const __m512i sums = _mm512_load_si512(left.of[p]);
      call(branches(of_present_[2 * p], _mm512_castsi512_si256(sums)));
      call(branches(of_present_[2 * p + 1], _mm512_extracti64x4_epi64(sums, 1)));
    }
  }

  // Of the node at hand: eight logarithms at a time, first that of its weight.
  void score_by_logarithms(double weight) {
    alignas(64) double terms[BlockWords::kMostClasses + 8];
    terms[0] = weight;
    for (std::size_t j = 0; j < n_present_; ++j) terms[j + 1] = static_cast<double>(of_present_[j]);
    for (std::size_t j = 0; j <= n_present_; j += 8) {
      const auto here = static_cast<__mmask8>(first_lanes(std::min<std::size_t>(8, n_present_ + 1 - j)));
      _mm512_store_pd(terms + j, x_log2_x(_mm512_maskz_load_pd(here, terms + j)));
    }
    tie_scale_ = terms[0];
    score_ = -terms[0];
    for (std::size_t j = 1; j <= n_present_; ++j) score_ += terms[j];
  }

  std::int64_t* weights_of(std::int32_t node) const {
    return words_.sums + static_cast<std::size_t>(node) * n_classes_;
  }
  void subtract(std::int32_t parent, std::int32_t child, std::int32_t other) const {
    const std::int64_t* all = weights_of(parent);
    const std::int64_t* some = weights_of(child);
    std::int64_t* others = weights_of(other);
    for (std::size_t k = 0; k < n_classes_; ++k) others[k] = all[k] - some[k];
  }

  std::size_t n_classes_;

  // The node at hand: the classes that it has, and their weights.
  std::size_t n_present_ = 0;
  std::int64_t present_[BlockWords::kMostClasses + 1];
  std::int64_t of_present_[BlockWords::kMostClasses + 1];
  double score_ = 0.0;
  double tie_scale_ = 0.0;
  double score_of_pair_ = 0.0;
  std::int64_t best_[BlockWords::kMostClasses] = {};

  // Rows in lanes.
  __m512i low_;
  __m512i high_;
  Lanes lanes_of_class_[BlockWords::kMostClasses + 1] = {};  // none of kNoClass
  std::size_t class_at_[kLanes] = {};
  std::int64_t weight_at_[kLanes] = {};
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
