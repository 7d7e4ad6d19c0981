// The patterns of a block of rows in the subtrees of a tree (subtrees.h): a byte per row, all rows at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "explain/rows.h"
#include "explain/subtrees.h"

namespace hornbeam::explain {

// Marks with 1 the rows [first, first + n) of a block that go right at a test with two branches.
void goes_right(const Tree& tree, NodeId node, Unseen unseen, const RowBlock& block, std::size_t first,
                std::size_t n, std::uint8_t* right);

// One thread's memory for it.
class PatternWalk {
 public:
  explicit PatternWalk(Unseen unseen) : unseen_(unseen) {}

  // Calls visit(number of the subtree, a byte per row) for all subtrees. The patterns of rows that take all
  // branches of some test are meaningless.
  template <class Visit>
  void run(const Tree& tree, const CutTree& cut, const RowBlock& block, Visit&& visit) {
    begin(cut, block.n_rows());
    for (const CutStep& step : cut.steps) {
      if (step.level > 0) pass(tree, step);
      if (step.subtree < 0) {
        test(tree, step.node, block, static_cast<std::size_t>(step.level));
        continue;
      }
      const auto number = static_cast<std::size_t>(step.subtree);
      write_patterns(tree, cut.subtrees[number], block);
      visit(number, static_cast<const std::uint8_t*>(patterns_.data()));
    }
  }

 private:
  void begin(const CutTree& cut, std::size_t n_rows);
  void test(const Tree& tree, NodeId node, const RowBlock& block, std::size_t level);
  void pass(const Tree& tree, const CutStep& step);
  void write_patterns(const Tree& tree, const Subtree& subtree, const RowBlock& block);

  Unseen unseen_;
  std::size_t n_rows_ = 0;
  std::vector<std::uint8_t> passed_;    // [level, row]: 1 where the row passes the tests on the column
  std::vector<std::uint8_t> right_;     // [level, row]: 1 where the row goes right at the node
  std::vector<std::int32_t> branches_;  // [level, row], where a test has more than two branches
  std::vector<NodeId> nodes_;           // by level: the node whose test is kept
  std::vector<std::uint8_t> patterns_;  // [row]
  std::vector<std::uint8_t> bits_;      // [row]
};

}  // namespace hornbeam::explain
