// A tree while it grows: nodes in the order they came up, in one or several pieces; at the end they become
// the one flat Tree.
#pragma once

#include <cstdint>
#include <vector>

#include "hornbeam/dataset.h"
#include "hornbeam/split.h"
#include "hornbeam/tree.h"

namespace hornbeam {

// A node while the tree grows. `part` >= 0 says that the node's subtree was grown elsewhere and is spliced in
// at the end.
struct NodeRecord {
  NodeId first_child = kNoChild;
  std::int32_t part = -1;
  std::int32_t missing_branch = 0;
  std::int32_t split = -1;  // index into `splits`, -1 at leaves
  std::int64_t n_samples = 0;
  double weight = 0.0;
  double impurity = 0.0;
  double gain = 0.0;
};

// Grown nodes in the order they came up; one per thread's piece of the tree.
struct Branchwork {
  std::vector<NodeRecord> nodes;
  std::vector<double> values;
  std::vector<Split> splits;

  NodeId add(std::size_t value_size) {
    nodes.emplace_back();
    values.resize(values.size() + value_size);
    return static_cast<NodeId>(nodes.size()) - 1;
  }
};

// Thresholds that are still to be looked up, all at once: the values lie far apart, and a processor can wait
// for many of them at the same time.
void set_thresholds(const Dataset& data, Branchwork& part);

// Numbers the nodes of all pieces breadth-first, so that the result does not depend on who grew what when.
Tree assemble(const Dataset& data, const std::vector<Branchwork>& parts, int n_outputs, int n_values,
              const CategoryPlan& plan = CategoryPlan::subsets());

}  // namespace hornbeam
