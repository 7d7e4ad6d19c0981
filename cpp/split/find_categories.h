// The bodies of TestFinder for tests on categories other than subsets; see split/test_finder.h and
// split/category_tests.h.
#pragma once

#include <algorithm>
#include <bit>
#include <numeric>

#include "split/category_order.h"
#include "split/test_finder.h"

namespace hornbeam::split {

using criterion::HasRealCells;
using criterion::Scorer;
using criterion::ScoresWholeTests;
using criterion::tie_slack;
using criterion::Walk;

// Of equals the first stays, as among all candidates.
template <Scorer S>
void TestFinder<S>::keep_better(Found& best, const Found& found) const {
  if (!found.any) return;
  if (!best.any || found.score > best.score + tie_slack(best.score, tie_scale())) {
    best = found;
  } else {
    best.score = std::max(best.score, found.score);
  }
}

template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::find_categories(FeatureId feature, const Limits& limits) {
  switch (plan_.split()) {
    case CategoricalSplit::kOrdinal:
    case CategoricalSplit::kTargetMean:
      return find_in_orders(feature, limits);
    case CategoricalSplit::kOneVsRest:
      make_groups();
      list_single_categories();
      return find_among_firsts(limits);
    case CategoricalSplit::kBinary:
      make_groups();
      list_digits(feature);
      return find_among_firsts(limits);
    default:
      return find_subset(limits);
  }
}

// ---- categories in an order: all of them up to one go left

template <Scorer S>
void TestFinder<S>::sort_groups(FeatureId feature, std::int32_t order) {
  group_order_.resize(group_code_.size());
  std::iota(group_order_.begin(), group_order_.end(), 0u);
  std::sort(group_order_.begin(), group_order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return plan_.place(feature, order, group_code_[a]) < plan_.place(feature, order, group_code_[b]);
  });
}

// As thresholds do, the bound lies halfway between its neighbours in the node.
template <Scorer S>
CategoryTest TestFinder<S>::cut_after(FeatureId feature, std::int32_t order, std::size_t place) const {
  if (place + 1 == group_order_.size()) return {CategoryTest::Kind::kKnown};
  const Code low = plan_.place(feature, order, group_code_[group_order_[place]]);
  const Code high = plan_.place(feature, order, group_code_[group_order_[place + 1]]);
  return {CategoryTest::Kind::kUpTo, order, low + (high - low) / 2};
}

template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::find_in_orders(FeatureId feature, const Limits& limits) {
  make_groups();
  Found best;
  for (std::int32_t order = 0; order < plan_.n_orders(feature); ++order) {
    sort_groups(feature, order);
    Found found = walk_both_ways([&](bool missing_left) { return walk_groups(limits, missing_left); });
    if (found.any) found.categories = cut_after(feature, order, found.place);
    keep_better(best, found);
  }
  return best;
}

// ---- tests that need no order: each says by itself what goes left

template <Scorer S>
void TestFinder<S>::list_single_categories() {
  first_cells_ = group_cells_;
  first_tests_.clear();
  for (const Code code : group_code_) first_tests_.push_back({CategoryTest::Kind::kIs, 0, code});
}

// The most significant digit first.
template <Scorer S>
void TestFinder<S>::list_digits(FeatureId feature) {
  const auto size = static_cast<std::size_t>(scorer_.cell_size());
  const int n_digits = std::bit_width(plan_.n_with_rows(feature) - 1);
  first_cells_.assign(static_cast<std::size_t>(n_digits) * size, Element{0});
  first_tests_.clear();
  Element* first = first_cells_.data();
  for (int digit = n_digits - 1; digit >= 0; --digit, first += size) {
    first_tests_.push_back({CategoryTest::Kind::kDigit, digit});
    for (std::size_t g = 0; g < group_code_.size(); ++g) {
      if ((plan_.place(feature, 0, group_code_[g]) >> digit & 1) != 0) continue;
      for (std::size_t k = 0; k < size; ++k) first[k] += group_cells_[g * size + k];
    }
  }
}

// Places are numbers of listed tests.
template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::walk_firsts(const Limits& limits, bool missing_left) {
  const auto size = static_cast<std::size_t>(scorer_.cell_size());
  const auto& stats = scorer_.stats();
  const std::int64_t missing_rows = sends_missing() ? stats.rows(missing_cell_.data()) : 0;
  const std::int64_t known_rows = limits.node_rows - missing_rows;
  Found best;
  for (std::size_t i = 0; i < first_tests_.size(); ++i) {
    const Element* cell = &first_cells_[i * size];
    const bool known_from_missing = first_tests_[i].kind == CategoryTest::Kind::kKnown;
    const std::int64_t rows = stats.rows(cell);
    if (known_from_missing ? missing_left : rows == 0 || rows == known_rows) continue;
    Walk walk = start_walk(missing_left, 2);
    walk.move_cell(cell);
    *places_.data() = static_cast<Code>(i);
    walk.add_candidate(!limits.bind || admissible(walk, limits));
    keep_better(best, best_place(walk, missing_left));
  }
  return best;
}

