// Random tests (extra trees): grows a node and everything below it in one go. There are several kinds of cells:
// counts of two classes or of more, weights of two classes or of more, and sums of numbers.
//
// The rows of a node are a range of a list. Depending on its size, a node is treated in one of three ways.
//   listed   More rows than fit a core's own cache: the values of the features that the node tries are fetched
//            from the table's columns, or from its records, in which the values of a row lie side by side.
//   held     Some thousand rows: their records are copied into a block once, and all nodes below fetch from
//            there. Only the list changes.
//   lanes    At most sixteen rows: one register holds a column of all of them. Not even the list changes any
//            more; the nodes below are sets of its lanes.
// The list has two sides: a node's rows lie on one of them, and dividing the node writes those of its children to
// the other, at the same indices. Where there are two classes, the class is a bit of the list's entry; anything else
// that a row adds is a few words beside the list.
//
// The loops are those of simd/grow/value_block_body.h; the cells are in simd/grow/value_two_counts.h,
// simd/grow/value_class_counts.h, simd/grow/value_class_weights.h and simd/grow/value_sums.h. The finders of split/ find the same tests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "base/types.h"
#include "criterion/counts.h"
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

// What a kernel needs besides BlockGrowth where rows are not just of two classes.
struct BlockWords {
  static constexpr std::size_t kMostClasses = 64;
  static constexpr std::size_t kClassesPerWord = 8;  // a byte each

  std::int64_t* of_side[2];  // the words of the listed rows: all first words, all second ones, ...
  std::size_t stride;        // from a word to the next
  std::size_t
      n_words;  // counts: a byte per class; two weights: one of each class; weights of more classes: class and
                // weight in one; sums: the sum and the weight
  std::size_t
      n_carried;  // more words that move with the rows; for sums, the number and its weight, both float64
  std::size_t n_classes;
  double mean_unit;  // sums: of their means

  // By grown node: the sums over its rows; where these are numbers, its facts and its value, too.
  BlockNode* nodes;
  std::uint32_t* counts;  // n_classes
  std::int64_t* sums;     // two; or n_classes, where these have weights
  double* weight;
  double* impurity;
  double* value;

  std::int64_t* word(std::int32_t side, std::size_t word, std::size_t row) const {
    return of_side[side] + word * stride + row;
  }
};

// What a kernel needs to grow a node.
struct BlockGrowth {
  static constexpr std::size_t kLanes = 16;  // lists have room for that many rows more
  static constexpr std::size_t kFour = ColumnDraw::kFour;

  // 2 * position + class; the position is the row's number in the table, or where its record begins in the block.
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
  bool whole_records;     // whether `features` are all features of a record, in its order
  std::size_t held_rows;  // how many the block has room for
  bool whole_table;       // whether the list begins as 0, 1, 2, ... over all rows

  ListedRow* list[2];
  float* block;  // records of draw.n_columns values
  TreeRules rules;
  ColumnDraw draw;
  const criterion::EntropyTerm* entropy;  // if that scores tests of counted classes
  const std::uint64_t* threshold_keys;    // by feature: the key of its stream of thresholds
  Waiting root;
  // The grown nodes: first the root, whose cell is known; children in pairs.
  CountedNode* nodes;   // if two classes are counted,
  BlockWords words;     // otherwise in here
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
  void (*grow_two_entropies)(BlockGrowth& growth);
  // Null where registers are narrow: grow/fast/random_nodes.h then takes such rows.
  void (*grow_counts)(BlockGrowth& growth);
  void (*grow_entropies)(BlockGrowth& growth);
  void (*grow_two_weights)(BlockGrowth& growth);
  void (*grow_class_weights)(BlockGrowth& growth);
  void (*grow_weight_entropies)(BlockGrowth& growth);
  void (*grow_sums)(BlockGrowth& growth);
  void (*grow_poisson)(BlockGrowth& growth);

  // For random tests of any criterion (grow/fast/random_nodes.h).
  // Copies n values from[offsets[i]] and finds the least and the largest.
  ValueRange (*fetch_values)(const float* from, const std::uint32_t* offsets, std::size_t n, float* to);
  // Adds up the words of the rows whose value is at most `bound` and returns the number of these rows. A word of all
  // rows lies side by side, `stride` apart from the next word.
  std::size_t (*sum_words)(const float* values, std::size_t n, float bound, const std::int64_t* words,
                           std::size_t stride, std::size_t n_words, std::int64_t* sums);
};
const BlockKernels& block_kernels();

class ValueBlock {
 public:
  explicit ValueBlock(Region* region) : values_(region), lists_(region), words_(region), cells_(region) {}

  // It takes the cells listed above if values fit float32; counted rows must have been drawn once.
  static bool takes(const LaneTask& lane);

  bool started() const { return !features_.empty(); }
  // Begins a tree with these features and rules; all features must have float32 values. The data must outlive it.
  void start(const Dataset& data, const RowValues& values, std::span<const FeatureId> features,
             const TreeRules& rules);
  // Grows everything below a node whose rows are counted (entries as in CountStats, each row once), by gini or by
  // entropy; returns the index of its copy in `grown`.
  std::int32_t grow(std::span<const Entry> entries, const criterion::EntropyTerm* entropy, std::uint64_t path,
                    std::int32_t depth, CountedNodes& grown, CancelPoller& poller);

  // The same for other cells, in two steps. First: makes room for the rows' words and the nodes' sums, and returns
  // where to write the words of the rows and the sums of the root. A node has counts or sums, so many of them.
  BlockWords& start_words(std::size_t n_rows, std::size_t n_words, std::size_t n_carried,
                          std::size_t n_counts, std::size_t n_sums);
  // Second: grows; returns the nodes, of which the first is the root.
  std::span<const BlockNode> grow_words(void (*kernel)(BlockGrowth& growth), std::span<const Entry> entries,
                                        const criterion::EntropyTerm* entropy, std::uint64_t path,
                                        std::int32_t depth, CancelPoller& poller);

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
  ColumnDrawBuffers draw_buffers_;
};

}  // namespace hornbeam::grow
