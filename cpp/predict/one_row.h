// One row, or a few, through trees of at most 32 leaves that test few thresholds: boosting on binned data.
//
// As in sliced.h a value is replaced by the number of thresholds below it. The codes of a row then fit into
// one register, and instead of being walked, a tree has all of its tests made at once: one instruction looks
// up the codes that they ask for, one compares them with the thresholds. The outcomes are the bits of a
// number. The row is in the leaf for which every test on the path has the outcome that leads there; that holds
// for exactly one leaf, and 16 leaves are checked at a time. No step waits for the one before it, and memory is
// read in order.
//
// Missing values have the largest code, so they go right. Tests that send them left look at a second copy of
// the codes, in which they have the smallest.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/platform.h"
#include "predict/predict_kernels.h"
#include "predict/predictor.h"
#include "predict/sliced.h"

namespace hornbeam::predict {

class OneRowTrees {
 public:
  // Whether the trees have few enough leaves and features, and no tests on categories.
  static bool may_hold(std::span<const Tree* const> trees, std::span<const FeatureId> features);
  // `sliced` are the same trees; their codes are used here, too.
  OneRowTrees(std::span<const Tree* const> trees, const SlicedTrees& sliced);

  RowCodes code_row(const RowSource& rows, std::size_t row, const PredictKernels& kernels) const;
  // Two trees per element; the last element may hold only one.
  std::span<const RowTests> tests() const { return tests_.span(); }
  // What a leaf of a tree says: as many values as a leaf has.
  const double* values_of(std::size_t tree, std::uint8_t number) const {
    return values_.data() + (tree * kMostRowLeaves + number) * value_size_;
  }

 private:
  void add_tree(const Tree& tree, std::size_t number);

  const SlicedTrees& sliced_;
  std::vector<std::uint8_t> slot_;  // by feature: its place among the codes
  std::size_t value_size_;
  Buffer<RowTests> tests_;
  Buffer<double> values_;  // [tree, leaf number, value]
};

}  // namespace hornbeam::predict
