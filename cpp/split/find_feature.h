// The bodies of TestFinder that every way to find a test needs: the node at hand, and a feature's answer. See
// split/test_finder.h.
#pragma once

#include <algorithm>

#include "split/find_cuts.h"
#include "split/find_subsets.h"
#include "split/test_finder.h"

namespace hornbeam::split {

using criterion::BestCandidate;
using criterion::Scorer;
using criterion::tie_slack;
using criterion::Walk;
using data::codes_at_or_below;
using data::halfway;

// Copies the codes of the rows side by side. A function of its own so that the running extremes stay in
// registers.
template <class CodeAt>
CodeRange gather_codes(std::size_t n, CodeAt code_at, Code* out) {
  Code lowest = ~Code{0};
  Code highest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Code code = code_at(i);
    out[i] = code;
    lowest = std::min(lowest, code);
    highest = std::max(highest, code);
  }
  return {lowest, highest};
}

// ---- the node at hand

template <Scorer S>
void TestFinder<S>::add_up(std::span<const Entry> entries, std::vector<Element>& cell) {
  Stats& stats = scorer_.stats();
  stats.load(entries);
  cell.assign(static_cast<std::size_t>(stats.cell_size()), Element{0});
  stats.add_all(cell.data(), entries);
}

template <Scorer S>
void TestFinder<S>::load(std::span<const Entry> entries, const std::vector<Element>& cell) {
  entries_ = entries;
  node_ = cell;
  Stats& stats = scorer_.stats();
  stats.load(entries);
  steps_.grow_to(entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) steps_[i] = Walk::step_of(payload(i));
}

template <Scorer S>
bool TestFinder<S>::gather(const Column& column) {
  codes_.grow_to(entries_.size());
  const Entry* entries = entries_.data();
  const CodeRange range = std::visit(
      [&](const auto& codes) {
        const auto* of_row = codes.data();
        const auto code_at = [=](std::size_t i) { return of_row[entries[i].row]; };
        return gather_codes(entries_.size(), code_at, codes_.data());
      },
      column.codes);
  return set_range(column, range);
}

template <Scorer S>
bool TestFinder<S>::gather(const Column& column, const KeptCodes& codes) {
  codes_.grow_to(entries_.size());
  return set_range(column,
                   gather_codes(entries_.size(), [codes](std::size_t i) { return codes[i]; }, codes_.data()));
}

template <Scorer S>
bool TestFinder<S>::set_range(const Column& column, const CodeRange& range) {
  missing_code_ = column.missing_code();
  lowest_ = range.lowest;
  highest_ = range.highest;
  n_missing_ = 0;
  if (highest_ == missing_code_) {
    const Code* codes = codes_.data();
    highest_ = lowest_;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (codes[i] == missing_code_) {
        ++n_missing_;
      } else {
        highest_ = std::max(highest_, codes[i]);
      }
    }
  }
  return lowest_ != highest_ || (sends_missing() && n_missing_ < entries_.size());
}

template <Scorer S>
bool TestFinder<S>::admissible(const Walk& walk, const Limits& limits) const {
  const std::int64_t left_rows = walk.left_rows();
  if (left_rows < limits.min_rows || limits.node_rows - left_rows < limits.min_rows) return false;
  if (limits.min_weight > 0) {
    const std::int64_t left_weight = walk.left_weight();
    if (left_weight < limits.min_weight || limits.node_weight - left_weight < limits.min_weight) return false;
  }
  if (limits.direction != 0) {
    const double left = walk.left_value();
    const double right = walk.right_value();
    if (left < limits.lower || left > limits.upper || right < limits.lower || right > limits.upper)
      return false;
    if ((limits.direction > 0 && left > right) || (limits.direction < 0 && left < right)) return false;
  }
  return true;
}

// A walk with all rows on the right, or with the missing ones already on the left.
template <Scorer S>
typename TestFinder<S>::Walk TestFinder<S>::start_walk(bool missing_left, std::size_t most_candidates) {
  places_.start(most_candidates);
  Walk walk = scorer_.start(tested_cell_, most_candidates);
  if (missing_left) walk.move_cell(missing_cell_.data());
  return walk;
}

template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::best_place(const Walk& walk, bool missing_left) {
  const BestCandidate best = scorer_.best_candidate(walk, to_beat_);
  n_tests_ += static_cast<double>(walk.n_candidates());
  if (!best.found) return {};
  Found found{best.score, places_.data()[best.index], missing_left, true};
  if constexpr (requires { scorer_.left_weight_of(best.index); }) {
    found.left_weight = scorer_.left_weight_of(best.index);
  }
  return found;
}

template <Scorer S>
void TestFinder<S>::compute_missing_cell() {
  missing_cell_.assign(node_.size(), 0);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (codes_[i] == missing_code_) scorer_.stats().add(missing_cell_.data(), payload(i));
  }
}

