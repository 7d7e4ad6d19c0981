// Weighted rows of two classes in the order of a feature. Weights are whole numbers, of class 1 negative, and add up to
// less than 2^53: float64 sums are exact, and scores are those of criterion/two_weights.h. Included inside the namespace
// that HORNBEAM_KERNELS names.
#pragma once

#include <bit>
#include <cmath>

#include "simd/grow/rank_rows.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

namespace {

struct Weights {
  double all = 0.0;
  double ones = 0.0;
};

class WeightCells : public NumberedRows {
 public:
  using Node = BlockNode;
  using Best = BestCut<Weights>;

  explicit WeightCells(const RankGrowth& growth)
      : rules_(growth.rules),
        nodes_(growth.nodes),
        node_weights_(growth.node_weights),
        by_item_(growth.weights) {}

  static Node* nodes(const RankGrowth& growth) { return growth.nodes; }
  bool opens(std::int32_t node, std::int32_t depth) const {
    const double* weights = node_weights_ + 2 * node;
    return rules_.opens_two(nodes_[node].samples, static_cast<std::int64_t>(weights[0]),
                            static_cast<std::int64_t>(weights[1]), depth);
  }
  void start_node(std::int32_t node) { node_ = {node_weights_[2 * node], node_weights_[2 * node + 1]}; }

  double score_of_node(std::int32_t) const { return score_of_branch(node_.all, node_.ones); }
  double score_of_cut(const Weights& left, const Node&) const {
    return score_of_branch(left.all, left.ones) +
           score_of_branch(node_.all - left.all, node_.ones - left.ones);
  }
  void divide(std::int32_t, const Weights& left, std::int32_t first) const {
    double* weights = node_weights_ + 2 * first;
    weights[0] = left.all;
    weights[1] = left.ones;
    weights[2] = node_.all - left.all;
    weights[3] = node_.ones - left.ones;
  }

  // The sums of the children are known from the cut.
  void count_divided(std::int32_t, std::int32_t, const Rank*, const Rank*, Rank, std::size_t) const {}
  void count_divided(std::int32_t, std::int32_t, const Rank*, Bits, Bits) const {}

  void start_large() { weights_ = by_item_; }

  // ---- small subtrees

  void start_small(const Rank* items, std::size_t n) {
    for (std::size_t row = 0; row < n; ++row) small_weights_[row + 1] = by_item_[items[row]];
    weights_ = small_weights_;
  }
  Weights left_of(Rank item) const {
    const double weight = by_item_[item];
    return {std::abs(weight), weight < 0 ? -weight : 0.0};
  }

  bool offer_cuts(std::int32_t column, std::size_t n, Bits* cuts, const Node&, Bits places, Best& best) {
    const auto least_rows = static_cast<std::size_t>(rules_.min_samples_leaf);
    if (least_rows > 1 && !leave_out_ends(cuts, n, least_rows)) return false;
    end_items(n);
    const bool is_limited = rules_.min_weight > 0;
    const __m512d least = _mm512_set1_pd(static_cast<double>(rules_.min_weight));
    const __m512d node_ones = _mm512_set1_pd(node_.ones);
    const __m512d node_weight = _mm512_set1_pd(node_.all);
    const __m512d none = _mm512_set1_pd(-kInfinity);
    const __m512d zero = _mm512_setzero_pd();
    __m512d before = zero;
    __m512d ones_before = zero;
    __m512d largest = none;
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < n; i += 8) {
      const __m512i items = items_from(i);
      const __m512d weights = _mm512_i64gather_pd(items, weights_, 8);
      const __m512d steps = _mm512_abs_pd(weights);
      const __m512d one_steps = _mm512_sub_pd(zero, _mm512_min_pd(weights, zero));
      const __m512d sums = _mm512_add_pd(sum_up(steps), before);
      const __m512d one_sums = _mm512_add_pd(sum_up(one_steps), ones_before);
      before = last_of(sums);
      ones_before = last_of(one_sums);
      const __m512d left = _mm512_sub_pd(sums, steps);
      const __m512d left_ones = _mm512_sub_pd(one_sums, one_steps);
      const __m512d right = _mm512_sub_pd(node_weight, left);
      const __m512d scores = _mm512_add_pd(scores_of_branches(left, left_ones),
                                           scores_of_branches(right, _mm512_sub_pd(node_ones, left_ones)));
      auto wanted = static_cast<__mmask8>(cuts[i / 64] >> (i % 64));
      any |= wanted;
      if (is_limited)
        wanted &= _mm512_cmp_pd_mask(left, least, _CMP_GE_OQ) & _mm512_cmp_pd_mask(right, least, _CMP_GE_OQ);
      const __m512d admitted = _mm512_mask_mov_pd(none, wanted, scores);
      largest = _mm512_max_pd(largest, admitted);
      _mm512_store_pd(scores_ + i, admitted);
      _mm512_store_pd(left_ + i, left);
      _mm512_store_pd(left_ones_ + i, left_ones);
    }
    if (any == 0) return least_rows > 1;
    offer(column, _mm512_reduce_max_pd(largest), places, best);
    return true;
  }

 private:
  static __m512d scores_of_branches(__m512d weight, __m512d ones) {
    const __m512d zeros = _mm512_sub_pd(weight, ones);
    return _mm512_div_pd(_mm512_add_pd(_mm512_mul_pd(zeros, zeros), _mm512_mul_pd(ones, ones)), weight);
  }
  static double score_of_branch(double weight, double ones) {
    const double zeros = weight - ones;
    return (zeros * zeros + ones * ones) / weight;
  }

  // The first cut within the slack of the largest score.
  void offer(std::int32_t column, double largest, Bits places, Best& best) const {
    if (!best.raise(largest)) return;
    best.column = column;
    best.n_left = first_near(scores_, largest);
    best.left = {left_[best.n_left], left_ones_[best.n_left]};
    best.places = places;
  }

  const TreeRules& rules_;
  const Node* nodes_;
  double* node_weights_;              // two per node
  Weights node_;                      // the one at hand
  const double* by_item_;             // of all rows of the block
  const double* weights_ = by_item_;  // of the rows at hand
  // Of one order, by place.
  alignas(64) double scores_[kPlaces];
  alignas(64) double left_[kPlaces];
  alignas(64) double left_ones_[kPlaces];
  alignas(64) double small_weights_[kSmallRows + 1];
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
