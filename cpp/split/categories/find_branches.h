// Tests with a branch for every category of the node, or for every group of categories that do not differ.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "split/categories/category_tests.h"
#include "split/categories/merge_categories.h"
#include "split/categories/node_categories.h"
#include "split/feature_search.h"
#include "split/gather.h"

namespace hornbeam::split {

using criterion::HasRealCells;
using criterion::ScoresWholeTests;

// What the significance of differences between categories is computed from.
template <Scorer S>
MergeTable merge_table(const Node<S>& node, const GatheredCodes& codes, const NodeCategories<S>& categories) {
  using Element = typename S::Element;
  const auto& stats = node.scorer.stats();
  MergeTable table;
  table.n_classes = class_channels(stats);
  table.cells.resize(categories.size() * table.width());
  if (table.n_classes > 0) {
    for (std::size_t g = 0; g < categories.size(); ++g) {
      for (std::size_t k = 0; k < table.width(); ++k)
        table.cells[g * table.width() + k] = static_cast<double>(categories.cell(g)[k]) * stats.weight_unit();
    }
  } else if constexpr (HasRealCells<typename S::Stats>) {
    for (std::size_t g = 0; g < categories.size(); ++g) {
      table.cells[3 * g] = stats.real_weight(categories.cell(g));
      table.cells[3 * g + 1] = stats.centred_mean(categories.cell(g));
    }
    const double node_mean = stats.centred_mean(node.cell.data());
    constexpr double kRounding = 1e-20;  // of the sum of squares of all rows
    std::vector<Element> row(categories.cell_size);
    for (std::size_t i = 0; i < node.entries.size(); ++i) {
      if (codes.n_missing > 0 && codes[i] == codes.missing) continue;
      std::ranges::fill(row, Element{0});
      stats.add(row.data(), node.payload(i));
      const double weight = stats.real_weight(row.data());
      const double y = stats.centred_mean(row.data());
      const auto g = std::ranges::lower_bound(categories.codes, codes[i]) - categories.codes.begin();
      double* cell = &table.cells[3 * static_cast<std::size_t>(g)];
      cell[2] += weight * (y - cell[1]) * (y - cell[1]);
      table.negligible += kRounding * weight * (y - node_mean) * (y - node_mean);
    }
  }
  return table;
}

template <Scorer S>
class BranchFinder {
 public:
  void find(const FeatureSearch<S>& search, const GatheredCodes& codes, const NodeCategories<S>& categories,
            FirstBest<Split>& best) {
    const Node<S>& node = search.node;
    node.scorer.score_of_node(search.cell);  // which branches refer to
    choose_branches(node, codes, categories);
    const std::size_t n_groups = *std::ranges::max_element(branch_) + std::size_t{1};
    add_up_branches(categories, n_groups);
    Split split;
    split.feature = search.feature;
    split.n_missing = static_cast<std::uint32_t>(search.n_missing);
    split.left_out_weight = search.left_out_weight;
    std::size_t n_branches = n_groups;
    if (search.sends_missing() && n_branches == 1) {  // known | missing
      cells_.insert(cells_.end(), search.missing_cell, search.missing_cell + categories.cell_size);
      split.missing_branch = 1;
      ++n_branches;
    }
    if (n_branches < 2) return;
    split.n_branches = static_cast<std::int32_t>(n_branches);
    const std::optional<ForMissing> missing = branch_for_missing(search, split);
    if (!missing.has_value()) return;
    split.missing_branch = missing->branch;
    const double score = score_branches(search) + search.left_out;
    if (best.found() && !(score > best.score())) return;
    split.n_tests = missing->n_tried * n_ways_to_group(categories.size(), n_groups);
    write_branches(search, categories, split);
    best.offer(score, split);
  }

 private:
  using Element = typename S::Element;

  void choose_branches(const Node<S>& node, const GatheredCodes& codes, const NodeCategories<S>& categories) {
    if (node.categories.split() == CategoricalSplit::kMerge) {
      if (categories.size() > kMostComparedPairwise) order_by_target(node, categories, keys_, order_);
      branch_ =
          merge_categories(merge_table(node, codes, categories), order_, node.categories.log_merge_level());
    } else {
      branch_.resize(categories.size());
      std::iota(branch_.begin(), branch_.end(), 0u);
    }
  }

