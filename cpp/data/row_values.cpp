#include "data/row_values.h"

#include <algorithm>

namespace hornbeam::data {

namespace {

bool is_readable(const Column& column) {
  return column.kind == ColumnKind::kNumeric && !column.binned && !column.has_missing;
}

bool fits_float32(const Column& column) {
  return std::ranges::all_of(column.values, [](double value) { return static_cast<float>(value) == value; });
}

template <class Value>
void read_column(const Column& column, Value* values) {
  std::visit(
      [&](const auto& codes) {
        for (std::size_t row = 0; row < codes.size(); ++row)
          values[row] = static_cast<Value>(column.values[codes[row]]);
      },
      column.codes);
}

}  // namespace

RowValues::RowValues(const Dataset& data, CancelPoller& poller)
    : columns_(static_cast<std::size_t>(data.n_features()), nullptr),
      narrow_columns_(static_cast<std::size_t>(data.n_features()), nullptr) {
  read(data, poller);
  if (std::ranges::all_of(narrow_columns_, [](const float* column) { return column != nullptr; }))
    make_records(data.n_rows(), poller);
}

void RowValues::read(const Dataset& data, CancelPoller& poller) {
  std::vector<FeatureId> wide;
  std::vector<FeatureId> narrow;
  for (FeatureId feature = 0; feature < data.n_features(); ++feature) {
    if (is_readable(data.column(feature)))
      (fits_float32(data.column(feature)) ? narrow : wide).push_back(feature);
  }
  values_ = Buffer<double>(data.n_rows() * wide.size());
  narrow_values_ = Buffer<float>(data.n_rows() * narrow.size());
  const auto read_all = [&](const std::vector<FeatureId>& features, auto* values, auto& columns) {
    for (const FeatureId feature : features) {
      poller.poll(data.n_rows());
      read_column(data.column(feature), values);
      columns[static_cast<std::size_t>(feature)] = values;
      values += data.n_rows();
    }
  };
  read_all(wide, values_.data(), columns_);
  read_all(narrow, narrow_values_.data(), narrow_columns_);
}

void RowValues::make_records(std::size_t n_rows, CancelPoller& poller) {
  const std::size_t size = narrow_columns_.size();
  records_ = Buffer<float>(n_rows * size);
  // A stretch of rows at a time, so that cache lines stay in the cache until they are written completely.
  constexpr std::size_t kStretch = 256;
  for (std::size_t first = 0; first < n_rows; first += kStretch) {
    const std::size_t end = std::min(first + kStretch, n_rows);
    poller.poll((end - first) * size);
    for (std::size_t c = 0; c < size; ++c) {
      for (std::size_t row = first; row < end; ++row) records_[row * size + c] = narrow_columns_[c][row];
    }
  }
}

}  // namespace hornbeam::data
