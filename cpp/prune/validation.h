// What every node of a tree would cost as a leaf, on rows that the tree was not grown on: the validation
// error that pruning uses. In: the leaf of each row, its target and its weight. Out: sums per node.
//
// The error e of a row at a node is, averaged over the outputs,
//   for classes, 1 where the node's majority class (the first of equals) is not the row's, else 0;
//   for numbers, the squared distance to the node's value.
// Every row is followed from its leaf up to the root, so the work is rows times depth.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "tree/tree.h"

namespace hornbeam::prune {

using tree::Tree;

// Per node, sums over the validation rows that reach it, from which the mean error and its standard error
// follow.
struct ValidationSums {
  std::vector<double> error;                  // sum of w e
  std::vector<double> squared_weight_error;   // sum of w^2 e
  std::vector<double> squared_weight_square;  // sum of w^2 e^2
};

// Targets are [row, output]; exactly one of `classes` and `reals` is given. A class that the tree does not
// know (-1) is always wrong. Without weights every row counts 1.
ValidationSums validation_sums(const Tree& tree, std::span<const NodeId> leaves,
                               std::span<const std::int32_t> classes, std::span<const double> reals,
                               std::span<const double> weights, Cancel& cancel);

}  // namespace hornbeam::prune
