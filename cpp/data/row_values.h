// The values of numeric columns by row, for random tests: a threshold drawn between two values is not a code, so before
// codes could be compared with it, it would have to be looked up among all values.
#pragma once

#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "base/types.h"
#include "data/dataset.h"

namespace hornbeam::data {

class RowValues {
 public:
  // Reads columns with exact codes and without missing values, as float32 if that represents all their values. Tests on
  // other columns use codes.
  RowValues(const Dataset& data, CancelPoller& poller);

  std::size_t n_features() const { return columns_.size(); }
  bool has(FeatureId feature) const { return of(feature) != nullptr || narrow(feature) != nullptr; }
  // Calls the function with the values by row, if the column was read.
  template <class Call>
  auto visit(FeatureId feature, const Call& call) const {
    return narrow(feature) != nullptr ? call(narrow(feature)) : call(of(feature));
  }
  // By row, if they are float32.
  const float* narrow(FeatureId feature) const { return narrow_columns_[static_cast<std::size_t>(feature)]; }
  // Where all columns are float32: the values once more, those of a row side by side; else null.
  const float* records() const { return records_.data(); }

 private:
  const double* of(FeatureId feature) const { return columns_[static_cast<std::size_t>(feature)]; }
  void read(const Dataset& data, CancelPoller& poller);
  void make_records(std::size_t n_rows, CancelPoller& poller);

  // All columns in one allocation, which gets huge pages: rows are read in random order.
  Buffer<double> values_;
  Buffer<float> narrow_values_;
  Buffer<float> records_;
  std::vector<const double*> columns_;
  std::vector<const float*> narrow_columns_;
};

}  // namespace hornbeam::data
