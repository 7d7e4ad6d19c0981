// The second step of a criterion: the first step has found the best test of each feature; one of them is chosen.
//
//   none        the largest score wins; the grower keeps the best test as it goes and uses nothing in this file
//   gain_ratio  of the tests whose gain is at least the mean of all, the one with the largest gain per bit of
//               split information, which is the entropy of the branch sizes (Quinlan 1993)
//   chi2        the least p-value of Pearson's test on the class by branch table, times the number of tests
//               that this test was the best of (Bonferroni; Kass 1980)
//   f_test      the same with the F test of equal means in all branches
//
// For p-values, weights are taken as counts. If a test does not place the rows that lack its feature, its
// p-value is computed from the other rows.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace hornbeam::criterion {

enum class SecondStep : std::uint8_t { kNone, kGainRatio, kChi2, kFTest };

// What the second step needs to know about some rows; the weight is in the user's units.
struct RowFacts {
  double weight = 0.0;
  double impurity = 0.0;  // as shown
  int n_classes = 0;      // with any weight here
};

// What it needs to know about a node.
struct ChoiceNode {
  double score = 0.0;         // before any test, by the first step
  double tie_scale = 0.0;     // of the scores
  double score_unit = 1.0;    // times this, a difference of scores is a gain or, for chi2, the statistic,
  bool is_chi2_gini = false;  // or the statistic times the impurity: two classes are tested by gini
  double weight_unit = 1.0;   // of the branch weights that tests carry
  RowFacts rows;
};

// What it needs to know about a test; weights are in fixed point.
struct Contender {
  double score = 0.0;                            // by the first step
  double n_tests = 1.0;                          // how many tests of the feature this is the best of
  std::int32_t n_branches = 2;                   // with rows
  std::int64_t left_weight = 0;                  // of two branches
  std::int64_t left_out_weight = 0;              // of rows that lack the feature and take no part
  std::span<const std::int64_t> branch_weights;  // of more branches
  std::optional<RowFacts> known;  // for p-values where rows lack the feature: the facts of the others
};

class Choice {
 public:
  // A node whose best adjusted p-value is above `min_significance` gets no test; 1 lets all pass.
  Choice(SecondStep step, double min_significance);

  SecondStep second_step() const { return step_; }
  bool is_needed() const { return step_ != SecondStep::kNone; }
  bool compares_p_values() const { return step_ == SecondStep::kChi2 || step_ == SecondStep::kFTest; }

  void start(const ChoiceNode& node);

  // The best test of a feature. Features come in ascending order.
  void offer(const Contender& contender);

  // Which of the offered tests is taken, counted from 0.
  std::optional<std::size_t> settle();
  double score(std::size_t index) const { return contenders_[index].score; }

 private:
  bool is_above(double score, double other) const;
  double gain(double score) const;
  double statistic(const Contender& test) const;
  const RowFacts& rows_of(const Contender& test) const {
    return test.known.has_value() ? *test.known : node_.rows;
  }
  double split_information(const Contender& test) const;
  void challenge(std::size_t index);
  double freedom(const Contender& test) const;
  double log_p(const Contender& test) const;  // adjusted
  std::optional<std::size_t> best_ratio() const;

  SecondStep step_;
  double log_least_significance_;
  ChoiceNode node_;
  std::vector<Contender> contenders_;
  std::size_t best_ = 0;              // by p-values, so far,
  std::optional<double> best_log_p_;  // and its adjusted p-value, once it was needed
};

}  // namespace hornbeam::criterion
