#include "prune/prune.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "prune/error_rate.h"
#include "tree/collapse.h"

namespace hornbeam::prune {

using tree::collapse;

void PruningLog::add(NodeId cut, NodeId removed, double before, double after) {
  node.push_back(cut);
  nodes_removed.push_back(removed);
  error_before.push_back(before);
  error_after.push_back(after);
}

namespace {

constexpr NodeId kNone = -1;
constexpr double kSlack = 0x1p-40;
constexpr std::size_t kWorkPerNode = 64;  // for CancelPoller: a node takes about as long as this many rows

NodeId node_count(const Tree& tree) {
  return static_cast<NodeId>(tree.n_nodes());
}

// A number computed by adding and subtracting others, and a bound on its rounding error.
struct Measured {
  double value = 0.0;
  double slack = 0.0;
};

bool equal_on_paper(const Measured& a, const Measured& b) {
  return std::abs(a.value - b.value) <= std::max(a.slack, b.slack);
}

// ---- what a node costs as a leaf

// The share of a node's weight that is not in its majority class, averaged over the outputs.
double error_share(const Tree& tree, NodeId node) {
  const double* shares = &tree.value[static_cast<std::size_t>(node) * tree.value_size()];
  double hits = 0.0;
  for (int o = 0; o < tree.n_outputs; ++o, shares += tree.n_values) {
    hits += *std::max_element(shares, shares + tree.n_values);
  }
  return 1 - hits / tree.n_outputs;
}

std::vector<double> leaf_costs(const Tree& tree, PruneCost cost) {
  const double root_weight = tree.weight[0];
  if (!(root_weight > 0)) {
    throw std::invalid_argument(
        "cost-complexity pruning needs the weights of the nodes, but the root has weight " +
        std::to_string(root_weight));
  }
  const bool by_error = cost == PruneCost::kError && tree.n_values > 1;
  std::vector<double> costs(tree.n_nodes());
  for (NodeId node = 0; node < node_count(tree); ++node) {
    const double each = by_error ? error_share(tree, node) : tree.impurity[node];
    costs[node] = tree.weight[node] / root_weight * each;
  }
  return costs;
}

double sum_over_leaves(const Tree& tree, std::span<const double> costs) {
  double sum = 0.0;
  for (NodeId node = 0; node < node_count(tree); ++node) {
    if (tree.is_leaf(node)) sum += costs[node];
  }
  return sum;
}

// The children of a node, which lie side by side. (Not std::views::iota, which some versions of Clang do not
// compile.)
class Children {
 public:
  Children(const Tree& tree, NodeId node)
      : first_(tree.first_child[node]), end_(first_ + tree.n_branches[node]) {}

  class Iterator {
   public:
    explicit Iterator(NodeId node) : node_(node) {}
    NodeId operator*() const { return node_; }
    Iterator& operator++() {
      ++node_;
      return *this;
    }
    bool operator==(const Iterator&) const = default;

   private:
    NodeId node_;
  };
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(end_); }
  NodeId size() const { return end_ - first_; }

 private:
  NodeId first_;
  NodeId end_;
};

// Calls visit(node, children) for the inner nodes, children before parents: breadth-first order backwards.
template <class Visit>
void for_each_inner_node_upwards(const Tree& tree, CancelPoller& poller, Visit&& visit) {
  for (NodeId node = node_count(tree) - 1; node >= 0; --node) {
    poller.poll(kWorkPerNode);
    if (!tree.is_leaf(node)) visit(node, Children(tree, node));
  }
}

// ---- cost complexity

// The cut of one inner node: at this alpha its subtree, as far as it is still there, becomes a leaf.
struct Link {
  Measured alpha;
  double cost_rise = 0.0;  // alpha * leaves_removed
  NodeId leaves_removed = 0;
  NodeId nodes_removed = 0;
};

// Finds all links in one pass upwards. Cutting the weakest link of the whole tree again and again would
// change g of every ancestor at every cut, which a staircase makes quadratic. But at which alpha a node is
// cut depends on its subtree only. So every subtree keeps a heap of the links that are cut before its own
// root, the strongest on top. A new node starts with everything below its children cut, and undoes cuts from
// the top while they would come at a higher alpha than its own: those never happen, because the node is cut
// first. Each link enters one heap and leaves it at most once.
class WeakestLinks {
 public:
  WeakestLinks(const Tree& tree, std::span<const double> costs, CancelPoller& poller)
      : links_(tree.n_nodes()),
        top_(tree.n_nodes(), kNone),
        left_(tree.n_nodes(), kNone),
        right_(tree.n_nodes(), kNone) {
    for_each_inner_node_upwards(tree, poller,
                                [&](NodeId node, Children children) { add(node, children, costs); });
  }

