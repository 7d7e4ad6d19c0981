// Best tests of classes (random forests): a node of at most a few thousand rows and all that grows below it, grown
// as one piece of work. Rows of two classes weigh the same or not, rows of more weigh
// the same. And those of numbers. For processors with wide registers; others find the same tests by groups
// (split/find_groups.h) and in small subtrees (grow/fast/small_subtree.h).
//
// When a block starts, the rows get a number for each feature, 0, 1, 2, ... in the order of its values; rows
// with the same value get neighbouring ones. A node is looked at in one of two ways.
//   held     Its rows lie side by side in every column of numbers. To put them in the order of a feature,
//            what each counts is written into a table at its number, and the table is read from end to end:
//            nothing is compared. Dividing the rows moves them to the other side of the block, in all
//            columns.
//   small    At most 64 rows. Nothing moves any more: sets of rows are one word, and each feature's order is
//            found once, when a node first tries it.
//
// What lies left of each place in that order is summed up and scored roughly, sixteen places at a time; those
// that could be the best are scored as everywhere else.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "base/types.h"
#include "criterion/stats.h"
#include "data/dataset.h"
#include "data/row_records.h"
#include "grow/fast/column_draw.h"
#include "grow/tree_builder.h"

namespace hornbeam::grow {

struct LaneTask;  // grow/lane_task.h

using criterion::Entry;
using data::RowRecords;

// A grown node of two classes of weighted rows. The weights are whole numbers: what TwoWeightStats has.
struct WeighedNode {
  double threshold;
  double gain;
  NodeId first_child;  // of two, among the nodes of the block; kNoChild at leaves, which have no test
  FeatureId feature;
  std::uint32_t samples;
  double weight;
  double ones;  // of class 1
};

// Rows with numbers: by item, of which the first is none, and what nodes of them add up to and say.
struct RankNumbers {
  std::int64_t* sums;  // as SumStats has them
  std::int64_t* weights;
  double* numbers;  // as they are
  double* row_weights;
  std::int64_t* node_sums;  // two of each node: the sum, and the weight
  NodeFacts* node_facts;
  double* node_values;
};

// What a kernel gets to grow.
struct RankGrowth {
  using Rank = std::uint16_t;
  static constexpr std::size_t kMostRows = 4096;
  static constexpr std::size_t kWords = kMostRows / 64;
  static constexpr std::size_t kTables = ColumnDraw::kFour;
  static constexpr std::size_t kLanes = 64;             // columns have room for so many rows more
  static constexpr std::uint32_t kMostWeight = 0x7fff;  // of all rows: counts are signed numbers of 16 bits
  // What a row counts, in a byte: how often it was drawn and, in the highest bit, its class.
  static constexpr std::uint32_t kMostTimes = 127;
  static constexpr std::uint32_t kClass1 = 128;
  // Or in two bytes, of which the upper one is the class, where there are more of them.
  static constexpr std::uint32_t kMostTimesOfMany = 255;
  static constexpr std::size_t kMostClasses = 64;

  // The rows, by column `stride` apart.
  std::size_t n_rows;
  std::size_t n_columns;
  std::size_t stride;
  const Code* codes;    // by row
  const Code* n_codes;  // of the columns
  Rank* sides[2];       // by row; behind the columns, one with what each row counts, or its number from 1 on
  Code* code_at;        // by rank
  std::uint64_t* repeats;     // by column, kWords apart: bits of ranks whose value is that of the rank before
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
  // Those that are grown: first the root, whose counts are known; children in pairs.
  CountedNode* counted;
  WeighedNode* weighed;         // or these, where rows have weights:
  const double* weights;        // by number; whole numbers, of class 1 negative; the first is 0
  BlockNode* nodes;             // or these, where there are more classes:
  std::uint32_t* class_counts;  // of each node, as often as rows were drawn
  std::size_t n_classes;
  RankNumbers numbers;  // or these by node, where rows are numbers
  std::size_t n_nodes;  // so far

  // Room for the kernel.
  std::uint64_t* marks;  // a bit per code; zeros, and so they are left behind
  std::uint16_t* marks_before;
  std::uint16_t* tables;  // kTables of a byte, or a number, per rank; zeros, and so they are left behind

  void (*poll)(void* poller, std::size_t work);
  void* poller;
};

struct RankKernels {
  void (*grow_counts)(RankGrowth& growth);
  void (*grow_weights)(RankGrowth& growth);
  void (*grow_classes)(RankGrowth& growth);
  void (*grow_sums)(RankGrowth& growth);
};
// Null on processors that have none.
const RankKernels* rank_kernels();

// The codes on either side of a test stay in the place of its threshold until the values are looked up.
inline constexpr double codes_as_threshold(Code last_left, Code first_right) {
  return std::bit_cast<double>(std::uint64_t{first_right} << 32 | last_left);
}

class RankBlock {
 public:
  explicit RankBlock(Region* region) : room_(region), codes_(region), marks_(region) {}

