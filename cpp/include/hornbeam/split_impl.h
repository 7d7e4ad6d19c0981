// The bodies of TestFinder; see split.h.
#pragma once

#include <algorithm>
#include <array>

#include "hornbeam/categories.h"
#include "hornbeam/split.h"

namespace hornbeam {

template <Scorer S>
bool TestFinder<S>::gather(const Column& column) {
  missing_code_ = column.missing_code();
  const std::size_t n = entries_.size();
  Code* out = codes_.data();
  Code lowest = ~Code{0};
  Code highest = 0;
  std::visit(
      [&](const auto& codes) {
        const auto* column_codes = codes.data();
        for (std::size_t i = 0; i < n; ++i) {
          const Code code = column_codes[entries_[i].row];
          out[i] = code;
          lowest = std::min(lowest, code);
          highest = std::max(highest, code);
        }
      },
      column.codes);
  lowest_ = lowest;
  n_missing_ = 0;
  if (highest == missing_code_) {
    highest = lowest;
    for (std::size_t i = 0; i < n; ++i) {
      if (out[i] == missing_code_) {
        ++n_missing_;
      } else {
        highest = std::max(highest, out[i]);
      }
    }
  }
  highest_ = highest;
  return lowest_ != highest_ || (n_missing_ > 0 && n_missing_ < n);
}

template <Scorer S>
bool TestFinder<S>::admissible(const Limits& limits) const {
  const std::int64_t left_rows = scorer_.left_rows();
  if (left_rows < limits.min_rows || limits.node_rows - left_rows < limits.min_rows) return false;
  if (limits.min_weight > 0) {
    const std::int64_t left_weight = scorer_.left_weight();
    if (left_weight < limits.min_weight || limits.node_weight - left_weight < limits.min_weight) return false;
  }
  if (limits.direction != 0) {
    const double left = scorer_.left_value();
    const double right = scorer_.right_value();
    if (left < limits.lower || left > limits.upper || right < limits.lower || right > limits.upper)
      return false;
    if ((limits.direction > 0 && left > right) || (limits.direction < 0 && left < right)) return false;
  }
  return true;
}

template <Scorer S>
void TestFinder<S>::compute_missing_cell() {
  missing_cell_.assign(node_.size(), 0);
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    if (codes_[i] == missing_code_) {
      scorer_.stats().add(missing_cell_.data(), scorer_.stats().sort_payload(entries_[i], i));
    }
  }
}

template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::merge_directions(const FirstBest<Cut>& missing_left,
                                                              const FirstBest<Cut>& missing_right) const {
  const auto take = [](const FirstBest<Cut>& best, bool left) {
    return Found{best.score(), best.winner(), left, true};
  };
  if (!missing_left.found()) return missing_right.found() ? take(missing_right, false) : Found{};
  if (!missing_right.found()) return take(missing_left, true);
  const double a = missing_left.score();
  const double b = missing_right.score();
  const double slack = tie_slack(std::max(std::abs(a), std::abs(b)), tie_scale());
  if (b > a + slack) return take(missing_right, false);
  if (a > b + slack) return take(missing_left, true);
  const bool right_is_lower = missing_right.winner().low < missing_left.winner().low;
  Found found = take(right_is_lower ? missing_right : missing_left, !right_is_lower);
  found.score = std::max(a, b);
  return found;
}

// ---- counting

template <Scorer S>
bool TestFinder<S>::count_pays() const {
  const std::size_t range = std::size_t{highest_} - lowest_ + 1;
  const std::size_t n = entries_.size();
  return n > kInsertionRows ? range <= 4 * n : range <= 2 * n;
}

