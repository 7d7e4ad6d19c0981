#include "hornbeam/grower.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "hornbeam/branchwork.h"
#include "hornbeam/category_plan.h"
#include "hornbeam/choice.h"
#include "hornbeam/criterion/accuracy.h"
#include "hornbeam/criterion/chi2.h"
#include "hornbeam/criterion/counts.h"
#include "hornbeam/criterion/own.h"
#include "hornbeam/criterion/sums.h"
#include "hornbeam/criterion/vectors.h"
#include "hornbeam/parallel.h"
#include "hornbeam/partition.h"
#include "hornbeam/portions.h"
#include "hornbeam/split.h"
#include "hornbeam/subtree.h"
#include "hornbeam/thicket.h"

namespace hornbeam {

namespace {

SecondStep second_step_of(Criterion criterion) {
  switch (criterion) {
    case Criterion::kGainRatio:
      return SecondStep::kGainRatio;
    case Criterion::kChi2:
      return SecondStep::kChi2;
    case Criterion::kFTest:
      return SecondStep::kFTest;
    default:
      return SecondStep::kNone;
  }
}

// A node of a thicket that waits for its test.
struct Sprout {
  NodeId id;
  std::int32_t depth;
  std::uint64_t path;
  Bits rows;
};

// Scratch of one thread.
template <Scorer S>
struct Worker {
  Worker(const S& scorer, const CategoryPlan& plan, const GrowParams& params, Cancel& cancel,
         bool on_calling_thread)
      : finder(scorer, plan, params.missing != Missing::kLearn),
        choice(second_step_of(params.criterion), params.min_significance),
        features(params.features),
        poller(cancel, on_calling_thread) {}
  TestFinder<S> finder;
  Choice choice;
  std::vector<FeatureId> features;  // in order; drawing swaps some to the front and puts them back
  std::vector<std::pair<std::size_t, std::size_t>> swaps;
  std::vector<FeatureId> drawn;  // the features to try at this node
  std::vector<double> class_weights;
  std::vector<OpenNode> children;  // of the node at hand, with their cells
  std::vector<std::vector<typename S::Element>> child_cells{2};
  std::vector<std::size_t> branch_begin;  // where the rows of each branch begin in the node, and the end
  std::vector<typename S::Element> branch_cell;  // of a test that is looked at but not carried out yet,
  std::vector<double> value;                     // and what the branch would predict
  Buffer<Entry> scratch;
  Buffer<std::uint8_t> branches;  // of the node's rows
  std::vector<std::int64_t> row_weights;
  SurrogateFinder surrogate_finder;
  Subtree subtree;
  Thicket<S> thicket;
  std::vector<Sprout> sprouts;
  CancelPoller poller;
};

template <Scorer S>
class Grower {
 public:
  Grower(const Dataset& data, const Target& target, const GrowParams& params, Cancel& cancel, const S& scorer,
         std::vector<Entry> entries)
      : data_(data),
        target_(target),
        params_(params),
        cancel_(cancel),
        prototype_(scorer),
        entries_(std::move(entries)),
        n_values_(target.is_classification() ? *std::ranges::max_element(target.n_classes) : 1) {
    // Slightly less than asked, so that a sum that is equal on paper passes.
    const double unit = prototype_.stats().weight_unit();
    min_weight_ = static_cast<std::int64_t>(std::ceil(params.min_weight_leaf / unit * (1 - 0x1p-40)));
    if (params_.features.empty()) {
      params_.features.resize(static_cast<std::size_t>(data.n_features()));
      std::iota(params_.features.begin(), params_.features.end(), 0);
    }
    if (params_.max_features < 1) params_.max_features = data.n_features();
    subtree_rows_ = std::min(params.subtree_rows, Subtree::most_rows(params_.features.size()));
    if (params_.n_threads > 1) subtree_rows_ = std::min(subtree_rows_, kPieceRows);
    subtree_rows_ = std::min(subtree_rows_, rows_worth_ordering());
    if (in_portions()) subtree_rows_ = 0;  // its lists of places have no room for a row that multiplies
    CancelPoller poller(cancel, params_.on_calling_thread);
    plan_ = plan_categories(params_.categorical_split, ln_of(params_.merge_level), data, params_.features,
                            entries_, prototype_, poller);
    // Which nodes a limit leaves out must not depend on which branch happens to be visited first.
    if (limited() && params_.growth == Growth::kDepthFirst) params_.growth = Growth::kBestFirst;
    for (int i = 0; i < std::max(1, params_.n_threads); ++i) {
      const bool on_calling_thread = i == 0 && params_.on_calling_thread;
      workers_.push_back(std::make_unique<Worker<S>>(prototype_, plan_, params_, cancel, on_calling_thread));
    }
    if (params_.random_splits && params_.row_values == nullptr) {
      params_.row_values = &own_row_values_.emplace(data, workers_[0]->poller);
    }
    // Thickets and random tests of values know one step only, and nothing of surrogates or of what a
    // criterion shows besides its score.
    const bool plain = second_step_of(params_.criterion) == SecondStep::kNone && !kShowsAnother<S> &&
                       params_.missing != Missing::kSurrogate;
    looks_at_values_ =
        params_.random_splits && plain && std::ranges::all_of(params_.features, [&](FeatureId feature) {
          return params_.row_values->of(feature) != nullptr;
        });
    const bool no_limit_binds =
        params_.min_samples_leaf <= 1 && min_weight_ == 0 && params_.monotonic.empty();
    const bool draws_features =
        params_.features.size() >= kFeaturesPerTry * static_cast<std::size_t>(params_.max_features);
    const bool looks_at_groups = BoundsGroups<S> && params_.looks_at_groups && draws_features &&
                                 !params_.random_splits && plain && no_limit_binds &&
                                 params_.missing == Missing::kLearn && RowRecords::can_hold(data) &&
                                 count_rows(entries_) < static_cast<std::int64_t>(RowRecords::kMostRows);
    if (!looks_at_groups) params_.records = nullptr;
    if (looks_at_groups && params_.records == nullptr)
      params_.records = &own_records_.emplace(data, workers_[0]->poller);
    if (looks_at_values_)
      subtree_rows_ = std::min(subtree_rows_, Subtree::most_rows_of_values(params_.features.size()));
    const bool only_numbers = std::ranges::all_of(params_.features, [&](FeatureId feature) {
      return data.column(feature).kind == ColumnKind::kNumeric;
    });
    grows_thickets_ = (params_.random_splits ? looks_at_values_ : only_numbers && plain) &&
                      params_.growth == Growth::kDepthFirst && params_.monotonic.empty() &&
                      params_.min_samples_leaf <= 1 && min_weight_ == 0;
  }

