#include "explain/long_paths.h"

#include <algorithm>

#include "explain/patterns.h"

namespace hornbeam::explain {

LongPaths::LongPaths(const Tree& tree, std::span<const double> shares, const std::vector<bool>& is_done,
                     const Quadratures& quadratures) {
  // Nodes with such a leaf below them; children come after their parents.
  std::vector<bool> leads_there(tree.n_nodes());
  for (std::size_t node = tree.n_nodes(); node-- > 0;) {
    if (is_done[node]) continue;
    leads_there[node] = tree.n_branches[node] == 0;
    for (std::int32_t b = 0; b < tree.n_branches[node]; ++b)
      if (leads_there[static_cast<std::size_t>(tree.first_child[node] + b)]) leads_there[node] = true;
  }
  const FeatureId last = *std::ranges::max_element(tree.feature);
  constexpr std::int32_t kNone = -1;
  std::vector<std::int32_t> latest(static_cast<std::size_t>(std::max(last, 0)) + 1,
                                   kNone);  // edge, by column
  std::vector<std::size_t> path;            // edges to here
  std::size_t n_columns = 0;
  std::size_t most_columns = 0;
  struct Waiting {
    NodeId node;
    NodeId parent;
    std::int32_t level;
    std::int32_t branch;
  };
  std::vector<Waiting> waiting;
  const auto push_children = [&](NodeId node, std::int32_t level) {
    for (std::int32_t b = tree.n_branches[node] - 1; b >= 0; --b) {
      const NodeId child = tree.first_child[node] + b;
      if (leads_there[static_cast<std::size_t>(child)]) waiting.push_back({child, node, level + 1, b});
    }
  };
  push_children(0, 0);
  while (!waiting.empty()) {
    const Waiting at = waiting.back();
    waiting.pop_back();
    while (path.size() >= static_cast<std::size_t>(at.level)) {
      const Edge& left = edges_[path.back()];
      latest[static_cast<std::size_t>(left.feature)] = left.former;
      n_columns -= left.former == kNone;
      path.pop_back();
    }
    const FeatureId feature = tree.feature[at.parent];
    const std::int32_t former = latest[static_cast<std::size_t>(feature)];
    const double before = former == kNone ? 1.0 : edges_[static_cast<std::size_t>(former)].out;
    latest[static_cast<std::size_t>(feature)] = static_cast<std::int32_t>(edges_.size());
    n_columns += former == kNone;
    most_columns = std::max(most_columns, n_columns);
    path.push_back(edges_.size());
    edges_.push_back({at.node, at.level, at.branch, former, feature,
                      before * shares[static_cast<std::size_t>(at.node)], tree.is_leaf(at.node)});
    n_levels_ = std::max(n_levels_, at.level + 1);
    push_children(at.node, at.level);
  }
  if (edges_.empty()) return;
  points_ = &quadratures.for_columns(most_columns);
  for (const Edge& edge : edges_) {
    for (const double t : points_->at) constants_.push_back((1 - t) * edge.out);
    const std::size_t first = constants_.size() - points_->size();
    // Where no row of the fit came, a row that does not get past is worth nothing: its product is 0 already.
    for (std::size_t p = 0; p < points_->size(); ++p)
      constants_.push_back(constants_[first + p] > 0 ? 1 / constants_[first + p] : 0.0);
    for (std::size_t p = 0; p < points_->size(); ++p)
      constants_.push_back(1 / (constants_[first + p] + points_->at[p]) -
                           constants_[first + points_->size() + p]);
  }
}

std::size_t LongPaths::n_bytes() const {
  return edges_.size() * sizeof(Edge) + constants_.size() * sizeof(double);
}

void LongPathWalk::begin(const LongPaths& paths, const RowBlock& block, std::size_t first,
                         std::size_t n_values) {
  const auto n_levels = static_cast<std::size_t>(paths.n_levels_);
  first_ = first;
  n_rows_ = std::min(kLanes, block.n_rows() - first);
  n_points_ = paths.points_->size();
  n_values_ = n_values;
  edge_.resize(n_levels);
  node_.resize(n_levels);
  in_.resize(n_levels * kLanes);
  products_.resize(n_levels * n_points_ * kLanes);
  worth_.resize(n_levels * n_values * n_points_ * kLanes);
  right_.assign(n_levels * kLanes, 0);
  for (std::size_t p = 0; p < n_points_; ++p)
    std::fill_n(products_.data() + p * kLanes, kLanes, paths.points_->weight[p]);
}

void LongPathWalk::make_test(const Tree& tree, NodeId node, std::int32_t level, const RowBlock& block) {
  const std::size_t place = static_cast<std::size_t>(level) * kLanes;
  node_[static_cast<std::size_t>(level)] = node;
  std::fill_n(worth_.data() + place * n_points_ * n_values_, kLanes * n_points_ * n_values_, 0.0);
  if (tree.n_branches[node] == 2)
    return goes_right(tree, node, unseen_, block, first_, n_rows_, right_.data() + place);
  branches_.resize(std::max(branches_.size(), node_.size() * kLanes));
  for (std::size_t i = 0; i < n_rows_; ++i)
    branches_[place + i] = branch_taken(tree, node, unseen_, block, first_ + i);
}

void LongPathWalk::enter(const Tree& tree, const LongPaths& paths, std::size_t number) {
  const LongPaths::Edge& edge = paths.edges_[number];
  const auto level = static_cast<std::size_t>(edge.level);
  edge_[level] = number;
  double* in = in_.data() + level * kLanes;
  const std::size_t above = (level - 1) * kLanes;
  if (tree.n_branches[node_[level - 1]] == 2) {
    for (std::size_t i = 0; i < kLanes; ++i) in[i] = right_[above + i] == edge.branch ? 1.0 : 0.0;
  } else {
    for (std::size_t i = 0; i < n_rows_; ++i) in[i] = branches_[above + i] == edge.branch ? 1.0 : 0.0;
  }
  const double* products = products_.data() + above * n_points_;
  double* below = products_.data() + level * kLanes * n_points_;
  const double* at = paths.points_->at.data();
  if (edge.former < 0)
    return explain_kernels().descend(products, in, paths.factors(number), at, n_points_, below);
  const auto former = static_cast<std::size_t>(edge.former);
  const double* former_in = in_.data() + static_cast<std::size_t>(paths.edges_[former].level) * kLanes;
  for (std::size_t i = 0; i < kLanes; ++i) in[i] *= former_in[i];
  explain_kernels().descend_again(products, in, paths.factors(number), former_in, paths.factors(former), at,
                                  n_points_, below);
}

void LongPathWalk::reach_leaf(std::int32_t level, const double* values) {
  const std::size_t size = n_points_ * kLanes;
  const double* products = products_.data() + static_cast<std::size_t>(level) * size;
  for (std::size_t v = 0; v < n_values_; ++v) {
    double* worth = worth_.data() + (static_cast<std::size_t>(level) * n_values_ + v) * size;
    std::fill_n(worth, size, 0.0);
    explain_kernels().add_scaled(products, values[v], size, worth);
  }
}

void LongPathWalk::share_out(const LongPaths& paths, std::size_t edge, std::int32_t level, std::size_t value,
                             double scale, std::int32_t in_level) {
  const auto from = static_cast<std::size_t>(in_level < 0 ? level : in_level);
  const double* worth =
      worth_.data() + (static_cast<std::size_t>(level) * n_values_ + value) * n_points_ * kLanes;
  explain_kernels().share_out(worth, in_.data() + from * kLanes, paths.edges_[edge].out, paths.factors(edge),
                              n_points_, scale, parts_.data());
}

void LongPathWalk::pass_up(std::int32_t level) {
  const std::size_t size = n_values_ * n_points_ * kLanes;
  const double* worth = worth_.data() + static_cast<std::size_t>(level) * size;
  double* above = worth_.data() + static_cast<std::size_t>(level - 1) * size;
  explain_kernels().add_scaled(worth, 1.0, size, above);
}

}  // namespace hornbeam::explain
