// Numbers of inner nodes that follow exactly, or nearly, from those of their two children, so that the files of large
// ensembles can leave them out.
//
//   sums        whole numbers: exactly the sum of the children's
//   means       the weighted mean of the children's means
//   impurities  of squared error: what is left in the children, and how far their means are from the node's
//
// The last two differ from the true numbers by some units in the last place, and files store these differences. All
// arithmetic is IEEE, with a rounding for each operation, so files give the same numbers everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hornbeam::tree {

// Binary trees that lie end to end, their nodes breadth-first: the children of an inner node lie side by side,
// behind those of the inner nodes before it in its tree. What does not fit is a std::invalid_argument.
struct TreesInARow {
  std::span<const bool> is_inner;             // of each node
  std::span<const std::int64_t> node_counts;  // of each tree
};

std::vector<double> sums_of_leaves(const TreesInARow& trees, std::span<const double> at_leaves);

// From numbers of all nodes to the steps of inner ones, in the order of the nodes.
std::vector<std::int64_t> steps_to_means(const TreesInARow& trees, std::span<const double> means,
                                         std::span<const double> weights);
std::vector<std::int64_t> steps_to_impurities(const TreesInARow& trees, std::span<const double> impurities,
                                              std::span<const double> means, std::span<const double> weights);

// From numbers of leaves and steps of inner nodes to the numbers of all.
std::vector<double> means_by_steps(const TreesInARow& trees, std::span<const double> at_leaves,
                                   std::span<const std::int64_t> steps, std::span<const double> weights);
std::vector<double> impurities_by_steps(const TreesInARow& trees, std::span<const double> at_leaves,
                                        std::span<const std::int64_t> steps, std::span<const double> means,
                                        std::span<const double> weights);

}  // namespace hornbeam::tree
