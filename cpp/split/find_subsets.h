// The best subset of a node's categories; bodies of TestFinder, see split/test_finder.h.
#pragma once

#include <algorithm>
#include <cmath>

#include "split/category_order.h"
#include "split/test_finder.h"

namespace hornbeam::split {

using criterion::Scorer;
using criterion::Walk;

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
    places_.data()[walk.n_candidates()] = static_cast<Code>(g);
    walk.add_candidate(!limits.bind || admissible(walk, limits));
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
    walk.add_candidate(!limits.bind || admissible(walk, limits));
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
  const double n_ways = std::ldexp(1.0, static_cast<int>(std::min(n_groups - 1, kEnough))) - 1;
  return with_missing ? 2 * n_ways + 1 : n_ways;
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

template <Scorer S>
void TestFinder<S>::write_categories(const Found& found, Split& split) const {
  for (std::size_t place = 0; place < group_order_.size(); ++place) {
    auto& side = place <= found.place ? split.left_categories : split.right_categories;
    side.push_back(group_code_[group_order_[place]]);
  }
  std::sort(split.left_categories.begin(), split.left_categories.end());
  std::sort(split.right_categories.begin(), split.right_categories.end());
}

}  // namespace hornbeam::split
