// A block of rows to explain, column by column, and where a row goes at a test.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/platform.h"
#include "explain/explain_kernels.h"
#include "predict/predictor.h"
#include "predict/rows.h"
#include "tree/tree.h"

namespace hornbeam::explain {

using predict::RowSource;
using predict::Unseen;
using tree::Tree;

// Values of the features that the trees test, for a block of rows.
class RowBlock {
 public:
  // `features` are those that the trees test, ascending; they must outlive the block.
  explicit RowBlock(std::span<const FeatureId> features)
      : features_(features), slot_(features.empty() ? 0 : static_cast<std::size_t>(features.back()) + 1) {
    for (std::size_t slot = 0; slot < features.size(); ++slot)
      slot_[static_cast<std::size_t>(features[slot])] = static_cast<std::uint32_t>(slot);
  }

  void load(const RowSource& rows, std::size_t begin, std::size_t end) {
    n_rows_ = end - begin;
    step_ = (n_rows_ + kLanesStep - 1) / kLanesStep * kLanesStep;
    values_.grow_to(features_.size() * step_);
    for (std::size_t slot = 0; slot < features_.size(); ++slot)
      rows.read(features_[slot], begin, end, values_.data() + slot * step_);
  }

  std::size_t n_rows() const { return n_rows_; }
  std::span<const FeatureId> features() const { return features_; }
  std::size_t slot_of(FeatureId feature) const { return slot_[static_cast<std::size_t>(feature)]; }
  // Has room for a multiple of kLanesStep rows.
  const double* column(FeatureId feature) const { return values_.data() + slot_of(feature) * step_; }
  double value(FeatureId feature, std::size_t row) const { return column(feature)[row]; }

 private:
  std::span<const FeatureId> features_;
  std::vector<std::uint32_t> slot_;  // by feature: its place in features_
  std::size_t n_rows_ = 0;
  std::size_t step_ = 0;   // from column to column
  Buffer<double> values_;  // [slot, row]
};

// The row goes down all branches of a test, divided as the rows of the fit were.
inline constexpr std::int32_t kAllBranches = -1;

// The branch that a row takes at a node, as in prediction (predict/plain.h), or kAllBranches.
std::int32_t branch_taken(const Tree& tree, NodeId node, Unseen unseen, const RowBlock& block,
                          std::size_t row);

// Which of the given features are categories, by their place in the list.
std::vector<bool> are_categories(std::span<const Tree* const> trees, std::span<const FeatureId> features);

// Whether a row lacks one of the block's features. In trees without a branch for missing values such a row
// goes down all branches.
bool lacks_a_value(const RowBlock& block, std::size_t row, const std::vector<bool>& is_category,
                   Unseen unseen);

// For each node, the share of its parent's rows that went there in the fit; 1 for the root.
std::vector<double> shares_of_rows(const Tree& tree);

}  // namespace hornbeam::explain
