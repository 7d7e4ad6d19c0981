// The best test of a numeric feature. In a subtree that keeps the feature in order (grow/fast/subtree.h), the rows
// are walked as they lie. Otherwise:
//   few codes:   rows are counted into a cell per code, and the cells are walked;
//   many codes:  (code, payload) keys are sorted, and the rows are walked.
// All ways present the same candidates in the same order to the same criterion, so they find the same test. A test
// is offered with the codes beside its threshold, which `finish_cut` looks up for the winner.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "data/dataset.h"
#include "split/feature_search.h"
#include "split/gather.h"
#include "split/row_views.h"

namespace hornbeam::split {

using data::codes_at_or_below;
using data::halfway;

// ---- counted: places are the code of the first cell on the right

template <Scorer S>
Found walk_cells(const FeatureSearch<S>& search, const CountedCodes<S>& counted, bool missing_left) {
  const S& scorer = search.node.scorer;
  const std::size_t size = counted.size();
  auto walk = start_walk(search, missing_left, std::size_t{counted.highest()} - counted.lowest() + 2);
  const Limits& limits = search.limits;
  const bool bound = limits.bind;
  const Code lowest = counted.lowest();
  const Code highest = counted.highest();
  Code* places = search.node.buffers.places.data();
  const auto* cell = counted.of(lowest);
  walk.move_cell(cell);  // the lowest code is present
  for (Code code = lowest + 1; code <= highest; ++code) {
    cell += size;
    bool wanted = !scorer.is_empty(cell);
    if (bound) wanted = wanted && admissible(walk, limits);
    places[walk.n_candidates()] = code;
    walk.add_candidate(wanted);
    walk.move_cell(cell);
  }
  if (search.sends_missing() && !missing_left) {
    places[walk.n_candidates()] = kAfterLast;
    walk.add_candidate(!bound || admissible(walk, limits));
  }
  return best_place(search, walk, missing_left);
}

// Offers the best cut between cells.
template <Scorer S>
void offer_cut(const FeatureSearch<S>& search, const CountedCodes<S>& counted, FirstBest<Split>& best) {
  const Found found =
      walk_both_ways(search, [&](bool missing_left) { return walk_cells(search, counted, missing_left); });
  if (!search.may_win(found, best)) return;
  Split split = split_of(search, found);
  split.first_right = found.place;
  if (found.place != kAfterLast) {
    split.last_left = found.place - 1;
    while (search.node.scorer.is_empty(counted.of(split.last_left))) --split.last_left;
  }
  best.offer(found.score + search.left_out, split);
}

// ---- in order: places are the number of rows on the left

// Rows in ascending order: sorted for this node,
template <class Walk>
struct SortedSteps {
  SortedRows rows;
  std::size_t size() const { return rows.n; }
  Code value(std::size_t i) const { return rows.value(i); }
  auto step(std::size_t i) const { return Walk::step_of(rows.payload(i)); }
};
// or kept in order by the subtree.
template <class Walk>
struct OrderedSteps {
  OrderedRows rows;
  const typename Walk::Step* step_at_place;
  std::size_t size() const { return rows.n; }
  Code value(std::size_t i) const { return rank_of(rows.keys[i]); }
  auto step(std::size_t i) const { return step_at_place[place_of(rows.keys[i])]; }
};

// Where no limit binds, nothing but the candidates is needed on the way. The compiler sees that only if these are two
// loops; in one that asked each time it counted the rows on the left once more, one by one.
template <bool kBound, Scorer S, class Steps>
Found walk_steps_within(const FeatureSearch<S>& search, const Steps& steps, bool missing_left) {
  const std::size_t n = steps.size();
  auto walk = start_walk(search, missing_left, n + 1);
  const Limits& limits = search.limits;
  Code* places = search.node.buffers.places.data();
  Code low = steps.value(0);
  for (std::size_t i = 1; i < n; ++i) {
    walk.move(steps.step(i - 1));
    const Code high = steps.value(i);
    bool wanted = low != high;
    if constexpr (kBound) wanted = wanted && admissible(walk, limits);
    places[walk.n_candidates()] = static_cast<Code>(i);
    walk.add_candidate(wanted);
    low = high;
  }
  if (search.sends_missing() && !missing_left) {
    walk.move(steps.step(n - 1));
    places[walk.n_candidates()] = static_cast<Code>(n);
    walk.add_candidate(!kBound || admissible(walk, limits));
  }
  return best_place(search, walk, missing_left);
}

template <Scorer S, class Steps>
Found walk_steps(const FeatureSearch<S>& search, const Steps& steps, bool missing_left) {
  return search.limits.bind ? walk_steps_within<true>(search, steps, missing_left)
                            : walk_steps_within<false>(search, steps, missing_left);
}

// Offers the best cut between sorted rows.
template <Scorer S>
void offer_cut(const FeatureSearch<S>& search, const SortedRows& rows, FirstBest<Split>& best) {
  const SortedSteps<typename S::Walk> steps{rows};
  const Found found =
      walk_both_ways(search, [&](bool missing_left) { return walk_steps(search, steps, missing_left); });
  if (!search.may_win(found, best)) return;
  Split split = split_of(search, found);
  split.last_left = rows.value(found.place - 1);
  split.first_right = found.place == rows.n ? kAfterLast : rows.value(found.place);
  best.offer(found.score + search.left_out, split);
}

// ---- a feature's best cut; false if the feature is constant in the node

template <Scorer S>
bool find_cut(const Node<S>& node, FeatureId feature, const GatheredCodes& codes, FirstBest<Split>& best) {
  if (is_constant(node, codes)) return false;
  FeatureSearch<S> search = search_of(node, feature, codes);
  // With missing values the two directions are compared with each other, even if neither beats the best test so far.
  if (codes.n_missing == 0) search.to_beat = best.score();
  if (counting_pays(node, codes)) {
    offer_cut(search, CountedCodes<S>(node, codes), best);
  } else {
    offer_cut(search, sort(node, codes), best);
  }
  return true;
}

// Without gathering the codes, where there are few of them.
template <Scorer S>
bool find_cut(const Node<S>& node, FeatureId feature, const Column& column, FirstBest<Split>& best) {
  if (!counts_right_away(node, column)) return find_cut(node, feature, gather(node, column), best);
  const CountedCodes<S> counted(node, column);
  if (counted.lowest() == counted.highest()) return false;
  FeatureSearch<S> search(node, feature);
  search.to_beat = best.score();
  offer_cut(search, counted, best);
  return true;
}

inline Code code_of(const OrderedRows& rows, std::size_t i, std::span<const Entry> entries,
                    const Column& column) {
  return column.code(entries[place_of(rows.keys[i]) - rows.first].row);
}

// Without gathering, where the subtree keeps the rows in order.
template <Scorer S>
bool find_cut(const Node<S>& node, FeatureId feature, const Column& column, OrderedRows rows,
              FirstBest<Split>& best) {
  const auto rank = [&](std::size_t i) { return rank_of(rows.keys[i]); };
  if (rank(0) == rank(rows.n - 1)) return false;
  const auto* step_at_place = node.buffers.steps.data() - rows.first;
  std::size_t n_missing = 0;
  auto& missing_cell = node.buffers.missing_cell;
  if (column.has_missing && code_of(rows, rows.n - 1, node.entries, column) == column.missing_code()) {
    const std::uint32_t missing = rank(rows.n - 1);
    missing_cell.assign(node.cell.size(), 0);
    for (; rank(rows.n - 1) == missing; --rows.n, ++n_missing) {
      node.scorer.stats().add(missing_cell.data(),
                              node.payload(place_of(rows.keys[rows.n - 1]) - rows.first));
    }
    if (node.known_only && rank(0) == rank(rows.n - 1)) return false;
  }
  FeatureSearch<S> search(node, feature, n_missing, missing_cell.data());
  if (n_missing == 0) search.to_beat = best.score();
  const OrderedSteps<typename S::Walk> steps{rows, step_at_place};
  const Found found =
      walk_both_ways(search, [&](bool missing_left) { return walk_steps(search, steps, missing_left); });
  if (!search.may_win(found, best)) return true;
  Split split = split_of(search, found);
  split.n_known_left = found.place;
  best.offer(found.score + search.left_out, split);
  return true;
}

// ---- the threshold: halfway between the values on its two sides

inline void finish_cut(const Column& column, Split& split) {
  if (column.kind == ColumnKind::kCategorical || !std::isnan(split.threshold)) return;
  if (split.first_right == kAfterLast) {
    split.threshold = kInfinity;
    split.first_right = column.n_codes;
  } else if (column.binned) {
    split.threshold = column.values[split.last_left];
    split.first_right = split.last_left + 1;
  } else {
    split.threshold = halfway(column.values[split.last_left], column.values[split.first_right]);
    split.first_right = codes_at_or_below(column, split.threshold);
  }
}

inline void finish_cut(const Column& column, const OrderedRows& rows, std::span<const Entry> entries,
                       Split& split) {
  if (split.n_known_left + split.n_missing == rows.n) {
    split.threshold = kInfinity;
  } else {
    const Code low = code_of(rows, split.n_known_left - 1, entries, column);
    const Code high = code_of(rows, split.n_known_left, entries, column);
    split.threshold = column.binned ? column.values[low] : halfway(column.values[low], column.values[high]);
  }
}

}  // namespace hornbeam::split
