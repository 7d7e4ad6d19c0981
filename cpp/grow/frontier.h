// The open nodes of a growing tree, and the rule for which comes next: the newest (depth-first), the oldest (level by
// level) or the one with the largest gain (best-first, which is what limits on leaves and nodes mean).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/types.h"
#include "split/split.h"

namespace hornbeam::grow {

using criterion::Entry;
using split::Split;

enum class Growth : std::uint8_t { kDepthFirst, kLevel, kBestFirst };

// A node that waits: for its test to be carried out or, if it has none yet, to be grown by a lane.
struct OpenNode {
  NodeId id = 0;
  std::size_t begin = 0;  // its rows in the grower's list
  std::size_t end = 0;
  std::int32_t depth = 0;
  bool pure = false;
  std::uint64_t path = 0;     // random draws below are functions of it
  double gain = 0.0;          // weight * impurity decrease of the test
  double lower = -kInfinity;  // bounds on its value, from monotonic constraints
  double upper = kInfinity;
  // Features that are not tried again: a test above had a branch for each of their categories. Null for none.
  std::shared_ptr<const std::vector<FeatureId>> spent;
  Split split;
  std::int64_t n_counted = 0;                    // its rows, or what their portions amount to
  std::shared_ptr<std::vector<Entry>> portions;  // if its rows are in a list apart from the grower's

  std::size_t n_rows() const { return end - begin; }
  bool is_tested() const { return split.feature != kNoFeature; }
};

class Frontier {
 public:
  explicit Frontier(Growth growth) : growth_(growth) {}

  void push(OpenNode node) {
    nodes_.push_back({std::move(node), next_sequence_++});
    if (growth_ == Growth::kBestFirst) std::push_heap(nodes_.begin(), nodes_.end(), comes_later);
  }

  std::optional<OpenNode> next() {
    if (first_ == nodes_.size()) return std::nullopt;
    switch (growth_) {
      case Growth::kDepthFirst:
        return take_back();
      case Growth::kLevel:
        return take_front();
      case Growth::kBestFirst:
        std::pop_heap(nodes_.begin(), nodes_.end(), comes_later);
        return take_back();
    }
    return std::nullopt;
  }

  std::size_t size() const { return nodes_.size() - first_; }

  // The node that next() would give; there must be one.
  const OpenNode& peek() const {
    return (growth_ == Growth::kDepthFirst ? nodes_.back() : nodes_[first_]).node;
  }

  // The nodes that will probably be next, at most n, in order; for work ahead of time.
  void foresee(std::size_t n, std::vector<const OpenNode*>& out) const {
    out.clear();
    // In a heap, the largest gains are near the front.
    constexpr std::size_t kMostExamined = 256;
    const bool sorts = growth_ == Growth::kBestFirst;
    const std::size_t n_examined = std::min(size(), sorts ? kMostExamined : n);
    for (std::size_t i = 0; i < n_examined; ++i)
      out.push_back(&nodes_[growth_ == Growth::kDepthFirst ? nodes_.size() - 1 - i : first_ + i].node);
    if (!sorts) return;
    const auto end = out.begin() + static_cast<std::ptrdiff_t>(std::min(n, out.size()));
    std::partial_sort(out.begin(), end, out.end(),
                      [](const OpenNode* a, const OpenNode* b) { return a->gain > b->gain; });
    out.erase(end, out.end());
  }

  // Calls visit with every node that waits and with its place among those of the same gain, which are taken in the
  // order in which they came.
  template <class Visit>
  void for_each(Visit visit) const {
    for (std::size_t i = first_; i < nodes_.size(); ++i) visit(nodes_[i].node, nodes_[i].sequence);
  }
  // The place of the node that comes next.
  std::uint64_t next_sequence() const { return next_sequence_; }

  // Best-first: the nodes that cannot be among the next n, because n nodes with larger gains are waiting.
  std::vector<NodeId> beyond(std::size_t n) const {
    std::vector<NodeId> ids;
    if (growth_ != Growth::kBestFirst || size() <= n) return ids;
    std::vector<const Waiting*> all;
    for (const Waiting& waiting : nodes_) all.push_back(&waiting);
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(n);
    std::nth_element(all.begin(), end, all.end(),
                     [](const Waiting* a, const Waiting* b) { return comes_later(*b, *a); });
    std::for_each(end, all.end(), [&](const Waiting* waiting) { ids.push_back(waiting->node.id); });
    return ids;
  }

 private:
  struct Waiting {
    OpenNode node;
    std::uint64_t sequence;
  };
  static bool comes_later(const Waiting& a, const Waiting& b) {
    if (a.node.gain != b.node.gain) return a.node.gain < b.node.gain;
    return a.sequence > b.sequence;
  }
  OpenNode take_back() {
    OpenNode node = std::move(nodes_.back().node);
    nodes_.pop_back();
    return node;
  }

  // Nodes that have been taken stay in the vector until they are half of it, so memory is allocated only a few times;
  // a deque would allocate for every node.
  OpenNode take_front() {
    OpenNode node = std::move(nodes_[first_++].node);
    if (2 * first_ >= nodes_.size()) {
      nodes_.erase(nodes_.begin(), nodes_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    return node;
  }

  Growth growth_;
  std::uint64_t next_sequence_ = 0;
  std::vector<Waiting> nodes_;
  std::size_t first_ = 0;  // level by level: the oldest that waits
};

}  // namespace hornbeam::grow
