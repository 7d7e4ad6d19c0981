#include "boost/leaf_values.h"

#include <algorithm>
#include <cmath>

namespace hornbeam::boost {

using grow::NodeRecord;

// A leaf whose loss has no curvature left gives Newton's step no length: it says nothing.
double newton_value(const BoostParams& params, const LeafSums& sums, BoostGrower::Bounds bounds,
                    const std::optional<Loss>& loss) {
  const double size = std::max(0.0, std::abs(sums.gradient) - params.l1_regularization);
  const double curvature = sums.hessian + params.l2_regularization;
  const double length = size == 0 || !(curvature > 0) ? 0.0 : size / curvature;
  const double step = sums.gradient > 0 ? -length : length;
  return std::clamp(loss ? loss->shortened(step, sums) : step, bounds.lower, bounds.upper);
}

// An inner node says what its rows get on average; children come after their parents, so the walk is
// backwards.
void describe_inner_nodes(TreeBuilder& work) {
  for (std::size_t id = work.nodes.size(); id-- > 0;) {
    NodeRecord& node = work.nodes[id];
    if (node.split < 0) continue;
    const auto left = static_cast<std::size_t>(node.first_child);
    const double left_weight = work.nodes[left].weight;
    const double right_weight = work.nodes[left + 1].weight;
    node.weight = left_weight + right_weight;
    work.values[id] =
        rounded((left_weight * work.values[left] + right_weight * work.values[left + 1]) / node.weight);
  }
}

}  // namespace hornbeam::boost
