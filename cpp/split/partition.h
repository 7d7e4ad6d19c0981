// Sending a node's rows to its branches: stable, so rows keep their order and float sums over them their
// bits.
#pragma once

#include <span>
#include <vector>

#include "base/arena.h"
#include "criterion/stats.h"
#include "data/dataset.h"
#include "split/split.h"

namespace hornbeam::split {

// Moves the rows of branch 0 to the front; returns how many there are. `scratch` has room for all entries.
// Missing values follow split.missing_branch (1 if that is still open: then the node has none). Tables of a
// branch per code come from `region`.
std::size_t partition_rows(std::span<Entry> entries, Entry* scratch, const Column& column, const Split& split,
                           const CategoryPlan& plan, Region* region = nullptr);

// The same for any number of branches; `begin` gets where the rows of each begin, and the end.
void partition_rows(std::span<Entry> entries, Entry* scratch, const Column& column, const Split& split,
                    const CategoryPlan& plan, std::span<std::size_t> begin, Region* region = nullptr);

// Turns the numbers of rows of the branches, in begin[b + 1], into where each branch begins.
inline void add_up_counts(std::span<std::size_t> begin) {
  for (std::size_t b = 1; b < begin.size(); ++b) begin[b] += begin[b - 1];
}

// The same where the branch of each row is known: rows of branch 0 come to the front.
std::size_t partition_rows(std::span<Entry> entries, Entry* scratch, std::span<const std::uint8_t> branches);

// The branch that a finished test with two branches has for each row; kNoBranch for rows that lack its
// feature.
inline constexpr std::uint8_t kNoBranch = 255;
void mark_branches(std::span<const Entry> entries, const Column& column, const Split& split,
                   const CategoryPlan& plan, std::span<std::uint8_t> branches, Region* region = nullptr);
// The same for any number of branches,
inline constexpr std::uint32_t kNoneOfMany = ~0u;
void mark_branches(std::span<const Entry> entries, const Column& column, const Split& split,
                   const CategoryPlan& plan, std::span<std::uint32_t> branches, Region* region = nullptr);
// and 1 for rows that lack the feature, 0 for the others.
void mark_missing(std::span<const Entry> entries, const Column& column, std::span<std::uint8_t> branches,
                  Region* region = nullptr);

}  // namespace hornbeam::split
