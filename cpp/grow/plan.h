// Which methods grow a tree, and the numbers they need: decided once, before the first node. Each lane of grow/fast
// decides itself whether it takes the task. All methods find the same tests; they differ only in time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "criterion/choice.h"
#include "grow/lane_task.h"

namespace hornbeam::grow {

using criterion::SecondStep;

SecondStep second_step_of(Criterion criterion);

struct GrowthPlan {
  Growth growth = Growth::kDepthFirst;
  bool limited = false;         // the number of leaves or nodes is, so each test must fit into what is left
  std::int64_t min_weight = 0;  // of a branch, in fixed point

  // Which lanes grow nodes, and how.
  std::size_t subtree_rows = 0;  // nodes of at most that many rows grow as subtrees (grow/fast/subtree.h)
  bool keeps_order = false;      // whose features are kept in order
  bool grows_small_subtrees = false;  // grow/fast/small_subtree.h, within subtrees
  bool grows_blocks = false;          // grow/fast/value_block.h
  bool grows_random = false;          // grow/fast/grow_random_nodes.h
  bool grows_ranks = false;           // grow/fast/rank_block.h
  Code most_codes = 0;                // of any feature

  std::vector<FeatureId> stand_ins;     // features that surrogates may test
  const RowValues* values = nullptr;    // random tests compare these values; null: codes
  const RowRecords* records = nullptr;  // best tests are found by groups of values; null: by code

  std::unique_ptr<const RowValues> own_values;  // if the caller has not passed them in
  std::unique_ptr<const RowRecords> own_records;
};

GrowthPlan plan_growth(const GrowTask& task, const CriterionTraits& criterion, std::span<const Entry> entries,
                       CancelPoller& poller);

}  // namespace hornbeam::grow
