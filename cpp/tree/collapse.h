// Turning inner nodes of a finished tree into leaves.
#pragma once

#include <span>

#include "tree/tree.h"

namespace hornbeam::tree {

// The same tree with these nodes turned into leaves and everything below them dropped, renumbered breadth-first. Nodes
// that are leaves, or lie below another one of the list, change nothing. The tables of categories of different nodes
// must not overlap. Throws std::invalid_argument for a node outside the tree.
Tree collapse(const Tree& tree, std::span<const NodeId> new_leaves);

}  // namespace hornbeam::tree
