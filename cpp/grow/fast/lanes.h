// The seam between the grower and its fast lanes. A lane grows a node and everything below it at once, and finds the
// same tests as the slow and obvious way. Each lane has the same two functions, beside its own code:
//
//   starts   whether it grows this node; that it can grow the task was asked before, by grow/plan.cpp
//   grow     does so; returns false if it turns out to be impossible, and then has changed nothing. `grow_below`
//            grows a node the usual way, for lanes that only prepare it.
#pragma once

#include <tuple>

#include "grow/fast/grow_block.h"
#include "grow/fast/grow_random_nodes.h"
#include "grow/fast/grow_small_subtree.h"
#include "grow/fast/grow_subtree.h"

namespace hornbeam::grow {

// The first lane that may grow a node does so.
template <Scorer S>
using Lanes = std::tuple<RankLane<S>, SmallSubtreeLane<S>, ValueLane<S>, RandomLane<S>, SubtreeLane<S>>;

template <Scorer S, class Call>
bool any_lane(const Call& call) {
  return [&]<class... Lane>(std::type_identity<std::tuple<Lane...>>) {
    return (call(std::type_identity<Lane>{}) || ...);
  }(std::type_identity<Lanes<S>>{});
}

template <Scorer S>
bool some_lane_starts(const TreeFit<S>& fit, const TreeBuilder& part, const OpenNode& node,
                      const Worker<S>& worker) {
  return any_lane<S>(
      [&]<class Lane>(std::type_identity<Lane>) { return Lane::starts(fit, part, node, worker); });
}

template <Scorer S, class GrowBelow>
bool grow_by_lane(TreeFit<S>& fit, TreeBuilder& part, OpenNode& node, Worker<S>& worker,
                  const GrowBelow& grow_below) {
  bool grown = false;
  any_lane<S>([&]<class Lane>(std::type_identity<Lane>) {
    if (!Lane::starts(fit, part, node, worker)) return false;
    grown = Lane::grow(fit, part, node, worker, grow_below);
    return true;
  });
  return grown;
}

}  // namespace hornbeam::grow
