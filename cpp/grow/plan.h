// Which methods a tree is grown by, and the numbers they need: decided once, before the first node. Each lane of
// grow/fast says itself whether it takes the task. The methods find the same tests and differ in what they cost.
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
  bool limited = false;          // the number of leaves or nodes is, so every test has to fit what is left
  std::int64_t min_weight = 0;   // of a branch, in fixed point
  std::size_t subtree_rows = 0;  // nodes of at most so many rows are grown as subtrees (grow/fast/subtree.h),
  bool keeps_order = false;      // with their features in order,
  bool grows_small_subtrees =
      false;                  // and small ones below them as small subtrees (grow/fast/small_subtree.h);
  bool grows_blocks = false;  // or else as blocks, to the end (grow/fast/value_block.h);
  bool grows_random = false;  // or as nodes of random tests (grow/fast/grow_random_nodes.h);
  bool grows_ranks = false;   // nodes that are worth it grow as blocks of ranks (grow/fast/rank_block.h),
  Code most_codes = 0;        // which depends on how many codes a feature has
  std::vector<FeatureId> stand_ins;   // what surrogates may ask for
  const RowValues* values = nullptr;  // random tests compare values by row; null: codes
  const RowRecords* records =
      nullptr;  // best tests are found by groups of values (data/row_records.h); null: by code

  std::unique_ptr<const RowValues> own_values;  // where the caller has not brought them
  std::unique_ptr<const RowRecords> own_records;
};

GrowthPlan plan_growth(const GrowTask& task, const CriterionTraits& criterion, std::span<const Entry> entries,
                       CancelPoller& poller);

}  // namespace hornbeam::grow
