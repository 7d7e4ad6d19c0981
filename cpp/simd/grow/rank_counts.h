// Rows of two classes that weigh the same, in the order of a feature: what each counts is a byte, how often it
// was drawn and its class. Included inside the namespace that HORNBEAM_KERNELS names.
#pragma once

#include <bit>
#include <type_traits>

#include "criterion/counts.h"
#include "simd/grow/rank_cuts.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

using criterion::EntropyTerm;
using criterion::GiniTerm;

namespace {

// Rows below, rows of class 1 in the upper half; as in candidates of the walk (criterion/counts.h), in 32
// bits.
using Counts = std::uint32_t;
constexpr std::int64_t rows_in(Counts counts) {
  return counts & 0xffff;
}
constexpr std::int64_t ones_in(Counts counts) {
  return counts >> 16;
}

// Gini of rows that weigh the same within their class, in whole numbers; scores as in criterion/two_weights.h.
struct WeighedGini {
  double weights[2];
  float relative[2];  // the larger is 1

  explicit WeighedGini(const double (&of_class)[2]) {
    for (std::size_t k = 0; k < 2; ++k) {
      weights[k] = of_class[k];
      relative[k] = static_cast<float>(of_class[k] / std::max(of_class[0], of_class[1]));
    }
  }
  double weight(std::int64_t rows, std::int64_t ones) const {
    return static_cast<double>(rows - ones) * weights[0] + static_cast<double>(ones) * weights[1];
  }
  double score_of_branch(std::int64_t rows, std::int64_t ones) const {
    const double w0 = static_cast<double>(rows - ones) * weights[0];
    const double w1 = static_cast<double>(ones) * weights[1];
    return (w0 * w0 + w1 * w1) / (w0 + w1);
  }
  double scale(std::int64_t) const { return 0.0; }
};

// `Term` says by what tests are scored (criterion/counts.h).
template <class Term>
class CountCells {
 public:
  using Node = CountedNode;
  using Item = std::uint8_t;  // a row in a table; 0 is none
  using Best = BestCut<Counts>;

  explicit CountCells(const RankGrowth& growth)
      : rules_(growth.rules), nodes_(growth.counted), term_(term_of(growth)) {}

  static Node* nodes(const RankGrowth& growth) { return growth.counted; }
  bool opens(std::int32_t node, std::int32_t depth) const {
    const Node& of = nodes_[node];
    if constexpr (kIsWeighed) {
      const auto weight = static_cast<std::int64_t>(term_.weight(of.rows, of.ones));
      return rules_.opens(of.samples, weight, of.ones == 0 || of.ones == of.rows, depth);
    }
    return rules_.opens_two(of.samples, of.rows, of.ones, depth);
  }
  void start_node(std::int32_t node) { scale_ = term_.scale(nodes_[node].rows); }

  double score_of_node(std::int32_t node) const {
    return score_of_branch(nodes_[node].rows, nodes_[node].ones);
  }
  double score_of_cut(Counts left, const Node& node) const {
    const std::int64_t rows = rows_in(left);
    const std::int64_t ones = ones_in(left);
    return score_of_branch(rows, ones) + score_of_branch(node.rows - rows, node.ones - ones);
  }
  void divide(std::int32_t parent, Counts left, std::int32_t first) const {
    const Node& node = nodes_[parent];
    Node* children = nodes_ + first;
    children[0].rows = static_cast<std::uint32_t>(rows_in(left));
    children[0].ones = static_cast<std::uint32_t>(ones_in(left));
    children[1].rows = node.rows - children[0].rows;
    children[1].ones = node.ones - children[0].ones;
  }

  // The sums of the children are known from the cut.
  void count_divided(std::int32_t, std::int32_t, const Rank*, const Rank*, Rank, std::size_t) const {}
  void count_divided(std::int32_t, std::int32_t, const Rank*, Bits, Bits) const {}

  // Moves what 64 places of a table have behind the first so many rows of the order, and leaves zeros; says
  // which places had something.
  Bits take(Item* table, std::size_t n_found) {
    const __m512i bytes = _mm512_loadu_si512(table);
    const Bits here = _mm512_test_epi8_mask(bytes, bytes);
    _mm512_storeu_si512(table, _mm512_setzero_si512());
    _mm512_storeu_si512(counts_ + n_found, _mm512_maskz_compress_epi8(here, bytes));
    return here;
  }

  void start_large() {}

  // ---- small subtrees

