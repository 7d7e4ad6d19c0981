// The values of a boosted tree's leaves, from the sums of their rows, and those of its inner nodes.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

#include "boost/grow/boost_grower.h"
#include "boost/losses.h"
#include "tree/tree.h"

namespace hornbeam::boost {

// Values are rounded once, here, so that every way to predict adds the same numbers (docs/decisions).
inline double rounded(double value) {
  return static_cast<double>(static_cast<float>(value));
}

// Newton's step, before the learning rate. Without a loss the derivatives came from outside.
double newton_value(const BoostParams& params, const LeafSums& sums, BoostGrower::Bounds bounds,
                    const std::optional<Loss>& loss);

// Gives the inner nodes the weight and the mean value of the leaves below them.
void describe_inner_nodes(TreeBuilder& work);

// Refitting sums rows in blocks of this size.
inline constexpr std::size_t kRowsPerRefitBlock = 1 << 14;

// The tree with new values from other rows: `sums` and `sizes` are those of the rows in each leaf, indexed by
// node, and `value_of_leaf` returns a leaf's value before the learning rate. A leaf without rows gets 0.
tree::Tree refitted(const tree::Tree& tree, std::span<const LeafSums> sums,
                    std::span<const std::int64_t> sizes, double learning_rate,
                    const std::function<double(std::size_t)>& value_of_leaf);

}  // namespace hornbeam::boost
