#include "grow/plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "criterion/criteria.h"
#include "grow/fast/groups.h"
#include "grow/fast/random_nodes.h"
#include "grow/fast/rank_block.h"
#include "grow/fast/small_subtree.h"
#include "grow/fast/subtree.h"
#include "grow/fast/value_block.h"

namespace hornbeam::grow {

namespace {

// Slightly less than asked, so that rounding does not refuse a sum that is mathematically equal.
std::int64_t min_weight_in_units(double min_weight, double unit) {
  return static_cast<std::int64_t>(std::ceil(min_weight / unit * (1 - 0x1p-40)));
}

Code most_codes(const GrowTask& task) {
  Code most = 0;
  for (const FeatureId feature : task.params.features)
    most = std::max(most, task.data.column(feature).n_codes);
  return most;
}

// Another layout of the table's rows, which the caller may have passed in.
template <class Rows>
const Rows* rows_as(const Rows* passed, std::unique_ptr<const Rows>& own, const Dataset& data,
                    CancelPoller& poller) {
  if (passed != nullptr) return passed;
  own = std::make_unique<const Rows>(data, poller);
  return own.get();
}

}  // namespace

bool has_lanes() {
#if defined(HORNBEAM_PLAIN)
  return false;
#else
  return true;
#endif
}

SecondStep second_step_of(Criterion criterion) {
  return criterion::row_of(criterion).second_step;
}

GrowthPlan plan_growth(const GrowTask& task, const CriterionTraits& criterion, std::span<const Entry> entries,
                       CancelPoller& poller) {
  const GrowParams& params = task.params;
  GrowthPlan plan;
  plan.limited = params.max_leaf_nodes > 0 || params.max_nodes > 0;
  // Which nodes a limit leaves out must not depend on which branch happens to be visited first.
  plan.growth = plan.limited && params.growth == Growth::kDepthFirst ? Growth::kBestFirst : params.growth;
  plan.min_weight = min_weight_in_units(params.min_weight_leaf, criterion.weight_unit);

  // A constrained feature is no surrogate: in the place of another feature, it could move rows against its constraint.
  std::ranges::copy_if(params.features, std::back_inserter(plan.stand_ins), [&](FeatureId feature) {
    return params.monotonic.empty() || params.monotonic[static_cast<std::size_t>(feature)] == 0;
  });
  if (!has_lanes() || criterion.needs_rows) return plan;

  plan.most_codes = most_codes(task);
  const bool has_second_step = second_step_of(params.criterion) != SecondStep::kNone;
  LaneTask lane{task, criterion, entries, plan.growth, plan.most_codes, has_second_step};
  if (RandomBuffers::reads_values(lane)) {
    plan.values = rows_as(params.row_values, plan.own_values, task.data, poller);
    if (!RandomBuffers::can_read(*plan.values, params.features)) plan.values = nullptr;
  }
  lane.values = plan.values;
  if (takes_groups(lane)) plan.records = rows_as(params.records, plan.own_records, task.data, poller);
  lane.records = plan.records;
  lane.subtree_rows = plan.subtree_rows = Subtree::rows_for(lane);
  plan.keeps_order = Subtree::keeps_order_for(lane);
  plan.grows_blocks = ValueBlock::takes(lane);
  plan.grows_random = RandomBuffers::takes(lane);
  if (plan.grows_blocks || plan.grows_random) plan.subtree_rows = RandomBuffers::rows_for(params);
  plan.grows_ranks = RankBlock::takes(lane);
  if (plan.grows_ranks && !RankBlock::grows_within_subtrees(lane))
    plan.subtree_rows = std::min(plan.subtree_rows, RankBlock::rows_beside(lane));
  plan.grows_small_subtrees = takes_small_subtrees(lane);
  return plan;
}

}  // namespace hornbeam::grow