  // `items` are those of the rows, by row.
  void start_small(const Rank* items, std::size_t) {
    const __m256i low = _mm512_maskz_cvtepi16_epi8(~__mmask32{0}, _mm512_loadu_si512(items));
    const __m256i high = _mm512_maskz_cvtepi16_epi8(~__mmask32{0}, _mm512_loadu_si512(items + 32));
    small_counts_ = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
  }
  // Puts the rows of a node in an order of n places; says which they have.
  Bits order_small(const std::uint8_t* row_at, std::size_t n, Bits rows) {
    const __m512i counts = _mm512_maskz_mov_epi8(rows, small_counts_);
    const __m512i bytes = _mm512_maskz_permutexvar_epi8(first_bits(n), _mm512_load_si512(row_at), counts);
    const Bits places = _mm512_test_epi8_mask(bytes, bytes);
    _mm512_storeu_si512(counts_, _mm512_maskz_compress_epi8(places, bytes));
    return places;
  }
  // What is left of a cut behind the row with this item.
  static Counts left_of(Rank item) {
    const std::uint32_t times = item & RankGrowth::kMostTimes;
    return times | ((item & RankGrowth::kClass1) != 0 ? times << 16 : 0);
  }

  // Offers the best cut of n rows in the order of a column: `cuts` has a bit for each that has another value
  // than the one before. False if there is none.
  bool offer_cuts(std::int32_t column, std::size_t n, Bits* cuts, const Node& node, Bits places, Best& best) {
    const auto least_rows = static_cast<std::size_t>(rules_.min_samples_leaf);
    if (least_rows > 1 && !leave_out_ends(cuts, n, least_rows)) return false;
    if constexpr (!std::is_same_v<Term, EntropyTerm>)
      return offer_by_gini(column, n, cuts, node, places, best);
    if constexpr (std::is_same_v<Term, EntropyTerm>)
      return offer_by_terms(column, n, cuts, node, places, best);
  }

 private:
  static constexpr bool kIsWeighed = std::is_same_v<Term, WeighedGini>;

  static Term term_of(const RankGrowth& growth) {
    if constexpr (std::is_same_v<Term, GiniTerm>) return GiniTerm(0);
    if constexpr (std::is_same_v<Term, EntropyTerm>) return *growth.entropy;
    if constexpr (kIsWeighed) return WeighedGini(growth.row_weights);
  }

