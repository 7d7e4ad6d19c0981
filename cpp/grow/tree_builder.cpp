#include "grow/tree_builder.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "criterion/facts.h"

namespace hornbeam::grow {

using criterion::gini_facts;
using criterion::NodeFacts;
using criterion::show_entropy;
using data::Column;
using data::halfway;
using split::fill_branches;
using split::Surrogate;
using tree::bits_per_branch;
using tree::kNoTable;
using tree::set_table_entry;
using tree::table_words;
using tree::TreeSurrogates;

namespace {

// Categories that the node has not seen take the branch of its other rows that no test can place.
void add_surrogate(const Surrogate& surrogate, const Column& column, std::int32_t larger_branch,
                   TreeSurrogates& tree) {
  tree.feature.push_back(surrogate.feature);
  tree.threshold.push_back(surrogate.threshold);
  tree.low_branch.push_back(surrogate.low_branch);
  tree.agreement.push_back(surrogate.agreement);
  tree.category_begin.push_back(kNoTable);
  if (column.kind != ColumnKind::kCategorical) return;
  const std::size_t begin = tree.category_words.size();
  const auto larger = static_cast<std::uint32_t>(larger_branch);
  tree.category_begin.back() = static_cast<std::int64_t>(begin);
  tree.category_words.resize(begin + table_words(column.n_codes, 2), 0);
  auto other = surrogate.smaller_branch.begin();
  for (Code code = 0; code < column.n_codes; ++code) {
    const bool smaller = other != surrogate.smaller_branch.end() && *other == code;
    other += smaller;
    set_table_entry(&tree.category_words[begin], code, 1, smaller ? 1 - larger : larger);
  }
}

// Stores where a node's test sends every category of its column; returns the first word of that table.
std::int64_t add_table(Tree& tree, const CategoryPlan& plan, const Column& column, const Split& split,
                       std::int32_t missing_branch) {
  std::vector<std::uint32_t> branch(std::size_t{column.n_codes} + 1);
  fill_branches(plan, column, split, missing_branch, branch);
  const std::size_t begin = tree.category_words.size();
  tree.category_words.resize(begin + table_words(column.n_codes, split.n_branches), 0);
  const int bits = bits_per_branch(split.n_branches);
  for (Code code = 0; code < column.n_codes; ++code) {
    set_table_entry(&tree.category_words[begin], code, bits, branch[code]);
  }
  return static_cast<std::int64_t>(begin);
}

// Where a node is: in which piece, and in which of its lists.
enum class NodeList : std::uint8_t { kRecords, kCounted, kBlock };
struct NodePlace {
  std::int32_t part;
  NodeId id;
  NodeList list;
};

class Assembly {
 public:
  Assembly(const Dataset& data, const std::vector<TreeBuilder>& parts, const CategoryPlan& plan,
           Region* region, Tree& tree)
      : data_(data),
        parts_(parts),
        plan_(plan),
        tree_(tree),
        value_size_(tree.value_size()),
        order_(count_nodes(), region) {}

  void run() {
    make_room(order_.size());
    add(resolve({0, 0, NodeList::kRecords}));
    for (std::size_t i = 0; i < n_ordered_; ++i) {
      const NodePlace place = order_[i];
      prefetch_node(i + kAhead);
      if (place.list == NodeList::kCounted) {
        write_counted(i, place);
      } else if (place.list == NodeList::kBlock) {
        write_block_node(i, place);
      } else {
        write(i, place);
      }
    }
    set_missing_branches();
    if (tree_.surrogates.feature.empty()) {
      tree_.surrogates.begin.clear();
    } else {
      tree_.surrogates.begin.push_back(static_cast<std::int64_t>(tree_.surrogates.feature.size()));
    }
  }

 private:
  // Nodes between requesting one from memory and reading it: many, as each waits for two or three places in memory.
  static constexpr std::size_t kAhead = 48;

  void add(NodePlace place) { order_[n_ordered_++] = place; }

  const TreeBuilder& part_of(NodePlace place) const { return parts_[static_cast<std::size_t>(place.part)]; }
  const NodeRecord& record(NodePlace place) const {
    return part_of(place).nodes[static_cast<std::size_t>(place.id)];
  }

  // Where a node has been grown.
  NodePlace resolve(NodePlace place) const {
    if (const std::int32_t elsewhere = record(place).part; elsewhere >= 0)
      place = {elsewhere, 0, NodeList::kRecords};
    if (const NodeId id = record(place).counted; id >= 0) return {place.part, id, NodeList::kCounted};
    if (const NodeId id = record(place).block; id >= 0) return {place.part, id, NodeList::kBlock};
    return place;
  }