  Tree grow() {
    parts_.emplace_back();
    Frontier frontier(params_.growth);
    OpenNode root;
    root.id = parts_[0].add(value_size());
    root.end = entries_.size();
    Worker<S>& worker = *workers_[0];
    describe(parts_[0], root, worker, worker.child_cells[0]);
    root_weight_ = parts_[0].nodes[0].weight;
    admit(parts_[0], frontier, root, worker, worker.child_cells[0]);
    grow_all(parts_[0], frontier, worker);
    grow_deferred();
    for (Branchwork& part : parts_) set_thresholds(part);
    return assemble(data_, parts_, target_.n_outputs, n_values_, plan_);
  }

 private:
  using Element = typename S::Element;

  static std::int64_t count_rows(std::span<const Entry> entries) {
    std::int64_t count = 0;
    for (const Entry& entry : entries) count += entry.payload & 0xff;
    return count;
  }

  // Where all features have few codes, larger nodes count their rows into cells and need no order.
  std::size_t rows_worth_ordering() const {
    constexpr std::size_t kAlways = 4096;
    Code most_codes = 0;
    for (const FeatureId feature : params_.features)
      most_codes = std::max(most_codes, data_.column(feature).n_codes);
    return std::max(kAlways, 2 * std::size_t{most_codes} * static_cast<std::size_t>(prototype_.cell_size()));
  }

  // With several threads, nodes of at most this many rows are grown as pieces, one thread each.
  static constexpr std::size_t kPieceRows = 8192;
  // Row visits below which handing features to other threads costs more than it saves.
  static constexpr std::size_t kParallelWork = 100'000;
  // Keeping so many features in order costs about as much as sorting one when it is tried.
  static constexpr std::size_t kOrdersPerTry = 12;
  // Where so many features wait for each that is tried, looking at groups costs less than keeping orders.
  static constexpr std::size_t kFeaturesPerTry = 3;

  std::size_t value_size() const { return static_cast<std::size_t>(target_.n_outputs) * n_values_; }
  std::span<Entry> rows_of(const OpenNode& node) {
    Entry* list = node.portions != nullptr ? node.portions->data() : entries_.data();
    return {list + node.begin, node.n_rows()};
  }

  // Rows in portions: min_samples_* count what the portions of a node amount to (as C4.5 does, and so that
  // there are never more leaves than rows). A little less passes, for what rounding has cost.
  bool in_portions() const { return params_.missing == Missing::kFractional; }
  std::int64_t in_row_units(std::int64_t rows) const {
    return in_portions() ? (rows << kPortionBits) - (rows << (kPortionBits - 10)) : rows;
  }

  // Whether tests are scored on the rows that have their feature.
  bool known_only() const { return params_.missing != Missing::kLearn; }

  bool limited() const { return params_.max_leaf_nodes > 0 || params_.max_nodes > 0; }

  // Whether the limits have room for a test with so many branches: it adds a node for each, and a leaf less.
  // Under a limit the tree grows in one piece.
  bool has_room_for(std::int64_t n_branches) const {
    const auto n_nodes = static_cast<std::int64_t>(parts_[0].nodes.size());
    const auto n_leaves = n_nodes - static_cast<std::int64_t>(parts_[0].splits.size());
    return (params_.max_leaf_nodes <= 0 || n_leaves + n_branches - 1 <= params_.max_leaf_nodes) &&
           (params_.max_nodes <= 0 || n_nodes + n_branches <= params_.max_nodes);
  }

  // A test that is too large for what the limits leave is passed over: the next may be smaller.
  void grow_all(Branchwork& part, Frontier& frontier, Worker<S>& worker) {
    while (auto node = frontier.next()) {
      if (limited() && !has_room_for(2)) break;
      if (!node->is_tested() && starts_thicket(*node, worker)) {
        grow_thicket(part, frontier, *node, worker);
      } else if (!node->is_tested()) {
        grow_subtree(part, *node, worker);
      } else if (!limited() || has_room_for(node->split.n_branches)) {
        expand(part, frontier, *node, worker);
      }
    }
  }

  // ---- one node

  // Carries out a node's test and opens its children.
  void expand(Branchwork& part, Frontier& frontier, OpenNode& node, Worker<S>& worker) {
    const auto n_branches = static_cast<std::size_t>(node.split.n_branches);
    part_rows(node, worker);
    std::vector<OpenNode>& children = worker.children;
    children.clear();
    children.resize(n_branches);
    if (worker.child_cells.size() < n_branches) worker.child_cells.resize(n_branches);
    const auto first = static_cast<NodeId>(part.nodes.size());
    for (std::size_t b = 0; b < n_branches; ++b) {
      OpenNode& child = children[b];
      child.id = part.add(value_size());
      child.begin = node.begin + worker.branch_begin[b];
      child.end = node.begin + worker.branch_begin[b + 1];
      child.portions = node.portions;
      child.depth = node.depth + 1;
      child.path = child_path(node.path, b);
      child.lower = node.lower;
      child.upper = node.upper;
      child.spent = node.spent;
      if (child.n_rows() > 0) {
        describe(part, child, worker, worker.child_cells[b]);
      } else {
        describe_empty(part, child, node);
      }
    }
    if (!params_.monotonic.empty()) constrain(part, node, children);
    if (spends_feature(node.split)) spend(node, children);
    const auto is_open = [this](const OpenNode& child) { return !is_leaf(child); };
    if (worker.subtree.started() && std::ranges::any_of(children, is_open)) {
      worker.poller.poll(node.n_rows() * params_.features.size());
      if (n_branches == 2) {
        worker.subtree.part_orders(node.begin, node.end, worker.branch_begin[1]);
      } else {
        worker.subtree.part_orders(node.begin, node.end, worker.branch_begin);
      }
    }
    NodeRecord& record = part.nodes[static_cast<std::size_t>(node.id)];
    record.first_child = first;
    record.gain = kShowsAnother<S> ? gain_by_children(part, record, n_branches) : node.gain;
    record.missing_branch = node.split.missing_branch;
    if (record.missing_branch < 0) record.missing_branch = heaviest_branch(part, first, n_branches);
    record.split = static_cast<std::int32_t>(part.splits.size());
    part.splits.push_back(std::move(node.split));
    // A stack gives back the last one first, so the first child goes in last.
    for (std::size_t i = 0; i < n_branches; ++i) {
      const std::size_t b = params_.growth == Growth::kDepthFirst ? n_branches - 1 - i : i;
      admit(part, frontier, children[b], worker, worker.child_cells[b]);
    }
  }

  // What the node's test, carried out, has lowered of the impurity that is shown.
  static double gain_by_children(const Branchwork& part, const NodeRecord& node, std::size_t n_branches) {
    double after = 0.0;
    for (std::size_t b = 0; b < n_branches; ++b) {
      const NodeRecord& child = part.nodes[static_cast<std::size_t>(node.first_child) + b];
      after += child.weight * child.impurity;
    }
    return std::max(0.0, node.weight * node.impurity - after);
  }

