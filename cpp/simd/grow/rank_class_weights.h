// Weighted rows of more than two classes in the order of a feature. Weights are whole numbers that add up to less than
// 2^53: float64 sums are exact, and scores are those of criterion/class_weights.h, squares added up in the order of the
// classes. Classes that a node lacks add nothing and are left out. Included inside the namespace that HORNBEAM_KERNELS
// names.
#pragma once

#include <bit>

#include "criterion/class_weights.h"
#include "simd/grow/rank_rows.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

using criterion::ClassWeight;

namespace {

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
      n_present_ += weights[k] > 0;
      weight_ += weights[k];
      squares_ += weights[k] * weights[k];
    }
  }
  double score_of_node(std::int32_t) const { return squares_ / weight_; }
  // Of two rows, which are of different classes.
  Left left_of(Rank item) const { return {static_cast<double>(weight_in(by_item_[item]))}; }
  double score_of_cut(const Left& left, const Node&) const {
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
    const bool is_limited = rules_.min_weight > 0;
    const __m512d least = _mm512_set1_pd(static_cast<double>(rules_.min_weight));
    const __m512d node_weight = _mm512_set1_pd(weight_);
    const __m512d none = _mm512_set1_pd(-kInfinity);
    for (std::size_t j = 0; j < n_present_; ++j) before_[j] = _mm512_setzero_pd();
    __m512d largest = none;
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < n; i += 8) {
      const __m512i words = _mm512_i64gather_epi64(items_from(i), items_at_hand_, 8);
      const __m512i classes = _mm512_srli_epi64(words, ClassWeight::kLabelShift);
      const __m512d weights = _mm512_cvtepi64_pd(_mm512_and_si512(words, _mm512_set1_epi64(kWeightBits)));
      __m512d left = _mm512_setzero_pd();
      __m512d left_squares = left;
      __m512d right_squares = left;
      for (std::size_t j = 0; j < n_present_; ++j) {
        const __mmask8 own = _mm512_cmpeq_epi64_mask(classes, _mm512_set1_epi64(present_[j]));
        const __m512d steps = _mm512_maskz_mov_pd(own, weights);
        const __m512d sums = _mm512_add_pd(sum_up(steps), before_[j]);
        before_[j] = last_of(sums);
        const __m512d here = _mm512_sub_pd(sums, steps);
        const __m512d there = _mm512_sub_pd(_mm512_set1_pd(of_present_[j]), here);
        left = _mm512_add_pd(left, here);
        left_squares = _mm512_add_pd(left_squares, _mm512_mul_pd(here, here));
        right_squares = _mm512_add_pd(right_squares, _mm512_mul_pd(there, there));
      }
      const __m512d right = _mm512_sub_pd(node_weight, left);
      const __m512d scores =
          _mm512_add_pd(_mm512_div_pd(left_squares, left), _mm512_div_pd(right_squares, right));
      auto wanted = static_cast<__mmask8>(cuts[i / 64] >> (i % 64));
      any |= wanted;
      if (is_limited)
        wanted &= _mm512_cmp_pd_mask(left, least, _CMP_GE_OQ) & _mm512_cmp_pd_mask(right, least, _CMP_GE_OQ);
      const __m512d admitted = _mm512_mask_mov_pd(none, wanted, scores);
      largest = _mm512_max_pd(largest, admitted);
      _mm512_store_pd(scores_ + i, admitted);
    }
    if (any == 0) return least_rows > 1;
    const double here = _mm512_reduce_max_pd(largest);
    if (best.raise(here)) {
      best.column = column;
      best.n_left = first_near(scores_, here);
      best.places = places;
    }
    return true;
  }

 private:
  static constexpr std::int64_t kWeightBits = (std::int64_t{1} << ClassWeight::kLabelShift) - 1;

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

  alignas(64) double scores_[kPlaces];  // of one order, by place
  alignas(64) std::int64_t small_items_[kSmallRows + 1] = {};
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
