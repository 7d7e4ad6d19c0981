// A part: some of the rows of a boosting fit whose other rows are elsewhere. It has the codes, targets and scores of
// its rows and computes their sums for a tree that grows from the sums of all parts (boost/parts/tree_of_parts.h).
// Cells are integers, so the order of sums does not matter. Floating-point sums are made in the same pieces as in a
// fit on all rows, however these are divided: a piece that lies in two parts is begun in one and ended in the next.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "boost/grow/boost_grower.h"
#include "boost/grow/row_leaves.h"
#include "boost/histogram/tiles.h"
#include "boost/losses.h"

namespace hornbeam::boost {

// A part's sums over a node's rows: per slot and code, without unused cells, and per category of columns without a
// slot.
struct PartSums {
  WideCell total{};
  std::size_t n_left = 0;                // rows of branch 0
  std::vector<WideCell> cells;           // one child's, or both, the left one first
  std::vector<CategorySums> categories;  // the same, column after column

  // Keeps the memory: sums of the next node need as much.
  void clear() {
    total = {};
    n_left = 0;
    cells.clear();
    categories.clear();
  }
};

// The leaves of a tree by the numbers of nodes in the parts. A leaf has the rows of one node or of several: its own
// are overwritten once nodes below it have been divided ahead of their turn, in vain.
struct LeafNodes {
  std::vector<std::size_t> nodes;
  std::vector<std::uint32_t> leaf_of;  // each node, ascending
  std::size_t n_leaves = 0;
};

// A part's contribution to the spread of all rows: whole pieces, and the numbers before and after them.
struct PartSpread {
  std::vector<float> before;
  std::vector<Spread> pieces;
  std::vector<float> after;
};

// Sums over leaves: those of whole blocks, [block, leaf], and of a block that ends in a later part, [lane, leaf].
struct PartLeafSums {
  std::vector<LeafSums> blocks;
  std::vector<LeafSums> open;
};

// A block's sums per leaf, from those of its lanes.
std::vector<LeafSums> sum_of_lanes(std::span<const LeafSums> lanes);

class PartRows {
 public:
  // Rows first_row, first_row + 1, ... of n_rows_of_all. The data, `y` and `weights` (empty for none) must
  // outlive this.
  PartRows(const Dataset& data, const BoostParams& params, int n_scores, std::span<const float> y,
           std::span<const float> weights, std::size_t first_row, std::size_t n_rows_of_all, Cancel& cancel);

  // [score][row]
  std::span<double> scores() { return scores_.span(); }
  std::span<float> gradients() { return gradients_.span(); }
  std::span<float> hessians() { return hessians_.span(); }

  void compute_derivatives(const Loss& loss, double huber_delta, Cancel& cancel);

  // Until derivatives are computed again, all scores share one set of tests. Their tree grows on the derivatives
  // along a direction (boost/losses.h), which are counted as one more score, the last.
  void share_tests(std::span<const std::uint64_t> keys, Cancel& cancel);

  // Chooses the rows that the next trees grow on (ascending, numbered within the part; nothing for all).
  // `first_place` is the index of the first among the chosen rows of all parts.
  void choose_rows(std::optional<std::vector<RowId>> rows, std::size_t first_place);
  std::size_t n_chosen() const { return rows_ ? rows_->size() : data_.n_rows(); }

  // The spread of the chosen rows' gradients or hessians.
  PartSpread spread(int score, bool hessians) const;

  // Begins a tree; `root` becomes its root's sums. Nodes are numbered in order of creation; the root is 0.
  void begin_tree(int score, const BoostGrower::Scale& scale, bool hessian_is_one, bool counts,
                  PartSums& root, Cancel& cancel);
  // Divides a node into the next two nodes; `sums` become those that are wanted of them.
  struct Wanted {
    bool total = false;  // of the left child
    bool left = false;
    bool right = false;
  };
  void divide(int score, std::size_t node, const Split& split, Wanted wanted, PartSums& sums, Cancel& cancel);
  // How many rows of a node have each code, kCellsPerSlot numbers for each column that has a slot.
  std::vector<std::uint32_t> rows_by_code(int score, std::size_t node) const;

  // Sums over the rows of leaves, but for the block that an earlier part has begun: `end_block` continues it from
  // that part's sums, [lane, leaf]. It may go on in the next part.
  PartLeafSums sum_leaves(int score, const LeafNodes& leaves, bool hessian_is_one, Cancel& cancel);
  std::vector<LeafSums> end_block(int score, std::size_t n_leaves, bool hessian_is_one,
                                  std::vector<LeafSums> lanes) const;
  // Adds the leaves' values to the scores of the rows that the tree has grown on.
  void add_values(int score, std::span<const double> values, Cancel& cancel);
  // Rows per leaf.
  std::vector<std::int64_t> leaf_sizes(int score, const LeafNodes& leaves) const;
  // y - score of the rows of leaves, leaf after leaf, and their weights if they have any.
  struct Residuals {
    std::vector<double> values;
    std::vector<double> weights;
  };
  Residuals residuals(int score, const LeafNodes& leaves) const;
  // |y - score| of all rows.
  std::vector<double> sizes() const;

 private:
  using NodeState = BoostGrower::NodeState;
  std::span<const float> of_score(const Buffer<float>& buffer, int score) const {
    return {buffer.data() + static_cast<std::size_t>(score) * data_.n_rows(), data_.n_rows()};
  }
  std::span<const float> gradients(int score) const {
    return score == n_scores_ ? along_gradients_.span().first(data_.n_rows()) : of_score(gradients_, score);
  }
  std::span<const float> hessians(int score) const {
    return score == n_scores_ ? along_hessians_.span().first(data_.n_rows()) : of_score(hessians_, score);
  }
  std::size_t tree_of(int score) const { return shares_tests_ ? 0 : static_cast<std::size_t>(score); }
  const BoostGrower& grower(int score) const { return growers_[tree_of(score)]; }
  BoostGrower& grower(int score) { return growers_[tree_of(score)]; }
  static const NodeState& state_of(const BoostGrower& grower, std::size_t node);
  void add_node(BoostGrower& grower, const NodeState& node, PartSums& sums, Cancel& cancel);
  void record_leaves(int score, const LeafNodes& leaves, Cancel& cancel);
  void add_lanes(int score, std::size_t block_begin, std::size_t begin, std::size_t end, bool hessian_is_one,
                 std::span<LeafSums> lanes) const;

  const Dataset& data_;
  BoostParams params_;
  int n_scores_;
  std::span<const float> y_;
  std::span<const float> weights_;
  std::size_t first_row_;
  std::size_t n_rows_of_all_;
  Tiles tiles_;
  HistogramPool histograms_;
  std::deque<BoostGrower> growers_;  // one per score
  // The leaf of each row in the tree that has grown last, by score; rows of none have the number after the last.
  std::vector<std::vector<std::uint32_t>> leaf_numbers_;
  ManyCategories many_;
  std::optional<std::vector<RowId>> rows_;
  std::size_t first_place_ = 0;
  Buffer<double> scores_;
  Buffer<float> gradients_;
  Buffer<float> hessians_;
  bool shares_tests_ = false;
  Buffer<float> along_gradients_;
  Buffer<float> along_hessians_;
};

}  // namespace hornbeam::boost
