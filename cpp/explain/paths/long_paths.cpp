#include "explain/paths/long_paths.h"

#include <algorithm>

#include "explain/patterns.h"

namespace hornbeam::explain {

namespace {

constexpr std::size_t kMostKept = 1u << 17;  // most numbers on the way down, so that they stay in the cache

}  // namespace

LongPaths::LongPaths(const Tree& tree, std::span<const double> shares, const Quadratures& quadratures,
                     bool pairs) {
  PathTests found = list_tests(tree);
  if (found.tests.empty()) return;
  leaves_ = std::move(found.leaves);
  n_levels_ = found.n_levels;
  points_ = &quadratures.for_columns(found.most_columns);
  std::vector<double> shares_before;  // by test: the share that passes all earlier tests on its column
  std::vector<double> outs = {1};     // for new columns, and for the tests on columns that are not new
  for (const TreeTest& test : found.tests) {
    Test& made = tests_.emplace_back(Test{test, shares_of(tree, shares, test), 0});
    shares_before.push_back(1.0);
    if (test.former < 0) continue;
    const auto former = static_cast<std::size_t>(test.former_test);
    shares_before.back() =
        shares_before[former] * tests_[former].shares[static_cast<std::size_t>(test.former_side)];
    made.constants = outs.size() * 2 * points_->size();
    outs.push_back(shares_before.back());
  }
  find_constants(outs);
  if (pairs) find_constants_of_pairs(shares_before);
}

std::array<double, 2> LongPaths::shares_of(const Tree& tree, std::span<const double> shares,
                                           const TreeTest& test) {
  const auto share = [&](std::int32_t branch) {
    return shares[static_cast<std::size_t>(tree.first_child[test.node] + branch)];
  };
  if (test.branch < 0) return {share(0), share(1)};
  double later = 0.0;
  for (std::int32_t b = test.branch + 1; b < tree.n_branches[test.node]; ++b) later += share(b);
  const double own = share(test.branch);
  if (own + later > 0) return {own / (own + later), later / (own + later)};
  return {0.5, 0.5};
}

void LongPaths::find_constants(const std::vector<double>& outs) {
  for (const double out : outs) {
    for (const double t : points_->at) constants_.push_back(t / (out + t * (1 - out)));
    for (const double t : points_->at) {
      const double factor = out + t * (1 - out);
      constants_.push_back(out / (factor * factor));
    }
  }
}

void LongPaths::find_constants_of_pairs(const std::vector<double>& shares_before) {
  for (const double t : points_->at) of_pairs_.push_back(-1 / (1 - t));
  for (std::size_t number = 0; number < tests_.size(); ++number) {
    for (const double share : tests_[number].shares) {
      const double out = shares_before[number] * share;
      for (const double t : points_->at) of_pairs_.push_back((1 - out) / (out + t * (1 - out)));
    }
  }
}

void LongPathWalk::begin(const LongPaths& paths, const RowBlock& block, std::size_t n_values) {
  const auto n_levels = static_cast<std::size_t>(paths.n_levels_);
  n_points_ = paths.points_->size();
  n_values_ = n_values;
  const std::size_t n_left = (block.n_rows() - first_ + kLanesStep - 1) / kLanesStep * kLanesStep;
  const std::size_t fit = kMostKept / (n_levels * n_points_ * (1 + 2 * n_values)) / kLanesStep * kLanesStep;
  n_lanes_ = std::min(n_left, std::clamp(fit, kLanesStep, kLanes));
  tests_.resize(n_levels);
  places_.resize(n_levels);
  ways_.grow_to(n_levels * n_lanes_);
  products_.grow_to(n_levels * n_points_ * n_lanes_);
  worth_.grow_to(n_levels * 2 * n_values * n_points_ * n_lanes_);
  whole_.grow_to(n_points_ * n_lanes_);
  factors_.grow_to(n_levels * 4 * n_points_);
  if (!paths.of_pairs_.empty()) {
    at_points_.grow_to(n_points_ * n_lanes_);
    if_unknown_.grow_to(n_lanes_);
  }
  for (std::size_t t = 0; t < n_points_; ++t)
    std::fill_n(products_.data() + t * n_lanes_, n_lanes_, paths.points_->weight[t]);
}

PathTest LongPathWalk::place_of(const LongPaths& paths, const LongPaths::Test& test) {
  const auto level = static_cast<std::size_t>(test.level);
  const double* constants = paths.constants_.data() + test.constants;
  return {test.shares[0],
          test.shares[1],
          constants,
          test.former < 0 ? nullptr : constants + n_points_,
          ways_.data() + level * n_lanes_,
          products_.data() + level * n_points_ * n_lanes_,
          factors_.data() + level * 4 * n_points_};
}

PathStep LongPathWalk::step_to(const Tree& tree, const LongPaths::Test& test, const RowBlock& block) {
  PathStep step{};
  if (test.level > 0) step.above = &places_[static_cast<std::size_t>(test.level - 1)];
  step.above_right = test.side == 1;
  if (test.former >= 0) step.former_way = places_[static_cast<std::size_t>(test.former)].way;
  step.former_right = test.former_side == 1;
  if (test.branch < 0 && tree.category_begin[test.node] == tree::kNoTable && !tree.surrogates.any()) {
    step.values = block.column(test.feature) + first_;
    step.threshold = tree.threshold[test.node];
    step.missing_right = tree.missing_branch[test.node] == 1;
    return step;
  }
  const std::size_t n = std::min(n_lanes_, block.n_rows() - first_);
  const std::int32_t left = std::max(test.branch, 0);
  for (std::size_t i = 0; i < n; ++i)
    goes_right_[i] = branch_taken(tree, test.node, unseen_, block, first_ + i) == left ? 0.0 : 1.0;
  step.values = goes_right_.data();
  step.threshold = 0.5;
  return step;
}

Branch LongPathWalk::branch(const LongPaths::Test& test, std::size_t side, std::size_t value) {
  if (test.below[side] < 0) return {worth(test.level, side, value), false};
  return {leaves_.data() + static_cast<std::size_t>(test.below[side]) * n_values_ + value, true};
}

void LongPathWalk::enter(const Tree& tree, const LongPaths& paths, const LongPaths::Test& test,
                         const RowBlock& block) {
  const auto level = static_cast<std::size_t>(test.level);
  tests_[level] = &test;
  places_[level] = place_of(paths, test);
  explain_kernels().enter(step_to(tree, test, block), places_[level], n_lanes_, n_points_);
}

void LongPathWalk::join(const LongPaths::Test& test, std::size_t value, double* parts) {
  explain_kernels().join(places_[static_cast<std::size_t>(test.level)], branch(test, 0, value),
                         branch(test, 1, value), n_lanes_, n_points_, worth_of(test, value), parts);
}

// A test is the last on its column above another one if neither a test between them nor that one tests the
// column again.
void LongPathWalk::find_columns_above(const LongPaths::Test& test) {
  is_asked_again_.assign(static_cast<std::size_t>(test.level), false);
  for (std::int32_t level = 0; level <= test.level; ++level)
    if (test_at(level).former >= 0) is_asked_again_[static_cast<std::size_t>(test_at(level).former)] = true;
  columns_above_.clear();
  for (std::int32_t level = 0; level < test.level; ++level)
    if (!is_asked_again_[static_cast<std::size_t>(level)]) columns_above_.push_back(level);
}

void LongPathWalk::find_part_at_points(const LongPaths& paths, const LongPaths::Test& test,
                                       std::size_t value) {
  explain_kernels().part_at_points(places_[static_cast<std::size_t>(test.level)], branch(test, 0, value),
                                   branch(test, 1, value), n_lanes_, n_points_, paths.of_pairs_.data(),
                                   at_points_.data(), if_unknown_.data());
}

void LongPathWalk::add_pair(const LongPaths& paths, std::int32_t other, double* sums) {
  const auto number = static_cast<std::size_t>(&test_at(other) - paths.tests_.data());
  const bool right = test_at(other + 1).side == 1;
  const double* known = paths.of_pairs_.data() + (1 + 2 * number + right) * n_points_;
  explain_kernels().add_pair(at_points_.data(), if_unknown_.data(), known,
                             places_[static_cast<std::size_t>(other)].way, right, n_lanes_, n_points_, sums);
}

void LongPathWalk::join_leaves(const Tree& tree, const LongPaths& paths, const LongPaths::Test& test,
                               const RowBlock& block, double* parts) {
  explain_kernels().join_leaves(step_to(tree, test, block), place_of(paths, test), *branch(test, 0, 0).worth,
                                *branch(test, 1, 0).worth, n_lanes_, n_points_, worth_of(test, 0), parts);
}

}  // namespace hornbeam::explain
