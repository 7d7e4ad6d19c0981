// The bodies of TestFinder; see split.h.
#pragma once

#include <algorithm>
#include <array>
#include <utility>

#include "hornbeam/categories.h"
#include "hornbeam/split.h"

namespace hornbeam {

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
typename TestFinder<S>::Walk TestFinder<S>::start_walk(bool missing_left, std::size_t most_notes) {
  places_.start(most_notes);
  Walk walk = scorer_.start(tested_cell_, most_notes);
  if (missing_left) walk.move_cell(missing_cell_.data());
  return walk;
}

template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::best_place(const Walk& walk, bool missing_left) {
  const BestNote best = scorer_.best_note(walk, to_beat_);
  n_tests_ += static_cast<double>(walk.n_notes());
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
  left_out_ = scorer_.score_of_node(node_.data()) - scorer_.score_of_node(known_cell_.data());
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

// ---- counting

template <Scorer S>
bool TestFinder<S>::count_pays() const {
  // Cells must be cleared and walked, whether they hold rows or not, so there should not be many for the
  // rows.
  const std::size_t range = std::size_t{highest_} - lowest_ + 1;
  const std::size_t elements = range * static_cast<std::size_t>(scorer_.cell_size());
  return elements <= (entries_.size() > 24 ? 8 : 4) * entries_.size();
}

template <Scorer S>
void TestFinder<S>::make_cells(Code first, Code last) {
  const std::size_t n = (std::size_t{last} - first + 1) * static_cast<std::size_t>(scorer_.cell_size());
  if (cells_.size() < n) {
    cells_.grow_to(n);
    std::ranges::fill(cells_.span(), Element{0});
  }
  first_cell_ = first;
}

template <Scorer S>
bool TestFinder<S>::count(const Column& column) {
  lowest_ = 0;
  highest_ = column.n_codes - 1;
  missing_code_ = column.missing_code();
  n_missing_ = 0;
  make_cells(lowest_, highest_);
  const std::size_t size = static_cast<std::size_t>(scorer_.stats().cell_size());
  Element* cells = cells_.data();
  std::visit(
      [&](const auto& codes) {
        for (std::size_t i = 0; i < entries_.size(); ++i)
          scorer_.stats().add(cells + std::size_t{codes[entries_[i].row]} * size, payload(i));
      },
      column.codes);
  while (scorer_.is_empty(cell_of(lowest_))) ++lowest_;
  while (scorer_.is_empty(cell_of(highest_))) --highest_;
  counted_ = lowest_ != highest_;
  if (!counted_) clear_cells();
  return counted_;
}

template <Scorer S>
void TestFinder<S>::count_into_cells() {
  if (std::exchange(counted_, false)) return;
  make_cells(lowest_, highest_);
  const std::size_t size = static_cast<std::size_t>(scorer_.stats().cell_size());
  Element* cells = cells_.data();
  const auto& stats = scorer_.stats();
  if (n_missing_ == 0) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      stats.add(cells + std::size_t{codes_[i] - lowest_} * size, payload(i));
    }
  } else {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (codes_[i] == missing_code_) continue;
      stats.add(cells + std::size_t{codes_[i] - lowest_} * size, payload(i));
    }
  }
}

template <Scorer S>
void TestFinder<S>::clear_cells() {
  const std::size_t size = static_cast<std::size_t>(scorer_.stats().cell_size());
  std::fill_n(cell_of(lowest_), (std::size_t{highest_} - lowest_ + 1) * size, Element{0});
}

