// Rows in portions (C4.5: Quinlan 1993): a row that lacks a test's feature goes down all of its branches, in
// portions that are shared out like the weight of the rows that have the feature.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "criterion/stats.h"

namespace hornbeam::split {

using criterion::Entry;

// Returns the rows of all branches, one branch after the other, each in the order of `rows`; `begin` gets where each
// branch begins, and the end. `branches` has the branch of every row, kNoneOfMany for rows to be divided; `weights` has
// the weight of the other rows of each branch. The portions of a row add up to its weight; portions of zero are left
// out.
std::vector<Entry> share_out(std::span<const Entry> rows, std::span<const std::uint32_t> branches,
                             std::span<const std::int64_t> weights, std::span<std::size_t> begin);

}  // namespace hornbeam::split
