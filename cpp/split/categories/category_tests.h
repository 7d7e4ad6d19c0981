// Tests on categories: which kind a fit looks for, what such a test asks, and where it sends a category.
//
//   subset       a set of the node's categories goes left                         (Breiman et al. 1984)
//   one_vs_rest  one category goes left: a one-hot column
//   ordinal      categories up to one of them go left, in the order given
//   target_mean  the same in the order of their mean target over the whole fit, or by each class's share
//   binary       one binary digit of the category's place in the order given is asked
//   multiway     every category of the node has a branch                          (ID3, C4.5)
//   merge        categories that do not differ significantly share a branch      (CHAID: Kass 1980)
//
// Subset, multiway and merge look at the categories of the node and list where each goes. The others are
// encodings fixed before the fit grows: they say where a category goes that the node has not met, too. A
// category without rows in the whole fit is unseen, and goes where missing values go.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.h"
#include "data/dataset.h"

namespace hornbeam::split {

using data::Column;

enum class CategoricalSplit : std::uint8_t {
  kSubset,
  kOneVsRest,
  kOrdinal,
  kTargetMean,
  kBinary,
  kMultiway,
  kMerge,
};

// What a test asks of a category.
struct CategoryTest {
  enum class Kind : std::uint8_t {
    kListed,  // the split lists where each category of the node goes
    kKnown,   // all categories go left, missing values right
    kIs,      // category `bound` goes left
    kUpTo,    // categories up to place `bound` of order `which` go left
    kDigit,   // categories go left if binary digit `which` of their place in the only order is 0
  };
  Kind kind = Kind::kListed;
  std::int32_t which = 0;
  Code bound = 0;
};

// Where one category goes, for tests with more than two branches.
struct CategoryBranch {
  Code code;
  std::uint32_t branch;
};

// What a fit knows about its categories before it grows.
class CategoryPlan {
 public:
  CategoryPlan(CategoricalSplit split, double log_merge_level)
      : split_(split), log_merge_level_(log_merge_level) {}
  static const CategoryPlan& subsets();  // the default

  CategoricalSplit split() const { return split_; }
  double log_merge_level() const { return log_merge_level_; }  // categories differ if ln p is at most this
  bool has_many_branches() const {
    return split_ == CategoricalSplit::kMultiway || split_ == CategoricalSplit::kMerge;
  }

  // Candidates which of a column's categories have rows in the fit. Features are added in ascending order.
  void add_feature(FeatureId feature, std::vector<bool> has_rows);
  // Adds an order of the categories of the feature that was added last: the place of each code.
  void add_order(std::vector<Code> place_of_code);

  bool has_rows(FeatureId feature, Code code) const { return of(feature).has_rows[code]; }
  Code n_with_rows(FeatureId feature) const { return of(feature).n_with_rows; }
  std::int32_t n_orders(FeatureId feature) const {
    return static_cast<std::int32_t>(of(feature).orders.size());
  }
  Code place(FeatureId feature, std::int32_t order, Code code) const {
    return of(feature).orders[static_cast<std::size_t>(order)][code];
  }

  // Where an encoded test sends a category that has rows in the fit.
  std::int32_t branch(FeatureId feature, const CategoryTest& test, Code code) const {
    switch (test.kind) {
      case CategoryTest::Kind::kIs:
        return code == test.bound ? 0 : 1;
      case CategoryTest::Kind::kUpTo:
        return place(feature, test.which, code) <= test.bound ? 0 : 1;
      case CategoryTest::Kind::kDigit:
        return static_cast<std::int32_t>(place(feature, 0, code) >> test.which & 1);
      default:
        return 0;
    }
  }

 private:
  struct Feature {
    std::vector<bool> has_rows;  // by code
    Code n_with_rows = 0;
    std::vector<std::vector<Code>> orders;  // each by code
  };
  const Feature& of(FeatureId feature) const { return features_[static_cast<std::size_t>(feature)]; }

  CategoricalSplit split_ = CategoricalSplit::kSubset;
  double log_merge_level_ = 0.0;
  std::vector<Feature> features_;
};

struct Split;

// The branch of every code of a column, followed by that of missing values. Categories that the test says nothing about
// take the branch of missing values. `of_code` has room for all of them.
void fill_branches(const CategoryPlan& plan, const Column& column, const Split& split,
                   std::int32_t missing_branch, std::span<std::uint8_t> of_code);
void fill_branches(const CategoryPlan& plan, const Column& column, const Split& split,
                   std::int32_t missing_branch, std::span<std::uint32_t> of_code);

}  // namespace hornbeam::split
