// The plain walk: each row from the root to its leaf, test by test, on the tree as it is. It serves every
// kind of test and is what all faster paths must equal.
#pragma once

#include <span>
#include <vector>

#include "base/cancel.h"
#include "predict/predictor.h"

namespace hornbeam::predict {

// Whether a tree has a test that only the plain walk can make. The faster paths know thresholds and tables of
// categories, with two branches, one of which takes missing values. A new kind of test has to be named only here:
// models that have it are then never given to a faster path.
bool needs_plain_walk(const Tree& tree);

// A thread's share of the work: a block of rows at a time, walked through one tree after the other.
class PlainWalk {
 public:
  static constexpr std::size_t kBlockRows = 512;

  // `features` are those that the trees test, ascending.
  PlainWalk(std::span<const FeatureId> features, Unseen unseen);
  void load(const RowSource& rows, std::size_t begin, std::size_t end);
  // The leaf of each row of the block. A row that goes down several branches gets the leaf with its largest portion,
  // the first of equals; a row for which a tree has no answer gets the node where its path ends.
  void find_leaves(const Tree& tree, CancelPoller& poller, NodeId* leaves) const;
  // What the tree says of each row of the block: the values of its leaves in proportion to the row's portions.
  void mix_leaves(const Tree& tree, CancelPoller& poller, double* values) const;

 private:
  auto values_of_row(std::size_t row) const {
    return [this, row](FeatureId feature) {
      return values_[slot_[static_cast<std::size_t>(feature)] * kBlockRows + row];
    };
  }

  std::span<const FeatureId> features_;
  std::vector<std::size_t> slot_;  // by feature: its place in features_
  Unseen unseen_;
  std::size_t n_rows_ = 0;
  std::vector<double> values_;  // [slot, row]
};

}  // namespace hornbeam::predict
