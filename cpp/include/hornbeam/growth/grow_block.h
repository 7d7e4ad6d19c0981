// Grows all that is below a node as one block (value_block.h).
#pragma once

#include "hornbeam/branchwork.h"
#include "hornbeam/growth/tree_fit.h"
#include "hornbeam/value_block.h"

namespace hornbeam {

template <Scorer S>
void grow_block(TreeFit<S>& fit, Branchwork& part, const OpenNode& root, Worker<S>& worker) {
  const GrowParams& params = fit.params;
  ValueBlock& block = worker.block;
  const double row_weight = fit.prototype.stats().weight_unit();
  part.counted.start(row_weight, worker.region);
  if (!block.started()) {
    block.start(fit.data, *fit.plan.values, params.features,
                {params.key, static_cast<std::size_t>(params.max_features), params.max_depth,
                 params.min_samples_split, fit.least_gain(), row_weight});
  }
  part.nodes[static_cast<std::size_t>(root.id)].counted =
      block.grow(fit.rows_of(root), root.path, root.depth, part.counted, worker.poller);
}

}  // namespace hornbeam
