#include "explain/paths/path_tests.h"

#include <algorithm>
#include <span>

namespace hornbeam::explain {

namespace {

constexpr std::int32_t kNone = -1;

class TestLister {
 public:
  TestLister(const Tree& tree, const std::vector<bool>& is_left_out) : tree_(tree) {
    find_what_counts(is_left_out);
    const auto n = static_cast<std::size_t>(std::max(*std::ranges::max_element(tree.feature), 0)) + 1;
    latest_.assign(n, kNone);
    column_.assign(n, kNone);
  }

  PathTests list() {
    if (tree_.is_leaf(0) || !counts_[0]) return std::move(found_);
    waiting_.push_back({0, first_branch(0), kNone, 0, 0});
    while (!waiting_.empty()) {
      const Waiting at = waiting_.back();
      waiting_.pop_back();
      go_to(at);
      add_test(at);
    }
    return std::move(found_);
  }

 private:
  struct Waiting {
    NodeId node;
    std::int32_t branch;
    std::int32_t above;  // place of the test above in the list
    std::int32_t level;
    std::int32_t side;
  };
  struct Step {  // from a test down
    std::int32_t test;
    std::int32_t side;
  };

  // A node counts unless all leaves below it are left out. Children come after their parents.
  void find_what_counts(const std::vector<bool>& is_left_out) {
    counts_.assign(tree_.n_nodes(), false);
    for (std::size_t node = tree_.n_nodes(); node-- > 0;) {
      if (!is_left_out.empty() && is_left_out[node]) continue;
      const std::int32_t n = tree_.n_branches[node];
      counts_[node] = n == 0;
      for (std::int32_t b = 0; b < n; ++b)
        if (counts_[static_cast<std::size_t>(tree_.first_child[node] + b)]) counts_[node] = true;
    }
  }

  std::int32_t first_branch(NodeId node) const { return tree_.n_branches[node] == 2 ? kNone : 0; }
  TreeTest& test(std::int32_t place) { return found_.tests[static_cast<std::size_t>(place)]; }
  std::int32_t& latest(FeatureId feature) { return latest_[static_cast<std::size_t>(feature)]; }

  // Makes `path_` the path to a test.
  void go_to(const Waiting& at) {
    while (path_.size() >= static_cast<std::size_t>(std::max(at.level, 1))) {
      const TreeTest& last = test(path_.back().test);
      latest(last.feature) = last.former_test;
      n_columns_ -= last.former == kNone;
      path_.pop_back();
    }
    if (at.above == kNone) return;
    const TreeTest& last = test(at.above);
    latest(last.feature) = at.above;
    n_columns_ += last.former == kNone;
    path_.push_back({at.above, at.side});
  }

  void add_test(const Waiting& at) {
    const auto place = static_cast<std::int32_t>(found_.tests.size());
    if (at.above != kNone) test(at.above).below[static_cast<std::size_t>(at.side)] = ~place;
    const FeatureId feature = tree_.feature[at.node];
    const std::int32_t former = latest(feature);
    TreeTest made{at.node, at.branch, feature, column_of(feature), at.level, at.side, kNone, 0,
                  former,  false,     {}};
    if (former != kNone) {
      test(former).is_asked_again = true;
      made.former = test(former).level;
      made.former_side = path_[static_cast<std::size_t>(made.former)].side;
    }
    found_.most_columns = std::max(found_.most_columns, n_columns_ + (former == kNone));
    found_.n_levels = std::max(found_.n_levels, at.level + 1);
    made.below = {TreeTest::kNothing, TreeTest::kNothing};
    const std::int32_t right = at.branch == kNone ? 1 : at.branch + 1;
    if (right + 1 < tree_.n_branches[at.node])
      waiting_.push_back({at.node, right, place, at.level + 1, 1});
    else
      look_below(made, place, right, 1);
    look_below(made, place, right - 1, 0);
    found_.tests.push_back(made);
  }

  void look_below(TreeTest& made, std::int32_t place, std::int32_t branch, std::int32_t side) {
    const NodeId node = tree_.first_child[made.node] + branch;
    if (!counts_[static_cast<std::size_t>(node)]) return;
    if (!tree_.is_leaf(node)) {
      waiting_.push_back({node, first_branch(node), place, made.level + 1, side});
      return;
    }
    made.below[static_cast<std::size_t>(side)] = static_cast<std::int32_t>(found_.leaves.size());
    found_.leaves.push_back(node);
  }

  std::int32_t column_of(FeatureId feature) {
    std::int32_t& column = column_[static_cast<std::size_t>(feature)];
    if (column == kNone) {
      column = static_cast<std::int32_t>(found_.columns.size());
      found_.columns.push_back(feature);
    }
    return column;
  }

  const Tree& tree_;
  std::vector<bool> counts_;  // by node
  PathTests found_;
  std::vector<std::int32_t> latest_;  // by feature: its last test on the path
  std::vector<std::int32_t> column_;  // by feature: its place in found_.columns
  std::vector<Waiting> waiting_;
  std::vector<Step> path_;  // by level
  std::size_t n_columns_ = 0;
};

}  // namespace

PathTests list_tests(const Tree& tree, const std::vector<bool>& is_left_out) {
  return TestLister(tree, is_left_out).list();
}

}  // namespace hornbeam::explain
