// Weighted rows of several classes in the order of a feature. Weights are whole numbers that add up to less than
// 2^53: float64 sums are exact, and scores are those of criterion/class_weights.h, squares or logarithms added up in the
// order of the classes. Classes that a node lacks add nothing and are left out. (Gini of two classes has quicker cells:
// simd/grow/rank_weights.h.) Included inside the namespace that HORNBEAM_KERNELS names.
#pragma once

#include <algorithm>
#include <bit>
#include <limits>
#include <type_traits>

#include "criterion/class_weights.h"
#include "simd/grow/logarithms.h"
#include "simd/grow/rank_rows.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

using criterion::ClassWeight;
using criterion::EntropyOfWeights;
using criterion::GiniOfWeights;

namespace {

// `Terms` is one of the two ways of criterion/class_weights.h to score a test. By squares, every cut gets its exact
// score; by logarithms a rough one, and the exact one only if that is near the largest.
template <class Terms>
class ClassWeightCells : public NumberedRows {
 public:
  using Node = BlockNode;
  struct Left {  // all that a cut of two rows needs; otherwise weights are added up where rows are divided
    double weight = 0.0;
  };
  using Best = BestCut<Left>;

  explicit ClassWeightCells(const RankGrowth& growth)
      : rules_(growth.rules),
        nodes_(growth.nodes),
        node_weights_(growth.node_weights),
        by_item_(growth.class_weights),
        n_classes_(growth.n_classes) {}

  static Node* nodes(const RankGrowth& growth) { return growth.nodes; }
  bool opens(std::int32_t node, std::int32_t depth) const {
    const double* weights = weights_of(node);
    double weight = 0.0;
    double largest = 0.0;
    for (std::size_t k = 0; k < n_classes_; ++k) {
      weight += weights[k];
      largest = std::max(largest, weights[k]);
    }
    return rules_.opens(nodes_[node].samples, static_cast<std::int64_t>(weight), largest == weight, depth);
  }

  void start_node(std::int32_t node) {
    const double* weights = weights_of(node);
    n_present_ = 0;
    weight_ = 0.0;
    squares_ = 0.0;
    for (std::size_t k = 0; k < n_classes_; ++k) {
      present_[n_present_] = static_cast<std::int64_t>(k);
      of_present_[n_present_] = weights[k];
      if constexpr (!kOfSquares) index_of_[k] = n_present_;
      n_present_ += weights[k] > 0;
      weight_ += weights[k];
      squares_ += weights[k] * weights[k];
    }
    if constexpr (!kOfSquares) {
      best_rough_ = -std::numeric_limits<float>::infinity();
      margin_ = rough_entropy_margin(n_present_);
      alignas(64) double numbers[kMostNumbers] = {weight_};
      std::copy_n(of_present_, n_present_, numbers + 1);
      take_logarithms(numbers, n_present_ + 1);
      scale_ = numbers[0];
      score_ = score_of_branch(numbers);
    }
  }
  double score_of_node(std::int32_t) const { return kOfSquares ? squares_ / weight_ : score_; }
  // Of two rows, which are of different classes.
  Left left_of(Rank item) const { return {static_cast<double>(weight_in(by_item_[item]))}; }
  double score_of_cut(const Left& left, const Node&) const {
    if (!kOfSquares) return 0.0;  // each row by itself
    const double right = weight_ - left.weight;
    return left.weight * left.weight / left.weight + right * right / right;
  }

  void divide(std::int32_t, const Left&, std::int32_t) const {}
  // The sums of the children, of which the first gets the rows with smaller ranks.
  void count_divided(std::int32_t parent, std::int32_t first, const Rank* items, const Rank* tested,
                     Rank bound, std::size_t n) const {
    std::int64_t sums[RankGrowth::kMostClasses] = {};
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t item = by_item_[items[i]];
      sums[class_in(item)] += tested[i] < bound ? weight_in(item) : 0;
    }
    write_weights(parent, first, first + 1, sums);
  }
  void count_divided(std::int32_t parent, std::int32_t first, const Rank* items, Bits left,
                     Bits right) const {
    const std::int32_t smaller = std::popcount(left) <= std::popcount(right) ? 0 : 1;
    std::int64_t sums[RankGrowth::kMostClasses] = {};
    for (Bits rest = smaller == 0 ? left : right; rest != 0; rest &= rest - 1) {
      const std::int64_t item = by_item_[items[std::countr_zero(rest)]];
      sums[class_in(item)] += weight_in(item);
    }
    write_weights(parent, first + smaller, first + 1 - smaller, sums);
  }

