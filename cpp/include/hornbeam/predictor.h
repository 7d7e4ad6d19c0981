// Prediction by walking each row from the root: the plain form that every faster path must equal.
#pragma once

#include <cstdint>
#include <span>

#include "hornbeam/cancel.h"
#include "hornbeam/input.h"
#include "hornbeam/tree.h"

namespace hornbeam {

// Where a category goes that the model has not seen.
enum class Unseen : std::uint8_t { kMissing, kMajority };

// The leaf of every row. Numeric columns hold numbers, categorical ones int32 codes (see input.h).
void find_leaves(const Tree& tree, const TableView& table, Unseen unseen, int n_threads, Cancel& cancel,
                 std::span<NodeId> leaves);

}  // namespace hornbeam
