// Rows of two classes that weigh the same, as cells of simd/grow/value_block_body.h: the class is the lowest bit of
// a listed row. Included once per instruction set, inside a namespace that HORNBEAM_KERNELS names.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "criterion/counts.h"
#include "grow/fast/value_block.h"
#include "simd/grow/value_block_registers.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

using criterion::EntropyTerm;
using criterion::GiniTerm;

namespace {

// The score of a branch, by its rows and those of class 1.
template <class Term>
double score_of_branch(const Term& term, std::uint32_t rows, std::uint32_t ones) {
  const std::int64_t zeros = rows - ones;
  return term.branch(term(1, ones) + term(0, zeros), rows);
}

// The same where there are few rows. Terms need not know counts beyond `most_rows`, of which no branch has more.
template <class Term>
struct FewScores {
  FewScores(const Term& term, std::uint32_t most_rows) {
    for (std::uint32_t rows = 0; rows <= std::min<std::uint32_t>(kLanes, most_rows); ++rows) {
      for (std::uint32_t ones = 0; ones <= rows; ++ones) of[rows][ones] = score_of_branch(term, rows, ones);
    }
  }
  double operator()(std::uint32_t rows, std::uint32_t ones) const { return of[rows][ones]; }
  double of[kLanes + 1][kLanes + 1] = {};
};

template <class Term>
struct AnyScore {
  const Term& term;
  double operator()(std::uint32_t rows, std::uint32_t ones) const {
    return score_of_branch(term, rows, ones);
  }
};

// `Term` says by what tests are scored (criterion/counts.h).
template <class Term>
class TwoCountCells {
 public:
  using Node = CountedNode;
  using Counts = FourCounts;
  using Left = std::uint32_t;  // rows of class 1
  static constexpr bool kDescribesRows = false;

  explicit TwoCountCells(BlockGrowth& growth)
      : growth_(growth),
        term_(term_of(growth)),
        few_(term_, static_cast<std::uint32_t>(growth.nodes[growth.root.node].rows)),
        least_rows_(std::max(growth.rules.min_samples_leaf, growth.rules.min_weight)) {}

  Node* nodes() const { return growth_.nodes; }
  bool opens(std::int32_t node, std::int32_t depth) const {
    const Node& of = growth_.nodes[node];
    return growth_.rules.opens_two(of.samples, of.rows, of.ones, depth);
  }

  // ---- nodes whose rows move

  void start(std::int32_t) {}
  double tie_scale(std::int32_t node) const { return term_.scale(growth_.nodes[node].rows); }
  double score_of(std::int32_t node) const {
    return score_of_branch(term_, growth_.nodes[node].rows, growth_.nodes[node].ones);
  }
  Counts count(FourColumns columns, const BlockGrowth::Waiting& node, const FourTests& tests) const {
    const ListedRow* rows = growth_.list[node.side] + node.begin;
    std::size_t n = node.n_rows;
    Counts found;
    for (; n > kMostCounted; n -= kMostCounted, rows += kMostCounted) {
      count_stretch(columns, rows, kMostCounted, tests.bound, found);
      for (const float*& at : columns.at) at += kMostCounted;
    }
    count_stretch(columns, rows, n, tests.bound, found);
    return found;
  }
  void score(const Counts& left, std::int32_t node, Lanes informative, double* scores) const {
    score(AnyScore<Term>{term_}, left, node, informative, scores);
  }
  Left left_of(const Counts& counts, std::size_t test) const { return counts.ones[test]; }
  // Stores the sums of two children, the first of which has so many rows.
  void divide(std::int32_t parent, std::int32_t first, std::uint32_t left_rows, Left left_ones) const {
    const Node& node = growth_.nodes[parent];
    Node* children = growth_.nodes + first;
    children[0].samples = children[0].rows = left_rows;
    children[0].ones = left_ones;
    children[1].samples = children[1].rows = node.rows - left_rows;
    children[1].ones = node.ones - left_ones;
  }
  void move_words(const BlockGrowth::Waiting&, const float*, float, std::size_t) const {}
  void describe(std::int32_t, std::int32_t, std::size_t) const {}

  // ---- nodes whose rows are lanes

  void start_lanes(const BlockGrowth::Waiting& root, std::size_t) {
    ones_ = ones_of(growth_.list[root.side] + root.begin, root.n_rows);
  }
  void finish_lanes(std::size_t) const {}
  bool any_pair_will_do() const { return least_rows_ <= 1; }
  void start(std::int32_t, Lanes) {}
  double score_of(std::int32_t node, Lanes) const {
    return few_(growth_.nodes[node].rows, growth_.nodes[node].ones);
  }
  Counts count(const Lanes* left, Lanes) const {
    Counts found;
    for (std::size_t c = 0; c < kFour; ++c) {
      found.rows[c] = static_cast<std::uint32_t>(std::popcount(left[c]));
      found.ones[c] = static_cast<std::uint32_t>(std::popcount(left[c] & ones_));
    }
    return found;
  }
  void score_lanes(const Counts& left, std::int32_t node, Lanes informative, double* scores) const {
    score(few_, left, node, informative, scores);
  }
  double score_of_pair() const { return few_(1, 0) + few_(1, 1); }
  void divide_lanes(std::int32_t parent, std::int32_t first, Lanes left, Lanes) const {
    divide(parent, first, static_cast<std::uint32_t>(std::popcount(left)),
           static_cast<Left>(std::popcount(left & ones_)));
  }
  bool opens(std::int32_t node, Lanes, std::int32_t depth) const { return opens(node, depth); }

 private:
  static Term term_of(const BlockGrowth& growth) {
    if constexpr (std::is_same_v<Term, GiniTerm>) return GiniTerm(0);
    if constexpr (std::is_same_v<Term, EntropyTerm>) return *growth.entropy;
  }

  template <class Score>
  void score(const Score& score, const Counts& left, std::int32_t id, Lanes informative,
             double* scores) const {
    const Node& node = growth_.nodes[id];
    for (std::size_t c = 0; c < kFour; ++c) {
      const double both =
          score(left.rows[c], left.ones[c]) + score(node.rows - left.rows[c], node.ones - left.ones[c]);
      const std::uint32_t smaller = std::min(left.rows[c], node.rows - left.rows[c]);
      scores[c] = (informative >> c & 1) != 0 && smaller >= least_rows_ ? both : kNoTest;
    }
  }

  BlockGrowth& growth_;
  Term term_;
  FewScores<Term> few_;
  std::int64_t least_rows_;  // of a branch; every row weighs the same
  Lanes ones_ = 0;
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
