// A tree in which all nodes of a level share one test, the one with the largest sum of gains (symmetric or
// oblivious trees; Kohavi 1994, CatBoost). A node that the test does not divide, or not into children that the
// limits allow, stays whole and waits for the next level's test.
//
// `grow` does everything where the rows are at hand. Where they are elsewhere (boost/parts/tree_of_parts.h), the steps
// are taken one by one: `open`; then, while there is a `next_level`, its children get their rows and histograms, and
// `carry_out` makes them nodes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "boost/grow/boost_grower.h"

namespace hornbeam::boost {

class SymmetricTree {
 public:
  using NodeState = BoostGrower::NodeState;

  explicit SymmetricTree(BoostGrower& grower) : grower_(grower) {}
  // Grows from the root, whose rows are loaded; `counted` is its histogram, if it has been counted already.
  void grow(Histogram* counted);

  // A node that is to be divided, and its children.
  struct Family {
    NodeId parent;
    NodeState children[2];
    bool is_allowed = true;
    bool goes_on[2] = {false, false};  // whether a child may be divided by the next level's test
    int smaller() const { return children[0].n_rows() <= children[1].n_rows() ? 0 : 1; }
  };
  struct Level {
    Split split;
    std::vector<Family> families;
    bool is_last = false;  // no child will be divided, so none needs a histogram
  };
  // Begins with a root whose histogram is filled.
  void open();
  // The next level's test and the nodes that it divides; for some of them that is not allowed.
  std::optional<Level> next_level();
  // Checks children against the limits, once their numbers of rows are known.
  void judge_rows(Family& family) const;
  // Makes the children nodes of the tree; those that may be divided again must have histograms.
  void carry_out(Level& level);

 private:
  // A test and its gain over the whole level, in squared units of gradient.
  struct LevelCut {
    double gain = 0.0;
    double floor = 0.0;  // a gain up to this is rounding
    Cut cut;
    bool has_missing = false;  // a node of the level has rows without a value
  };

  bool has_room(std::int32_t depth) const;
  void count_root(Histogram* counted);
  void order_categories();
  std::optional<Split> best_test() const;
  LevelCut best_cut(FeatureId feature, CutFinder& finder) const;
  void sum_children(Family& family, const Split& split) const;
  void send_rows(Level& level);
  void count_rows(std::span<Family> families);
  void add_nodes(Family& family, const Split& split);
  double gain_of(const NodeState& parent, const NodeState* children) const;

  BoostGrower& grower_;
  std::vector<NodeId> nodes_;  // to be divided next
  std::int32_t depth_ = 0;
  // Per categorical feature: its categories in the order that cuts follow, the same in all nodes.
  std::vector<std::vector<Code>> orders_;
};

}  // namespace hornbeam::boost
