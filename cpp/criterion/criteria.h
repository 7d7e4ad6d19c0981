// The criteria without their formulas: their names, which impurity nodes show, and how features are compared. The
// criteria themselves are in criterion/table.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "criterion/choice.h"

namespace hornbeam::criterion {

// A row of the table.
enum class Criterion : std::uint8_t {};

// What a node shows as its impurity, and what gains and importances are counted in.
enum class Impurity : std::uint8_t {
  kGini,
  kEntropy,
  kMisclassification,
  kVariance,
  kHalfDeviance,
  kAbsoluteDeviation
};

inline constexpr bool is_of_classes(Impurity impurity) {
  return impurity == Impurity::kGini || impurity == Impurity::kEntropy ||
         impurity == Impurity::kMisclassification;
}

struct CriterionRow {
  std::string_view name;
  std::string_view other_names;  // that users know it by, with blanks between
  Impurity shown;
  SecondStep second_step;  // a criterion with one takes one output
};

std::span<const CriterionRow> criteria();

// Nothing if there is no criterion of that name; other names do not count.
std::optional<Criterion> criterion_named(std::string_view name);

inline const CriterionRow& row_of(Criterion criterion) {
  return criteria()[static_cast<std::size_t>(criterion)];
}

}  // namespace hornbeam::criterion
