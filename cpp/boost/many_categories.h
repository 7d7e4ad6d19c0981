// The best test on a column of more categories than a byte has codes. No histogram is kept: a node's rows are
// added up category by category, and only the categories that are present are looked at, so the cost follows
// the rows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "boost/cuts.h"
#include "boost/histogram.h"
#include "data/dataset.h"

namespace hornbeam::boost {

class ManyCategories {
 public:
  // Places of cuts are how many categories are left, less one, in the order of their mean gradient; or the
  // number of the one that is.
  Cut find(const Column& column, const NodeRows& rows, const CutTerms& terms, const BranchLimits& limits);
  Split to_split(const Column& column, FeatureId feature, const NodeRows& rows, const Cut& cut,
                 const BranchLimits& limits);

 private:
  struct Sums {
    WideCell cell{};
    std::int64_t rows = 0;
  };

  void load(const Column& column, const NodeRows& rows, const BranchLimits& limits);
  void unload();
  Cut find_one_way(const CutTerms& terms, const BranchLimits& limits, bool missing_left) const;

  std::vector<Sums> sums_;   // per code; all zero between uses
  std::vector<Code> order_;  // the categories that are present
  Sums missing_;
};

}  // namespace hornbeam::boost
