// The criteria, a row each: what users call it, the impurity that nodes show, and how features are compared.
// Which scorer runs is decided by the types of grow/grower.cpp.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "criterion/choice.h"
#include "criterion/facts.h"

namespace hornbeam::criterion {

// What a node shows as its impurity, and what gains and importances are counted in.
enum class Impurity : std::uint8_t {
  kGini,
  kEntropy,
  kMisclassification,
  kVariance,
  kHalfDeviance,
  kAbsoluteDeviation
};

struct CriterionRow {
  Criterion criterion;
  std::string_view name;
  Impurity shown;
  SecondStep second_step;
};

// In the order of Criterion. A criterion with a second step takes one output.
inline constexpr std::array kCriteria = {
    CriterionRow{Criterion::kGini, "gini", Impurity::kGini, SecondStep::kNone},
    CriterionRow{Criterion::kEntropy, "entropy", Impurity::kEntropy, SecondStep::kNone},
    CriterionRow{Criterion::kAccuracy, "accuracy", Impurity::kMisclassification, SecondStep::kNone},
    CriterionRow{Criterion::kGainRatio, "gain_ratio", Impurity::kEntropy, SecondStep::kGainRatio},
    CriterionRow{Criterion::kChi2, "chi2", Impurity::kGini, SecondStep::kChi2},
    CriterionRow{Criterion::kSquaredError, "squared_error", Impurity::kVariance, SecondStep::kNone},
    CriterionRow{Criterion::kPoisson, "poisson", Impurity::kHalfDeviance, SecondStep::kNone},
    CriterionRow{Criterion::kFTest, "f_test", Impurity::kVariance, SecondStep::kFTest},
    CriterionRow{Criterion::kAbsoluteError, "absolute_error", Impurity::kAbsoluteDeviation,
                 SecondStep::kNone},
};

inline constexpr const CriterionRow& row_of(Criterion criterion) {
  return kCriteria[static_cast<std::size_t>(criterion)];
}

static_assert([] {
  for (std::size_t i = 0; i < kCriteria.size(); ++i) {
    if (static_cast<std::size_t>(kCriteria[i].criterion) != i) return false;
  }
  return true;
}());

}  // namespace hornbeam::criterion
