// Random tests, drawn instead of searched: a threshold drawn uniformly between the least and the largest value, or a
// random test on categories.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/sampler.h"
#include "data/dataset.h"
#include "split/categories/category_tests.h"
#include "split/categories/node_categories.h"
#include "split/feature_search.h"
#include "split/gather.h"

namespace hornbeam::split {

using data::random_threshold;

// Uniform in value, or among the bins.
inline void draw_threshold(const Column& column, const GatheredCodes& codes, Stream& stream, Split& split) {
  const double u = stream.unit();
  if (column.binned) {
    const Code low = codes.lowest + static_cast<Code>(u * (codes.highest - codes.lowest));
    split.threshold = column.values[low];
    split.first_right = low + 1;
    return;
  }
  split.threshold = random_threshold(column, column.values[codes.lowest], column.values[codes.highest], u);
  const auto first = column.values.begin() + codes.lowest;
  const auto last = column.values.begin() + codes.highest;  // known to lie above
  split.first_right =
      codes.lowest + static_cast<Code>(std::upper_bound(first, last, split.threshold) - first);
}

// A set of categories drawn by coin flips; where that leaves a branch without rows, the last category changes
// sides.
inline void draw_subset(std::span<const Code> categories, Stream& stream, Split& split) {
  auto& left = split.left_categories;
  auto& right = split.right_categories;
  for (const Code code : categories) ((stream.next() >> 63) != 0 ? left : right).push_back(code);
  const auto move_last = [](std::vector<Code>& from, std::vector<Code>& to) {
    to.push_back(from.back());
    from.pop_back();
  };
  if (left.empty() && split.missing_branch != 0) move_last(right, left);
  if (right.empty() && split.missing_branch != 1) move_last(left, right);
}

// Draws one of the tests that divide the node's categories, for an encoding that was fixed before growing began.
inline CategoryTest draw_encoded(const CategoryPlan& plan, FeatureId feature,
                                 std::span<const Code> categories, Stream& stream) {
  const auto n = static_cast<std::uint32_t>(categories.size());
  if (plan.split() == CategoricalSplit::kOneVsRest)
    return {CategoryTest::Kind::kIs, 0, categories[stream.below(n)]};
  if (plan.split() == CategoricalSplit::kBinary) {
    Code different = 0;  // digits in which the node's categories are not all alike
    const Code first = plan.place(feature, 0, categories[0]);
    for (const Code code : categories) different |= plan.place(feature, 0, code) ^ first;
    for (auto skipped = stream.below(static_cast<std::uint32_t>(std::popcount(different))); skipped > 0;
         --skipped) {
      different &= different - 1;
    }
    return {CategoryTest::Kind::kDigit, std::countr_zero(different)};
  }
  const auto which =
      static_cast<std::int32_t>(stream.below(static_cast<std::uint32_t>(plan.n_orders(feature))));
  CategoryOrder order;
  order_by_plan(plan, feature, which, categories, order);
  return cut_after(plan, feature, which, categories, order, stream.below(n - 1));
}

template <Scorer S>
class RandomFinder {
 public:
  explicit RandomFinder(Region* region = nullptr) : left_steps_(region), values_(region) {}

  // Offers one test; false if the feature is constant in the node. Tests with many branches are not drawn.
  bool find(const Node<S>& node, FeatureId feature, const Column& column, const GatheredCodes& codes,
            Stream& stream, FirstBest<Split>& best) {
    if (is_constant(node, codes)) return false;
    const bool sends_missing = codes.n_missing > 0 && !node.known_only;
    Split split;
    split.feature = feature;
    split.n_missing = static_cast<std::uint32_t>(codes.n_missing);
    split.missing_branch = sends_missing ? static_cast<std::int32_t>(stream.next() >> 63) : -1;
    const bool categorical = column.kind == ColumnKind::kCategorical;
    if (codes.lowest == codes.highest) {  // one known value: the only test left is known against missing
      split.missing_branch = 1;
      split.first_right = column.n_codes;
      if (categorical) {
        write_known(node.categories, codes, split);
      } else {
        split.threshold = kInfinity;
      }
    } else if (categorical) {
      categories_.list(node, codes);
      if (node.categories.split() == CategoricalSplit::kSubset) {
        draw_subset(categories_.codes, stream, split);
      } else {
        split.categories = draw_encoded(node.categories, feature, categories_.codes, stream);
      }
    } else {
      draw_threshold(column, codes, stream, split);
    }
    const FeatureSearch<S> search(
        node, feature, codes.n_missing,
        node.known_only && codes.n_missing > 0 ? add_up_missing(node, codes) : nullptr);
    split.left_out_weight = search.left_out_weight;
    offer(search, column, codes, split, best);
    return true;
  }

