#include "boost/grow/symmetric_tree.h"

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
  open();
  CancelPoller poller(*g.cancel_, g.on_calling_thread_);
  while (std::optional<Level> level = next_level()) {
    poller.poll(root.n_rows() * g.feature_groups_.size());
    send_rows(*level);
    if (!level->is_last) count_rows(level->families);
    carry_out(*level);
  }
}

void SymmetricTree::open() {
  nodes_ = {0};
  order_categories();
}

std::optional<SymmetricTree::Level> SymmetricTree::next_level() {
  if (nodes_.empty() || !has_room(depth_)) return std::nullopt;
  std::optional<Split> test = best_test();
  if (!test) return std::nullopt;
  Level level;
  level.split = std::move(*test);
  level.is_last = !has_room(depth_ + 1);
  for (const NodeId id : nodes_) {
    level.families.push_back({.parent = id, .children = {}});
    sum_children(level.families.back(), level.split);
  }
  return level;
}

void SymmetricTree::carry_out(Level& level) {
  nodes_.clear();
  for (Family& family : level.families)
    family.is_allowed ? add_nodes(family, level.split) : nodes_.push_back(family.parent);
  ++depth_;
}

// A level is grown as a whole, unless it could give too many leaves.
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
  for (int slot = 0; slot < g.tiles_.n_slots(); ++slot) g.builder_.finish_slot(slot, *root.histogram, parts);
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

std::optional<Split> SymmetricTree::best_test() const {
  BoostGrower& g = grower_;
  // Features are drawn for the level: its number is the path that the draws follow from.
  const std::vector<char> allowed =
      g.start_search(g.states_[0], depth_, static_cast<std::uint64_t>(depth_)).allowed;
  std::vector<LevelCut> cuts(static_cast<std::size_t>(g.data_.n_features()));
  g.for_feature_groups(g.everyone(),
                       [&](const BoostGrower::FeatureGroup& group, BoostGrower::Worker& worker) {
                         if (group.slot == Digit::kNoSlot) return;
                         for (const FeatureId feature : group.features) {
                           const auto f = static_cast<std::size_t>(feature);
                           if (allowed.empty() || allowed[f]) cuts[f] = best_cut(feature, worker.cuts);
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

SymmetricTree::LevelCut SymmetricTree::best_cut(FeatureId feature, CutFinder& finder) const {
  const BoostGrower& g = grower_;
  const Column& column = g.data_.column(feature);
  const std::span<const Code> order = orders_[static_cast<std::size_t>(feature)];
  CutGains gains;
  double score_of_level = 0.0;
  for (const NodeId id : nodes_) {
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

void SymmetricTree::sum_children(Family& family, const Split& split) const {
  const BoostGrower& g = grower_;
  const NodeState& node = g.state_of(family.parent);
  NodeState& left = family.children[0];
  NodeState& right = family.children[1];
  g.sum_child(node, split, left);
  right.total = node.total;
  right.total -= left.total;
  left.groups = right.groups = node.groups;
  const auto least = std::min(left.total.hessian, right.total.hessian);
  family.is_allowed = static_cast<double>(least) >= g.terms_of(node).min_hessian;
}

// Gives children their rows, in the list where those of the parent are not: children that the limits forbid
// are dropped.
void SymmetricTree::send_rows(Level& level) {
  BoostGrower& g = grower_;
  std::vector<BoostGrower::Division> divisions;
  for (Family& family : level.families) {
    if (!family.is_allowed) continue;
    divisions.push_back(g.divide(g.state_of(family.parent), level.split, family.children));
  }
  g.partition(divisions, g.everyone());
  for (Family& family : level.families) judge_rows(family);
}

void SymmetricTree::judge_rows(Family& family) const {
  const BoostGrower& g = grower_;
  const auto fewest = static_cast<std::size_t>(std::max(std::int64_t{1}, g.params_.min_samples_leaf));
  family.is_allowed = family.is_allowed && family.children[family.smaller()].n_rows() >= fewest;
  for (int b = 0; b < 2; ++b)
    family.goes_on[b] = family.is_allowed && g.may_split(family.children[b], depth_ + 1);
}

// The smaller children are counted, all as one list of rows; the larger ones are their parents minus these,
// and take over the parents' histograms.
void SymmetricTree::count_rows(std::span<Family> families) {
  BoostGrower& g = grower_;
  std::vector<Family*> counted;
  std::vector<HistogramBuilder::Count> counts;
  for (Family& family : families) {
    if (!family.goes_on[0] && !family.goes_on[1]) continue;
    NodeState& small = family.children[family.smaller()];
    NodeState& large = family.children[1 - family.smaller()];
    Histogram* whole = g.state_of(family.parent).histogram;
    small.histogram = g.pool_.take(g.needs_wide(small));
    large.histogram = whole->is_wide() == g.needs_wide(large) ? whole : g.pool_.take(g.needs_wide(large));
    counts.push_back({g.rows_of(small)});
    counted.push_back(&family);
  }
  g.builder_.add_rows(counts, g.everyone(), *g.cancel_);
  g.for_feature_groups(g.everyone(), [&](const BoostGrower::FeatureGroup& group, BoostGrower::Worker&) {
    if (group.slot == Digit::kNoSlot) return;
    for (std::size_t i = 0; i < counted.size(); ++i) {
      Histogram& small = *counted[i]->children[counted[i]->smaller()].histogram;
      Histogram& large = *counted[i]->children[1 - counted[i]->smaller()].histogram;
      g.builder_.finish_slot(group.slot, small, counts[i].parts);
      g.builder_.subtract(group.slot, *g.state_of(counted[i]->parent).histogram, small, large);
    }
  });
  for (std::size_t i = 0; i < counted.size(); ++i) {
    g.builder_.give_back(counts[i].parts);
    NodeState& parent = g.state_of(counted[i]->parent);
    const bool is_taken = counted[i]->children[1 - counted[i]->smaller()].histogram == parent.histogram;
    if (is_taken) parent.histogram = nullptr;
  }
}

void SymmetricTree::add_nodes(Family& family, const Split& split) {
  BoostGrower& g = grower_;
  NodeState& parent = g.state_of(family.parent);
  const NodeId first = g.work_.add(1);
  g.work_.add(1);
  NodeRecord& record = g.work_.nodes[static_cast<std::size_t>(family.parent)];
  record.first_child = first;
  record.gain = gain_of(parent, family.children);
  const int larger = family.children[0].n_rows() >= family.children[1].n_rows() ? 0 : 1;
  record.missing_branch = split.missing_branch >= 0 ? split.missing_branch : larger;
  record.split = static_cast<std::int32_t>(g.work_.splits.size());
  g.work_.splits.push_back(split);
  g.pool_.give_back(std::exchange(parent.histogram, nullptr));
  for (int b = 0; b < 2; ++b) {
    NodeState& child = family.children[b];
    if (!family.goes_on[b]) g.pool_.give_back(std::exchange(child.histogram, nullptr));
    if (family.goes_on[b]) nodes_.push_back(first + b);
    g.states_.push_back(std::move(child));
    g.describe(first + b);
  }
}

// The decrease of the loss by the test at this node; at some nodes of a level the loss may rise a little.
double SymmetricTree::gain_of(const NodeState& parent, const NodeState* children) const {
  const BoostGrower& g = grower_;
  const double gain = score_of_node(g.terms_of(children[0])) + score_of_node(g.terms_of(children[1])) -
                      score_of_node(g.terms_of(parent));
  return std::max(0.0, gain * 0.5 / (g.scale_.gradient * g.scale_.gradient));
}

}  // namespace hornbeam::boost
