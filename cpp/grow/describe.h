// Writes a node's weight, impurity and prediction into the growing tree. Also computes a test's gain in the shown
// impurity, where that differs from the criterion's score.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "criterion/facts.h"
#include "grow/tree_builder.h"
#include "grow/tree_fit.h"
#include "split/partition.h"

namespace hornbeam::grow {

using criterion::class_facts;
using criterion::Impurity;
using criterion::NodeFacts;
using criterion::real_facts;
using criterion::row_of;
using data::codes_at_or_below;
using split::add_up;
using split::partition_rows;

// The facts of some rows; for classes, `cell` must be theirs.
template <Scorer S>
NodeFacts facts_of(const TreeFit<S>& fit, std::span<const Entry> rows,
                   const std::vector<typename S::Element>& cell, Worker<S>& worker, double* value) {
  const GrowParams& params = fit.params;
  const Impurity shown = row_of(params.criterion).shown;
  if (!fit.target.is_classification()) {
    NodeFacts facts = real_facts(shown, params.leaf_value, fit.target, rows, value);
    if (fit.in_portions()) facts.weight = std::ldexp(facts.weight, -kPortionBits);
    return facts;
  }
  worker.class_weights.assign(cell.begin(), cell.end());
  for (double& weight : worker.class_weights) weight *= fit.prototype.stats().weight_unit();
  return class_facts(shown, fit.target, worker.class_weights, value, fit.n_values);
}

// Writes a node's facts; for classes, `cell` must be its own. Returns whether the node is pure.
template <Scorer S>
bool write_facts(const TreeFit<S>& fit, TreeBuilder& part, NodeId id, std::span<const Entry> rows,
                 const std::vector<typename S::Element>& cell, Worker<S>& worker) {
  double* value = &part.values[static_cast<std::size_t>(id) * fit.value_size()];
  const NodeFacts facts = facts_of(fit, rows, cell, worker, value);
  NodeRecord& record = part.nodes[static_cast<std::size_t>(id)];
  record.n_samples = static_cast<std::int64_t>(rows.size());
  record.weight = facts.weight;
  record.impurity = facts.impurity;
  return facts.pure;
}

// Writes the node's facts; sets node.pure, node.n_counted and, for classes, its cell.
template <Scorer S>
void describe(TreeFit<S>& fit, TreeBuilder& part, OpenNode& node, Worker<S>& worker,
              std::vector<typename S::Element>& cell) {
  const std::span<const Entry> rows = fit.rows_of(node);
  worker.poller.poll(rows.size());
  if (fit.target.is_classification()) add_up(worker.scorer, rows, cell);
  node.pure = write_facts(fit, part, node.id, rows, cell, worker);
  node.n_counted = static_cast<std::int64_t>(rows.size());
  if (fit.in_portions()) {
    node.n_counted = 0;
    for (const Entry& entry : rows) node.n_counted += entry.payload;
  }
}

// A branch without rows predicts what its parent predicts.
inline void describe_empty(TreeBuilder& part, std::size_t value_size, OpenNode& node,
                           const OpenNode& parent) {
  const auto size = static_cast<std::ptrdiff_t>(value_size);
  std::copy_n(part.values.begin() + parent.id * size, size, part.values.begin() + node.id * size);
  part.nodes[static_cast<std::size_t>(node.id)].impurity =
      part.nodes[static_cast<std::size_t>(parent.id)].impurity;
  node.pure = true;
}

// The decrease of the shown impurity by a test that has been carried out.
inline double gain_by_children(const TreeBuilder& part, NodeId id, NodeId first, std::size_t n_branches) {
  const auto spread = [&](std::size_t at) { return part.nodes[at].weight * part.nodes[at].impurity; };
  double after = 0.0;
  for (std::size_t b = 0; b < n_branches; ++b) after += spread(static_cast<std::size_t>(first) + b);
  return std::max(0.0, spread(static_cast<std::size_t>(id)) - after);
}

// Copies the rows that have a feature into the worker's scratch.
template <Scorer S>
std::span<Entry> known_rows(TreeFit<S>& fit, const OpenNode& node, const Column& column, Worker<S>& worker) {
  const std::span<const Entry> rows = fit.rows_of(node);
  worker.scratch.grow_to(2 * rows.size());
  Entry* end = std::copy_if(rows.begin(), rows.end(), worker.scratch.data(), [&](const Entry& entry) {
    return column.code(entry.row) != column.missing_code();
  });
  return {worker.scratch.data(), end};
}

// The same for a test that has not been carried out yet, over the rows that it was scored on.
template <Scorer S>
double shown_gain(TreeFit<S>& fit, const OpenNode& node, Worker<S>& worker) {
  const Column& column = fit.data.column(node.split.feature);
  worker.scratch.grow_to(2 * node.n_rows());
  std::span<Entry> rows(worker.scratch.data(), node.n_rows());
  if (fit.leaves_out_rows(node.split)) {
    rows = known_rows(fit, node, column, worker);
  } else {
    std::ranges::copy(fit.rows_of(node), rows.begin());
  }
  worker.value.resize(fit.value_size());
  const auto spread = [&](std::span<const Entry> some) {
    if (some.empty()) return 0.0;
    if (fit.target.is_classification()) add_up(worker.scorer, some, worker.branch_cell);
    const NodeFacts facts = facts_of(fit, some, worker.branch_cell, worker, worker.value.data());
    return facts.weight * facts.impurity;
  };
  const double before = spread(rows);
  Split split = node.split;
  if (column.kind == ColumnKind::kNumeric) split.first_right = codes_at_or_below(column, split.threshold);
  std::vector<std::size_t>& begin = worker.branch_begin;
  begin.resize(static_cast<std::size_t>(split.n_branches) + 1);
  Entry* scratch = worker.scratch.data() + rows.size();
  if (split.n_branches == 2) {
    begin = {0, partition_rows(rows, scratch, column, split, fit.categories, worker.region), rows.size()};
  } else {
    partition_rows(rows, scratch, column, split, fit.categories, begin, worker.region);
  }
  double after = 0.0;
  for (std::size_t b = 0; b + 1 < begin.size(); ++b)
    after += spread(rows.subspan(begin[b], begin[b + 1] - begin[b]));
  return std::max(0.0, before - after);
}

}  // namespace hornbeam::grow
