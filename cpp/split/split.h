// A test ready to be put into a tree, what its branches must satisfy, and how the best of several is kept.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "base/types.h"
#include "criterion/candidates.h"
#include "criterion/choice.h"
#include "data/row_records.h"
#include "split/categories/category_tests.h"
#include "split/surrogates.h"

namespace hornbeam::split {

using criterion::Contender;
using criterion::RowFacts;
using criterion::tie_slack;
using data::GroupedCode;

// What a branch must satisfy to exist.
struct Limits {
  bool bind = false;  // whether any limit can refuse a test that divides the rows
  std::int64_t min_rows = 1;
  std::int64_t min_weight = 0;  // fixed point
  std::int64_t node_rows = 0;
  std::int64_t node_weight = 0;
  int direction = 0;          // the feature's monotonic constraint: -1, 0, +1
  double lower = -kInfinity;  // bounds on what a constrained test's branches may predict
  double upper = kInfinity;
};

// Keeps the best of the candidates offered in order; among equals the first stays.
template <class What>
class FirstBest {
 public:
  explicit FirstBest(double scale) : scale_(scale) {}

  bool offer(double score, const What& what) {
    if (!(score > score_)) return false;
    const bool wins = !winner_.has_value() || score > score_ + tie_slack(score_, scale_);
    if (wins) winner_ = what;
    score_ = score;
    return wins;
  }
  bool found() const { return winner_.has_value(); }
  double score() const { return score_; }
  const What& winner() const { return *winner_; }
  What& winner() { return *winner_; }

 private:
  std::optional<What> winner_;
  double score_ = -kInfinity;
  double scale_;
};

// The place of the test that parts known values from missing ones.
inline constexpr Code kAfterLast = std::numeric_limits<Code>::max();

// A threshold that has not been looked up yet. (Any number can be a threshold, even the one that trees use for
// "none".)
inline constexpr double kNotYet = std::numeric_limits<double>::quiet_NaN();

struct Split {
  FeatureId feature = kNoFeature;
  double threshold = kNotYet;
  Code last_left = 0;                 // numeric: the neighbouring codes that the test parts; once it has a
  Code first_right = 0;               // threshold, codes below first_right go left
                                      // (random tests of values: 0, nobody has looked it up)
  GroupedCode last_left_grouped = 0;  // found by groups: up to this one, rows go left; between groups, it is
  std::uint8_t group_right = 0;       // the last that could be, and this the group of the right neighbour
  std::uint32_t n_known_left = 0;     // ordered rows of a subtree: how many with known values go left
  std::uint32_t n_missing = 0;        // rows of the node that lack the feature
  CategoryTest categories;            // categorical: what is asked; of listed categories
  std::vector<Code> left_categories;  // those of branch 0, ascending,
  std::vector<Code> right_categories;
  std::vector<CategoryBranch> many_categories;  // or, where there are more branches, all of them, ascending
  std::int32_t n_branches = 2;
  std::int32_t empty_branch = -1;  // takes the fit's categories that the node lacks; -1: missing values' does
  std::int32_t missing_branch =
      -1;  // -1: no row of the node lacks the feature; missing values take the larger branch
  std::vector<Surrogate> surrogates;
  // For the second step of a criterion (criterion/choice.h):
  double n_tests = 1.0;                      // how many tests of the feature this is the best of
  std::int64_t left_weight = 0;              // in fixed point, where the first step of the criterion has it
  std::int64_t left_out_weight = 0;          // of rows that lack the feature and take no part
  std::vector<std::int64_t> branch_weights;  // of many branches, in fixed point
  std::optional<RowFacts> known;             // where p-values leave out rows that lack the feature

  Contender contender(double score) const {
    const std::int32_t n_with_rows = n_branches - (empty_branch >= 0 ? 1 : 0);
    return {score, n_tests, n_with_rows, left_weight, left_out_weight, branch_weights, known};
  }
};

// Choice keeps views of the branch weights while a list of splits grows.
static_assert(std::is_nothrow_move_constructible_v<Split>);

}  // namespace hornbeam::split
