// Pruning: a Tree in, a smaller Tree out, and a log of the cuts as a dict of arrays; also the validation
// errors that pruning uses.
#include "arrays.h"
#include "prune/error_rate.h"
#include "prune/prune.h"
#include "prune/validation.h"
#include "tree/collapse.h"

namespace hornbeam::bindings {

using prune::cost_complexity_path;
using prune::CostComplexityPath;
using prune::prune_cost_complexity;
using prune::prune_pessimistic;
using prune::prune_reduced_error;
using prune::PruneCost;
using prune::PrunedTree;
using prune::PruningLog;
using prune::upper_error_rate;
using prune::validation_sums;
using prune::ValidationSums;
using tree::collapse;
using tree::Tree;

namespace {

PruneCost cost_of(bool by_error) {
  return by_error ? PruneCost::kError : PruneCost::kImpurity;
}

nb::dict to_dict(PruningLog log) {
  nb::dict result;
  result["node"] = to_numpy(std::move(log.node));
  result["nodes_removed"] = to_numpy(std::move(log.nodes_removed));
  result["error_before"] = to_numpy(std::move(log.error_before));
  result["error_after"] = to_numpy(std::move(log.error_after));
  return result;
}

nb::dict to_dict(CostComplexityPath path) {
  nb::dict result;
  result["alpha"] = to_numpy(std::move(path.alpha));
  result["cost"] = to_numpy(std::move(path.cost));
  result["n_leaves"] = to_numpy(std::move(path.n_leaves));
  result["removed_at"] = to_numpy(std::move(path.removed_at));
  result["log"] = to_dict(std::move(path.log));
  return result;
}

nb::tuple to_tuple(PrunedTree pruned) {
  return nb::make_tuple(nb::cast(std::move(pruned.tree)), to_dict(std::move(pruned.log)));
}

}  // namespace

void bind_prune(nb::module_& module) {
  module.def(
      "collapse",
      [](const Tree& tree, const Array1<NodeId>& nodes) {
        return without_lock([&](Cancel&) { return collapse(tree, span_of(nodes)); });
      },
      nb::arg("tree"), nb::arg("nodes"),
      "The tree with these nodes turned into leaves, renumbered breadth-first.");
  module.def(
      "cost_complexity_path",
      [](const Tree& tree, bool by_error) {
        return to_dict(without_lock(
            [&](Cancel& cancel) { return cost_complexity_path(tree, cost_of(by_error), cancel); }));
      },
      nb::arg("tree"), nb::arg("by_error"),
      "The nested sequence of pruned trees, the whole tree first: alpha, cost and n_leaves per step;\n"
      "removed_at, per node the step from which it is no inner node (0 at leaves); and the log of the cuts.");
  module.def(
      "prune_cost_complexity",
      [](const Tree& tree, double ccp_alpha, bool by_error) {
        return without_lock([&](Cancel& cancel) {
          return prune_cost_complexity(tree, ccp_alpha, cost_of(by_error), cancel);
        });
      },
      nb::arg("tree"), nb::arg("ccp_alpha"), nb::arg("by_error") = false,
      "The smallest tree of the sequence whose alpha is at most ccp_alpha; 0 prunes nothing.");
  module.def(
      "prune_reduced_error",
      [](const Tree& tree, const Array1<double>& cost_as_leaf) {
        return to_tuple(without_lock(
            [&](Cancel& cancel) { return prune_reduced_error(tree, span_of(cost_as_leaf), cancel); }));
      },
      nb::arg("tree"), nb::arg("cost_as_leaf"),
      "Cuts, one by one, the node whose removal lowers the validation error most; returns the tree and the\n"
      "log. `cost_as_leaf` holds, per node, the error on the validation rows that reach it were it a leaf.");
  module.def(
      "prune_pessimistic",
      [](const Tree& tree, double confidence) {
        return to_tuple(
            without_lock([&](Cancel& cancel) { return prune_pessimistic(tree, confidence, cancel); }));
      },
      nb::arg("tree"), nb::arg("confidence") = 0.25,
      "Cuts, bottom-up, where a leaf has no larger pessimistic error than its branch (C4.5); returns the "
      "tree\n"
      "and the log.");
  module.def(
      "validation_sums",
      [](const Tree& tree, const Array1<NodeId>& leaves, const std::optional<Array1<std::int32_t>>& classes,
         const std::optional<Array1<double>>& reals, const std::optional<Array1<double>>& weights) {
        ValidationSums sums = without_lock([&](Cancel& cancel) {
          return validation_sums(tree, span_of(leaves), span_of(classes), span_of(reals), span_of(weights),
                                 cancel);
        });
        nb::dict result;
        result["error"] = to_numpy(std::move(sums.error));
        result["squared_weight_error"] = to_numpy(std::move(sums.squared_weight_error));
        result["squared_weight_square"] = to_numpy(std::move(sums.squared_weight_square));
        return result;
      },
      nb::arg("tree"), nb::arg("leaves"), nb::kw_only(), nb::arg("classes").none(), nb::arg("reals").none(),
      nb::arg("weights").none(),
      "What each node would cost as a leaf on the rows that reach it, given the leaf of each row: with "
      "weights\n"
      "w and errors e, the sums of w e, w^2 e and w^2 e^2. Targets are row by row.");
  module.def("upper_error_rate", &upper_error_rate, nb::arg("errors"), nb::arg("weight"),
             nb::arg("confidence"),
             "The error rate that pessimistic pruning assumes for a leaf: the upper confidence limit of a\n"
             "binomial rate.");
}

}  // namespace hornbeam::bindings