  // Rows and ones to the left of sixteen places; `before` is what lies before all of them, and goes on.
  __m512i sums_left_of(std::size_t place, __m512i& before) const {
    const __m512i zero = _mm512_setzero_si512();
    const __m512i bytes =
        _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(counts_ + place)));
    const __m512i rows = _mm512_and_si512(bytes, _mm512_set1_epi32(RankGrowth::kMostTimes));
    const __mmask16 is_one = _mm512_test_epi32_mask(bytes, _mm512_set1_epi32(RankGrowth::kClass1));
    const __m512i steps = _mm512_mask_or_epi32(rows, is_one, rows, _mm512_slli_epi32(rows, 16));
    __m512i sums = _mm512_add_epi32(steps, _mm512_alignr_epi32(steps, zero, 15));
    sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, zero, 14));
    sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, zero, 12));
    sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, zero, 8));
    sums = _mm512_add_epi32(sums, before);
    before = _mm512_permutexvar_epi32(_mm512_set1_epi32(15), sums);
    return _mm512_sub_epi32(sums, steps);
  }

  // The weights of both branches of sixteen cuts, multiplied, in units in which one class weighs 1 and the
  // other less.
  __m512 product_of(__m512i left, __m512i left_rows, __m512i right_rows, const Node& node) const {
    if constexpr (!kIsWeighed) return _mm512_cvtepi32_ps(_mm512_madd_epi16(left_rows, right_rows));
    if constexpr (kIsWeighed) {
      const __m512i left_ones = _mm512_srli_epi32(left, 16);
      const __m512i right_ones = _mm512_sub_epi32(_mm512_set1_epi32(static_cast<int>(node.ones)), left_ones);
      const auto weigh = [this](__m512i rows, __m512i ones) {
        const __m512 of_ones = _mm512_mul_ps(_mm512_cvtepi32_ps(ones), _mm512_set1_ps(term_.relative[1]));
        const __m512 zeros = _mm512_cvtepi32_ps(_mm512_sub_epi32(rows, ones));
        return _mm512_add_ps(_mm512_mul_ps(zeros, _mm512_set1_ps(term_.relative[0])), of_ones);
      };
      return _mm512_mul_ps(weigh(left_rows, left_ones), weigh(right_rows, right_ones));
    }
  }
  // In those units, divided by the weights of both classes.
  float square_of_weight(const Node& node) const {
    auto weight = static_cast<float>(node.rows);
    if constexpr (kIsWeighed) {
      const auto ones = static_cast<float>(node.ones);
      weight = ((weight - ones) * term_.relative[0] + ones * term_.relative[1]) /
               (term_.relative[0] * term_.relative[1]);
    }
    return weight * weight;
  }
  // The cuts of sixteen that leave enough weight on both sides.
  __mmask16 heavy_enough(__m512i left, __m512i left_rows, __m512i right_rows, const Node& node) const {
    if constexpr (!kIsWeighed) {
      const __m512i least = _mm512_set1_epi32(static_cast<int>(rules_.min_weight));
      return _mm512_cmpge_epi32_mask(left_rows, least) & _mm512_cmpge_epi32_mask(right_rows, least);
    }
    if constexpr (kIsWeighed) {
      const double all = term_.weight(node.rows, node.ones);
      const auto least = static_cast<double>(rules_.min_weight);
      alignas(64) Counts cuts[16];
      _mm512_store_si512(cuts, left);
      std::uint32_t heavy = 0;
      for (std::size_t i = 0; i < 16; ++i) {
        const double weight = term_.weight(rows_in(cuts[i]), ones_in(cuts[i]));
        heavy |= static_cast<std::uint32_t>(weight >= least && all - weight >= least) << i;
      }
      return static_cast<__mmask16>(heavy);
    }
  }

  // What a cut gains is 2 D^2 / (rows * left * right), D = ones on the left * rows - rows on the left * ones.
  // D and left * right are exact, the rest is off by less than 2^-13 of itself. Exact scores tie within 2^-44
  // of themselves, which in units of D^2 / (left * right) is less than rows^2 2^-43.
  //
  // Where rows weigh a and b by class, D is multiplied by a b, and the rows by their weights: the gain is
  // 2 (a b)^2 D^2 / (weight * left weight * right weight), and what ties is less than (weight / (a b))^2 2^-43.
  bool offer_by_gini(std::int32_t column, std::size_t n, const Bits* cuts, const Node& node, Bits places,
                     Best& best) {
    const __m512i by_node =
        _mm512_set1_epi32(static_cast<int>(node.rows << 16 | (0x10000 - node.ones) % 0x10000));
    const __m512i node_rows = _mm512_set1_epi32(static_cast<int>(node.rows));
    __m512i before = _mm512_setzero_si512();
    __m512 largest = _mm512_set1_ps(-1.0f);
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < n; i += 16) {
      const __m512i left = sums_left_of(i, before);
      const __m512i left_rows = _mm512_and_si512(left, _mm512_set1_epi32(0xffff));
      const __m512i right_rows = _mm512_sub_epi32(node_rows, left_rows);
      const __m512 difference = _mm512_cvtepi32_ps(_mm512_madd_epi16(left, by_node));
      const __m512 product = product_of(left, left_rows, right_rows, node);
      const __m512 rough = _mm512_mul_ps(_mm512_mul_ps(difference, difference), _mm512_rcp14_ps(product));
      auto wanted = static_cast<__mmask16>(cuts[i / 64] >> (i % 64));
      any |= wanted;
      if (rules_.min_weight > 0) wanted &= heavy_enough(left, left_rows, right_rows, node);
      const __m512 admitted = _mm512_mask_mov_ps(_mm512_set1_ps(-1.0f), wanted, rough);
      largest = _mm512_max_ps(largest, admitted);
      _mm512_store_ps(rough_ + i, admitted);
      _mm512_store_si512(left_ + i, left);
    }
    if (any == 0) return rules_.min_samples_leaf > 1;
    const float here = _mm512_reduce_max_ps(largest);
    if (here < 0) return true;  // the limits admit none
    best.rough = std::max(best.rough, here);
    const float square = square_of_weight(node);
    // Cuts that are not admitted are below 0. What ties may be more than any gain, where weights are far apart.
    const float floor = std::max(0.0f, best.rough * (1 - 0x1p-11f) - square * 0x1p-42f);
    if (here >= floor) offer_promising(column, n, floor, node, places, best);
    return true;
  }

  // Each cut gets its exact score, from terms that are looked up.
  bool offer_by_terms(std::int32_t column, std::size_t n, const Bits* cuts, const Node& node, Bits places,
                      Best& best) {
    const __m512i node_rows = _mm512_set1_epi32(static_cast<int>(node.rows));
    const __m512i node_ones = _mm512_set1_epi32(static_cast<int>(node.ones));
    const __m512d none = _mm512_set1_pd(-kInfinity);
    __m512i before = _mm512_setzero_si512();
    __m512d largest = none;
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < n; i += 16) {
      const __m512i left = sums_left_of(i, before);
      const __m512i left_rows = _mm512_and_si512(left, _mm512_set1_epi32(0xffff));
      const __m512i left_ones = _mm512_srli_epi32(left, 16);
      const __m512i right_rows = _mm512_sub_epi32(node_rows, left_rows);
      const __m512i right_ones = _mm512_sub_epi32(node_ones, left_ones);
      auto wanted = static_cast<__mmask16>(cuts[i / 64] >> (i % 64));
      any |= wanted;
      if (rules_.min_weight > 0) wanted &= heavy_enough(left, left_rows, right_rows, node);
      _mm512_store_si512(left_ + i, left);
      const auto score = [&](auto half, __mmask8 here) {
        const auto branches = [&](__m512i rows, __m512i ones) {
          const auto look_up = [&](__m512i counts) {
            return _mm512_mask_i32gather_epi64(_mm512_setzero_si512(), here,
                                               _mm512_extracti64x4_epi64(counts, decltype(half)::value),
                                               term_.values(), 8);
          };
          const __m512i of_classes = _mm512_add_epi64(look_up(ones), look_up(_mm512_sub_epi32(rows, ones)));
          return _mm512_cvtepi64_pd(_mm512_sub_epi64(of_classes, look_up(rows)));
        };
        const __m512d both = _mm512_add_pd(branches(left_rows, left_ones), branches(right_rows, right_ones));
        const __m512d admitted = _mm512_mask_mov_pd(none, here, both);
        largest = _mm512_max_pd(largest, admitted);
        _mm512_store_pd(scores_ + i + 8 * half, admitted);
      };
      score(std::integral_constant<int, 0>{}, static_cast<__mmask8>(wanted));
      score(std::integral_constant<int, 1>{}, static_cast<__mmask8>(wanted >> 8));
    }
    if (any == 0) return rules_.min_samples_leaf > 1;
    const double here = _mm512_reduce_max_pd(largest);
    if (best.raise(here, scale_)) {
      best.column = column;
      best.n_left = first_near(scores_, here, scale_);
      best.left = left_[best.n_left];
      best.places = places;
    }
    return true;
  }

  double score_of_branch(std::int64_t rows, std::int64_t ones) const {
    if constexpr (kIsWeighed)
      return term_.score_of_branch(rows, ones);
    else
      return term_.branch(term_(1, ones) + term_(0, rows - ones), rows);
  }

  // Scores the cuts that reach the floor: of those within the slack of the best, the first is offered.
  void offer_promising(std::int32_t column, std::size_t n, float floor, const Node& node, Bits places,
                       Best& best) {
    std::size_t n_promising = 0;
    double largest = -kInfinity;
    for (std::size_t i = 0; i < n; i += 16) {
      std::uint32_t promising =
          _mm512_cmp_ps_mask(_mm512_load_ps(rough_ + i), _mm512_set1_ps(floor), _CMP_GE_OQ);
      for (; promising != 0; promising &= promising - 1) {
        const std::size_t at = i + static_cast<std::size_t>(std::countr_zero(promising));
        const double score = score_of_cut(left_[at], node);
        largest = std::max(largest, score);
        promising_[n_promising] = static_cast<Rank>(at);
        scores_[n_promising++] = score;
      }
    }
    if (!best.raise(largest)) return;
    best.column = column;
    best.n_left = promising_[first_near(scores_, largest)];
    best.left = left_[best.n_left];
    best.places = places;
  }

  const TreeRules& rules_;
  Node* nodes_;
  Term term_;
  double scale_ = 0.0;  // of ties, in the node at hand
  // Of one order, by place.
  alignas(64) std::uint8_t counts_[kPlaces];
  alignas(64) float rough_[kPlaces];
  alignas(64) Counts left_[kPlaces];
  Rank promising_[kPlaces];
  alignas(64) double scores_[kPlaces];
  __m512i small_counts_;
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
