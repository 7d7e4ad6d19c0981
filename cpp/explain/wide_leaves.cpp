#include "explain/wide_leaves.h"

#include <algorithm>
#include <bit>

#include "explain/beta.h"
#include "explain/patterns.h"
#include "explain/slots.h"

namespace hornbeam::explain {

namespace {

constexpr std::size_t kMostColumns = 64;
constexpr std::size_t kMostKept = 1u << 20;  // numbers kept for patterns that occur again

WideLeaf path_to(const Tree& tree, std::span<const double> shares, std::span<const NodeId> parents,
                 NodeId leaf) {
  WideLeaf found{leaf, {}, {}};
  for (NodeId node = leaf; parents[static_cast<std::size_t>(node)] != kNoChild;) {
    const NodeId parent = parents[static_cast<std::size_t>(node)];
    auto column = std::ranges::find(found.columns, tree.feature[parent], &WideLeaf::Column::feature);
    if (column == found.columns.end()) column = found.columns.insert(column, {tree.feature[parent], 1.0, {}});
    column->share *= shares[static_cast<std::size_t>(node)];
    column->tests.emplace_back(parent, node - tree.first_child[parent]);
    node = parent;
  }
  return found;
}

}  // namespace

std::vector<WideLeaf> find_wide_leaves(const Tree& tree, std::span<const double> shares,
                                       std::vector<bool>& is_done) {
  const std::vector<NodeId> parents = tree.parents();
  std::vector<bool> below = is_done;  // a node of is_done, or below one
  std::vector<WideLeaf> found;
  for (std::size_t node = 0; node < tree.n_nodes(); ++node) {
    if (node > 0 && below[static_cast<std::size_t>(parents[node])]) below[node] = true;
    if (below[node] || tree.n_branches[node] > 0) continue;
    WideLeaf leaf = path_to(tree, shares, parents, static_cast<NodeId>(node));
    if (leaf.columns.empty() || leaf.columns.size() > kMostColumns) continue;
    found.push_back(std::move(leaf));
    is_done[node] = true;
  }
  return found;
}

const std::vector<std::uint64_t>& WidePatterns::find(const Tree& tree, const WideLeaf& leaf,
                                                     const RowBlock& block) {
  const std::size_t n = block.n_rows();
  patterns_.assign(n, 0);
  right_.resize(n);
  for (std::size_t c = 0; c < leaf.columns.size(); ++c) {
    passed_.assign(n, 1);
    for (const auto& [node, branch] : leaf.columns[c].tests) {
      if (tree.n_branches[node] == 2) {
        goes_right(tree, node, unseen_, block, 0, n, right_.data());
        for (std::size_t i = 0; i < n; ++i) passed_[i] &= right_[i] == branch;
      } else {
        for (std::size_t i = 0; i < n; ++i)
          passed_[i] &= branch_taken(tree, node, unseen_, block, i) == branch;
      }
    }
    for (std::size_t i = 0; i < n; ++i) patterns_[i] |= std::uint64_t{passed_[i]} << c;
  }
  return patterns_;
}

const double* WidePatterns::amounts(const WideLeaf& leaf, std::uint64_t pattern, std::size_t n_background) {
  const std::size_t size = Slots(leaf.columns.size(), pairs_).size();
  if (amounts_.size() + size > kMostKept) begin_leaf();
  const auto [at, is_new] = known_.try_emplace(pattern, amounts_.size());
  if (is_new) {
    amounts_.resize(amounts_.size() + size, 0.0);
    play_by_counts(leaf, pattern, n_background, amounts_.data() + at->second);
  }
  return amounts_.data() + at->second;
}

// As in tables.cpp: columns that only the row passes must be known, columns that only the other passes must
// not.
void WidePatterns::play_by_counts(const WideLeaf& leaf, std::uint64_t pattern, std::size_t n_background,
                                  double* amounts) {
  const std::size_t n_columns = leaf.columns.size();
  const std::uint64_t only_out = leaf.all_bits() & ~pattern;
  const int b = std::popcount(only_out);
  const Slots slots(n_columns, pairs_);
  for (const auto& [other, count] : leaf.background) {
    if ((pattern | other) != leaf.all_bits()) continue;
    const std::uint64_t only_in = pattern & ~other;
    const int a = std::popcount(only_in);
    const double share = static_cast<double>(count) / static_cast<double>(n_background);
    const double gain = a > 0 ? share * beta(a - 1, b) : 0.0;
    const double loss = b > 0 ? share * beta(a, b - 1) : 0.0;
    for (std::uint64_t bits = only_in; bits != 0; bits &= bits - 1) amounts[std::countr_zero(bits)] += gain;
    for (std::uint64_t bits = only_out; bits != 0; bits &= bits - 1) amounts[std::countr_zero(bits)] -= loss;
    if (!pairs_ || a + b < 2) continue;
    const double both_in = a > 1 ? share * beta(a - 2, b) : 0.0;
    const double both_out = b > 1 ? share * beta(a, b - 2) : 0.0;
    const double one_each = a > 0 && b > 0 ? share * beta(a - 1, b - 1) : 0.0;
    for (std::uint64_t first = only_in | only_out; first != 0; first &= first - 1) {
      const auto i = static_cast<std::size_t>(std::countr_zero(first));
      for (std::uint64_t second = first & (first - 1); second != 0; second &= second - 1) {
        const auto j = static_cast<std::size_t>(std::countr_zero(second));
        const bool i_in = (only_in >> i & 1) != 0;
        const bool j_in = (only_in >> j & 1) != 0;
        amounts[slots.pair(i, j)] += i_in != j_in ? -one_each : i_in ? both_in : both_out;
      }
    }
  }
}

}  // namespace hornbeam::explain
