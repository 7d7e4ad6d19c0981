#include "grow/plan.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "criterion/table.h"
#include "grow/fast/random_nodes.h"
#include "grow/fast/rank_block.h"
#include "grow/fast/subtree.h"

namespace hornbeam::grow {

namespace {

// Built without them (cmake -DHORNBEAM_PLAIN=ON), every tree grows by the slow and obvious way: the same trees.
#if defined(HORNBEAM_PLAIN)
constexpr bool kHasFastWays = false;
#else
constexpr bool kHasFastWays = true;
#endif

// Keeping so many features in order costs about as much as sorting one when it is tried.
constexpr std::size_t kOrdersPerTry = 12;
// Where so many features wait for each that is tried, looking at groups costs less than keeping orders.
constexpr std::size_t kFeaturesPerTry = 3;

// Slightly less than asked, so that a sum that is equal on paper passes.
std::int64_t min_weight_in_units(double min_weight, double unit) {
  return static_cast<std::int64_t>(std::ceil(min_weight / unit * (1 - 0x1p-40)));
}

Code most_codes(const GrowTask& task) {
  Code most = 0;
  for (const FeatureId feature : task.params.features)
    most = std::max(most, task.data.column(feature).n_codes);
  return most;
}

// Where all features have few codes, larger nodes count their rows into cells and need no order.
std::size_t rows_worth_ordering(const GrowTask& task, int cell_size) {
  constexpr std::size_t kAlways = 4096;
  return std::max(kAlways, 2 * std::size_t{most_codes(task)} * static_cast<std::size_t>(cell_size));
}

std::size_t rows_of_subtrees(const GrowTask& task, int cell_size, bool by_values) {
  const GrowParams& params = task.params;
  // A subtree's lists of places have no room for a row that multiplies.
  if (params.missing == Missing::kFractional) return 0;
  std::size_t rows = std::min(params.subtree_rows, Subtree::most_rows(params.features.size()));
  rows = std::min(rows, rows_worth_ordering(task, cell_size));
  if (params.n_threads > 1) rows = std::min(rows, kPieceRows);
  if (by_values) rows = std::min(rows, Subtree::most_rows_of_values(params.features.size()));
  return rows;
}

// Rows as the user counts them, with their multiplicity (class counts only: criterion/stats.h).
std::int64_t count_rows(std::span<const Entry> entries) {
  std::int64_t count = 0;
  for (const Entry& entry : entries) count += entry.payload & 0xff;
  return count;
}

bool all_have_values(const RowValues& values, std::span<const FeatureId> features) {
  return std::ranges::all_of(features, [&](FeatureId feature) { return values.has(feature); });
}

// Blocks look at a node of any size; with several threads, one is a piece. (Tests ask for less.)
std::size_t rows_of_blocks(const GrowParams& params) {
  const bool as_many_as_there_are = params.n_threads <= 1 && params.subtree_rows == GrowParams{}.subtree_rows;
  return as_many_as_there_are ? kMaxRows : std::min(params.subtree_rows, kPieceRows);
}

bool each_row_once(std::span<const Entry> entries) {
  return std::ranges::all_of(entries, [](const Entry& entry) { return (entry.payload & 0xff) == 1; });
}

bool each_row_at_most(std::uint32_t times, std::span<const Entry> entries) {
  return std::ranges::all_of(entries, [=](const Entry& entry) { return (entry.payload & 0xff) <= times; });
}

// Where larger nodes count by columns of groups and smaller ones become blocks, subtrees are for what is
// left: nodes too sparse for columns, of which a cache line would have less than two rows, or too few rows
// for a block.
std::size_t rows_beside_ranks(const GrowTask& task, const GrowthPlan& plan) {
  constexpr std::size_t kSparse = 32;
  return std::max(task.data.n_rows() / kSparse, std::size_t{plan.most_codes} / RankBlock::kCodesPerRow);
}

bool draws_few_features(const GrowParams& params) {
  return params.features.size() >= kFeaturesPerTry * static_cast<std::size_t>(params.max_features);
}

bool has_only_numbers(const GrowTask& task) {
  return std::ranges::all_of(task.params.features, [&](FeatureId feature) {
    return task.data.column(feature).kind == ColumnKind::kNumeric;
  });
}

}  // namespace

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

