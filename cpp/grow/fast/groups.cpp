#include "grow/fast/groups.h"

namespace hornbeam::grow {

namespace {

// If there are at least this many features for each one tried, searching groups costs less than keeping all
// features in order.
constexpr std::size_t kFeaturesPerTry = 3;

bool draws_few_features(const GrowParams& params) {
  return params.features.size() >= kFeaturesPerTry * static_cast<std::size_t>(params.max_features);
}

// Rows as the user counts them, with their multiplicity (class counts only: criterion/stats.h).
std::int64_t count_rows(std::span<const Entry> entries) {
  std::int64_t count = 0;
  for (const Entry& entry : entries) count += entry.payload & 0xff;
  return count;
}

}  // namespace

// Groups support criteria without a second step that show the impurity they score by.
bool takes_groups(const LaneTask& lane) {
  const GrowParams& params = lane.params();
  return lane.criterion.bounds_groups && params.searches_groups && draws_few_features(params) &&
         !params.random_splits && lane.is_plain() && lane.is_unconstrained() &&
         params.missing == Missing::kLearn && RowRecords::can_hold(lane.task.data) &&
         count_rows(lane.entries) < static_cast<std::int64_t>(RowRecords::kMostRows);
}

}  // namespace hornbeam::grow
