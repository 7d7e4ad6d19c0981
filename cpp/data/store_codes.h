// Codes of rows written in the narrowest type that has room for them.
#pragma once

#include "data/dataset.h"

namespace hornbeam::data {

template <class CodeType>
CodeBuffer filled_codes(std::size_t n_rows, auto&& code_of_row) {
  Buffer<CodeType> codes(n_rows);
  for (std::size_t row = 0; row < n_rows; ++row) codes[row] = static_cast<CodeType>(code_of_row(row));
  return codes;
}

// Stores codes in the narrowest type that also has room for the missing code.
CodeBuffer store_codes(std::size_t n_rows, Code missing_code, auto&& code_of_row) {
  if (missing_code <= 0xff) return filled_codes<std::uint8_t>(n_rows, code_of_row);
  if (missing_code <= 0xffff) return filled_codes<std::uint16_t>(n_rows, code_of_row);
  return filled_codes<std::uint32_t>(n_rows, code_of_row);
}

}  // namespace hornbeam::data
