// Grows one tree: takes the next open node from the frontier, carries out its test, describes the children and
// finds their tests, until no node is open. A node that a fast lane takes (grow/fast/lanes.h) is left to it. With
// several threads, smaller nodes become pieces, each of which one thread grows to the end.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "grow/describe.h"
#include "grow/divide_rows.h"
#include "grow/fast/lanes.h"
#include "grow/find_test.h"
#include "grow/frontier.h"
#include "grow/inherit.h"
#include "grow/tree_builder.h"
#include "grow/tree_fit.h"

namespace hornbeam::grow {

template <Scorer S>
class TreeGrower {
 public:
  TreeGrower(const GrowTask& task, const S& scorer, std::span<Entry> entries) : fit_(task, scorer, entries) {}

  Tree grow() {
    parts_.emplace_back();
    Frontier frontier(fit_.plan.growth);
    OpenNode root;
    root.id = parts_[0].add(fit_.value_size());
    root.end = fit_.entries.size();
    Worker<S>& worker = *fit_.workers[0];
    describe(fit_, parts_[0], root, worker, worker.child_cells[0]);
    fit_.root_weight = parts_[0].nodes[0].weight;
    admit(parts_[0], frontier, root, worker, worker.child_cells[0]);
    grow_all(parts_[0], frontier, worker);
    grow_pieces();
    for (TreeBuilder& part : parts_) set_thresholds(fit_.data, part);
    return assemble(fit_.data, parts_, fit_.target.n_outputs, fit_.n_values, fit_.categories, worker.region);
  }

 private:
  using Element = typename S::Element;

  // ---- the loop

  // A test with too many branches for what the limits have left is skipped: the next may have fewer.
  void grow_all(TreeBuilder& part, Frontier& frontier, Worker<S>& worker) {
    const auto grow_below = [this](TreeBuilder& same_part, OpenNode& root, Worker<S>& same_worker) {
      grow_from(same_part, root, same_worker);
    };
    while (auto node = frontier.next()) {
      if (!has_room_for(2)) break;
      if (node->is_tested()) {
        if (has_room_for(node->split.n_branches)) expand(part, frontier, *node, worker);
      } else if (!grow_by_lane(fit_, part, *node, worker, grow_below)) {
        reopen(part, frontier, *node, worker);
      }
    }
  }

  // Whether the limits allow a test with that many branches: it adds a node for each, and one leaf less. Under a
  // limit the tree grows in one piece, so the first part has all nodes.
  bool has_room_for(std::int64_t n_branches) const {
    if (!fit_.plan.limited) return true;
    const GrowParams& params = fit_.params;
    const auto n_nodes = static_cast<std::int64_t>(parts_[0].nodes.size());
    const auto n_leaves = n_nodes - static_cast<std::int64_t>(parts_[0].splits.size());
    return (params.max_leaf_nodes <= 0 || n_leaves + n_branches - 1 <= params.max_leaf_nodes) &&
           (params.max_nodes <= 0 || n_nodes + n_branches <= params.max_nodes);
  }

  // Carries out a node's test and opens its children.
  void expand(TreeBuilder& part, Frontier& frontier, OpenNode& node, Worker<S>& worker) {
    const bool learns_gain = kShowsAnother<S> && !fit_.leaves_out_rows(node.split);
    divide_rows(fit_, node, worker);
    const NodeId first = add_children(part, node, worker);
    const std::span<OpenNode> children = worker.children;
    const GrowParams& params = fit_.params;
    if (!params.monotonic.empty()) {
      const ConstrainedValues values{fit_.value_size(), fit_.target.is_classification()};
      constrain(part, values, params.monotonic[static_cast<std::size_t>(node.split.feature)], children);
    }
    if (spends_feature(fit_.categories, fit_.data, node.split)) spend_feature(node, children);
    const auto is_open = [this](const OpenNode& child) { return !is_leaf(child); };
    if (worker.subtree.started() && std::ranges::any_of(children, is_open)) divide_orders(node, worker);
    if (learns_gain) node.gain = gain_by_children(part, node.id, first, children.size());
    record_test(part, node, first, children.size());
    // The frontier is a stack when growing depth-first: the first child goes in last.
    for (std::size_t i = 0; i < children.size(); ++i) {
      const std::size_t b = fit_.plan.growth == Growth::kDepthFirst ? children.size() - 1 - i : i;
      admit(part, frontier, children[b], worker, worker.child_cells[b]);
    }
  }

