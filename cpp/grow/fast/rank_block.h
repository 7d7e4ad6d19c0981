// Best tests (random forests): grows a node of at most a few thousand rows and everything below it in one go. The
// cells: counts of two classes or of more, weights of two classes or of more, sums of numbers. For processors with AVX-512;
// others find the same tests by groups (split/find_groups.h) and in small subtrees (grow/fast/small_subtree.h).
//
// When a block starts, its rows are ranked by each feature: 0, 1, 2, ... in the order of its values; rows with the
// same value have neighbouring ranks. Depending on its size, a node is treated in one of two ways.
//   held     Its rows lie side by side in every column of ranks. To put them in the order of a feature, each row's
//            item (what it adds to a cell) is written into a table at its rank, and the table is read from end to
//            end: nothing is compared. Dividing the rows moves them to the other side of the block, in all columns.
//   small    At most 64 rows. Nothing moves any more: a set of rows is one word, and a feature's order is found
//            once, when a node first tries it.
//
// The sums to the left of every place in that order make the cuts, which are scored many at a time.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "base/types.h"
#include "criterion/class_weights.h"
#include "criterion/counts.h"
#include "criterion/stats.h"
#include "data/dataset.h"
#include "data/row_records.h"
#include "grow/fast/column_draw.h"
#include "grow/tree_builder.h"

namespace hornbeam::grow {

struct LaneTask;  // grow/lane_task.h

using criterion::Entry;
using data::RowRecords;

// Rows whose targets are numbers, by item (item 0 is none), and the sums, facts and values of their nodes.
struct RankNumbers {
  std::int64_t* sums;  // as in SumStats
  std::int64_t* weights;
  double* numbers;  // the targets themselves
  double* row_weights;
  std::int64_t* node_sums;  // two per node: the sum and the weight
  NodeFacts* node_facts;
  double* node_values;
};

// What a kernel needs to grow a node.
struct RankGrowth {
  using Rank = std::uint16_t;
  static constexpr std::size_t kMostRows = 4096;
  static constexpr std::size_t kWords = kMostRows / 64;
  static constexpr std::size_t kTables = ColumnDraw::kFour;
  static constexpr std::size_t kLanes = 64;             // columns have room for that many rows more
  static constexpr std::uint32_t kMostWeight = 0x7fff;  // of all rows: counts are signed numbers of 16 bits
  // The item of a row of two classes is a byte: how often it was drawn and, in the highest bit, its class.
  static constexpr std::uint32_t kMostTimes = 127;
  static constexpr std::uint32_t kClass1 = 128;
  // With more classes it is two bytes, of which the upper one is the class.
  static constexpr std::uint32_t kMostTimesOfMany = 255;
  static constexpr std::size_t kMostClasses = 64;

  // The rows, by column `stride` apart.
  std::size_t n_rows;
  std::size_t n_columns;
  std::size_t stride;
  const Code* codes;    // by row
  const Code* n_codes;  // of the columns
  Rank* sides[2];       // ranks by row; behind the columns, one of items, or of numbers of rows from 1 on
  Code* code_at;        // by rank
  std::uint64_t*
      repeats;  // by column, kWords apart: a bit per rank, set if its value is that of the rank before
  std::uint8_t* has_repeats;  // by column

  Rank* column(std::int32_t side, std::size_t column, std::size_t row) const {
    return sides[side] + column * stride + row;
  }

  const FeatureId* features;
  TreeRules rules;
  ColumnDraw draw;
  std::uint64_t root_path;
  std::int32_t root;
  std::int32_t root_depth;
  // The grown nodes: first the root, whose sums are known; children in pairs.
  CountedNode* counted;                   // if two classes are counted
  BlockNode* nodes;                       // otherwise
  double row_weights[2];                  //   and weighed by class, in whole numbers
  const criterion::EntropyTerm* entropy;  //   and scored by entropy
  const double* weights;  // weighted rows: by number; whole numbers, negative for class 1; the first is 0
  double* node_weights;   //   two per node: of all its rows, and of class 1
  const std::int64_t*
      class_weights;            // weighted rows of more classes: by number, packed; node_weights by class
  std::uint32_t* class_counts;  // more classes: n_classes per node, rows as often as they were drawn
  std::size_t n_classes;
  RankNumbers numbers;  // numbers
  std::size_t n_nodes;  // so far

  // Working memory.
  std::uint64_t* codes_present;   // a bit per code; zeros between uses
  std::uint16_t* present_before;  // how many bits are set in earlier words
  std::uint16_t* tables;          // kTables with an item per rank; zeros between uses

