// Where a row goes at a test: the one meaning that all tests have, for the plain walk and for explanations.
#pragma once

#include <cmath>
#include <cstdint>

#include "data/input.h"
#include "predict/predictor.h"
#include "tree/tree.h"

namespace hornbeam::predict {

// The branch that a surrogate test chooses for a value of its feature; negative if the value is missing. A category
// that the model has not seen counts as missing here, whatever an ordinary test does with it.
inline std::int32_t branch_of_surrogate(const tree::TreeSurrogates& all, std::size_t surrogate,
                                        double value) {
  if (all.category_begin[surrogate] == tree::kNoTable) {
    if (std::isnan(value)) return -1;
    const std::int32_t low = all.low_branch[surrogate];
    return value <= all.threshold[surrogate] ? low : 1 - low;
  }
  return value >= 0 ? all.branch_of_category(surrogate, static_cast<std::uint32_t>(value)) : -1;
}

// The branch of a row that lacks the node's feature: the first surrogate whose feature the row has decides.
template <class ValueOf>
std::int32_t branch_without(const Tree& in, NodeId node, const ValueOf& value_of) {
  const tree::TreeSurrogates& all = in.surrogates;
  if (!all.any()) return in.missing_branch[node];
  for (std::int64_t s = all.begin[node]; s < all.begin[node + 1]; ++s) {
    const auto surrogate = static_cast<std::size_t>(s);
    const std::int32_t branch = branch_of_surrogate(all, surrogate, value_of(all.feature[surrogate]));
    if (branch >= 0) return branch;
  }
  return in.missing_branch[node];
}

// `value_of` gives the row's value of a feature. Negative if the row has no single branch to take.
template <class ValueOf>
std::int32_t branch_of(const Tree& in, NodeId node, Unseen unseen, const ValueOf& value_of) {
  const double value = value_of(in.feature[node]);
  if (in.category_begin[node] == tree::kNoTable) {
    if (!std::isnan(value)) return value <= in.threshold[node] ? 0 : 1;
  } else {
    if (value >= 0) return in.branch_of_category(node, static_cast<std::uint32_t>(value));
    if (value == data::kUnseenCategory && unseen == Unseen::kMajority) return in.largest_branch(node);
  }
  return in.gaps == tree::Gaps::kBranch ? branch_without(in, node, value_of) : -1;
}

}  // namespace hornbeam::predict