// Places are the code of the first cell on the right.
template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::walk_cells(const Limits& limits, bool missing_left) {
  const std::size_t size = static_cast<std::size_t>(scorer_.stats().cell_size());
  Walk walk = start_walk(missing_left, std::size_t{highest_} - lowest_ + 2);
  const bool bound = limits.bind;
  const Code lowest = lowest_;
  const Code highest = highest_;
  Code* places = places_.data();
  const Element* cell = cell_of(lowest);
  walk.move_cell(cell);  // the lowest code is present
  for (Code code = lowest + 1; code <= highest; ++code) {
    cell += size;
    bool wanted = !scorer_.is_empty(cell);
    if (bound) wanted = wanted && admissible(walk, limits);
    places[walk.n_notes()] = code;
    walk.note(wanted);
    walk.move_cell(cell);
  }
  if (sends_missing() && !missing_left) {
    places[walk.n_notes()] = kAfterLast;
    walk.note(!bound || admissible(walk, limits));
  }
  return best_place(walk, missing_left);
}

// ---- sorting

template <Scorer S>
void TestFinder<S>::sort_keys() {
  keys_.grow_to(entries_.size());
  key_scratch_.grow_to(entries_.size());
  std::size_t n_known = 0;
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (n_missing_ > 0 && codes_[i] == missing_code_) continue;
    keys_[n_known++] = std::uint64_t{codes_[i]} << 32 | payload(i);
  }
  n_sorted_ = n_known;
  sorted_ = sort_by_code(keys_.data(), key_scratch_.data(), n_known, lowest_, highest_);
}

// Rows with known values in ascending order: sorted for this node,
template <class Walk>
struct SortedKeys {
  const std::uint64_t* keys;
  std::size_t n;
  Code value(std::size_t i) const { return static_cast<Code>(keys[i] >> 32); }
  auto step(std::size_t i) const { return Walk::step_of(static_cast<std::uint32_t>(keys[i])); }
};
// or kept in order by the subtree.
template <class Walk>
struct PlacedKeys {
  const PlacedRank* keys;
  std::size_t n;
  const typename Walk::Step* step_at_place;
  Code value(std::size_t i) const { return rank_of(keys[i]); }
  auto step(std::size_t i) const { return step_at_place[place_of(keys[i])]; }
};

// Places are the number of keys on the left.
template <Scorer S>
template <class Keys>
typename TestFinder<S>::Found TestFinder<S>::walk_keys(const Keys& keys, const Limits& limits,
                                                       bool missing_left) {
  const std::size_t n = keys.n;
  Walk walk = start_walk(missing_left, n + 1);
  const bool bound = limits.bind;
  Code* places = places_.data();
  Code low = keys.value(0);
  for (std::size_t i = 1; i < n; ++i) {
    walk.move(keys.step(i - 1));
    const Code high = keys.value(i);
    bool wanted = low != high;
    if (bound) wanted = wanted && admissible(walk, limits);
    places[walk.n_notes()] = static_cast<Code>(i);
    walk.note(wanted);
    low = high;
  }
  if (sends_missing() && !missing_left) {
    walk.move(keys.step(n - 1));
    places[walk.n_notes()] = static_cast<Code>(n);
    walk.note(!bound || admissible(walk, limits));
  }
  return best_place(walk, missing_left);
}

// Missing values are tried on either side.
template <Scorer S>
template <class WalkOnce>
typename TestFinder<S>::Found TestFinder<S>::walk_both_ways(const WalkOnce& walk) {
  if (!sends_missing()) return walk(false);
  const Found left = walk(true);
  return merge_directions(left, walk(false));
}

template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::find_cut(const Limits& limits) {
  const bool counting = counted_ || count_pays();
  if (counting) {
    count_into_cells();
  } else {
    sort_keys();
  }
  Found found = walk_both_ways([&](bool missing_left) {
    return counting ? walk_cells(limits, missing_left)
                    : walk_keys(SortedKeys<Walk>{sorted_, n_sorted_}, limits, missing_left);
  });
  if (found.any) name_codes(found, counting);
  if (counting) clear_cells();
  return found;
}

