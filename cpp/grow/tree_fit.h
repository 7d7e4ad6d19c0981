// What all parts of growing one tree share. Nothing here changes while nodes grow, except the order of the rows:
// each node has its own range of them.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/math.h"
#include "grow/frontier.h"
#include "grow/plan.h"
#include "grow/tree_builder.h"
#include "grow/worker.h"
#include "split/categories/category_plan.h"

namespace hornbeam::grow {

using criterion::kPortionBits;
using split::plan_categories;

template <Scorer S>
struct TreeFit {
  TreeFit(const GrowTask& task, const S& scorer, std::span<Entry> rows)
      : data(task.data),
        target(task.target),
        params(task.params),
        cancel(task.cancel),
        prototype(scorer),
        entries(rows),
        n_values(target.is_classification() ? *std::ranges::max_element(target.n_classes) : 1) {
    CancelPoller poller(cancel, params.on_calling_thread);
    plan = plan_growth(task, traits_of(scorer), entries, poller);
    categories = plan_categories(params.categorical_split, ln_of(params.merge_level), data, params.features,
                                 entries, prototype, poller);
    for (Region& region : params.regions) {
      const bool on_calling_thread = workers.empty() && params.on_calling_thread;
      workers.push_back(std::make_unique<Worker<S>>(prototype, params, cancel, region, on_calling_thread));
    }
  }
  TreeFit(const TreeFit&) = delete;
  TreeFit& operator=(const TreeFit&) = delete;

  std::size_t value_size() const { return static_cast<std::size_t>(target.n_outputs) * n_values; }

  std::span<Entry> rows_of(const OpenNode& node) {
    Entry* list = node.portions != nullptr ? node.portions->data() : entries.data();
    return {list + node.begin, node.n_rows()};
  }

  // Rows in portions: min_samples_* limit the sum of a node's portions (as in C4.5, and so that there are never
  // more leaves than rows). Slightly less passes, to allow for rounding.
  bool in_portions() const { return params.missing == Missing::kFractional; }
  std::int64_t in_row_units(std::int64_t rows) const {
    return in_portions() ? (rows << kPortionBits) - (rows << (kPortionBits - 10)) : rows;
  }

  // Whether a test was scored on some of its node's rows, those that have the feature.
  bool leaves_out_rows(const Split& split) const {
    return params.missing != Missing::kLearn && split.n_missing > 0;
  }

  bool ends_at(std::int64_t n_counted, std::int32_t depth) const {
    return n_counted < in_row_units(params.min_samples_split) ||
           n_counted < in_row_units(2 * params.min_samples_leaf) ||
           (params.max_depth > 0 && depth >= params.max_depth);
  }

  // Gains are in the user's weight * impurity.
  LeastGain least_gain() const { return {params.min_impurity_decrease, root_weight}; }

  const Dataset& data;
  const Target& target;
  const GrowParams& params;
  Cancel& cancel;
  const S prototype;
  std::span<Entry> entries;  // all rows, those of a node side by side
  const int n_values;        // per output
  GrowthPlan plan;
  CategoryPlan categories = CategoryPlan::subsets();
  std::vector<std::unique_ptr<Worker<S>>> workers;  // the first one's thread is the caller's
  double root_weight = 0.0;
  bool in_pieces = false;  // every thread has nodes of its own
};

}  // namespace hornbeam::grow