  const Link& operator[](NodeId node) const { return links_[node]; }

  // The links of the whole tree, weakest first. A node comes after the links below it: they have smaller
  // alphas.
  std::vector<NodeId> weakest_first() const {
    std::vector<NodeId> order;
    if (top_[0] != kNone) order.push_back(top_[0]);
    for (std::size_t i = 0; i < order.size(); ++i) {
      for (const NodeId below : {left_[order[i]], right_[order[i]]}) {
        if (below != kNone) order.push_back(below);
      }
    }
    std::ranges::sort(order, [&](NodeId a, NodeId b) {
      return std::pair(links_[a].alpha.value, a) < std::pair(links_[b].alpha.value, b);
    });
    return order;
  }

 private:
  void add(NodeId node, Children children, std::span<const double> costs) {
    const NodeId n_branches = children.size();
    Link link;
    link.cost_rise = costs[node];
    link.leaves_removed = n_branches - 1;
    link.nodes_removed = n_branches;
    NodeId heap = kNone;
    for (const NodeId child : children) {
      link.cost_rise -= costs[child];
      heap = merge(heap, top_[child]);
    }
    link.alpha = strength(link, costs[node]);
    while (heap != kNone && links_[heap].alpha.value >= link.alpha.value - link.alpha.slack) {
      link.cost_rise += links_[heap].cost_rise;
      link.leaves_removed += links_[heap].leaves_removed;
      link.nodes_removed += links_[heap].nodes_removed;
      link.alpha = strength(link, costs[node]);
      heap = merge(left_[heap], right_[heap]);
    }
    left_[node] = right_[node] = kNone;
    links_[node] = link;
    top_[node] = merge(heap, node);
  }

  // A split that gains nothing on paper is cut as soon as leaves cost anything.
  static Measured strength(const Link& link, double cost) {
    const double slack = kSlack * std::abs(cost) / link.leaves_removed;
    const double alpha = link.cost_rise / link.leaves_removed;
    return {alpha > slack ? alpha : 0.0, slack};
  }

  // Skew heaps (Sleator and Tarjan 1986): merging goes down the right spines and swaps sides on the way,
  // which makes it O(log n) on average over all merges, without recursion.
  NodeId merge(NodeId a, NodeId b) {
    NodeId merged = kNone;
    NodeId* hole = &merged;
    while (a != kNone && b != kNone) {
      if (links_[a].alpha.value < links_[b].alpha.value) std::swap(a, b);
      *hole = a;
      hole = &left_[a];
      a = std::exchange(right_[a], left_[a]);
    }
    *hole = a != kNone ? a : b;
    return merged;
  }

  std::vector<Link> links_;
  std::vector<NodeId> top_;  // per subtree: its strongest link
  std::vector<NodeId> left_;
  std::vector<NodeId> right_;
};

// When a node is cut, everything below it goes: no inner node below may be removed later. Leaves never were
// inner nodes.
void spread_downwards(const Tree& tree, std::vector<std::int32_t>& removed_at) {
  for (NodeId node = 0; node < node_count(tree); ++node) {
    if (tree.is_leaf(node)) removed_at[node] = 0;
    for (std::int32_t b = 0; b < tree.n_branches[node]; ++b) {
      std::int32_t& child = removed_at[tree.first_child[node] + b];
      child = std::min(child, removed_at[node]);
    }
  }
}

// ---- reduced error

struct Candidate {
  NodeId node = 0;
  NodeId nodes_below = 0;
  Measured drop;  // of the error if the node became a leaf
};

std::vector<Candidate> cuts_that_help(const Tree& tree, std::span<const double> cost_as_leaf,
                                      CancelPoller& poller) {
  std::vector<double> cost(cost_as_leaf.begin(), cost_as_leaf.end());  // of the subtree
  std::vector<NodeId> nodes_below(tree.n_nodes(), 0);
  std::vector<Candidate> candidates;
  for_each_inner_node_upwards(tree, poller, [&](NodeId node, Children children) {
    cost[node] = 0.0;
    for (const NodeId child : children) {
      cost[node] += cost[child];
      nodes_below[node] += 1 + nodes_below[child];
    }
    const double slack = kSlack * (std::abs(cost[node]) + std::abs(cost_as_leaf[node]));
    const Measured drop{cost[node] - cost_as_leaf[node], slack};
    if (drop.value > slack) candidates.push_back({node, nodes_below[node], drop});
  });
  return candidates;
}

// Largest drop first; of equal ones the larger subtree, then the lower node.
void sort_by_rank(std::vector<Candidate>& candidates) {
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::pair(-a.drop.value, a.node) < std::pair(-b.drop.value, b.node);
  });
  for (auto first = candidates.begin(); first != candidates.end();) {
    const auto last = std::find_if(first, candidates.end(), [&](const Candidate& candidate) {
      return !equal_on_paper(first->drop, candidate.drop);
    });
    std::sort(first, last, [](const Candidate& a, const Candidate& b) {
      return std::pair(-a.nodes_below, a.node) < std::pair(-b.nodes_below, b.node);
    });
    first = last;
  }
}

