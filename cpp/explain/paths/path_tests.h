// The tests of a tree, listed for walks that carry something along the paths.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "tree/tree.h"

namespace hornbeam::explain {

using tree::Tree;

// A test with more than two branches becomes a chain of tests on the same column with two each: one branch,
// or all later ones.
struct TreeTest {
  NodeId node;
  std::int32_t branch;  // that goes left; -1: the node has two branches
  FeatureId feature;
  std::int32_t column;  // its place among the columns of the tree
  std::int32_t level;
  std::int32_t side;         // of the test above, where this one is
  std::int32_t former;       // level of the last test on the column above, or -1
  std::int32_t former_side;  // on which the path goes on there
  std::int32_t former_test;  // its place in the list
  bool is_asked_again;       // the column, by a test below
  // A place among the leaves or, where it is negative, ~ the place of a test in the list, or kNothing.
  std::array<std::int32_t, 2> below;

  static constexpr std::int32_t kNothing = std::numeric_limits<std::int32_t>::min();
  bool has_leaves_only() const { return below[0] >= 0 && below[1] >= 0; }
};

struct PathTests {
  std::vector<TreeTest> tests;  // depth first
  std::vector<NodeId> leaves;
  std::vector<FeatureId> columns;
  std::int32_t n_levels = 0;
  std::size_t most_columns = 0;  // on a path
};

// Leaves out the nodes marked in `is_left_out`, if it is not empty, and everything below them.
PathTests list_tests(const Tree& tree, const std::vector<bool>& is_left_out = {});

}  // namespace hornbeam::explain
