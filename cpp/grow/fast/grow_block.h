// The lanes of blocks: grow everything below a node as one block of values (grow/fast/value_block.h) or of ranks
// (grow/fast/rank_block.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "grow/describe.h"
#include "grow/fast/groups.h"
#include "grow/fast/grow_subtree.h"
#include "grow/fast/rank_block.h"
#include "grow/fast/value_block.h"
#include "grow/tree_builder.h"
#include "grow/tree_fit.h"

namespace hornbeam::grow {

template <Scorer S>
TreeRules rules_of(const TreeFit<S>& fit) {
  const GrowParams& params = fit.params;
  return {params.key,
          static_cast<std::size_t>(params.max_features),
          params.max_depth,
          params.min_samples_split,
          params.min_samples_leaf,
          fit.plan.min_weight,
          fit.least_gain(),
          fit.prototype.score_unit()};
}

// The term by which tests of counted classes are scored; null for gini.
template <Scorer S>
const criterion::EntropyTerm* entropy_of(const S& scorer) {
  constexpr BlockCells kCells = kBlockCells<S>;
  if constexpr (kCells == BlockCells::kTwoEntropies || kCells == BlockCells::kEntropies)
    return &scorer.term();
  return nullptr;
}

// Whether rows weigh, and have a class of any number of them.
template <Scorer S>
inline constexpr bool kWeighsClasses =
    kBlockCells<S> == BlockCells::kClassWeights || kBlockCells<S> == BlockCells::kWeightEntropies;

template <Scorer S>
void start_counted(const TreeFit<S>& fit, TreeBuilder& part, Worker<S>& worker) {
  const double row_weight = fit.prototype.stats().weight_unit();
  part.counted.start({row_weight, row_weight}, row_of(fit.params.criterion).shown, worker.region);
}

template <Scorer S>
void grow_block(TreeFit<S>& fit, TreeBuilder& part, const OpenNode& root, Worker<S>& worker) {
  ValueBlock& block = worker.block;
  start_counted(fit, part, worker);
  if (!block.started()) block.start(fit.data, *fit.plan.values, fit.params.features, rules_of(fit));
  part.nodes[static_cast<std::size_t>(root.id)].counted = block.grow(
      fit.rows_of(root), entropy_of(fit.prototype), root.path, root.depth, part.counted, worker.poller);
}

template <Scorer S>
void grow_ranks(TreeFit<S>& fit, TreeBuilder& part, const OpenNode& root, Worker<S>& worker) {
  RankBlock& block = worker.ranks;
  start_counted(fit, part, worker);
  if (!block.started()) block.start(fit.data, fit.params.features, rules_of(fit));
  const std::span<const Entry> rows = fit.rows_of(root);
  std::int32_t& copy = part.nodes[static_cast<std::size_t>(root.id)].counted;
  if constexpr (kBlockCells<S> == BlockCells::kTwoEntropies) {
    copy =
        block.grow_entropies(rows, fit.prototype.term(), root.path, root.depth, part.counted, worker.poller);
  } else {
    with_records(fit, root, worker, [&](const auto& records) {
      copy = block.grow_counts(rows, *fit.plan.records, records, root.path, root.depth, part.counted,
                               worker.poller);
      return true;
    });
  }
}

// The same for weighted rows.
template <Scorer S>
void grow_weighed_ranks(TreeFit<S>& fit, TreeBuilder& part, const OpenNode& root, Worker<S>& worker) {
  RankBlock& block = worker.ranks;
  if (!block.started()) block.start(fit.data, fit.params.features, rules_of(fit));
  const std::span<const Entry> rows = fit.rows_of(root);
  const auto& stats = fit.prototype.stats();
  const auto weight_of = [&](const Entry& entry) { return stats.signed_weight(entry); };
  if (const auto& weights = stats.class_weights(); weights && RankBlock::can_weigh_counts(rows, *weights)) {
    const double unit = stats.weight_unit();
    part.counted.start({static_cast<double>((*weights)[0]) * unit, static_cast<double>((*weights)[1]) * unit},
                       Impurity::kGini, worker.region);
    const auto label_of = [&](const Entry& entry) { return weight_of(entry) < 0 ? 1u : 0u; };
    part.nodes[static_cast<std::size_t>(root.id)].counted = block.grow_weighed_counts(
        rows, label_of, *weights, root.path, root.depth, part.counted, worker.poller);
    return;
  }
  const std::span<const BlockNode> grown =
      block.grow_weights(rows, weight_of, root.path, root.depth, worker.poller);
  BlockNodes& nodes = part.block;
  nodes.weight_unit = fit.prototype.stats().weight_unit();
  nodes.n_classes = 2;
  const double* weights = block.node_weights();
  for (std::size_t i = 0; i < grown.size(); ++i) {
    const auto ones = static_cast<std::int64_t>(weights[2 * i + 1]);
    nodes.weights.push_back(static_cast<std::int64_t>(weights[2 * i]) - ones);
    nodes.weights.push_back(ones);
  }
  part.nodes[static_cast<std::size_t>(root.id)].block = nodes.add(grown);
}

// The same for weighted rows of more classes.
template <Scorer S>
void grow_ranks_of_class_weights(TreeFit<S>& fit, TreeBuilder& part, const OpenNode& root,
                                 Worker<S>& worker) {
  RankBlock& block = worker.ranks;
  if (!block.started()) block.start(fit.data, fit.params.features, rules_of(fit));
  const auto n_classes = static_cast<std::size_t>(fit.prototype.stats().n_classes());
  const auto item_of = [&](const Entry& entry) { return fit.prototype.stats().item(entry); };
  constexpr bool kByEntropy = kBlockCells<S> == BlockCells::kWeightEntropies;
  const std::span<const BlockNode> grown = block.grow_class_weights(
      fit.rows_of(root), item_of, n_classes, kByEntropy, root.path, root.depth, worker.poller);
  BlockNodes& nodes = part.block;
  nodes.shown = row_of(fit.params.criterion).shown;
  nodes.weight_unit = fit.prototype.stats().weight_unit();
  nodes.n_classes = n_classes;
  const double* weights = block.node_weights();
  const std::size_t before = nodes.weights.size();
  nodes.weights.resize(before + grown.size() * n_classes);
  for (std::size_t i = 0; i < grown.size() * n_classes; ++i)
    nodes.weights[before + i] = static_cast<std::int64_t>(weights[i]);
  part.nodes[static_cast<std::size_t>(root.id)].block = nodes.add(grown);
}

// The same for more classes that are counted.
template <Scorer S>
void grow_ranks_of_classes(TreeFit<S>& fit, TreeBuilder& part, const OpenNode& root, Worker<S>& worker) {
  RankBlock& block = worker.ranks;
  if (!block.started()) block.start(fit.data, fit.params.features, rules_of(fit));
  const auto n_classes = static_cast<std::size_t>(fit.prototype.stats().n_classes());
  const std::span<const BlockNode> grown =
      block.grow_classes(fit.rows_of(root), n_classes, root.path, root.depth, worker.poller);
  BlockNodes& nodes = part.block;
  nodes.weight_unit = fit.prototype.stats().weight_unit();
  nodes.n_classes = n_classes;
  nodes.counts.insert(nodes.counts.end(), block.class_counts(),
                      block.class_counts() + grown.size() * n_classes);
  part.nodes[static_cast<std::size_t>(root.id)].block = nodes.add(grown);
}

// The same for numbers.
template <Scorer S>
void grow_ranks_of_numbers(TreeFit<S>& fit, TreeBuilder& part, const OpenNode& root, Worker<S>& worker) {
  RankBlock& block = worker.ranks;
  if (!block.started()) block.start(fit.data, fit.params.features, rules_of(fit));
  const std::span<const Entry> entries = fit.rows_of(root);
  const RankNumbers& rows = block.start_numbers(entries.size());
  worker.scorer.stats().load(entries);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const RowId row = entries[i].row;
    rows.sums[i + 1] = worker.scorer.stats().loaded()[i].sum;
    rows.weights[i + 1] = worker.scorer.stats().loaded()[i].weight;
    rows.numbers[i + 1] = fit.target.real(row);
    rows.row_weights[i + 1] = fit.target.weight(row) * entries[i].payload;
  }
  // The root's facts are known.
  NodeRecord& record = part.nodes[static_cast<std::size_t>(root.id)];
  rows.node_facts[0] = {record.weight, record.impurity, false};
  rows.node_values[0] = part.values[static_cast<std::size_t>(root.id)];
  const std::span<const BlockNode> grown = block.grow_numbers(entries, root.path, root.depth, worker.poller);
  BlockNodes& nodes = part.block;
  nodes.facts.insert(nodes.facts.end(), rows.node_facts, rows.node_facts + grown.size());
  nodes.values.insert(nodes.values.end(), rows.node_values, rows.node_values + grown.size());
  record.block = nodes.add(grown);
}

