// The best test of a numeric feature by its coarse codes; bodies of TestFinder, see split/test_finder.h and
// data/row_records.h.
//
// The score of a test is convex in what lies left of it, for every criterion that counts two classes. Walking
// through a group of values, the counts on the left stay within a box: between those before the group and
// those after it, for either class. A convex function is largest at a corner of the box. Groups whose corners
// do not reach the best of the edges between groups hold no best test.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "split/test_finder.h"

namespace hornbeam::split {

using criterion::BoundsGroups;
using criterion::GroupBounds;
using criterion::Scorer;
using criterion::Walk;
using data::grouped_code;
using data::GroupedCode;
using data::halfway;
using data::kFineBits;
using data::kGroups;
using data::RowRecords;

// A place between two groups, not between two rows.
inline constexpr Code kEdge = Code{1} << 31;

template <Scorer S>
template <class Records>
void TestFinder<S>::count_groups(const Records& records, std::span<const RowRecords::Place> places)
  requires BoundsGroups<S>
{
  const std::size_t n = entries_.size();
  const Step* steps = steps_.data();
  const auto count = [&](auto n_places) {  // known to the compiler
    const auto group = [&]<std::size_t... k>(std::index_sequence<k...>) {
      return std::array{records.groups(places[k])...};
    }(std::make_index_sequence<decltype(n_places)::value>{});
    for (std::size_t i = 0; i < n; ++i) {
      const Step step = steps[i];
      for (std::size_t k = 0; k < n_places; ++k) group_sums_[k][group[k](i)] += step;
    }
    if (!scorer_.stats().counts_rows()) return;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < n_places; ++k) ++group_rows_[k][group[k](i)];
    }
  };
  static_assert(kCountedAtOnce == 4);
  switch (places.size()) {
    case 1:
      return count(std::integral_constant<std::size_t, 1>{});
    case 2:
      return count(std::integral_constant<std::size_t, 2>{});
    case 3:
      return count(std::integral_constant<std::size_t, 3>{});
    default:
      return count(std::integral_constant<std::size_t, 4>{});
  }
}

// Lists the groups that have rows, and forgets their sums.
template <Scorer S>
void TestFinder<S>::list_groups(std::size_t counted) {
  std::array<Step, kGroups>& sums = group_sums_[counted];
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
  if (!scorer_.stats().counts_rows()) {
    for (std::size_t g = 0; g <= n_groups; ++g) rows_before_[g] = Walk::count_of(before[g]);
    return;
  }
  rows_before_[0] = 0;
  for (std::size_t g = 0; g < n_groups; ++g)
    rows_before_[g + 1] = rows_before_[g] + std::exchange(group_rows_[counted][groups[g]], 0);
}

// Which groups must be looked at value by value: those that may hold a test that is the best, and large enough
// on either side.
template <Scorer S>
bool TestFinder<S>::mark_hopeful(const GroupBounds& bounds, const Limits& limits) {
  const auto all_rows = static_cast<std::int64_t>(rows_before_[n_groups_]);
  bool some_hopeful = false;
  for (std::size_t g = 0; g < n_groups_; ++g) {
    const std::int64_t most_left = std::int64_t{rows_before_[g + 1]} - 1;
    const std::int64_t most_right = all_rows - rows_before_[g] - 1;
    const bool hopeful = rows_before_[g + 1] - rows_before_[g] > 1 && bounds.of_group[g] >= bounds.floor &&
                         most_left >= limits.min_rows && most_right >= limits.min_rows;
    is_hopeful_[groups_[g]] = hopeful;
    some_hopeful |= hopeful;
  }
  return some_hopeful;
}

