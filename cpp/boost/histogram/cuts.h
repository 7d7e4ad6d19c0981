// The best test of one feature at one node, from the cells of its histogram.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "boost/boost_kernels.h"
#include "boost/histogram/histogram.h"
#include "data/dataset.h"
#include "split/split.h"

namespace hornbeam::boost {

using data::Column;
using split::Split;

struct Cut {
  double score = -kInfinity;
  // Numeric: the last cell on the left. Categorical: the number of groups on the left, less one; or, in
  // one-vs-rest tests, the number of the one group on the left.
  Code place = 0;
  bool missing_left = false;
  bool found = false;
};

// What a branch must satisfy beyond CutTerms.
struct BranchLimits {
  std::int64_t node_rows = 0;
  std::int64_t min_rows = 1;
  int direction = 0;          // monotonic constraint of the feature
  double lower = -kInfinity;  // bounds on a branch's value, in units of gradient per hessian
  double upper = kInfinity;
  double l2 = 0.0;                  // in the denominator of such a value
  double category_smoothing = 0.0;  // in units of hessian
  bool one_category = false;        // one-vs-rest tests: a single category goes left
};

// Twice the loss that the node saves as a leaf, in squared units of gradient.
double score_of_node(const CutTerms& terms);

// The gains of a feature's cuts, summed over several nodes; for rows without a value going right, and going left.
struct CutGains {
  std::size_t n = 0;
  bool has_missing = false;
  double missing_right[kCellsPerSlot] = {};
  double missing_left[kCellsPerSlot] = {};

  // The cut with the largest gain; of those within rounding of it, the first.
  Cut best(double score_of_nodes) const;
};

void write_categories(std::span<const Code> present, const Cut& cut, const BranchLimits& limits,
                      Split& split);

// Turns a cut of a feature into a test; `order` lists its categories, if it is categorical.
Split split_at(const Column& column, std::span<const Code> order, const Cut& cut, bool has_missing);

class CutFinder {
 public:
  // The cut with the best score. `min_rows` is observed only if `rows_by_code`, the node's rows per code, is
  // given.
  Cut find(const Column& column, Histogram& histogram, const Digit& digit, const CutTerms& terms,
           const BranchLimits& limits, std::span<const std::uint32_t> rows_by_code = {});

  // Hessian left of a cut, in fixed point.
  double left_hessian(const Column& column, Histogram& histogram, const Digit& digit, const Cut& cut,
                      const BranchLimits& limits);

  // Adds each cut's gain at a node. A cut that leaves too little in a branch adds nothing, since the node would
  // stay whole. Categories are taken in the given order.
  void add_gains(const Column& column, Histogram& histogram, const Digit& digit, const CutTerms& terms,
                 std::span<const Code> order, CutGains& gains);
  // A node's categories in the order that cuts follow.
  std::vector<Code> order_of_categories(const Column& column, Histogram& histogram, const Digit& digit,
                                        const BranchLimits& limits);

  // Turns a cut into a test.
  Split to_split(const Column& column, Histogram& histogram, const Digit& digit, const Cut& cut,
                 const BranchLimits& limits);

 private:
  Cut find_one_way(const Column& column, const CutTerms& terms, const BranchLimits& limits, bool missing_left,
                   std::span<const std::uint32_t> rows_by_code);
  template <class Cell>
  const Cell* cells_of(const Cell* joint, const Digit& digit, Cell (&own)[kCellsPerSlot]);
  void load(const Column& column, Histogram& histogram, const Digit& digit, const BranchLimits& limits);
  void load_cells(const Column& column, Histogram& histogram, const Digit& digit);
  void take_in_order();
  void order_categories(double smoothing);
  void single_out_categories();
  void refuse_few_rows(std::size_t n, const BranchLimits& limits, bool missing_left,
                       std::span<const std::uint32_t> rows_by_code, Code missing_code);
  void refuse_wrong_direction(std::size_t n, const CutTerms& terms, const BranchLimits& limits,
                              bool missing_left);

  bool wide_ = false;
  std::size_t n_cells_ = 0;  // known codes, or groups of categories that are present
  const PackedCell* packed_ = nullptr;
  const WideCell* wide_cells_ = nullptr;
  PackedCell own_packed_[kCellsPerSlot];  // of a feature that shares its slot
  WideCell own_wide_[kCellsPerSlot];
  WideCell missing_{};
  bool has_missing_ = false;
  std::vector<Code> present_;  // categories in the node
  std::vector<double> keys_;   // what they are sorted by
  std::vector<Code> order_;    // the same categories in the order of their mean gradient, or by code
  std::vector<PackedCell> ordered_packed_;
  std::vector<WideCell> ordered_wide_;
  double scores_[kCellsPerSlot];
};

}  // namespace hornbeam::boost
