// Which rows of a node a test sends to branch 0: a bit per row, and their number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "boost/boost_kernels.h"
#include "boost/cells.h"
#include "boost/histogram/tiles.h"
#include "data/dataset.h"
#include "split/split.h"

namespace hornbeam::boost {

using data::Column;
using split::Split;

// Which codes go to branch 0.
std::vector<std::uint8_t> left_codes(const Column& column, const Split& split);

inline const std::uint8_t* byte_codes(const Column& column) {
  return std::get<Buffer<std::uint8_t>>(column.codes).data();
}

class RowMarker {
 public:
  RowMarker(const Column& column, const Split& split);
  // For `mark` only: reads the joint codes of the column's slot, which are in memory, instead of the column,
  // which may be in a file.
  RowMarker(const Column& column, const Split& split, const Digit& digit, Tiles::SlotCodes codes);

  // One bit per row into `words`; returns how many are set.
  std::size_t mark(std::span<const BoostEntry> rows, std::uint64_t* words) const;
  // The same for n_words words of a set of rows, beginning with row 64 * first_word: `members` keeps the rows of
  // branch 1, `left` gets the others.
  SetCounts divide(std::size_t first_word, std::size_t n_words, std::uint64_t* members, std::uint64_t* left,
                   std::uint64_t* left_bits) const;

 private:
  const Column& column_;
  Tiles::SlotCodes codes_{};
  std::vector<std::uint8_t> is_left_;  // by code, or by joint code
};

}  // namespace hornbeam::boost
