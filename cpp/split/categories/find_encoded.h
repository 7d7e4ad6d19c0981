// The best test on categories of those whose encoding is fixed before growing (split/categories/category_tests.h): cuts
// of an order, one category against the others, and binary digits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "split/categories/category_tests.h"
#include "split/categories/node_categories.h"
#include "split/feature_search.h"

namespace hornbeam::split {

template <Scorer S>
class EncodedFinder {
 public:
  void find(const FeatureSearch<S>& search, const NodeCategories<S>& categories, FirstBest<Split>& best) {
    const auto [found, test] = find_test(search, categories);
    if (!search.may_win(found, best)) return;
    Split split = split_of(search, found);
    split.categories = test;
    best.offer(found.score + search.left_out, split);
  }

 private:
  using Element = typename S::Element;

  struct FoundTest {
    Found found;
    CategoryTest test;
  };

  FoundTest find_test(const FeatureSearch<S>& search, const NodeCategories<S>& categories) {
    switch (search.node.categories.split()) {
      case CategoricalSplit::kOneVsRest:
        list_single_categories(categories);
        return find_among_firsts(search);
      case CategoricalSplit::kBinary:
        list_digits(search, categories);
        return find_among_firsts(search);
      default:
        return find_in_orders(search, categories);
    }
  }

  // ---- categories in an order: all of them up to one go left

  FoundTest find_in_orders(const FeatureSearch<S>& search, const NodeCategories<S>& categories) {
    const CategoryPlan& plan = search.node.categories;
    FoundTest best;
    for (std::int32_t which = 0; which < plan.n_orders(search.feature); ++which) {
      order_by_plan(plan, search.feature, which, categories.codes, order_);
      const Found found = walk_order(search, categories, order_);
      if (keep_better(search.node, best.found, found))
        best.test = cut_after(plan, search.feature, which, categories.codes, order_, found.place);
    }
    return best;
  }

  // ---- tests that need no order: each of them determines what goes left

  void list_single_categories(const NodeCategories<S>& categories) {
    first_cells_ = categories.cells;
    tests_.clear();
    for (const Code code : categories.codes) tests_.push_back({CategoryTest::Kind::kIs, 0, code});
  }

  // The most significant digit first.
  void list_digits(const FeatureSearch<S>& search, const NodeCategories<S>& categories) {
    const CategoryPlan& plan = search.node.categories;
    const std::size_t size = categories.cell_size;
    const int n_digits = std::bit_width(plan.n_with_rows(search.feature) - 1);
    first_cells_.assign(static_cast<std::size_t>(n_digits) * size, Element{0});
    tests_.clear();
    Element* first = first_cells_.data();
    for (int digit = n_digits - 1; digit >= 0; --digit, first += size) {
      tests_.push_back({CategoryTest::Kind::kDigit, digit});
      for (std::size_t g = 0; g < categories.size(); ++g) {
        if ((plan.place(search.feature, 0, categories.codes[g]) >> digit & 1) != 0) continue;
        for (std::size_t k = 0; k < size; ++k) first[k] += categories.cell(g)[k];
      }
    }
  }

  FoundTest find_among_firsts(const FeatureSearch<S>& search) {
    if (search.sends_missing()) {
      tests_.push_back({CategoryTest::Kind::kKnown});
      const auto& cell = search.node.cell;
      for (std::size_t k = 0; k < cell.size(); ++k) first_cells_.push_back(cell[k] - search.missing_cell[k]);
    }
    const Found found =
        walk_both_ways(search, [&](bool missing_left) { return walk_firsts(search, missing_left); });
    return {found, found.any ? tests_[found.place] : CategoryTest{}};
  }

  // Places are numbers of listed tests.
  Found walk_firsts(const FeatureSearch<S>& search, bool missing_left) {
    const Node<S>& node = search.node;
    const std::size_t size = node.cell_size();
    const auto& stats = node.scorer.stats();
    const std::int64_t missing_rows = search.sends_missing() ? stats.rows(search.missing_cell) : 0;
    const std::int64_t known_rows = search.limits.node_rows - missing_rows;
    Found best;
    for (std::size_t i = 0; i < tests_.size(); ++i) {
      const Element* cell = &first_cells_[i * size];
      const bool known_from_missing = tests_[i].kind == CategoryTest::Kind::kKnown;
      const std::int64_t rows = stats.rows(cell);
      if (known_from_missing ? missing_left : rows == 0 || rows == known_rows) continue;
      auto walk = start_walk(search, missing_left, 2);
      walk.move_cell(cell);
      *node.buffers.places.data() = static_cast<Code>(i);
      walk.add_candidate(!search.limits.bind || admissible(walk, search.limits));
      keep_better(node, best, best_place(search, walk, missing_left));
    }
    return best;
  }

  CategoryOrder order_;
  std::vector<CategoryTest> tests_;
  std::vector<Element> first_cells_;  // what branch 0 of each holds, apart from missing values
};

}  // namespace hornbeam::split