  void add_up_branches(const NodeCategories<S>& categories, std::size_t n_branches) {
    const std::size_t size = categories.cell_size;
    cells_.assign(n_branches * size, Element{0});
    for (std::size_t g = 0; g < categories.size(); ++g) {
      Element* cell = &cells_[branch_[g] * size];
      for (std::size_t k = 0; k < size; ++k) cell[k] += categories.cell(g)[k];
    }
  }

  static bool is_large_enough(const FeatureSearch<S>& search, const Element* cell) {
    const auto& stats = search.node.scorer.stats();
    return stats.rows(cell) >= search.limits.min_rows && stats.weight(cell) >= search.limits.min_weight;
  }

  struct ForMissing {
    std::int32_t branch;
    double n_tried;
  };

  // Missing values join the branch where they gain most, if they have none of their own; at least two branches must
  // satisfy the limits. Adds them to that branch and returns it, or -1 if no value is missing; returns nothing if the
  // limits forbid the test.
  std::optional<ForMissing> branch_for_missing(const FeatureSearch<S>& search, const Split& split) {
    const std::size_t size = search.node.cell_size();
    const auto n_branches = static_cast<std::size_t>(split.n_branches);
    const auto cell = [&](std::size_t b) { return &cells_[b * size]; };
    std::int64_t n_large = 0;
    for (std::size_t b = 0; b < n_branches; ++b) n_large += is_large_enough(search, cell(b));
    if (!search.sends_missing() || split.missing_branch >= 0)
      return n_large >= 2 ? std::optional(ForMissing{split.missing_branch, 1.0}) : std::nullopt;
    std::vector<Element> joined(size);
    const auto join = [&](std::size_t b) {
      for (std::size_t k = 0; k < size; ++k) joined[k] = cell(b)[k] + search.missing_cell[k];
    };
    const Node<S>& node = search.node;
    FirstBest<std::int32_t> best(
        std::max(node.tie_scale(), std::abs(node.scorer.score_of_node(search.cell))));
    double n_tried = 0.0;
    for (std::size_t b = 0; b < n_branches; ++b) {
      join(b);
      const bool grows_large = !is_large_enough(search, cell(b)) && is_large_enough(search, joined.data());
      if (n_large + grows_large < 2) continue;
      n_tried += 1;
      best.offer(gain_by_joining(search, joined, cell(b)), static_cast<std::int32_t>(b));
    }
    if (!best.found()) return std::nullopt;
    join(static_cast<std::size_t>(best.winner()));
    std::ranges::copy(joined, cell(static_cast<std::size_t>(best.winner())));
    return ForMissing{best.winner(), n_tried};
  }

  // How much more the test scores with `joined` in place of a branch, or a number that orders branches alike.
  double gain_by_joining(const FeatureSearch<S>& search, std::vector<Element>& joined, Element* branch) {
    S& scorer = search.node.scorer;
    if constexpr (ScoresWholeTests<S>) {
      std::swap_ranges(joined.begin(), joined.end(), branch);
      const double score = scorer.score_of_test(cells_);
      std::swap_ranges(joined.begin(), joined.end(), branch);
      return score;
    } else {
      return scorer.score_of_branch(joined.data(), search.cell) - scorer.score_of_branch(branch, search.cell);
    }
  }

  double score_branches(const FeatureSearch<S>& search) {
    S& scorer = search.node.scorer;
    if constexpr (ScoresWholeTests<S>) return scorer.score_of_test(cells_);
    const std::size_t size = search.node.cell_size();
    double score = 0.0;
    for (std::size_t begin = 0; begin < cells_.size(); begin += size)
      score += scorer.score_of_branch(&cells_[begin], search.cell);
    return score;
  }

  void write_branches(const FeatureSearch<S>& search, const NodeCategories<S>& categories, Split& split) {
    const CategoryPlan& plan = search.node.categories;
    for (std::size_t begin = 0; begin < cells_.size(); begin += categories.cell_size)
      split.branch_weights.push_back(search.node.scorer.stats().weight(&cells_[begin]));
    for (std::size_t g = 0; g < categories.size(); ++g)
      split.many_categories.push_back({categories.codes[g], branch_[g]});
    // Categories that the node lacks cannot join a branch of a single category: they get an empty branch of their own,
    // which predicts what the node does.
    if (plan.split() == CategoricalSplit::kMultiway && plan.n_with_rows(search.feature) > categories.size())
      split.empty_branch = split.n_branches++;
  }

  std::vector<std::uint32_t> branch_;  // of each category
  std::vector<Element> cells_;         // of each branch
  CategoryOrder order_;
  std::vector<double> keys_;
};

}  // namespace hornbeam::split
