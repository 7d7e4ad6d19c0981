// The values of numeric columns by row, as random tests look at them: a threshold that is drawn between two
// values is a value, so to compare codes it would have to be looked up among all values first.
#pragma once

#include <vector>

#include "hornbeam/cancel.h"
#include "hornbeam/dataset.h"
#include "hornbeam/platform.h"
#include "hornbeam/types.h"

namespace hornbeam {

class RowValues {
 public:
  // Columns with exact codes and without missing values are read; the others are left to their codes.
  RowValues(const Dataset& data, CancelPoller& poller);

  std::size_t n_features() const { return columns_.size(); }
  // By row; null for a column that is left to its codes.
  const double* of(FeatureId feature) const { return columns_[static_cast<std::size_t>(feature)]; }

 private:
  Buffer<double>
      values_;  // of all columns in one piece, which gets huge pages: rows are looked up all over it
  std::vector<const double*> columns_;
};

}  // namespace hornbeam
