#include "hornbeam/choice.h"

#include <algorithm>
#include <cmath>

#include "hornbeam/math.h"
#include "hornbeam/notes.h"
#include "hornbeam/significance.h"

namespace hornbeam {

namespace {

// p-values are computed to about ten digits; nearer ones are equal.
constexpr double kLogSlack = 0x1p-30;

// A share of the variance that is left unexplained is a difference of larger numbers: below this it is noise.
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
  best_.reset();
  best_log_p_.reset();
}

void Choice::offer(double score, Split split) {
  Chosen contender{score, std::move(split)};
  if (step_ == SecondStep::kGainRatio) {
    contenders_.push_back(std::move(contender));
  } else {
    challenge(std::move(contender));
  }
}

std::optional<Choice::Chosen> Choice::settle() {
  if (step_ == SecondStep::kGainRatio) return best_ratio();
  if (best_.has_value() && log_least_significance_ < 0) {
    const double log_p = best_log_p_.has_value() ? *best_log_p_ : this->log_p(*best_);
    if (log_p > log_least_significance_) return std::nullopt;
  }
  return std::move(best_);
}

bool Choice::is_above(double score, double other) const {
  return score > other + tie_slack(other, node_.tie_scale);
}

// What is nothing on paper is nothing here, so that it is nothing in a ratio as well.
double Choice::gain(double score) const {
  return is_above(score, node_.score) ? (score - node_.score) * node_.score_unit : 0.0;
}

// ---- gain ratio

// Weight times bits, as gains are. Rows that lack the feature count as one more branch (Quinlan 1993).
double Choice::split_information(const Split& split) const {
  const auto in_branch = [&](std::int64_t weight) {
    const double of_all = static_cast<double>(weight) * node_.weight_unit;
    return weight > 0 ? of_all * log2_of(node_.weight / of_all) : 0.0;
  };
  double information = in_branch(split.left_out_weight);
  if (!split.branch_weights.empty()) {
    for (const std::int64_t weight : split.branch_weights) information += in_branch(weight);
    return information;
  }
  const double right =
      node_.weight - static_cast<double>(split.left_weight + split.left_out_weight) * node_.weight_unit;
  return information + in_branch(split.left_weight) + right * log2_of(node_.weight / right);
}

std::optional<Choice::Chosen> Choice::best_ratio() {
  double total = 0.0;
  for (const Chosen& test : contenders_) total += gain(test.score);
  const double mean = total / static_cast<double>(contenders_.size());
  Chosen* best = nullptr;
  double best_ratio = -kInfinity;
  for (Chosen& test : contenders_) {
    const double slack = tie_slack(test.score, node_.tie_scale) * node_.score_unit;
    const double gained = gain(test.score);
    if (gained < mean - slack) continue;
    const double information = split_information(test.split);
    const double ratio = gained / information;
    if (best == nullptr || ratio > best_ratio + slack / information) best = &test;
    best_ratio = std::max(best_ratio, ratio);
  }
  if (best == nullptr) return std::nullopt;
  return std::move(*best);
}

// ---- p-values

// A test that is no better in its score and had no fewer rivals within its feature has no lower p-value;
// only where the two disagree are p-values computed, which takes longer than the walk through a small node.
void Choice::challenge(Chosen contender) {
  const auto take = [&](std::optional<double> log_p) {
    best_ = std::move(contender);
    best_log_p_ = log_p;
  };
  if (!best_.has_value()) return take(std::nullopt);
  const double tests = contender.split.n_tests;
  const double best_tests = best_->split.n_tests;
  const bool same_branches = contender.split.n_branches_with_rows() == best_->split.n_branches_with_rows();
  if (same_branches) {
    if (tests >= best_tests && !is_above(contender.score, best_->score)) return;
    if (tests <= best_tests && !is_above(best_->score, contender.score)) return take(std::nullopt);
  }
  if (same_branches && step_ == SecondStep::kChi2) {
    const bool higher = contender.score > best_->score;
    const Chosen& high = higher ? contender : *best_;
    const Chosen& low = higher ? *best_ : contender;
    const DropBounds drop = drop_bounds(gain(low.score), gain(high.score), freedom(high));
    const double needed = ln_of(high.split.n_tests) - ln_of(low.split.n_tests);
    const double slack = kLogSlack * (1 + needed + gain(high.score));  // no less than the one below
    if (drop.least > needed + slack) return higher ? take(std::nullopt) : void();
    if (drop.most < needed - slack) return higher ? void() : take(std::nullopt);
  }
  const double log_p = this->log_p(contender);
  if (!best_log_p_.has_value()) best_log_p_ = this->log_p(*best_);
  if (log_p < *best_log_p_ - kLogSlack * std::max(1.0, std::abs(*best_log_p_))) take(log_p);
}

// Of chi2.
double Choice::freedom(const Chosen& test) const {
  return (test.split.n_branches_with_rows() - 1) * (node_.n_classes - 1);
}

double Choice::log_p(const Chosen& test) const {
  const double gained = gain(test.score);
  double log_p = 0.0;
  if (step_ == SecondStep::kChi2) {
    log_p = chi2_log_sf(gained, freedom(test));
  } else if (const double within = node_.weight - test.split.n_branches_with_rows(); within > 0) {
    const double unexplained =
        std::clamp(1 - gained / (node_.weight * node_.impurity), kLeastUnexplained, 1.0);
    const double between = test.split.n_branches_with_rows() - 1;
    log_p = f_log_sf((1 - unexplained) / unexplained * within / between, between, within);
  }
  return log_p + ln_of(test.split.n_tests);
}

}  // namespace hornbeam
