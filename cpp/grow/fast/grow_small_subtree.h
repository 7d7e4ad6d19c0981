// The lane of small subtrees: grows the last levels of a tree, from a node of at most 64 rows down to its leaves
// (grow/fast/small_subtree.h).
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "grow/describe.h"
#include "grow/fast/small_subtree.h"
#include "grow/find_test.h"
#include "grow/tree_builder.h"
#include "grow/tree_fit.h"

namespace hornbeam::grow {

template <Scorer S>
FirstBest<Cut> find_cut(const TreeFit<S>& fit, const SmallNode& node,
                        const std::vector<typename S::Element>& cell, Worker<S>& worker) {
  SmallSubtree<S>& small_subtree = worker.small_subtree;
  const double tie_scale = worker.scorer.tie_scale(cell.data());
  FirstBest<Cut> best(tie_scale);
  const auto try_feature = [&](FeatureId feature) {
    if (worker.choice.is_needed()) {
      FirstBest<Cut> own(tie_scale);
      const bool informative = small_subtree.find_best(feature, node.rows, cell.data(), own);
      contend(worker.choice, worker.cuts, own);
      return informative;
    }
    if (!fit.params.random_splits) return small_subtree.find_best(feature, node.rows, cell.data(), best);
    const Stream stream = threshold_stream(fit, feature, node.path);
    return small_subtree.find_random(feature, node.rows, cell.data(), stream, best);
  };
  // All tests that separate two rows are equal: the first feature that does wins.
  const bool is_pair = std::popcount(node.rows) == 2 && fit.plan.min_weight == 0;
  worker.features.until_informative(node.path, [&] {
    bool informative = false;
    for (const FeatureId feature : worker.features.drawn()) {
      informative |= try_feature(feature);
      if (informative && is_pair) break;
    }
    return informative;
  });
  if (worker.choice.is_needed()) settle(worker.choice, worker.cuts, best);
  return best;
}

// Finds the node's test and adds its children to the tree; a node without a test stays a leaf.
template <Scorer S>
void grow_small_node(const TreeFit<S>& fit, TreeBuilder& part, const SmallNode& node, Worker<S>& worker) {
  SmallSubtree<S>& small_subtree = worker.small_subtree;
  std::vector<typename S::Element>& cell = worker.child_cells[0];
  worker.poller.poll(static_cast<std::size_t>(std::popcount(node.rows)));
  small_subtree.add_up(node.rows, cell);
  if (worker.scorer.stats().weight(cell.data()) < 2 * fit.plan.min_weight) return;
  const double node_score = worker.scorer.score_of_node(cell.data());
  if (worker.choice.is_needed()) {
    const NodeRecord& record = part.nodes[static_cast<std::size_t>(node.id)];
    worker.choice.start(choice_node(fit, record, cell.data(), node_score, worker));
    worker.cuts.clear();
  }
  const FirstBest<Cut> best = find_cut(fit, node, cell, worker);
  if (!best.found()) return;
  const double gain = std::max(0.0, (best.score() - node_score) * fit.prototype.score_unit());
  if (fit.least_gain().is_more_than(gain)) return;
  const Cut& cut = best.winner();
  const NodeId first = part.add(fit.value_size());
  part.add(fit.value_size());
  const Bits left = small_subtree.left_rows(cut);
  for (const int branch : {1, 0}) {
    const Bits rows = branch == 0 ? left : node.rows ^ left;
    small_subtree.add_up(rows, cell);
    const bool pure = write_facts(fit, part, first + branch, small_subtree.list(rows), cell, worker);
    const auto n_rows = static_cast<std::int64_t>(std::popcount(rows));
    if (pure || fit.ends_at(n_rows, node.depth + 1)) continue;
    const std::uint64_t path = child_path(node.path, static_cast<std::uint64_t>(branch));
    worker.small_nodes.push_back({first + branch, node.depth + 1, path, rows});
  }
  NodeRecord& record = part.nodes[static_cast<std::size_t>(node.id)];
  const auto left_child = static_cast<std::size_t>(first);
  record.first_child = first;
  record.gain = kShowsAnother<S> ? gain_by_children(part, node.id, first, 2) : gain;
  record.missing_branch = part.nodes[left_child + 1].weight > part.nodes[left_child].weight ? 1 : 0;
  record.split = static_cast<std::int32_t>(part.splits.size());
  Split& split = part.splits.emplace_back();
  split.feature = cut.feature;
  small_subtree.name_values(cut, split);
}

// Grows everything below the node; returns false, and does nothing, if one of its rows lacks a value.
template <Scorer S>
bool grow_small_subtree(TreeFit<S>& fit, TreeBuilder& part, const OpenNode& root, Worker<S>& worker) {
  worker.poller.poll(root.n_rows() * fit.params.features.size());
  SmallSubtree<S>& small_subtree = worker.small_subtree;
  if (!small_subtree.start(fit.data, fit.plan.records, fit.params.features, worker.subtree, fit.rows_of(root),
                           root.begin, worker.scorer, fit.params.min_samples_leaf, fit.plan.min_weight)) {
    return false;
  }
  worker.small_nodes.push_back({root.id, root.depth, root.path, small_subtree.all_rows()});
  while (!worker.small_nodes.empty()) {
    const SmallNode small_node = worker.small_nodes.back();
    worker.small_nodes.pop_back();
    grow_small_node(fit, part, small_node, worker);
  }
  return true;
}

template <Scorer S>
struct SmallSubtreeLane {
  static bool starts(const TreeFit<S>& fit, const TreeBuilder&, const OpenNode& node,
                     const Worker<S>& worker) {
    return fit.plan.grows_small_subtrees && worker.subtree.started() &&
           node.n_rows() <= SmallSubtree<S>::kMostRows;
  }
  template <class GrowBelow>
  static bool grow(TreeFit<S>& fit, TreeBuilder& part, OpenNode& root, Worker<S>& worker, const GrowBelow&) {
    return grow_small_subtree(fit, part, root, worker);
  }
};

}  // namespace hornbeam::grow