// Tests of the feature at hand are about the rows that take part in them. What the others score is the same
// for all tests of a feature, but not for those of another: it is kept, so that gains can be compared.
template <Scorer S>
const Limits& TestFinder<S>::leave_out_missing(const Limits& limits) {
  tested_cell_ = node_.data();
  left_out_ = 0.0;
  left_out_weight_ = 0;
  if (n_missing_ == 0 || !known_only_) return limits;
  known_cell_ = node_;
  tested_cell_ = known_cell_.data();
  for (std::size_t i = 0; i < node_.size(); ++i) known_cell_[i] -= missing_cell_[i];
  left_out_ = scorer_.score_of_node(node_.data());
  left_out_ -= scorer_.score_of_node(known_cell_.data());  // last: it is the node that the tests are about
  left_out_weight_ = scorer_.stats().weight(missing_cell_.data());
  known_limits_ = limits;
  known_limits_.node_rows = scorer_.stats().rows(known_cell_.data());
  known_limits_.node_weight = scorer_.stats().weight(known_cell_.data());
  return known_limits_;
}

// The better of the two directions for missing values; of equals the lower threshold, then left.
template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::merge_directions(const Found& missing_left,
                                                              const Found& missing_right) const {
  if (!missing_left.any || !missing_right.any) return missing_left.any ? missing_left : missing_right;
  const double a = missing_left.score;
  const double b = missing_right.score;
  const double slack = tie_slack(std::max(std::abs(a), std::abs(b)), tie_scale());
  if (b > a + slack) return missing_right;
  if (a > b + slack) return missing_left;
  Found found = missing_right.place < missing_left.place ? missing_right : missing_left;
  found.score = std::max(a, b);
  return found;
}

// ---- a feature's answer

template <Scorer S>
Split TestFinder<S>::split_of(const Found& found, FeatureId feature) const {
  Split split;
  split.feature = feature;
  split.missing_branch = !sends_missing() ? -1 : found.missing_left ? 0 : 1;
  split.n_missing = static_cast<std::uint32_t>(n_missing_);
  split.left_out_weight = left_out_weight_;
  split.n_tests = n_tests_;
  split.left_weight = found.left_weight;
  return split;
}

template <Scorer S>
void TestFinder<S>::find_best(const Column& column, const Limits& limits, FirstBest<Split>& best,
                              FeatureId feature) {
  if (n_missing_ > 0) compute_missing_cell();
  const Limits& known = leave_out_missing(limits);
  const bool categorical = column.kind == ColumnKind::kCategorical;
  if (categorical && plan_.has_many_branches()) return find_branches(known, best, feature);
  // Tests that are compared with others of the feature, by direction or by subset, must all be told apart.
  to_beat_ = categorical || n_missing_ > 0 ? -kInfinity : best.score();
  n_tests_ = 0.0;
  const Found found = categorical ? find_categories(feature, known) : find_cut(known);
  if (!found.any || (best.found() && !(found.score + left_out_ > best.score()))) return;
  Split split = split_of(found, feature);
  if (categorical) {
    split.categories = found.categories;
    if (split.categories.kind == CategoryTest::Kind::kListed) {
      split.n_tests = n_subsets(group_code_.size(), sends_missing());
      write_categories(found, split);
    }
  } else {
    split.last_left = found.last_left;
    split.first_right = found.first_right;
  }
  best.offer(found.score + left_out_, split);
}

template <Scorer S>
bool TestFinder<S>::find_best(const Column& column, OrderedRows rows, const Limits& limits,
                              FirstBest<Split>& best, FeatureId feature) {
  if (rank_of(rows.keys[0]) == rank_of(rows.keys[rows.n - 1])) return false;
  const Step* step_at_place = steps_.data() - rows.first;
  n_missing_ = 0;
  if (column.has_missing && code_of(column, rows, rows.n - 1) == column.missing_code()) {
    const std::uint32_t missing = rank_of(rows.keys[rows.n - 1]);
    missing_cell_.assign(node_.size(), 0);
    for (; rank_of(rows.keys[rows.n - 1]) == missing; --rows.n, ++n_missing_) {
      scorer_.stats().add(missing_cell_.data(), payload(place_of(rows.keys[rows.n - 1]) - rows.first));
    }
    if (known_only_ && rank_of(rows.keys[0]) == rank_of(rows.keys[rows.n - 1])) return false;
  }
  const Limits& known = leave_out_missing(limits);
  to_beat_ = n_missing_ > 0 ? -kInfinity : best.score();
  n_tests_ = 0.0;
  const Found found = walk_both_ways([&](bool missing_left) {
    return walk_keys(PlacedKeys<Walk>{rows.keys, rows.n, step_at_place}, known, missing_left);
  });
  if (!found.any || (best.found() && !(found.score + left_out_ > best.score()))) return true;
  Split split = split_of(found, feature);
  split.n_known_left = found.place;
  best.offer(found.score + left_out_, split);
  return true;
}

template <Scorer S>
Code TestFinder<S>::code_of(const Column& column, const OrderedRows& rows, std::size_t i) const {
  return column.code(entries_[place_of(rows.keys[i]) - rows.first].row);
}

template <Scorer S>
void TestFinder<S>::finish(const Column& column, const OrderedRows& rows, Split& split) const {
  if (split.n_known_left + split.n_missing == rows.n) {
    split.threshold = kInfinity;
  } else {
    const Code low = code_of(column, rows, split.n_known_left - 1);
    const Code high = code_of(column, rows, split.n_known_left);
    split.threshold = column.binned ? column.values[low] : halfway(column.values[low], column.values[high]);
  }
}

template <Scorer S>
void TestFinder<S>::finish(const Column& column, Split& split) const {
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

}  // namespace hornbeam::split