// Writes the words of a block's rows (grow/fast/value_block.h) and the sums of the root.
template <Scorer S>
BlockWords& write_words(const TreeFit<S>& fit, std::span<const Entry> entries, ValueBlock& block, S& scorer) {
  if constexpr (kBlockCells<S> == BlockCells::kCounts || kBlockCells<S> == BlockCells::kEntropies) {
    constexpr std::size_t kPerWord = BlockWords::kClassesPerWord;
    const auto n_classes = static_cast<std::size_t>(scorer.stats().n_classes());
    const std::size_t n_words = (n_classes + kPerWord - 1) / kPerWord;
    BlockWords& words = block.start_words(entries.size(), n_words, 0, n_classes, 0);
    std::fill_n(words.counts, n_classes, 0u);
    for (std::size_t w = 0; w < n_words; ++w)
      std::fill_n(words.word(0, w, 0), entries.size(), std::int64_t{0});
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const std::size_t k = entries[i].payload >> 8;
      *words.word(0, k / kPerWord, i) = static_cast<std::int64_t>(std::uint64_t{1} << (8 * (k % kPerWord)));
      ++words.counts[k];
    }
    return words;
  } else if constexpr (kWeighsClasses<S>) {
    const auto n_classes = static_cast<std::size_t>(scorer.stats().n_classes());
    BlockWords& words = block.start_words(entries.size(), 1, 0, 0, n_classes);
    std::fill_n(words.sums, n_classes, std::int64_t{0});
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto item = scorer.stats().item(entries[i]);
      *words.word(0, 0, i) = item.packed();
      words.sums[item.label] += item.weight;
    }
    return words;
  } else {
    constexpr bool kSums = kBlockCells<S> == BlockCells::kSums || kBlockCells<S> == BlockCells::kPoisson;
    BlockWords& words = block.start_words(entries.size(), 2, kSums ? 2 : 0, 0, 2);
    scorer.stats().load(entries);
    scorer.stats().write_words(entries, words.word(0, 0, 0), words.stride);
    for (std::size_t w = 0; w < 2; ++w)
      words.sums[w] = std::accumulate(words.word(0, w, 0), words.word(0, w, entries.size()), std::int64_t{0});
    if constexpr (kSums) {
      words.mean_unit = scorer.stats().sum_unit() / scorer.stats().weight_unit();
      for (std::size_t i = 0; i < entries.size(); ++i) {
        const RowId row = entries[i].row;
        *words.word(0, 2, i) = std::bit_cast<std::int64_t>(fit.target.real(row));
        *words.word(0, 3, i) = std::bit_cast<std::int64_t>(fit.target.weight(row) * entries[i].payload);
      }
    }
    return words;
  }
}

