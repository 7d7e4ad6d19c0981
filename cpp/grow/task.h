// One tree to grow, and the entry points to growing it once the types of criterion and cells are known.
#pragma once

#include <cstdint>
#include <optional>

#include "grow/grower.h"

namespace hornbeam::grow {

struct GrowTask {
  const Dataset& data;
  const Target& target;
  const Sample& sample;
  const GrowParams& params;  // complete: with features, max_features and a region per thread
  Cancel& cancel;
};

// The kinds of cells that scorers work on, quickest first.
enum class Cells : std::uint8_t {
  kCountsOfTwo,
  kCounts,
  kTwoWeights,
  kClassWeights,
  kWeights,
  kRows,
  kSums,
  kSumsOfMany
};

// Whole-number weights below 256 in one output of classes can be counted.
bool can_count(const Target& target, const Sample& sample);

// Grows the tree with such cells; nothing if the criterion has no scorer for them, or they cannot represent the rows.
// The body is in grow/by_cells/grow_by_cells.h.
template <Cells cells>
std::optional<GrownTree> grow_by_cells(const GrowTask& task);

// The body is in tree_grower.h.
template <class S>
GrownTree grow_with(const GrowTask& task, S scorer);

}  // namespace hornbeam::grow
