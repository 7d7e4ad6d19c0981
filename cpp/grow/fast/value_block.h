// Random tests (extra trees): a node and all that grows below it, grown as one piece of work. What the rows add
// up to is one of several kinds of cells: counts of two classes or of more, weights of two classes, sums.
//
// The rows of a node are a stretch of a list. A node is looked at in one of three ways.
//   listed   More rows than a core's own cache has room for: the values of the features that the node tries
//            are fetched, from the table's columns or from its records, in which those of a row lie side by
//            side.
//   held     Some thousand rows: their records are copied once into a block, and all nodes below fetch from
//            there. Nothing moves but the list.
//   lanes    At most sixteen rows: one register holds a column of all of them. Not even the list changes any
//            more; the nodes below are sets of its lanes.
// The list has two sides: a node's rows lie on one of them, and dividing the node writes those of its
// children to the other, at the same places. The class of two travels with a row's place; anything else a row
// counts is a few words beside the list.
//
// The loops are those of simd/grow/value_block_body.h; cells are in simd/grow/value_two_counts.h,
// simd/grow/value_class_counts.h and simd/grow/value_sums.h. The finders of split/ find the same tests wherever both
// can look.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "base/types.h"
#include "criterion/stats.h"
#include "data/dataset.h"
#include "data/row_values.h"
#include "grow/fast/column_draw.h"
#include "grow/tree_builder.h"

namespace hornbeam::grow {

struct LaneTask;  // grow/lane_task.h

using criterion::Entry;
using data::Column;
using data::RowValues;

// What a kernel gets to grow where rows are more than one of two classes.
struct BlockWords {
  static constexpr std::size_t kMostClasses = 64;
  static constexpr std::size_t kClassesPerWord = 8;  // a byte each

  std::int64_t* of_side[2];  // of the rows in the list, word by word
  std::size_t stride;
  std::size_t
      n_words;  // counts: the classes, a byte each; weights: of either class; sums: the sum, the weight
  std::size_t n_carried;  // more that move with the rows: for sums, the number and its weight, both float64
  std::size_t n_classes;

  // By grown node: what its rows add up to. Where those are sums, what the node says, too.
  BlockNode* nodes;
  std::uint32_t* counts;  // n_classes
  std::int64_t* sums;     // two
  double* weight;
  double* impurity;
  double* value;

  std::int64_t* word(std::int32_t side, std::size_t word, std::size_t row) const {
    return of_side[side] + word * stride + row;
  }
};

// What a kernel gets to grow.
struct BlockGrowth {
  static constexpr std::size_t kLanes = 16;  // lists have room for so many more
  static constexpr std::size_t kFour = ColumnDraw::kFour;

  // Twice where the row is, plus its class: in the table, its number; in the block, where its record begins.
  using ListedRow = std::uint32_t;

  // A node that waits for its test.
  struct Waiting {
    std::size_t begin;  // its rows in the list
    std::size_t n_rows;
    std::uint64_t path;
    std::int32_t node;
    std::int32_t depth;
    std::int32_t side;
  };

  // The data, by feature.
  const Column* const* columns;
  const float* const* by_row;
  const float* records;
  std::size_t record_size;
  std::size_t table_rows;
  const FeatureId* features;
  bool whole_records;     // whether the features are all of those in a record, in its order
  std::size_t held_rows;  // the block has room for
  bool whole_table;       // whether the list begins as that of all rows, in order

  ListedRow* list[2];
  float* block;  // records of draw.n_columns values
  TreeRules rules;
  ColumnDraw draw;
  const std::uint64_t* threshold_keys;  // by feature: of the stream of its thresholds
  Waiting root;
  // Those that are grown: first the root, whose cell is known; children in pairs. Two classes are counted,
  CountedNode* nodes;
  BlockWords words;     // or else nodes are here
  std::size_t n_nodes;  // so far

  // Room for the kernel.
  float* fetched[kFour];  // values of a node's rows

  void (*poll)(void* poller, std::size_t work);
  void* poller;
};

struct ValueRange {
  float least;
  float largest;
};

struct BlockKernels {
  void (*grow_two_counts)(BlockGrowth& growth);
  // Null where registers are narrow: such rows grow by the words of grow/fast/random_nodes.h.
  void (*grow_counts)(BlockGrowth& growth);
  void (*grow_two_weights)(BlockGrowth& growth);
  void (*grow_sums)(BlockGrowth& growth);

  // For random tests of any criterion (grow/fast/random_nodes.h).
  // Copies values from so many places on, and finds the least and the largest.
  ValueRange (*fetch_values)(const float* from, const std::uint32_t* offsets, std::size_t n, float* to);
  // Adds up the words of rows whose value is not larger than the bound, each word of all rows side by side and
  // `stride` apart from the next; returns how many rows they are.
  std::size_t (*sum_words)(const float* values, std::size_t n, float bound, const std::int64_t* words,
                           std::size_t stride, std::size_t n_words, std::int64_t* sums);
};
const BlockKernels& block_kernels();

class ValueBlock {
 public:
  explicit ValueBlock(Region* region) : values_(region), lists_(region), words_(region), cells_(region) {}

  // Cells that it knows, values that float32 holds, and counted rows that are drawn once.
  static bool takes(const LaneTask& lane);

  bool started() const { return !features_.empty(); }
  // The features and rules of a tree; all features of the data have float32 values. The data must outlive it.
  void start(const Dataset& data, const RowValues& values, std::span<const FeatureId> features,
             const TreeRules& rules);
  // Grows what is below a node of class counts (entries as CountStats has them, each row once); returns the
  // place of its copy among `grown`.
  std::int32_t grow(std::span<const Entry> entries, std::uint64_t path, std::int32_t depth,
                    CountedNodes& grown, CancelPoller& poller);

  // The same for other cells. Makes room for so many rows, which are so many words each, and for what their nodes
  // add up to; returns where to write the words, and what the root adds up to.
  BlockWords& start_words(std::size_t n_rows, std::size_t n_words, std::size_t n_carried,
                          std::size_t n_classes);
  // Then grows; returns the nodes, of which the first is the root.
  std::span<const BlockNode> grow_words(void (*kernel)(BlockGrowth& growth), std::span<const Entry> entries,
                                        std::uint64_t path, std::int32_t depth, CancelPoller& poller);

 private:
  void make_room(std::size_t n_rows);
  template <class ClassOf>
  void list_rows(std::span<const Entry> entries, const ClassOf& class_of);

  std::vector<FeatureId> features_;
  std::vector<const Column*> columns_;
  std::vector<const float*> by_row_;
  std::vector<std::uint64_t> threshold_keys_;
  BlockGrowth growth_{};
  Buffer<float> values_;
  Buffer<BlockGrowth::ListedRow> lists_;
  Buffer<std::int64_t> words_;
  Buffer<double> cells_;  // BlockWords' nodes and all there is by node
  ColumnDrawRoom draw_room_;
};

}  // namespace hornbeam::grow
