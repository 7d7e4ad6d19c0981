// Grows all that is below a node as one block: of values (grow/fast/value_block.h) or of ranks
// (grow/fast/rank_block.h).
#pragma once

#include "grow/describe.h"
#include "grow/fast/groups.h"
#include "grow/fast/grow_subtree.h"
#include "grow/fast/rank_block.h"
#include "grow/fast/value_block.h"
#include "grow/tree_builder.h"
#include "grow/tree_fit.h"

namespace hornbeam::grow {

template <Scorer S>
TreeRules rules_of(const TreeFit<S>& fit) {
  const GrowParams& params = fit.params;
  return {params.key,
          static_cast<std::size_t>(params.max_features),
          params.max_depth,
          params.min_samples_split,
          params.min_samples_leaf,
          fit.plan.min_weight,
          fit.least_gain(),
          fit.prototype.stats().weight_unit()};
}

template <Scorer S>
void grow_block(TreeFit<S>& fit, TreeBuilder& part, const OpenNode& root, Worker<S>& worker) {
  ValueBlock& block = worker.block;
  part.counted.start(fit.prototype.stats().weight_unit(), worker.region);
  if (!block.started()) block.start(fit.data, *fit.plan.values, fit.params.features, rules_of(fit));
  part.nodes[static_cast<std::size_t>(root.id)].counted =
      block.grow(fit.rows_of(root), root.path, root.depth, part.counted, worker.poller);
}

template <Scorer S>
void grow_ranks(TreeFit<S>& fit, TreeBuilder& part, const OpenNode& root, Worker<S>& worker) {
  RankBlock& block = worker.ranks;
  part.counted.start(fit.prototype.stats().weight_unit(), worker.region);
  if (!block.started()) block.start(fit.data, fit.params.features, rules_of(fit));
  with_records(fit, root, worker, [&](const auto& records) {
    part.nodes[static_cast<std::size_t>(root.id)].counted = block.grow_counts(
        fit.rows_of(root), *fit.plan.records, records, root.path, root.depth, part.counted, worker.poller);
    return true;
  });
}

// The same for weighted rows, whose nodes are written down like those of any other method.
template <Scorer S>
void grow_weighed_ranks(TreeFit<S>& fit, TreeBuilder& part, const OpenNode& root, Worker<S>& worker) {
  RankBlock& block = worker.ranks;
  if (!block.started()) block.start(fit.data, fit.params.features, rules_of(fit));
  const auto weight_of = [&](const Entry& entry) { return fit.prototype.stats().signed_weight(entry); };
  const std::span<const WeighedNode> grown =
      block.grow_weights(fit.rows_of(root), weight_of, root.path, root.depth, worker.poller);
  const auto first_new = static_cast<NodeId>(part.nodes.size());
  for (std::size_t i = 1; i < grown.size(); ++i) part.add(fit.value_size());
  const auto id_of = [&](std::size_t i) { return i == 0 ? root.id : first_new + static_cast<NodeId>(i) - 1; };
  std::vector<typename S::Element>& cell = worker.child_cells[0];
  for (std::size_t i = 0; i < grown.size(); ++i) {
    const WeighedNode& node = grown[i];
    if (i > 0) {
      const auto ones = static_cast<std::int64_t>(node.ones);
      cell = {static_cast<std::int64_t>(node.weight) - ones, ones, node.samples};
      write_class_facts(fit, part, id_of(i), node.samples, cell, worker);
    }
    if (node.first_child == kNoChild) continue;
    const auto child = static_cast<std::size_t>(node.first_child);
    NodeRecord& record = part.nodes[static_cast<std::size_t>(id_of(i))];
    record.first_child = id_of(child);
    record.gain = node.gain;
    record.missing_branch = grown[child + 1].weight > grown[child].weight ? 1 : 0;
    record.value_test = static_cast<std::int32_t>(part.value_tests.size());
    part.value_tests.push_back({node.feature, node.threshold});
  }
}

template <Scorer S>
struct ValueLane {
  static bool starts(const TreeFit<S>& fit, const TreeBuilder& part, const OpenNode& node,
                     const Worker<S>& worker) {
    return fit.plan.grows_blocks && SubtreeLane<S>::starts(fit, part, node, worker);
  }
  template <class GrowBelow>
  static bool grow(TreeFit<S>& fit, TreeBuilder& part, OpenNode& root, Worker<S>& worker, const GrowBelow&) {
    if constexpr (kCountsByGini<S>) grow_block(fit, part, root, worker);
    return kCountsByGini<S>;
  }
};

template <Scorer S>
struct RankLane {
  // Nodes that are worth a block. Counted rows and what they count have few bits.
  static bool starts(const TreeFit<S>& fit, const TreeBuilder& part, const OpenNode& node, const Worker<S>&) {
    if (!fit.plan.grows_ranks || node.n_rows() > fit.params.subtree_rows ||
        !RankBlock::is_worth(node.n_rows(), fit.plan.most_codes))
      return false;
    if constexpr (kWeighsByGini<S>) return levels_below(fit, node) >= 2;
    return part.nodes[static_cast<std::size_t>(node.id)].weight <=
           RankGrowth::kMostWeight * fit.prototype.stats().weight_unit();
  }
  template <class GrowBelow>
  static bool grow(TreeFit<S>& fit, TreeBuilder& part, OpenNode& root, Worker<S>& worker, const GrowBelow&) {
    if constexpr (kCountsByGini<S>) grow_ranks(fit, part, root, worker);
    if constexpr (kWeighsByGini<S>) grow_weighed_ranks(fit, part, root, worker);
    return kCountsByGini<S> || kWeighsByGini<S>;
  }
};

}  // namespace hornbeam::grow
