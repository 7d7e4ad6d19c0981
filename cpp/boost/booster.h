// The state of a boosting fit between rounds: scores of all rows, derivatives, the grower with its memory.
// A round: `compute_derivatives` (or writing `gradients` and `hessians`, for a loss from outside), then
// `grow`, or `grow_shared` where all scores are to share their tests.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "boost/grow/boost_grower.h"
#include "boost/grow/row_leaves.h"
#include "boost/histogram/reuse_pool.h"
#include "boost/histogram/tiles.h"
#include "boost/losses.h"
#include "boost/row_buffers.h"
#include "tree/tree.h"

namespace hornbeam::boost {

using tree::Tree;

class Booster {
 public:
  // `y` and `weights` (empty for none) have one element per row. They must outlive the booster, and so must
  // `in_file`, which replaces memory where that is short.
  Booster(const Dataset& data, const BoostParams& params, int n_scores, std::span<const float> y,
          std::span<const float> weights, Cancel& cancel, const RowsInFile& in_file = {});
  static std::size_t row_buffer_bytes(std::size_t n_rows, int n_scores, bool keeps_derivatives);

  // [score][row]; derivatives only if they are kept
  bool keeps_derivatives() const { return !fresh_; }
  std::span<double> scores() { return scores_.span(); }
  std::span<float> gradients(int score) { return row_of_scores(gradients_, score); }
  std::span<float> hessians(int score) { return row_of_scores(hessians_, score); }

  void compute_derivatives(const Loss& loss, Cancel& cancel);

  // Grows one tree per score on the derivatives and adds its leaf values to the scores of all rows; `keys`
  // holds one key per tree. Without a `loss` the derivatives came from outside, and a leaf is a Newton step.
  std::vector<Tree> grow(std::span<const RowId> rows, std::span<const char> features,
                         std::span<const std::uint64_t> keys, const std::optional<Loss>& loss,
                         Cancel& cancel);

  // The same with one set of tests for all scores: a single tree grows on the derivatives along one direction,
  // the sum of all scores with random signs (the top bit of each key); then every score gets leaf values of
  // its own. The first key is the tree's.
  std::vector<Tree> grow_shared(std::span<const RowId> rows, std::span<const char> features,
                                std::span<const std::uint64_t> keys, const std::optional<Loss>& loss,
                                Cancel& cancel);

  // Gives a tree new leaf values, computed from all rows at the current derivatives, and adds them to the
  // scores. `leaves` is the leaf of each row; the tests do not change. The values of the returned tree are
  // multiplied by `share`, a power of two, since it is one of several that are averaged.
  Tree refit(const Tree& tree, std::span<const NodeId> leaves, int score, double share,
             const std::optional<Loss>& loss, Cancel& cancel);

 private:
  template <class T>
  std::span<T> row_of_scores(Buffer<T>& buffer, int score) {
    return buffer.span().subspan(static_cast<std::size_t>(score) * data_.n_rows(), data_.n_rows());
  }
  std::size_t n_with_own_grower(std::size_t n_trees);
  // The scores that a grown tree serves.
  struct Scores {
    int first;
    int count;
  };
  // Derivatives of some rows: row r is at index r - first_row. They are in `computed` if the fit does not
  // keep them.
  struct SomeDerivatives {
    const float* gradients;
    const float* hessians;
    std::size_t first_row;
  };
  SomeDerivatives derivatives_of(int score, std::size_t begin, std::size_t end, std::vector<float>& computed);
  Derivatives along(std::span<const std::uint64_t> keys, Cancel& cancel);
  std::vector<Tree> finish_trees(BoostGrower& grower, Scores scores, std::span<const RowId> rows,
                                 bool hessian_is_one, const std::optional<Loss>& loss, Cancel& cancel);
  std::vector<LeafSums> sum_leaves(const BoostGrower& grower, RowLeaves& row_leaves, int score,
                                   bool hessian_is_one, bool recorded, Cancel& cancel);
  double refit_leaf(const Loss& loss, const LeafRows& leaf, BoostGrower::Bounds bounds, int score);
  double residual_value(const Loss& loss, std::span<const RowId> rows, int score) const;
  std::vector<LeafSums> sum_nodes(const Tree& tree, std::span<const NodeId> leaves, int score,
                                  bool hessian_is_one, Cancel& cancel);
  std::vector<NodeId> walk_left_out(const BoostGrower& grower, std::span<const RowId> rows, Cancel& cancel);
  void add_to_scores(BoostGrower& grower, const RowLeaves& row_leaves, int score, std::span<const RowId> rows,
                     std::span<const NodeId> left_out, Cancel& cancel);

  const Dataset& data_;
  BoostParams params_;
  int n_scores_;
  std::span<const float> y_;
  std::span<const float> weights_;
  Tiles tiles_;
  HistogramPool histograms_;
  BoostGrower grower_;                                   // all threads work on its tree
  std::deque<BoostGrower> own_growers_;                  // a grower per thread, each with a tree of its own
  ReusePool<Buffer<std::uint8_t>> leaf_number_buffers_;  // for RowLeaves, one per tree that is being finished
  RowBuffers row_buffers_;
  Buffer<double> scores_;
  Buffer<float> gradients_;
  Buffer<float> hessians_;
  Buffer<float> along_gradients_;  // of trees that all scores share
  Buffer<float> along_hessians_;
  std::optional<FreshDerivatives> fresh_;
  double huber_delta_ = 0.0;
};

}  // namespace hornbeam::boost
