// Where the values of a node's rows lie: copied together within a subtree (grow/fast/subtree.h), or by row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.h"
#include "criterion/stats.h"
#include "data/row_records.h"

namespace hornbeam::split {

using criterion::Entry;
using data::RowRecords;

// A row's place among the rows of its subtree; or a value's rank there, with the place of its row in the lower bits.
using Place = std::uint16_t;
using PlacedRank = std::uint32_t;
inline constexpr int kPlaceBits = 16;
inline constexpr PlacedRank placed_rank(std::uint32_t rank, Place place) {
  return rank << kPlaceBits | place;
}
inline constexpr std::uint32_t rank_of(PlacedRank key) {
  return key >> kPlaceBits;
}
inline constexpr Place place_of(PlacedRank key) {
  return static_cast<Place>(key);
}
inline constexpr PlacedRank with_place(PlacedRank key, std::uint32_t place) {
  return (key >> kPlaceBits << kPlaceBits) | place;
}

// A feature of a node within a subtree: its rows in ascending order, `first` being the node's first place,
struct OrderedRows {
  const PlacedRank* keys;
  std::size_t n;
  Place first;
};
// or the codes of its rows, in their order,
struct KeptCodes {
  const Code* codes;
  const Place* places;
  Code operator[](std::size_t i) const { return codes[places[i]]; }
};
// or, for random tests, their values.
struct KeptValues {
  const double* values;
  const Place* places;
  double operator[](std::size_t i) const { return values[places[i]]; }
};
// Where there is no subtree, codes
template <class StoredCode>
struct CodesByRow {
  const StoredCode* codes;
  const Entry* entries;
  Code operator[](std::size_t i) const { return codes[entries[i].row]; }
};
// and values by row.
template <class Value>
struct ValuesByRow {
  const Value* values;
  const Entry* entries;
  double operator[](std::size_t i) const { return values[entries[i].row]; }
};

// The records (data/row_records.h) of a node's rows: side by side in its subtree,
struct KeptRecords {
  const std::uint8_t* first;
  std::size_t size;
  const std::uint8_t* operator[](std::size_t i) const { return first + i * size; }
  // The groups of one feature.
  auto groups(RowRecords::Place place) const {
    return [byte = first + place.coarse, size = size](std::size_t i) { return byte[i * size]; };
  }
};
// or by row. Then the node has a good part of the table's rows, so that each cache line of a column of groups holds
// several of them.
struct RecordsByRow {
  const RowRecords& records;
  const Entry* entries;
  const std::uint8_t* operator[](std::size_t i) const { return records.of_row(entries[i].row); }
  auto groups(RowRecords::Place place) const {
    return
        [column = records.groups(place), entries = entries](std::size_t i) { return column[entries[i].row]; };
  }
};

}  // namespace hornbeam::split