  // A node whose subtree was grown in another piece is stored again there.
  std::size_t count_nodes() const {
    std::size_t n = 0;
    for (const TreeBuilder& part : parts_) {
      n += part.nodes.size() + part.counted.size() + part.block.size();
      for (const NodeRecord& node : part.nodes)
        n -= (node.part >= 0) + (node.counted >= 0) + (node.block >= 0);
    }
    return n;
  }

  // Its elements are set node by node.
  void make_room(std::size_t n_nodes) {
    tree_.first_child.resize(n_nodes);
    tree_.n_branches.resize(n_nodes);
    tree_.feature.resize(n_nodes);
    tree_.threshold.resize(n_nodes);
    tree_.category_begin.resize(n_nodes);
    tree_.missing_branch.resize(n_nodes);
    tree_.n_samples.resize(n_nodes);
    tree_.weight.resize(n_nodes);
    tree_.impurity.resize(n_nodes);
    tree_.gain.resize(n_nodes);
    tree_.value.resize(n_nodes * value_size_);
    if (std::ranges::any_of(parts_, [](const TreeBuilder& part) { return has_surrogates(part); }))
      tree_.surrogates.begin.resize(n_nodes);
  }

  static bool has_surrogates(const TreeBuilder& part) {
    return std::ranges::any_of(part.splits, [](const Split& split) { return !split.surrogates.empty(); });
  }

  void write(std::size_t i, NodePlace place) {
    const TreeBuilder& part = part_of(place);
    const NodeRecord& node = record(place);
    tree_.n_samples[i] = node.n_samples;
    tree_.weight[i] = node.weight;
    tree_.impurity[i] = node.impurity;
    tree_.gain[i] = node.gain;
    std::copy_n(part.values.data() + static_cast<std::size_t>(place.id) * value_size_, value_size_,
                tree_.value.data() + i * value_size_);
    tree_.missing_branch[i] = node.missing_branch;
    TreeSurrogates& surrogates = tree_.surrogates;
    if (!surrogates.begin.empty()) surrogates.begin[i] = static_cast<std::int64_t>(surrogates.feature.size());
    if (node.value_test >= 0) return write_value_test(i, place, node);
    if (node.split < 0) return write_no_test(i);
    const Split& split = part.splits[static_cast<std::size_t>(node.split)];
    const Column& column = data_.column(split.feature);
    tree_.first_child[i] = static_cast<NodeId>(n_ordered_);
    tree_.n_branches[i] = split.n_branches;
    tree_.feature[i] = split.feature;
    const bool by_table = column.kind == ColumnKind::kCategorical;
    tree_.threshold[i] = by_table ? kNoThreshold : split.threshold;
    tree_.category_begin[i] =
        by_table ? add_table(tree_, plan_, column, split, node.missing_branch) : kNoTable;
    for (std::int32_t b = 0; b < split.n_branches; ++b)
      add(resolve({place.part, node.first_child + b, NodeList::kRecords}));
    for (const Surrogate& surrogate : split.surrogates)
      add_surrogate(surrogate, data_.column(surrogate.feature), node.missing_branch, surrogates);
  }

  void write_value_test(std::size_t i, NodePlace place, const NodeRecord& node) {
    const ValueTest& test = part_of(place).value_tests[static_cast<std::size_t>(node.value_test)];
    tree_.first_child[i] = static_cast<NodeId>(n_ordered_);
    tree_.n_branches[i] = 2;
    tree_.feature[i] = test.feature;
    tree_.threshold[i] = test.threshold;
    tree_.category_begin[i] = kNoTable;
    for (const NodeId b : {0, 1}) add(resolve({place.part, node.first_child + b, NodeList::kRecords}));
  }

  void write_no_test(std::size_t i) {
    tree_.first_child[i] = kNoChild;
    tree_.n_branches[i] = 0;
    tree_.feature[i] = kNoFeature;
    tree_.threshold[i] = kNoThreshold;
    tree_.category_begin[i] = kNoTable;
  }

  void write_counted(std::size_t i, NodePlace place) {
    const CountedNodes& counted = part_of(place).counted;
    const CountedNode& node = counted[static_cast<std::size_t>(place.id)];
    const double zeros = (node.rows - node.ones) * counted.row_weights()[0];
    const double ones = node.ones * counted.row_weights()[1];
    NodeFacts facts = gini_facts(zeros, ones, &tree_.value[2 * i]);
    if (counted.shown() == Impurity::kEntropy) show_entropy({&tree_.value[2 * i], 2}, facts);
    tree_.n_samples[i] = node.samples;
    tree_.weight[i] = facts.weight;
    tree_.impurity[i] = facts.impurity;
    write_test(i, place, node);
  }

