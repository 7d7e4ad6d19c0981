// The words every part of the core shares: ids, column kinds, code widths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace hornbeam {

using RowId = std::uint32_t;
using FeatureId = std::int32_t;
using NodeId = std::int32_t;
using Code = std::uint32_t;

// A leaf has no children and tests no feature; the numbers are those that scikit-learn uses.
inline constexpr NodeId kNoChild = -1;
inline constexpr FeatureId kNoFeature = -2;
inline constexpr double kNoThreshold = -2.0;

inline constexpr std::size_t kMaxRows = std::numeric_limits<std::int32_t>::max();
inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class ColumnKind : std::uint8_t {
  kNumeric,      // ordered values; tests are x <= t
  kCategorical,  // codes of categories; tests are sets of categories
};

}  // namespace hornbeam
