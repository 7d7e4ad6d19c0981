// Rows with real targets in the order of a feature, added up in fixed point. Scores are those of
// SumScorer<SquaredErrorBranch> (criterion/sums.h); the values and facts of nodes are computed as in
// real_facts (criterion/facts.h). Included inside the namespace that HORNBEAM_KERNELS names.
#pragma once

#include <bit>
#include <cmath>

#include "simd/grow/rank_rows.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

namespace {

struct Moments {
  std::int64_t sum = 0;
  std::int64_t weight = 0;
};

class SumRankCells : public NumberedRows {
 public:
  using Node = BlockNode;
  using Best = BestCut<Moments>;

  explicit SumRankCells(const RankGrowth& growth)
      : rules_(growth.rules), nodes_(growth.nodes), rows_(growth.numbers) {}

  static Node* nodes(const RankGrowth& growth) { return growth.nodes; }
  bool opens(std::int32_t node, std::int32_t depth) const {
    return rules_.opens(nodes_[node].samples, rows_.node_sums[2 * node + 1], is_pure_[node & 1], depth);
  }

  void start_node(std::int32_t node) {
    node_ = {rows_.node_sums[2 * node], rows_.node_sums[2 * node + 1]};
    centre_ = std::llround(static_cast<double>(node_.sum) / static_cast<double>(node_.weight));
  }
  double score_of_node(std::int32_t) const { return score_of(node_); }
  Moments left_of(Rank item) const { return {rows_.sums[item], rows_.weights[item]}; }
  double score_of_cut(const Moments& left, const Node&) const {
    return score_of(left) + score_of({node_.sum - left.sum, node_.weight - left.weight});
  }
  void divide(std::int32_t parent, const Moments& left, std::int32_t first) const {
    std::int64_t* sums = rows_.node_sums + 2 * first;
    sums[0] = left.sum;
    sums[1] = left.weight;
    sums[2] = rows_.node_sums[2 * parent] - left.sum;
    sums[3] = rows_.node_sums[2 * parent + 1] - left.weight;
  }

  // The values and facts of the children, of which the first gets the rows with smaller ranks.
  void count_divided(std::int32_t, std::int32_t first, const Rank* items, const Rank* tested, Rank bound,
                     std::size_t n) {
    std::size_t n_left = 0;
    for (std::size_t i = 0; i < n; ++i) {
      divided_[0][n_left] = items[i];
      divided_[1][i - n_left] = items[i];
      n_left += tested[i] < bound;
    }
    describe(first, divided_[0], n_left);
    describe(first + 1, divided_[1], n - n_left);
  }
  void count_divided(std::int32_t, std::int32_t first, const Rank* items, Bits left, Bits right) {
    for (std::int32_t b = 0; b < 2; ++b) {
      std::size_t n = 0;
      for (Bits rest = b == 0 ? left : right; rest != 0; rest &= rest - 1)
        divided_[b][n++] = items[std::countr_zero(rest)];
      describe(first + b, divided_[b], n);
    }
  }

  void start_large() {
    sums_ = rows_.sums;
    weights_ = rows_.weights;
  }

  // ---- small subtrees

  void start_small(const Rank* items, std::size_t n) {
    for (std::size_t row = 0; row < n; ++row) {
      small_sums_[row + 1] = rows_.sums[items[row]];
      small_weights_[row + 1] = rows_.weights[items[row]];
    }
    sums_ = small_sums_;
    weights_ = small_weights_;
  }

