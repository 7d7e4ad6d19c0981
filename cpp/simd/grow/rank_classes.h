// Rows of more than two classes that weigh the same, in the order of a feature: what each counts is its class and
// how often it was drawn. Included inside the namespace that HORNBEAM_KERNELS names.
#pragma once

#include <bit>

#include "simd/grow/rank_cuts.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

namespace {

// With counts l and r of a class on both sides, the sum of l^2 grows by (2 l + m) m where m rows go left, and
// that of r^2 = (n - l)^2 follows from the sums of n l and of l^2. So only the number of rows of its own
// class before each row is counted one by one; all else is computed sixteen rows at a time.
class ClassCells {
 public:
  using Node = BlockNode;
  using Item = std::uint16_t;  // a row in a table: its class, and times drawn in the lower byte; 0 is none
  struct Nothing {};
  using Left = Nothing;  // counts of classes are found where rows are divided
  using Best = BestCut<Left>;

  explicit ClassCells(const RankGrowth& growth)
      : rules_(growth.rules),
        nodes_(growth.nodes),
        counts_(growth.class_counts),
        n_classes_(growth.n_classes) {}

  static Node* nodes(const RankGrowth& growth) { return growth.nodes; }
  bool opens(std::int32_t node, std::int32_t depth) const {
    const std::uint32_t* counts = counts_of(node);
    std::uint32_t weight = 0;
    std::uint32_t largest = 0;
    for (std::size_t k = 0; k < n_classes_; ++k) {
      weight += counts[k];
      largest = std::max(largest, counts[k]);
    }
    return rules_.opens(nodes_[node].samples, weight, largest == weight, depth);
  }

  void start_node(std::int32_t node) {
    of_node_ = counts_of(node);
    weight_ = 0;
    squares_ = 0;
    for (std::size_t k = 0; k < n_classes_; ++k) {
      weight_ += of_node_[k];
      squares_ += of_node_[k] * of_node_[k];
    }
    first_classes_ = _mm512_maskz_loadu_epi32(
        static_cast<__mmask16>(first_bits(std::min<std::size_t>(n_classes_, 16))), of_node_);
  }
  double score_of_node(std::int32_t) const {
    return static_cast<double>(squares_) / static_cast<double>(weight_);
  }
  // Of two rows, each by itself.
  Left left_of(Rank) const { return {}; }
  double score_of_cut(const Left&, const Node&) const { return weight_; }

  void divide(std::int32_t, const Left&, std::int32_t) const {}
  // The sums of the children, of which the first gets the rows with smaller ranks.
  void count_divided(std::int32_t parent, std::int32_t first, const Rank* items, const Rank* tested,
                     Rank bound, std::size_t n) const {
    std::uint32_t* left = counts_of(first);
    std::fill_n(left, n_classes_, 0u);
    for (std::size_t i = 0; i < n; ++i) left[items[i] >> 8] += tested[i] < bound ? items[i] & 0xff : 0;
    subtract(parent, left, counts_of(first + 1));
  }
  void count_divided(std::int32_t parent, std::int32_t first, const Rank* items, Bits left,
                     Bits right) const {
    const std::int32_t smaller = std::popcount(left) <= std::popcount(right) ? 0 : 1;
    std::uint32_t* counts = counts_of(first + smaller);
    std::fill_n(counts, n_classes_, 0u);
    for (Bits rest = smaller == 0 ? left : right; rest != 0; rest &= rest - 1) {
      const Rank item = items[std::countr_zero(rest)];
      counts[item >> 8] += item & 0xff;
    }
    subtract(parent, counts, counts_of(first + 1 - smaller));
  }

  // As in CountCells.
  Bits take(Item* table, std::size_t n_found) {
    const std::uint32_t low = take_half(table, n_found);
    const std::uint32_t high = take_half(table + 32, n_found + static_cast<std::size_t>(std::popcount(low)));
    return Bits{high} << 32 | low;
  }

  void start_large() {}

  // ---- small subtrees

  void start_small(const Rank* items, std::size_t) {
    small_low_ = _mm512_loadu_si512(items);
    small_high_ = _mm512_loadu_si512(items + 32);
  }
  Bits order_small(const std::uint8_t* row_at, std::size_t n, Bits rows) {
    const __m512i order = _mm512_load_si512(row_at);
    const __m512i present = _mm512_maskz_set1_epi8(rows, 1);
    const __m512i bytes = _mm512_maskz_permutexvar_epi8(first_bits(n), order, present);
    const Bits places = _mm512_test_epi8_mask(bytes, bytes);
    const __m512i listed = _mm512_maskz_compress_epi8(places, order);
    const auto look_up = [&](__m256i some) {
      return _mm512_permutex2var_epi16(small_low_, _mm512_cvtepu8_epi16(some), small_high_);
    };
    _mm512_store_si512(items_, look_up(_mm512_castsi512_si256(listed)));
    if (std::popcount(rows) > 32)
      _mm512_store_si512(items_ + 32, look_up(_mm512_extracti64x4_epi64(listed, 1)));
    return places;
  }