  // Adds a described node per branch, to the tree and to worker.children; returns the first.
  NodeId add_children(TreeBuilder& part, const OpenNode& node, Worker<S>& worker) {
    const auto n_branches = static_cast<std::size_t>(node.split.n_branches);
    std::vector<OpenNode>& children = worker.children;
    children.clear();
    children.resize(n_branches);
    if (worker.child_cells.size() < n_branches) worker.child_cells.resize(n_branches);
    const auto first = static_cast<NodeId>(part.nodes.size());
    for (std::size_t b = 0; b < n_branches; ++b) {
      OpenNode& child = children[b];
      child.id = part.add(fit_.value_size());
      child.begin = node.begin + worker.branch_begin[b];
      child.end = node.begin + worker.branch_begin[b + 1];
      child.portions = node.portions;
      child.depth = node.depth + 1;
      child.path = child_path(node.path, b);
      child.lower = node.lower;
      child.upper = node.upper;
      child.spent = node.spent;
      if (child.n_rows() > 0) {
        describe(fit_, part, child, worker, worker.child_cells[b]);
      } else {
        describe_empty(part, fit_.value_size(), child, node);
      }
    }
    return first;
  }

  void divide_orders(const OpenNode& node, Worker<S>& worker) {
    worker.poller.poll(node.n_rows() * fit_.params.features.size());
    if (worker.branch_begin.size() == 3) {
      worker.subtree.divide_orders(node.begin, node.end, worker.branch_begin[1]);
    } else {
      worker.subtree.divide_orders(node.begin, node.end, worker.branch_begin);
    }
  }

  static void record_test(TreeBuilder& part, OpenNode& node, NodeId first, std::size_t n_branches) {
    NodeRecord& record = part.nodes[static_cast<std::size_t>(node.id)];
    record.first_child = first;
    record.gain = node.gain;
    record.missing_branch = node.split.missing_branch;
    if (record.missing_branch < 0) record.missing_branch = heaviest_branch(part, first, n_branches);
    record.split = static_cast<std::int32_t>(part.splits.size());
    part.splits.push_back(std::move(node.split));
  }

  bool is_leaf(const OpenNode& node) const { return node.pure || fit_.ends_at(node.n_counted, node.depth); }

  // Opens a new node, unless it becomes a piece, or a lane will grow it when its turn comes.
  void admit(TreeBuilder& part, Frontier& frontier, OpenNode& node, Worker<S>& worker,
             std::vector<Element>& cell) {
    if (is_leaf(node)) return;
    if (&part == &parts_[0] && becomes_piece(node)) {
      pieces_.push_back(node);
    } else if (some_lane_starts(fit_, part, node, worker)) {
      frontier.push(std::move(node));
    } else {
      open(part, frontier, node, worker, cell);
    }
  }

  // Finds the node's test and puts it on the frontier; a node without a test stays a leaf.
  void open(TreeBuilder& part, Frontier& frontier, OpenNode& node, Worker<S>& worker,
            std::vector<Element>& cell) {
    if (!fit_.target.is_classification()) add_up(worker.scorer, fit_.rows_of(node), cell);
    const NodeRecord& record = part.nodes[static_cast<std::size_t>(node.id)];
    const std::optional<double> score_gained = find_test(fit_, record, node, worker, cell);
    if (!score_gained) return;
    if constexpr (!kShowsAnother<S>) {
      node.gain = std::max(0.0, *score_gained * fit_.prototype.score_unit());
    } else if (fit_.params.min_impurity_decrease > 0 || fit_.plan.growth == Growth::kBestFirst ||
               fit_.leaves_out_rows(node.split)) {
      node.gain = shown_gain(fit_, node, worker);
    }
    if (fit_.least_gain().is_more_than(node.gain)) {
      node.split = {};
      return;
    }
    if (fit_.leaves_out_rows(node.split)) node.split.missing_branch = heavier_branch(fit_, node, worker);
    frontier.push(std::move(node));
  }

