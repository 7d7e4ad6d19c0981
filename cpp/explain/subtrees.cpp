#include "explain/subtrees.h"

#include <algorithm>

namespace hornbeam::explain {

namespace {

// How many bits the tests at and below each node take. More than kMostBits means that there are too many
// tests, or that one of them has more than two branches.
std::vector<int> bits_below(const Tree& tree) {
  std::vector<int> bits(tree.n_nodes(), 0);
  for (std::size_t node = tree.n_nodes(); node-- > 0;) {
    const std::int32_t n = tree.n_branches[node];
    if (n == 0) continue;
    const auto first = static_cast<std::size_t>(tree.first_child[node]);
    bits[node] = n > 2 ? kMostBits + 1 : std::min(kMostBits + 1, 1 + bits[first] + bits[first + 1]);
  }
  return bits;
}

struct OnPath {
  FeatureId feature;
  std::int32_t level;
  double share;
};

// Collects the leaves below a node of a subtree. At most kMostBits deep.
class Collector {
 public:
  Collector(const Tree& tree, std::span<const double> shares, Subtree& subtree)
      : tree_(tree), shares_(shares), subtree_(subtree) {}

  void collect(NodeId node, const std::vector<SubtreeLeaf::Column>& columns) {
    if (tree_.is_leaf(node)) {
      subtree_.leaves.push_back({node, columns});
      return;
    }
    const auto bit = static_cast<std::uint8_t>(1u << subtree_.n_bits());
    subtree_.tests.push_back(node);
    const std::uint8_t place = place_of(tree_.feature[node]);
    for (std::int32_t b = 0; b < 2; ++b) {
      const NodeId child = tree_.first_child[node] + b;
      std::vector<SubtreeLeaf::Column> below = columns;
      auto column = std::ranges::find(below, place, &SubtreeLeaf::Column::place);
      if (column == below.end()) column = below.insert(below.end(), {place, 0, 0, 1.0});
      column->mask |= bit;
      if (b == 1) column->wanted |= bit;
      column->share *= shares_[static_cast<std::size_t>(child)];
      collect(child, below);
    }
  }

 private:
  std::uint8_t place_of(FeatureId feature) {
    const auto found = std::ranges::find(subtree_.columns, feature);
    const auto place = static_cast<std::uint8_t>(found - subtree_.columns.begin());
    if (found == subtree_.columns.end()) subtree_.columns.push_back(feature);
    return place;
  }

  const Tree& tree_;
  std::span<const double> shares_;
  Subtree& subtree_;
};

Subtree make_subtree(const Tree& tree, std::span<const double> shares, NodeId root,
                     const std::vector<OnPath>& path) {
  Subtree subtree;
  std::vector<SubtreeLeaf::Column> columns;
  for (const OnPath& on_path : path) {
    const auto place = static_cast<std::uint8_t>(columns.size());
    const auto bit = static_cast<std::uint8_t>(1u << place);
    subtree.levels.push_back(on_path.level);
    subtree.columns.push_back(on_path.feature);
    columns.push_back({place, bit, bit, on_path.share});
  }
  Collector(tree, shares, subtree).collect(root, columns);
  return subtree;
}

// The columns on the path to a node; every step down is undone on the way back.
class Path {
 public:
  explicit Path(std::size_t n_features) : place_(n_features, kNoLevel) {}

  // Goes down an edge to a node at some level; returns the level of the last test on the column before.
  std::int32_t apply(FeatureId feature, std::int32_t level, double share) {
    std::int32_t& place = place_[static_cast<std::size_t>(feature)];
    if (place == kNoLevel) {
      place = static_cast<std::int32_t>(columns_.size());
      columns_.push_back({feature, level, share});
      formers_.push_back({feature, kNoLevel, 0.0});
      return kNoLevel;
    }
    OnPath& column = columns_[static_cast<std::size_t>(place)];
    formers_.push_back(column);
    column.level = level;
    column.share *= share;
    return formers_.back().level;
  }
  void go_up_to(std::int32_t level) {
    while (formers_.size() > static_cast<std::size_t>(level)) {
      const OnPath former = formers_.back();
      formers_.pop_back();
      std::int32_t& place = place_[static_cast<std::size_t>(former.feature)];
      if (former.level == kNoLevel) {
        columns_.pop_back();
        place = kNoLevel;
      } else {
        columns_[static_cast<std::size_t>(place)] = former;
      }
    }
  }
  const std::vector<OnPath>& columns() const { return columns_; }

 private:
  std::vector<OnPath> columns_;
  std::vector<OnPath> formers_;
  std::vector<std::int32_t> place_;
};

}  // namespace

CutTree cut(const Tree& tree, std::span<const double> shares) {
  CutTree made;
  made.is_root.resize(tree.n_nodes());
  made.n_left_over = tree.n_leaves();
  if (tree.max_depth() > kMostLevels) return made;
  const FeatureId last = *std::ranges::max_element(tree.feature);
  Path path(static_cast<std::size_t>(std::max(last, 0)) + 1);
  const std::vector<int> bits = bits_below(tree);
  struct Waiting {
    NodeId node;
    NodeId parent;
    std::int32_t level;
    std::int32_t branch;
  };
  std::vector<Waiting> waiting(1, {0, kNoChild, 0, 0});
  while (!waiting.empty()) {
    const Waiting at = waiting.back();
    waiting.pop_back();
    CutStep step{at.node, at.level, at.branch, kNoLevel, -1};
    path.go_up_to(std::max(at.level - 1, 0));
    if (at.level > 0)
      step.former = path.apply(tree.feature[at.parent], at.level, shares[static_cast<std::size_t>(at.node)]);
    const std::size_t n_columns = path.columns().size();
    const bool fits =
        n_columns + static_cast<std::size_t>(bits[static_cast<std::size_t>(at.node)]) <= kMostBits;
    if (!fits && tree.is_leaf(at.node)) continue;
    made.n_levels = std::max(made.n_levels, at.level + 1);
    if (fits) {
      step.subtree = static_cast<std::int32_t>(made.subtrees.size());
      made.subtrees.push_back(make_subtree(tree, shares, at.node, path.columns()));
      made.n_left_over -= made.subtrees.back().leaves.size();
      made.is_root[static_cast<std::size_t>(at.node)] = true;
    }
    made.steps.push_back(step);
    for (std::int32_t b = fits ? -1 : tree.n_branches[at.node] - 1; b >= 0; --b)
      waiting.push_back({tree.first_child[at.node] + b, at.node, at.level + 1, b});
  }
  return made;
}

}  // namespace hornbeam::explain
