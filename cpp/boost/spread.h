// How large derivatives are: the largest absolute value and the sum of absolute values. Sums are made in pieces of
// fixed size and added in order, so they have the same bits for any number of threads or machines.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

#include "boost/boost_kernels.h"

namespace hornbeam::boost {

using Spread = BoostKernels::Spread;

// The spread of one piece. A tree grows on all rows, whose derivatives lie side by side, or on a list of rows.
template <class ValueAt>
Spread spread_of_listed(std::size_t n, ValueAt value_at) {
  Spread spread;
  for (std::size_t i = 0; i < n; ++i) {
    const double size = std::abs(static_cast<double>(value_at(i)));
    spread.largest = std::max(spread.largest, size);
    spread.sum += size;
  }
  return spread;
}
inline Spread spread_of(std::span<const float> values, bool listed) {
  if (listed) return spread_of_listed(values.size(), [&](std::size_t i) { return values[i]; });
  return boost_kernels().spread(values.data(), values.size());
}

inline Spread& operator+=(Spread& all, const Spread& piece) {
  all.largest = std::max(all.largest, piece.largest);
  all.sum += piece.sum;
  return all;
}

}  // namespace hornbeam::boost
