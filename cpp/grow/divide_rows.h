// Sends a node's rows to the branches of its test; rows that lack the test's feature follow the policy for missing
// values.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "grow/tree_builder.h"
#include "grow/tree_fit.h"
#include "split/partition.h"
#include "split/portions.h"

namespace hornbeam::grow {

using data::codes_at_or_below;
using split::follow_surrogates;
using split::kNoBranch;
using split::kNoneOfMany;
using split::mark_branches;
using split::mark_missing;
using split::partition_rows;
using split::share_out;

// The branch of each row of a tested node, kNoBranch for those that lack the feature.
template <Scorer S>
std::span<std::uint8_t> mark_rows(TreeFit<S>& fit, const OpenNode& node, Worker<S>& worker) {
  worker.branches.grow_to(node.n_rows());
  const std::span<std::uint8_t> branches(worker.branches.data(), node.n_rows());
  mark_branches(fit.rows_of(node), fit.data.column(node.split.feature), node.split, fit.categories, branches,
                worker.region);
  return branches;
}

// The branch with more of the weight of the rows that have the feature; the first of equals.
template <Scorer S>
std::int32_t heavier_branch(TreeFit<S>& fit, const OpenNode& node, Worker<S>& worker) {
  if (const auto& weights = node.split.branch_weights; !weights.empty()) {
    return static_cast<std::int32_t>(std::ranges::max_element(weights) - weights.begin());
  }
  const std::span<const Entry> rows = fit.rows_of(node);
  const std::span<const std::uint8_t> branches = mark_rows(fit, node, worker);
  std::array<std::int64_t, 2> weight{};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (branches[i] != kNoBranch) weight[branches[i]] += fit.prototype.stats().entry_weight(rows[i]);
  }
  return weight[1] > weight[0] ? 1 : 0;
}

// The same for a test that has been carried out, by the weight of all rows.
inline std::int32_t heaviest_branch(const TreeBuilder& part, NodeId first, std::size_t n_branches) {
  std::size_t heaviest = 0;
  for (std::size_t b = 1; b < n_branches; ++b) {
    const auto weight = [&](std::size_t of) {
      return part.nodes[static_cast<std::size_t>(first) + of].weight;
    };
    if (weight(b) > weight(heaviest)) heaviest = b;
  }
  return static_cast<std::int32_t>(heaviest);
}

// Moves the rows that lack the test's feature behind the others; they will belong to no child.
template <Scorer S>
void leave_out_missing(TreeFit<S>& fit, OpenNode& node, Worker<S>& worker) {
  const std::span<Entry> rows = fit.rows_of(node);
  worker.branches.grow_to(rows.size());
  const std::span<std::uint8_t> branches(worker.branches.data(), rows.size());
  mark_missing(rows, fit.data.column(node.split.feature), branches, worker.region);
  std::size_t n_known = 0;
  if (worker.subtree.started()) {
    n_known = worker.subtree.divide_rows(rows, node.begin, branches);
    worker.subtree.divide_orders(node.begin, node.end, n_known);
  } else {
    worker.scratch.grow_to(rows.size());
    n_known = partition_rows(rows, worker.scratch.data(), branches);
  }
  node.end = node.begin + n_known;
  node.split.n_missing = 0;
}

// Sends a portion of every row that lacks the test's feature down each branch. The children's rows get a list of
// their own.
template <Scorer S>
void share_out_rows(TreeFit<S>& fit, OpenNode& node, Worker<S>& worker) {
  const std::span<const Entry> rows = fit.rows_of(node);
  std::vector<std::uint32_t> branches(rows.size());
  mark_branches(rows, fit.data.column(node.split.feature), node.split, fit.categories, branches,
                worker.region);
  std::vector<std::int64_t> weights(worker.branch_begin.size() - 1, 0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (branches[i] != kNoneOfMany) weights[branches[i]] += fit.prototype.stats().entry_weight(rows[i]);
  }
  auto divided =
      std::make_shared<std::vector<Entry>>(share_out(rows, branches, weights, worker.branch_begin));
  worker.poller.poll(4 * divided->size());
  node.begin = 0;
  node.end = divided->size();
  node.portions = std::move(divided);
}

// Finds tests that agree with the node's; leaves the branch of each row in worker.branches.
template <Scorer S>
void find_surrogates(TreeFit<S>& fit, OpenNode& node, Worker<S>& worker) {
  const std::span<const Entry> rows = fit.rows_of(node);
  const std::span<std::uint8_t> branches = mark_rows(fit, node, worker);
  worker.row_weights.resize(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    worker.row_weights[i] = fit.prototype.stats().entry_weight(rows[i]);
  node.split.surrogates = worker.surrogate_finder.find(
      fit.data, fit.plan.stand_ins, node.split.feature, {rows, worker.row_weights, branches},
      static_cast<std::size_t>(fit.params.max_surrogates), worker.poller);
}

template <Scorer S>
std::size_t divide_by_surrogates(TreeFit<S>& fit, OpenNode& node, Worker<S>& worker) {
  const std::span<Entry> rows = fit.rows_of(node);
  const std::span<std::uint8_t> branches(worker.branches.data(), rows.size());
  follow_surrogates(fit.data, node.split.surrogates, node.split.missing_branch, rows, branches);
  if (worker.subtree.started()) return worker.subtree.divide_rows(rows, node.begin, branches);
  worker.scratch.grow_to(rows.size());
  return partition_rows(rows, worker.scratch.data(), branches);
}

// Returns how many rows go to branch 0.
template <Scorer S>
std::size_t divide_in_two(TreeFit<S>& fit, OpenNode& node, Worker<S>& worker) {
  const Column& column = fit.data.column(node.split.feature);
  if (fit.params.missing == Missing::kSurrogate) {
    find_surrogates(fit, node, worker);
    if (node.split.n_missing > 0) return divide_by_surrogates(fit, node, worker);
  }
  if (worker.subtree.started()) {
    return worker.subtree.divide_rows(fit.rows_of(node), node.begin, column, node.split, fit.categories);
  }
  if (fit.plan.values != nullptr) node.split.first_right = codes_at_or_below(column, node.split.threshold);
  return partition_rows(fit.rows_of(node), worker.scratch.data(), column, node.split, fit.categories,
                        worker.region);
}

// Sends the node's rows to its branches and writes into worker.branch_begin where each begins.
template <Scorer S>
void divide_rows(TreeFit<S>& fit, OpenNode& node, Worker<S>& worker) {
  std::vector<std::size_t>& begin = worker.branch_begin;
  begin.resize(static_cast<std::size_t>(node.split.n_branches) + 1);
  if (fit.in_portions() && node.split.n_missing > 0) return share_out_rows(fit, node, worker);
  if (fit.params.missing == Missing::kAvailable && node.split.n_missing > 0)
    leave_out_missing(fit, node, worker);
  const std::span<Entry> rows = fit.rows_of(node);
  if (!worker.subtree.started()) worker.scratch.grow_to(rows.size());
  if (begin.size() == 3) {
    const std::size_t n_left = divide_in_two(fit, node, worker);
    begin = {0, n_left, node.n_rows()};
    return;
  }
  const Column& column = fit.data.column(node.split.feature);
  if (worker.subtree.started()) {
    worker.subtree.divide_rows(rows, node.begin, column, node.split, fit.categories, begin);
  } else {
    partition_rows(rows, worker.scratch.data(), column, node.split, fit.categories, begin, worker.region);
  }
}

}  // namespace hornbeam::grow