// The edges between groups, from the first to before the end, that leave either side as large as it must be.
// Edge g is before group g.
template <Scorer S>
std::pair<std::size_t, std::size_t> TestFinder<S>::admissible_edges(const Limits& limits) {
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

// Sorts the rows of the hopeful groups by their codes.
template <Scorer S>
template <class Records>
void TestFinder<S>::sort_hopeful_rows(const Records& records, RowRecords::Place place) {
  const std::size_t n = entries_.size();
  codes_.grow_to(n);
  keys_.grow_to(n);
  key_scratch_.grow_to(n);
  Code* rows = codes_.data();
  std::size_t n_rows = 0;
  const auto group = records.groups(place);
  for (std::size_t i = 0; i < n; ++i) {
    rows[n_rows] = static_cast<Code>(i);
    n_rows += is_hopeful_[group(i)];
  }
  GroupedCode lowest = ~GroupedCode{0};
  GroupedCode highest = 0;
  for (std::size_t k = 0; k < n_rows; ++k) {
    const GroupedCode code = place.grouped(records[rows[k]]);
    keys_[k] = std::uint64_t{code} << 32 | rows[k];
    lowest = std::min(lowest, code);
    highest = std::max(highest, code);
  }
  n_sorted_ = n_rows;
  sorted_ = sort_by_code(keys_.data(), key_scratch_.data(), n_rows, lowest, highest);
}

// Candidates are the hopeful edges between groups and, within hopeful groups, all places between different
// values. Places are edges, or the number of the first sorted row on the right.
template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::walk_groups_and_rows(const GroupBounds& bounds,
                                                                  const Limits& limits) {
  Walk walk = start_walk(false, n_sorted_ + n_groups_);
  const auto admits = [&](const Walk& here) { return !limits.bind || admissible(here, limits); };
  const Step* before = before_group_.data();
  Code* places = places_.data();
  std::size_t next = 0;
  for (std::size_t g = 0; g < n_groups_; ++g) {
    const std::uint8_t group = groups_[g];
    if (!is_hopeful_[group]) {
      walk.move(before[g + 1] - before[g], rows_before_[g + 1] - rows_before_[g]);
    } else {
      const auto group_of = [&](std::size_t i) { return sorted_[i] >> (32 + kFineBits); };
      const auto row_of = [&](std::size_t i) { return static_cast<std::uint32_t>(sorted_[i]); };
      walk.move(steps_[row_of(next)]);
      for (++next; next < n_sorted_ && group_of(next) == group; ++next) {
        places[walk.n_candidates()] = static_cast<Code>(next);
        walk.add_candidate(sorted_[next] >> 32 != sorted_[next - 1] >> 32 && admits(walk));
        walk.move(steps_[row_of(next)]);
      }
    }
    places[walk.n_candidates()] = kEdge | static_cast<Code>(g);
    walk.add_candidate(g + 1 < n_groups_ && bounds.of_edge[g + 1] >= bounds.floor && admits(walk));
  }
  return best_place(walk, false);
}

template <Scorer S>
template <class Records>
bool TestFinder<S>::find_best(const Column& column, const Records& records, RowRecords::Place place,
                              std::size_t counted, const Limits& limits, FirstBest<Split>& best,
                              FeatureId feature)
  requires BoundsGroups<S>
{
  list_groups(counted);
  const bool groups_are_values = column.n_codes <= kGroups;
  if (groups_are_values && n_groups_ == 1) return false;
  const auto [first_edge, end_edge] = admissible_edges(limits);
  const GroupBounds bounds =
      scorer_.bound_groups(before_group_, n_groups_, first_edge, end_edge, best.score());
  if (!bounds.any && n_groups_ > 1) return true;

  n_sorted_ = 0;
  if (groups_are_values) {
    for (std::size_t g = 0; g < n_groups_; ++g) is_hopeful_[groups_[g]] = false;
  } else if (n_groups_ == 1) {  // to see whether it has more than one value
    is_hopeful_[groups_[0]] = true;
    sort_hopeful_rows(records, place);
    if (sorted_[0] >> 32 == sorted_[n_sorted_ - 1] >> 32) return false;
  } else if (mark_hopeful(bounds, limits)) {
    sort_hopeful_rows(records, place);
  }

  tested_cell_ = node_.data();
  n_missing_ = 0;
  left_out_weight_ = 0;
  n_tests_ = 0.0;
  to_beat_ = best.score();
  const Found found = walk_groups_and_rows(bounds, limits);
  if (!found.any || (best.found() && !(found.score > best.score()))) return true;
  Split split = split_of(found, feature);
  if ((found.place & kEdge) != 0) {
    constexpr auto kLastFine = std::numeric_limits<std::uint16_t>::max();
    split.last_left_grouped = grouped_code(groups_[found.place ^ kEdge], kLastFine);
    split.group_right = groups_[(found.place ^ kEdge) + 1];
  } else {
    split.last_left_grouped = static_cast<GroupedCode>(sorted_[found.place - 1] >> 32);
    split.group_right = static_cast<std::uint8_t>(split.last_left_grouped >> kFineBits);
  }
  best.offer(found.score, split);
  return true;
}

// Looks up the neighbouring values that the test parts.
template <Scorer S>
template <class Records>
void TestFinder<S>::finish(const Column& column, const RowRecords& all, const Records& records,
                           Split& split) const {
  const RowRecords::Place place = all.place(split.feature);
  const auto group_left = static_cast<std::uint8_t>(split.last_left_grouped >> kFineBits);
  const std::uint8_t group_right = split.group_right;
  GroupedCode low = 0;
  GroupedCode high = ~GroupedCode{0};
  const auto group_of = records.groups(place);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
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
