// Sorting many numbers: order-preserving integer keys of float32 go through a radix sort, and numbers that rounding has
// made equal are sorted afterwards. Takes known numbers, returns them ascending.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"

namespace hornbeam::data {

// Bits of a number, reordered so that unsigned comparison is numeric comparison. -0.0 has become 0.0 before.
inline std::uint64_t ordered_bits(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  return bits ^ ((bits >> 63) != 0 ? ~std::uint64_t{0} : std::uint64_t{1} << 63);
}
inline double from_ordered_bits(std::uint64_t ordered) {
  return std::bit_cast<double>(ordered ^ ((ordered >> 63) != 0 ? std::uint64_t{1} << 63 : ~std::uint64_t{0}));
}
inline std::uint32_t ordered_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return bits ^ ((bits >> 31) != 0 ? ~std::uint32_t{0} : std::uint32_t{1} << 31);
}
inline float from_ordered_bits(std::uint32_t ordered) {
  return std::bit_cast<float>(ordered ^ ((ordered >> 31) != 0 ? std::uint32_t{1} << 31 : ~std::uint32_t{0}));
}

// A row with its value rounded to float32 as an order-preserving integer: eight bytes that sort in three
// passes. Rounding never changes the order of two values, it can only make them equal.
using RoundedItem = std::uint64_t;
inline RoundedItem rounded_item(double value, std::size_t row) {
  return std::uint64_t{ordered_bits(static_cast<float>(value))} << 32 | row;
}
inline RowId row_of(RoundedItem item) {
  return static_cast<RowId>(item);
}

// Sorts the rows that rounding has made equal by their true values; most runs are single rows or true ties.
void sort_run(RoundedItem* begin, RoundedItem* end, std::span<const double> numbers);

// Ascending; no NaN among them.
void sort_numbers(std::vector<double>& numbers);

}  // namespace hornbeam::data
