#include <algorithm>
#include <cmath>

#include "hornbeam/predict/plain.h"

namespace hornbeam::predict {

namespace {

std::int32_t branch_of(const Tree& tree, NodeId node, double value, Unseen unseen) {
  if (tree.category_begin[node] == kNoTable) {
    if (std::isnan(value)) return tree.missing_branch[node];
    return value <= tree.threshold[node] ? 0 : 1;
  }
  if (value >= 0) return tree.branch_of_category(node, static_cast<std::uint32_t>(value));
  const bool is_unseen = value == kUnseenCategory;
  return is_unseen && unseen == Unseen::kMajority ? tree.largest_branch(node) : tree.missing_branch[node];
}

}  // namespace

bool needs_plain_walk(const Tree& tree) {
  return std::any_of(tree.n_branches.begin(), tree.n_branches.end(), [](auto n) { return n > 2; });
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
    NodeId node = 0;
    while (!tree.is_leaf(node)) {
      const double value = values_[slot_[static_cast<std::size_t>(tree.feature[node])] * kBlockRows + row];
      node = tree.first_child[node] + branch_of(tree, node, value, unseen_);
      if (++steps % kStepsBetweenPolls == 0) poller.poll(4 * kStepsBetweenPolls);
    }
    leaves[row] = node;
  }
  poller.poll(4 * (steps % kStepsBetweenPolls) + n_rows_);
}

}  // namespace hornbeam::predict
