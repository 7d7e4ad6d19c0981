// The second step of a criterion: every feature has found its best test by the first step, and one is taken.
//
//   none        the largest score wins; the grower keeps the best as it goes and nothing here is used
//   gain_ratio  of the tests whose gain is at least the mean of all, the one with the largest gain per bit of
//               split information, which is the entropy of the branch sizes (Quinlan 1993)
//   chi2        the least p-value of Pearson's test on the class by branch table, times the number of tests
//               that the feature was the best of (Bonferroni; Kass 1980)
//   f_test      the same with the F test of equal means in all branches
//
// Weights are read as counts where there are p-values.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "hornbeam/split.h"

namespace hornbeam {

enum class SecondStep : std::uint8_t { kNone, kGainRatio, kChi2, kFTest };

// What the second step asks about a node; weights are the user's.
struct ChoiceNode {
  double score = 0.0;       // before any test, by the first step
  double tie_scale = 0.0;   // of the scores
  double score_unit = 1.0;  // times this, a difference of scores is a gain or, for chi2, the statistic
  double weight = 0.0;
  double weight_unit = 1.0;  // of the branch weights that splits carry
  double impurity = 0.0;     // as shown
  int n_classes = 0;         // with any weight here
};

class Choice {
 public:
  // A node whose best adjusted p-value is above `min_significance` gets no test; 1 lets all pass.
  Choice(SecondStep step, double min_significance);

  bool is_needed() const { return step_ != SecondStep::kNone; }

  void start(const ChoiceNode& node);

  // The best test of a feature, with its score by the first step. Features come in ascending order.
  void offer(double score, Split split);

  struct Chosen {
    double score;
    Split split;
  };
  std::optional<Chosen> settle();

 private:
  bool is_above(double score, double other) const;
  double gain(double score) const;
  double split_information(const Split& split) const;
  void challenge(Chosen contender);
  double freedom(const Chosen& test) const;
  double log_p(const Chosen& test) const;  // adjusted
  std::optional<Chosen> best_ratio();

  SecondStep step_;
  double log_least_significance_;
  ChoiceNode node_;
  std::vector<Chosen> contenders_;    // gain_ratio: the best of every feature
  std::optional<Chosen> best_;        // p-values: the best so far,
  std::optional<double> best_log_p_;  // and its adjusted p-value, once somebody asked
};

}  // namespace hornbeam
