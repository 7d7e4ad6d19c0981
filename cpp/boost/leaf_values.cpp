#include "boost/leaf_values.h"

#include <algorithm>
#include <cmath>

namespace hornbeam::boost {

using grow::NodeRecord;

// If the loss has no curvature left in a leaf, Newton's step is undefined; the leaf gets the value 0.
double newton_value(const BoostParams& params, const LeafSums& sums, BoostGrower::Bounds bounds,
                    const std::optional<Loss>& loss) {
  const double size = std::max(0.0, std::abs(sums.gradient) - params.l1_regularization);
  const double curvature = sums.hessian + params.l2_regularization;
  const double length = size == 0 || !(curvature > 0) ? 0.0 : size / curvature;
  const double step = sums.gradient > 0 ? -length : length;
  return std::clamp(loss ? loss->shortened(step, sums) : step, bounds.lower, bounds.upper);
}

// An inner node has the mean value of its rows; children come after their parents, so the walk is backwards.
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

tree::Tree refitted(const tree::Tree& tree, std::span<const LeafSums> sums,
                    std::span<const std::int64_t> sizes, double learning_rate,
                    const std::function<double(std::size_t)>& value_of_leaf) {
  tree::Tree out = tree;
  for (std::size_t node = 0; node < sizes.size(); ++node)
    out.n_samples[node] = static_cast<decltype(out.n_samples)::value_type>(sizes[node]);
  // Children come after their parents, so the walk is backwards.
  for (std::size_t node = tree.n_nodes(); node-- > 0;) {
    if (tree.first_child[node] == kNoChild) {
      out.value[node] = rounded(learning_rate * (sizes[node] == 0 ? 0.0 : value_of_leaf(node)));
      out.weight[node] = sums[node].weight;
      continue;
    }
    const auto left = static_cast<std::size_t>(tree.first_child[node]);
    out.n_samples[node] = out.n_samples[left] + out.n_samples[left + 1];
    out.weight[node] = out.weight[left] + out.weight[left + 1];
    const double total = out.weight[left] * out.value[left] + out.weight[left + 1] * out.value[left + 1];
    out.value[node] = out.weight[node] > 0 ? rounded(total / out.weight[node]) : 0.0;
  }
  return out;
}

}  // namespace hornbeam::boost