// Marks the nodes that a cut decides: those above it, the node itself, those below it. A node is decided
// once, so all cuts together take O(n).
class Decided {
 public:
  explicit Decided(const Tree& tree) : tree_(tree), parents_(tree.parents()), decided_(tree.n_nodes(), 0) {}

  bool operator[](NodeId node) const { return decided_[node] != 0; }

  void cut(NodeId node) {
    for (NodeId above = parents_[node]; above != kNoChild && !decided_[above]; above = parents_[above]) {
      decided_[above] = 1;
    }
    branch_.assign(1, node);
    while (!branch_.empty()) {
      const NodeId at = branch_.back();
      branch_.pop_back();
      decided_[at] = 1;
      for (std::int32_t b = 0; b < tree_.n_branches[at]; ++b) branch_.push_back(tree_.first_child[at] + b);
    }
  }

 private:
  const Tree& tree_;
  std::vector<NodeId> parents_;
  std::vector<char> decided_;
  std::vector<NodeId> branch_;
};

void check_costs(const Tree& tree, std::span<const double> cost_as_leaf) {
  if (cost_as_leaf.size() != tree.n_nodes()) {
    throw std::invalid_argument("cost_as_leaf has " + std::to_string(cost_as_leaf.size()) +
                                " numbers, but the tree has " + std::to_string(tree.n_nodes()) + " nodes");
  }
  const auto bad = std::ranges::find_if_not(cost_as_leaf, [](double cost) { return std::isfinite(cost); });
  if (bad != cost_as_leaf.end()) {
    throw std::invalid_argument("cost_as_leaf must be finite, but node " +
                                std::to_string(bad - cost_as_leaf.begin()) + " has " + std::to_string(*bad));
  }
}

// ---- pessimistic

// Most nodes of a large tree are small, so the same few numbers of rows and errors occur again and again.
class KnownRates {
 public:
  explicit KnownRates(double confidence) : confidence_(confidence) {}
  double operator()(double errors, double weight) {
    const auto [known, is_new] = rates_.try_emplace({errors, weight}, 0.0);
    if (is_new) known->second = upper_error_rate(errors, weight, confidence_);
    return known->second;
  }

 private:
  double confidence_;
  std::map<std::pair<double, double>, double> rates_;
};

double pessimistic_error(const Tree& tree, NodeId node, KnownRates& rates) {
  const double weight = tree.weight[node];
  if (!(weight > 0)) return 0.0;  // an empty branch of a multiway test
  return weight * rates(weight * error_share(tree, node), weight);
}

}  // namespace