  void start_large() { items_at_hand_ = by_item_; }

  // ---- small subtrees

  void start_small(const Rank* items, std::size_t n) {
    for (std::size_t row = 0; row < n; ++row) small_items_[row + 1] = by_item_[items[row]];
    items_at_hand_ = small_items_;
  }

  bool offer_cuts(std::int32_t column, std::size_t n, Bits* cuts, const Node&, Bits places, Best& best) {
    const auto least_rows = static_cast<std::size_t>(rules_.min_samples_leaf);
    if (least_rows > 1 && !leave_out_ends(cuts, n, least_rows)) return false;
    end_items(n);
    for (std::size_t j = 0; j < n_present_; ++j) before_[j] = _mm512_setzero_pd();
    const bool any = kOfSquares ? offer_by_squares(column, n, cuts, places, best)
                                : offer_by_logarithms(column, n, cuts, places, best);
    return any || least_rows > 1;
  }

 private:
  static constexpr bool kOfSquares = std::is_same_v<Terms, GiniOfWeights>;
  static constexpr std::int64_t kWeightBits = (std::int64_t{1} << ClassWeight::kLabelShift) - 1;
  static constexpr std::size_t kMostNumbers = 2 * (RankGrowth::kMostClasses + 1) + 8;

  // Calls with what each class weighs on both sides of the eight cuts from a place on; before_ goes on with them.
  template <class Call>
  [[gnu::always_inline]] void for_classes(std::size_t place, const Call& call) {
    const __m512i words = _mm512_i64gather_epi64(items_from(place), items_at_hand_, 8);
    const __m512i classes = _mm512_srli_epi64(words, ClassWeight::kLabelShift);
    const __m512d weights = _mm512_cvtepi64_pd(_mm512_and_si512(words, _mm512_set1_epi64(kWeightBits)));
    for (std::size_t j = 0; j < n_present_; ++j) {
      const __mmask8 own = _mm512_cmpeq_epi64_mask(classes, _mm512_set1_epi64(present_[j]));
      const __m512d steps = _mm512_maskz_mov_pd(own, weights);
      const __m512d sums = _mm512_add_pd(sum_up(steps), before_[j]);
      before_[j] = last_of(sums);
      const __m512d here = _mm512_sub_pd(sums, steps);
      call(here, _mm512_sub_pd(_mm512_set1_pd(of_present_[j]), here));
    }
  }

  // Of eight wanted cuts, those that leave enough weight on both sides.
  __mmask8 heavy_enough(__m512d left, __m512d right) const {
    const __m512d least = _mm512_set1_pd(static_cast<double>(rules_.min_weight));
    return _mm512_cmp_pd_mask(left, least, _CMP_GE_OQ) & _mm512_cmp_pd_mask(right, least, _CMP_GE_OQ);
  }

