// The nodes that rows pass on their way from the roots to their leaves, tree after tree.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "tree/tree.h"

namespace hornbeam::tree {

// Row by row: those of row r are nodes[ends[r]] to nodes[ends[r + 1]], ascending. The nodes of a tree are
// numbered on from those of the trees before it.
struct Paths {
  std::vector<std::int32_t> nodes;
  std::vector<std::int64_t> ends;
};

// `leaves` is [row, tree]; each must be a node of its tree.
Paths paths_to_leaves(std::span<const Tree* const> trees, std::span<const NodeId> leaves, int n_threads,
                      Cancel& cancel);

}  // namespace hornbeam::tree
