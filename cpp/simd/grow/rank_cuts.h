// What cuts of rows in the order of a feature need, whatever the rows add up to (simd/grow/rank_counts.h,
// simd/grow/rank_weights.h); included inside the namespace that HORNBEAM_KERNELS names.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "criterion/candidates.h"
#include "grow/fast/rank_block.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

namespace {

using Rank = RankGrowth::Rank;
using Bits = std::uint64_t;  // a set of rows, or of ranks

constexpr std::size_t kSmallRows = 64;
constexpr std::size_t kPlaces = RankGrowth::kMostRows + 64;  // of one order

constexpr Bits first_bits(std::size_t n) {
  return n >= 64 ? ~Bits{0} : (Bits{1} << n) - 1;
}

// The best test of a node so far; among equals the first stays, as in FirstBest.
template <class Left>
struct BestCut {
  double score = -kInfinity;
  float rough = -1.0f;  // no test so far has a larger rough score
  std::int32_t column = -1;
  std::size_t n_left = 0;  // of the rows in the order of the column
  Left left = {};
  Bits places = 0;  // in a small subtree: where the rows are in that order

  bool found() const { return column >= 0; }
  // Takes a column's largest score; returns whether its first cut with about that score is now the best.
  bool raise(double largest, double tie_scale = 0.0) {
    if (!(largest > score)) return false;
    const bool wins = !found() || largest > score + criterion::tie_slack(score, tie_scale);
    score = largest;
    return wins;
  }
};

// The first of the scores that is about the largest.
std::size_t first_near(const double* scores, double largest, double tie_scale = 0.0) {
  const double least = largest - criterion::tie_slack(largest, tie_scale);
  std::size_t first = 0;
  while (scores[first] < least) ++first;
  return first;
}

// Removes the cuts that leave fewer than this many rows on a side; false if there were no cuts to begin with.
bool leave_out_ends(Bits* cuts, std::size_t n, std::size_t least) {
  const std::size_t n_words = (n + 63) / 64;
  if (std::all_of(cuts, cuts + n_words, [](Bits word) { return word == 0; })) return false;
  for (std::size_t w = 0; w < n_words; ++w) {
    const std::size_t begin = 64 * w;
    if (begin < least) cuts[w] &= ~first_bits(least - begin);
    if (begin + 64 > n - least) cuts[w] &= begin > n - least ? 0 : first_bits(n - least + 1 - begin);
  }
  return true;
}

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
