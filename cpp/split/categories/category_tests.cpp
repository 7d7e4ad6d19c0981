#include "split/categories/category_tests.h"

#include <algorithm>

#include "split/split.h"

namespace hornbeam::split {

const CategoryPlan& CategoryPlan::subsets() {
  static const CategoryPlan plan(CategoricalSplit::kSubset, 0.0);
  return plan;
}

void CategoryPlan::add_feature(FeatureId feature, std::vector<bool> has_rows) {
  features_.resize(static_cast<std::size_t>(feature) + 1);
  Feature& added = features_.back();
  added.n_with_rows = static_cast<Code>(std::ranges::count(has_rows, true));
  added.has_rows = std::move(has_rows);
}

void CategoryPlan::add_order(std::vector<Code> place_of_code) {
  features_.back().orders.push_back(std::move(place_of_code));
}

namespace {

template <class Branch>
void fill(const CategoryPlan& plan, const Column& column, const Split& split, std::int32_t missing_branch,
          std::span<Branch> of_code) {
  std::ranges::fill(of_code, static_cast<Branch>(missing_branch));
  const bool listed = split.categories.kind == CategoryTest::Kind::kListed;
  if (!listed || split.empty_branch >= 0) {
    for (Code code = 0; code < column.n_codes; ++code) {
      if (!plan.has_rows(split.feature, code)) continue;
      const std::int32_t branch =
          listed ? split.empty_branch : plan.branch(split.feature, split.categories, code);
      of_code[code] = static_cast<Branch>(branch);
    }
  }
  for (const Code code : split.left_categories) of_code[code] = 0;
  for (const Code code : split.right_categories) of_code[code] = 1;
  for (const auto [code, branch] : split.many_categories) of_code[code] = static_cast<Branch>(branch);
}

}  // namespace

void fill_branches(const CategoryPlan& plan, const Column& column, const Split& split,
                   std::int32_t missing_branch, std::span<std::uint8_t> of_code) {
  fill(plan, column, split, missing_branch, of_code);
}

void fill_branches(const CategoryPlan& plan, const Column& column, const Split& split,
                   std::int32_t missing_branch, std::span<std::uint32_t> of_code) {
  fill(plan, column, split, missing_branch, of_code);
}

}  // namespace hornbeam::split