template <Scorer S>
void TestFinder<S>::count_into_cells() {
  const std::size_t size = static_cast<std::size_t>(scorer_.stats().cell_size());
  const std::size_t range = std::size_t{highest_} - lowest_ + 1;
  if (cells_.size() < range * size) cells_ = Buffer<Element>::zeros(range * size);
  const auto& stats = scorer_.stats();
  if (n_missing_ == 0) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      stats.add(&cells_[(codes_[i] - lowest_) * size], stats.sort_payload(entries_[i], i));
    }
  } else {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (codes_[i] == missing_code_) continue;
      stats.add(&cells_[(codes_[i] - lowest_) * size], stats.sort_payload(entries_[i], i));
    }
  }
}

template <Scorer S>
void TestFinder<S>::clear_cells() {
  const std::size_t size = static_cast<std::size_t>(scorer_.stats().cell_size());
  std::fill_n(cells_.data(), (std::size_t{highest_} - lowest_ + 1) * size, Element{0});
}

template <Scorer S>
FirstBest<Cut> TestFinder<S>::walk_cells(const Limits& limits, bool missing_left) {
  FirstBest<Cut> best(tie_scale());
  start_walk(missing_left);
  const std::size_t size = static_cast<std::size_t>(scorer_.stats().cell_size());
  Code previous = lowest_;  // the lowest code is present
  scorer_.move_cell(&cells_[0]);
  for (Code code = lowest_ + 1; code <= highest_; ++code) {
    const Element* cell = &cells_[(code - lowest_) * size];
    if (scorer_.stats().empty(cell)) continue;
    offer_cut(best, limits, {previous, code});
    scorer_.move_cell(cell);
    previous = code;
  }
  if (n_missing_ > 0 && !missing_left) offer_cut(best, limits, {previous, kAfterLast});
  return best;
}

// ---- sorting

inline void insertion_sort_by_code(std::uint64_t* keys, std::size_t n) {
  for (std::size_t i = 1; i < n; ++i) {
    const std::uint64_t key = keys[i];
    std::size_t j = i;
    while (j > 0 && (keys[j - 1] >> 32) > (key >> 32)) {
      keys[j] = keys[j - 1];
      --j;
    }
    keys[j] = key;
  }
}

// One pass into about as many buckets as rows, over the node's own range of codes; then neighbours are nearly
// in place.
inline std::uint64_t* bucket_sort_by_code(std::uint64_t* keys, std::uint64_t* scratch, std::size_t n,
                                          Code lowest, Code highest) {
  constexpr std::size_t kMaxBuckets = 4096;
  constexpr std::uint32_t kCrowded = 48;
  std::array<std::uint32_t, kMaxBuckets> start;
  const int range_bits = std::bit_width(highest - lowest);
  const int bucket_bits = std::min(static_cast<int>(std::bit_width(n)), 12);
  const int shift = std::max(0, range_bits - bucket_bits);
  const std::size_t n_buckets = (std::size_t{highest - lowest} >> shift) + 1;
  std::fill_n(start.data(), n_buckets, 0u);
  const auto bucket = [=](std::uint64_t key) {
    return static_cast<std::size_t>((key >> 32) - lowest) >> shift;
  };
  for (std::size_t i = 0; i < n; ++i) ++start[bucket(keys[i])];
  std::uint32_t sum = 0;
  std::uint32_t most = 0;
  for (std::size_t b = 0; b < n_buckets; ++b) {
    most = std::max(most, start[b]);
    sum += std::exchange(start[b], sum);
  }
  for (std::size_t i = 0; i < n; ++i) scratch[start[bucket(keys[i])]++] = keys[i];
  if (shift == 0) return scratch;  // a bucket per code: sorted
  if (most <= kCrowded) {
    insertion_sort_by_code(scratch, n);
  } else {
    std::uint32_t begin = 0;
    for (std::size_t b = 0; b < n_buckets; ++b) {
      const std::uint32_t end = start[b];  // the pass above moved each start to its end
      if (end - begin <= kCrowded) {
        insertion_sort_by_code(scratch + begin, end - begin);
      } else {
        std::stable_sort(scratch + begin, scratch + end,
                         [](std::uint64_t a, std::uint64_t b) { return (a >> 32) < (b >> 32); });
      }
      begin = end;
    }
  }
  return scratch;
}

