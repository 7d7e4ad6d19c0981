// A limit on leaves or nodes, kept by cutting a tree that has been grown without it.
//
// A node's test depends neither on the order in which nodes grow nor on what grows beside it. So the tree that grows
// best-first up to a limit is the complete tree without the nodes whose turn does not come; and the complete tree can
// grow depth-first, in the fast lanes.
#pragma once

#include <cstdint>

#include "grow/task.h"

namespace hornbeam::grow {

// Whether that takes less time than growing best-first. The limit must be near to what would grow without it, which
// also bounds the memory that the complete tree takes.
bool is_kept_by_cutting(const GrowTask& task);

// The part of a tree of tests with two branches that best-first growth reaches; limits of 0 mean none.
Tree keep_best(const Tree& complete, std::int64_t max_leaf_nodes, std::int64_t max_nodes);

}  // namespace hornbeam::grow
