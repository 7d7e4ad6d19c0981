#include "explain/patterns.h"

#include <algorithm>

#include "explain/explain_kernels.h"

namespace hornbeam::explain {

using tree::kNoTable;

void goes_right(const Tree& tree, NodeId node, Unseen unseen, const RowBlock& block, std::size_t first,
                std::size_t n, std::uint8_t* right) {
  if (tree.category_begin[node] == tree::kNoTable && !tree.surrogates.any()) {
    explain_kernels().compare(block.column(tree.feature[node]) + first, n, tree.threshold[node],
                              tree.missing_branch[node] == 1, right);
    return;
  }
  for (std::size_t i = 0; i < n; ++i) right[i] = branch_taken(tree, node, unseen, block, first + i) == 1;
}

void PatternWalk::begin(const CutTree& cut, std::size_t n_rows) {
  const auto n_levels = static_cast<std::size_t>(cut.n_levels);
  n_rows_ = n_rows;
  passed_.resize(n_levels * n_rows);
  right_.resize(n_levels * n_rows);
  nodes_.resize(n_levels);
  patterns_.resize((n_rows + kTables - 1) / kTables * kTables);  // looked up this many at a time
  bits_.resize(n_rows);
}

void PatternWalk::test(const Tree& tree, NodeId node, const RowBlock& block, std::size_t level) {
  nodes_[level] = node;
  if (tree.n_branches[node] == 2)
    return goes_right(tree, node, unseen_, block, 0, n_rows_, right_.data() + level * n_rows_);
  branches_.resize(std::max(branches_.size(), nodes_.size() * n_rows_));
  std::int32_t* branches = branches_.data() + level * n_rows_;
  for (std::size_t i = 0; i < n_rows_; ++i) branches[i] = branch_taken(tree, node, unseen_, block, i);
}

void PatternWalk::pass(const Tree& tree, const CutStep& step) {
  const auto level = static_cast<std::size_t>(step.level);
  const std::size_t above = (level - 1) * n_rows_;
  std::uint8_t* passed = passed_.data() + level * n_rows_;
  if (tree.n_branches[nodes_[level - 1]] == 2) {
    const std::uint8_t* right = right_.data() + above;
    const auto other = static_cast<std::uint8_t>(1 - step.branch);
    const std::size_t n = n_rows_;
    for (std::size_t i = 0; i < n; ++i) passed[i] = right[i] ^ other;
  } else {
    const std::int32_t* branches = branches_.data() + above;
    for (std::size_t i = 0; i < n_rows_; ++i) passed[i] = branches[i] == step.branch;
  }
  if (step.former == kNoLevel) return;
  const std::uint8_t* former = passed_.data() + static_cast<std::size_t>(step.former) * n_rows_;
  const std::size_t n = n_rows_;
  for (std::size_t i = 0; i < n; ++i) passed[i] &= former[i];
}

void PatternWalk::write_patterns(const Tree& tree, const Subtree& subtree, const RowBlock& block) {
  std::fill(patterns_.begin(), patterns_.end(), std::uint8_t{0});
  int bit = 0;
  const auto add = [&](const std::uint8_t* bits) {
    explain_kernels().set_bits(bits, n_rows_, bit++, patterns_.data());
  };
  for (const std::int32_t level : subtree.levels)
    add(passed_.data() + static_cast<std::size_t>(level) * n_rows_);
  for (const NodeId node : subtree.tests) {
    goes_right(tree, node, unseen_, block, 0, n_rows_, bits_.data());
    add(bits_.data());
  }
}

}  // namespace hornbeam::explain
