// One tree to be grown, and the doors to growing it with a criterion whose type is known.
#pragma once

#include <cstdint>
#include <optional>

#include "grow/grower.h"

namespace hornbeam::grow {

struct GrowTask {
  const Dataset& data;
  const Target& target;
  const Sample& sample;
  const GrowParams& params;  // with the features listed, max_features counted and a region per thread
  Cancel& cancel;
};

// What a scorer's cells are; the quickest come first.
enum class Cells : std::uint8_t { kCountsOfTwo, kCounts, kTwoWeights, kWeights, kRows, kSums, kSumsOfMany };

// Whole-number weights below 256 in one output of classes can be counted.
bool can_count(const Target& target, const Sample& sample);

// Nothing if the task's criterion has no scorer with such cells, or they cannot add up its rows. The body is in
// grow_by_cells.h.
template <Cells cells>
std::optional<GrownTree> grow_by_cells(const GrowTask& task);

// The body is in tree_grower.h.
template <class S>
GrownTree grow_with(const GrowTask& task, S scorer);

}  // namespace hornbeam::grow
