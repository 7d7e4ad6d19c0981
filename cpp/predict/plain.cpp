#include <algorithm>

#include "predict/branches.h"
#include "predict/plain.h"

namespace hornbeam::predict {

using tree::Gaps;

namespace {

struct Portion {
  NodeId node;
  double share;
};

// Follows a row from a node down all branches that it takes; calls visit(leaf, share of the row).
template <class ValueOf, class Visit>
void for_each_leaf(const Tree& tree, NodeId start, Unseen unseen, const ValueOf& value_of, Visit&& visit) {
  thread_local std::vector<Portion> waiting;
  waiting.assign(1, {start, 1.0});
  while (!waiting.empty()) {
    const Portion at = waiting.back();
    waiting.pop_back();
    if (tree.is_leaf(at.node)) {
      visit(at.node, at.share);
      continue;
    }
    const NodeId first = tree.first_child[at.node];
    const std::int32_t branch = branch_of(tree, at.node, unseen, value_of);
    if (branch >= 0) {
      waiting.push_back({first + branch, at.share});
      continue;
    }
    double total = 0.0;
    for (std::int32_t b = 0; b < tree.n_branches[at.node]; ++b) total += tree.weight[first + b];
    for (std::int32_t b = tree.n_branches[at.node] - 1; b >= 0; --b) {
      const double share = at.share * (tree.weight[first + b] / total);
      if (share > 0) waiting.push_back({first + b, share});
    }
  }
}

}  // namespace

bool needs_plain_walk(const Tree& tree) {
  return tree.surrogates.any() || tree.gaps != Gaps::kBranch ||
         std::any_of(tree.n_branches.begin(), tree.n_branches.end(), [](auto n) { return n > 2; });
}

PlainWalk::PlainWalk(std::span<const FeatureId> features, Unseen unseen)
    : features_(features),
      slot_(features.empty() ? 0 : static_cast<std::size_t>(features.back()) + 1),
      unseen_(unseen) {
  for (std::size_t slot = 0; slot < features.size(); ++slot)
    slot_[static_cast<std::size_t>(features[slot])] = slot;
}

void PlainWalk::load(const RowSource& rows, std::size_t begin, std::size_t end) {
  values_.resize(features_.size() * kBlockRows);
  n_rows_ = end - begin;
  for (std::size_t slot = 0; slot < features_.size(); ++slot)
    rows.read(features_[slot], begin, end, values_.data() + slot * kBlockRows);
}

void PlainWalk::find_leaves(const Tree& tree, CancelPoller& poller, NodeId* leaves) const {
  constexpr std::size_t kStepsBetweenPolls = 65536;
  std::size_t steps = 0;
  for (std::size_t row = 0; row < n_rows_; ++row) {
    const auto value_of = values_of_row(row);
    NodeId node = 0;
    while (!tree.is_leaf(node)) {
      const std::int32_t branch = branch_of(tree, node, unseen_, value_of);
      if (++steps % kStepsBetweenPolls == 0) poller.poll(4 * kStepsBetweenPolls);
      if (branch < 0) break;
      node = tree.first_child[node] + branch;
    }
    if (tree.gaps == Gaps::kFractional && !tree.is_leaf(node)) {
      Portion heaviest{node, 0.0};
      for_each_leaf(tree, node, unseen_, value_of, [&](NodeId leaf, double share) {
        ++steps;
        if (share > heaviest.share || (share == heaviest.share && leaf < heaviest.node))
          heaviest = {leaf, share};
      });
      node = heaviest.node;
    }
    leaves[row] = node;
  }
  poller.poll(4 * (steps % kStepsBetweenPolls) + n_rows_);
}

void PlainWalk::mix_leaves(const Tree& tree, CancelPoller& poller, double* values) const {
  const std::size_t size = tree.value_size();
  std::fill_n(values, n_rows_ * size, 0.0);
  for (std::size_t row = 0; row < n_rows_; ++row) {
    double* mixed = values + row * size;
    std::size_t n_leaves = 0;
    for_each_leaf(tree, 0, unseen_, values_of_row(row), [&](NodeId leaf, double share) {
      const double* said = tree.value.data() + static_cast<std::size_t>(leaf) * size;
      for (std::size_t k = 0; k < size; ++k) mixed[k] += share * said[k];
      ++n_leaves;
    });
    poller.poll(64 * n_leaves);
  }
}

}  // namespace hornbeam::predict
