// Finds best tests by groups of values (split/find_groups.h over data/row_records.h), and says whether a
// task's tests can be found that way.
#pragma once

#include <algorithm>
#include <span>

#include "grow/lane_task.h"
#include "grow/tree_fit.h"

namespace hornbeam::grow {

using split::FirstBest;
using split::GroupFinder;
using split::Node;
using split::RecordsByRow;

bool takes_groups(const LaneTask& lane);

// Calls `call` with the records of the node's rows, wherever they are.
template <Scorer S, class Call>
bool with_records(TreeFit<S>& fit, const OpenNode& node, const Worker<S>& worker, const Call& call) {
  if (worker.subtree.started()) return call(worker.subtree.records(node.begin));
  return call(RecordsByRow{*fit.plan.records, fit.rows_of(node).data()});
}

// Offers the best tests of some features, searching a few at once; false if all are constant in the node.
template <Scorer S>
bool try_groups(TreeFit<S>& fit, const OpenNode& open, const Node<S>& node, Worker<S>& worker,
                std::span<const FeatureId> features, FirstBest<Split>& best) {
  return with_records(fit, open, worker, [&](const auto& records) {
    constexpr std::size_t kAtOnce = GroupFinder<S>::kCountedAtOnce;
    bool informative = false;
    for (std::size_t first = 0; first < features.size(); first += kAtOnce) {
      const auto some = features.subspan(first, std::min(kAtOnce, features.size() - first));
      worker.poller.poll(2 * open.n_rows() * some.size());
      informative |= worker.finders.groups.find(node, fit.data, *fit.plan.records, records, some, best);
    }
    return informative;
  });
}

}  // namespace hornbeam::grow