  // Sends the node's rows to its branches and notes where each begins.
  void part_rows(OpenNode& node, Worker<S>& worker) {
    const Column& column = data_.column(node.split.feature);
    std::vector<std::size_t>& begin = worker.branch_begin;
    begin.resize(static_cast<std::size_t>(node.split.n_branches) + 1);
    if (in_portions() && node.split.n_missing > 0) return share_out_rows(node, worker);
    if (params_.missing == Missing::kAvailable && node.split.n_missing > 0) leave_out_missing(node, worker);
    const std::span<Entry> rows = rows_of(node);
    if (!worker.subtree.started()) worker.scratch.grow_to(rows.size());
    if (begin.size() == 3) {
      const std::size_t n_left = part_in_two(node, column, worker);
      begin = {0, n_left, node.n_rows()};
    } else if (worker.subtree.started()) {
      worker.subtree.part_rows(rows, node.begin, column, node.split, plan_, begin);
    } else {
      partition_rows(rows, worker.scratch.data(), column, node.split, plan_, begin);
    }
  }

  std::size_t part_in_two(OpenNode& node, const Column& column, Worker<S>& worker) {
    if (params_.missing == Missing::kSurrogate) {
      find_surrogates(node, worker);
      if (node.split.n_missing > 0) return part_by_surrogates(node, worker);
    }
    if (worker.subtree.started()) {
      return worker.subtree.part_rows(rows_of(node), node.begin, column, node.split, plan_);
    }
    if (looks_at_values_) node.split.first_right = codes_at_or_below(column, node.split.threshold);
    return partition_rows(rows_of(node), worker.scratch.data(), column, node.split, plan_);
  }

  // The branch with the largest weight; the first of several.
  static std::int32_t heaviest_branch(const Branchwork& part, NodeId first, std::size_t n_branches) {
    std::size_t heaviest = 0;
    for (std::size_t b = 1; b < n_branches; ++b) {
      const auto weight = [&](std::size_t of) {
        return part.nodes[static_cast<std::size_t>(first) + of].weight;
      };
      if (weight(b) > weight(heaviest)) heaviest = b;
    }
    return static_cast<std::int32_t>(heaviest);
  }

  // A feature that has had a branch per category has nothing left to say.
  bool spends_feature(const Split& split) const {
    return plan_.split() == CategoricalSplit::kMultiway &&
           data_.column(split.feature).kind == ColumnKind::kCategorical;
  }

  static void spend(const OpenNode& node, std::span<OpenNode> children) {
    auto spent = std::make_shared<std::vector<FeatureId>>();
    if (node.spent != nullptr) *spent = *node.spent;
    spent->push_back(node.split.feature);
    for (OpenNode& child : children) child.spent = spent;
  }

  static bool is_spent(const OpenNode& node, FeatureId feature) {
    return node.spent != nullptr && std::ranges::find(*node.spent, feature) != node.spent->end();
  }

  // Moves the rows that lack the test's feature behind the others, where they belong to no child.
  void leave_out_missing(OpenNode& node, Worker<S>& worker) {
    const std::span<Entry> rows = rows_of(node);
    worker.branches.grow_to(rows.size());
    const std::span<std::uint8_t> branches(worker.branches.data(), rows.size());
    mark_missing(rows, data_.column(node.split.feature), branches);
    std::size_t n_known = 0;
    if (worker.subtree.started()) {
      n_known = worker.subtree.part_rows(rows, node.begin, branches);
      worker.subtree.part_orders(node.begin, node.end, n_known);
    } else {
      worker.scratch.grow_to(rows.size());
      n_known = partition_rows(rows, worker.scratch.data(), branches);
    }
    node.end = node.begin + n_known;
    node.split.n_missing = 0;
  }

  // Sends a portion of every row that lacks the test's feature down each branch. The children's rows come
  // into a list of their own.
  void share_out_rows(OpenNode& node, Worker<S>& worker) {
    const std::span<const Entry> rows = rows_of(node);
    std::vector<std::uint32_t> branches(rows.size());
    mark_branches(rows, data_.column(node.split.feature), node.split, plan_, branches);
    std::vector<std::int64_t> weights(worker.branch_begin.size() - 1, 0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (branches[i] != kNoneOfMany) weights[branches[i]] += prototype_.stats().entry_weight(rows[i]);
    }
    auto parted =
        std::make_shared<std::vector<Entry>>(share_out(rows, branches, weights, worker.branch_begin));
    worker.poller.poll(4 * parted->size());
    node.begin = 0;
    node.end = parted->size();
    node.portions = std::move(parted);
  }

