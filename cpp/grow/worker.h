// What one thread needs to grow nodes, kept from node to node to save allocations.
#pragma once

#include <cstdint>
#include <vector>

#include "base/arena.h"
#include "base/cancel.h"
#include "base/platform.h"
#include "criterion/choice.h"
#include "grow/fast/random_nodes.h"
#include "grow/fast/rank_block.h"
#include "grow/fast/small_subtree.h"
#include "grow/fast/subtree.h"
#include "grow/fast/value_block.h"
#include "grow/feature_draw.h"
#include "grow/frontier.h"
#include "grow/plan.h"
#include "split/finders.h"
#include "split/node.h"
#include "split/surrogates.h"

namespace hornbeam::grow {

using criterion::Choice;
using split::Finders;
using split::SearchBuffers;
using split::SurrogateFinder;

// A node of a small subtree that waits for its test.
struct SmallNode {
  NodeId id;
  std::int32_t depth;
  std::uint64_t path;
  Bits rows;
};

template <Scorer S>
struct Worker {
  Worker(const S& prototype, const GrowParams& params, Cancel& cancel, Region& region, bool on_calling_thread)
      : region(&region),
        scorer(prototype),
        buffers(&region),
        finders(&region),
        choice(second_step_of(params.criterion), params.min_significance),
        features(params.features, params.max_features, params.key),
        scratch(&region),
        branches(&region),
        surrogate_finder(&region),
        subtree(&region),
        block(&region),
        ranks(&region),
        random_buffers(&region),
        poller(cancel, on_calling_thread) {}
  Region* region;
  S scorer;
  SearchBuffers<S> buffers;
  Finders<S> finders;
  Choice choice;
  std::vector<Split> contenders;  // the tests that `choice` has been offered
  std::vector<Cut> cuts;          // the same in a small subtree
  FeatureDraw features;
  std::vector<double> class_weights;
  std::vector<OpenNode> children;  // of the current node, with their cells
  std::vector<std::vector<typename S::Element>> child_cells{2};
  std::vector<std::size_t> branch_begin;  // where the rows of each branch begin in the node, and the end
  std::vector<typename S::Element> branch_cell;  // of a test that has not been carried out yet,
  std::vector<double> value;                     // and what the branch would predict
  Buffer<Entry> scratch;
  Buffer<std::uint8_t> branches;  // of the node's rows
  std::vector<std::int64_t> row_weights;
  SurrogateFinder surrogate_finder;
  Subtree subtree;
  SmallSubtree<S> small_subtree;
  std::vector<SmallNode> small_nodes;
  ValueBlock block;
  RankBlock ranks;
  RandomBuffers random_buffers;
  CancelPoller poller;
};

}  // namespace hornbeam::grow
