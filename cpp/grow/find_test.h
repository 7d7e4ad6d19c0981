// Where to split: the best test of a node among the features drawn for it, each searched by the method that the plan
// has chosen. The finders of a single feature's best test are in split/finders.h; here they are called.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "criterion/choice.h"
#include "grow/describe.h"
#include "grow/fast/groups.h"
#include "grow/tree_builder.h"
#include "grow/tree_fit.h"

namespace hornbeam::grow {

using criterion::ChoiceNode;
using criterion::RowFacts;
using split::finish_cut;
using split::gather;
using split::GatheredCodes;
using split::known_cell;
using split::Limits;
using split::Node;
using split::ValuesByRow;

// With fewer row visits, sharing out features among threads costs more than it saves.
inline constexpr std::size_t kParallelWork = 100'000;

template <Scorer S>
Limits limits_of(const TreeFit<S>& fit, const OpenNode& open, const typename S::Element* cell) {
  const auto& stats = fit.prototype.stats();
  const GrowParams& params = fit.params;
  Limits limits;
  limits.min_rows = fit.in_row_units(params.min_samples_leaf);
  limits.min_weight = fit.plan.min_weight;
  limits.node_rows = stats.rows(cell);
  limits.node_weight = stats.weight(cell);
  limits.bind = params.min_samples_leaf > 1 || fit.in_portions() || fit.plan.min_weight > 0 ||
                !params.monotonic.empty();
  limits.lower = open.lower;
  limits.upper = open.upper;
  return limits;
}

// What finders get to know about the node with this cell; loads its rows into the worker's buffers.
template <Scorer S>
Node<S> node_to_search(TreeFit<S>& fit, const OpenNode& open, Worker<S>& worker,
                       std::span<const typename S::Element> cell) {
  const std::span<const Entry> rows = fit.rows_of(open);
  worker.buffers.load(worker.scorer, rows);
  return {worker.scorer,
          worker.buffers,
          rows,
          cell,
          fit.categories,
          fit.params.missing != Missing::kLearn,
          limits_of(fit, open, cell.data()),
          fit.params.monotonic};
}

template <class Element>
int classes_in(const Target& target, const Element* cell) {
  if (!target.is_classification()) return 0;
  return static_cast<int>(
      std::count_if(cell, cell + target.n_classes[0], [](Element weight) { return weight > 0; }));
}

// What the criterion's second step needs to know about the node.
template <Scorer S>
ChoiceNode choice_node(const TreeFit<S>& fit, const NodeRecord& record, const typename S::Element* cell,
                       double node_score, Worker<S>& worker) {
  ChoiceNode facts;
  facts.score = node_score;
  facts.tie_scale = worker.scorer.tie_scale(cell);
  facts.score_unit = fit.prototype.score_unit();
  facts.is_chi2_gini = worker.choice.second_step() == SecondStep::kChi2 && !kShowsAnother<S>;
  facts.weight_unit = fit.prototype.stats().weight_unit();
  facts.rows = {record.weight, record.impurity, classes_in(fit.target, cell)};
  return facts;
}

// The same for the rows that have a feature.
template <Scorer S>
RowFacts known_facts(TreeFit<S>& fit, const OpenNode& open, const Node<S>& node, FeatureId feature,
                     Worker<S>& worker) {
  const Column& column = fit.data.column(feature);
  const std::vector<typename S::Element> cell = known_cell(node, column);
  const std::span<const Entry> rows = known_rows(fit, open, column, worker);
  worker.value.resize(fit.value_size());
  const NodeFacts facts = facts_of(fit, rows, cell, worker, worker.value.data());
  return {facts.weight, facts.impurity, classes_in(fit.target, cell.data())};
}

template <Scorer S>
Stream threshold_stream(const TreeFit<S>& fit, FeatureId feature, std::uint64_t path) {
  return {combine(fit.params.key, static_cast<std::uint64_t>(feature)), Purpose::kThreshold, path};
}

inline bool is_spent(const OpenNode& node, FeatureId feature) {
  return node.spent != nullptr && std::ranges::find(*node.spent, feature) != node.spent->end();
}

// Offers a random test of values.
template <Scorer S>
bool try_random_value(TreeFit<S>& fit, const OpenNode& open, const Node<S>& node, Worker<S>& worker,
                      FeatureId feature, FirstBest<Split>& best) {
  const auto find = [&](const auto& values) {
    return worker.finders.random.find(node, feature, fit.data.column(feature), values,
                                      threshold_stream(fit, feature, open.path), best);
  };
  const Subtree& subtree = worker.subtree;
  if (subtree.started()) return find(subtree.kept_values(feature, open.begin));
  return fit.plan.values->visit(
      feature, [&](const auto* by_row) { return find(ValuesByRow{by_row, node.entries.data()}); });
}

// Offers the best test, or a random one, of the feature's codes.
template <Scorer S>
bool try_codes(TreeFit<S>& fit, const OpenNode& open, const Node<S>& node, Worker<S>& worker,
               FeatureId feature, FirstBest<Split>& best) {
  const Column& column = fit.data.column(feature);
  const Subtree& subtree = worker.subtree;
  const bool of_categories = column.kind == ColumnKind::kCategorical;
  if (subtree.started() && subtree.is_ordered(feature))
    return find_cut(node, feature, column, subtree.ordered_rows(feature, open.begin, open.end), best);
  const auto gathered = [&] {
    return subtree.started() ? gather(node, column, subtree.kept_codes(feature, open.begin))
                             : gather(node, column);
  };
  if (fit.params.random_splits && !(of_categories && fit.categories.has_many_branches())) {
    Stream stream = threshold_stream(fit, feature, open.path);
    return worker.finders.random.find(node, feature, column, gathered(), stream, best);
  }
  if (of_categories) return worker.finders.categories.find(node, feature, gathered(), best);
  return subtree.started() ? find_cut(node, feature, gathered(), best)
                           : find_cut(node, feature, column, best);
}

// The same for criteria that need the rows themselves.
template <Scorer S>
bool try_rows(TreeFit<S>& fit, const OpenNode& open, const Node<S>& node, Worker<S>& worker,
              FeatureId feature, FirstBest<Split>& best) {
  const Column& column = fit.data.column(feature);
  if (!fit.params.random_splits)
    return worker.finders.medians.find(node, feature, column, best, worker.poller);
  Stream stream = threshold_stream(fit, feature, open.path);
  return worker.finders.medians.find_random(node, feature, column, stream, best, worker.poller);
}

// Offers the feature's best test; false if the feature is constant in the node.
template <Scorer S>
bool try_feature(TreeFit<S>& fit, const OpenNode& open, const Node<S>& node, Worker<S>& worker,
                 FeatureId feature, FirstBest<Split>& best) {
  if (is_spent(open, feature)) return false;
  worker.poller.poll(4 * open.n_rows());
  if constexpr (kNeedsRows<S>) {
    return try_rows(fit, open, node, worker, feature, best);
  } else {
    if (fit.plan.values != nullptr) return try_random_value(fit, open, node, worker, feature, best);
    if constexpr (BoundsGroups<S>) {
      if (fit.plan.records != nullptr) return try_groups(fit, open, node, worker, {&feature, 1}, best);
    }
    return try_codes(fit, open, node, worker, feature, best);
  }
}

// The same for a feature that is compared with the others later.
template <Scorer S>
bool try_contender(TreeFit<S>& fit, const OpenNode& open, const Node<S>& node, Worker<S>& worker,
                   FeatureId feature, FirstBest<Split>& own) {
  const bool informative = try_feature(fit, open, node, worker, feature, own);
  if (worker.choice.compares_p_values() && own.found() && fit.leaves_out_rows(own.winner()))
    own.winner().known = known_facts(fit, open, node, feature, worker);
  return informative;
}

// A criterion with a second step sees the best tests of all features before it chooses one, which is offered to
// `best` in the end.
template <class Test>
void contend(Choice& choice, std::vector<Test>& contenders, FirstBest<Test>& of_feature) {
  if (!of_feature.found()) return;
  contenders.push_back(std::move(of_feature.winner()));
  choice.offer(contenders.back().contender(of_feature.score()));
}
template <class Test>
void settle(Choice& choice, std::vector<Test>& contenders, FirstBest<Test>& best) {
  if (const auto chosen = choice.settle()) best.offer(choice.score(*chosen), contenders[*chosen]);
}

// The drawn features one after the other.
template <Scorer S>
bool try_features_alone(TreeFit<S>& fit, const OpenNode& open, const Node<S>& node, Worker<S>& worker,
                        FirstBest<Split>& best) {
  if constexpr (BoundsGroups<S>) {
    if (fit.plan.records != nullptr)
      return try_groups(fit, open, node, worker, worker.features.drawn(), best);
  }
  Choice& choice = worker.choice;
  bool informative = false;
  for (const FeatureId feature : worker.features.drawn()) {
    if (!choice.is_needed()) {
      informative |= try_feature(fit, open, node, worker, feature, best);
      continue;
    }
    FirstBest<Split> own(node.tie_scale());
    informative |= try_contender(fit, open, node, worker, feature, own);
    contend(choice, worker.contenders, own);
  }
  return informative;
}

// Shares out the drawn features among all threads; what they find is compared in the order of the features.
template <Scorer S>
bool try_features_together(TreeFit<S>& fit, const OpenNode& open, const Node<S>& node, Worker<S>& worker,
                           FirstBest<Split>& best) {
  const std::span<const FeatureId> drawn = worker.features.drawn();
  std::vector<FirstBest<Split>> found(drawn.size(), FirstBest<Split>(node.tie_scale()));
  std::vector<char> informative(drawn.size(), 0);
  std::vector<std::optional<Node<S>>> nodes(fit.workers.size());  // the same one, as each thread has it
  nodes[0].emplace(node);
  parallel_for(
      drawn.size(), fit.params.n_threads,
      [&](std::size_t i, int w) {
        Worker<S>& helper = *fit.workers[static_cast<std::size_t>(w)];
        std::optional<Node<S>>& own = nodes[static_cast<std::size_t>(w)];
        if (!own.has_value()) own.emplace(node_to_search(fit, open, helper, node.cell));
        informative[i] = try_contender(fit, open, *own, helper, drawn[i], found[i]);
      },
      &fit.cancel);
  for (FirstBest<Split>& one : found) {
    if (worker.choice.is_needed()) {
      contend(worker.choice, worker.contenders, one);
    } else if (one.found()) {
      best.offer(one.score(), one.winner());
    }
  }
  return std::ranges::find(informative, 1) != informative.end();
}

// Offers the best test of each drawn feature, in order; true unless all are constant in the node. Where the
// criterion has a second step, nothing is offered to `best` yet.
template <Scorer S>
bool try_features(TreeFit<S>& fit, const OpenNode& open, const Node<S>& node, Worker<S>& worker,
                  FirstBest<Split>& best) {
  const std::size_t n_drawn = worker.features.drawn().size();
  // A subtree is one thread's: only that thread has its features in order.
  const bool alone = fit.params.n_threads <= 1 || &worker != fit.workers[0].get() || fit.in_pieces ||
                     worker.subtree.started() || n_drawn < 2 || open.n_rows() * n_drawn < kParallelWork;
  return alone ? try_features_alone(fit, open, node, worker, best)
               : try_features_together(fit, open, node, worker, best);
}

// Looks up what only the winner needs: its threshold, and how it divides the rows.
template <Scorer S>
void finish_split(TreeFit<S>& fit, OpenNode& open, Worker<S>& worker) {
  const FeatureId feature = open.split.feature;
  const Column& column = fit.data.column(feature);
  const Subtree& subtree = worker.subtree;
  if (fit.plan.records != nullptr) {
    with_records(fit, open, worker, [&](const auto& records) {
      finish_cut(column, *fit.plan.records, records, open.n_rows(), open.split);
      return true;
    });
  } else if (subtree.started() && subtree.is_ordered(feature)) {
    finish_cut(column, subtree.ordered_rows(feature, open.begin, open.end), fit.rows_of(open), open.split);
  } else {
    finish_cut(column, open.split);
  }
}

// Finds the best test of the node with this cell and puts it into open.split. Returns how much it raises the node's
// score, or nothing if there is no test.
template <Scorer S>
std::optional<double> find_test(TreeFit<S>& fit, const NodeRecord& record, OpenNode& open, Worker<S>& worker,
                                const std::vector<typename S::Element>& cell) {
  const Node<S> node = node_to_search(fit, open, worker, cell);
  if (node.limits.node_weight < 2 * fit.plan.min_weight) return std::nullopt;
  const double node_score = worker.scorer.score_of_node(cell.data());
  Choice& choice = worker.choice;
  if (choice.is_needed()) choice.start(choice_node(fit, record, cell.data(), node_score, worker));
  worker.contenders.clear();
  FirstBest<Split> best(node.tie_scale());
  worker.features.until_informative(open.path, [&] { return try_features(fit, open, node, worker, best); });
  if (choice.is_needed()) settle(choice, worker.contenders, best);
  if (!best.found()) return std::nullopt;
  open.split = std::move(best.winner());
  finish_split(fit, open, worker);
  return best.score() - node_score;
}

}  // namespace hornbeam::grow
