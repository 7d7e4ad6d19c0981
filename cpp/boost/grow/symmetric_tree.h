// A tree in which all nodes of a level have the same test, the one whose gains at the nodes add up to the most
// (symmetric or oblivious trees; Kohavi 1994, CatBoost). A node that the test does not divide, or not into
// children that the limits allow, stays whole and waits for the test of the next level.
//
// `grow` does it all where the rows are. Where they are elsewhere (boost/parts/tree_of_parts.h), its steps are taken one by
// one: `open`; then, as long as there is a `next_level`, its children get their rows and histograms, and `carry_out`
// makes them nodes.
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
  // Grows from the root, whose rows are loaded; `counted` is its histogram if it has been filled already.
  void grow(Histogram* counted);

  // A node that is to be divided, and what becomes of it.
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
    bool is_last = false;  // no test is looked for among the children, so nobody needs their histograms
  };
  // The root is a node, and its histogram is filled.
  void open();
  // The test of the next level, and the nodes that it divides, of which some are not allowed.
  std::optional<Level> next_level();
  // What the limits say of children that know their rows.
  void judge_rows(Family& family) const;
  // Makes children nodes; those that may be divided again have histograms.
  void carry_out(Level& level);

 private:
  // A test and what it gains over a level, in squared units of gradient.
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
  std::vector<NodeId> nodes_;  // of the level that is next
  std::int32_t depth_ = 0;
  // Per feature that is categorical: its categories in the order in which cuts are looked for, in all nodes.
  std::vector<std::vector<Code>> orders_;
};

}  // namespace hornbeam::boost
