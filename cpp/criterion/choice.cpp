#include "criterion/choice.h"

#include <algorithm>
#include <cmath>

#include "base/math.h"
#include "criterion/candidates.h"
#include "criterion/significance.h"

namespace hornbeam::criterion {

namespace {

// p-values have about ten correct digits; closer ones count as equal.
constexpr double kLogSlack = 0x1p-30;

// The unexplained share of the variance is a difference of larger numbers; below this limit it is rounding noise.
constexpr double kLeastUnexplained = 0x1p-40;

// How much ln P(X >= x) falls from `low` to `high`, X chi-square with d degrees of freedom. Its slope,
// density over tail, runs from 1/2 - (d/2 - 1) / x towards 1/2 and lies between the two.
struct DropBounds {
  double least;
  double most;
};
DropBounds drop_bounds(double low, double high, double d) {
  const double far = (high - low) / 2;
  const double steep = low > 0 ? 0.5 - (d / 2 - 1) / low : -kInfinity;
  if (d >= 2) return {std::max(0.0, steep) * (high - low), far};
  return {far, low > 0 ? steep * (high - low) : kInfinity};
}

}  // namespace

Choice::Choice(SecondStep step, double min_significance)
    : step_(step), log_least_significance_(ln_of(min_significance)) {}

void Choice::start(const ChoiceNode& node) {
  node_ = node;
  contenders_.clear();
  best_ = 0;
  best_log_p_.reset();
}

void Choice::offer(const Contender& contender) {
  contenders_.push_back(contender);
  if (step_ != SecondStep::kGainRatio) challenge(contenders_.size() - 1);
}

std::optional<std::size_t> Choice::settle() {
  if (step_ == SecondStep::kGainRatio) return best_ratio();
  if (contenders_.empty()) return std::nullopt;
  if (log_least_significance_ < 0) {
    const double log_p = best_log_p_.has_value() ? *best_log_p_ : this->log_p(contenders_[best_]);
    if (log_p > log_least_significance_) return std::nullopt;
  }
  return best_;
}

bool Choice::is_above(double score, double other) const {
  return score > other + tie_slack(other, node_.tie_scale);
}

// A gain that is mathematically zero becomes exactly zero, so that a ratio with it is zero, too.
double Choice::gain(double score) const {
  return is_above(score, node_.score) ? (score - node_.score) * node_.score_unit : 0.0;
}

// ---- gain ratio

// Weight times bits, as gains are. Rows that lack the feature count as one more branch (Quinlan 1993).
double Choice::split_information(const Contender& test) const {
  const auto in_branch = [&](std::int64_t weight) {
    const double of_all = static_cast<double>(weight) * node_.weight_unit;
    return weight > 0 ? of_all * log2_of(node_.rows.weight / of_all) : 0.0;
  };
  double information = in_branch(test.left_out_weight);
  if (!test.branch_weights.empty()) {
    for (const std::int64_t weight : test.branch_weights) information += in_branch(weight);
    return information;
  }
  const double right =
      node_.rows.weight - static_cast<double>(test.left_weight + test.left_out_weight) * node_.weight_unit;
  return information + in_branch(test.left_weight) + right * log2_of(node_.rows.weight / right);
}

std::optional<std::size_t> Choice::best_ratio() const {
  double total = 0.0;
  for (const Contender& test : contenders_) total += gain(test.score);
  const double mean = total / static_cast<double>(contenders_.size());
  std::optional<std::size_t> best;
  double best_ratio = -kInfinity;
  for (std::size_t i = 0; i < contenders_.size(); ++i) {
    const Contender& test = contenders_[i];
    const double slack = tie_slack(test.score, node_.tie_scale) * node_.score_unit;
    const double gained = gain(test.score);
    if (gained < mean - slack) continue;
    const double information = split_information(test);
    const double ratio = gained / information;
    if (!best.has_value() || ratio > best_ratio + slack / information) best = i;
    best_ratio = std::max(best_ratio, ratio);
  }
  return best;
}

// ---- p-values

// A test whose score is no better, and which was the best of at least as many tests, cannot have a lower
// p-value. p-values are computed only for the others: one takes longer than the walk through a small node.
void Choice::challenge(std::size_t index) {
  if (index == 0) return;  // the first is the best so far
  const Contender& test = contenders_[index];
  const Contender& best = contenders_[best_];
  const auto take = [&](std::optional<double> log_p) {
    best_ = index;
    best_log_p_ = log_p;
  };
  const bool alike = test.n_branches == best.n_branches && !test.known.has_value() && !best.known.has_value();
  if (alike) {
    if (test.n_tests >= best.n_tests && !is_above(test.score, best.score)) return;
    if (test.n_tests <= best.n_tests && !is_above(best.score, test.score)) return take(std::nullopt);
  }
  if (alike && step_ == SecondStep::kChi2) {
    const bool higher = test.score > best.score;
    const Contender& high = higher ? test : best;
    const Contender& low = higher ? best : test;
    const DropBounds drop = drop_bounds(statistic(low), statistic(high), freedom(high));
    const double needed = ln_of(high.n_tests / low.n_tests);
    const double slack = kLogSlack * (1 + needed + statistic(high));  // no less than the one below
    if (drop.least > needed + slack) return higher ? take(std::nullopt) : void();
    if (drop.most < needed - slack) return higher ? void() : take(std::nullopt);
  }
  const double log_p = this->log_p(test);
  if (!best_log_p_.has_value()) best_log_p_ = this->log_p(best);
  if (log_p < *best_log_p_ - kLogSlack * std::max(1.0, std::abs(*best_log_p_))) take(log_p);
}

// Of chi2.
double Choice::statistic(const Contender& test) const {
  return gain(test.score) / (node_.is_chi2_gini ? rows_of(test).impurity : 1.0);
}

double Choice::freedom(const Contender& test) const {
  return (test.n_branches - 1) * (rows_of(test).n_classes - 1);
}

double Choice::log_p(const Contender& test) const {
  const RowFacts& rows = rows_of(test);
  double log_p = 0.0;  // where all rows have the same target, nothing is significant
  if (rows.impurity > 0 && step_ == SecondStep::kChi2) {
    log_p = chi2_log_sf(statistic(test), freedom(test));
  } else if (const double within = rows.weight - test.n_branches; rows.impurity > 0 && within > 0) {
    const double unexplained =
        std::clamp(1 - gain(test.score) / (rows.weight * rows.impurity), kLeastUnexplained, 1.0);
    const double between = test.n_branches - 1;
    log_p = f_log_sf((1 - unexplained) / unexplained * within / between, between, within);
  }
  return log_p + ln_of(test.n_tests);
}

}  // namespace hornbeam::criterion