  // Leaves the branch of each row in worker.branches, and finds tests that agree with the node's.
  void find_surrogates(OpenNode& node, Worker<S>& worker) {
    const std::span<const Entry> rows = rows_of(node);
    const std::span<std::uint8_t> branches = mark(node, worker);
    worker.row_weights.resize(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      worker.row_weights[i] = prototype_.stats().entry_weight(rows[i]);
    node.split.surrogates = worker.surrogate_finder.find(
        data_, params_.features, node.split.feature, {rows, worker.row_weights, branches},
        static_cast<std::size_t>(params_.max_surrogates), worker.poller);
  }

  std::size_t part_by_surrogates(OpenNode& node, Worker<S>& worker) {
    const std::span<Entry> rows = rows_of(node);
    const std::span<std::uint8_t> branches(worker.branches.data(), rows.size());
    follow_surrogates(data_, node.split.surrogates, node.split.missing_branch, rows, branches);
    if (worker.subtree.started()) return worker.subtree.part_rows(rows, node.begin, branches);
    worker.scratch.grow_to(rows.size());
    return partition_rows(rows, worker.scratch.data(), branches);
  }

  // The branch of each row of a tested node, kNoBranch for those that lack the feature.
  std::span<std::uint8_t> mark(const OpenNode& node, Worker<S>& worker) {
    worker.branches.grow_to(node.n_rows());
    const std::span<std::uint8_t> branches(worker.branches.data(), node.n_rows());
    mark_branches(rows_of(node), data_.column(node.split.feature), node.split, plan_, branches);
    return branches;
  }

  // A new node is opened, unless it is to become the root of a subtree when its turn comes.
  void admit(Branchwork& part, Frontier& frontier, OpenNode& node, Worker<S>& worker,
             std::vector<Element>& cell) {
    if (is_leaf(node)) return;
    if (&part == &parts_[0] && deferrable(node)) {
      deferred_.push_back(node);
    } else if (starts_thicket(node, worker) || (!worker.subtree.started() && starts_subtree(node))) {
      frontier.push(std::move(node));
    } else {
      open(part, frontier, node, worker, cell);
    }
  }

  bool is_leaf(const OpenNode& node) const { return node.pure || ends_here(node.n_counted, node.depth); }

  bool ends_here(std::int64_t n_counted, std::int32_t depth) const {
    return n_counted < in_row_units(params_.min_samples_split) ||
           n_counted < in_row_units(2 * params_.min_samples_leaf) ||
           (params_.max_depth > 0 && depth >= params_.max_depth);
  }

  // What some rows say together; for classes, `cell` is theirs.
  NodeFacts facts_of(std::span<const Entry> rows, const std::vector<Element>& cell, Worker<S>& worker,
                     double* value) {
    if (!target_.is_classification()) {
      NodeFacts facts = real_facts(params_.criterion, params_.leaf_value, target_, rows, value);
      if (in_portions()) facts.weight = std::ldexp(facts.weight, -kPortionBits);
      return facts;
    }
    worker.class_weights.assign(cell.begin(), cell.end());
    for (double& w : worker.class_weights) w *= prototype_.stats().weight_unit();
    return class_facts(params_.criterion, target_, worker.class_weights, value, n_values_);
  }

  // Writes down what the node says; sets node.pure and, for classes, its cell.
  void describe(Branchwork& part, OpenNode& node, Worker<S>& worker, std::vector<Element>& cell) {
    const std::span<const Entry> rows = rows_of(node);
    worker.poller.poll(rows.size());
    if (target_.is_classification()) worker.finder.add_up(rows, cell);
    node.pure = write_facts(part, node.id, rows, cell, worker);
    node.n_counted = static_cast<std::int64_t>(rows.size());
    if (in_portions()) {
      node.n_counted = 0;
      for (const Entry& entry : rows) node.n_counted += entry.payload;
    }
  }

  // For classes, `cell` is the node's; returns whether all its rows say the same.
  bool write_facts(Branchwork& part, NodeId id, std::span<const Entry> rows, const std::vector<Element>& cell,
                   Worker<S>& worker) {
    double* value = &part.values[static_cast<std::size_t>(id) * value_size()];
    const NodeFacts facts = facts_of(rows, cell, worker, value);
    NodeRecord& record = part.nodes[static_cast<std::size_t>(id)];
    record.n_samples = static_cast<std::int64_t>(rows.size());
    record.weight = facts.weight;
    record.impurity = facts.impurity;
    return facts.pure;
  }

  // A branch without rows predicts what its parent does.
  void describe_empty(Branchwork& part, OpenNode& node, const OpenNode& parent) {
    const auto size = static_cast<std::ptrdiff_t>(value_size());
    std::copy_n(part.values.begin() + parent.id * size, size, part.values.begin() + node.id * size);
    part.nodes[static_cast<std::size_t>(node.id)].impurity =
        part.nodes[static_cast<std::size_t>(parent.id)].impurity;
    node.pure = true;
  }

  // Finds the node's test; a node without one stays a leaf.
  void open(Branchwork& part, Frontier& frontier, OpenNode& node, Worker<S>& worker,
            std::vector<Element>& cell_of_node) {
    if (!target_.is_classification()) worker.finder.add_up(rows_of(node), cell_of_node);
    worker.finder.load(rows_of(node), cell_of_node);
    const auto& stats = worker.finder.scorer().stats();
    const Element* cell = cell_of_node.data();
    Limits limits;
    limits.min_rows = in_row_units(params_.min_samples_leaf);
    limits.min_weight = min_weight_;
    limits.node_rows = stats.rows(cell);
    limits.node_weight = stats.weight(cell);
    limits.bind =
        params_.min_samples_leaf > 1 || in_portions() || min_weight_ > 0 || !params_.monotonic.empty();
    limits.lower = node.lower;
    limits.upper = node.upper;
    if (limits.node_weight < 2 * min_weight_) return;
    const double node_score = worker.finder.scorer().score_of_node(cell);
    const NodeRecord& record = part.nodes[static_cast<std::size_t>(node.id)];
    if (worker.choice.is_needed()) worker.choice.start(choice_node(record, cell, node_score, worker));
    FirstBest<Split> best = find_split(node, limits, worker);
    if (!best.found()) return;
    node.split = std::move(best.winner());
    finish_split(node, worker);
    if constexpr (!kShowsAnother<S>) {
      node.gain = std::max(0.0, (best.score() - node_score) * prototype_.score_unit());
    } else if (params_.min_impurity_decrease > 0 || params_.growth == Growth::kBestFirst) {
      node.gain = shown_gain(record, node, worker);
    }
    if (gains_too_little(node.gain)) {
      node.split = {};
      return;
    }
    if (known_only() && node.split.n_missing > 0) node.split.missing_branch = heavier_branch(node, worker);
    frontier.push(std::move(node));
  }

  // The branch with more of the weight of the rows that have the feature; the first of equals.
  std::int32_t heavier_branch(const OpenNode& node, Worker<S>& worker) {
    if (const auto& weights = node.split.branch_weights; !weights.empty()) {
      return static_cast<std::int32_t>(std::ranges::max_element(weights) - weights.begin());
    }
    const std::span<const Entry> rows = rows_of(node);
    const std::array<std::int64_t, 2> weight = branch_weights(rows, mark(node, worker));
    return weight[1] > weight[0] ? 1 : 0;
  }

  std::array<std::int64_t, 2> branch_weights(std::span<const Entry> rows,
                                             std::span<const std::uint8_t> branches) {
    std::array<std::int64_t, 2> weight{};
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (branches[i] != kNoBranch) weight[branches[i]] += prototype_.stats().entry_weight(rows[i]);
    }
    return weight;
  }

  // What the second step of the criterion asks about the node.
  ChoiceNode choice_node(const NodeRecord& record, const Element* cell, double node_score,
                         Worker<S>& worker) {
    ChoiceNode facts;
    facts.score = node_score;
    facts.tie_scale = worker.finder.tie_scale();
    facts.score_unit = prototype_.score_unit();
    facts.weight = record.weight;
    facts.weight_unit = prototype_.stats().weight_unit();
    facts.impurity = record.impurity;
    if (target_.is_classification()) {
      facts.n_classes = static_cast<int>(
          std::count_if(cell, cell + target_.n_classes[0], [](Element weight) { return weight > 0; }));
    }
    // A gain in gini, of two classes, is the statistic times the impurity.
    if (params_.criterion == Criterion::kChi2 && !kShowsAnother<S>) facts.score_unit /= record.impurity;
    return facts;
  }

  // The same before it is carried out, for those who must know it by then.
  double shown_gain(const NodeRecord& record, const OpenNode& node, Worker<S>& worker) {
    const Column& column = data_.column(node.split.feature);
    const std::size_t n = node.n_rows();
    worker.scratch.grow_to(2 * n);
    const std::span<Entry> rows(worker.scratch.data(), n);
    std::ranges::copy(rows_of(node), rows.begin());
    Split split = node.split;
    if (column.kind == ColumnKind::kNumeric) split.first_right = codes_at_or_below(column, split.threshold);
    std::vector<std::size_t>& begin = worker.branch_begin;
    begin.resize(static_cast<std::size_t>(split.n_branches) + 1);
    if (split.n_branches == 2) {
      begin = {0, partition_rows(rows, worker.scratch.data() + n, column, split, plan_), n};
    } else {
      partition_rows(rows, worker.scratch.data() + n, column, split, plan_, begin);
    }
    worker.value.resize(value_size());
    double after = 0.0;
    for (std::size_t b = 0; b + 1 < begin.size(); ++b) {
      const std::span<const Entry> branch = rows.subspan(begin[b], begin[b + 1] - begin[b]);
      if (branch.empty()) continue;
      if (target_.is_classification()) worker.finder.add_up(branch, worker.branch_cell);
      const NodeFacts facts = facts_of(branch, worker.branch_cell, worker, worker.value.data());
      after += facts.weight * facts.impurity;
    }
    return std::max(0.0, record.weight * record.impurity - after);
  }