  void reopen(TreeBuilder& part, Frontier& frontier, OpenNode& node, Worker<S>& worker) {
    add_up(worker.scorer, fit_.rows_of(node), worker.child_cells[0]);
    open(part, frontier, node, worker, worker.child_cells[0]);
  }

  // Grows everything below a described node.
  void grow_from(TreeBuilder& part, OpenNode& root, Worker<S>& worker) {
    Frontier frontier(fit_.plan.growth);
    add_up(worker.scorer, fit_.rows_of(root), worker.child_cells[0]);
    admit(part, frontier, root, worker, worker.child_cells[0]);
    grow_all(part, frontier, worker);
  }

  // ---- pieces on several threads

  bool becomes_piece(const OpenNode& node) const {
    return fit_.params.n_threads > 1 && fit_.plan.growth != Growth::kBestFirst && !fit_.plan.limited &&
           !fit_.in_pieces && node.n_rows() <= kPieceRows && fit_.entries.size() > kPieceRows;
  }

  void grow_pieces() {
    if (pieces_.empty()) return;
    fit_.in_pieces = true;
    // Large ones first, so that no thread starts a long one last.
    std::stable_sort(pieces_.begin(), pieces_.end(),
                     [](const OpenNode& a, const OpenNode& b) { return a.n_rows() > b.n_rows(); });
    parts_.resize(1 + pieces_.size());
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      parts_[0].nodes[static_cast<std::size_t>(pieces_[i].id)].part = static_cast<std::int32_t>(i) + 1;
    }
    parallel_for(
        pieces_.size(), fit_.params.n_threads,
        [&](std::size_t i, int w) {
          grow_piece(parts_[i + 1], pieces_[i], *fit_.workers[static_cast<std::size_t>(w)]);
        },
        &fit_.cancel);
  }

  // The piece begins with a copy of its root.
  void grow_piece(TreeBuilder& part, OpenNode root, Worker<S>& worker) {
    const std::size_t size = fit_.value_size();
    const auto value = parts_[0].values.begin() + static_cast<std::ptrdiff_t>(root.id * size);
    const NodeId copy = part.add(size);
    part.nodes[0] = parts_[0].nodes[static_cast<std::size_t>(root.id)];
    part.nodes[0].part = -1;
    std::copy_n(value, size, part.values.begin());
    root.id = copy;
    grow_from(part, root, worker);
  }

  TreeFit<S> fit_;
  std::vector<TreeBuilder> parts_;
  std::vector<OpenNode> pieces_;  // of the first part, for any thread
};

template <class S>
GrownTree grow_with(const GrowTask& task, S scorer) {
  const Sample& sample = task.sample;
  Buffer<Entry> entries(sample.rows.size(), &task.params.regions[0]);
  std::size_t n_entries = 0;
  GrownTree grown;
  for (std::size_t i = 0; i < sample.rows.size(); ++i) {
    const RowId row = sample.rows[i];
    if constexpr (requires { scorer.stats().fixed_weight(row); }) {
      if (scorer.stats().fixed_weight(row) == 0) {
        ++grown.n_weightless;
        continue;
      }
    }
    Entry& entry = entries[n_entries++];
    entry = {row, S::Stats::payload_of(task.target, row, sample.times(i))};
    if (task.params.missing == Missing::kFractional) entry.payload = 1u << kPortionBits;
  }
  grown.tree = TreeGrower<S>(task, scorer, entries.span().first(n_entries)).grow();
  return grown;
}

}  // namespace hornbeam::grow
