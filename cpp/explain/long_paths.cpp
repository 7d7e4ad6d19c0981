#include "explain/long_paths.h"

#include <algorithm>

#include "explain/patterns.h"

namespace hornbeam::explain {

namespace {

constexpr std::size_t kMostKept = 1u << 17;  // numbers kept on the way, so that they stay in the cache

}  // namespace

// Lists the tests, with what the path to each says of its column.
class LongPathMaker {
 public:
  LongPathMaker(const Tree& tree, std::span<const double> shares, LongPaths& made)
      : tree_(tree), shares_(shares), made_(made) {
    latest_.assign(static_cast<std::size_t>(std::max(*std::ranges::max_element(tree.feature), 0)) + 1, kNone);
  }

  void make(const Quadratures& quadratures, bool pairs) {
    if (tree_.is_leaf(0)) return;
    waiting_.push_back({0, first_branch(0), 0, 0});
    while (!waiting_.empty()) {
      const Waiting at = waiting_.back();
      waiting_.pop_back();
      go_to(at);
      add_test(at);
    }
    made_.points_ = &quadratures.for_columns(most_columns_);
    find_constants(made_.points_->at);
    if (pairs) find_constants_of_pairs(made_.points_->at);
  }

 private:
  static constexpr std::int32_t kNone = -1;
  using Test = LongPaths::Test;
  struct Waiting {
    NodeId node;
    std::int32_t branch;
    std::int32_t level;
    std::int32_t side;
  };
  struct Step {  // from a test down
    std::size_t test;
    std::int32_t side;
    double out;  // the share of the rows that gets past all tests on the column, down to here
  };

  std::size_t child(NodeId node, std::int32_t branch) const {
    return static_cast<std::size_t>(tree_.first_child[node] + branch);
  }
  std::int32_t first_branch(NodeId node) const { return tree_.n_branches[node] == 2 ? kNone : 0; }

  // Makes `path_` that to a test.
  void go_to(const Waiting& at) {
    while (path_.size() >= static_cast<std::size_t>(std::max(at.level, 1))) {
      const Test& test = made_.tests_[path_.back().test];
      latest_[static_cast<std::size_t>(test.feature)] = test.former;
      n_columns_ -= test.former == kNone;
      path_.pop_back();
    }
    if (at.level == 0) return;
    const std::size_t above = open_[static_cast<std::size_t>(at.level - 1)];
    const Test& test = made_.tests_[above];
    const double before = test.former == kNone ? 1.0 : path_[static_cast<std::size_t>(test.former)].out;
    latest_[static_cast<std::size_t>(test.feature)] = test.level;
    n_columns_ += test.former == kNone;
    path_.push_back({above, at.side, before * test.shares[static_cast<std::size_t>(at.side)]});
  }

  void add_test(const Waiting& at) {
    const FeatureId feature = tree_.feature[at.node];
    const std::int32_t former = latest_[static_cast<std::size_t>(feature)];
    Test test{at.node, at.branch, feature, at.level, at.side, former, 0, {}, {}, 0};
    befores_.push_back(1.0);
    if (former != kNone) {
      test.former_side = path_[static_cast<std::size_t>(former)].side;
      befores_.back() = path_[static_cast<std::size_t>(former)].out;
      outs_.push_back(befores_.back());
      test.constants = outs_.size();
    }
    most_columns_ = std::max(most_columns_, n_columns_ + (former == kNone));
    open_.resize(static_cast<std::size_t>(at.level) + 1);
    open_.back() = made_.tests_.size();
    made_.n_levels_ = std::max(made_.n_levels_, at.level + 1);
    if (at.branch == kNone) {
      test.shares = {shares_[child(at.node, 0)], shares_[child(at.node, 1)]};
    } else {
      double later = 0.0;
      for (std::int32_t b = at.branch + 1; b < tree_.n_branches[at.node]; ++b)
        later += shares_[child(at.node, b)];
      const double own = shares_[child(at.node, at.branch)];
      test.shares = {0.5, 0.5};
      if (own + later > 0) test.shares = {own / (own + later), later / (own + later)};
    }
    const std::int32_t right = at.branch == kNone ? 1 : at.branch + 1;
    if (right + 1 < tree_.n_branches[at.node]) {
      waiting_.push_back({at.node, right, at.level + 1, 1});
      test.below[1] = LongPaths::kTest;
    } else {
      test.below[1] = look_below(child(at.node, right), at.level, 1);
    }
    test.below[0] = look_below(child(at.node, right - 1), at.level, 0);
    made_.tests_.push_back(test);
  }

  std::int32_t look_below(std::size_t node, std::int32_t level, std::int32_t side) {
    const auto number = static_cast<NodeId>(node);
    if (tree_.is_leaf(number)) {
      made_.leaves_.push_back(number);
      return static_cast<std::int32_t>(made_.leaves_.size()) - 1;
    }
    waiting_.push_back({number, first_branch(number), level + 1, side});
    return LongPaths::kTest;
  }

  void find_constants(const std::vector<double>& at) {
    outs_.insert(outs_.begin(), 1.0);  // where the column is new
    for (const double out : outs_) {
      for (const double t : at) made_.constants_.push_back(t / (out + t * (1 - out)));
      for (const double t : at) {
        const double factor = out + t * (1 - out);
        made_.constants_.push_back(out / (factor * factor));
      }
    }
    for (Test& test : made_.tests_) test.constants *= 2 * at.size();
  }

  void find_constants_of_pairs(const std::vector<double>& at) {
    for (const double t : at) made_.of_pairs_.push_back(-1 / (1 - t));
    for (std::size_t number = 0; number < made_.tests_.size(); ++number) {
      for (const double share : made_.tests_[number].shares) {
        const double out = befores_[number] * share;
        for (const double t : at) made_.of_pairs_.push_back((1 - out) / (out + t * (1 - out)));
      }
    }
  }

  const Tree& tree_;
  std::span<const double> shares_;
  LongPaths& made_;
  std::vector<std::int32_t> latest_;  // by column: level of its last test on the path
  std::vector<Waiting> waiting_;
  std::vector<std::size_t> open_;  // by level: the test
  std::vector<Step> path_;         // by level
  std::vector<double> outs_;       // of tests on columns that are not new
  std::vector<double> befores_;    // by test: the share that gets past all former tests on its column
  std::size_t n_columns_ = 0;
  std::size_t most_columns_ = 0;
};

LongPaths::LongPaths(const Tree& tree, std::span<const double> shares, const Quadratures& quadratures,
                     bool pairs) {
  LongPathMaker(tree, shares, *this).make(quadratures, pairs);
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
  if (test.below[side] == LongPaths::kTest) return {worth(test.level, side, value), false};
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

// A test is the last on its column above another one if no test between them, nor that one, asks again.
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