  bool gains_too_little(double gain) const {
    constexpr double kRounding = 0x1p-52;
    return gain / root_weight_ + kRounding < params_.min_impurity_decrease;
  }

  // Calls with the records of the node's rows, wherever they are.
  template <class Call>
  bool with_records(const OpenNode& node, const Worker<S>& worker, const Call& call) {
    if (worker.subtree.started()) return call(worker.subtree.records(node.begin));
    return call(RecordsByRow{*params_.records, rows_of(node).data()});
  }

  void finish_split(OpenNode& node, Worker<S>& worker) {
    const FeatureId feature = node.split.feature;
    const Column& column = data_.column(feature);
    const Subtree& subtree = worker.subtree;
    if (params_.records != nullptr) {
      with_records(node, worker, [&](const auto& records) {
        worker.finder.finish(column, *params_.records, records, node.split);
        return true;
      });
    } else if (subtree.started() && subtree.is_ordered(feature)) {
      worker.finder.finish(column, subtree.ordered_rows(feature, node.begin, node.end), node.split);
    } else {
      worker.finder.finish(column, node.split);
    }
  }

  // ---- choosing among features

  FirstBest<Split> find_split(const OpenNode& node, const Limits& limits, Worker<S>& worker) {
    FirstBest<Split> best(worker.finder.tie_scale());
    draw_until_informative(node.path, worker, [&] { return try_features(node, limits, worker, best); });
    if (worker.choice.is_needed()) {
      if (auto chosen = worker.choice.settle()) best.offer(chosen->score, chosen->split);
    }
    return best;
  }

  // At least one feature that is not constant here is looked at, even if it takes more than max_features
  // draws.
  template <class TryDrawn>
  void draw_until_informative(std::uint64_t path, Worker<S>& worker, const TryDrawn& try_drawn) {
    const std::size_t n_features = worker.features.size();
    Stream stream(params_.key, Purpose::kFeatures, path);
    std::size_t n_drawn = 0;
    bool informative = false;
    while (n_drawn < n_features && !informative) {
      const std::size_t wanted = n_drawn == 0 ? static_cast<std::size_t>(params_.max_features) : 1;
      draw_features(worker, stream, n_drawn, wanted);
      n_drawn += worker.drawn.size();
      informative = try_drawn();
    }
    restore_features(worker);
  }

  // Draws `wanted` more features without replacement (Fisher-Yates from place n_drawn on), in ascending
  // order.
  void draw_features(Worker<S>& worker, Stream& stream, std::size_t n_drawn, std::size_t wanted) {
    auto& features = worker.features;
    const std::size_t end = std::min(n_drawn + wanted, features.size());
    if (wanted < features.size()) {
      for (std::size_t i = n_drawn; i < end; ++i) {
        const std::size_t other = i + stream.below(static_cast<std::uint32_t>(features.size() - i));
        worker.swaps.push_back({i, other});
        std::swap(features[i], features[other]);
      }
    }
    worker.drawn.assign(features.begin() + static_cast<std::ptrdiff_t>(n_drawn),
                        features.begin() + static_cast<std::ptrdiff_t>(end));
    std::sort(worker.drawn.begin(), worker.drawn.end());
  }

  // Undoes the swaps, so that the next node draws from the same starting order.
  static void restore_features(Worker<S>& worker) {
    for (auto swap = worker.swaps.rbegin(); swap != worker.swaps.rend(); ++swap) {
      std::swap(worker.features[swap->first], worker.features[swap->second]);
    }
    worker.swaps.clear();
  }

  // Offers the best test of each drawn feature, in order; true if one of them is not constant in the node.
  // A criterion with a second step gets the best tests of all features, and nothing is offered to `best` yet.
  bool try_features(const OpenNode& node, const Limits& limits, Worker<S>& worker, FirstBest<Split>& best) {
    const std::vector<FeatureId>& drawn = worker.drawn;
    // A subtree is one thread's: only that thread has its features in order.
    const bool alone = params_.n_threads <= 1 || &worker != workers_[0].get() || growing_pieces_ ||
                       worker.subtree.started() || drawn.size() < 2 ||
                       node.n_rows() * drawn.size() < kParallelWork;
    Choice& choice = worker.choice;
    if (alone) {
      bool informative = false;
      if constexpr (BoundsGroups<S>) {
        if (params_.records != nullptr)
          return with_records(node, worker,
                              [&](const auto& records) { return try_groups(node, records, worker, best); });
      }
      for (const FeatureId feature : drawn) {
        if (!choice.is_needed()) {
          informative |= try_feature(node, limits, worker, feature, best);
          continue;
        }
        FirstBest<Split> own(worker.finder.tie_scale());
        informative |= try_feature(node, limits, worker, feature, own);
        if (own.found()) choice.offer(own.score(), std::move(own.winner()));
      }
      return informative;
    }
    std::vector<FirstBest<Split>> found(drawn.size(), FirstBest<Split>(worker.finder.tie_scale()));
    std::vector<char> informative(drawn.size(), 0);
    std::vector<char> loaded(workers_.size(), 0);
    loaded[0] = 1;
    parallel_for(
        drawn.size(), params_.n_threads,
        [&](std::size_t i, int w) {
          Worker<S>& helper = *workers_[static_cast<std::size_t>(w)];
          if (!std::exchange(loaded[static_cast<std::size_t>(w)], 1)) {
            helper.finder.load(rows_of(node), worker.finder.node_cell());
          }
          informative[i] = try_feature(node, limits, helper, drawn[i], found[i]);
        },
        &cancel_);
    for (FirstBest<Split>& one : found) {
      if (!one.found()) continue;
      if (choice.is_needed()) {
        choice.offer(one.score(), std::move(one.winner()));
      } else {
        best.offer(one.score(), one.winner());
      }
    }
    return std::ranges::find(informative, 1) != informative.end();
  }

  // The same by groups of values, a few features at once.
  template <class Records>
  bool try_groups(const OpenNode& node, const Records& records, Worker<S>& worker, FirstBest<Split>& best) {
    TestFinder<S>& finder = worker.finder;
    std::array<RowRecords::Place, TestFinder<S>::kCountedAtOnce> places;
    bool informative = false;
    for (std::size_t first = 0; first < worker.drawn.size(); first += places.size()) {
      const std::size_t n = std::min(places.size(), worker.drawn.size() - first);
      const std::span features(worker.drawn.data() + first, n);
      worker.poller.poll(2 * node.n_rows() * n);
      for (std::size_t i = 0; i < n; ++i) places[i] = params_.records->place(features[i]);
      finder.count_groups(records, {places.data(), n});
      for (std::size_t i = 0; i < n; ++i)
        informative |= finder.find_best(data_.column(features[i]), records, places[i], i, best, features[i]);
    }
    return informative;
  }

