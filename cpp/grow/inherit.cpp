#include "grow/inherit.h"

#include <algorithm>
#include <memory>

namespace hornbeam::grow {

using split::CategoricalSplit;

bool spends_feature(const CategoryPlan& categories, const Dataset& data, const Split& split) {
  return categories.split() == CategoricalSplit::kMultiway &&
         data.column(split.feature).kind == ColumnKind::kCategorical;
}

void spend_feature(const OpenNode& node, std::span<OpenNode> children) {
  auto spent = std::make_shared<std::vector<FeatureId>>();
  if (node.spent != nullptr) *spent = *node.spent;
  spent->push_back(node.split.feature);
  for (OpenNode& child : children) child.spent = spent;
}

void constrain(TreeBuilder& part, const ConstrainedValues& values, int direction,
               std::span<OpenNode> children) {
  const auto constrained = [&](const OpenNode& child) -> double& {
    const std::size_t first = static_cast<std::size_t>(child.id) * values.value_size;
    return part.values[first + (values.is_classification ? 1 : 0)];
  };
  const auto clamp = [&](const OpenNode& child) {
    double& value = constrained(child);
    value = std::clamp(value, child.lower, child.upper);
    if (values.is_classification) *(&value - 1) = 1 - value;
  };
  std::ranges::for_each(children, clamp);
  if (direction == 0) return;
  const double middle = (constrained(children[0]) + constrained(children[1])) / 2;
  children[direction > 0 ? 0 : 1].upper = middle;
  children[direction > 0 ? 1 : 0].lower = middle;
  std::ranges::for_each(children, clamp);
}

}  // namespace hornbeam::grow