template <Scorer S>
void TestFinder<S>::sort_keys() {
  const std::size_t n = entries_.size();
  keys_.grow_to(n);
  key_scratch_.grow_to(n);
  const auto& stats = scorer_.stats();
  std::size_t n_known = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (n_missing_ > 0 && codes_[i] == missing_code_) continue;
    keys_[n_known++] = std::uint64_t{codes_[i]} << 32 | stats.sort_payload(entries_[i], i);
  }
  n_sorted_ = n_known;
  sorted_ = keys_.data();
  if (n_known <= kInsertionRows) {
    insertion_sort_by_code(keys_.data(), n_known);
  } else if (n_known <= kBucketRows) {
    sorted_ = bucket_sort_by_code(keys_.data(), key_scratch_.data(), n_known, lowest_, highest_);
  } else {
    const Code lowest = lowest_;
    sorted_ = radix_sort(keys_.data(), key_scratch_.data(), n_known, std::bit_width(highest_ - lowest_),
                         [lowest](std::uint64_t key) { return static_cast<Code>(key >> 32) - lowest; });
  }
}

template <Scorer S>
FirstBest<Cut> TestFinder<S>::walk_keys(const Limits& limits, bool missing_left) {
  FirstBest<Cut> best(tie_scale());
  start_walk(missing_left);
  const std::uint64_t* keys = sorted_;
  for (std::size_t i = 0; i + 1 < n_sorted_; ++i) {
    scorer_.move(static_cast<std::uint32_t>(keys[i]));
    const Code low = static_cast<Code>(keys[i] >> 32);
    const Code high = static_cast<Code>(keys[i + 1] >> 32);
    if (low != high) offer_cut(best, limits, {low, high});
  }
  if (n_missing_ > 0 && !missing_left) {
    scorer_.move(static_cast<std::uint32_t>(keys[n_sorted_ - 1]));
    offer_cut(best, limits, {static_cast<Code>(keys[n_sorted_ - 1] >> 32), kAfterLast});
  }
  return best;
}

template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::find_cut(const Limits& limits) {
  const bool counting = count_pays();
  if (counting) {
    count_into_cells();
  } else {
    sort_keys();
  }
  const auto walk = [&](bool missing_left) {
    return counting ? walk_cells(limits, missing_left) : walk_keys(limits, missing_left);
  };
  Found found;
  if (n_missing_ == 0) {
    const FirstBest<Cut> best = walk(false);
    if (best.found()) found = {best.score(), best.winner(), false, true};
  } else {
    const FirstBest<Cut> left = walk(true);
    found = merge_directions(left, walk(false));
  }
  if (counting) clear_cells();
  return found;
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
      const Element* cell = &cells_[(code - lowest_) * size];
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

// Means that are equal on paper may differ in their last bits; on a coarser grid they are equal again, and the lower code
// comes first.
template <Scorer S>
void TestFinder<S>::round_keys() {
  double largest = 0.0;
  for (const double key : group_key_) largest = std::max(largest, std::abs(key));
  if (!(largest > 0)) return;
  const double grid = largest * 0x1p-40;
  for (double& key : group_key_) key = std::nearbyint(key / grid);
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
  round_keys();
  group_order_.resize(n_groups);
  for (std::size_t g = 0; g < n_groups; ++g) group_order_[g] = static_cast<std::uint32_t>(g);
  std::stable_sort(group_order_.begin(), group_order_.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return group_key_[a] < group_key_[b]; });
}

