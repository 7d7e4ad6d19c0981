// Best tests by groups of values (split/find_groups.h over data/row_records.h): whether a task's tests are found
// so, and a node's.
#pragma once

#include <algorithm>
#include <array>
#include <span>

#include "grow/lane_task.h"
#include "grow/tree_fit.h"

namespace hornbeam::grow {

using split::FirstBest;
using split::Limits;
using split::RecordsByRow;

bool takes_groups(const LaneTask& lane);

// Calls with the records of the node's rows, wherever they are.
template <Scorer S, class Call>
bool with_records(TreeFit<S>& fit, const OpenNode& node, const Worker<S>& worker, const Call& call) {
  if (worker.subtree.started()) return call(worker.subtree.records(node.begin));
  return call(RecordsByRow{*fit.plan.records, fit.rows_of(node).data()});
}

// All drawn features by groups of values, a few at once.
template <Scorer S, class Records>
bool try_groups(TreeFit<S>& fit, const OpenNode& node, const Limits& limits, const Records& records,
                Worker<S>& worker, FirstBest<Split>& best) {
  TestFinder<S>& finder = worker.finder;
  const std::span<const FeatureId> drawn = worker.features.drawn();
  std::array<RowRecords::Place, TestFinder<S>::kCountedAtOnce> places;
  bool informative = false;
  for (std::size_t first = 0; first < drawn.size(); first += places.size()) {
    const std::size_t n = std::min(places.size(), drawn.size() - first);
    const std::span<const FeatureId> features = drawn.subspan(first, n);
    worker.poller.poll(2 * node.n_rows() * n);
    for (std::size_t i = 0; i < n; ++i) places[i] = fit.plan.records->place(features[i]);
    finder.count_groups(records, {places.data(), n});
    for (std::size_t i = 0; i < n; ++i)
      informative |=
          finder.find_best(fit.data.column(features[i]), records, places[i], i, limits, best, features[i]);
  }
  return informative;
}

}  // namespace hornbeam::grow