  // A constrained feature that stood in for another would move rows against the constraint.
  std::ranges::copy_if(params.features, std::back_inserter(plan.stand_ins), [&](FeatureId feature) {
    return params.monotonic.empty() || params.monotonic[static_cast<std::size_t>(feature)] == 0;
  });
  if (!kHasFastWays || criterion.needs_rows) return plan;

  // Groups and random tests of values know one step only, and nothing of what a criterion shows besides its
  // score.
  const bool no_surrogates = params.missing != Missing::kSurrogate;
  const bool plain =
      second_step_of(params.criterion) == SecondStep::kNone && !criterion.shows_another && no_surrogates;
  const bool unconstrained = params.monotonic.empty();

  if (params.random_splits && plain) {
    plan.values = params.row_values;
    if (plan.values == nullptr) {
      plan.own_values = std::make_unique<const RowValues>(task.data, poller);
      plan.values = plan.own_values.get();
    }
    if (!all_have_values(*plan.values, params.features)) plan.values = nullptr;
  }
  if (criterion.bounds_groups && params.searches_groups && draws_few_features(params) &&
      !params.random_splits && plain && unconstrained && params.missing == Missing::kLearn &&
      RowRecords::can_hold(task.data) &&
      count_rows(entries) < static_cast<std::int64_t>(RowRecords::kMostRows)) {
    plan.records = params.records;
    if (plan.records == nullptr) {
      plan.own_records = std::make_unique<const RowRecords>(task.data, poller);
      plan.records = plan.own_records.get();
    }
  }

  plan.subtree_rows = rows_of_subtrees(task, criterion.cell_size, plan.values != nullptr);
  plan.grows_blocks = criterion.counts_by_gini && params.grows_blocks && plan.values != nullptr &&
                      plan.values->records() != nullptr && plan.growth == Growth::kDepthFirst &&
                      unconstrained && each_row_once(entries);
  plan.grows_random = plan.values != nullptr && plan.growth == Growth::kDepthFirst && unconstrained &&
                      plan.subtree_rows > 0 && criterion.n_words <= RandomRoom::kMostWords;
  if (plan.grows_blocks || plan.grows_random) plan.subtree_rows = rows_of_blocks(params);
  plan.most_codes = most_codes(task);
  const bool may_grow_ranks = params.grows_blocks && rank_kernels() != nullptr &&
                              plan.growth == Growth::kDepthFirst && plan.subtree_rows > 0;
  const bool counts_ranks = criterion.counts_by_gini && plan.records != nullptr &&
                            each_row_at_most(RankGrowth::kMostTimes, entries);
  const bool weighs_ranks = criterion.weighs_by_gini && !params.random_splits && plain && unconstrained &&
                            params.missing == Missing::kLearn && RowRecords::can_hold(task.data);
  plan.grows_ranks = may_grow_ranks && (counts_ranks || weighs_ranks);
  if (plan.grows_ranks) plan.subtree_rows = std::min(plan.subtree_rows, rows_beside_ranks(task, plan));
  plan.keeps_order = !params.random_splits &&
                     params.features.size() <= static_cast<std::size_t>(params.max_features) * kOrdersPerTry;
  const bool by_numbers =
      params.random_splits ? plan.values != nullptr : has_only_numbers(task) && no_surrogates;
  // A small subtree learns what is shown, if that is not the score, from the children that it has made.
  const bool gains_in_time = !criterion.shows_another || params.min_impurity_decrease <= 0;
  plan.grows_small_subtrees =
      by_numbers && gains_in_time && plan.growth == Growth::kDepthFirst && unconstrained;
  return plan;
}

}  // namespace hornbeam::grow
