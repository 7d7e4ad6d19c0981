#include "boost/grow/boost_grower.h"

#include <algorithm>
#include <cmath>

#include "base/counters.h"
#include "base/parallel.h"
#include "base/sampler.h"
#include "boost/grow/row_marker.h"
#include "boost/grow/symmetric_tree.h"

namespace hornbeam::boost {

using grow::NodeRecord;

namespace {

constexpr std::size_t kSplitsBetween = 8;  // splits between two searches for nodes that will not be split

// The categories that occur in a column; none if it holds numbers.
std::vector<Code> categories_in(const Column& column) {
  std::vector<Code> present;
  if (column.kind != ColumnKind::kCategorical) return present;
  std::vector<char> seen(std::size_t{column.n_codes} + 1, 0);
  std::visit(
      [&](const auto& codes) {
        for (const auto code : codes.span()) seen[code] = 1;
      },
      column.codes);
  for (Code code = 0; code < column.n_codes; ++code) {
    if (seen[code]) present.push_back(code);
  }
  return present;
}

}  // namespace

BoostGrower::BoostGrower(const Dataset& data, const Tiles& tiles, const BoostParams& params,
                         HistogramPool& pool, bool on_calling_thread)
    : data_(data),
      params_(params),
      on_calling_thread_(on_calling_thread),
      tiles_(tiles),
      builder_(tiles, params.n_threads),
      shared_pass_(tiles, params.n_threads),
      pool_(pool),
      workers_(static_cast<std::size_t>(std::max(1, params.n_threads))) {
  for (int slot = 0; slot < tiles.n_slots(); ++slot) {
    const auto features = tiles.features_in(slot);
    feature_groups_.push_back({slot, {features.begin(), features.end()}});
  }
  for (FeatureId f = 0; f < data.n_features(); ++f) {
    if (!tiles.digit_of(f).has_slot()) feature_groups_.push_back({Digit::kNoSlot, {f}});
  }
  if (params_.max_leaf_nodes > 0 && params_.growth == Growth::kDepthFirst)
    params_.growth = Growth::kBestFirst;
  if (!params_.one_vs_rest()) return;
  for (int f = 0; f < data.n_features(); ++f) categories_.push_back(categories_in(data.column(f)));
}

bool BoostGrower::may_split(const NodeState& node, std::int32_t depth) const {
  const auto n = static_cast<std::int64_t>(node.n_rows());
  return n >= 2 * params_.min_samples_leaf && n >= 2 && (params_.max_depth == 0 || depth < params_.max_depth);
}

std::size_t BoostGrower::n_splits_left() const {
  if (params_.max_leaf_nodes == 0) return data_.n_rows();
  const auto n_leaves = static_cast<std::int64_t>(work_.nodes.size() + 1) / 2;
  return static_cast<std::size_t>(std::max(std::int64_t{0}, params_.max_leaf_nodes - n_leaves));
}

void BoostGrower::describe(NodeId id) {
  NodeRecord& record = work_.nodes[static_cast<std::size_t>(id)];
  record.n_samples = static_cast<std::int64_t>(states_[static_cast<std::size_t>(id)].n_rows());
  record.weight = static_cast<double>(record.n_samples);
}

// Carries out a node's test on its rows and finds the tests of its children, unless it is the last node that
// may be split. The result does not depend on when this is done.
void BoostGrower::prepare(const OpenNode& node, NodeState& parent, Team team, bool is_last) {
  parent.prepared = std::make_unique<Prepared>();
  Division division = divide(parent, node.split, parent.prepared->children);
  partition({&division, 1}, team);
  if (name_children(node, parent, team, is_last)) {
    find_tests(node, parent, team, *parent.prepared);
  } else {
    pool_.give_back(parent.histogram);
  }
}

// Sets what the children of a node have besides their rows, and whether they may have tests.
bool BoostGrower::name_children(const OpenNode& node, NodeState& parent, Team team, bool is_last) {
  Prepared& out = *parent.prepared;
  for (int b = 0; b < 2; ++b) {
    NodeState& child = out.children[b];
    child.home = team.size > 1 ? b : team.first;  // a team has written both: one for each of two
    child.lower = parent.lower;
    child.upper = parent.upper;
    child.groups = groups_with(node.split.feature, parent.groups);
  }
  sum_child(parent, node.split, out.children[0]);
  out.children[1].total = parent.total;
  out.children[1].total -= out.children[0].total;
  if (!params_.monotonic.empty()) bound_children(node.split.feature, out.children);
  return !is_last && may_split(out.children[1 - out.smaller()], node.depth + 1);
}

// The smaller child is counted; the larger is what remains of the parent, whose histogram is used up.
void BoostGrower::find_tests(const OpenNode& node, const NodeState& parent, Team team, Prepared& out) {
  const int smaller = out.smaller();
  NodeState& small = out.children[smaller];
  NodeState& large = out.children[1 - smaller];
  Search searches[2] = {start_search(out.children[0], node.depth + 1, child_path(node.path, 0)),
                        start_search(out.children[1], node.depth + 1, child_path(node.path, 1))};
  small.histogram = pool_.take(needs_wide(small));
  HistogramBuilder::Parts parts = builder_.add_rows(rows_of(small), *small.histogram, team, *cancel_);
  if (parent.histogram != nullptr) {
    const bool same_kind = parent.histogram->is_wide() == needs_wide(large);
    large.histogram = same_kind ? parent.histogram : pool_.take(needs_wide(large));
    for_feature_groups(team, [&](const FeatureGroup& group, Worker& worker) {
      if (group.slot != Digit::kNoSlot) {
        builder_.finish_slot(group.slot, *small.histogram, parts);
        builder_.subtract(group.slot, *parent.histogram, *small.histogram, *large.histogram);
      }
      for (Search& search : searches) search_feature_group(search, group, worker);
    });
    if (!same_kind) pool_.give_back(parent.histogram);
  } else {
    for_feature_groups(team, [&](const FeatureGroup& group, Worker& worker) {
      if (group.slot != Digit::kNoSlot) builder_.finish_slot(group.slot, *small.histogram, parts);
      search_feature_group(searches[smaller], group, worker);
    });
    builder_.give_back(parts);
    large.histogram = pool_.take(needs_wide(large));
    parts = builder_.add_rows(rows_of(large), *large.histogram, team, *cancel_);
    for_feature_groups(team, [&](const FeatureGroup& group, Worker& worker) {
      if (group.slot != Digit::kNoSlot) builder_.finish_slot(group.slot, *large.histogram, parts);
      search_feature_group(searches[1 - smaller], group, worker);
    });
  }
  builder_.give_back(parts);
  for (int b = 0; b < 2; ++b) out.open[b] = settle(searches[b], first_of(team));
}

// Makes the prepared children nodes of the tree.
void BoostGrower::carry_out(Frontier& frontier, OpenNode& node) {
  const std::unique_ptr<Prepared> prepared = std::move(state_of(node.id).prepared);
  const NodeId first = work_.add(1);
  work_.add(1);
  NodeRecord& record = work_.nodes[static_cast<std::size_t>(node.id)];
  record.first_child = first;
  record.gain = node.gain;
  const bool left_is_larger = prepared->children[0].n_rows() >= prepared->children[1].n_rows();
  record.missing_branch = node.split.missing_branch >= 0 ? node.split.missing_branch : left_is_larger ? 0 : 1;
  record.split = static_cast<std::int32_t>(work_.splits.size());
  work_.splits.push_back(std::move(node.split));
  state_of(node.id).histogram = nullptr;  // its children have it
  for (int b = 0; b < 2; ++b) {
    states_.push_back(std::move(prepared->children[b]));
    describe(first + b);
    if (!prepared->open[b]) continue;
    prepared->open[b]->id = first + b;
    frontier.push(std::move(*prepared->open[b]));
  }
  if (n_splits_left() % kSplitsBetween == 0) release_unsplittable(frontier);
}

// Nodes that will not be split keep no histogram and no set of rows: there may be as many of them as nodes
// that will be, and a histogram is larger than the rows of most nodes.
void BoostGrower::release_unsplittable(const Frontier& frontier) {
  for (const NodeId id : frontier.beyond(n_splits_left())) {
    if (state_of(id).stage == Stage::kWaiting) release(state_of(id));
  }
}

std::vector<std::size_t> BoostGrower::groups_with(FeatureId feature,
                                                  const std::vector<std::size_t>& groups) const {
  std::vector<std::size_t> remaining;
  for (const std::size_t group : groups) {
    if (std::ranges::find(params_.interactions[group], feature) != params_.interactions[group].end()) {
      remaining.push_back(group);
    }
  }
  return remaining;
}

// The sums of branch 0, from the cells of the tested feature or from the rows themselves.
void BoostGrower::sum_child(const NodeState& parent, const Split& split, NodeState& left) const {
  const Digit& digit = tiles_.digit_of(split.feature);
  if (parent.histogram == nullptr || !digit.has_slot()) {
    for (const BoostEntry entry : entries_of(left)) {
      const FixedPair pair = scale_.packed ? FixedPair{} : pairs_[row_of(entry)];
      left.total += scale_.packed ? widen(cell_of(entry)) : WideCell{pair.gradient, pair.hessian};
    }
    return;
  }
  Histogram& histogram = *parent.histogram;
  const std::vector<std::uint8_t> is_left = left_codes(data_.column(split.feature), split);
  for (std::size_t joint = 0; joint < digit.n_joint; ++joint) {
    if (!is_left[joint / digit.step % digit.n_codes]) continue;
    left.total += histogram.cell(digit.slot, joint);
  }
}

// A test on a constrained feature keeps each side's values, now and further down, on its own side of the
// middle.
void BoostGrower::bound_children(FeatureId feature, NodeState* children) const {
  const int direction = params_.monotonic[static_cast<std::size_t>(feature)];
  if (direction == 0) return;
  NodeState& left = children[0];
  NodeState& right = children[1];
  const double middle = (value_of(left) + value_of(right)) / 2;
  (direction > 0 ? left.upper : left.lower) = middle;
  (direction > 0 ? right.lower : right.upper) = middle;
}

// The value that a node would have as a leaf, before the learning rate.
double BoostGrower::value_of(const NodeState& node) const {
  const double gradient = static_cast<double>(node.total.gradient) / scale_.gradient;
  const double size = std::max(0.0, std::abs(gradient) - params_.l1_regularization);
  const double value =
      size / (static_cast<double>(node.total.hessian) / scale_.hessian + params_.l2_regularization);
  return std::clamp(gradient > 0 ? -value : value, node.lower, node.upper);
}

void BoostGrower::release(NodeState& node) {
  pool_.give_back(std::exchange(node.histogram, nullptr));
  row_sets_.give_back(std::exchange(node.members, nullptr));
}

// Node by node, in the order of the frontier.
void BoostGrower::grow_by_frontier(Histogram* counted) {
  Frontier frontier(params_.growth);
  open_root(frontier, counted);
  CancelPoller poller(*cancel_, on_calling_thread_);
  while (n_splits_left() > 0 && frontier.size() > 0) {
    if (state_of(frontier.peek().id).stage == Stage::kPrepared) {
      OpenNode node = *frontier.next();
      carry_out(frontier, node);
    } else if (takes_everyone(frontier)) {
      const std::vector<const OpenNode*> nodes = next_in_step(frontier);
      for (const OpenNode* node : nodes) poller.poll(state_of(node->id).n_rows() * feature_groups_.size());
      prepare_in_step(nodes);
    } else {
      grow_side_by_side(frontier);
    }
  }
}

void BoostGrower::grow(const Derivatives& derivatives, const Root& root, std::span<const RowId> rows,
                       std::span<const char> features, std::uint64_t key, Cancel& cancel) {
  cancel_ = &cancel;
  work_ = TreeBuilder{};
  leaves_.clear();
  features_ = features;
  key_ = key;
  scale_ = root.scale;
  load_root(derivatives, rows);
  const Timed timed("grow");
  if (params_.symmetric) {
    SymmetricTree(*this).grow(root.histogram);
  } else {
    grow_by_frontier(root.histogram);
  }
  tally("trees", 1);
  tally("nodes carried out", static_cast<double>(work_.splits.size()));
  for (NodeState& node : states_) {
    if (node.prepared) {
      tally("nodes prepared in vain", 1);  // the children have its histogram and rows
      for (NodeState& child : node.prepared->children) release(child);
      node.prepared.reset();
    } else {
      release(node);
    }
  }
  for (std::size_t id = 0; id < states_.size(); ++id) {
    if (work_.nodes[id].split < 0) leaves_.push_back({static_cast<NodeId>(id), entries_of(states_[id])});
  }
}

NodeId BoostGrower::leaf_of(RowId row) const {
  NodeId id = 0;
  for (;;) {
    const NodeRecord& record = work_.nodes[static_cast<std::size_t>(id)];
    if (record.split < 0) return id;
    const Split& split = work_.splits[static_cast<std::size_t>(record.split)];
    const Column& column = data_.column(split.feature);
    const Code code =
        std::visit([&](const auto& codes) { return static_cast<Code>(codes[row]); }, column.codes);
    bool right = code >= split.first_right;
    if (code == column.missing_code()) {
      right = record.missing_branch == 1;
    } else if (column.kind == ColumnKind::kCategorical) {
      right = !std::binary_search(split.left_categories.begin(), split.left_categories.end(), code) &&
              (record.missing_branch == 1 ||
               std::binary_search(split.right_categories.begin(), split.right_categories.end(), code));
    }
    id = record.first_child + (right ? 1 : 0);
  }
}

}  // namespace hornbeam::boost
