// What all searches for a feature's best test have in common: which rows take part, which limits a test must satisfy,
// which score it must beat, and how candidates are scored and compared.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "split/node.h"
#include "split/split.h"

namespace hornbeam::split {

using criterion::BestCandidate;

// The best of some candidates.
struct Found {
  double score = -kInfinity;
  Code place = 0;  // its meaning depends on the search
  bool missing_left = false;
  bool any = false;
  std::int64_t left_weight = 0;
  double n_tests = 0.0;  // the number of candidates, this one included
};

// One feature of the node.
template <Scorer S>
struct FeatureSearch {
  using Element = typename S::Element;

  // A feature that no row lacks.
  FeatureSearch(const Node<S>& at_node, FeatureId of_feature)
      : node(at_node),
        feature(of_feature),
        limits(at_node.limits_of(of_feature)),
        cell(at_node.cell.data()) {}
  // A feature that some rows lack. Where tests are scored on the rows that have the feature, `missing` must be the sum
  // of the other rows. Their score is the same for all tests of this feature but differs between features; it is kept,
  // so that the gains of features can be compared.
  FeatureSearch(const Node<S>& at_node, FeatureId of_feature, std::size_t n_without, const Element* missing)
      : FeatureSearch(at_node, of_feature) {
    n_missing = n_without;
    missing_cell = missing;
    if (n_missing > 0 && node.known_only) leave_out_missing();
  }

  // Whether tests send rows without the feature to one of the branches.
  bool sends_missing() const { return n_missing > 0 && !node.known_only; }

  bool may_win(const Found& found, const FirstBest<Split>& best) const {
    return found.any && (!best.found() || found.score + left_out > best.score());
  }

  const Node<S>& node;
  FeatureId feature;
  Limits limits;        // for the rows that take part
  const Element* cell;  // of the rows that take part: all, or those that have the feature
  const Element* missing_cell = nullptr;
  std::size_t n_missing = 0;
  double left_out = 0.0;             // what the other rows add to the score of the node,
  std::int64_t left_out_weight = 0;  // and their weight
  double to_beat = -kInfinity;       // tests that do not score more than this need not be found

 private:
  void leave_out_missing() {
    std::vector<Element>& known = node.buffers.known_cell;
    known.assign(node.cell.begin(), node.cell.end());
    for (std::size_t i = 0; i < known.size(); ++i) known[i] -= missing_cell[i];
    cell = known.data();
    left_out = node.scorer.score_of_node(node.cell.data());
    left_out -= node.scorer.score_of_node(cell);  // last: the tests are about this cell
    const auto& stats = node.scorer.stats();
    left_out_weight = stats.weight(missing_cell);
    limits.node_rows = stats.rows(cell);
    limits.node_weight = stats.weight(cell);
  }
};

template <criterion::Walk W>
bool admissible(const W& walk, const Limits& limits) {
  const std::int64_t left_rows = walk.left_rows();
  if (left_rows < limits.min_rows || limits.node_rows - left_rows < limits.min_rows) return false;
  if (limits.min_weight > 0) {
    const std::int64_t left_weight = walk.left_weight();
    if (left_weight < limits.min_weight || limits.node_weight - left_weight < limits.min_weight) return false;
  }
  if (limits.direction != 0) {
    const double left = walk.left_value();
    const double right = walk.right_value();
    if (left < limits.lower || left > limits.upper || right < limits.lower || right > limits.upper)
      return false;
    if ((limits.direction > 0 && left > right) || (limits.direction < 0 && left < right)) return false;
  }
  return true;
}

// A walk with all rows on the right, or with the missing ones already on the left.
template <Scorer S>
typename S::Walk start_walk(const FeatureSearch<S>& search, bool missing_left, std::size_t most_candidates) {
  search.node.buffers.places.start(most_candidates);
  typename S::Walk walk = search.node.scorer.start(search.cell, most_candidates);
  if (missing_left) walk.move_cell(search.missing_cell);
  return walk;
}

template <Scorer S>
Found best_place(const FeatureSearch<S>& search, const typename S::Walk& walk, bool missing_left) {
  S& scorer = search.node.scorer;
  Found found;
  found.n_tests = static_cast<double>(walk.n_candidates());
  const BestCandidate best = scorer.best_candidate(walk, search.to_beat);
  if (!best.found) return found;
  found.any = true;
  found.score = best.score;
  found.place = search.node.buffers.places.data()[best.index];
  found.missing_left = missing_left;
  if constexpr (requires { scorer.left_weight_of(best.index); }) {
    found.left_weight = scorer.left_weight_of(best.index);
  }
  return found;
}

// The better of the two directions for missing values; of equals the lower threshold, then left.
template <Scorer S>
Found merge_directions(const Node<S>& node, const Found& missing_left, const Found& missing_right) {
  const auto better = [&] {
    if (!missing_left.any || !missing_right.any) return missing_left.any ? missing_left : missing_right;
    const double a = missing_left.score;
    const double b = missing_right.score;
    const double slack = tie_slack(std::max(std::abs(a), std::abs(b)), node.tie_scale());
    if (b > a + slack) return missing_right;
    if (a > b + slack) return missing_left;
    Found found = missing_right.place < missing_left.place ? missing_right : missing_left;
    found.score = std::max(a, b);
    return found;
  };
  Found found = better();
  found.n_tests = missing_left.n_tests + missing_right.n_tests;
  return found;
}

// Tries missing values on either side.
template <Scorer S, class WalkOnce>
Found walk_both_ways(const FeatureSearch<S>& search, const WalkOnce& walk) {
  if (!search.sends_missing()) return walk(false);
  const Found left = walk(true);
  return merge_directions(search.node, left, walk(false));
}

// Of equals the first stays, as among all candidates. True if the new one is kept.
template <Scorer S>
bool keep_better(const Node<S>& node, Found& best, const Found& found) {
  const double n_tests = best.n_tests + found.n_tests;
  const bool wins =
      found.any && (!best.any || found.score > best.score + tie_slack(best.score, node.tie_scale()));
  if (wins) {
    best = found;
  } else if (found.any) {
    best.score = std::max(best.score, found.score);
  }
  best.n_tests = n_tests;
  return wins;
}

template <Scorer S>
Split split_of(const FeatureSearch<S>& search, const Found& found) {
  Split split;
  split.feature = search.feature;
  split.missing_branch = !search.sends_missing() ? -1 : found.missing_left ? 0 : 1;
  split.n_missing = static_cast<std::uint32_t>(search.n_missing);
  split.left_out_weight = search.left_out_weight;
  split.n_tests = found.n_tests;
  split.left_weight = found.left_weight;
  return split;
}

}  // namespace hornbeam::split
