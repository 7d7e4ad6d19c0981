// What a criterion is. It scores a test by the cells of its branches; larger is better. The score of a test is the
// sum of its branches' scores, each equal to -weight * impurity up to terms that are the same for every test of the
// node. So score(test) - score(node) is the weighted impurity decrease, and two tests with the same partition tie
// exactly.
//
// A Scorer's Walk goes through the candidates of one feature: all rows start on the right, codes move left one by
// one, and in between the state is recorded as a candidate. After the walk, all candidates are scored at once.
// Counting, sorting and tiny nodes all use the same Walk, a local variable of the walking function, so that its state
// stays in registers.
#pragma once

#include <concepts>
#include <cstdint>
#include <span>

#include "criterion/candidates.h"

namespace hornbeam::criterion {

template <class W>
concept Walk =
    requires(W walk, const W& asked, const typename W::Element* cell, typename W::Step step, bool wanted) {
      // What a row adds to the left: its payload, converted once per node instead of once per feature.
      { W::step_of(std::uint32_t{}) } -> std::same_as<typename W::Step>;
      { walk.move(step) };             // one row goes left
      { walk.move_cell(cell) };        // all rows of a code go left
      { walk.add_candidate(wanted) };  // the current left | right is a candidate, if wanted
      { asked.n_candidates() } -> std::same_as<std::size_t>;
      { asked.left_rows() } -> std::same_as<std::int64_t>;  // rows, for min_samples_leaf
      {
        asked.left_weight()
      } -> std::same_as<std::int64_t>;  // fixed-point weight, for min_weight_fraction_leaf
      {
        asked.left_value()
      } -> std::same_as<double>;  // what the branch would predict, for monotonic constraints
      { asked.right_value() } -> std::same_as<double>;
    };

template <class S>
concept Scorer = Walk<typename S::Walk> && requires(S scorer, const S& asked, const typename S::Element* cell,
                                                    const typename S::Walk& walk) {
  typename S::Stats;
  { scorer.stats() } -> std::same_as<typename S::Stats&>;
  { asked.stats() } -> std::same_as<const typename S::Stats&>;
  // `cell` is the whole node, now on the right; at most so many candidates will be taken.
  { scorer.start(cell, std::size_t{}) } -> std::same_as<typename S::Walk>;
  // The first best of the candidates of the walk, if it beats that score.
  { scorer.best_candidate(walk, double{}) } -> std::same_as<BestCandidate>;
  { asked.cell_size() } -> std::same_as<int>;  // elements per cell
  { asked.is_empty(cell) } -> std::same_as<bool>;
  { scorer.score_of_node(cell) } -> std::same_as<double>;  // of the node before any test
  // Of one of many branches; the node comes second, and must be the one that score_of_node was last asked
  // for.
  { asked.score_of_branch(cell, cell) } -> std::same_as<double>;
  { asked.order_of(cell) } -> std::same_as<double>;   // by which categories are sorted for subset tests
  { asked.tie_scale(cell) } -> std::same_as<double>;  // size of the terms whose difference a score is, or 0
  { asked.score_unit() } -> std::same_as<double>;  // times this, a score is in the user's weight * impurity
};

// The score of a test is the sum of its branches' scores, unless the criterion has a score_of_test for
// branches whose number is not known in advance.
template <class S>
concept ScoresWholeTests = requires(S scorer, std::span<const typename S::Element> branch_cells) {
  { scorer.score_of_test(branch_cells) } -> std::same_as<double>;
};

// Most scores are the impurity that is shown. A criterion that shows another (chi2: gini) says so by a
// constant kShowsAnother; what its tests gain is then computed from their branches.
template <class S>
inline constexpr bool kShowsAnother = requires { S::kShowsAnother; };

// A criterion that is convex in two counts can bound the scores within a group of values; see
// split/find_groups.h.
template <class S>
concept BoundsGroups = Scorer<S> && requires(S scorer, CandidateList<typename S::Walk::Step>& before) {
  {
    scorer.bound_groups(before, std::size_t{}, std::size_t{}, std::size_t{}, double{})
  } -> std::same_as<GroupBounds>;
};

// Cells that the kernels of blocks (grow/fast/value_block.h, grow/fast/rank_block.h) know how to score by
// themselves.
enum class BlockCells : std::uint8_t {
  kNone,
  kTwoCounts,        // gini of two classes that are counted
  kTwoEntropies,     // entropy of two classes that are counted
  kCounts,           // gini of more classes
  kEntropies,        // entropy of more classes
  kTwoWeights,       // of two classes of weighted rows
  kClassWeights,     // of more classes
  kWeightEntropies,  // entropy of weighted rows, however many classes
  kSums,             // squared error
  kPoisson,          // Poisson deviance of the same sums
};
template <class S>
constexpr BlockCells block_cells_of() {
  if constexpr (requires { S::kBlockCells; }) return S::kBlockCells;
  return BlockCells::kNone;
}
template <class S>
inline constexpr BlockCells kBlockCells = block_cells_of<S>();

// Whether a constant may be subtracted from all targets without changing which test is best. Around their
// mean, squares lose no digits. A deviance needs the sums themselves.
template <class S>
inline constexpr bool kMovable = !requires { requires !S::kMovable; };

// Criteria that cannot be computed from cells (medians) read the rows themselves: split/find_medians.h.
template <class S>
inline constexpr bool kNeedsRows = requires { requires S::kNeedsRows; };

}  // namespace hornbeam::criterion
