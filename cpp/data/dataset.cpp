#include "data/dataset.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace hornbeam::data {

Dataset::Dataset(std::size_t n_rows) : n_rows_(n_rows) {
  if (n_rows > kMaxRows) throw std::length_error("a data set holds at most 2147483647 rows");
}

void Dataset::add(Column column) {
  columns_.push_back(std::move(column));
}

double halfway(double lower, double upper) {
  constexpr double kMax = std::numeric_limits<double>::max();
  if (std::isinf(lower) && std::isinf(upper)) return 0.0;  // -inf against +inf
  if (std::isinf(lower)) return -kMax < upper ? -kMax : lower;
  if (std::isinf(upper)) return kMax;  // every finite value stays at or below it
  double middle = (lower + upper) / 2;
  if (std::isinf(middle)) middle = lower / 2 + upper / 2;
  // The middle of neighbours may round up to the upper one.
  if (!(lower <= middle && middle < upper)) middle = lower;
  return middle;
}

double random_threshold(const Column& column, double least, double largest, double u) {
  constexpr double kMax = std::numeric_limits<double>::max();
  double threshold = std::max(least, -kMax) * (1 - u) + std::min(largest, kMax) * u;
  if (!(threshold < largest)) threshold = *std::prev(std::ranges::lower_bound(column.values, largest));
  return threshold >= least ? threshold : least;
}

Code codes_at_or_below(const Column& column, double threshold) {
  const auto& values = column.values;
  if (column.binned) {
    // A threshold is one of the edges; bin b holds the values in (edge[b-1], edge[b]].
    const auto edge = std::lower_bound(values.begin(), values.end(), threshold);
    return static_cast<Code>(std::min<std::size_t>(edge - values.begin() + 1, column.n_codes));
  }
  return static_cast<Code>(std::upper_bound(values.begin(), values.end(), threshold) - values.begin());
}

}  // namespace hornbeam::data
