#include "grow/keep_best.h"

#include <algorithm>
#include <limits>
#include <queue>
#include <vector>

#include "criterion/criteria.h"
#include "tree/collapse.h"

namespace hornbeam::grow {

using criterion::Impurity;
using criterion::row_of;
using criterion::SecondStep;

namespace {

// With up to so many rows for each leaf of the limit, growing the whole tree and cutting it back is quicker.
constexpr std::int64_t kRowsPerLeaf = 16;

// An inner node whose turn may come. As in the frontier: the largest gain is first, of equals the oldest node.
struct Waiting {
  double gain;
  std::int64_t sequence;
  NodeId node;

  friend bool operator<(const Waiting& a, const Waiting& b) {
    if (a.gain != b.gain) return a.gain < b.gain;
    return a.sequence > b.sequence;
  }
};

std::int64_t or_unlimited(std::int64_t limit) {
  return limit > 0 ? limit : std::numeric_limits<std::int64_t>::max();
}

}  // namespace

bool is_kept_by_cutting(const GrowTask& task) {
  const GrowParams& params = task.params;
  const std::int64_t most_leaves =
      std::min(or_unlimited(params.max_leaf_nodes), or_unlimited(params.max_nodes) / 2);
  if (most_leaves == std::numeric_limits<std::int64_t>::max() / 2) return false;
  const criterion::CriterionRow& row = row_of(params.criterion);
  const bool has_two_branches = params.categorical_split != CategoricalSplit::kMultiway &&
                                params.categorical_split != CategoricalSplit::kMerge;
  // In other cases nodes are ordered by another gain than the tree shows, or no lane would take the task.
  const bool is_plain = !params.own_score && row.second_step == SecondStep::kNone &&
                        row.shown != Impurity::kAbsoluteDeviation && params.missing == Missing::kLearn;
  return has_lanes() && params.growth == Growth::kDepthFirst && has_two_branches && is_plain &&
         params.monotonic.empty() &&
         static_cast<std::int64_t>(task.sample.rows.size()) <= kRowsPerLeaf * most_leaves;
}

Tree keep_best(const Tree& complete, std::int64_t max_leaf_nodes, std::int64_t max_nodes) {
  std::priority_queue<Waiting> waiting;
  std::int64_t sequence = 0;
  const auto open = [&](NodeId node) {
    if (!complete.is_leaf(node))
      waiting.push({complete.gain[static_cast<std::size_t>(node)], sequence++, node});
  };
  open(0);
  std::int64_t n_leaves = 1;
  std::int64_t n_nodes = 1;
  while (!waiting.empty() && n_leaves < or_unlimited(max_leaf_nodes) &&
         n_nodes + 2 <= or_unlimited(max_nodes)) {
    const NodeId first = complete.first_child[static_cast<std::size_t>(waiting.top().node)];
    waiting.pop();
    n_leaves += 1;
    n_nodes += 2;
    open(first);
    open(first + 1);
  }
  std::vector<NodeId> new_leaves;
  for (; !waiting.empty(); waiting.pop()) new_leaves.push_back(waiting.top().node);
  return new_leaves.empty() ? complete : tree::collapse(complete, new_leaves);
}

}  // namespace hornbeam::grow
