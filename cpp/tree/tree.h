// The one tree. Flat parallel arrays, nodes numbered breadth-first, the children of a node adjacent: child b
// of node n is first_child[n] + b. Single trees, forest members, boosted trees and multiway trees are all
// this.
//
// Tests: numeric, x <= threshold goes to branch 0; categorical, a table from category to branch. Each test
// says where a missing value goes; it may have surrogates, which are asked before.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/types.h"
#include "tree/tree_memory.h"

namespace hornbeam::tree {

inline constexpr std::int64_t kNoTable = -1;

// Branch numbers of the categories of one test, packed: 1 bit each for two branches, else 8, 16 or 32.
int bits_per_branch(std::int32_t n_branches);
std::size_t table_words(std::size_t n_categories, std::int32_t n_branches);
inline std::uint32_t table_entry(const std::uint32_t* words, std::uint32_t category, int bits) {
  const std::uint64_t bit = std::uint64_t{category} * static_cast<std::uint64_t>(bits);
  const std::uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
  return (words[bit / 32] >> (bit % 32)) & mask;
}
void set_table_entry(std::uint32_t* words, std::uint32_t category, int bits, std::uint32_t branch);

// What happens to a row that lacks the feature of a test. It takes one branch, that of the first surrogate or the one
// for missing values; or all branches, its weight being divided like that of the rows of the fit; or none, and the
// tree has no answer.
enum class Gaps : std::uint8_t { kBranch, kFractional, kAvailable };

// Surrogate tests, for rows that lack the feature of a node's test, best first; those of node n are
// [begin[n], begin[n + 1]). The arrays are empty if the tree has none.
struct TreeSurrogates {
  std::vector<std::int64_t> begin;  // one more than nodes
  std::vector<FeatureId> feature;
  std::vector<double> threshold;             // kNoThreshold where there is a table
  std::vector<std::int32_t> low_branch;      // of values up to the threshold; 0 where there is a table
  std::vector<std::int64_t> category_begin;  // first word of the table, or kNoTable
  std::vector<double> agreement;  // share of the node's rows with its feature that go where its test says
  std::vector<std::uint32_t> category_words;  // one bit per category

  bool any() const { return !begin.empty(); }
  std::int32_t branch_of_category(std::size_t surrogate, std::uint32_t category) const {
    return static_cast<std::int32_t>(table_entry(&category_words[category_begin[surrogate]], category, 1));
  }
};

struct Tree {
  int n_outputs = 1;
  int n_values = 1;  // per output: classes, padded to the largest output; 1 for real targets

  TreeArray<NodeId> first_child;           // kNoChild at leaves
  TreeArray<std::int32_t> n_branches;      // 0 at leaves
  TreeArray<FeatureId> feature;            // kNoFeature at leaves
  TreeArray<double> threshold;             // kNoThreshold where there is none
  TreeArray<std::int64_t> category_begin;  // first word of the test's table, or kNoTable
  TreeArray<std::int32_t> missing_branch;  // 0 at leaves
  TreeArray<std::int64_t> n_samples;       // rows
  TreeArray<double> weight;                // their weight
  TreeArray<double> impurity;
  // Weight * impurity minus the same over the children; 0 at leaves. Rows that lack the test's feature do not
  // count, unless the test has learned where to send them.
  TreeArray<double> gain;
  TreeArray<double> value;  // [node, output, class]: class shares, or the mean
  TreeArray<std::uint32_t> category_words;
  TreeSurrogates surrogates{};
  Gaps gaps = Gaps::kBranch;

  std::size_t n_nodes() const { return first_child.size(); }
  std::size_t value_size() const { return static_cast<std::size_t>(n_outputs) * n_values; }
  bool is_leaf(NodeId node) const { return first_child[node] == kNoChild; }

  // Where a known category goes.
  std::int32_t branch_of_category(NodeId node, std::uint32_t category) const {
    return static_cast<std::int32_t>(
        table_entry(&category_words[category_begin[node]], category, bits_per_branch(n_branches[node])));
  }
  // The branch with the largest weight; the first of several.
  std::int32_t largest_branch(NodeId node) const;

  std::size_t n_leaves() const;
  std::int32_t max_depth() const;
  std::vector<NodeId> parents() const;       // kNoChild for the root
  std::vector<std::int32_t> depths() const;  // the root has depth 0
};

// The features that tests may refer to: how many categories each has, 0 for numeric ones.
using FeatureCategories = std::span<const std::uint32_t>;

// Checks arrays that came from outside in one linear pass: sizes agree, children lie in range and after their
// parent, every node but the root has exactly one parent, features, branches and tables are in range, numbers
// are finite where they must be. Returns an empty text for a sound tree, else what is wrong, naming the node.
std::string find_fault(const Tree& tree, FeatureCategories categories);

}  // namespace hornbeam::tree
