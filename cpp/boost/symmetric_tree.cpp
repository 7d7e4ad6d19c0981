#include "boost/symmetric_tree.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "criterion/candidates.h"

namespace hornbeam::boost {

using criterion::tie_slack;
using grow::NodeRecord;
using split::FirstBest;

void SymmetricTree::grow(Histogram* counted) {
  BoostGrower& g = grower_;
  g.work_.add(1);
  g.describe(0);
  NodeState& root = g.states_[0];
  root.histogram = counted;
  g.row_sets_.give_back(std::exchange(root.members, nullptr));  // rows are divided as lists
  if (!g.scale_.has_hessian || !g.may_split(root, 0)) return;
  count_root(counted);
  order_categories();
  CancelPoller poller(*g.cancel_, g.on_calling_thread_);
  std::vector<NodeId> level = {0};
  for (std::int32_t depth = 0; has_room(depth) && !level.empty(); ++depth) {
    poller.poll(root.n_rows() * g.feature_groups_.size());
    const std::optional<Split> test = best_test(level, depth);
    if (!test) break;
    level = divide(level, *test, depth);
  }
}

// A level is grown as a whole, if the leaves that it could lead to are not too many.
bool SymmetricTree::has_room(std::int32_t depth) const {
  constexpr std::int32_t kDeepest = 62;
  const BoostParams& params = grower_.params_;
  if (params.max_depth > 0 && depth >= params.max_depth) return false;
  return depth < kDeepest &&
         (params.max_leaf_nodes == 0 || std::int64_t{2} << depth <= params.max_leaf_nodes);
}

void SymmetricTree::count_root(Histogram* counted) {
  BoostGrower& g = grower_;
  if (counted != nullptr) return;
  NodeState& root = g.states_[0];
  root.histogram = g.pool_.take(g.needs_wide(root));
  const HistogramBuilder::Parts parts =
      g.builder_.add_rows(g.rows_of(root), *root.histogram, g.everyone(), *g.cancel_);
  for (int slot = 0; slot < g.tiles_.n_slots(); ++slot)
    g.builder_.finish_slot(slot, *root.histogram, parts);
  g.builder_.give_back(parts);
}

// Nodes of a level must agree on an order of categories: it is that of the root, whose sums are those of all
// nodes of any level.
void SymmetricTree::order_categories() {
  BoostGrower& g = grower_;
  const NodeState& root = g.states_[0];
  orders_.assign(static_cast<std::size_t>(g.data_.n_features()), {});
  for (FeatureId f = 0; f < g.data_.n_features(); ++f) {
    const Digit& digit = g.tiles_.digit_of(f);
    if (!digit.has_slot() || g.data_.column(f).kind != ColumnKind::kCategorical) continue;
    orders_[static_cast<std::size_t>(f)] = g.workers_[0].cuts.order_of_categories(
        g.data_.column(f), *root.histogram, digit, g.limits_of(root, f));
  }
}

std::optional<Split> SymmetricTree::best_test(std::span<const NodeId> level, std::int32_t depth) {
  BoostGrower& g = grower_;
  // Features are drawn for the level: its number is the path that the draws follow from.
  const std::vector<char> allowed =
      g.start_search(g.states_[0], depth, static_cast<std::uint64_t>(depth)).allowed;
  std::vector<LevelCut> cuts(static_cast<std::size_t>(g.data_.n_features()));
  g.for_feature_groups(g.everyone(), [&](const BoostGrower::FeatureGroup& group, BoostGrower::Worker& worker) {
    if (group.slot == Digit::kNoSlot) return;
    for (const FeatureId feature : group.features) {
      const auto f = static_cast<std::size_t>(feature);
      if (allowed.empty() || allowed[f]) cuts[f] = best_cut(level, feature, worker.cuts);
    }
  });
  FirstBest<FeatureId> best(0.0);
  for (std::size_t f = 0; f < cuts.size(); ++f) {
    if (cuts[f].cut.found) best.offer(cuts[f].gain, static_cast<FeatureId>(f));
  }
  if (!best.found()) return std::nullopt;
  const FeatureId feature = best.winner();
  const LevelCut& found = cuts[static_cast<std::size_t>(feature)];
  const double unit = 0.5 / (g.scale_.gradient * g.scale_.gradient);
  if (!(found.gain > found.floor) || !(found.gain * unit > g.params_.min_split_gain)) return std::nullopt;
  Split split = split_at(g.data_.column(feature), orders_[static_cast<std::size_t>(feature)], found.cut,
                         found.has_missing);
  split.feature = feature;
  return split;
}

SymmetricTree::LevelCut SymmetricTree::best_cut(std::span<const NodeId> level, FeatureId feature,
                                                CutFinder& finder) const {
  const BoostGrower& g = grower_;
  const Column& column = g.data_.column(feature);
  const std::span<const Code> order = orders_[static_cast<std::size_t>(feature)];
  CutGains gains;
  double score_of_level = 0.0;
  for (const NodeId id : level) {
    const NodeState& node = g.state_of(id);
    const CutTerms terms = g.terms_for(column, g.terms_of(node));
    finder.add_gains(column, *node.histogram, g.tiles_.digit_of(feature), terms, order, gains);
    score_of_level += score_of_node(terms);
  }
  LevelCut best;
  best.has_missing = gains.has_missing;
  best.cut = gains.best(score_of_level);
  best.gain = best.cut.score;
  best.floor = tie_slack(score_of_level, 0.0);
  return best;
}

// Carries a test out in all nodes of a level; returns those of the next.
std::vector<NodeId> SymmetricTree::divide(std::span<const NodeId> level, const Split& split,
                                          std::int32_t depth) {
  BoostGrower& g = grower_;
  std::vector<NodeId> next;
  for (const NodeId id : level) {
    NodeState children[2];
    if (!divide_node(id, split, children)) {
      next.push_back(id);
      continue;
    }
    NodeState& parent = g.state_of(id);
    const NodeId first = g.work_.add(1);
    g.work_.add(1);
    NodeRecord& record = g.work_.nodes[static_cast<std::size_t>(id)];
    record.first_child = first;
    record.gain = gain_of(parent, children);
    const bool left_is_larger = children[0].n_rows() >= children[1].n_rows();
    record.missing_branch = split.missing_branch >= 0 ? split.missing_branch : left_is_larger ? 0 : 1;
    record.split = static_cast<std::int32_t>(g.work_.splits.size());
    g.work_.splits.push_back(split);
    const bool goes_on[2] = {g.may_split(children[0], depth + 1), g.may_split(children[1], depth + 1)};
    if (has_room(depth + 1) && (goes_on[0] || goes_on[1])) count_children(parent, children);
    g.pool_.give_back(std::exchange(parent.histogram, nullptr));
    for (int b = 0; b < 2; ++b) {
      if (!goes_on[b]) g.pool_.give_back(std::exchange(children[b].histogram, nullptr));
      if (goes_on[b]) next.push_back(first + b);
      g.states_.push_back(std::move(children[b]));
      g.describe(first + b);
    }
  }
  return next;
}

// Sends a node's rows to its children, unless a limit forbids them.
bool SymmetricTree::divide_node(NodeId id, const Split& split, NodeState* children) {
  BoostGrower& g = grower_;
  NodeState& node = g.state_of(id);
  g.sum_child(node, split, children[0]);
  children[1].total = node.total;
  children[1].total -= children[0].total;
  const double least = g.terms_of(node).min_hessian;
  for (int b = 0; b < 2; ++b) {
    if (static_cast<double>(children[b].total.hessian) < least) return false;
  }
  const std::vector<BoostGrower::Piece> pieces = g.mark_listed(node, split, g.everyone());
  std::size_t n_left = 0;
  for (const BoostGrower::Piece& piece : pieces) n_left += piece.counts.n_left;
  const auto n_fewer = static_cast<std::int64_t>(std::min(n_left, node.n_rows() - n_left));
  if (n_fewer < std::max(std::int64_t{1}, g.params_.min_samples_leaf)) return false;
  g.send(node, pieces, n_left, g.everyone());
  for (int b = 0; b < 2; ++b) {
    children[b].begin = b == 0 ? node.begin : node.begin + n_left;
    children[b].end = b == 0 ? node.begin + n_left : node.end;
    children[b].side = 1 - node.side;
    children[b].groups = node.groups;
  }
  return true;
}

// The smaller child is counted; the larger is what remains of the parent, whose histogram it takes.
void SymmetricTree::count_children(NodeState& parent, NodeState* children) {
  BoostGrower& g = grower_;
  const int smaller = children[0].n_rows() <= children[1].n_rows() ? 0 : 1;
  NodeState& small = children[smaller];
  NodeState& large = children[1 - smaller];
  const Team team = g.everyone();
  small.histogram = g.pool_.take(g.needs_wide(small));
  const HistogramBuilder::Parts parts =
      g.builder_.add_rows(g.rows_of(small), *small.histogram, team, *g.cancel_);
  const bool same_kind = parent.histogram->is_wide() == g.needs_wide(large);
  large.histogram = same_kind ? parent.histogram : g.pool_.take(g.needs_wide(large));
  g.for_feature_groups(team, [&](const BoostGrower::FeatureGroup& group, BoostGrower::Worker&) {
    if (group.slot == Digit::kNoSlot) return;
    g.builder_.finish_slot(group.slot, *small.histogram, parts);
    g.builder_.subtract(group.slot, *parent.histogram, *small.histogram, *large.histogram);
  });
  g.builder_.give_back(parts);
  if (same_kind) parent.histogram = nullptr;
}

// What the test lowers the loss by at this node: at some nodes of a level it may raise it a little.
double SymmetricTree::gain_of(const NodeState& parent, const NodeState* children) const {
  const BoostGrower& g = grower_;
  const double gain = score_of_node(g.terms_of(children[0])) + score_of_node(g.terms_of(children[1])) -
                      score_of_node(g.terms_of(parent));
  return std::max(0.0, gain * 0.5 / (g.scale_.gradient * g.scale_.gradient));
}

}  // namespace hornbeam::boost
