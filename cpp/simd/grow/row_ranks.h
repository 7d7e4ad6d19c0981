// The numbers that the rows of a block get, column by column (grow/fast/rank_block.h); included inside the namespace
// that HORNBEAM_KERNELS names.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "grow/fast/rank_block.h"
#include "simd/grow/rank_cuts.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

namespace {

class RowRanks {
 public:
  explicit RowRanks(RankGrowth& growth) : growth_(growth) {}

  // A code's rank is the number of smaller codes among the rows: sets a bit for each code that occurs, and counts bits.
  void find(std::size_t c) {
    const std::size_t n = growth_.n_rows;
    const Code* codes = growth_.codes + c * growth_.stride;
    Code* code_at = growth_.code_at + c * growth_.stride;
    Rank* ranks = growth_.column(0, c, 0);
    Bits* present = growth_.codes_present;
    std::uint16_t* before = growth_.present_before;
    for (std::size_t i = 0; i < n; ++i) present[codes[i] / 64] |= Bits{1} << (codes[i] % 64);
    const std::size_t n_words = growth_.n_codes[c] / 64 + 1;
    std::size_t n_values = 0;
    for (std::size_t w = 0; w < n_words; ++w) {
      before[w] = static_cast<std::uint16_t>(n_values);
      n_values += static_cast<std::size_t>(std::popcount(present[w]));
    }
    for (std::size_t i = 0; i < n; ++i) {
      const Code code = codes[i];
      const auto below = std::popcount(_bzhi_u64(present[code / 64], code % 64));
      const auto rank = static_cast<Rank>(before[code / 64] + below);
      ranks[i] = rank;
      code_at[rank] = code;
    }
    std::fill_n(present, n_words, Bits{0});
    std::fill_n(growth_.repeats + c * RankGrowth::kWords, RankGrowth::kWords, Bits{0});
    growth_.has_repeats[c] = n_values < n;
    if (n_values < n) separate_equals(c, n_values);
  }

 private:
  // Gives rows with the same value different ranks, side by side.
  void separate_equals(std::size_t c, std::size_t n_values) {
    const std::size_t n = growth_.n_rows;
    const Code* codes = growth_.codes + c * growth_.stride;
    Code* code_at = growth_.code_at + c * growth_.stride;
    Rank* ranks = growth_.column(0, c, 0);
    Rank* next = next_;
    std::fill_n(next, n_values, Rank{0});
    for (std::size_t i = 0; i < n; ++i) ++next[ranks[i]];
    std::uint32_t sum = 0;
    for (std::size_t value = 0; value < n_values; ++value) {
      const std::uint32_t count = next[value];
      next[value] = static_cast<Rank>(sum);
      sum += count;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const Rank rank = next[ranks[i]]++;
      ranks[i] = rank;
      code_at[rank] = codes[i];
    }
    Bits* repeats = growth_.repeats + c * RankGrowth::kWords;
    for (std::size_t rank = 1; rank < n; ++rank)
      repeats[rank / 64] |= static_cast<Bits>(code_at[rank] == code_at[rank - 1]) << (rank % 64);
  }

  RankGrowth& growth_;
  Rank next_[kPlaces];
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