// From a place to the two neighbouring codes that it parts.
template <Scorer S>
void TestFinder<S>::name_codes(Found& found, bool counted) {
  if (counted) {
    found.first_right = found.place;
    if (found.place == kAfterLast) return;
    found.last_left = found.place - 1;
    while (scorer_.is_empty(cell_of(found.last_left))) --found.last_left;
  } else {
    const SortedKeys<Walk> keys{sorted_, n_sorted_};
    found.last_left = keys.value(found.place - 1);
    found.first_right = found.place == keys.n ? kAfterLast : keys.value(found.place);
  }
}

// ---- categories

template <Scorer S>
void TestFinder<S>::make_groups() {
  const std::size_t size = static_cast<std::size_t>(scorer_.stats().cell_size());
  group_code_.clear();
  group_cells_.clear();
  if (count_pays()) {
    count_into_cells();
    for (Code code = lowest_; code <= highest_; ++code) {
      const Element* cell = cell_of(code);
      if (scorer_.stats().empty(cell)) continue;
      group_code_.push_back(code);
      group_cells_.insert(group_cells_.end(), cell, cell + size);
    }
    clear_cells();
    return;
  }
  sort_keys();
  for (std::size_t i = 0; i < n_sorted_; ++i) {
    const Code code = static_cast<Code>(sorted_[i] >> 32);
    if (group_code_.empty() || group_code_.back() != code) {
      group_code_.push_back(code);
      group_cells_.resize(group_cells_.size() + size, 0);
    }
    scorer_.stats().add(&group_cells_[group_cells_.size() - size], static_cast<std::uint32_t>(sorted_[i]));
  }
}

template <Scorer S>
void TestFinder<S>::order_groups() {
  const std::size_t n_groups = group_code_.size();
  const std::size_t size = static_cast<std::size_t>(scorer_.stats().cell_size());
  group_key_.resize(n_groups);
  if (const int classes = class_channels(scorer_.stats()); classes > 2) {
    leading_direction(group_cells_, size, classes, group_key_);
  } else {
    for (std::size_t g = 0; g < n_groups; ++g) group_key_[g] = scorer_.order_of(&group_cells_[g * size]);
  }
  round_to_grid(group_key_);
  group_order_.resize(n_groups);
  for (std::size_t g = 0; g < n_groups; ++g) group_order_[g] = static_cast<std::uint32_t>(g);
  std::stable_sort(group_order_.begin(), group_order_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return group_key_[a] < group_key_[b]; });
}

// Places are the number of groups on the left, less one.
template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::walk_groups(const Limits& limits, bool missing_left) {
  const std::size_t size = static_cast<std::size_t>(scorer_.stats().cell_size());
  const std::size_t n_groups = group_order_.size();
  const bool split_off_missing = sends_missing() && !missing_left;
  Walk walk = start_walk(missing_left, n_groups + 1);
  for (std::size_t g = 0; g + (split_off_missing ? 0 : 1) < n_groups; ++g) {
    walk.move_cell(&group_cells_[group_order_[g] * size]);
    places_.data()[walk.n_notes()] = static_cast<Code>(g);
    walk.note(!limits.bind || admissible(walk, limits));
  }
  return best_place(walk, missing_left);
}

// All ways to part a few categories in two, as masks in which bit g puts group g into branch 0; the first
// group always is there. Places are the masks; the one with all groups parts known values from missing ones.
template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::walk_masks(const Limits& limits, bool missing_left) {
  const std::size_t size = static_cast<std::size_t>(scorer_.stats().cell_size());
  const std::size_t n_groups = group_code_.size();
  const Code all = (Code{1} << n_groups) - 1;
  const Code end = sends_missing() && !missing_left ? all + 1 : all;
  Found best;
  for (Code mask = 1; mask < end; mask += 2) {
    Walk walk = start_walk(missing_left, 2);
    for (std::size_t g = 0; g < n_groups; ++g) {
      if ((mask >> g & 1) != 0) walk.move_cell(&group_cells_[g * size]);
    }
    walk.note(!limits.bind || admissible(walk, limits));
    *places_.data() = mask;
    keep_better(best, best_place(walk, missing_left));
  }
  return best;
}

