// Kernels that add the derivatives of rows up in the cells of their codes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "base/platform.h"
#include "boost/boost_kernels.h"
#include "boost/histogram/tiles.h"

namespace hornbeam::boost::HORNBEAM_KERNELS {

namespace {

// Prefetches a row's codes twice: long before they are needed into the second-level cache, and shortly before into the
// first. A single request would come too late, or push the cells out of the first level.
constexpr std::size_t kRowsFarAhead = 128;
constexpr std::size_t kRowsAhead = 16;

template <class Cell>
struct RowCell;
template <>
struct RowCell<PackedCell> {
  const FixedPair* pairs;
  PackedCell operator()(BoostEntry entry) const { return cell_of(entry); }
};
template <>
struct RowCell<WideCell> {
  const FixedPair* pairs;
  WideCell operator()(BoostEntry entry) const {
    const FixedPair pair = pairs[row_of(entry)];
    return {pair.gradient, pair.hessian};
  }
};

// The number of slots is part of the type, so that the updates of a row are instructions without a loop. The 16 codes
// are read as two words, because the number of loads limits the speed.
template <int N, class Cell>
void add_rows(const std::uint8_t* codes, std::size_t row_bytes, const BoostEntry* entries, std::size_t n,
              std::size_t n_known, RowCell<Cell> row_cell, Cell* cells) {
  const auto add_row = [&](BoostEntry entry) {
    std::uint64_t words[2];
    std::memcpy(words, codes + std::size_t{row_of(entry)} * row_bytes, sizeof(words));
    const Cell cell = row_cell(entry);
    [&]<std::size_t... J>(std::index_sequence<J...>) {
      ((cells[J * kCellsPerSlot + static_cast<std::uint8_t>(words[J / 8] >> (8 * (J % 8)))] += cell), ...);
    }(std::make_index_sequence<N>{});
  };
  const auto codes_of = [&](std::size_t i) { return codes + std::size_t{row_of(entries[i])} * row_bytes; };
  // Of the rows below n, those that have a row so far ahead.
  const auto rows_before = [&](std::size_t ahead) {
    return n_known > ahead ? std::min(n, n_known - ahead) : 0;
  };
  std::size_t i = 0;
  for (const std::size_t end = rows_before(kRowsFarAhead); i < end; ++i) {
    prefetch_far(codes_of(i + kRowsFarAhead));
    prefetch(codes_of(i + kRowsAhead));
    add_row(entries[i]);
  }
  for (const std::size_t end = rows_before(kRowsAhead); i < end; ++i) {
    prefetch(codes_of(i + kRowsAhead));
    add_row(entries[i]);
  }
  for (; i < n; ++i) add_row(entries[i]);
}

template <class Cell>
using AddRows = void (*)(const std::uint8_t*, std::size_t, const BoostEntry*, std::size_t, std::size_t,
                         RowCell<Cell>, Cell*);

template <class Cell, int... N>
void add_some(std::integer_sequence<int, N...>, int n_slots, const std::uint8_t* codes, std::size_t row_bytes,
              const BoostEntry* entries, std::size_t n, std::size_t n_known, const FixedPair* pairs,
              Cell* cells) {
  constexpr AddRows<Cell> kBySize[] = {add_rows<N + 1, Cell>...};
  kBySize[n_slots - 1](codes, row_bytes, entries, n, n_known, RowCell<Cell>{pairs}, cells);
}

using TileSizes = std::make_integer_sequence<int, kTileSlots>;

void add_packed(const std::uint8_t* codes, std::size_t row_bytes, int n_slots, const BoostEntry* entries,
                std::size_t n, std::size_t n_known, PackedCell* cells) {
  add_some<PackedCell>(TileSizes{}, n_slots, codes, row_bytes, entries, n, n_known, nullptr, cells);
}

void add_wide(const std::uint8_t* codes, std::size_t row_bytes, int n_slots, const BoostEntry* entries,
              std::size_t n, std::size_t n_known, const FixedPair* pairs, WideCell* cells) {
  add_some<WideCell>(TileSizes{}, n_slots, codes, row_bytes, entries, n, n_known, pairs, cells);
}

// As many sums as one row adds to one slot's cells, side by side.
template <int kLanes>
struct Lanes {
  PackedCell sums[kLanes];

  static Lanes load(const PackedCell* from) {
    Lanes lanes;
    std::memcpy(lanes.sums, from, sizeof(lanes.sums));
    return lanes;
  }
  void add_to(PackedCell* cells) const {
    for (int lane = 0; lane < kLanes; ++lane) cells[lane] += sums[lane];
  }
};

#if defined(__AVX512F__)

// Written out, because compilers turn the loop above into single additions.
template <>
struct Lanes<8> {
  __m512i sums;

  static Lanes load(const PackedCell* from) { return {_mm512_loadu_si512(from)}; }
  void add_to(PackedCell* cells) const {
    _mm512_storeu_si512(cells, _mm512_add_epi64(_mm512_loadu_si512(cells), sums));
  }
};

#endif

#if defined(__AVX2__)

template <>
struct Lanes<4> {
  __m256i sums;

  static Lanes load(const PackedCell* from) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))};
  }
  void add_to(PackedCell* cells) const {
    auto* place = reinterpret_cast<__m256i*>(cells);
    _mm256_storeu_si256(place, _mm256_add_epi64(_mm256_loadu_si256(place), sums));
  }
};

#endif

// A row's additions stay in registers while they go to one slot after the other.
template <int kLanes>
void add_lanes(const std::uint8_t* __restrict codes, std::size_t row_bytes, int n_slots,
               const std::uint32_t* __restrict first, const RowId* __restrict rows,
               const PackedCell* __restrict additions, std::size_t n, PackedCell* __restrict cells) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint8_t* row = codes + std::size_t{rows[i]} * row_bytes;
    const auto addition = Lanes<kLanes>::load(additions + i * kLanes);
    for (int j = 0; j < n_slots; ++j) addition.add_to(cells + (std::size_t{first[j]} + row[j]) * kLanes);
  }
}

}  // namespace

}  // namespace hornbeam::boost::HORNBEAM_KERNELS
