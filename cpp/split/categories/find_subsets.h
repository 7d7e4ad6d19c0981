// The best subset of a node's categories.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <vector>

#include "split/categories/node_categories.h"
#include "split/feature_search.h"

namespace hornbeam::split {

// For one real target or two classes, the best subset is an interval of the categories in their order (Breiman et al.
// 1984). For more classes, all subsets are tried if there are few categories; many categories are put in an order.
template <Scorer S>
class SubsetFinder {
 public:
  void find(const FeatureSearch<S>& search, const NodeCategories<S>& categories, FirstBest<Split>& best) {
    const bool tries_all =
        class_channels(search.node.scorer.stats()) > 2 && categories.size() <= kMostTriedInAllWays;
    const Found found = tries_all ? try_all(search, categories) : try_in_order(search, categories);
    if (!search.may_win(found, best)) return;
    Split split = split_of(search, found);
    split.n_tests = n_subsets(categories.size(), search.sends_missing());
    for (std::size_t place = 0; place < order_.size(); ++place) {
      auto& side = place <= found.place ? split.left_categories : split.right_categories;
      side.push_back(categories.codes[order_[place]]);
    }
    std::sort(split.left_categories.begin(), split.left_categories.end());
    std::sort(split.right_categories.begin(), split.right_categories.end());
    best.offer(found.score + search.left_out, split);
  }

 private:
  static constexpr std::size_t kMostTriedInAllWays = 8;

  // The number of possible subsets: however it was found, the test counts as the best of all of them.
  static double n_subsets(std::size_t n_categories, bool with_missing) {
    constexpr std::size_t kEnough = 1000;  // near the largest float64, and beyond any significance
    const double n_ways = std::ldexp(1.0, static_cast<int>(std::min(n_categories - 1, kEnough))) - 1;
    return with_missing ? 2 * n_ways + 1 : n_ways;
  }

  Found try_in_order(const FeatureSearch<S>& search, const NodeCategories<S>& categories) {
    order_by_target(search.node, categories, keys_, order_);
    return walk_order(search, categories, order_);
  }

  // All ways to divide a few categories in two, as masks in which bit g puts category g into branch 0; the first
  // category is always in branch 0.
  Found try_all(const FeatureSearch<S>& search, const NodeCategories<S>& categories) {
    Found found = walk_both_ways(
        search, [&](bool missing_left) { return walk_masks(search, categories, missing_left); });
    if (!found.any) return found;
    // Writes the mask as an order and a place in it, as the other search does.
    const Code mask = found.place;
    order_.clear();
    for (const bool left : {true, false}) {
      for (std::uint32_t g = 0; g < categories.size(); ++g) {
        if (((mask >> g & 1) != 0) == left) order_.push_back(g);
      }
    }
    found.place = static_cast<Code>(std::popcount(mask)) - 1;
    return found;
  }

  // Places are the masks; the one with all categories parts known values from missing ones.
  static Found walk_masks(const FeatureSearch<S>& search, const NodeCategories<S>& categories,
                          bool missing_left) {
    const Code all = (Code{1} << categories.size()) - 1;
    const Code end = search.sends_missing() && !missing_left ? all + 1 : all;
    Found best;
    for (Code mask = 1; mask < end; mask += 2) {
      auto walk = start_walk(search, missing_left, 2);
      for (std::size_t g = 0; g < categories.size(); ++g) {
        if ((mask >> g & 1) != 0) walk.move_cell(categories.cell(g));
      }
      walk.add_candidate(!search.limits.bind || admissible(walk, search.limits));
      *search.node.buffers.places.data() = mask;
      keep_better(search.node, best, best_place(search, walk, missing_left));
    }
    return best;
  }

  CategoryOrder order_;
  std::vector<double> keys_;
};

}  // namespace hornbeam::split
