// Tests that are drawn and not searched for; bodies of TestFinder, see split/test_finder.h.
#pragma once

#include <algorithm>

#include "split/test_finder.h"

namespace hornbeam::split {

using criterion::Scorer;
using criterion::Walk;
using data::random_threshold;

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
  walk.add_candidate(!limits.bind || admissible(walk, limits));
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

}  // namespace hornbeam::split