  // Of a counted node, or one of a block.
  template <class Node>
  void write_test(std::size_t i, NodePlace place, const Node& node) {
    tree_.missing_branch[i] = 0;
    if (node.first_child == kNoChild) {
      tree_.gain[i] = 0.0;
      return write_no_test(i);
    }
    tree_.gain[i] = node.gain;
    tree_.first_child[i] = static_cast<NodeId>(n_ordered_);
    tree_.n_branches[i] = 2;
    tree_.feature[i] = node.feature;
    tree_.threshold[i] = node.threshold;
    tree_.category_begin[i] = kNoTable;
    add({place.part, node.first_child, place.list});
    add({place.part, node.first_child + 1, place.list});
  }

  void write_block_node(std::size_t i, NodePlace place) {
    const BlockNodes& block = part_of(place).block;
    const auto id = static_cast<std::size_t>(place.id);
    const BlockNode& node = block.nodes[id];
    const NodeFacts facts = facts_of(block, id, &tree_.value[i * value_size_]);
    tree_.n_samples[i] = node.samples;
    tree_.weight[i] = facts.weight;
    tree_.impurity[i] = facts.impurity;
    write_test(i, place, node);
  }

  // Of counted nodes and those of blocks: the heavier child, now that all children have weights.
  void set_missing_branches() {
    for (std::size_t i = 0; i < n_ordered_; ++i) {
      const NodeId child = tree_.first_child[i];
      if (order_[i].list == NodeList::kRecords || child == kNoChild) continue;
      const double* weights = &tree_.weight[static_cast<std::size_t>(child)];
      tree_.missing_branch[i] = weights[1] > weights[0] ? 1 : 0;
    }
  }

  static NodeFacts facts_of(const BlockNodes& block, std::size_t id, double* value) {
    if (!block.counts.empty() || !block.weights.empty()) {
      NodeFacts facts = block.weights.empty() ? gini_facts(counts_of(block, id), block.weight_unit, value)
                                              : gini_facts(weights_of(block, id), block.weight_unit, value);
      if (block.shown == Impurity::kEntropy) show_entropy({value, block.n_classes}, facts);
      return facts;
    }
    *value = block.values[id];
    return block.facts[id];
  }
  static std::span<const std::uint32_t> counts_of(const BlockNodes& block, std::size_t id) {
    return {block.counts.data() + id * block.n_classes, block.n_classes};
  }
  static std::span<const std::int64_t> weights_of(const BlockNodes& block, std::size_t id) {
    return {block.weights.data() + id * block.n_classes, block.n_classes};
  }
  void prefetch_node(std::size_t i) const {
    if (i >= n_ordered_) return;
    const NodePlace place = order_[i];
    const auto id = static_cast<std::size_t>(place.id);
    const TreeBuilder& part = part_of(place);
    if (place.list == NodeList::kCounted) prefetch(&part.counted[id]);
    if (place.list == NodeList::kBlock) prefetch(&part.block.nodes[id]);
    if (place.list == NodeList::kBlock && !part.block.counts.empty())
      prefetch(counts_of(part.block, id).data());
    if (place.list == NodeList::kBlock && !part.block.weights.empty())
      prefetch(weights_of(part.block, id).data());
  }

  const Dataset& data_;
  const std::vector<TreeBuilder>& parts_;
  const CategoryPlan& plan_;
  Tree& tree_;
  std::size_t value_size_;
  Buffer<NodePlace> order_;    // of the tree's nodes,
  std::size_t n_ordered_ = 0;  // as far as it is known
};

}  // namespace

void set_thresholds(const Dataset& data, TreeBuilder& part) {
  for (Split& split : part.splits) {
    const Column& column = data.column(split.feature);
    if (!std::isnan(split.threshold) || column.kind != ColumnKind::kNumeric) continue;
    const double low = column.values[split.last_left];
    split.threshold = column.binned ? low : halfway(low, column.values[split.first_right]);
  }
}

Tree assemble(const Dataset& data, const std::vector<TreeBuilder>& parts, int n_outputs, int n_values,
              const CategoryPlan& plan, Region* region) {
  Tree tree;
  tree.n_outputs = n_outputs;
  tree.n_values = n_values;
  Assembly(data, parts, plan, region, tree).run();
  return tree;
}

}  // namespace hornbeam::grow