  // The same for a feature of numbers whose values can be read in place, without gathering codes.
  template <class Values>
  bool find(const Node<S>& node, FeatureId feature, const Column& column, const Values& values, Stream stream,
            FirstBest<Split>& best) {
    const std::size_t n = node.entries.size();
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
    Split split;
    split.feature = feature;
    split.threshold = random_threshold(column, least, largest, stream.unit());
    const FeatureSearch<S> search(node, feature);
    offer(search, split, best,
          [value, threshold = split.threshold](std::size_t i) { return value[i] <= threshold; });
    return true;
  }

 private:
  using Walk = typename S::Walk;
  using Step = typename Walk::Step;

  // All known values on the left.
  static void write_known(const CategoryPlan& plan, const GatheredCodes& codes, Split& split) {
    if (plan.split() == CategoricalSplit::kSubset) {
      split.left_categories.push_back(codes.lowest);
    } else {
      split.categories = {CategoryTest::Kind::kKnown};
    }
  }

  void offer(const FeatureSearch<S>& search, const Column& column, const GatheredCodes& gathered,
             const Split& split, FirstBest<Split>& best) {
    const bool missing_left = split.missing_branch == 0;
    const Code missing = gathered.n_missing > 0 ? gathered.missing : kAfterLast;
    const Code* codes = gathered.codes;
    if (split.categories.kind != CategoryTest::Kind::kListed) {
      offer(search, split, best, [&](std::size_t i) {
        return codes[i] == missing
                   ? missing_left
                   : search.node.categories.branch(search.feature, split.categories, codes[i]) == 0;
      });
    } else if (column.kind == ColumnKind::kCategorical) {
      offer(search, split, best, [&](std::size_t i) {
        return codes[i] == missing ? missing_left
                                   : std::ranges::binary_search(split.left_categories, codes[i]);
      });
    } else if (gathered.n_missing == 0) {
      offer(search, split, best,
            [codes, first_right = split.first_right](std::size_t i) { return codes[i] < first_right; });
    } else {
      offer(search, split, best, [=, first_right = split.first_right](std::size_t i) {
        return codes[i] == missing ? missing_left : codes[i] < first_right;
      });
    }
  }

  template <class GoesLeft>
  void offer(const FeatureSearch<S>& search, Split split, FirstBest<Split>& best, const GoesLeft& goes_left) {
    Walk walk = start_walk(search, false, 2);
    move_left(search.node, walk, goes_left);
    walk.add_candidate(!search.limits.bind || admissible(walk, search.limits));
    const Found found = best_place(search, walk, false);
    split.left_weight = found.left_weight;
    if (found.any) best.offer(found.score + search.left_out, split);
  }

  // Moves the rows that go left, without branching on which way a row goes: that would be unpredictable.
  template <class GoesLeft>
  void move_left(const Node<S>& node, Walk& walk, const GoesLeft& goes_left) {
    const std::size_t n = node.entries.size();
    const Step* steps = node.buffers.steps.data();
    if constexpr (requires { requires Walk::kStepsAdd; }) {
      Step sum{};
      std::int64_t n_left = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const bool left = goes_left(i);
        sum += left ? steps[i] : Step{};
        n_left += left;
      }
      walk.move(sum, n_left);
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

  NodeCategories<S> categories_;
  Buffer<Step> left_steps_;
  Buffer<double> values_;
};

}  // namespace hornbeam::split
