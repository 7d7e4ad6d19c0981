// The best test of a feature of numbers by its coarse codes (data/row_records.h), where no value is missing.
//
// For every criterion that counts two classes, the score of a test is convex in the counts on its left. Within a
// group of values these counts stay in a box: for either class, between the count before the group and the count
// after it. A convex function is largest at a corner of the box. So a group none of whose corners scores as much as
// the best edge between groups cannot contain the best test.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "base/radix.h"
#include "data/dataset.h"
#include "split/feature_search.h"
#include "split/gather.h"
#include "split/row_views.h"

namespace hornbeam::split {

using criterion::BoundsGroups;
using criterion::GroupBounds;
using data::Dataset;
using data::grouped_code;
using data::halfway;
using data::kFineBits;
using data::kGroups;

template <class S>
class GroupFinder;  // of criteria that can bound groups

template <Scorer S>
  requires BoundsGroups<S>
class GroupFinder<S> {
 public:
  // Rows are counted by the groups of a few features at once.
  static constexpr std::size_t kCountedAtOnce = 4;

  // Offers the best test of each feature, of which there are at most so many; false if all are constant in the node.
  template <class Records>
  bool find(const Node<S>& node, const Dataset& data, const RowRecords& all, const Records& records,
            std::span<const FeatureId> features, FirstBest<Split>& best) {
    std::array<RowRecords::Place, kCountedAtOnce> places;
    for (std::size_t i = 0; i < features.size(); ++i) places[i] = all.place(features[i]);
    count(node, records, {places.data(), features.size()});
    bool informative = false;
    for (std::size_t i = 0; i < features.size(); ++i) {
      list_groups(node, i);
      informative |= find(node, features[i], data.column(features[i]), records, places[i], best);
    }
    return informative;
  }

 private:
  using Walk = typename S::Walk;
  using Step = typename Walk::Step;

  // A place between two groups, not between two rows.
  static constexpr Code kEdge = Code{1} << 31;

