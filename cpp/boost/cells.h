// What boosting adds up: gradients and hessians, in fixed point.
//
//   PackedCell  gradient in the high half of 64 bits, hessian in the low half: one integer addition per
//               update. Gradients have 16 bits, hessians 16, so at most 65,536 rows may be added up.
//   WideCell    64 bits each: more rows, weighted rows, gradients of very different size.
//
// Both are integers, so sums depend on neither order nor threads, and "parent minus one child" is the other.
#pragma once

#include <cstdint>

#include "base/types.h"

namespace hornbeam::boost {

using PackedCell = std::uint64_t;

struct WideCell {
  std::int64_t gradient = 0;
  std::int64_t hessian = 0;

  WideCell& operator+=(const WideCell& other) {
    gradient += other.gradient;
    hessian += other.hessian;
    return *this;
  }
  WideCell& operator-=(const WideCell& other) {
    gradient -= other.gradient;
    hessian -= other.hessian;
    return *this;
  }
  friend WideCell operator+(WideCell a, const WideCell& b) { return a += b; }
  friend bool operator==(const WideCell&, const WideCell&) = default;
};

inline constexpr std::size_t kMostPackedRows = 65'536;

inline WideCell widen(PackedCell cell) {
  // The hessian half never borrows from or carries into the gradient half: both sums stay in range.
  return {static_cast<std::int64_t>(cell) >> 32, static_cast<std::int64_t>(cell & 0xffffffffu)};
}
inline WideCell widen(const WideCell& cell) {
  return cell;
}

// A row of a node: its number and, in packed trees, its gradient and hessian, which saves looking them up.
// Bits 0-31 row, 32-47 hessian, 48-63 gradient (signed).
using BoostEntry = std::uint64_t;

inline BoostEntry make_entry(RowId row, std::int32_t gradient, std::int32_t hessian) {
  return static_cast<std::uint64_t>(static_cast<std::uint16_t>(gradient)) << 48 |
         static_cast<std::uint64_t>(static_cast<std::uint16_t>(hessian)) << 32 | row;
}
inline RowId row_of(BoostEntry entry) {
  return static_cast<RowId>(entry);
}
inline PackedCell cell_of(BoostEntry entry) {
  const auto gradient = static_cast<std::uint64_t>(static_cast<std::int64_t>(entry) >> 48);
  return (gradient << 32) + ((entry >> 32) & 0xffffu);
}

// Rounded to the nearest whole number, ties to even; for sizes below 2^31.
inline std::int32_t fixed_point(float value, double scale) {
  constexpr double kRound = 0x1.8p52;
  return static_cast<std::int32_t>((static_cast<double>(value) * scale + kRound) - kRound);
}

// At least 1: a cell is empty only if no row has its code, however small the rows' hessians are.
inline std::int32_t fixed_hessian(float value, double scale) {
  const std::int32_t rounded = fixed_point(value, scale);
  return rounded > 1 ? rounded : 1;
}

// Fixed-point derivatives of one row, for trees with wide cells.
struct FixedPair {
  std::int32_t gradient;
  std::int32_t hessian;
};

}  // namespace hornbeam::boost
