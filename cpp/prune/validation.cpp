#include "prune/validation.h"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace hornbeam::prune {

namespace {

void check_rows(const Tree& tree, std::span<const NodeId> leaves, std::size_t n_targets,
                std::size_t n_weights) {
  if (n_targets != leaves.size() * static_cast<std::size_t>(tree.n_outputs) ||
      (n_weights != 0 && n_weights != leaves.size())) {
    throw std::invalid_argument("leaves, targets and weights differ in their number of rows");
  }
  for (const NodeId leaf : leaves) {
    if (leaf < 0 || static_cast<std::size_t>(leaf) >= tree.n_nodes() || !tree.is_leaf(leaf)) {
      throw std::invalid_argument("node " + std::to_string(leaf) + " is not a leaf of the tree");
    }
  }
}

// [node, output]: the class with the largest share, the first of equals.
std::vector<std::int32_t> majorities(const Tree& tree) {
  std::vector<std::int32_t> result;
  result.reserve(tree.n_nodes() * static_cast<std::size_t>(tree.n_outputs));
  for (auto shares = tree.value.begin(); shares != tree.value.end(); shares += tree.n_values) {
    result.push_back(static_cast<std::int32_t>(std::max_element(shares, shares + tree.n_values) - shares));
  }
  return result;
}

// Calls error_at(row, node) for every node on the path of every row and adds up the results.
template <class ErrorAt>
ValidationSums sum_up(const Tree& tree, std::span<const NodeId> leaves, std::span<const double> weights,
                      Cancel& cancel, ErrorAt&& error_at) {
  const std::vector<NodeId> parents = tree.parents();
  const std::vector<double> none(tree.n_nodes(), 0.0);
  ValidationSums sums{none, none, none};
  CancelPoller poller(cancel, true);
  for (std::size_t row = 0; row < leaves.size(); ++row) {
    const double weight = weights.empty() ? 1.0 : weights[row];
    for (NodeId node = leaves[row]; node != kNoChild; node = parents[node]) {
      const double error = error_at(row, node);
      sums.error[node] += weight * error;
      sums.squared_weight_error[node] += weight * weight * error;
      sums.squared_weight_square[node] += weight * weight * error * error;
      poller.poll(1);
    }
  }
  return sums;
}

}  // namespace

ValidationSums validation_sums(const Tree& tree, std::span<const NodeId> leaves,
                               std::span<const std::int32_t> classes, std::span<const double> reals,
                               std::span<const double> weights, Cancel& cancel) {
  check_rows(tree, leaves, classes.size() + reals.size(), weights.size());
  const auto n_outputs = static_cast<std::size_t>(tree.n_outputs);
  if (!classes.empty()) {
    const std::vector<std::int32_t> answers = majorities(tree);
    return sum_up(tree, leaves, weights, cancel, [&](std::size_t row, NodeId node) {
      const std::int32_t* answer = &answers[static_cast<std::size_t>(node) * n_outputs];
      std::size_t wrong = 0;
      for (std::size_t o = 0; o < n_outputs; ++o) wrong += classes[row * n_outputs + o] != answer[o];
      return static_cast<double>(wrong) / static_cast<double>(n_outputs);
    });
  }
  return sum_up(tree, leaves, weights, cancel, [&](std::size_t row, NodeId node) {
    const double* value = &tree.value[static_cast<std::size_t>(node) * tree.value_size()];
    double error = 0.0;
    for (std::size_t o = 0; o < n_outputs; ++o) {
      const double distance = reals[row * n_outputs + o] - value[o];
      error += distance * distance;
    }
    return error / static_cast<double>(n_outputs);
  });
}

}  // namespace hornbeam::prune