  bool try_feature(const OpenNode& node, Limits limits, Worker<S>& worker, FeatureId feature,
                   FirstBest<Split>& best) {
    const Column& column = data_.column(feature);
    if (is_spent(node, feature)) return false;
    worker.poller.poll(4 * node.n_rows());
    if (!params_.monotonic.empty()) limits.direction = params_.monotonic[static_cast<std::size_t>(feature)];
    const Subtree& subtree = worker.subtree;
    if (looks_at_values_) {
      const auto find_random = [&](const auto& values) {
        return worker.finder.find_random(values, column, limits, threshold_stream(feature, node.path), best,
                                         feature);
      };
      if (subtree.started()) return find_random(subtree.kept_values(feature, node.begin));
      return find_random(ValuesByRow{params_.row_values->of(feature), rows_of(node).data()});
    }
    if constexpr (BoundsGroups<S>) {
      if (params_.records != nullptr) {
        const RowRecords::Place place = params_.records->place(feature);
        return with_records(node, worker, [&](const auto& records) {
          worker.finder.count_groups(records, {&place, 1});
          return worker.finder.find_best(column, records, place, 0, best, feature);
        });
      }
    }
    if (subtree.started() && subtree.is_ordered(feature)) {
      return worker.finder.find_best(column, subtree.ordered_rows(feature, node.begin, node.end), limits,
                                     best, feature);
    }
    TestFinder<S>& finder = worker.finder;
    bool informative = false;
    if (subtree.started()) {
      informative = finder.gather(column, subtree.kept_codes(feature, node.begin));
    } else if (!params_.random_splits && finder.counts_right_away(column)) {
      informative = finder.count(column);
    } else {
      informative = finder.gather(column);
    }
    if (!informative) return false;
    if (params_.random_splits) {
      Stream stream = threshold_stream(feature, node.path);
      worker.finder.find_random(column, limits, stream, best, feature);
    } else {
      worker.finder.find_best(column, limits, best, feature);
    }
    return true;
  }

  Stream threshold_stream(FeatureId feature, std::uint64_t path) const {
    return {combine(params_.key, static_cast<std::uint64_t>(feature)), Purpose::kThreshold, path};
  }

  // ---- monotonic constraints

  double constrained_value(const Branchwork& part, NodeId id) const {
    return part.values[static_cast<std::size_t>(id) * value_size() + (target_.is_classification() ? 1 : 0)];
  }

  // Children predict within the bounds; a constrained feature parts the bounds at the middle of the two
  // values.
  void constrain(Branchwork& part, const OpenNode& node, std::span<OpenNode> children) {
    for (const OpenNode& child : children) {
      double* value = &part.values[static_cast<std::size_t>(child.id) * value_size()];
      if (target_.is_classification()) {
        value[1] = std::clamp(value[1], node.lower, node.upper);
        value[0] = 1 - value[1];
      } else {
        value[0] = std::clamp(value[0], node.lower, node.upper);
      }
    }
    const int direction = params_.monotonic[static_cast<std::size_t>(node.split.feature)];
    if (direction == 0) return;
    const double middle =
        (constrained_value(part, children[0].id) + constrained_value(part, children[1].id)) / 2;
    children[direction > 0 ? 0 : 1].upper = middle;
    children[direction > 0 ? 1 : 0].lower = middle;
  }

  // ---- subtrees

  // Going depth first, a subtree is finished before the next one starts.
  bool starts_subtree(const OpenNode& node) const {
    return params_.growth == Growth::kDepthFirst && node.n_rows() <= subtree_rows_ && levels_below(node) >= 2;
  }

  // Reading all features pays when a few levels look at them.
  double levels_below(const OpenNode& node) const {
    const double most = params_.max_depth > 0 ? params_.max_depth - node.depth : kInfinity;
    const auto least_rows =
        static_cast<double>(std::max(params_.min_samples_split, 2 * params_.min_samples_leaf));
    const double levels = std::log2(static_cast<double>(node.n_rows()) / least_rows) + 1;
    return std::min(most, levels);
  }

  void grow_subtree(Branchwork& part, OpenNode& root, Worker<S>& worker) {
    if (looks_at_values_) {
      worker.subtree.start(*params_.row_values, params_.features, rows_of(root), root.begin, worker.poller);
    } else {
      const auto most_kept = static_cast<std::size_t>(params_.max_features) * kOrdersPerTry;
      const bool keep_order = !params_.random_splits && params_.features.size() <= most_kept;
      worker.subtree.start(data_, params_.records, params_.features, rows_of(root), root.begin, keep_order,
                           worker.poller);
    }
    Frontier frontier(params_.growth);
    worker.finder.add_up(rows_of(root), worker.child_cells[0]);
    admit(part, frontier, root, worker, worker.child_cells[0]);
    grow_all(part, frontier, worker);
    worker.subtree.finish();
  }

  // ---- thickets

  bool starts_thicket(const OpenNode& node, const Worker<S>& worker) const {
    return grows_thickets_ && worker.subtree.started() && node.n_rows() <= Thicket<S>::kMostRows;
  }

  void grow_thicket(Branchwork& part, Frontier& frontier, OpenNode& root, Worker<S>& worker) {
    worker.poller.poll(root.n_rows() * params_.features.size());
    Thicket<S>& thicket = worker.thicket;
    if (!thicket.start(data_, params_.records, params_.features, worker.subtree, rows_of(root), root.begin,
                       worker.finder.scorer())) {
      worker.finder.add_up(rows_of(root), worker.child_cells[0]);
      open(part, frontier, root, worker, worker.child_cells[0]);
      return;
    }
    worker.sprouts.push_back({root.id, root.depth, root.path, thicket.all_rows()});
    while (!worker.sprouts.empty()) {
      const Sprout sprout = worker.sprouts.back();
      worker.sprouts.pop_back();
      grow_sprout(part, sprout, worker);
    }
  }

  // Finds the node's test and writes down its children; a node without a test stays a leaf.
  void grow_sprout(Branchwork& part, const Sprout& node, Worker<S>& worker) {
    Thicket<S>& thicket = worker.thicket;
    std::vector<Element>& cell = worker.child_cells[0];
    worker.poller.poll(static_cast<std::size_t>(std::popcount(node.rows)));
    thicket.add_up(node.rows, cell);
    const double node_score = worker.finder.scorer().score_of_node(cell.data());
    const FirstBest<Cut> best = find_cut(node, cell, worker);
    if (!best.found()) return;
    const double gain = std::max(0.0, (best.score() - node_score) * prototype_.score_unit());
    if (gains_too_little(gain)) return;
    const Cut& cut = best.winner();
    const NodeId first = part.add(value_size());
    part.add(value_size());
    const Bits left = thicket.left_rows(cut);
    for (const int branch : {1, 0}) {
      const Bits rows = branch == 0 ? left : node.rows ^ left;
      thicket.add_up(rows, cell);
      const bool pure = write_facts(part, first + branch, thicket.list(rows), cell, worker);
      const auto n_rows = static_cast<std::int64_t>(std::popcount(rows));
      if (pure || ends_here(n_rows, node.depth + 1)) continue;
      const std::uint64_t path = child_path(node.path, static_cast<std::uint64_t>(branch));
      worker.sprouts.push_back({first + branch, node.depth + 1, path, rows});
    }
    NodeRecord& record = part.nodes[static_cast<std::size_t>(node.id)];
    const auto left_child = static_cast<std::size_t>(first);
    record.first_child = first;
    record.gain = gain;
    record.missing_branch = part.nodes[left_child + 1].weight > part.nodes[left_child].weight ? 1 : 0;
    record.split = static_cast<std::int32_t>(part.splits.size());
    Split& split = part.splits.emplace_back();
    split.feature = cut.feature;
    thicket.name_values(cut, split);
  }

