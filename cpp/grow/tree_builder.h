// A tree while it grows: nodes in order of creation, in one or several pieces, from which the flat Tree is assembled
// in the end.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/platform.h"
#include "criterion/facts.h"
#include "data/dataset.h"
#include "split/split.h"
#include "tree/tree.h"

namespace hornbeam::grow {

using criterion::Impurity;
using criterion::NodeFacts;
using data::Dataset;
using split::CategoryPlan;
using split::Split;
using tree::Tree;

// The least that a test must gain, by the share of the whole tree's weight that the node has.
struct LeastGain {
  double impurity_decrease = 0.0;
  double root_weight = 1.0;

  bool is_more_than(double gain) const {
    constexpr double kRounding = 0x1p-52;
    return impurity_decrease > 0 && gain / root_weight + kRounding < impurity_decrease;
  }
};

// A node while the tree grows. If `part` >= 0, the node and its subtree are in another part and are spliced in at the
// end; if `counted` or `block` >= 0, they are in that list of the same part.
struct NodeRecord {
  NodeId first_child = kNoChild;
  std::int32_t part = -1;
  std::int32_t counted = -1;
  std::int32_t block = -1;
  std::int32_t missing_branch = 0;
  std::int32_t split = -1;       // index into `splits`,
  std::int32_t value_test = -1;  // or into `value_tests`; both -1 at leaves
  std::int64_t n_samples = 0;
  double weight = 0.0;
  double impurity = 0.0;
  double gain = 0.0;
};

// A grown node of two classes whose rows weigh the same within their class, in few bytes: the rest follows from the
// counts.
struct CountedNode {
  double threshold;
  double gain;
  NodeId first_child;  // of two, among the counted nodes; kNoChild at leaves, which have no test
  FeatureId feature;
  std::uint32_t samples;  // distinct rows
  std::uint32_t rows;     // rows as often as they were drawn
  std::uint32_t ones;     // of these, rows of class 1
};

// A vector of them that leaves its spare capacity uninitialized.
class CountedNodes {
 public:
  std::size_t size() const { return size_; }
  CountedNode* data() { return nodes_.data(); }
  const CountedNode& operator[](std::size_t i) const { return nodes_[i]; }
  // Makes room for so many nodes more, and returns where the first of them goes.
  CountedNode* room_for(std::size_t n) {
    if (size_ + n > nodes_.size()) {
      Buffer<CountedNode> smaller = std::move(nodes_);
      nodes_.grow_to(std::max(size_ + n, 2 * smaller.size()));
      std::copy_n(smaller.data(), size_, nodes_.data());
    }
    return nodes_.data() + size_;
  }
  void set_size(std::size_t size) { size_ = size; }
  // What a row of each class weighs, the impurity that nodes show, and where the memory comes from.
  void start(std::array<double, 2> row_weights, Impurity shown, Region* region) {
    if (size_ > 0) return;
    row_weights_ = row_weights;
    shown_ = shown;
    nodes_ = Buffer<CountedNode>(region);
  }
  const std::array<double, 2>& row_weights() const { return row_weights_; }
  Impurity shown() const { return shown_; }

 private:
  Buffer<CountedNode> nodes_;
  std::size_t size_ = 0;
  std::array<double, 2> row_weights_ = {1.0, 1.0};
  Impurity shown_ = Impurity::kGini;
};

// A grown node with any other cells, which are kept beside it (BlockNodes).
struct BlockNode {
  double threshold;
  double gain;
  NodeId first_child;  // of two, among the nodes of the block; kNoChild at leaves, which have no test
  FeatureId feature;
  std::uint32_t samples;
};

// A list of them with the sums over each node's rows: counts of classes, or their weights; or, where targets
// are numbers, the node's facts and value.
struct BlockNodes {
  std::vector<BlockNode> nodes;
  std::size_t n_classes = 0;
  std::vector<std::uint32_t> counts;  // n_classes per node,
  std::vector<std::int64_t> weights;  // or these
  std::vector<NodeFacts> facts;       // one per node,
  std::vector<double> values;         // and what it predicts
  double weight_unit = 1.0;           // of counts and weights
  Impurity shown = Impurity::kGini;   // by nodes of classes

  std::size_t size() const { return nodes.size(); }
  // Adds nodes, whose child indices count from the first of them; returns the index of the first.
  std::int32_t add(std::span<const BlockNode> more) {
    const auto first = static_cast<std::int32_t>(nodes.size());
    nodes.insert(nodes.end(), more.begin(), more.end());
    for (std::size_t i = static_cast<std::size_t>(first); first > 0 && i < nodes.size(); ++i)
      nodes[i].first_child += nodes[i].first_child == kNoChild ? 0 : first;
    return first;
  }
};

// A test with two branches on a number without missing values.
struct ValueTest {
  FeatureId feature;
  double threshold;
};

// Grown nodes in order of creation; one TreeBuilder per piece of the tree.
struct TreeBuilder {
  std::vector<NodeRecord> nodes;
  std::vector<double> values;
  std::vector<Split> splits;
  std::vector<ValueTest> value_tests;
  CountedNodes counted;
  BlockNodes block;

  NodeId add(std::size_t value_size) {
    nodes.emplace_back();
    values.resize(values.size() + value_size);
    return static_cast<NodeId>(nodes.size()) - 1;
  }
};

// Looks up the thresholds that are still missing. All at once, because the values are scattered in memory and the
// processor can wait for many of them at the same time.
void set_thresholds(const Dataset& data, TreeBuilder& part);

// Puts the pieces together and numbers the nodes breadth-first, so that the tree does not depend on which thread grew
// what. Working memory comes from `region`, if given.
Tree assemble(const Dataset& data, const std::vector<TreeBuilder>& parts, int n_outputs, int n_values,
              const CategoryPlan& plan = CategoryPlan::subsets(), Region* region = nullptr);

}  // namespace hornbeam::grow