template <Scorer S>
typename TestFinder<S>::Found TestFinder<S>::find_among_firsts(const Limits& limits) {
  if (sends_missing()) {
    first_tests_.push_back({CategoryTest::Kind::kKnown});
    for (std::size_t k = 0; k < node_.size(); ++k) first_cells_.push_back(node_[k] - missing_cell_[k]);
  }
  Found found = walk_both_ways([&](bool missing_left) { return walk_firsts(limits, missing_left); });
  if (found.any) found.categories = first_tests_[found.place];
  return found;
}

// ---- random tests

// All known values on the left.
template <Scorer S>
void TestFinder<S>::write_known(Split& split) const {
  if (plan_.split() == CategoricalSplit::kSubset) {
    split.left_categories.push_back(lowest_);
  } else {
    split.categories = {CategoryTest::Kind::kKnown};
  }
}

template <Scorer S>
void TestFinder<S>::draw_encoded(FeatureId feature, Stream& stream, Split& split) {
  make_groups();
  const auto n_groups = static_cast<std::uint32_t>(group_code_.size());
  if (plan_.split() == CategoricalSplit::kOneVsRest) {
    split.categories = {CategoryTest::Kind::kIs, 0, group_code_[stream.below(n_groups)]};
  } else if (plan_.split() == CategoricalSplit::kBinary) {
    Code different = 0;  // digits in which the node's categories are not all alike
    const Code first = plan_.place(feature, 0, group_code_[0]);
    for (const Code code : group_code_) different |= plan_.place(feature, 0, code) ^ first;
    for (auto skipped = stream.below(static_cast<std::uint32_t>(std::popcount(different))); skipped > 0;
         --skipped) {
      different &= different - 1;
    }
    split.categories = {CategoryTest::Kind::kDigit, std::countr_zero(different)};
  } else {
    const auto order = stream.below(static_cast<std::uint32_t>(plan_.n_orders(feature)));
    sort_groups(feature, static_cast<std::int32_t>(order));
    split.categories = cut_after(feature, static_cast<std::int32_t>(order), stream.below(n_groups - 1));
  }
}

// ---- a branch for every category, or for every group of categories that do not differ

template <Scorer S>
void TestFinder<S>::find_branches(const Limits& limits, FirstBest<Split>& best, FeatureId feature) {
  scorer_.score_of_node(tested_cell_);  // which branches refer to
  n_tests_ = 0.0;
  make_groups();
  group_branch_.resize(group_code_.size());
  std::iota(group_branch_.begin(), group_branch_.end(), 0u);
  if (plan_.split() == CategoricalSplit::kMerge) merge_groups();
  std::size_t n_branches = *std::ranges::max_element(group_branch_) + std::size_t{1};
  add_up_branches(n_branches);
  Split split;
  split.feature = feature;
  split.n_missing = static_cast<std::uint32_t>(n_missing_);
  split.left_out_weight = left_out_weight_;
  const double n_groupings = n_ways_to_group(group_code_.size(), n_branches);
  if (sends_missing() && n_branches == 1) {  // known | missing
    branch_cells_.insert(branch_cells_.end(), missing_cell_.begin(), missing_cell_.end());
    split.missing_branch = 1;
    ++n_branches;
  }
  if (n_branches < 2) return;
  split.n_branches = static_cast<std::int32_t>(n_branches);
  const std::optional<std::int32_t> missing_branch = branch_for_missing(limits, split);
  if (!missing_branch.has_value()) return;
  split.missing_branch = *missing_branch;
  const double score = score_branches() + left_out_;
  if (best.found() && !(score > best.score())) return;
  split.n_tests = n_tests_ * n_groupings;
  write_branches(feature, split);
  best.offer(score, split);
}

template <Scorer S>
void TestFinder<S>::add_up_branches(std::size_t n_branches) {
  const auto size = static_cast<std::size_t>(scorer_.cell_size());
  branch_cells_.assign(n_branches * size, Element{0});
  for (std::size_t g = 0; g < group_code_.size(); ++g) {
    Element* cell = &branch_cells_[group_branch_[g] * size];
    for (std::size_t k = 0; k < size; ++k) cell[k] += group_cells_[g * size + k];
  }
}

template <Scorer S>
bool TestFinder<S>::is_large_enough(const Element* cell, const Limits& limits) {
  const auto& stats = scorer_.stats();
  return stats.rows(cell) >= limits.min_rows && stats.weight(cell) >= limits.min_weight;
}

