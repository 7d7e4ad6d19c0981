#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <variant>

#include "predict/rows.h"

namespace hornbeam::predict {

using data::Column;
using data::kMissingCategory;

namespace {

std::vector<double> meaning_of_codes(const Column& column) {
  std::vector<double> meaning(column.values);
  if (column.kind == ColumnKind::kCategorical) {
    meaning.resize(column.n_codes);
    std::iota(meaning.begin(), meaning.end(), 0.0);
    meaning.push_back(kMissingCategory);
    return meaning;
  }
  meaning.resize(column.n_codes, kInfinity);  // the last bin has no edge above it
  meaning.push_back(std::numeric_limits<double>::quiet_NaN());
  return meaning;
}

}  // namespace

bool RowSource::seems_single(FeatureId feature) const {
  std::array<double, 16> values;
  const std::size_t n = std::min(values.size(), n_rows());
  read(feature, 0, n, values.data());
  return std::all_of(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(n), [](double value) {
    return value != value || static_cast<double>(static_cast<float>(value)) == value;
  });
}

EncodedRows::EncodedRows(const Dataset& data, std::span<const RowId> rows) : data_(data), rows_(rows) {
  meaning_.reserve(n_features());
  for (FeatureId feature = 0; feature < data.n_features(); ++feature)
    meaning_.push_back(meaning_of_codes(data.column(feature)));
}

void EncodedRows::read(FeatureId feature, std::size_t begin, std::size_t end, double* out) const {
  const std::vector<double>& meaning = meaning_[static_cast<std::size_t>(feature)];
  std::visit(
      [&](const auto& codes) {
        for (std::size_t i = begin; i < end; ++i) out[i - begin] = meaning[codes[rows_[i]]];
      },
      data_.column(feature).codes);
}

}  // namespace hornbeam::predict
