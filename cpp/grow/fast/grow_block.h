// Grows all that is below a node as one block: of values (grow/fast/value_block.h) or of ranks
// (grow/fast/rank_block.h).
#pragma once

#include "grow/fast/rank_block.h"
#include "grow/fast/value_block.h"
#include "grow/find_test.h"
#include "grow/tree_builder.h"
#include "grow/tree_fit.h"

namespace hornbeam::grow {

template <Scorer S>
TreeRules rules_of(const TreeFit<S>& fit) {
  const GrowParams& params = fit.params;
  return {params.key,
          static_cast<std::size_t>(params.max_features),
          params.max_depth,
          params.min_samples_split,
          params.min_samples_leaf,
          fit.plan.min_weight,
          fit.least_gain(),
          fit.prototype.stats().weight_unit()};
}

template <Scorer S>
void grow_block(TreeFit<S>& fit, TreeBuilder& part, const OpenNode& root, Worker<S>& worker) {
  ValueBlock& block = worker.block;
  part.counted.start(fit.prototype.stats().weight_unit(), worker.region);
  if (!block.started()) block.start(fit.data, *fit.plan.values, fit.params.features, rules_of(fit));
  part.nodes[static_cast<std::size_t>(root.id)].counted =
      block.grow(fit.rows_of(root), root.path, root.depth, part.counted, worker.poller);
}

template <Scorer S>
void grow_ranks(TreeFit<S>& fit, TreeBuilder& part, const OpenNode& root, Worker<S>& worker) {
  RankBlock& block = worker.ranks;
  part.counted.start(fit.prototype.stats().weight_unit(), worker.region);
  if (!block.started()) block.start(fit.data, *fit.plan.records, fit.params.features, rules_of(fit));
  with_records(fit, root, worker, [&](const auto& records) {
    part.nodes[static_cast<std::size_t>(root.id)].counted =
        block.grow(fit.rows_of(root), records, root.path, root.depth, part.counted, worker.poller);
    return true;
  });
}

}  // namespace hornbeam::grow