  bool offer_cuts(std::int32_t column, std::size_t n, Bits* cuts, const Node&, Bits places, Best& best) {
    const auto least_rows = static_cast<std::size_t>(rules_.min_samples_leaf);
    if (least_rows > 1 && !leave_out_ends(cuts, n, least_rows)) return false;
    count_before(n);
    const bool is_limited = rules_.min_weight > 0;
    const auto min_weight =
        static_cast<int>(std::min<std::int64_t>(rules_.min_weight, RankGrowth::kMostWeight));
    const __m512i least = _mm512_set1_epi32(min_weight);
    const __m512i node_weight = _mm512_set1_epi32(static_cast<int>(weight_));
    const __m512i node_squares = _mm512_set1_epi32(static_cast<int>(squares_));
    const __m512d none = _mm512_set1_pd(-kInfinity);
    __m512i weight_before = _mm512_setzero_si512();
    __m512i squares_before = weight_before;
    __m512i products_before = weight_before;
    __m512d largest = none;
    std::uint32_t any = 0;
    for (std::size_t i = 0; i < n; i += 16) {
      const auto wanted = static_cast<__mmask16>(cuts[i / 64] >> (i % 64));
      any |= wanted;
      const __m512i items =
          _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(items_ + i)));
      const __m512i times = _mm512_and_si512(items, _mm512_set1_epi32(0xff));
      const __m512i same =
          _mm512_cvtepu16_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(before_ + i)));
      const __m512i of_class = look_up_classes(_mm512_srli_epi32(items, 8));
      const __m512i twice = _mm512_add_epi32(_mm512_add_epi32(same, same), times);
      const __m512i weight = exclusive_sums(times, weight_before);
      const __m512i squares = exclusive_sums(_mm512_mullo_epi32(twice, times), squares_before);
      const __m512i products = exclusive_sums(_mm512_mullo_epi32(of_class, times), products_before);
      const __m512i right_weight = _mm512_sub_epi32(node_weight, weight);
      const __m512i right_squares =
          _mm512_add_epi32(_mm512_sub_epi32(node_squares, _mm512_add_epi32(products, products)), squares);
      auto admitted = wanted;
      if (is_limited)
        admitted &= _mm512_cmpge_epi32_mask(weight, least) & _mm512_cmpge_epi32_mask(right_weight, least);
      const auto score = [&](auto half, __mmask8 here) {
        const auto part = [&](__m512i all) {
          return _mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(all, decltype(half)::value));
        };
        const __m512d both = _mm512_add_pd(_mm512_div_pd(part(squares), part(weight)),
                                           _mm512_div_pd(part(right_squares), part(right_weight)));
        const __m512d scores = _mm512_mask_mov_pd(none, here, both);
        _mm512_store_pd(scores_ + i + 8 * half, scores);
        largest = _mm512_max_pd(largest, scores);
      };
      score(std::integral_constant<int, 0>{}, static_cast<__mmask8>(admitted));
      score(std::integral_constant<int, 1>{}, static_cast<__mmask8>(admitted >> 8));
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
  std::uint32_t* counts_of(std::int32_t node) const {
    return counts_ + static_cast<std::size_t>(node) * n_classes_;
  }
  void subtract(std::int32_t parent, const std::uint32_t* some, std::uint32_t* others) const {
    const std::uint32_t* all = counts_of(parent);
    for (std::size_t k = 0; k < n_classes_; ++k) others[k] = all[k] - some[k];
  }

  std::uint32_t take_half(Item* table, std::size_t n_found) {
    const __m512i items = _mm512_loadu_si512(table);
    const std::uint32_t here = _mm512_test_epi16_mask(items, items);
    _mm512_storeu_si512(table, _mm512_setzero_si512());
    _mm512_storeu_si512(items_ + n_found, _mm512_maskz_compress_epi16(here, items));
    return here;
  }

  // For each row, how many rows of its class come before it.
  void count_before(std::size_t n) {
    std::uint32_t counts[RankGrowth::kMostClasses];
    std::fill_n(counts, n_classes_, 0u);
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t item = items_[i];
      std::uint32_t& count = counts[item >> 8];
      before_[i] = static_cast<std::uint16_t>(count);
      count += item & 0xff;
    }
    std::fill_n(items_ + n, 16, Item{0});  // what is looked up behind the last row must be a class
  }

  __m512i look_up_classes(__m512i classes) const {
    if (n_classes_ <= 16) return _mm512_permutexvar_epi32(classes, first_classes_);
    return _mm512_i32gather_epi32(classes, of_node_, 4);
  }

  // Each without itself; `before` is what lies before all of them, and goes on.
  static __m512i exclusive_sums(__m512i steps, __m512i& before) {
    const __m512i zero = _mm512_setzero_si512();
    __m512i sums = _mm512_add_epi32(steps, _mm512_alignr_epi32(steps, zero, 15));
    sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, zero, 14));
    sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, zero, 12));
    sums = _mm512_add_epi32(sums, _mm512_alignr_epi32(sums, zero, 8));
    sums = _mm512_add_epi32(sums, before);
    before = _mm512_permutexvar_epi32(_mm512_set1_epi32(15), sums);
    return _mm512_sub_epi32(sums, steps);
  }

  const TreeRules& rules_;
  const BlockNode* nodes_;
  std::uint32_t* counts_;
  std::size_t n_classes_;

  // The node at hand.
  const std::uint32_t* of_node_ = nullptr;
  std::uint32_t weight_ = 0;
  std::uint32_t squares_ = 0;  // of the counts, added up
  __m512i first_classes_;

  // Of one order, by place.
  alignas(64) Item items_[kPlaces];
  alignas(64) std::uint16_t before_[kPlaces];
  alignas(64) double scores_[kPlaces];
  __m512i small_low_;
  __m512i small_high_;
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