  void (*poll)(void* poller, std::size_t work);
  void* poller;
};

struct RankKernels {
  void (*grow_counts)(RankGrowth& growth);
  void (*grow_entropies)(RankGrowth& growth);
  void (*grow_weighed_counts)(RankGrowth& growth);
  void (*grow_weights)(RankGrowth& growth);
  void (*grow_class_weights)(RankGrowth& growth);
  void (*grow_weight_entropies)(RankGrowth& growth);
  void (*grow_classes)(RankGrowth& growth);
  void (*grow_sums)(RankGrowth& growth);
};
// Null on processors without AVX-512.
const RankKernels* rank_kernels();

// A test's threshold is kept as the two codes beside it until their values are looked up.
inline constexpr double codes_as_threshold(Code last_left, Code first_right) {
  return std::bit_cast<double>(std::uint64_t{first_right} << 32 | last_left);
}

class RankBlock {
 public:
  explicit RankBlock(Region* region) : sides_(region), codes_(region), codes_present_(region) {}

  static constexpr std::size_t kCodesPerRow = 1024;
  // Whether a node of that many rows is worth a block: ranking scans a bit for every code of a feature.
  static bool is_worth(std::size_t n_rows, Code most_codes) {
    return n_rows <= RankGrowth::kMostRows && n_rows * kCodesPerRow >= most_codes;
  }

  // It takes gini of two classes if rows are counted and groups of values apply. If no value is missing, it
  // also takes entropy of two classes, gini and entropy of weighted rows, gini of counted rows of more
  // classes, and squared error.
  static bool takes(const LaneTask& lane);
  // The most rows of a node that may grow as a subtree, where there are blocks.
  static std::size_t rows_beside(const LaneTask& lane);
  // Whether larger nodes grow as subtrees nevertheless: these keep features in order, which pays if most are tried.
  static bool grows_within_subtrees(const LaneTask& lane);

  bool started() const { return !features_.empty(); }
  // Begins a tree with these features and rules. The data must outlive it.
  void start(const Dataset& data, std::span<const FeatureId> features, const TreeRules& rules);
  // Grows everything below a node whose rows are counted (entries as in CountStats); it must be worth a block, weigh
  // at most kMostWeight, and have no row drawn more often than kMostTimes. Returns the index of its copy in `grown`.
  template <class Records>
  std::int32_t grow_counts(std::span<const Entry> entries, const RowRecords& all, const Records& records,
                           std::uint64_t path, std::int32_t depth, CountedNodes& grown,
                           CancelPoller& poller) {
    make_room(entries.size());
    for (std::size_t c = 0; c < features_.size(); ++c) places_[c] = all.place(features_[c]);
    Code* codes = codes_.data();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      // Reading a record takes so many instructions that the processor does not get to the next one by
      // itself, so that one is prefetched.
      constexpr std::size_t kAhead = 8;
      if (i + kAhead < entries.size()) prefetch(records[i + kAhead]);
      const std::uint8_t* record = records[i];
      for (std::size_t c = 0; c < features_.size(); ++c)
        codes[c * growth_.stride + i] = all.code(features_[c], places_[c].grouped(record));
    }
    const std::int32_t root = start_counts(entries, label_of, grown);
    return grow_held_counts(root, path, depth, grown, rank_kernels()->grow_counts, poller);
  }
  // The same by entropy.
  std::int32_t grow_entropies(std::span<const Entry> entries, const criterion::EntropyTerm& entropy,
                              std::uint64_t path, std::int32_t depth, CountedNodes& grown,
                              CancelPoller& poller);
  // The same where all rows of a class weigh the same: `label_of` returns the class of an entry, whose
  // payload is only how often it was drawn. The rows must be worth counting, see below.
  template <class LabelOf>
  std::int32_t grow_weighed_counts(std::span<const Entry> entries, const LabelOf& label_of,
                                   const std::array<std::int64_t, 2>& row_weights, std::uint64_t path,
                                   std::int32_t depth, CountedNodes& grown, CancelPoller& poller) {
    make_room(entries.size());
    read_codes(entries);
    for (std::size_t k = 0; k < 2; ++k) growth_.row_weights[k] = static_cast<double>(row_weights[k]);
    const std::int32_t root = start_counts(entries, label_of, grown);
    return grow_held_counts(root, path, depth, grown, rank_kernels()->grow_weighed_counts, poller);
  }
  // Whether counts have room for them, and whether the weights are near enough for rough scores.
  static bool can_weigh_counts(std::span<const Entry> entries,
                               const std::array<std::int64_t, 2>& row_weights);

  // The same for weighted rows: `weight_of` returns an entry's weight, a whole number, negative for class 1. Returns
  // the nodes, of which the first is the root; `node_weights` then has their weights, two per node.
  template <class WeightOf>
  std::span<const BlockNode> grow_weights(std::span<const Entry> entries, const WeightOf& weight_of,
                                          std::uint64_t path, std::int32_t depth, CancelPoller& poller) {
    weights_.resize(entries.size() + 1);
    weights_[0] = 0.0;
    for (std::size_t i = 0; i < entries.size(); ++i)
      weights_[i + 1] = static_cast<double>(weight_of(entries[i]));
    return grow_held_weights(entries, path, depth, poller);
  }
  const double* node_weights() const { return node_weights_.data(); }