  FirstBest<Cut> find_cut(const Sprout& node, const std::vector<Element>& cell, Worker<S>& worker) {
    Thicket<S>& thicket = worker.thicket;
    FirstBest<Cut> best(worker.finder.scorer().tie_scale(cell.data()));
    draw_until_informative(node.path, worker, [&] {
      bool informative = false;
      for (const FeatureId feature : worker.drawn) {
        informative |= params_.random_splits ? thicket.find_random(feature, node.rows, cell.data(),
                                                                   threshold_stream(feature, node.path), best)
                                             : thicket.find_best(feature, node.rows, cell.data(), best);
      }
      return informative;
    });
    return best;
  }

  // Thresholds that are still to be looked up, all at once: the values lie far apart, and a processor can
  // wait for many of them at the same time.
  void set_thresholds(Branchwork& part) const {
    for (Split& split : part.splits) {
      const Column& column = data_.column(split.feature);
      if (!std::isnan(split.threshold) || column.kind != ColumnKind::kNumeric) continue;
      const double low = column.values[split.last_left];
      split.threshold = column.binned ? low : halfway(low, column.values[split.first_right]);
    }
  }

  // ---- pieces on several threads

  bool deferrable(const OpenNode& node) const {
    return params_.n_threads > 1 && params_.growth != Growth::kBestFirst && !limited() && !growing_pieces_ &&
           node.n_rows() <= kPieceRows && entries_.size() > kPieceRows;
  }

  void grow_deferred() {
    if (deferred_.empty()) return;
    growing_pieces_ = true;
    // Large ones first, so that no thread starts a long one last.
    std::stable_sort(deferred_.begin(), deferred_.end(),
                     [](const OpenNode& a, const OpenNode& b) { return a.n_rows() > b.n_rows(); });
    parts_.resize(1 + deferred_.size());
    for (std::size_t i = 0; i < deferred_.size(); ++i) {
      parts_[0].nodes[static_cast<std::size_t>(deferred_[i].id)].part = static_cast<std::int32_t>(i) + 1;
    }
    parallel_for(
        deferred_.size(), params_.n_threads,
        [&](std::size_t i, int w) {
          grow_piece(parts_[i + 1], deferred_[i], *workers_[static_cast<std::size_t>(w)]);
        },
        &cancel_);
  }

  void grow_piece(Branchwork& part, OpenNode root, Worker<S>& worker) {
    const NodeRecord& original = parts_[0].nodes[static_cast<std::size_t>(root.id)];
    const auto value = parts_[0].values.begin() + static_cast<std::ptrdiff_t>(root.id * value_size());
    const NodeId copy = part.add(value_size());
    part.nodes[0] = original;
    part.nodes[0].part = -1;
    std::copy_n(value, value_size(), part.values.begin());
    root.id = copy;
    Frontier frontier(params_.growth);
    worker.finder.add_up(rows_of(root), worker.child_cells[0]);
    admit(part, frontier, root, worker, worker.child_cells[0]);
    grow_all(part, frontier, worker);
  }

