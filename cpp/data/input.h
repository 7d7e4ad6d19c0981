// What comes in from Python: one-dimensional columns of any number type and stride, read without copying.
// A `TableView` is the whole table, column by column; it is valid only while the caller keeps the arrays
// alive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "base/types.h"

namespace hornbeam::data {

enum class Number : std::uint8_t { kF64, kF32, kI64, kI32, kI16, kI8, kU64, kU32, kU16, kU8, kBool };

struct ColumnView {
  const std::byte* data = nullptr;
  std::ptrdiff_t stride = 0;  // in bytes; may be negative or zero
  Number number = Number::kF64;
};

// Calls visitor(T{}) with the C++ type that `number` names.
template <class Visitor>
decltype(auto) visit_number(Number number, Visitor&& visitor) {
  switch (number) {
    case Number::kF64:
      return visitor(double{});
    case Number::kF32:
      return visitor(float{});
    case Number::kI64:
      return visitor(std::int64_t{});
    case Number::kI32:
      return visitor(std::int32_t{});
    case Number::kI16:
      return visitor(std::int16_t{});
    case Number::kI8:
      return visitor(std::int8_t{});
    case Number::kU64:
      return visitor(std::uint64_t{});
    case Number::kU32:
      return visitor(std::uint32_t{});
    case Number::kU16:
      return visitor(std::uint16_t{});
    case Number::kU8:
      return visitor(std::uint8_t{});
    case Number::kBool:
      return visitor(bool{});
  }
  throw std::invalid_argument("unknown number type");
}

template <class T>
T read_element(const ColumnView& column, std::size_t row) {
  T value;
  std::memcpy(&value, column.data + static_cast<std::ptrdiff_t>(row) * column.stride, sizeof(T));
  return value;
}

// Rows [begin, end) of a column as float64: the one meaning all tests on numbers have.
inline void read_doubles(const ColumnView& column, std::size_t begin, std::size_t end, double* out) {
  visit_number(column.number, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t row = begin; row < end; ++row) {
      out[row - begin] = static_cast<double>(read_element<T>(column, row));
    }
  });
}

// Category codes arrive as int32: -1 is missing, -2 a category unknown to the model.
inline constexpr std::int32_t kMissingCategory = -1;
inline constexpr std::int32_t kUnseenCategory = -2;

struct TableView {
  std::size_t n_rows = 0;
  std::vector<ColumnView> columns;
};

}  // namespace hornbeam::data
