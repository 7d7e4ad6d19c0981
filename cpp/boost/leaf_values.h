// What the leaves of a boosted tree say, from the sums of their rows; and what its inner nodes then say.
#pragma once

#include <optional>

#include "boost/boost_grower.h"
#include "boost/losses.h"

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

}  // namespace hornbeam::boost
