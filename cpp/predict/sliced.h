// Sliced prediction, for many rows through trees of at most 64 leaves that test few thresholds: boosting on
// binned data, stumps, shallow forests.
//
// The values of a feature are replaced by one byte, the number of the model's thresholds that lie below it;
// x <= threshold k is the same as code <= k. Then, instead of each row looking for its leaf, each test is
// made for all rows of a block at once, 64 rows per instruction: from the bottom of the tree upwards, a test
// takes the leaf number of a row from its right child where the code is above k, else from its left child.
// At the root every row has its leaf number. All tests of the tree are made, even those that a row would never
// meet, but without branches or waiting, and a tree of 31 leaves has only 30 tests.
//
// Missing values have the largest code, so they go right. Tests that send them left look at a second copy of
// the codes, one larger each, in which the largest has become the smallest; blocks without missing values
// have none. Tests on categories are looked up in a table of 256 bytes before the tree is run.
//
// The numbers found so far stay in registers, and a test replaces them where its code is above k. If they belong
// to the right child, they have to be replaced where the code is at or below k: such tests use the mirror image
// of the codes, 255 minus each, which saves an instruction to invert the outcome.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/platform.h"
#include "predict/predict_kernels.h"
#include "predict/predictor.h"

namespace hornbeam::predict {

struct CategoryTest {
  std::uint32_t slot;
  std::uint32_t result;  // first byte, among the codes, of the branches
  std::array<std::uint8_t, 256> branches;
};

struct SlicedTree {
  std::vector<SliceChain> chains;
  std::vector<SliceJoin> joins;
  std::vector<CategoryTest> category_tests;
  std::size_t n_leaves = 0;
  Buffer<double> values;  // [value, leaf number], with room for kMostLeaves
};

class SlicedTrees {
 public:
  // Whether the trees have at most kMostLeaves leaves and two branches per test.
  static bool may_hold(std::span<const Tree* const> trees, std::span<const FeatureId> features);
  SlicedTrees(std::span<const Tree* const> trees, std::span<const FeatureId> features, Unseen unseen);

  // Whether every feature has few enough thresholds or categories for a byte; else nothing else is here.
  bool fits() const { return fits_; }
  std::span<const SlicedTree> trees() const { return trees_; }
  std::span<const FeatureId> features() const { return features_; }
  bool is_categorical(std::size_t slot) const { return is_categorical_[slot]; }
  const ThresholdTable& thresholds(std::size_t slot) const { return thresholds_[slot]; }

  // The codes of a block are four times [slot, row]: codes, their mirror image, the second copy of both. Then
  // come branches of tests on categories.
  std::size_t mirror() const { return features_.size() * kSliceRows; }
  std::size_t second_copy() const { return 2 * mirror(); }
  std::size_t branches_begin() const { return 4 * mirror(); }
  std::size_t code_bytes() const { return branches_begin() + most_category_tests_ * kSliceRows; }

 private:
  class TreeSlicer;

  bool fits_ = false;
  std::vector<FeatureId> features_;
  std::vector<bool> is_categorical_;
  std::vector<ThresholdTable> thresholds_;
  std::size_t most_category_tests_ = 0;  // of a tree
  std::vector<SlicedTree> trees_;
};

// A thread's share of the work: a block of at most kSliceRows rows at a time.
class SlicedWork {
 public:
  SlicedWork(const SlicedTrees& trees, const PredictKernels& kernels, std::size_t score_size);
  void load(const RowSource& rows, std::size_t begin, std::size_t end);
  // The sums of the block's rows begin with these scores [row, score], and end in them.
  void begin_sums(const double* scores);
  void end_sums(double* scores) const;
  // Adds the values of the rows' leaves, times a weight, to the scores from `first_score` on.
  void add_tree(const SlicedTree& tree, double weight, std::size_t first_score);

 private:
  // Codes a feature of some rows, at most kMostValues of them.
  void load_slot(std::size_t slot, const RowSource& rows, std::size_t begin, std::size_t n,
                 std::int8_t* codes);
  std::size_t n_lines() const { return (n_rows_ + kLine - 1) / kLine; }

  const SlicedTrees& trees_;
  const PredictKernels& kernels_;
  std::size_t score_size_;
  std::size_t n_rows_ = 0;
  bool has_missing_ = false;
  Buffer<std::int8_t> codes_;     // see SlicedTrees
  Buffer<std::uint8_t> numbers_;  // of leaves
  Buffer<std::uint8_t> found_;    // the numbers of the rows' leaves in one tree
  Buffer<double> sums_;           // [score, row in the order of the kernels]
};

}  // namespace hornbeam::predict
