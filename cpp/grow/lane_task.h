// What the fast lanes (grow/fast) get to know before the first node: the task and the properties of its criterion.
// Each lane has a function `takes(const LaneTask&)` beside its own code: can it grow this task? Whether it then
// grows a given node is asked node by node, in grow/fast/lanes.h.
#pragma once

#include <cstddef>
#include <span>

#include "criterion/concepts.h"
#include "grow/frontier.h"
#include "grow/task.h"

namespace hornbeam::grow {

using criterion::BlockCells;
using criterion::BoundsGroups;
using criterion::Entry;
using criterion::kBlockCells;
using criterion::kNeedsRows;
using criterion::kShowsAnother;
using criterion::Scorer;

// With several threads, nodes of at most this many rows are grown as pieces, one thread each.
inline constexpr std::size_t kPieceRows = 8192;

// The properties of a criterion that lanes ask about; the names are those of criterion/concepts.h.
struct CriterionTraits {
  bool shows_another;
  bool bounds_groups;
  BlockCells block_cells;
  bool needs_rows;
  int cell_size;
  int n_classes;        // if blocks have cells of more than two, else 0
  std::size_t n_words;  // per row: criterion/stats.h
  double weight_unit;
};

template <Scorer S>
int n_classes_of(const S& scorer) {
  constexpr BlockCells kCells = kBlockCells<S>;
  constexpr bool kOfClasses = kCells == BlockCells::kCounts || kCells == BlockCells::kEntropies ||
                              kCells == BlockCells::kClassWeights || kCells == BlockCells::kWeightEntropies;
  if constexpr (kOfClasses) return scorer.stats().n_classes();
  return 0;
}

template <Scorer S>
CriterionTraits traits_of(const S& scorer) {
  return {kShowsAnother<S>,
          BoundsGroups<S>,
          kBlockCells<S>,
          kNeedsRows<S>,
          scorer.cell_size(),
          n_classes_of(scorer),
          static_cast<std::size_t>(scorer.stats().n_words()),
          scorer.stats().weight_unit()};
}

struct LaneTask {
  const GrowTask& task;
  const CriterionTraits& criterion;
  std::span<const Entry> entries;
  Growth growth;
  Code most_codes;  // of any feature
  bool has_second_step;

  // Filled in while the plan is made.
  const RowValues* values = nullptr;
  const RowRecords* records = nullptr;
  std::size_t subtree_rows = 0;

  const GrowParams& params() const { return task.params; }
  bool is_depth_first() const { return growth == Growth::kDepthFirst; }
  bool is_unconstrained() const { return task.params.monotonic.empty(); }
  bool has_surrogates() const { return task.params.missing == Missing::kSurrogate; }
  // The best score wins, it is also what is shown, and no surrogates are needed.
  bool is_plain() const { return !has_second_step && !criterion.shows_another && !has_surrogates(); }
};

}  // namespace hornbeam::grow
