#include "explain/rows.h"

#include "predict/branches.h"

namespace hornbeam::explain {

using data::kUnseenCategory;
using tree::kNoTable;

std::int32_t branch_taken(const Tree& tree, NodeId node, Unseen unseen, const RowBlock& block,
                          std::size_t row) {
  return predict::branch_of(tree, node, unseen, [&](FeatureId feature) { return block.value(feature, row); });
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
