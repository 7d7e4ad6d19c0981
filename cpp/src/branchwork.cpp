#include "hornbeam/branchwork.h"

#include <cmath>

namespace hornbeam {

namespace {

// Categories that the node has not seen go where its other rows without a better answer go.
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

// Writes down where a node's test sends every category of its column.
void add_table(Tree& tree, const CategoryPlan& plan, const Column& column, const Split& split,
               std::int32_t missing_branch) {
  std::vector<std::uint32_t> branch(std::size_t{column.n_codes} + 1);
  fill_branches(plan, column, split, missing_branch, branch);
  const std::size_t begin = tree.category_words.size();
  tree.category_begin.back() = static_cast<std::int64_t>(begin);
  tree.category_words.resize(begin + table_words(column.n_codes, split.n_branches), 0);
  const int bits = bits_per_branch(split.n_branches);
  for (Code code = 0; code < column.n_codes; ++code) {
    set_table_entry(&tree.category_words[begin], code, bits, branch[code]);
  }
}

}  // namespace

void set_thresholds(const Dataset& data, Branchwork& part) {
  for (Split& split : part.splits) {
    const Column& column = data.column(split.feature);
    if (!std::isnan(split.threshold) || column.kind != ColumnKind::kNumeric) continue;
    const double low = column.values[split.last_left];
    split.threshold = column.binned ? low : halfway(low, column.values[split.first_right]);
  }
}

Tree assemble(const Dataset& data, const std::vector<Branchwork>& parts, int n_outputs, int n_values,
              const CategoryPlan& plan) {
  Tree tree;
  tree.n_outputs = n_outputs;
  tree.n_values = n_values;
  const std::size_t value_size = tree.value_size();
  struct Place {
    std::int32_t part;
    NodeId id;
  };
  std::size_t n_nodes = 0;
  for (const Branchwork& part : parts) n_nodes += part.nodes.size();
  n_nodes -= parts.size() - 1;  // the root of a spliced piece repeats the node it replaces
  std::vector<Place> order;
  order.reserve(n_nodes);
  tree.first_child.reserve(n_nodes);
  const auto resolve = [&](Place place) {
    const std::int32_t elsewhere = parts[static_cast<std::size_t>(place.part)].nodes[place.id].part;
    return elsewhere < 0 ? place : Place{elsewhere, 0};
  };
  order.push_back(resolve({0, 0}));
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Place place = order[i];
    const Branchwork& part = parts[static_cast<std::size_t>(place.part)];
    const NodeRecord& node = part.nodes[place.id];
    tree.n_samples.push_back(node.n_samples);
    tree.weight.push_back(node.weight);
    tree.impurity.push_back(node.impurity);
    tree.gain.push_back(node.gain);
    const auto value = part.values.begin() + static_cast<std::ptrdiff_t>(place.id * value_size);
    tree.value.insert(tree.value.end(), value, value + static_cast<std::ptrdiff_t>(value_size));
    tree.missing_branch.push_back(node.missing_branch);
    tree.category_begin.push_back(kNoTable);
    tree.surrogates.begin.push_back(static_cast<std::int64_t>(tree.surrogates.feature.size()));
    if (node.split < 0) {
      tree.first_child.push_back(kNoChild);
      tree.n_branches.push_back(0);
      tree.feature.push_back(kNoFeature);
      tree.threshold.push_back(kNoThreshold);
      continue;
    }
    const Split& split = part.splits[static_cast<std::size_t>(node.split)];
    const Column& column = data.column(split.feature);
    tree.first_child.push_back(static_cast<NodeId>(order.size()));
    tree.n_branches.push_back(split.n_branches);
    tree.feature.push_back(split.feature);
    const bool categorical = column.kind == ColumnKind::kCategorical;
    tree.threshold.push_back(categorical ? kNoThreshold : split.threshold);
    if (categorical) add_table(tree, plan, column, split, node.missing_branch);
    for (std::int32_t b = 0; b < split.n_branches; ++b) {
      order.push_back(resolve({place.part, node.first_child + b}));
    }
    for (const Surrogate& surrogate : split.surrogates)
      add_surrogate(surrogate, data.column(surrogate.feature), node.missing_branch, tree.surrogates);
  }
  if (tree.surrogates.feature.empty()) {
    tree.surrogates.begin.clear();
  } else {
    tree.surrogates.begin.push_back(static_cast<std::int64_t>(tree.surrogates.feature.size()));
  }
  return tree;
}

}  // namespace hornbeam