  template <class Records>
  void count(const Node<S>& node, const Records& records, std::span<const RowRecords::Place> places) {
    const std::size_t n = node.entries.size();
    const Step* steps = node.buffers.steps.data();
    const auto count_some = [&](auto n_places) {  // a constant for the compiler
      const auto group = [&]<std::size_t... k>(std::index_sequence<k...>) {
        return std::array{records.groups(places[k])...};
      }(std::make_index_sequence<decltype(n_places)::value>{});
      for (std::size_t i = 0; i < n; ++i) {
        const Step step = steps[i];
        for (std::size_t k = 0; k < n_places; ++k) sums_[k][group[k](i)] += step;
      }
      if (!node.scorer.stats().counts_rows()) return;
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t k = 0; k < n_places; ++k) ++rows_[k][group[k](i)];
      }
    };
    static_assert(kCountedAtOnce == 4);
    switch (places.size()) {
      case 1:
        return count_some(std::integral_constant<std::size_t, 1>{});
      case 2:
        return count_some(std::integral_constant<std::size_t, 2>{});
      case 3:
        return count_some(std::integral_constant<std::size_t, 3>{});
      default:
        return count_some(std::integral_constant<std::size_t, 4>{});
    }
  }

  // Lists the groups that have rows, and sets their sums back to zero.
  void list_groups(const Node<S>& node, std::size_t counted) {
    std::array<Step, kGroups>& sums = sums_[counted];
    Step* before = before_group_.start(kGroups + 1);
    std::uint8_t* groups = groups_.data();
    std::size_t n_groups = 0;
    Step left{};
    for (std::size_t group = 0; group < kGroups; ++group) {
      groups[n_groups] = static_cast<std::uint8_t>(group);
      before[n_groups] = left;
      n_groups += sums[group] != Step{};
      left += sums[group];
      sums[group] = Step{};
    }
    before[n_groups] = left;
    n_groups_ = n_groups;
    if (!node.scorer.stats().counts_rows()) {
      for (std::size_t g = 0; g <= n_groups; ++g) rows_before_[g] = Walk::count_of(before[g]);
      return;
    }
    rows_before_[0] = 0;
    for (std::size_t g = 0; g < n_groups; ++g)
      rows_before_[g + 1] = rows_before_[g] + std::exchange(rows_[counted][groups[g]], 0);
  }

  // Of the listed groups of one feature.
  template <class Records>
  bool find(const Node<S>& node, FeatureId feature, const Column& column, const Records& records,
            RowRecords::Place place, FirstBest<Split>& best) {
    const bool groups_are_values = column.n_codes <= kGroups;
    if (groups_are_values && n_groups_ == 1) return false;
    FeatureSearch<S> search(node, feature);
    search.to_beat = best.score();
    const auto [first_edge, end_edge] = admissible_edges(search.limits);
    const GroupBounds bounds =
        node.scorer.bound_groups(before_group_, n_groups_, first_edge, end_edge, best.score());
    if (!bounds.any && n_groups_ > 1) return true;

    SortedRows rows{nullptr, 0};
    if (groups_are_values) {
      for (std::size_t g = 0; g < n_groups_; ++g) is_promising_[groups_[g]] = false;
    } else if (n_groups_ == 1) {  // it may have more than one value
      is_promising_[groups_[0]] = true;
      rows = sort_promising_rows(node, records, place);
      if (rows.value(0) == rows.value(rows.n - 1)) return false;
    } else if (mark_promising(bounds, search.limits)) {
      rows = sort_promising_rows(node, records, place);
    }

    const Found found = walk_groups_and_rows(search, bounds, rows);
    if (!search.may_win(found, best)) return true;
    Split split = split_of(search, found);
    if ((found.place & kEdge) != 0) {
      constexpr auto kLastFine = std::numeric_limits<std::uint16_t>::max();
      split.last_left_grouped = grouped_code(groups_[found.place ^ kEdge], kLastFine);
      split.group_right = groups_[(found.place ^ kEdge) + 1];
    } else {
      split.last_left_grouped = static_cast<GroupedCode>(rows.value(found.place - 1));
      split.group_right = static_cast<std::uint8_t>(split.last_left_grouped >> kFineBits);
    }
    best.offer(found.score, split);
    return true;
  }

  // Which groups must be searched value by value: those that may contain the best test, with enough rows on
  // either side of it.
  bool mark_promising(const GroupBounds& bounds, const Limits& limits) {
    const auto all_rows = static_cast<std::int64_t>(rows_before_[n_groups_]);
    bool some_promising = false;
    for (std::size_t g = 0; g < n_groups_; ++g) {
      const std::int64_t most_left = std::int64_t{rows_before_[g + 1]} - 1;
      const std::int64_t most_right = all_rows - rows_before_[g] - 1;
      const bool promising = rows_before_[g + 1] - rows_before_[g] > 1 &&
                             bounds.of_group[g] >= bounds.floor && most_left >= limits.min_rows &&
                             most_right >= limits.min_rows;
      is_promising_[groups_[g]] = promising;
      some_promising |= promising;
    }
    return some_promising;
  }

  // The range of edges between groups that leave enough rows on either side. Edge g is before group g.
  std::pair<std::size_t, std::size_t> admissible_edges(const Limits& limits) {
    const Step* before = before_group_.data();
    std::size_t first = 1;
    std::size_t end = n_groups_;
    if (!limits.bind) return {first, end};
    const auto is_enough = [&](std::int64_t rows, std::int64_t weight) {
      return rows >= limits.min_rows && weight >= limits.min_weight;
    };
    while (first < end && !is_enough(rows_before_[first], Walk::count_of(before[first]))) ++first;
    while (end > first && !is_enough(limits.node_rows - rows_before_[end - 1],
                                     limits.node_weight - Walk::count_of(before[end - 1])))
      --end;
    return {first, end};
  }

  // Sorts the rows of the promising groups by their codes; a row's payload is its place in the node.
  template <class Records>
  SortedRows sort_promising_rows(const Node<S>& node, const Records& records, RowRecords::Place place) {
    const std::size_t n = node.entries.size();
    SearchBuffers<S>& buffers = node.buffers;
    buffers.codes.grow_to(n);
    buffers.keys.grow_to(n);
    buffers.key_scratch.grow_to(n);
    Code* rows = buffers.codes.data();
    std::uint64_t* keys = buffers.keys.data();
    std::size_t n_rows = 0;
    const auto group = records.groups(place);
    for (std::size_t i = 0; i < n; ++i) {
      rows[n_rows] = static_cast<Code>(i);
      n_rows += is_promising_[group(i)];
    }
    GroupedCode lowest = ~GroupedCode{0};
    GroupedCode highest = 0;
    for (std::size_t k = 0; k < n_rows; ++k) {
      const GroupedCode code = place.grouped(records[rows[k]]);
      keys[k] = std::uint64_t{code} << 32 | rows[k];
      lowest = std::min(lowest, code);
      highest = std::max(highest, code);
    }
    return {sort_by_code(keys, buffers.key_scratch.data(), n_rows, lowest, highest), n_rows};
  }

  // Candidates are the promising edges between groups and, within promising groups, all places between different
  // values. Places are edges, or the number of the first sorted row on the right.
  Found walk_groups_and_rows(const FeatureSearch<S>& search, const GroupBounds& bounds,
                             const SortedRows& rows) {
    const Limits& limits = search.limits;
    Walk walk = start_walk(search, false, rows.n + n_groups_);
    const auto admits = [&](const Walk& here) { return !limits.bind || admissible(here, limits); };
    const Step* steps = search.node.buffers.steps.data();
    const Step* before = before_group_.data();
    Code* places = search.node.buffers.places.data();
    std::size_t next = 0;
    for (std::size_t g = 0; g < n_groups_; ++g) {
      const std::uint8_t group = groups_[g];
      if (!is_promising_[group]) {
        walk.move(before[g + 1] - before[g], rows_before_[g + 1] - rows_before_[g]);
      } else {
        const auto group_of = [&](std::size_t i) { return rows.value(i) >> kFineBits; };
        walk.move(steps[rows.payload(next)]);
        for (++next; next < rows.n && group_of(next) == group; ++next) {
          places[walk.n_candidates()] = static_cast<Code>(next);
          walk.add_candidate(rows.value(next) != rows.value(next - 1) && admits(walk));
          walk.move(steps[rows.payload(next)]);
        }
      }
      places[walk.n_candidates()] = kEdge | static_cast<Code>(g);
      walk.add_candidate(g + 1 < n_groups_ && bounds.of_edge[g + 1] >= bounds.floor && admits(walk));
    }
    return best_place(search, walk, false);
  }

  // Per feature that is counted; all zero between uses. Numbers of rows are counted, too, where the limits need them
  // and the cells do not tell them.
  std::array<std::array<Step, kGroups>, kCountedAtOnce> sums_{};
  std::array<std::array<std::uint32_t, kGroups>, kCountedAtOnce> rows_{};
  // For the listed feature: the groups that have rows, and the sums before each; the sums of the node come last.
  std::array<std::uint8_t, kGroups + 1> groups_;
  std::size_t n_groups_ = 0;
  criterion::CandidateList<Step> before_group_;
  std::array<std::uint32_t, kGroups + 1> rows_before_;
  std::array<bool, kGroups> is_promising_;  // by group: may hold the best test
};

// Sets the threshold: looks up the neighbouring values on its two sides.
template <class Records>
void finish_cut(const Column& column, const RowRecords& all, const Records& records, std::size_t n_rows,
                Split& split) {
  const RowRecords::Place place = all.place(split.feature);
  const auto group_left = static_cast<std::uint8_t>(split.last_left_grouped >> kFineBits);
  const std::uint8_t group_right = split.group_right;
  GroupedCode low = 0;
  GroupedCode high = ~GroupedCode{0};
  const auto group_of = records.groups(place);
  for (std::size_t i = 0; i < n_rows; ++i) {
    const std::uint8_t group = group_of(i);
    if (group != group_left && group != group_right) continue;
    const GroupedCode code = place.grouped(records[i]);
    if (code <= split.last_left_grouped) {
      low = std::max(low, code);
    } else {
      high = std::min(high, code);
    }
  }
  split.last_left = all.code(split.feature, low);
  split.first_right = all.code(split.feature, high);
  const double value = column.values[split.last_left];
  split.threshold = column.binned ? value : halfway(value, column.values[split.first_right]);
}

}  // namespace hornbeam::split
