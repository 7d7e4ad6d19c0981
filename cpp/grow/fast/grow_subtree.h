// The lane of subtrees: copies a node's rows together (grow/fast/subtree.h) and lets the grower go on from there, node
// by node.
#pragma once

#include <algorithm>
#include <cmath>

#include "grow/tree_builder.h"
#include "grow/tree_fit.h"

namespace hornbeam::grow {

// A guess at how many levels will grow below a node.
template <Scorer S>
double levels_below(const TreeFit<S>& fit, const OpenNode& node) {
  const GrowParams& params = fit.params;
  const double most = params.max_depth > 0 ? params.max_depth - node.depth : kInfinity;
  const auto least_rows =
      static_cast<double>(std::max(params.min_samples_split, 2 * params.min_samples_leaf));
  return std::min(most, std::log2(static_cast<double>(node.n_rows()) / least_rows) + 1);
}

template <Scorer S>
struct SubtreeLane {
  // In depth-first growth a subtree is finished before the next one starts. Reading all features pays off if
  // a few levels will use them.
  static bool starts(const TreeFit<S>& fit, const TreeBuilder&, const OpenNode& node,
                     const Worker<S>& worker) {
    return !worker.subtree.started() && fit.plan.growth == Growth::kDepthFirst &&
           node.n_rows() <= fit.plan.subtree_rows && levels_below(fit, node) >= 2;
  }

  template <class GrowBelow>
  static bool grow(TreeFit<S>& fit, TreeBuilder& part, OpenNode& root, Worker<S>& worker,
                   const GrowBelow& grow_below) {
    const GrowthPlan& plan = fit.plan;
    const std::vector<FeatureId>& features = fit.params.features;
    if (plan.values != nullptr) {
      worker.subtree.start(*plan.values, features, fit.rows_of(root), root.begin, worker.poller);
    } else {
      worker.subtree.start(fit.data, plan.records, features, fit.rows_of(root), root.begin, plan.keeps_order,
                           worker.poller);
    }
    grow_below(part, root, worker);
    worker.subtree.finish();
    return true;
  }
};

}  // namespace hornbeam::grow
