// Rows of more than two classes that weigh the same, as cells of simd/grow/value_block_body.h. For wide registers;
// included inside the namespace that HORNBEAM_KERNELS names.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/types.h"
#include "criterion/counts.h"
#include "grow/fast/value_block.h"
#include "simd/grow/value_words.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

using criterion::EntropyTerm;
using criterion::GiniTerm;

namespace {

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

// The same for other terms than squares: what the branches' terms add up to.
struct FourTermSums {
  std::uint32_t rows[kFour];
  std::int64_t left[kFour];
  std::int64_t right[kFour];
};

// Rows of more than two classes, each drawn once: a word is 1 in the byte of the row's class. `Term` says by what tests
// are scored (criterion/counts.h).
template <class Term>
class CountCells : public WordCells {
 public:
  using Counts = FourClassCounts;
  using Left = std::uint32_t;  // nothing more: the counts of the best test are kept here
  static constexpr bool kDescribesRows = false;
  static constexpr bool kByPairs = std::is_same_v<Term, GiniTerm>;  // rows in lanes

  explicit CountCells(BlockGrowth& growth)
      : WordCells(growth),
        term_(term_of(growth)),
        n_classes_(growth.words.n_classes),
        least_(std::max(growth.rules.min_samples_leaf, growth.rules.min_weight)) {
    least_rows_ = _mm_set1_epi32(static_cast<int>(std::min<std::int64_t>(least_, kMaxRows)));
  }

  // ---- nodes whose rows move

  void start(std::int32_t) {}
  double tie_scale(std::int32_t node) const { return term_.scale(words_.nodes[node].samples); }
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
        left_terms += term_(static_cast<int>(k), in_left);
        right_terms += term_(static_cast<int>(k), in_right);
      }
      scores[c] = score_of_test(left_terms, right_terms, left.rows[c], n_rows, informative >> c & 1);
    }
  }
  Left left_of(const Counts& counts, std::size_t test) {
    std::copy_n(counts.of[test], n_classes_, best_);
    return counts.rows[test];
  }
  double score_of(std::int32_t node) const {
    const std::uint32_t* counts = counts_of(node);
    std::int64_t terms = 0;
    for (std::size_t k = 0; k < n_classes_; ++k) terms += term_(static_cast<int>(k), counts[k]);
    return term_.branch(terms, words_.nodes[node].samples);
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
    if constexpr (!kByPairs) {
      std::fill_n(lanes_of_class_, n_classes_, Lanes{0});
      for (std::size_t i = 0; i < root.n_rows; ++i) lanes_of_class_[class_of_[i]] |= Lanes{1} << i;
    }
  }
  void finish_lanes(std::size_t) const {}
  bool any_pair_will_do() const { return least_ <= 1; }
  void start(std::int32_t, Lanes rows) {
    if constexpr (!kByPairs) return list_classes(rows);
    // For each row of the node, the number of rows of its class, in the upper half, where they are added up
    // separately.
    const __m512i same = _mm512_and_si512(same_rows_, _mm512_set1_epi32(static_cast<int>(rows)));
    const __m512i counts = _mm512_maskz_popcnt_epi32(static_cast<__mmask16>(rows), same);
    pairs_ = _mm512_reduce_add_epi32(counts);
    in_node_ = _mm512_slli_epi32(counts, 16);
  }
  double score_of(std::int32_t node, Lanes) const {
    return term_.branch(kByPairs ? pairs_ : terms_, words_.nodes[node].samples);
  }
  double score_of_pair() const { return 2 * term_.branch(term_(0, 1), 1); }  // each row by itself
  FourTermSums count(const Lanes* left, Lanes) const
    requires(!kByPairs)
  {
    FourTermSums found;
    for (std::size_t c = 0; c < kFour; ++c) {
      found.rows[c] = static_cast<std::uint32_t>(std::popcount(left[c]));
      found.left[c] = found.right[c] = 0;
      for (std::size_t j = 0; j < n_present_; ++j) {
        const std::int64_t in_left = std::popcount(left[c] & present_[j]);
        found.left[c] += term_(0, in_left);
        found.right[c] += term_(0, in_present_[j] - in_left);
      }
    }
    return found;
  }
  void score_lanes(const FourTermSums& left, std::int32_t node, Lanes informative, double* scores) const {
    const std::uint32_t n_rows = words_.nodes[node].samples;
    for (std::size_t c = 0; c < kFour; ++c)
      scores[c] = score_of_test(left.left[c], left.right[c], left.rows[c], n_rows, informative >> c & 1);
  }
  FourPairCounts count(const Lanes* left, Lanes) const
    requires kByPairs
  {
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
  static Term term_of(const BlockGrowth& growth) {
    if constexpr (kByPairs) return GiniTerm(0);
    if constexpr (std::is_same_v<Term, EntropyTerm>) return *growth.entropy;
  }
  double score_of_test(std::int64_t left_terms, std::int64_t right_terms, std::uint32_t left_rows,
                       std::uint32_t n_rows, bool informative) const {
    const std::uint32_t right_rows = n_rows - left_rows;
    const double both = term_.branch(left_terms, left_rows) + term_.branch(right_terms, right_rows);
    const bool admitted = informative && std::int64_t{std::min(left_rows, right_rows)} >= least_;
    return admitted ? both : kNoTest;
  }
  // The classes of some lanes, and what their terms add up to.
  void list_classes(Lanes rows) {
    n_present_ = 0;
    terms_ = 0;
    for (std::size_t k = 0; k < n_classes_; ++k) {
      const Lanes own = rows & lanes_of_class_[k];
      present_[n_present_] = own;
      in_present_[n_present_] = std::popcount(own);
      terms_ += term_(0, in_present_[n_present_]);
      n_present_ += own != 0;
    }
  }

  // How many rows the byte sums of eight registers have room for; two rows of each sixteen are added to the
  // same byte.
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

  Term term_;
  std::size_t n_classes_;
  std::int64_t least_;  // rows of a branch; every row weighs the same
  std::uint32_t best_[BlockWords::kMostClasses] = {};
  std::size_t class_of_[kLanes] = {};
  __m512i same_rows_;
  __m512i in_node_;
  std::int32_t pairs_ = 0;  // of rows of the same class, of the node
  // For other terms than squares: the lanes of each class, and the classes of the node.
  Lanes lanes_of_class_[BlockWords::kMostClasses] = {};
  std::size_t n_present_ = 0;
  Lanes present_[kLanes + 1];
  std::int64_t in_present_[kLanes + 1];
  std::int64_t terms_ = 0;
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