  const Dataset& data_;
  const Target& target_;
  GrowParams params_;
  Cancel& cancel_;
  S prototype_;
  CategoryPlan plan_ = CategoryPlan::subsets();
  std::vector<Entry> entries_;  // all rows, those of a node side by side
  int n_values_;
  std::int64_t min_weight_ = 0;
  std::size_t subtree_rows_ = 0;
  std::optional<RowValues> own_row_values_;
  bool looks_at_values_ = false;  // random tests, and every feature has its values by row
  std::optional<RowRecords> own_records_;
  bool grows_thickets_ = false;
  double root_weight_ = 0.0;
  std::vector<std::unique_ptr<Worker<S>>> workers_;
  std::vector<Branchwork> parts_;
  std::vector<OpenNode> deferred_;
  bool growing_pieces_ = false;
};

// ---- the door: which cells, which criterion

// Whole-number weights below 256 in one output of classes can be counted.
bool can_count(const Target& target, const Sample& sample, const GrowParams& params) {
  if (!target.is_classification() || target.n_outputs != 1) return false;
  if (!target.weights.empty()) {
    const double first = target.weights[sample.rows[0]];
    for (const RowId row : sample.rows) {
      if (target.weights[row] != first) return false;
    }
  }
  if (sample.multiplicity.empty()) return true;
  // min_samples_leaf counts rows, of which counts with multiplicity know nothing.
  return params.min_samples_leaf <= 1 &&
         std::ranges::all_of(sample.multiplicity, [](auto m) { return m < 256; });
}

template <Scorer S>
GrownTree grow_with(const Dataset& data, const Target& target, const Sample& sample, const GrowParams& params,
                    Cancel& cancel, S scorer) {
  std::vector<Entry> entries;
  entries.reserve(sample.rows.size());
  GrownTree grown;
  for (std::size_t i = 0; i < sample.rows.size(); ++i) {
    const RowId row = sample.rows[i];
    if constexpr (requires { scorer.stats().fixed_weight(row); }) {
      if (scorer.stats().fixed_weight(row) == 0) {
        ++grown.n_weightless;
        continue;
      }
    }
    entries.push_back({row, S::Stats::payload_of(target, row, sample.times(i))});
    if (params.missing == Missing::kFractional) entries.back().payload = 1u << kPortionBits;
  }
  grown.tree = Grower<S>(data, target, params, cancel, scorer, std::move(entries)).grow();
  return grown;
}

// Grows a tree whose rows may have to be sent down several branches, which takes the most general cells.
GrownTree grow_in_portions(const Dataset& data, const Target& target, const Sample& sample,
                           const GrowParams& params, Cancel& cancel) {
  // A portion leaves no bits for the multiplicity of its row, which becomes a weight.
  std::vector<double> weights;
  Target drawn = target;
  if (!sample.multiplicity.empty()) {
    weights.resize(data.n_rows());
    for (std::size_t i = 0; i < sample.rows.size(); ++i)
      weights[sample.rows[i]] = target.weight(sample.rows[i]) * sample.times(i);
    drawn.weights = weights;
  }
  const Sample once{sample.rows, {}};
  const auto with = [&](auto scorer) {
    return grow_with(data, drawn, once, params, cancel, std::move(scorer));
  };
  VectorStats stats(drawn, once, true, params.criterion != Criterion::kPoisson);
  switch (params.criterion) {
    case Criterion::kGini:
      return with(VectorScorer<VectorGini>(std::move(stats)));
    case Criterion::kAccuracy:
      return with(VectorScorer<VectorAccuracy>(std::move(stats)));
    case Criterion::kPoisson:
      return with(VectorScorer<VectorPoisson>(std::move(stats)));
    case Criterion::kSquaredError:
      return with(VectorScorer<VectorSquaredError>(std::move(stats)));
    case Criterion::kEntropy:
    case Criterion::kGainRatio:
      return with(VectorScorer<VectorEntropy>(std::move(stats)));
    default:
      throw std::invalid_argument("the criterion does not take rows in portions");
  }
}

bool lacks_values(const Dataset& data, const Sample& sample, std::span<const FeatureId> features) {
  return std::ranges::any_of(features, [&](FeatureId feature) {
    const Column& column = data.column(feature);
    return column.has_missing && std::ranges::any_of(sample.rows, [&](RowId row) {
             return column.code(row) == column.missing_code();
           });
  });
}

GrownTree grow_by_kind(const Dataset& data, const Target& target, const Sample& sample,
                       const GrowParams& params, Cancel& cancel) {
  if (params.categorical_split == CategoricalSplit::kMerge && target.n_outputs > 1) {
    throw std::invalid_argument("categories are merged by one output");
  }
  if (params.missing == Missing::kFractional) return grow_in_portions(data, target, sample, params, cancel);
  const auto with = [&](auto scorer) {
    return grow_with(data, target, sample, params, cancel, std::move(scorer));
  };
  const Criterion criterion = params.criterion;
  if (params.own_score) {
    if (target.is_classification()) return with(OwnScorer(VectorStats(target, sample), params.own_score));
    const MomentTarget moments(target);
    return with(OwnScorer(VectorStats(moments.target(), sample), params.own_score));
  }
  const bool two_classes = target.is_classification() && target.n_classes[0] == 2;
  const bool by_gini = criterion == Criterion::kGini || (criterion == Criterion::kChi2 && two_classes);
  if (can_count(target, sample, params)) {
    std::int64_t total = 0;
    for (std::size_t i = 0; i < sample.rows.size(); ++i) total += sample.times(i);
    CountStats stats(target, sample);
    if (two_classes) {
      if (criterion == Criterion::kAccuracy) return with(TwoClassScorer<TwoClassAccuracyTerm>(stats, total));
      return by_gini ? with(TwoClassScorer<GiniTerm>(stats, total))
                     : with(TwoClassScorer<EntropyTerm>(stats, total));
    }
    if (criterion == Criterion::kAccuracy) return with(MajorityScorer(stats));
    if (criterion == Criterion::kChi2) return with(CountChi2Scorer(stats, total));
    return by_gini ? with(CountScorer<GiniTerm>(stats, total)) : with(CountScorer<EntropyTerm>(stats, total));
  }
  if (target.is_classification()) {
    VectorStats stats(target, sample);
    if (by_gini) return with(VectorScorer<VectorGini>(std::move(stats)));
    if (criterion == Criterion::kAccuracy) return with(VectorScorer<VectorAccuracy>(std::move(stats)));
    if (criterion == Criterion::kChi2) return with(VectorChi2Scorer(std::move(stats)));
    return with(VectorScorer<VectorEntropy>(std::move(stats)));
  }
  if (target.n_outputs > 1) return with(VectorScorer<VectorSquaredError>(VectorStats(target, sample)));
  if (params.criterion == Criterion::kPoisson)
    return with(SumScorer<PoissonBranch>(SumStats(target, sample, false)));
  return with(SumScorer<SquaredErrorBranch>(SumStats(target, sample, true)));
}

// The power of two that brings the largest of the numbers near 1, or 0 if they are near enough to compute
// with.
int distant_exponent(std::span<const double> numbers) {
  constexpr int kNear = 200;  // squares and sums of billions still fit a float64
  double largest = 0.0;
  for (const double number : numbers) largest = std::max(largest, std::abs(number));
  int exponent = 0;
  std::frexp(largest, &exponent);
  return largest > 0 && std::abs(exponent) > kNear ? exponent : 0;
}

std::vector<double> scaled(std::span<const double> numbers, int exponent) {
  std::vector<double> result(numbers.begin(), numbers.end());
  for (double& number : result) number = std::ldexp(number, exponent);
  return result;
}

GrownTree grow_near(const Dataset& data, const Target& target, const Sample& sample, const GrowParams& params,
                    Cancel& cancel) {
  const int weight_exponent = distant_exponent(target.weights);
  const int real_exponent = distant_exponent(target.reals);
  if (weight_exponent == 0 && real_exponent == 0) return grow_by_kind(data, target, sample, params, cancel);

  // Weights or targets like 1e-300: grow with all of them multiplied by a power of two, then say it in the
  // user's units.
  const std::vector<double> weights = scaled(target.weights, -weight_exponent);
  const std::vector<double> reals = scaled(target.reals, -real_exponent);
  Target near = target;
  near.weights = weights;
  near.reals = reals;
  const int impurity_exponent = params.criterion == Criterion::kPoisson ? real_exponent : 2 * real_exponent;
  GrowParams near_params = params;
  near_params.min_weight_leaf = std::ldexp(params.min_weight_leaf, -weight_exponent);
  near_params.min_impurity_decrease = std::ldexp(params.min_impurity_decrease, -impurity_exponent);
  GrownTree grown = grow_by_kind(data, near, sample, near_params, cancel);
  Tree& tree = grown.tree;
  tree.weight = scaled(tree.weight, weight_exponent);
  tree.impurity = scaled(tree.impurity, impurity_exponent);
  tree.gain = scaled(tree.gain, weight_exponent + impurity_exponent);
  if (!target.is_classification()) tree.value = scaled(tree.value, real_exponent);
  return grown;
}

}  // namespace

GrownTree grow_tree(const Dataset& data, const Target& target, const Sample& sample, const GrowParams& params,
                    Cancel& cancel) {
  GrowParams own = params;
  if (own.features.empty()) {
    own.features.resize(static_cast<std::size_t>(data.n_features()));
    std::iota(own.features.begin(), own.features.end(), 0);
  }
  // Rows that lack nothing stay whole, and grow faster as such.
  if (own.missing == Missing::kFractional && !lacks_values(data, sample, own.features))
    own.missing = Missing::kLearn;
  GrownTree grown = grow_near(data, target, sample, own, cancel);
  if (params.missing == Missing::kFractional) grown.tree.gaps = Gaps::kFractional;
  if (params.missing == Missing::kAvailable) grown.tree.gaps = Gaps::kAvailable;
  return grown;
}

}  // namespace hornbeam
