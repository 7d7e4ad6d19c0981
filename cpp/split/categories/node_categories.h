// The categories that a node has, in ascending order of their codes, each with the cell of its rows; and orders
// to put them in.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "split/categories/category_order.h"
#include "split/categories/category_tests.h"
#include "split/gather.h"
#include "split/node.h"

namespace hornbeam::split {

template <Scorer S>
struct NodeCategories {
  using Element = typename S::Element;

  std::vector<Code> codes;
  std::vector<Element> cells;
  std::size_t cell_size = 0;

  std::size_t size() const { return codes.size(); }
  const Element* cell(std::size_t g) const { return &cells[g * cell_size]; }

  void list(const Node<S>& node, const GatheredCodes& gathered) {
    codes.clear();
    cells.clear();
    cell_size = node.cell_size();
    if (counting_pays(node, gathered)) {
      list_counted(node, CountedCodes<S>(node, gathered));
    } else {
      list_sorted(node, sort(node, gathered));
    }
  }

 private:
  void list_counted(const Node<S>& node, const CountedCodes<S>& counted) {
    for (Code code = counted.lowest(); code <= counted.highest(); ++code) {
      const Element* cell = counted.of(code);
      if (node.scorer.stats().empty(cell)) continue;
      codes.push_back(code);
      cells.insert(cells.end(), cell, cell + cell_size);
    }
  }
  void list_sorted(const Node<S>& node, const SortedRows& rows) {
    for (std::size_t i = 0; i < rows.n; ++i) {
      const Code code = rows.value(i);
      if (codes.empty() || codes.back() != code) {
        codes.push_back(code);
        cells.resize(cells.size() + cell_size, 0);
      }
      node.scorer.stats().add(&cells[cells.size() - cell_size], rows.payload(i));
    }
  }
};

// An order lists positions among the node's categories.
using CategoryOrder = std::vector<std::uint32_t>;

// By the rows in them: by the mean, by the share of the second class, or along the direction in which the shares of
// more classes differ most.
template <Scorer S>
void order_by_target(const Node<S>& node, const NodeCategories<S>& categories, std::vector<double>& keys,
                     CategoryOrder& order) {
  keys.resize(categories.size());
  if (const int classes = class_channels(node.scorer.stats()); classes > 2) {
    leading_direction(categories.cells, categories.cell_size, classes, keys);
  } else {
    for (std::size_t g = 0; g < keys.size(); ++g) keys[g] = node.scorer.order_of(categories.cell(g));
  }
  round_to_grid(keys);
  order.resize(keys.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return keys[a] < keys[b]; });
}

// In the order that the fit made before it grew,
inline void order_by_plan(const CategoryPlan& plan, FeatureId feature, std::int32_t which,
                          std::span<const Code> codes, CategoryOrder& order) {
  order.resize(codes.size());
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return plan.place(feature, which, codes[a]) < plan.place(feature, which, codes[b]);
  });
}
// and the test that cuts this order after a place. Like a threshold, the bound lies halfway between its neighbours in
// the node.
inline CategoryTest cut_after(const CategoryPlan& plan, FeatureId feature, std::int32_t which,
                              std::span<const Code> codes, const CategoryOrder& order, std::size_t place) {
  if (place + 1 == order.size()) return {CategoryTest::Kind::kKnown};
  const Code low = plan.place(feature, which, codes[order[place]]);
  const Code high = plan.place(feature, which, codes[order[place + 1]]);
  return {CategoryTest::Kind::kUpTo, which, low + (high - low) / 2};
}

// Goes through the categories in an order, cut after each of them. Places are the number of categories on the
// left, less one.
template <Scorer S>
Found walk_order(const FeatureSearch<S>& search, const NodeCategories<S>& categories,
                 const CategoryOrder& order) {
  return walk_both_ways(search, [&](bool missing_left) {
    const std::size_t n = order.size();
    const bool split_off_missing = search.sends_missing() && !missing_left;
    auto walk = start_walk(search, missing_left, n + 1);
    Code* places = search.node.buffers.places.data();
    for (std::size_t g = 0; g + (split_off_missing ? 0 : 1) < n; ++g) {
      walk.move_cell(categories.cell(order[g]));
      places[walk.n_candidates()] = static_cast<Code>(g);
      walk.add_candidate(!search.limits.bind || admissible(walk, search.limits));
    }
    return best_place(search, walk, missing_left);
  });
}

}  // namespace hornbeam::split