// Grows a block whose rows are words. Nodes of real targets come back with their facts; the facts of classes
// follow from the cells.
template <Scorer S>
void grow_words(TreeFit<S>& fit, TreeBuilder& part, const OpenNode& root, Worker<S>& worker) {
  constexpr BlockCells kCells = kBlockCells<S>;
  const BlockKernels& kernels = block_kernels();
  ValueBlock& block = worker.block;
  if (!block.started()) block.start(fit.data, *fit.plan.values, fit.params.features, rules_of(fit));
  const std::span<const Entry> entries = fit.rows_of(root);
  const BlockWords& words = write_words(fit, entries, block, worker.scorer);
  const auto kernel = kCells == BlockCells::kCounts            ? kernels.grow_counts
                      : kCells == BlockCells::kEntropies       ? kernels.grow_entropies
                      : kCells == BlockCells::kTwoWeights      ? kernels.grow_two_weights
                      : kCells == BlockCells::kClassWeights    ? kernels.grow_class_weights
                      : kCells == BlockCells::kWeightEntropies ? kernels.grow_weight_entropies
                      : kCells == BlockCells::kPoisson         ? kernels.grow_poisson
                                                               : kernels.grow_sums;
  const std::span<const BlockNode> grown =
      block.grow_words(kernel, entries, entropy_of(fit.prototype), root.path, root.depth, worker.poller);
  BlockNodes& nodes = part.block;
  nodes.weight_unit = fit.prototype.stats().weight_unit();
  nodes.shown = row_of(fit.params.criterion).shown;
  if constexpr (kCells == BlockCells::kCounts || kCells == BlockCells::kEntropies) {
    nodes.n_classes = words.n_classes;
    nodes.counts.insert(nodes.counts.end(), words.counts, words.counts + grown.size() * words.n_classes);
  } else if constexpr (kCells == BlockCells::kTwoWeights || kWeighsClasses<S>) {
    nodes.n_classes = words.n_classes;
    nodes.weights.insert(nodes.weights.end(), words.sums, words.sums + words.n_classes * grown.size());
  } else {
    // The root's facts are known.
    const NodeRecord& record = part.nodes[static_cast<std::size_t>(root.id)];
    nodes.facts.push_back({record.weight, record.impurity, false});
    nodes.values.push_back(part.values[static_cast<std::size_t>(root.id)]);
    for (std::size_t i = 1; i < grown.size(); ++i)
      nodes.facts.push_back({words.weight[i], words.impurity[i], false});
    nodes.values.insert(nodes.values.end(), words.value + 1, words.value + grown.size());
  }
  part.nodes[static_cast<std::size_t>(root.id)].block = nodes.add(grown);
}

