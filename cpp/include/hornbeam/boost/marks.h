// Which rows of a node a test sends to branch 0: a bit for each, and their number.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hornbeam/boost/cells.h"
#include "hornbeam/dataset.h"
#include "hornbeam/split.h"

namespace hornbeam {

// Which codes go to branch 0.
std::vector<char> left_codes(const Column& column, const Split& split);

inline const std::uint8_t* byte_codes(const Column& column) {
  return std::get<Buffer<std::uint8_t>>(column.codes).data();
}

class RowMarker {
 public:
  RowMarker(const Column& column, const Split& split);

  // One bit per row into `words`; returns how many are set.
  std::size_t mark(std::span<const BoostEntry> rows, std::uint64_t* words) const;

 private:
  const Column& column_;
  Code first_right_;
  unsigned extra_ = 256;  // a code beside those below first_right; 256 is none
  std::vector<char> is_left_;
};

}  // namespace hornbeam