  bool offer_by_squares(std::int32_t column, std::size_t n, const Bits* cuts, Bits places, Best& best) {
    const __m512d none = _mm512_set1_pd(-kInfinity);
    __m512d largest = none;
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < n; i += 8) {
      __m512d left = _mm512_setzero_pd();
      __m512d left_squares = left;
      __m512d right_squares = left;
      for_classes(i, [&](__m512d here, __m512d there) {
        left = _mm512_add_pd(left, here);
        left_squares = _mm512_add_pd(left_squares, _mm512_mul_pd(here, here));
        right_squares = _mm512_add_pd(right_squares, _mm512_mul_pd(there, there));
      });
      const __m512d right = _mm512_sub_pd(_mm512_set1_pd(weight_), left);
      const __m512d scores =
          _mm512_add_pd(_mm512_div_pd(left_squares, left), _mm512_div_pd(right_squares, right));
      auto wanted = static_cast<__mmask8>(cuts[i / 64] >> (i % 64));
      any |= wanted;
      if (rules_.min_weight > 0) wanted &= heavy_enough(left, right);
      const __m512d admitted = _mm512_mask_mov_pd(none, wanted, scores);
      largest = _mm512_max_pd(largest, admitted);
      _mm512_store_pd(scores_ + i, admitted);
    }
    if (any == 0) return false;
    const double here = _mm512_reduce_max_pd(largest);
    if (best.raise(here)) {
      best.column = column;
      best.n_left = first_near(scores_, here);
      best.places = places;
    }
    return true;
  }

  // Eight cuts share a register: left branches, then right ones.
  bool offer_by_logarithms(std::int32_t column, std::size_t n, const Bits* cuts, Bits places, Best& best) {
    const __m512d unit = _mm512_set1_pd(1 / weight_);
    const auto terms_of = [unit](__m512d left, __m512d right) {
      const __m256 low = _mm512_cvtpd_ps(_mm512_mul_pd(left, unit));
      const __m256 high = _mm512_cvtpd_ps(_mm512_mul_pd(right, unit));
      return rough_x_log2_x(_mm512_insertf32x8(_mm512_castps256_ps512(low), high, 1));
    };
    const __m512 none = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
    __m512 largest = none;
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < n; i += 8) {
      if (i % kStretch == 0) {
        for (std::size_t j = 0; j < n_present_; ++j) sums_[i / kStretch][j] = _mm512_cvtsd_f64(before_[j]);
      }
      __m512d left = _mm512_setzero_pd();
      __m512 terms = _mm512_setzero_ps();
      for_classes(i, [&](__m512d here, __m512d there) {
        left = _mm512_add_pd(left, here);
        terms = _mm512_add_ps(terms, terms_of(here, there));
      });
      const __m512d right = _mm512_sub_pd(_mm512_set1_pd(weight_), left);
      terms = _mm512_sub_ps(terms, terms_of(left, right));
      auto wanted = static_cast<__mmask8>(cuts[i / 64] >> (i % 64));
      any |= wanted;
      if (rules_.min_weight > 0) wanted &= heavy_enough(left, right);
      const __m512 rough = _mm512_add_ps(terms, _mm512_shuffle_f32x4(terms, terms, 0b01001110));
      const __m512 admitted = _mm512_mask_mov_ps(none, wanted, rough);
      largest = _mm512_max_ps(largest, admitted);
      _mm256_store_ps(rough_ + i, _mm512_castps512_ps256(admitted));
    }
    if (any == 0) return false;
    const float here = _mm512_reduce_max_ps(largest);
    if (here == -std::numeric_limits<float>::infinity()) return true;  // the limits admit none
    best_rough_ = std::max(best_rough_, here);
    const float floor = best_rough_ - margin_;
    if (here >= floor) offer_promising(column, n, floor, places, best);
    return true;
  }

  // Scores the cuts that reach the floor: of those within the slack of the best, the first is offered.
  void offer_promising(std::int32_t column, std::size_t n, float floor, Bits places, Best& best) {
    std::size_t n_promising = 0;
    double largest = -kInfinity;
    for (std::size_t i = 0; i < n; i += 8) {
      std::uint32_t promising =
          _mm256_cmp_ps_mask(_mm256_load_ps(rough_ + i), _mm256_set1_ps(floor), _CMP_GE_OQ);
      for (; promising != 0; promising &= promising - 1) {
        const std::size_t at = i + static_cast<std::size_t>(std::countr_zero(promising));
        promising_[n_promising] = static_cast<Rank>(at);
        scores_[n_promising] = score_of_place(at);
        largest = std::max(largest, scores_[n_promising++]);
      }
    }
    if (!best.raise(largest, scale_)) return;
    best.column = column;
    best.n_left = promising_[first_near(scores_, largest, scale_)];
    best.places = places;
  }

  // The exact score of the cut before a place, from what the stretches before its own weigh.
  double score_of_place(std::size_t place) const {
    const std::size_t stretch = place / kStretch;
    double sums[RankGrowth::kMostClasses];
    std::copy_n(sums_[stretch], n_present_, sums);
    for (std::size_t i = stretch * kStretch; i < place; ++i) {
      const std::int64_t item = items_at_hand_[item_at(i)];
      sums[index_of_[class_in(item)]] += static_cast<double>(weight_in(item));
    }
    alignas(64) double numbers[kMostNumbers];
    double* left = numbers;
    double* right = numbers + n_present_ + 1;
    left[0] = 0.0;
    for (std::size_t j = 0; j < n_present_; ++j) {
      left[0] += sums[j];
      left[j + 1] = sums[j];
      right[j + 1] = of_present_[j] - sums[j];
    }
    right[0] = weight_ - left[0];
    take_logarithms(numbers, 2 * (n_present_ + 1));
    return score_of_branch(left) + score_of_branch(right);
  }

  // Turns n numbers into their x log2 x.
  static void take_logarithms(double* numbers, std::size_t n) {
    for (std::size_t i = 0; i < n; i += 8) {
      const auto here = static_cast<__mmask8>(first_bits(std::min<std::size_t>(8, n - i)));
      _mm512_store_pd(numbers + i, x_log2_x(_mm512_maskz_load_pd(here, numbers + i)));
    }
  }
  // From that of its weight, which comes first, and those of its classes.
  double score_of_branch(const double* terms) const {
    double score = -terms[0];
    for (std::size_t j = 1; j <= n_present_; ++j) score += terms[j];
    return score;
  }

  static std::size_t class_in(std::int64_t item) {
    return static_cast<std::size_t>(item >> ClassWeight::kLabelShift);
  }
  static std::int64_t weight_in(std::int64_t item) { return item & kWeightBits; }

  double* weights_of(std::int32_t node) const {
    return node_weights_ + static_cast<std::size_t>(node) * n_classes_;
  }
  void write_weights(std::int32_t parent, std::int32_t child, std::int32_t other,
                     const std::int64_t* sums) const {
    const double* all = weights_of(parent);
    double* some = weights_of(child);
    double* others = weights_of(other);
    for (std::size_t k = 0; k < n_classes_; ++k) {
      some[k] = static_cast<double>(sums[k]);
      others[k] = all[k] - some[k];
    }
  }

  const TreeRules& rules_;
  const BlockNode* nodes_;
  double* node_weights_;         // n_classes per node
  const std::int64_t* by_item_;  // class and weight of all rows of the block
  std::size_t n_classes_;
  const std::int64_t* items_at_hand_ = by_item_;

  // The node at hand, and the classes that it has.
  double weight_ = 0.0;
  double squares_ = 0.0;  // of the classes' weights, added up
  std::size_t n_present_ = 0;
  std::int64_t present_[RankGrowth::kMostClasses + 1];
  double of_present_[RankGrowth::kMostClasses + 1];
  __m512d before_[RankGrowth::kMostClasses];  // what the places so far add up to, in every lane

  // By logarithms.
  static constexpr std::size_t kStretch = 64;  // places between those whose sums are kept
  double score_ = 0.0;
  double scale_ = 0.0;                                   // of ties
  float margin_ = 0.0f;                                  // of rough scores
  float best_rough_ = 0.0f;                              // of all columns so far
  std::size_t index_of_[RankGrowth::kMostClasses] = {};  // of the classes that the node has

  // Of one order, by place.
  alignas(64) double scores_[kPlaces];
  alignas(64) float rough_[kOfSquares ? 1 : kPlaces];
  Rank promising_[kOfSquares ? 1 : kPlaces];
  double sums_[kOfSquares ? 1 : kPlaces / kStretch][RankGrowth::kMostClasses];
  alignas(64) std::int64_t small_items_[kSmallRows + 1] = {};
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