  static constexpr std::size_t kCodesPerRow = 1024;
  // Whether a node of so many rows is worth a block: ranking them looks at a bit for every code there is.
  static bool is_worth(std::size_t n_rows, Code most_codes) {
    return n_rows <= RankGrowth::kMostRows && n_rows * kCodesPerRow >= most_codes;
  }

  // Two classes by gini: counted, where groups of values apply, or weighed, where no value is missing; there,
  // too, counts of more classes, and sums by squared error.
  static bool takes(const LaneTask& lane);
  // How many rows a node has at most that is grown as a subtree beside blocks.
  static std::size_t rows_beside(const LaneTask& lane);
  // Or, where most features are tried, larger nodes are subtrees, which have them in order.
  static bool grows_within_subtrees(const LaneTask& lane);

  bool started() const { return !features_.empty(); }
  // The features and rules of a tree. The data must outlive it.
  void start(const Dataset& data, std::span<const FeatureId> features, const TreeRules& rules);
  // Grows what is below a node of class counts (entries as CountStats has them) that is worth a block, not
  // heavier than kMostWeight and no row drawn more than kMostTimes; returns the place of its copy among
  // `grown`.
  template <class Records>
  std::int32_t grow_counts(std::span<const Entry> entries, const RowRecords& all, const Records& records,
                           std::uint64_t path, std::int32_t depth, CountedNodes& grown,
                           CancelPoller& poller) {
    make_room(entries.size());
    for (std::size_t c = 0; c < features_.size(); ++c) places_[c] = all.place(features_[c]);
    Code* codes = codes_.data();
    for (std::size_t i = 0; i < entries.size(); ++i) {
      // Reading a record takes so many instructions that the processor would not see the next one coming.
      constexpr std::size_t kAhead = 8;
      if (i + kAhead < entries.size()) prefetch(records[i + kAhead]);
      const std::uint8_t* record = records[i];
      for (std::size_t c = 0; c < features_.size(); ++c)
        codes[c * growth_.stride + i] = all.code(features_[c], places_[c].grouped(record));
    }
    return grow_held_counts(entries, path, depth, grown, poller);
  }

  // The same for weighted rows: `weight_of` gives the weight of an entry, a whole number, of class 1 negative.
  // Returns the nodes, of which the first is the root.
  template <class WeightOf>
  std::span<const WeighedNode> grow_weights(std::span<const Entry> entries, const WeightOf& weight_of,
                                            std::uint64_t path, std::int32_t depth, CancelPoller& poller) {
    weights_.resize(entries.size() + 1);
    weights_[0] = 0.0;
    for (std::size_t i = 0; i < entries.size(); ++i)
      weights_[i + 1] = static_cast<double>(weight_of(entries[i]));
    return grow_held_weights(entries, path, depth, poller);
  }

  // The same for counts of so many classes, which `class_counts` then has by node.
  std::span<const BlockNode> grow_classes(std::span<const Entry> entries, std::size_t n_classes,
                                          std::uint64_t path, std::int32_t depth, CancelPoller& poller);
  const std::uint32_t* class_counts() const { return class_counts_.data(); }

  // The same for numbers. Makes room for so many rows, to be written from item 1 on.
  RankNumbers& start_numbers(std::size_t n_rows);
  std::span<const BlockNode> grow_numbers(std::span<const Entry> entries, std::uint64_t path,
                                          std::int32_t depth, CancelPoller& poller);

 private:
  void make_room(std::size_t n_rows);
  void read_codes(std::span<const Entry> entries);
  std::int32_t grow_held_counts(std::span<const Entry> entries, std::uint64_t path, std::int32_t depth,
                                CountedNodes& grown, CancelPoller& poller);
  std::span<const WeighedNode> grow_held_weights(std::span<const Entry> entries, std::uint64_t path,
                                                 std::int32_t depth, CancelPoller& poller);
  void start_growth(std::int32_t root, std::uint64_t path, std::int32_t depth, CancelPoller& poller);
  template <class Node>
  void look_up_thresholds(std::span<Node> nodes) const;

  const Dataset* data_ = nullptr;
  std::vector<FeatureId> features_;
  std::vector<RowRecords::Place> places_;
  std::vector<Code> n_codes_;
  RankGrowth growth_{};
  ColumnDrawRoom draw_room_;
  Buffer<RankGrowth::Rank> room_;
  Buffer<Code> codes_;
  Buffer<std::uint64_t> marks_;
  std::vector<std::uint64_t> repeats_;
  std::vector<std::uint8_t> has_repeats_;
  std::vector<std::uint16_t> tables_;
  std::vector<double> weights_;
  std::vector<WeighedNode> weighed_;
  std::vector<BlockNode> nodes_;
  std::vector<std::uint32_t> class_counts_;
  std::vector<std::int64_t> moments_;
  std::vector<double> numbers_;
  std::vector<std::int64_t> node_sums_;
  std::vector<NodeFacts> node_facts_;
  std::vector<double> node_values_;
};

}  // namespace hornbeam::grow
