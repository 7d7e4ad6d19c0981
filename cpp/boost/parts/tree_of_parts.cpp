#include "boost/parts/tree_of_parts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/parallel.h"
#include "base/sampler.h"
#include "boost/leaf_values.h"

namespace hornbeam::boost {

namespace {

CategorySums rest_of(const CategorySums& whole, const CategorySums& part) {
  std::map<Code, std::size_t> place;
  for (std::size_t i = 0; i < part.codes.size(); ++i) place[part.codes[i]] = i;
  CategorySums rest;
  for (std::size_t i = 0; i < whole.codes.size(); ++i) {
    WideCell cell = whole.cells[i];
    std::int64_t rows = whole.rows[i];
    if (const auto found = place.find(whole.codes[i]); found != place.end()) {
      cell -= part.cells[found->second];
      rows -= part.rows[found->second];
    }
    if (rows == 0) continue;
    rest.codes.push_back(whole.codes[i]);
    rest.cells.push_back(cell);
    rest.rows.push_back(rows);
  }
  return rest;
}

}  // namespace

TreeOfParts::TreeOfParts(const Dataset& data, const BoostParams& params,
                         std::vector<std::vector<Code>> categories)
    : data_(data),
      params_(params),
      tiles_(data),
      histograms_(tiles_.n_slots()),
      grower_(data, tiles_, params, histograms_) {
  grower_.categories_ = std::move(categories);
  for (FeatureId feature = 0; feature < data.n_features(); ++feature) {
    if (!tiles_.digit_of(feature).has_slot()) without_slot_.push_back(feature);
  }
}

std::size_t TreeOfParts::n_cells() const {
  return std::accumulate(tiles_.n_codes().begin(), tiles_.n_codes().end(), std::size_t{0});
}

void TreeOfParts::begin(const Scale& scale, std::size_t n_rows, const PartSums& root_sums,
                        std::vector<char> features, std::uint64_t key) {
  grower_.cancel_ = &cancel_;
  grower_.work_ = TreeBuilder{};
  features_ = std::move(features);
  grower_.features_ = features_;
  grower_.key_ = key;
  grower_.scale_ = scale;
  grower_.states_.clear();
  frontier_.emplace(grower_.params_.growth);
  levels_.emplace(grower_);
  next_node_ = 1;
  sent_.clear();
  pending_.clear();
  n_named_ = 0;
  asked_.clear();
  n_answered_ = 0;
  NodeState root;
  root.end = n_rows;
  root.total = root_sums.total;
  root.groups.resize(params_.interactions.size());
  std::iota(root.groups.begin(), root.groups.end(), std::size_t{0});
  root.sums = std::make_unique<BoostGrower::NodeSums>();
  grower_.states_.push_back(std::move(root));
  grower_.work_.add(1);
  grower_.describe(0);
  NodeState& state = grower_.states_[0];
  if (!grower_.may_split(state, 0) || !scale.has_hessian) return;
  fill(state, root_sums.cells, root_sums.categories);
  if (params_.symmetric) {
    levels_->open();
  } else {
    OpenNode as;
    settle(searched(nullptr, 0, state, as, grower_.workers_[0]));
  }
}

// ---- what the parts are asked

// The sums of the left child follow from the cells of the tested feature, if they are at hand. One child is
// counted, the other is what remains; the one of less hessian is probably the smaller.
PartRows::Wanted TreeOfParts::wanted_of(const Known& known) const {
  const OpenNode& node = *known.node;
  const NodeState& parent = *known.state;
  const bool has_cells = parent.histogram != nullptr;
  PartRows::Wanted wanted;
  wanted.total = !has_cells || !tiles_.digit_of(node.split.feature).has_slot();
  if (known.is_last || (params_.max_depth > 0 && node.depth + 1 >= params_.max_depth)) return wanted;
  NodeState left;
  if (!wanted.total) grower_.sum_child(parent, node.split, left);
  const bool left_is_smaller = 2 * left.total.hessian <= parent.total.hessian;
  wanted.left = !has_cells || left_is_smaller;
  wanted.right = !has_cells || !left_is_smaller;
  return wanted;
}

std::vector<TreeOfParts::Task> TreeOfParts::tasks(std::size_t most) {
  return params_.symmetric ? tasks_of_level() : tasks_of_nodes(most);
}

// All nodes of a level have their histograms, so the child of less hessian is counted.
std::vector<TreeOfParts::Task> TreeOfParts::tasks_of_level() {
  std::vector<Task> tasks;
  if (n_answered_ < asked_.size()) return tasks;
  asked_.clear();
  n_answered_ = 0;
  while (tasks.empty() && (level_ = levels_->next_level())) {
    for (SymmetricTree::Family& family : level_->families) {
      if (!family.is_allowed) continue;
      PartRows::Wanted wanted;
      const bool left_is_smaller = family.children[0].total.hessian <= family.children[1].total.hessian;
      if (!level_->is_last) (left_is_smaller ? wanted.left : wanted.right) = true;
      for (NodeState& child : family.children) {
        child.sums = std::make_unique<BoostGrower::NodeSums>();
        child.sums->node = next_node_++;
      }
      tasks.push_back({grower_.state_of(family.parent).sums->node, level_->split, wanted});
      asked_.push_back({&family, wanted});
    }
    if (tasks.empty()) levels_->carry_out(*level_);
  }
  return tasks;
}

// The next nodes whose children are not known yet.
std::vector<TreeOfParts::Known> TreeOfParts::next_nodes(std::size_t most) {
  if (grower_.params_.growth == Growth::kBestFirst) return next_by_gain(most);
  std::vector<const OpenNode*> soon;
  frontier_->foresee(std::min(most, grower_.n_splits_left()), soon);
  std::vector<Known> next;
  for (const OpenNode* node : soon) {
    NodeState& state = grower_.state_of(node->id);
    if (state.stage == BoostGrower::Stage::kWaiting)
      next.push_back({node, &state, grower_.n_splits_left() == 1});
  }
  return next;
}

// Takes nodes as the frontier would, with the children of those that are prepared. Children that are not known yet,
// because their parent is still being divided, may come in between: so the order stays as it is, but nodes may come
// later.
std::vector<TreeOfParts::Known> TreeOfParts::next_by_gain(std::size_t most) {
  struct Turn {
    const OpenNode* node;
    NodeState* state;
    std::uint64_t sequence;
  };
  const auto comes_later = [](const Turn& a, const Turn& b) {
    return a.node->gain != b.node->gain ? a.node->gain < b.node->gain : a.sequence > b.sequence;
  };
  std::vector<Turn> turns;
  frontier_->for_each([&](const OpenNode& node, std::uint64_t sequence) {
    turns.push_back({&node, &grower_.state_of(node.id), sequence});
  });
  std::ranges::make_heap(turns, comes_later);
  std::uint64_t sequence = frontier_->next_sequence();
  std::vector<Known> next;
  for (std::size_t left = grower_.n_splits_left(); left > 0 && !turns.empty() && next.size() < most; --left) {
    std::ranges::pop_heap(turns, comes_later);
    const Turn turn = turns.back();
    turns.pop_back();
    if (turn.state->stage == BoostGrower::Stage::kWaiting) {
      next.push_back({turn.node, turn.state, left == 1});
      continue;
    }
    if (turn.state->stage == BoostGrower::Stage::kTaken) continue;
    for (const int b : {0, 1}) {
      const std::optional<OpenNode>& open = turn.state->prepared->open[b];
      if (!open) continue;
      turns.push_back({&*open, &turn.state->prepared->children[b], sequence++});
      std::ranges::push_heap(turns, comes_later);
    }
  }
  return next;
}

std::vector<TreeOfParts::Task> TreeOfParts::tasks_of_nodes(std::size_t most) {
  std::vector<Task> tasks;
  for (const Known& known : next_nodes(most)) {
    const PartRows::Wanted wanted = wanted_of(known);
    tasks.push_back({known.state->sums->node, known.node->split, wanted});
    sent_.push_back({*known.node, known.state, wanted, next_node_});
    known.state->stage = BoostGrower::Stage::kTaken;
    next_node_ += 2;
  }
  return tasks;
}

// ---- what they answer

void TreeOfParts::describe_children(const Sent& sent, const PartSums& sums, NodeState* children) const {
  const NodeState& parent = *sent.state;
  children[0].end = sums.n_left;
  children[1].end = parent.n_rows() - sums.n_left;
  for (int b = 0; b < 2; ++b) {
    NodeState& child = children[b];
    child.lower = parent.lower;
    child.upper = parent.upper;
    child.groups = grower_.groups_with(sent.node.split.feature, parent.groups);
    child.sums = std::make_unique<BoostGrower::NodeSums>();
    child.sums->node = sent.first_child + static_cast<std::size_t>(b);
  }
  if (sent.wanted.total) {
    children[0].total = sums.total;
  } else {
    grower_.sum_child(parent, sent.node.split, children[0]);
  }
  children[1].total = parent.total;
  children[1].total -= children[0].total;
  if (!params_.monotonic.empty()) grower_.bound_children(sent.node.split.feature, children);
}

void TreeOfParts::fill(NodeState& node, std::span<const WideCell> cells,
                       std::span<const CategorySums> categories) {
  node.histogram = histograms_.take(grower_.needs_wide(node));
  std::size_t place = 0;
  for (int slot = 0; slot < tiles_.n_slots(); ++slot) {
    const std::size_t n_codes = tiles_.n_codes()[static_cast<std::size_t>(slot)];
    for (std::size_t code = 0; code < n_codes; ++code) {
      const WideCell& cell = cells[place++];
      if (node.histogram->is_wide()) {
        node.histogram->wide(slot)[code] = cell;
      } else {
        node.histogram->packed(slot)[code] =
            (static_cast<PackedCell>(cell.gradient) << 32) + static_cast<PackedCell>(cell.hessian);
      }
    }
  }
  for (std::size_t i = 0; i < without_slot_.size(); ++i)
    node.sums->categories[without_slot_[i]] = categories[i];
}

// The other child has what remains of the parent.
void TreeOfParts::fill_with_rest(NodeState& parent, const NodeState& counted, NodeState& other) {
  Histogram* whole = std::exchange(parent.histogram, nullptr);
  const bool same_kind = whole->is_wide() == grower_.needs_wide(other);
  other.histogram = same_kind ? whole : histograms_.take(grower_.needs_wide(other));
  for (int slot = 0; slot < tiles_.n_slots(); ++slot)
    grower_.builder_.subtract(slot, *whole, *counted.histogram, *other.histogram);
  if (!same_kind) histograms_.give_back(whole);
  for (const FeatureId feature : without_slot_) {
    other.sums->categories[feature] =
        rest_of(parent.sums->categories[feature], counted.sums->categories[feature]);
  }
}

void TreeOfParts::give_sums(NodeState& parent, PartRows::Wanted wanted, const PartSums& sums,
                            NodeState* children) {
  const std::span<const WideCell> cells(sums.cells);
  const std::span<const CategorySums> categories(sums.categories);
  if (wanted.left && wanted.right) {
    fill(children[0], cells.first(n_cells()), categories.first(without_slot_.size()));
    fill(children[1], cells.last(n_cells()), categories.last(without_slot_.size()));
    return;
  }
  const int counted = wanted.left ? 0 : 1;
  fill(children[counted], cells, categories);
  fill_with_rest(parent, children[counted], children[1 - counted]);
}

void TreeOfParts::answer(std::size_t n_tasks, const std::function<PartSums(std::size_t)>& sums_of) {
  if (params_.symmetric) {
    for (std::size_t i = 0; i < n_tasks; ++i) answer_of_level(sums_of(i));
    return;
  }
  std::vector<std::vector<Pending>> found(n_tasks);
  parallel_for(n_tasks, params_.n_threads, [&](std::size_t i, int worker) {
    found[i] = answer_of_node(sent_[i], sums_of(i), grower_.workers_[static_cast<std::size_t>(worker)]);
  });
  for (std::size_t i = 0; i < n_tasks; ++i) {
    for (Pending& pending : found[i]) settle(std::move(pending));
    note_prepared(*sent_[i].state);
  }
  sent_.erase(sent_.begin(), sent_.begin() + static_cast<std::ptrdiff_t>(n_tasks));
  carry_out();
}

void TreeOfParts::answer_of_level(const PartSums& sums) {
  auto& [family, wanted] = asked_[n_answered_++];
  NodeState& parent = grower_.state_of(family->parent);
  family->children[0].end = sums.n_left;
  family->children[1].end = parent.n_rows() - sums.n_left;
  levels_->judge_rows(*family);
  const bool goes_on = family->goes_on[0] || family->goes_on[1];
  if (goes_on && (wanted.left || wanted.right)) give_sums(parent, wanted, sums, family->children);
  if (n_answered_ == asked_.size()) levels_->carry_out(*level_);
}

// Touches nothing but the node and its children, so several can be answered at once.
std::vector<TreeOfParts::Pending> TreeOfParts::answer_of_node(const Sent& sent, const PartSums& sums,
                                                              BoostGrower::Worker& worker) {
  const OpenNode& node = sent.node;
  NodeState& parent = *sent.state;
  parent.prepared = std::make_unique<BoostGrower::Prepared>();
  NodeState* children = parent.prepared->children;
  describe_children(sent, sums, children);
  const int larger = children[0].n_rows() > children[1].n_rows() ? 0 : 1;
  const bool is_counted = sent.wanted.left || sent.wanted.right;
  std::vector<Pending> found;
  if (is_counted && grower_.may_split(children[larger], node.depth + 1)) {
    give_sums(parent, sent.wanted, sums, children);
    for (const int b : {0, 1}) {
      OpenNode as;
      as.depth = node.depth + 1;
      as.path = child_path(node.path, b);
      found.push_back(searched(&parent, b, children[b], as, worker));
    }
  }
  histograms_.give_back(std::exchange(parent.histogram, nullptr));
  return found;
}

// ---- searches

// `as` has the node's depth and path.
TreeOfParts::Pending TreeOfParts::searched(NodeState* parent, int branch, NodeState& node, const OpenNode& as,
                                           BoostGrower::Worker& worker) {
  Pending found{parent, branch, grower_.start_search(node, as.depth, as.path)};
  for (const BoostGrower::FeatureGroup& group : grower_.feature_groups_)
    grower_.search_feature_group(found.search, group, worker);
  found.open = grower_.settle(found.search, worker);
  return found;
}

void TreeOfParts::settle(Pending pending) {
  if (pending.search.question != kNoFeature) {
    pending_.push_back(std::move(pending));
  } else if (pending.parent != nullptr) {
    pending.parent->prepared->open[pending.branch] = std::move(pending.open);
  } else if (pending.open) {
    frontier_->push(std::move(*pending.open));
  }
}

std::vector<std::size_t> TreeOfParts::questions() {
  std::vector<std::size_t> nodes;
  for (; n_named_ < pending_.size(); ++n_named_) nodes.push_back(pending_[n_named_].search.node->sums->node);
  return nodes;
}

void TreeOfParts::answer_question(std::span<const std::uint32_t> rows_by_code) {
  Pending pending = std::move(pending_.front());
  pending_.erase(pending_.begin());
  --n_named_;
  pending.search.question = kNoFeature;
  for (FeatureId feature = 0; feature < data_.n_features(); ++feature) {
    if (!tiles_.digit_of(feature).has_slot()) continue;
    const auto own = rows_by_code.first(kCellsPerSlot);
    pending.search.node->sums->rows_by_code[feature].assign(own.begin(), own.end());
    rows_by_code = rows_by_code.subspan(kCellsPerSlot);
  }
  NodeState* parent = pending.parent;
  pending.open = grower_.settle(pending.search, grower_.workers_[0]);
  settle(std::move(pending));
  if (parent != nullptr) note_prepared(*parent);
  carry_out();
}

// ---- the tree

void TreeOfParts::note_prepared(NodeState& node) {
  const auto is_of_node = [&](const Pending& pending) { return pending.parent == &node; };
  if (std::ranges::none_of(pending_, is_of_node)) node.stage = BoostGrower::Stage::kPrepared;
}

// Moves the states of children, to which pending searches point, so not before these are settled.
void TreeOfParts::carry_out() {
  if (!pending_.empty()) return;
  while (grower_.n_splits_left() > 0 && frontier_->size() > 0 &&
         grower_.state_of(frontier_->peek().id).stage == BoostGrower::Stage::kPrepared) {
    carry_out(*frontier_->next());
  }
}

// Children that the parts are dividing already have another place afterwards.
void TreeOfParts::carry_out(OpenNode node) {
  const NodeState* const children = grower_.state_of(node.id).prepared->children;
  std::vector<Sent*> moved[2];
  for (Sent& sent : sent_) {
    for (const int b : {0, 1}) {
      if (sent.state == &children[b]) moved[b].push_back(&sent);
    }
  }
  grower_.carry_out(*frontier_, node);
  for (const int b : {0, 1}) {
    for (Sent* sent : moved[b]) sent->state = &grower_.states_.end()[b - 2];
  }
}

std::vector<NodeId> TreeOfParts::leaf_nodes() const {
  std::vector<NodeId> ids;
  for (std::size_t id = 0; id < grower_.work_.nodes.size(); ++id) {
    if (grower_.work_.nodes[id].split < 0) ids.push_back(static_cast<NodeId>(id));
  }
  return ids;
}

LeafNodes TreeOfParts::leaves() const {
  LeafNodes leaves;
  for (const NodeId id : leaf_nodes()) {
    list_nodes(grower_.state_of(id), static_cast<std::uint32_t>(leaves.n_leaves), leaves);
    ++leaves.n_leaves;
  }
  return leaves;
}

// Where grandchildren have been made ahead of their turn, the parts have written their rows over those of the node.
void TreeOfParts::list_nodes(const NodeState& node, std::uint32_t leaf, LeafNodes& out) {
  const auto is_divided = [](const NodeState& child) { return child.prepared != nullptr; };
  if (node.prepared && std::ranges::any_of(node.prepared->children, is_divided)) {
    for (const NodeState& child : node.prepared->children) list_nodes(child, leaf, out);
  } else {
    out.nodes.push_back(node.sums->node);
    out.leaf_of.push_back(leaf);
  }
}

BoostGrower::Bounds TreeOfParts::bounds_of_leaf(std::size_t leaf) const {
  return grower_.bounds_of(leaf_nodes()[leaf]);
}

tree::Tree TreeOfParts::finish(std::span<const double> values, std::span<const double> weights) {
  TreeBuilder& work = grower_.work_;
  const std::vector<NodeId> ids = leaf_nodes();
  for (std::size_t leaf = 0; leaf < ids.size(); ++leaf) {
    const auto node = static_cast<std::size_t>(ids[leaf]);
    work.values[node] = rounded(params_.learning_rate * values[leaf]);
    work.nodes[node].weight = weights[leaf];
  }
  describe_inner_nodes(work);
  for (NodeState& node : grower_.states_) {
    release_below(node);
    grower_.release(node);
  }
  std::vector<TreeBuilder> parts;
  parts.push_back(std::move(work));
  tree::Tree tree = grow::assemble(data_, parts, 1, 1);
  work = std::move(parts[0]);
  return tree;
}

std::vector<double> TreeOfParts::leaf_values() const {
  std::vector<double> values;
  for (const NodeId id : leaf_nodes()) values.push_back(grower_.work_.values[static_cast<std::size_t>(id)]);
  return values;
}

void TreeOfParts::release_below(NodeState& node) {
  if (!node.prepared) return;
  for (NodeState& child : node.prepared->children) {
    release_below(child);
    grower_.release(child);
  }
  node.prepared.reset();
}

}  // namespace hornbeam::boost