// Missing values join the branch where they gain most, if they have none of their own; at least two branches
// must be as large as the limits ask. Adds them to that branch and returns it, -1 if there are none; nothing
// if the limits forbid the test.
template <Scorer S>
std::optional<std::int32_t> TestFinder<S>::branch_for_missing(const Limits& limits, const Split& split) {
  const auto size = static_cast<std::size_t>(scorer_.cell_size());
  const auto n_branches = static_cast<std::size_t>(split.n_branches);
  const auto cell = [&](std::size_t b) { return &branch_cells_[b * size]; };
  std::int64_t n_large = 0;
  for (std::size_t b = 0; b < n_branches; ++b) n_large += is_large_enough(cell(b), limits);
  if (!sends_missing() || split.missing_branch >= 0) {
    n_tests_ = 1.0;
    return n_large >= 2 ? std::optional(split.missing_branch) : std::nullopt;
  }
  std::vector<Element> joined(size);
  const auto join = [&](std::size_t b) {
    for (std::size_t k = 0; k < size; ++k) joined[k] = cell(b)[k] + missing_cell_[k];
  };
  FirstBest<std::int32_t> best(std::max(tie_scale(), std::abs(scorer_.score_of_node(tested_cell_))));
  for (std::size_t b = 0; b < n_branches; ++b) {
    join(b);
    const bool grows_large = !is_large_enough(cell(b), limits) && is_large_enough(joined.data(), limits);
    if (n_large + grows_large < 2) continue;
    n_tests_ += 1;
    best.offer(gain_by_joining(joined, cell(b)), static_cast<std::int32_t>(b));
  }
  if (!best.found()) return std::nullopt;
  join(static_cast<std::size_t>(best.winner()));
  std::ranges::copy(joined, cell(static_cast<std::size_t>(best.winner())));
  return best.winner();
}

// What the test scores more with `joined` in place of a branch, or a number in the same order.
template <Scorer S>
double TestFinder<S>::gain_by_joining(std::vector<Element>& joined, Element* branch) {
  if constexpr (ScoresWholeTests<S>) {
    std::swap_ranges(joined.begin(), joined.end(), branch);
    const double score = scorer_.score_of_test(branch_cells_);
    std::swap_ranges(joined.begin(), joined.end(), branch);
    return score;
  } else {
    return scorer_.score_of_branch(joined.data(), tested_cell_) -
           scorer_.score_of_branch(branch, tested_cell_);
  }
}

template <Scorer S>
double TestFinder<S>::score_branches() {
  if constexpr (ScoresWholeTests<S>) return scorer_.score_of_test(branch_cells_);
  const auto size = static_cast<std::size_t>(scorer_.cell_size());
  double score = 0.0;
  for (std::size_t begin = 0; begin < branch_cells_.size(); begin += size) {
    score += scorer_.score_of_branch(&branch_cells_[begin], tested_cell_);
  }
  return score;
}

template <Scorer S>
void TestFinder<S>::write_branches(FeatureId feature, Split& split) {
  const auto size = static_cast<std::size_t>(scorer_.cell_size());
  for (std::size_t begin = 0; begin < branch_cells_.size(); begin += size) {
    split.branch_weights.push_back(scorer_.stats().weight(&branch_cells_[begin]));
  }
  for (std::size_t g = 0; g < group_code_.size(); ++g) {
    split.many_categories.push_back({group_code_[g], group_branch_[g]});
  }
  // A group of categories stands for more than its members, a single category does not: those that the node
  // lacks share an empty branch, which predicts what the node does.
  if (plan_.split() == CategoricalSplit::kMultiway && plan_.n_with_rows(feature) > group_code_.size()) {
    split.empty_branch = split.n_branches++;
  }
}

template <Scorer S>
void TestFinder<S>::merge_groups() {
  if (group_code_.size() > kMostComparedPairwise) order_groups();
  group_branch_ = merge_categories(merge_table(), group_order_, plan_.log_merge_level());
}

template <Scorer S>
MergeTable TestFinder<S>::merge_table() {
  const auto size = static_cast<std::size_t>(scorer_.cell_size());
  const auto& stats = scorer_.stats();
  const std::size_t n_groups = group_code_.size();
  MergeTable table;
  table.n_classes = class_channels(stats);
  table.cells.resize(n_groups * table.width());
  if (table.n_classes > 0) {
    for (std::size_t g = 0; g < n_groups; ++g) {
      for (std::size_t k = 0; k < table.width(); ++k) {
        table.cells[g * table.width() + k] =
            static_cast<double>(group_cells_[g * size + k]) * stats.weight_unit();
      }
    }
  } else if constexpr (HasRealCells<Stats>) {
    for (std::size_t g = 0; g < n_groups; ++g) {
      const Element* cell = &group_cells_[g * size];
      table.cells[3 * g] = stats.real_weight(cell);
      table.cells[3 * g + 1] = stats.centred_mean(cell);
    }
    const double node_mean = stats.centred_mean(node_.data());
    constexpr double kRounding = 1e-20;  // of the sum of squares of all rows
    std::vector<Element> row(size);
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (n_missing_ > 0 && codes_[i] == missing_code_) continue;
      std::ranges::fill(row, Element{0});
      stats.add(row.data(), payload(i));
      const double weight = stats.real_weight(row.data());
      const double y = stats.centred_mean(row.data());
      double* cell =
          &table.cells[3 * static_cast<std::size_t>(std::ranges::lower_bound(group_code_, codes_[i]) -
                                                    group_code_.begin())];
      cell[2] += weight * (y - cell[1]) * (y - cell[1]);
      table.negligible += kRounding * weight * (y - node_mean) * (y - node_mean);
    }
  }
  return table;
}

}  // namespace hornbeam::split
