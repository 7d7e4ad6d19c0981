// The best test on a column with more categories than a byte has codes. No histogram is kept: a node's rows are
// added up by category, and only categories that occur are looked at, so the cost grows with the rows only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "boost/histogram/cuts.h"
#include "boost/histogram/histogram.h"
#include "data/dataset.h"

namespace hornbeam::boost {

// The sums of one column's categories at a node, where the rows themselves are not at hand.
struct CategorySums {
  std::vector<Code> codes;
  std::vector<WideCell> cells;
  std::vector<std::int64_t> rows;
};

class ManyCategories {
 public:
  // From a node's NodeRows or CategorySums. The place of a cut is the number of categories on the left, less one, in
  // the order of their mean gradients; or, in one-vs-rest tests, the number of the one on the left.
  template <class Source>
  Cut find(const Column& column, const Source& source, const CutTerms& terms, const BranchLimits& limits);
  template <class Source>
  Split to_split(const Column& column, FeatureId feature, const Source& source, const Cut& cut,
                 const BranchLimits& limits);
  CategorySums sums_of(const Column& column, const NodeRows& rows);

 private:
  struct Sums {
    WideCell cell{};
    std::int64_t rows = 0;
  };

  void add(const Column& column, const NodeRows& rows);
  void add(const Column& column, const CategorySums& sums);
  template <class Source>
  void load(const Column& column, const Source& source, const BranchLimits& limits);
  void unload();
  Cut find_one_way(const CutTerms& terms, const BranchLimits& limits, bool missing_left) const;

  std::vector<Sums> sums_;   // per code; all zero between uses
  std::vector<Code> order_;  // the categories that occur
  Sums missing_;
};

}  // namespace hornbeam::boost
