// Density-estimation trees (Ram and Gray 2011). In: rows without a target. Out: a Tree whose leaves are boxes
// of constant density.
//
// The estimate f is piecewise constant: in a leaf of weight w and volume V it is w / (W V), where W is the
// weight of all rows. Its integrated squared error against the true density is, up to a constant, estimated
// by the sum over the leaves of
//     R(t) = -w^2 / (W^2 V),
// and a node is split where that falls most. Any split at which the two sides differ in density lowers it.
//
// Volumes are measured in units of the bounding box, which keeps them finite in any number of dimensions: the
// value of a node is its density relative to the uniform one over the box, and its impurity is minus that, so
// that weight / W * impurity is R(t), and cost-complexity pruning works as it does for any tree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "tree/tree.h"

namespace hornbeam::density {

using tree::Tree;

struct DensityParams {
  std::int32_t max_depth = 0;  // 0: no limit
  std::int64_t min_samples_split = 2;
  std::int64_t min_samples_leaf = 1;
};

// Columns hold finite numbers that lie in [low, high], low < high, feature by feature. Thresholds lie halfway
// between neighbouring values of a node; ties go to the first feature, then to the lowest threshold.
Tree grow_density_tree(const std::vector<std::span<const double>>& columns, std::span<const double> weights,
                       std::span<const RowId> rows, std::span<const double> low, std::span<const double> high,
                       const DensityParams& params, Cancel& cancel);

}  // namespace hornbeam::density
