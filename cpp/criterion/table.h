// The table of criteria. A row has the names, the impurity that nodes show, how features are compared, and the
// scorers. Everything else follows from it: growers are compiled for the scorers (grow/by_cells/), a fit takes the
// first scorer of the row whose cells can represent its rows (grow/by_cells/grow_by_cells.h), and Python reads the
// names.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "criterion/accuracy.h"
#include "criterion/chi2.h"
#include "criterion/class_weights.h"
#include "criterion/counts.h"
#include "criterion/criteria.h"
#include "criterion/medians.h"
#include "criterion/sums.h"
#include "criterion/two_weights.h"
#include "criterion/vectors.h"

namespace hornbeam::criterion {

template <std::size_t kSize>
struct Text {
  consteval Text(const char (&text)[kSize]) {
    std::copy_n(text, kSize, characters);
  }  // NOLINT: a literal is one
  constexpr std::string_view view() const { return {characters, kSize - 1}; }
  char characters[kSize];
};

// A scorer that is for two classes only.
template <class S>
struct OfTwoClasses {
  using Scorer = S;
};

// The scorers come in the order in which they are tried: the quickest cells first.
template <Text name, Text other_names, Impurity shown, SecondStep second_step, class... Scorers>
struct Row {
  static constexpr std::string_view kName = name.view();
  static constexpr std::string_view kOtherNames = other_names.view();
  static constexpr Impurity kShown = shown;
  static constexpr SecondStep kSecondStep = second_step;
  using ScoredBy = std::tuple<std::type_identity<Scorers>...>;
};

// clang-format off
using Criteria = std::tuple<
    Row<"gini", "", Impurity::kGini, SecondStep::kNone,
        OfTwoClasses<TwoClassScorer<GiniTerm>>, CountScorer<GiniTerm>,
        OfTwoClasses<TwoWeightScorer>, ClassWeightScorer<GiniOfWeights>, VectorScorer<VectorGini>>,
    Row<"entropy", "log_loss", Impurity::kEntropy, SecondStep::kNone,
        OfTwoClasses<TwoClassScorer<EntropyTerm>>, CountScorer<EntropyTerm>,
        ClassWeightScorer<EntropyOfWeights>, VectorScorer<VectorEntropy>>,
    Row<"accuracy", "misclassification", Impurity::kMisclassification, SecondStep::kNone,
        OfTwoClasses<TwoClassScorer<TwoClassAccuracyTerm>>, MajorityScorer, VectorScorer<VectorAccuracy>>,
    Row<"gain_ratio", "", Impurity::kEntropy, SecondStep::kGainRatio,
        OfTwoClasses<TwoClassScorer<EntropyTerm>>, CountScorer<EntropyTerm>, VectorScorer<VectorEntropy>>,
    // Between two branches and two classes, chi-square is in the order of gini.
    Row<"chi2", "", Impurity::kGini, SecondStep::kChi2,
        OfTwoClasses<TwoClassScorer<GiniTerm>>, CountChi2Scorer,
        OfTwoClasses<TwoWeightScorer>, OfTwoClasses<VectorScorer<VectorGini>>, VectorChi2Scorer>,
    Row<"squared_error", "friedman_mse", Impurity::kVariance, SecondStep::kNone,
        SumScorer<SquaredErrorBranch>, VectorScorer<VectorSquaredError>>,
    Row<"absolute_error", "", Impurity::kAbsoluteDeviation, SecondStep::kNone, MedianScorer>,
    Row<"poisson", "", Impurity::kHalfDeviance, SecondStep::kNone,
        SumScorer<PoissonBranch>, VectorScorer<VectorPoisson>>,
    Row<"f_test", "", Impurity::kVariance, SecondStep::kFTest,
        SumScorer<SquaredErrorBranch>, VectorScorer<VectorSquaredError>>>;
// clang-format on

}  // namespace hornbeam::criterion