  // The same for weighted rows of more classes, by gini or by entropy: `item_of` returns an entry's class and weight.
  // `node_weights` then has those of the classes, n_classes per node.
  template <class ItemOf>
  std::span<const BlockNode> grow_class_weights(std::span<const Entry> entries, const ItemOf& item_of,
                                                std::size_t n_classes, bool by_entropy, std::uint64_t path,
                                                std::int32_t depth, CancelPoller& poller) {
    class_weights_.resize(entries.size() + 1);
    class_weights_[0] = 0;
    if (node_weights_.size() < 2 * entries.size() * n_classes)
      node_weights_.resize(2 * entries.size() * n_classes);
    std::fill_n(node_weights_.data(), n_classes, 0.0);
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const criterion::ClassWeight item = item_of(entries[i]);
      class_weights_[i + 1] = item.packed();
      node_weights_[static_cast<std::size_t>(item.label)] += static_cast<double>(item.weight);
    }
    return grow_held_class_weights(entries, n_classes, by_entropy, path, depth, poller);
  }

  // The same for counts of more classes; `class_counts` then has those of the nodes.
  std::span<const BlockNode> grow_classes(std::span<const Entry> entries, std::size_t n_classes,
                                          std::uint64_t path, std::int32_t depth, CancelPoller& poller);
  const std::uint32_t* class_counts() const { return class_counts_.data(); }

  // The same for numbers, in two steps: makes room for the rows, to be written from item 1 on; then grows.
  RankNumbers& start_numbers(std::size_t n_rows);
  std::span<const BlockNode> grow_numbers(std::span<const Entry> entries, std::uint64_t path,
                                          std::int32_t depth, CancelPoller& poller);

 private:
  void make_room(std::size_t n_rows);
  void read_codes(std::span<const Entry> entries);
  static std::uint32_t label_of(const Entry& entry) { return entry.payload >> 8; }
  // Writes the rows' items and the root, whose index is returned.
  template <class LabelOf>
  std::int32_t start_counts(std::span<const Entry> entries, const LabelOf& label, CountedNodes& grown) {
    const auto root = static_cast<std::int32_t>(grown.size());
    CountedNode& copy = *grown.room_for(2 * entries.size());
    copy.samples = static_cast<std::uint32_t>(entries.size());
    copy.rows = copy.ones = 0;
    RankGrowth::Rank* counts = growth_.column(0, growth_.n_columns, 0);
    for (const Entry& entry : entries) {
      const std::uint32_t times = entry.payload & 0xff;
      const std::uint32_t one = label(entry);
      copy.rows += times;
      copy.ones += times * one;
      *counts++ = static_cast<RankGrowth::Rank>(times | one * RankGrowth::kClass1);
    }
    return root;
  }
  std::int32_t grow_held_counts(std::int32_t root, std::uint64_t path, std::int32_t depth,
                                CountedNodes& grown, void (*kernel)(RankGrowth& growth),
                                CancelPoller& poller);
  std::span<const BlockNode> grow_held_weights(std::span<const Entry> entries, std::uint64_t path,
                                               std::int32_t depth, CancelPoller& poller);
  std::span<const BlockNode> grow_held_class_weights(std::span<const Entry> entries, std::size_t n_classes,
                                                     bool by_entropy, std::uint64_t path, std::int32_t depth,
                                                     CancelPoller& poller);
  void start_growth(std::int32_t root, std::uint64_t path, std::int32_t depth, CancelPoller& poller);
  template <class Node>
  void look_up_thresholds(std::span<Node> nodes) const;

  const Dataset* data_ = nullptr;
  std::vector<FeatureId> features_;
  std::vector<RowRecords::Place> places_;
  std::vector<Code> n_codes_;
  RankGrowth growth_{};
  ColumnDrawBuffers draw_buffers_;
  Buffer<RankGrowth::Rank> sides_;
  Buffer<Code> codes_;
  Buffer<std::uint64_t> codes_present_;
  std::vector<std::uint64_t> repeats_;
  std::vector<std::uint8_t> has_repeats_;
  std::vector<std::uint16_t> tables_;
  std::vector<double> weights_;
  std::vector<std::int64_t> class_weights_;
  std::vector<BlockNode> nodes_;
  std::vector<double> node_weights_;
  std::vector<std::uint32_t> class_counts_;
  std::vector<std::int64_t> moments_;
  std::vector<double> numbers_;
  std::vector<std::int64_t> node_sums_;
  std::vector<NodeFacts> node_facts_;
  std::vector<double> node_values_;
};

}  // namespace hornbeam::grow
