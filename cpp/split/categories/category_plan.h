// What a fit learns about its categories before it grows trees: which of them have rows and, for `target_mean`, the
// orders in which they are cut.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "criterion/concepts.h"
#include "criterion/stats.h"
#include "split/categories/category_order.h"
#include "split/categories/category_tests.h"

namespace hornbeam::split {

using criterion::Entry;
using criterion::Scorer;
using data::Dataset;

// Categories in ascending order of their keys, of equal keys the lower code first: the place of each code.
// Categories without rows get no place, as if they were not in the table.
inline std::vector<Code> places_by_key(std::vector<double>& keys, const std::vector<bool>& has_rows) {
  round_to_grid(keys);
  std::vector<Code> order(keys.size());
  std::iota(order.begin(), order.end(), Code{0});
  std::stable_sort(order.begin(), order.end(), [&](Code a, Code b) {
    return has_rows[a] != has_rows[b] ? has_rows[a] : keys[a] < keys[b];
  });
  std::vector<Code> place(keys.size());
  for (Code i = 0; i < order.size(); ++i) place[order[i]] = i;
  return place;
}

// One order by mean or by the share of the second of two classes; of more classes, one by the share of each.
template <Scorer S>
void add_target_orders(CategoryPlan& plan, S& scorer, std::span<const Entry> entries, const Column& column,
                       const std::vector<bool>& has_rows) {
  auto& stats = scorer.stats();
  const auto size = static_cast<std::size_t>(stats.cell_size());
  std::vector<typename S::Element> cells(std::size_t{column.n_codes} * size, 0);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Code code = column.code(entries[i].row);
    if (code != column.missing_code()) stats.add(&cells[code * size], stats.sort_payload(entries[i], i));
  }
  const int n_classes = class_channels(stats);
  std::vector<double> keys(column.n_codes);
  for (int k = 0; k < (n_classes > 2 ? n_classes : 1); ++k) {
    for (Code code = 0; code < column.n_codes; ++code) {
      const auto* cell = &cells[code * size];
      keys[code] = 0.0;
      if (!has_rows[code] || n_classes == 1) continue;
      keys[code] = n_classes > 2 ? static_cast<double>(cell[k]) / static_cast<double>(stats.weight(cell))
                                 : scorer.order_of(cell);
    }
    plan.add_order(places_by_key(keys, has_rows));
  }
}

template <Scorer S>
CategoryPlan plan_categories(CategoricalSplit split, double log_merge_level, const Dataset& data,
                             std::span<const FeatureId> features, std::span<const Entry> entries, S scorer,
                             CancelPoller& poller) {
  CategoryPlan plan(split, log_merge_level);
  if (split == CategoricalSplit::kSubset || split == CategoricalSplit::kMerge) return plan;
  scorer.stats().load(entries);
  for (const FeatureId feature : features) {
    const Column& column = data.column(feature);
    if (column.kind != ColumnKind::kCategorical) continue;
    poller.poll(entries.size());
    std::vector<bool> has_rows(std::size_t{column.n_codes} + 1, false);
    for (const Entry& entry : entries) has_rows[column.code(entry.row)] = true;
    has_rows.pop_back();  // missing values
    plan.add_feature(feature, has_rows);
    if (split == CategoricalSplit::kTargetMean) {
      add_target_orders(plan, scorer, entries, column, has_rows);
    } else if (split == CategoricalSplit::kOrdinal || split == CategoricalSplit::kBinary) {
      std::vector<double> alike(column.n_codes, 0.0);
      plan.add_order(places_by_key(alike, has_rows));
    }
  }
  return plan;
}

}  // namespace hornbeam::split
