// The lane of rows as words: grows a node of random tests and everything below it (grow/fast/random_nodes.h), for any
// criterion that scores a test by its branches, any weights, and all limits but monotonic constraints. A node costs a
// pass over its rows and little else; the finders of split/ find the same tests, node by node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "grow/describe.h"
#include "grow/fast/grow_subtree.h"
#include "grow/fast/random_nodes.h"
#include "grow/tree_builder.h"
#include "grow/tree_fit.h"

namespace hornbeam::grow {

using data::random_threshold;
using split::FirstBest;

template <Scorer S>
class RandomGrower {
 public:
  RandomGrower(TreeFit<S>& fit, TreeBuilder& part, Worker<S>& worker)
      : fit_(fit), part_(part), worker_(worker), buffers_(worker.random_buffers), scorer_(worker.scorer) {}

  void grow(const OpenNode& root) {
    buffers_.start(*fit_.plan.values, fit_.params.key, root.n_rows(),
                   static_cast<std::size_t>(scorer_.stats().n_words()));
    waiting_.push_back({root.id, root.depth, root.path, root.begin, root.end});
    while (!waiting_.empty()) {
      const RandomNode node = waiting_.back();
      waiting_.pop_back();
      worker_.poller.poll(8 * node.n_rows());
      grow_node(node);
    }
  }

 private:
  using Element = typename S::Element;
  using Cell = std::vector<Element>;

  std::span<Entry> rows_of(const RandomNode& node) const {
    return fit_.entries.subspan(node.begin, node.n_rows());
  }

  void grow_node(const RandomNode& node) {
    const std::span<Entry> entries = rows_of(node);
    add_up(scorer_, std::span<const Entry>(entries), node_cell_);
    if (scorer_.stats().weight(node_cell_.data()) < 2 * fit_.plan.min_weight) return;
    buffers_.load(node, entries, scorer_.stats());
    const double node_score = scorer_.score_of_node(node_cell_.data());
    const FirstBest<RandomTest> best = find_test(node);
    if (!best.found()) return;
    const double gain = std::max(0.0, (best.score() - node_score) * fit_.prototype.score_unit());
    if (fit_.least_gain().is_more_than(gain)) return;
    carry_out(node, entries, best.winner(), gain);
  }

  FirstBest<RandomTest> find_test(const RandomNode& node) {
    FirstBest<RandomTest> best(scorer_.tie_scale(node_cell_.data()));
    // All tests that separate two rows are equal: the first feature that does wins.
    const bool is_pair = node.n_rows() == 2 && fit_.plan.min_weight == 0;
    worker_.features.until_informative(node.path, [&] {
      bool informative = false;
      for (const FeatureId feature : worker_.features.drawn()) {
        informative |= try_feature(node, feature, best);
        if (informative && is_pair) break;
      }
      return informative;
    });
    return best;
  }

  // Offers the feature's test; false if the feature is constant.
  bool try_feature(const RandomNode& node, FeatureId feature, FirstBest<RandomTest>& best) {
    const RangeOfNode range = buffers_.fetch(feature);
    fetched_ = feature;
    if (range.is_constant()) return false;
    const double threshold = random_threshold(fit_.data.column(feature), range.least, range.largest,
                                              buffers_.share(feature, node.path));
    left_cell_.assign(node_cell_.size(), Element{0});
    const std::size_t n_left = buffers_.add_up_left(threshold, scorer_.stats(), left_cell_.data());
    if (!admits(n_left, node.n_rows() - n_left)) return true;
    right_cell_.resize(node_cell_.size());
    for (std::size_t k = 0; k < node_cell_.size(); ++k) right_cell_[k] = node_cell_[k] - left_cell_[k];
    const double score = scorer_.score_of_branch(left_cell_.data(), node_cell_.data()) +
                         scorer_.score_of_branch(right_cell_.data(), node_cell_.data());
    if (best.offer(score, {feature, threshold})) std::swap(left_cell_, best_left_);
    return true;
  }

  bool admits(std::size_t n_left, std::size_t n_right) const {
    if (std::min(n_left, n_right) < static_cast<std::size_t>(fit_.params.min_samples_leaf)) return false;
    if (fit_.plan.min_weight == 0) return true;
    const std::int64_t left = scorer_.stats().weight(left_cell_.data());
    const std::int64_t right = scorer_.stats().weight(node_cell_.data()) - left;
    return std::min(left, right) >= fit_.plan.min_weight;
  }

  // Divides the rows, adds the children to the tree, and opens those that may be divided again.
  void carry_out(const RandomNode& node, std::span<Entry> entries, const RandomTest& test, double gain) {
    if (test.feature != fetched_) buffers_.fetch(test.feature);
    const std::size_t middle = node.begin + buffers_.divide(node, test.threshold, entries);
    const NodeId first = part_.add(fit_.value_size());
    part_.add(fit_.value_size());
    for (std::size_t k = 0; k < node_cell_.size(); ++k) right_cell_[k] = node_cell_[k] - best_left_[k];
    const std::int32_t depth = node.depth + 1;
    RandomNode children[2] = {{first, depth, child_path(node.path, 0), node.begin, middle},
                              {first + 1, depth, child_path(node.path, 1), middle, node.end}};
    bool opens[2];
    for (std::size_t b = 0; b < 2; ++b) {
      const std::span<const Entry> rows = rows_of(children[b]);
      const bool pure =
          write_facts(fit_, part_, children[b].id, rows, b == 0 ? best_left_ : right_cell_, worker_);
      opens[b] = !pure && !fit_.ends_at(static_cast<std::int64_t>(rows.size()), depth);
    }
    NodeRecord& record = part_.nodes[static_cast<std::size_t>(node.id)];
    const NodeRecord* records = &part_.nodes[static_cast<std::size_t>(first)];
    record.first_child = first;
    record.gain = gain;
    record.missing_branch = records[1].weight > records[0].weight ? 1 : 0;
    record.value_test = static_cast<std::int32_t>(part_.value_tests.size());
    part_.value_tests.push_back({test.feature, test.threshold});
    // The smaller child is grown first, which keeps the number of waiting nodes small.
    const std::size_t larger = children[1].n_rows() > children[0].n_rows() ? 1 : 0;
    for (const std::size_t b : {larger, 1 - larger}) {
      if (opens[b]) waiting_.push_back(children[b]);
    }
  }

  TreeFit<S>& fit_;
  TreeBuilder& part_;
  Worker<S>& worker_;
  RandomBuffers& buffers_;
  S& scorer_;
  std::vector<RandomNode> waiting_;
  FeatureId fetched_ = kNoFeature;  // the feature whose values were fetched last
  Cell node_cell_;
  Cell left_cell_;
  Cell right_cell_;
  Cell best_left_;
};

template <Scorer S>
struct RandomLane {
  static bool starts(const TreeFit<S>& fit, const TreeBuilder& part, const OpenNode& node,
                     const Worker<S>& worker) {
    return fit.plan.grows_random && SubtreeLane<S>::starts(fit, part, node, worker);
  }
  template <class GrowBelow>
  static bool grow(TreeFit<S>& fit, TreeBuilder& part, OpenNode& root, Worker<S>& worker, const GrowBelow&) {
    RandomGrower<S>(fit, part, worker).grow(root);
    return true;
  }
};

}  // namespace hornbeam::grow