template <Scorer S>
FirstBest<Cut> TestFinder<S>::walk_groups(const Limits& limits, bool missing_left) {
  FirstBest<Cut> best(tie_scale());
  start_walk(missing_left);
  const std::size_t size = static_cast<std::size_t>(scorer_.stats().cell_size());
  for (std::size_t place = 0; place + 1 < group_order_.size(); ++place) {
    scorer_.move_cell(&group_cells_[group_order_[place] * size]);
    offer_cut(best, limits, {static_cast<Code>(place), static_cast<Code>(place + 1)});
  }
  if (n_missing_ > 0 && !missing_left) {
    scorer_.move_cell(&group_cells_[group_order_.back() * size]);
    offer_cut(best, limits, {static_cast<Code>(group_order_.size() - 1), kAfterLast});
  }
  return best;
}

// All ways to part a few categories in two; `cut.low` of the result is the mask of branch 0, which always
// holds the first present category.
template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::find_subset_exhaustively(const Limits& limits) {
  const std::size_t size = static_cast<std::size_t>(scorer_.stats().cell_size());
  const std::size_t n_groups = group_code_.size();
  const auto walk = [&](bool missing_left) {
    FirstBest<Cut> best(tie_scale());
    const Code all = (Code{1} << n_groups) - 1;
    for (Code mask = 1; mask < all; mask += 2) {
      start_walk(missing_left);
      for (std::size_t g = 0; g < n_groups; ++g) {
        if ((mask >> g & 1) != 0) scorer_.move_cell(&group_cells_[g * size]);
      }
      offer_cut(best, limits, {mask, 0});
    }
    if (n_missing_ > 0 && !missing_left) {
      start_walk(false);
      for (std::size_t g = 0; g < n_groups; ++g) scorer_.move_cell(&group_cells_[g * size]);
      offer_cut(best, limits, {all, kAfterLast});
    }
    return best;
  };
  if (n_missing_ == 0) {
    const FirstBest<Cut> best = walk(false);
    return best.found() ? Found{best.score(), best.winner(), false, true} : Found{};
  }
  const FirstBest<Cut> left = walk(true);
  return merge_directions(left, walk(false));
}

template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::find_subset(const Limits& limits) {
  make_groups();
  if (class_channels(scorer_.stats()) > 2 && group_code_.size() <= kExhaustiveCategories) {
    Found found = find_subset_exhaustively(limits);
    if (!found.any) return found;
    // Write the mask as an order and a place in it, as the other searches do.
    const Code mask = found.cut.low;
    group_order_.clear();
    for (std::uint32_t g = 0; g < group_code_.size(); ++g) {
      if ((mask >> g & 1) != 0) group_order_.push_back(g);
    }
    const Code place = static_cast<Code>(group_order_.size()) - 1;
    for (std::uint32_t g = 0; g < group_code_.size(); ++g) {
      if ((mask >> g & 1) == 0) group_order_.push_back(g);
    }
    found.cut = {place, found.cut.high == kAfterLast ? kAfterLast : place + 1};
    return found;
  }
  order_groups();
  if (n_missing_ == 0) {
    const FirstBest<Cut> best = walk_groups(limits, false);
    return best.found() ? Found{best.score(), best.winner(), false, true} : Found{};
  }
  const FirstBest<Cut> left = walk_groups(limits, true);
  return merge_directions(left, walk_groups(limits, false));
}

// ---- a feature's answer

template <Scorer S>
Split TestFinder<S>::make_split(const Column& column, FeatureId feature, const Found& found) const {
  Split split;
  split.feature = feature;
  split.missing_branch = n_missing_ == 0 ? -1 : found.missing_left ? 0 : 1;
  if (column.kind == ColumnKind::kCategorical) {
    for (std::size_t place = 0; place < group_order_.size(); ++place) {
      auto& side = place <= found.cut.low ? split.left_categories : split.right_categories;
      side.push_back(group_code_[group_order_[place]]);
    }
    std::sort(split.left_categories.begin(), split.left_categories.end());
    std::sort(split.right_categories.begin(), split.right_categories.end());
    return split;
  }
  if (found.cut.high == kAfterLast) {
    split.threshold = kInfinity;
    split.first_right = column.n_codes;
  } else if (column.binned) {
    split.threshold = column.values[found.cut.low];
    split.first_right = found.cut.low + 1;
  } else {
    split.threshold = halfway(column.values[found.cut.low], column.values[found.cut.high]);
    split.first_right = codes_at_or_below(column, split.threshold);
  }
  return split;
}