template <Scorer S>
struct ValueLane {
  static bool starts(const TreeFit<S>& fit, const TreeBuilder& part, const OpenNode& node,
                     const Worker<S>& worker) {
    return fit.plan.grows_blocks && SubtreeLane<S>::starts(fit, part, node, worker);
  }
  template <class GrowBelow>
  static bool grow(TreeFit<S>& fit, TreeBuilder& part, OpenNode& root, Worker<S>& worker, const GrowBelow&) {
    if constexpr (kBlockCells<S> == BlockCells::kTwoCounts || kBlockCells<S> == BlockCells::kTwoEntropies) {
      grow_block(fit, part, root, worker);
    } else if constexpr (kBlockCells<S> != BlockCells::kNone) {
      grow_words(fit, part, root, worker);
    }
    return kBlockCells<S> != BlockCells::kNone;
  }
};

template <Scorer S>
struct RankLane {
  // Starts at nodes that are worth a block; counts must fit their few bits.
  static bool starts(const TreeFit<S>& fit, const TreeBuilder& part, const OpenNode& node, const Worker<S>&) {
    if (!fit.plan.grows_ranks || node.n_rows() > fit.params.subtree_rows ||
        !RankBlock::is_worth(node.n_rows(), fit.plan.most_codes))
      return false;
    constexpr BlockCells kCells = kBlockCells<S>;
    if (kCells != BlockCells::kTwoCounts && levels_below(fit, node) < 2) return false;
    return kCells == BlockCells::kTwoWeights || kWeighsClasses<S> || kCells == BlockCells::kSums ||
           part.nodes[static_cast<std::size_t>(node.id)].weight <=
               RankGrowth::kMostWeight * fit.prototype.stats().weight_unit();
  }
  template <class GrowBelow>
  static bool grow(TreeFit<S>& fit, TreeBuilder& part, OpenNode& root, Worker<S>& worker, const GrowBelow&) {
    constexpr BlockCells kCells = kBlockCells<S>;
    if constexpr (kCells == BlockCells::kTwoCounts || kCells == BlockCells::kTwoEntropies)
      grow_ranks(fit, part, root, worker);
    if constexpr (kCells == BlockCells::kTwoWeights) grow_weighed_ranks(fit, part, root, worker);
    if constexpr (kWeighsClasses<S>) grow_ranks_of_class_weights(fit, part, root, worker);
    if constexpr (kCells == BlockCells::kCounts) grow_ranks_of_classes(fit, part, root, worker);
    if constexpr (kCells == BlockCells::kSums) grow_ranks_of_numbers(fit, part, root, worker);
    return kCells != BlockCells::kNone && kCells != BlockCells::kPoisson && kCells != BlockCells::kEntropies;
  }
};

}  // namespace hornbeam::grow