  bool offer_cuts(std::int32_t column, std::size_t n, Bits* cuts, const Node&, Bits places, Best& best) {
    const auto least_rows = static_cast<std::size_t>(rules_.min_samples_leaf);
    if (least_rows > 1 && !leave_out_ends(cuts, n, least_rows)) return false;
    end_items(n);
    const bool is_limited = rules_.min_weight > 0;
    const __m512i least = _mm512_set1_epi64(rules_.min_weight);
    const __m512i centre = _mm512_set1_epi64(centre_);
    const __m512i node_weight = _mm512_set1_epi64(node_.weight);
    const __m512i node_moved = _mm512_set1_epi64(node_.sum - node_.weight * centre_);
    const __m512d none = _mm512_set1_pd(-kInfinity);
    __m512i sum_before = _mm512_setzero_si512();
    __m512i weight_before = _mm512_setzero_si512();
    __m512d largest = none;
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < n; i += 8) {
      const __m512i items = items_from(i);
      const __m512i left_sum = exclusive_sums(_mm512_i64gather_epi64(items, sums_, 8), sum_before);
      const __m512i left = exclusive_sums(_mm512_i64gather_epi64(items, weights_, 8), weight_before);
      const __m512i right = _mm512_sub_epi64(node_weight, left);
      const __m512i moved = _mm512_sub_epi64(left_sum, _mm512_mullo_epi64(left, centre));
      const __m512d scores =
          _mm512_add_pd(scores_of(moved, left), scores_of(_mm512_sub_epi64(node_moved, moved), right));
      auto wanted = static_cast<__mmask8>(cuts[i / 64] >> (i % 64));
      any |= wanted;
      if (is_limited) wanted &= _mm512_cmpge_epi64_mask(left, least) & _mm512_cmpge_epi64_mask(right, least);
      const __m512d admitted = _mm512_mask_mov_pd(none, wanted, scores);
      largest = _mm512_max_pd(largest, admitted);
      _mm512_store_pd(scores_ + i, admitted);
      _mm512_store_si512(left_sums_ + i, left_sum);
      _mm512_store_si512(left_weights_ + i, left);
    }
    if (any == 0) return least_rows > 1;
    const double here = _mm512_reduce_max_pd(largest);
    if (best.raise(here)) {
      best.column = column;
      best.n_left = first_near(scores_, here);
      best.left = {left_sums_[best.n_left], left_weights_[best.n_left]};
      best.places = places;
    }
    return true;
  }

 private:
  double score_of(const Moments& branch) const {
    const auto moved = static_cast<double>(branch.sum - branch.weight * centre_);
    return moved * moved / static_cast<double>(branch.weight);
  }
  static __m512d scores_of(__m512i moved, __m512i weight) {
    const __m512d sum = _mm512_cvtepi64_pd(moved);
    return _mm512_div_pd(_mm512_mul_pd(sum, sum), _mm512_cvtepi64_pd(weight));
  }

  // Rows in their order.
  void describe(std::int32_t node, const Rank* items, std::size_t n) {
    double weight = 0.0;
    double sum = 0.0;
    double lowest = kInfinity;
    double highest = -kInfinity;
    for (std::size_t i = 0; i < n; ++i) {
      const double w = rows_.row_weights[items[i]];
      const double y = rows_.numbers[items[i]];
      weight += w;
      sum += w * y;
      lowest = std::min(lowest, y);
      highest = std::max(highest, y);
    }
    const bool pure = is_pure_[node & 1] = lowest == highest;
    const double mean = sum / weight;
    double spread = 0.0;
    for (std::size_t i = 0; i < n; ++i) {
      const double w = rows_.row_weights[items[i]];
      const double y = rows_.numbers[items[i]];
      spread += w * (y - mean) * (y - mean);
    }
    rows_.node_facts[node] = {weight, pure ? 0.0 : spread / weight, pure};
    rows_.node_values[node] = pure ? lowest : mean;
  }

  // Each without itself; `before` is what lies before all of them, and goes on.
  static __m512i exclusive_sums(__m512i steps, __m512i& before) {
    const __m512i zero = _mm512_setzero_si512();
    __m512i sums = _mm512_add_epi64(steps, _mm512_alignr_epi64(steps, zero, 7));
    sums = _mm512_add_epi64(sums, _mm512_alignr_epi64(sums, zero, 6));
    sums = _mm512_add_epi64(sums, _mm512_alignr_epi64(sums, zero, 4));
    sums = _mm512_add_epi64(sums, before);
    before = _mm512_permutexvar_epi64(_mm512_set1_epi64(7), sums);
    return _mm512_sub_epi64(sums, steps);
  }

  const TreeRules& rules_;
  const BlockNode* nodes_;
  RankNumbers rows_;
  Moments node_;  // the one at hand, and its mean
  std::int64_t centre_ = 0;
  bool is_pure_[2] = {};                // the children that were described last
  const std::int64_t* sums_ = nullptr;  // of the rows at hand
  const std::int64_t* weights_ = nullptr;
  // Of one order, by place.
  alignas(64) double scores_[kPlaces];
  alignas(64) std::int64_t left_sums_[kPlaces];
  alignas(64) std::int64_t left_weights_[kPlaces];
  alignas(64) std::int64_t small_sums_[kSmallRows + 1] = {};
  alignas(64) std::int64_t small_weights_[kSmallRows + 1] = {};
  Rank divided_[2][kPlaces];
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
