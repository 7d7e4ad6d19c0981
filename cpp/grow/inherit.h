// What children inherit from the tests above them: features that are not worth trying again, and bounds on their
// predictions.
#pragma once

#include <span>

#include "data/dataset.h"
#include "grow/frontier.h"
#include "grow/tree_builder.h"
#include "split/categories/category_tests.h"

namespace hornbeam::grow {

// A feature that has had a branch per category is constant below.
bool spends_feature(const CategoryPlan& categories, const Dataset& data, const Split& split);
void spend_feature(const OpenNode& node, std::span<OpenNode> children);

// The values that monotonic constraints bound: a node's number, or its share of the second of two classes.
struct ConstrainedValues {
  std::size_t value_size;  // numbers per node in the growing tree
  bool is_classification;
};
// Keeps the children's predictions within their bounds, which are their parent's. If the tested feature has a
// direction (-1, +1; 0 for none), the midpoint of the two values becomes a bound of both. Rows without the feature may
// have put the two in the wrong order: then both predict the midpoint.
void constrain(TreeBuilder& part, const ConstrainedValues& values, int direction,
               std::span<OpenNode> children);

}  // namespace hornbeam::grow
