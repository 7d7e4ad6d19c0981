// What a criterion is. It scores a test by what the branches' cells say, larger being better; the score of a
// test is the sum of its branches' scores, each equal to -weight * impurity up to terms that every test of
// the node shares. So score(test) - score(node) is the weighted impurity decrease, and two tests with the
// same partition tie exactly.
//
// A Scorer walks through the candidates of one feature: all rows start on the right, codes move left one by
// one, and score() is asked between them. Counting, sorting and tiny nodes all use the same Scorer.
#pragma once

#include <concepts>
#include <cstdint>

namespace hornbeam {

template <class S>
concept Scorer = requires(S scorer, const S& asked, const typename S::Element* cell, std::uint32_t payload) {
  typename S::Stats;
  { scorer.stats() } -> std::same_as<typename S::Stats&>;
  { scorer.start(cell) };                               // `cell` is the whole node, now on the right
  { scorer.move(payload) };                             // one row goes left
  { scorer.move_cell(cell) };                           // all rows of a code go left
  { asked.score() } -> std::same_as<double>;            // of the current left | right; -inf is not admissible
  { asked.left_rows() } -> std::same_as<std::int64_t>;  // rows, for min_samples_leaf
  { asked.left_weight() } -> std::same_as<std::int64_t>;  // fixed-point weight, for min_weight_fraction_leaf
  { asked.left_value() } -> std::same_as<double>;  // what the branch would predict, for monotonic constraints
  { asked.right_value() } -> std::same_as<double>;
  { asked.score_of(cell) } -> std::same_as<double>;  // of one branch holding just this cell
  { asked.order_of(cell) } -> std::same_as<double>;  // by which categories are sorted for subset tests
  { asked.tie_scale(cell) } -> std::same_as<double>;      // size of the terms whose difference a score is, or 0
  { asked.score_unit() } -> std::same_as<double>;    // times this, a score is in the user's weight * impurity
};

}  // namespace hornbeam
