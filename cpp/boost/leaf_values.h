// What the leaves of a boosted tree say, from the sums of their rows; and what its inner nodes then say.
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

// Newton's step, before the learning rate. Without a loss, derivatives are from outside.
double newton_value(const BoostParams& params, const LeafSums& sums, BoostGrower::Bounds bounds,
                    const std::optional<Loss>& loss);

// Gives the inner nodes the weights and mean values of what lies below them.
void describe_inner_nodes(TreeBuilder& work);

// New values are found from sums over so many rows at a time.
inline constexpr std::size_t kRowsPerRefitBlock = 1 << 14;

// The tree with new values from other rows: `sums` and `sizes` are those of the rows in each leaf, by node, and
// `value_of_leaf` tells a leaf's value before the learning rate. A leaf without rows says nothing.
tree::Tree refitted(const tree::Tree& tree, std::span<const LeafSums> sums,
                    std::span<const std::int64_t> sizes, double learning_rate,
                    const std::function<double(std::size_t)>& value_of_leaf);

}  // namespace hornbeam::boost