CostComplexityPath cost_complexity_path(const Tree& tree, PruneCost cost, Cancel& cancel) {
  CancelPoller poller(cancel, true);
  const std::vector<double> costs = leaf_costs(tree, cost);
  const WeakestLinks links(tree, costs, poller);
  CostComplexityPath path;
  path.alpha = {0.0};
  path.cost = {sum_over_leaves(tree, costs)};
  path.n_leaves = {static_cast<std::int64_t>(tree.n_leaves())};
  path.removed_at.assign(tree.n_nodes(), std::numeric_limits<std::int32_t>::max());
  NodeId first_of_step = kNone;
  for (const NodeId node : links.weakest_first()) {
    const Link& link = links[node];
    if (first_of_step == kNone || !equal_on_paper(links[first_of_step].alpha, link.alpha)) {
      first_of_step = node;
      path.alpha.push_back(link.alpha.value);
      path.cost.push_back(path.cost.back());
      path.n_leaves.push_back(path.n_leaves.back());
    }
    const double before = path.cost.back();
    path.cost.back() += link.cost_rise;
    path.n_leaves.back() -= link.leaves_removed;
    path.removed_at[node] = static_cast<std::int32_t>(path.alpha.size()) - 1;
    path.log.add(node, link.nodes_removed, before, path.cost.back());
  }
  spread_downwards(tree, path.removed_at);
  return path;
}

Tree prune_cost_complexity(const Tree& tree, double ccp_alpha, PruneCost cost, Cancel& cancel) {
  if (!(ccp_alpha >= 0)) {
    throw std::invalid_argument("ccp_alpha must be 0 or more, got " + std::to_string(ccp_alpha));
  }
  if (ccp_alpha == 0) return tree;
  const CostComplexityPath path = cost_complexity_path(tree, cost, cancel);
  const auto beyond = std::ranges::upper_bound(path.alpha, ccp_alpha * (1 + kSlack));
  const auto step = static_cast<std::int32_t>(beyond - path.alpha.begin()) - 1;
  std::vector<NodeId> new_leaves;
  for (NodeId node = 0; node < node_count(tree); ++node) {
    if (path.removed_at[node] <= step) new_leaves.push_back(node);
  }
  return collapse(tree, new_leaves);
}

// The greedy rule needs no new search after each cut. Cutting t lowers the drop of every node above it by the
// drop of t, which was the largest, so none of them can lower the error any more; the nodes below t are gone;
// all other drops stay the same. So it is enough to rank the cuts once and to skip decided nodes.
PrunedTree prune_reduced_error(const Tree& tree, std::span<const double> cost_as_leaf, Cancel& cancel) {
  CancelPoller poller(cancel, true);
  check_costs(tree, cost_as_leaf);
  std::vector<Candidate> candidates = cuts_that_help(tree, cost_as_leaf, poller);
  sort_by_rank(candidates);
  Decided decided(tree);
  PruningLog log;
  double error = sum_over_leaves(tree, cost_as_leaf);
  for (const Candidate& candidate : candidates) {
    if (decided[candidate.node]) continue;
    decided.cut(candidate.node);
    log.add(candidate.node, candidate.nodes_below, error, error - candidate.drop.value);
    error = log.error_after.back();
  }
  return {collapse(tree, log.node), std::move(log)};
}

PrunedTree prune_pessimistic(const Tree& tree, double confidence, Cancel& cancel) {
  CancelPoller poller(cancel, true);
  check_confidence(confidence);
  if (tree.n_values == 1 && tree.n_nodes() > 1) {
    throw std::invalid_argument(
        "pessimistic pruning counts misclassified rows, but this tree predicts numbers; use cost_complexity "
        "or "
        "reduced_error");
  }
  std::vector<double> cost(tree.n_nodes());  // first of the node as a leaf, then of the pruned subtree
  KnownRates rates(confidence);
  for (NodeId node = 0; node < node_count(tree); ++node) {
    poller.poll(16 * kWorkPerNode);
    cost[node] = pessimistic_error(tree, node, rates);
  }
  std::vector<NodeId> nodes_below(tree.n_nodes(), 0);
  PruningLog log;
  double error = sum_over_leaves(tree, cost);
  for_each_inner_node_upwards(tree, poller, [&](NodeId node, Children children) {
    double cost_of_children = 0.0;
    for (const NodeId child : children) {
      cost_of_children += cost[child];
      nodes_below[node] += 1 + nodes_below[child];
    }
    if (cost[node] <= cost_of_children * (1 + kSlack)) {
      log.add(node, std::exchange(nodes_below[node], 0), error, error + cost[node] - cost_of_children);
      error = log.error_after.back();
    } else {
      cost[node] = cost_of_children;
    }
  });
  return {collapse(tree, log.node), std::move(log)};
}

}  // namespace hornbeam::prune