template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::find_subset_exhaustively(const Limits& limits) {
  return walk_both_ways([&](bool missing_left) { return walk_masks(limits, missing_left); });
}

// However the best subset is found, it is the best of all.
inline double n_subsets(std::size_t n_groups, bool with_missing) {
  constexpr std::size_t kEnough = 1000;  // near the largest float64, and beyond any significance
  const double parted = std::ldexp(1.0, static_cast<int>(std::min(n_groups - 1, kEnough))) - 1;
  return with_missing ? 2 * parted + 1 : parted;
}

template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::find_subset(const Limits& limits) {
  make_groups();
  if (class_channels(scorer_.stats()) > 2 && group_code_.size() <= kExhaustiveCategories) {
    Found found = find_subset_exhaustively(limits);
    if (!found.any) return found;
    // Write the mask as an order and a place in it, as the other searches do.
    const Code mask = found.place;
    group_order_.clear();
    for (const bool left : {true, false}) {
      for (std::uint32_t g = 0; g < group_code_.size(); ++g) {
        if (((mask >> g & 1) != 0) == left) group_order_.push_back(g);
      }
    }
    found.place = static_cast<Code>(std::popcount(mask)) - 1;
    return found;
  }
  order_groups();
  return walk_both_ways([&](bool missing_left) { return walk_groups(limits, missing_left); });
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
void TestFinder<S>::write_categories(const Found& found, Split& split) const {
  for (std::size_t place = 0; place < group_order_.size(); ++place) {
    auto& side = place <= found.place ? split.left_categories : split.right_categories;
    side.push_back(group_code_[group_order_[place]]);
  }
  std::sort(split.left_categories.begin(), split.left_categories.end());
  std::sort(split.right_categories.begin(), split.right_categories.end());
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

// A set of categories drawn by coin flips; where that leaves a branch without rows, the last category changes
// sides.
template <Scorer S>
void TestFinder<S>::draw_categories(Stream& stream, Split& split) {
  make_groups();
  auto& left = split.left_categories;
  auto& right = split.right_categories;
  for (const Code code : group_code_) ((stream.next() >> 63) != 0 ? left : right).push_back(code);
  const auto move_last = [](std::vector<Code>& from, std::vector<Code>& to) {
    to.push_back(from.back());
    from.pop_back();
  };
  if (left.empty() && split.missing_branch != 0) move_last(right, left);
  if (right.empty() && split.missing_branch != 1) move_last(left, right);
}

// Uniform in value, or among the bins.
template <Scorer S>
void TestFinder<S>::draw_threshold(const Column& column, Stream& stream, Split& split) const {
  const double u = stream.unit();
  if (column.binned) {
    const Code low = lowest_ + static_cast<Code>(u * (highest_ - lowest_));
    split.threshold = column.values[low];
    split.first_right = low + 1;
    return;
  }
  split.threshold = random_threshold(column, column.values[lowest_], column.values[highest_], u);
  const auto first = column.values.begin() + lowest_;
  const auto last = column.values.begin() + highest_;  // known to lie above
  split.first_right = lowest_ + static_cast<Code>(std::upper_bound(first, last, split.threshold) - first);
}

// Moves the rows that go left. Which way a row goes is a matter of chance, so nothing branches on it.
template <Scorer S>
template <class GoesLeft>
void TestFinder<S>::move_left(Walk& walk, const GoesLeft& goes_left) {
  const std::size_t n = entries_.size();
  const Step* steps = steps_.data();
  if constexpr (requires { requires Walk::kStepsAdd; }) {
    Step sum{};
    for (std::size_t i = 0; i < n; ++i) sum += goes_left(i) ? steps[i] : Step{};
    walk.move(sum);
  } else {
    left_steps_.grow_to(n);
    Step* left = left_steps_.data();
    std::size_t n_left = 0;
    for (std::size_t i = 0; i < n; ++i) {
      left[n_left] = steps[i];
      n_left += goes_left(i);
    }
    for (std::size_t i = 0; i < n_left; ++i) walk.move(left[i]);
  }
}

template <Scorer S>
void TestFinder<S>::find_random(const Column& column, const Limits& limits, Stream& stream,
                                FirstBest<Split>& best, FeatureId feature) {
  const bool categorical = column.kind == ColumnKind::kCategorical;
  if (categorical && plan_.has_many_branches()) return find_best(column, limits, best, feature);
  Split split;
  split.feature = feature;
  split.n_missing = static_cast<std::uint32_t>(n_missing_);
  split.missing_branch = sends_missing() ? static_cast<std::int32_t>(stream.next() >> 63) : -1;
  if (known_only_ && n_missing_ > 0) compute_missing_cell();
  const Limits& known = leave_out_missing(limits);
  split.left_out_weight = left_out_weight_;
  if (lowest_ == highest_) {  // one known value: only known against missing is left
    split.missing_branch = 1;
    if (!categorical) split.threshold = kInfinity;
    split.first_right = column.n_codes;
    if (categorical) write_known(split);
  } else if (categorical && plan_.split() != CategoricalSplit::kSubset) {
    draw_encoded(feature, stream, split);
  } else if (categorical) {
    draw_categories(stream, split);
  } else {
    draw_threshold(column, stream, split);
  }
  to_beat_ = -kInfinity;
  Walk walk = start_walk(false, 2);
  const bool missing_left = split.missing_branch == 0;
  const Code missing = n_missing_ > 0 ? missing_code_ : kAfterLast;
  const Code* codes = codes_.data();
  if (split.categories.kind != CategoryTest::Kind::kListed) {
    move_left(walk, [&](std::size_t i) {
      return codes[i] == missing ? missing_left : plan_.branch(feature, split.categories, codes[i]) == 0;
    });
  } else if (categorical) {
    move_left(walk, [&](std::size_t i) {
      return codes[i] == missing ? missing_left : std::ranges::binary_search(split.left_categories, codes[i]);
    });
  } else if (n_missing_ == 0) {
    const Code first_right = split.first_right;
    move_left(walk, [=](std::size_t i) { return codes[i] < first_right; });
  } else {
    const Code first_right = split.first_right;
    move_left(walk,
              [=](std::size_t i) { return codes[i] == missing ? missing_left : codes[i] < first_right; });
  }
  offer_drawn(walk, known, split, best);
}

template <Scorer S>
void TestFinder<S>::offer_drawn(Walk& walk, const Limits& limits, Split split, FirstBest<Split>& best) {
  walk.note(!limits.bind || admissible(walk, limits));
  const Found found = best_place(walk, false);
  split.left_weight = found.left_weight;
  if (found.any) best.offer(found.score + left_out_, split);
}

template <Scorer S>
template <class Values>
bool TestFinder<S>::find_random(const Values& values, const Column& column, const Limits& limits,
                                Stream stream, FirstBest<Split>& best, FeatureId feature) {
  const std::size_t n = entries_.size();
  values_.grow_to(n);
  double* value = values_.data();
  double least = kInfinity;
  double largest = -kInfinity;
  for (std::size_t i = 0; i < n; ++i) {
    const double here = values[i];
    value[i] = here;
    least = std::min(least, here);
    largest = std::max(largest, here);
  }
  if (least == largest) return false;
  n_missing_ = 0;
  leave_out_missing(limits);
  Split split;
  split.feature = feature;
  split.threshold = random_threshold(column, least, largest, stream.unit());
  to_beat_ = -kInfinity;
  Walk walk = start_walk(false, 2);
  move_left(walk, [value, threshold = split.threshold](std::size_t i) { return value[i] <= threshold; });
  offer_drawn(walk, limits, split, best);
  return true;
}

}  // namespace hornbeam
