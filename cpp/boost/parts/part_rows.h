// Some of the rows of a boosting fit, the others being elsewhere: a part. It has the codes, targets and scores of
// its rows, and adds them up for trees that grow where all parts answer (boost/parts/tree_of_parts.h). Sums of cells are
// integers and need no order. Sums of floating-point numbers are made in the same pieces as in a fit on all rows,
// whatever the parts are: a piece that lies in two of them is begun in the one and ended in the next.
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

// The sums of a node's rows in a part: per slot and code, without unused cells, and per category of columns that
// have no slot.
struct PartSums {
  WideCell total{};
  std::size_t n_left = 0;                // rows of branch 0
  std::vector<WideCell> cells;           // one child's, or both, the left one first
  std::vector<CategorySums> categories;  // the same, column after column
};

// What a part of a list of numbers adds to the spread of all: whole pieces, and the numbers before and after them.
struct PartSpread {
  std::vector<float> before;
  std::vector<Spread> pieces;
  std::vector<float> after;
};

// Sums over leaves: of whole blocks, [block, leaf], and of a block that ends in a later part, [lane, leaf].
struct PartLeafSums {
  std::vector<LeafSums> blocks;
  std::vector<LeafSums> open;
};

// The sums of a block, per leaf, from those of its lanes.
std::vector<LeafSums> sum_of_lanes(std::span<const LeafSums> lanes);

class PartRows {
 public:
  // Rows first_row, first_row + 1, ... of n_rows_of_all. y and weights (empty for none) stay alive, as does the
  // data set.
  PartRows(const Dataset& data, const BoostParams& params, int n_scores, std::span<const float> y,
           std::span<const float> weights, std::size_t first_row, std::size_t n_rows_of_all, Cancel& cancel);

  // [score][row]
  std::span<double> scores() { return scores_.span(); }
  std::span<float> gradients() { return gradients_.span(); }
  std::span<float> hessians() { return hessians_.span(); }

  void compute_derivatives(const Loss& loss, double huber_delta, Cancel& cancel);

  // From the next tree on, and until the next derivatives: one set of tests for all scores. The tree grows on the
  // derivatives along a direction (boost/losses.h), which have the number after those of the scores.
  void share_tests(std::span<const std::uint64_t> keys, Cancel& cancel);

  // The rows (ascending, numbered within the part; nothing for all) that the next trees grow on; `first_place` is
  // the place of the first of them among those of all parts.
  void choose_rows(std::optional<std::vector<RowId>> rows, std::size_t first_place);
  std::size_t n_chosen() const { return rows_ ? rows_->size() : data_.n_rows(); }

  // Of the chosen rows' gradients or hessians.
  PartSpread spread(int score, bool hessians) const;

  // Begins a tree: the sums of the root. Nodes are numbered in the order in which they come up, the root is 0.
  PartSums begin_tree(int score, const BoostGrower::Scale& scale, bool hessian_is_one, bool counts,
                      Cancel& cancel);
  // Divides a node and adds up what is asked for of its children, the next two nodes.
  struct Wanted {
    bool total = false;  // of the left child
    bool left = false;
    bool right = false;
  };
  PartSums divide(int score, std::size_t node, const Split& split, Wanted wanted, Cancel& cancel);
  // How many rows of a node have each code, kCellsPerSlot numbers for each column that has a slot.
  std::vector<std::uint32_t> rows_by_code(int score, std::size_t node) const;

  // Sums over the rows of leaves. A block that was begun in an earlier part is left alone, or ended by
  // `end_block` from what it was there, [lane, leaf]; it may go on in the next part.
  PartLeafSums sum_leaves(int score, std::span<const std::size_t> leaves, bool hessian_is_one) const;
  std::vector<LeafSums> end_block(int score, std::span<const std::size_t> leaves, bool hessian_is_one,
                                  std::vector<LeafSums> lanes) const;
  // Rows per leaf.
  std::vector<std::int64_t> leaf_sizes(int score, std::span<const std::size_t> leaves) const;
  // y - score of the rows of leaves, leaf after leaf, and their weights if they have any.
  struct Residuals {
    std::vector<double> values;
    std::vector<double> weights;
  };
  Residuals residuals(int score, std::span<const std::size_t> leaves) const;
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
  std::vector<std::uint32_t> leaf_numbers(int score, std::span<const std::size_t> leaves) const;
  void add_lanes(int score, const std::vector<std::uint32_t>& numbers, std::size_t block_begin,
                 std::size_t begin, std::size_t end, std::size_t n_leaves, bool hessian_is_one,
                 std::vector<LeafSums>& lanes) const;

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
