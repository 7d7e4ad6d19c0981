// The best test of one feature by counting or by sorting its rows; bodies of TestFinder, see
// split/test_finder.h.
#pragma once

#include <algorithm>
#include <utility>

#include "base/radix.h"
#include "split/test_finder.h"

namespace hornbeam::split {

using criterion::Scorer;
using criterion::Walk;

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
    places[walk.n_candidates()] = code;
    walk.add_candidate(wanted);
    walk.move_cell(cell);
  }
  if (sends_missing() && !missing_left) {
    places[walk.n_candidates()] = kAfterLast;
    walk.add_candidate(!bound || admissible(walk, limits));
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
    places[walk.n_candidates()] = static_cast<Code>(i);
    walk.add_candidate(wanted);
    low = high;
  }
  if (sends_missing() && !missing_left) {
    walk.move(keys.step(n - 1));
    places[walk.n_candidates()] = static_cast<Code>(n);
    walk.add_candidate(!bound || admissible(walk, limits));
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

}  // namespace hornbeam::split
