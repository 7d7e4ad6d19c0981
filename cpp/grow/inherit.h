// What children inherit from the tests above them: features that are not worth trying again, and bounds on
// what they may predict.
#pragma once

#include <span>

#include "data/dataset.h"
#include "grow/frontier.h"
#include "grow/tree_builder.h"
#include "split/category_tests.h"

namespace hornbeam::grow {

// A feature that has had a branch per category has nothing left to say.
bool spends_feature(const CategoryPlan& categories, const Dataset& data, const Split& split);
void spend_feature(const OpenNode& node, std::span<OpenNode> children);

// What monotonic constraints are about: a number per node, or the share of the second of two classes.
struct ConstrainedValues {
  std::size_t value_size;  // numbers per node in the growing tree
  bool is_classification;
};
// Children, which have their parent's bounds, predict within them; a test of a feature with a direction (-1,
// +1; 0 for none) parts the bounds at the middle of the two values. Rows that the test said nothing of may
// have turned the two round: then both predict the middle.
void constrain(TreeBuilder& part, const ConstrainedValues& values, int direction,
               std::span<OpenNode> children);

}  // namespace hornbeam::grow