template <Scorer S>
bool TestFinder<S>::find_best(const Column& column, const Limits& limits, FirstBest<Split>& best,
                              FeatureId feature) {
  if (n_missing_ > 0) compute_missing_cell();
  const Found found = column.kind == ColumnKind::kCategorical ? find_subset(limits) : find_cut(limits);
  if (!found.any) return false;
  if (best.found() && !(found.score > best.score())) return true;
  best.offer(found.score, make_split(column, feature, found));
  return true;
}

template <Scorer S>
bool TestFinder<S>::find_random(const Column& column, const Limits& limits, Stream& stream,
                                FirstBest<Split>& best, FeatureId feature) {
  if (n_missing_ > 0) compute_missing_cell();
  const bool missing_left = n_missing_ > 0 && (stream.next() >> 63) != 0;
  Split split;
  split.feature = feature;
  split.missing_branch = n_missing_ == 0 ? -1 : missing_left ? 0 : 1;
  start_walk(missing_left);
  if (column.kind == ColumnKind::kCategorical) {
    make_groups();
    const std::size_t size = static_cast<std::size_t>(scorer_.stats().cell_size());
    for (std::size_t g = 0; g < group_code_.size(); ++g) {
      const bool left = (stream.next() >> 63) != 0;
      (left ? split.left_categories : split.right_categories).push_back(group_code_[g]);
    }
    // Both branches must hold something known unless the missing values stand on the other side.
    if (split.left_categories.empty() && !missing_left) {
      std::swap(split.left_categories, split.right_categories);
      if (n_missing_ == 0)
        split.right_categories.push_back(split.left_categories.back()), split.left_categories.pop_back();
    } else if (split.right_categories.empty() && (n_missing_ == 0 || missing_left)) {
      split.right_categories.push_back(split.left_categories.back());
      split.left_categories.pop_back();
    }
    std::size_t next_left = 0;
    for (std::size_t g = 0; g < group_code_.size(); ++g) {
      if (next_left < split.left_categories.size() && split.left_categories[next_left] == group_code_[g]) {
        scorer_.move_cell(&group_cells_[g * size]);
        ++next_left;
      }
    }
  } else if (lowest_ == highest_) {
    split.threshold = kInfinity;  // one known value: only known against missing is left
    split.first_right = column.n_codes;
    split.missing_branch = 1;
    start_walk(false);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (codes_[i] != missing_code_) scorer_.move(scorer_.stats().sort_payload(entries_[i], i));
    }
  } else {
    const double u = stream.unit();
    if (column.binned) {
      const Code low = lowest_ + static_cast<Code>(u * (highest_ - lowest_));
      split.threshold = column.values[low];
      split.first_right = low + 1;
    } else {
      // Uniform in value between the node's extremes, infinities standing for the largest finite numbers.
      constexpr double kMax = std::numeric_limits<double>::max();
      const double low = std::max(column.values[lowest_], -kMax);
      const double high = std::min(column.values[highest_], kMax);
      double t = low * (1 - u) + high * u;
      if (!(t < column.values[highest_])) t = column.values[highest_ - 1];
      if (!(t >= column.values[lowest_])) t = column.values[lowest_];
      split.threshold = t;
      split.first_right = codes_at_or_below(column, t);
    }
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (codes_[i] < split.first_right) scorer_.move(scorer_.stats().sort_payload(entries_[i], i));
    }
  }
  if (!admissible(limits)) return false;
  best.offer(scorer_.score(), split);
  return true;
}

}  // namespace hornbeam
