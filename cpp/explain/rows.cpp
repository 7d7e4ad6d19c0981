#include "explain/rows.h"

#include <algorithm>

namespace hornbeam::explain {

using data::kUnseenCategory;
using tree::Gaps;
using tree::kNoTable;
using tree::TreeSurrogates;

namespace {

std::int32_t branch_of_surrogate(const TreeSurrogates& all, std::size_t surrogate, double value) {
  if (all.category_begin[surrogate] == kNoTable) {
    if (std::isnan(value)) return -1;
    const std::int32_t low = all.low_branch[surrogate];
    return value <= all.threshold[surrogate] ? low : 1 - low;
  }
  return value >= 0 ? all.branch_of_category(surrogate, static_cast<std::uint32_t>(value)) : -1;
}

std::int32_t branch_without(const Tree& tree, NodeId node, const RowBlock& block, std::size_t row) {
  const TreeSurrogates& all = tree.surrogates;
  if (!all.any()) return tree.missing_branch[node];
  for (std::int64_t s = all.begin[node]; s < all.begin[node + 1]; ++s) {
    const auto surrogate = static_cast<std::size_t>(s);
    const double value = block.value(all.feature[surrogate], row);
    const std::int32_t branch = branch_of_surrogate(all, surrogate, value);
    if (branch >= 0) return branch;
  }
  return tree.missing_branch[node];
}

}  // namespace

std::int32_t branch_taken(const Tree& tree, NodeId node, Unseen unseen, const RowBlock& block,
                          std::size_t row) {
  const double value = block.value(tree.feature[node], row);
  if (tree.category_begin[node] == kNoTable) {
    if (!std::isnan(value)) return value <= tree.threshold[node] ? 0 : 1;
  } else {
    if (value >= 0) return tree.branch_of_category(node, static_cast<std::uint32_t>(value));
    if (value == kUnseenCategory && unseen == Unseen::kMajority) return tree.largest_branch(node);
  }
  return tree.gaps == Gaps::kBranch ? branch_without(tree, node, block, row) : kAllBranches;
}

std::vector<bool> are_categories(std::span<const Tree* const> trees, std::span<const FeatureId> features) {
  std::vector<bool> found(features.size());
  const RowBlock places(features);
  for (const Tree* tree : trees) {
    for (std::size_t node = 0; node < tree->n_nodes(); ++node)
      if (tree->category_begin[node] != kNoTable) found[places.slot_of(tree->feature[node])] = true;
  }
  return found;
}

bool lacks_a_value(const RowBlock& block, std::size_t row, const std::vector<bool>& is_category,
                   Unseen unseen) {
  for (std::size_t slot = 0; slot < block.features().size(); ++slot) {
    const double value = block.value(block.features()[slot], row);
    if (std::isnan(value)) return true;
    const bool known = value >= 0 || (value == kUnseenCategory && unseen == Unseen::kMajority);
    if (is_category[slot] && !known) return true;
  }
  return false;
}

std::vector<double> shares_of_rows(const Tree& tree) {
  std::vector<double> shares(tree.n_nodes(), 1.0);
  for (std::size_t node = 0; node < tree.n_nodes(); ++node) {
    const std::int32_t n_branches = tree.n_branches[node];
    const auto first = static_cast<std::size_t>(n_branches == 0 ? 0 : tree.first_child[node]);
    double total = 0.0;
    for (std::int32_t b = 0; b < n_branches; ++b) total += tree.weight[first + b];
    for (std::int32_t b = 0; b < n_branches; ++b)
      shares[first + b] = total > 0 ? tree.weight[first + b] / total : 1.0 / n_branches;
  }
  return shares;
}

}  // namespace hornbeam::explain
