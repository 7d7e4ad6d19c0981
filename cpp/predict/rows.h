// Where the rows to predict come from: a table as the user gave it, or rows of an encoded data set. Either is
// read a block of rows at a time, feature by feature, as float64: the one meaning all tests have. Categories
// are their codes, kMissingCategory and kUnseenCategory among them (see data/input.h); a missing number is
// NaN.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "data/dataset.h"
#include "data/input.h"

namespace hornbeam::predict {

using data::ColumnView;
using data::Dataset;
using data::Number;
using data::read_doubles;
using data::read_element;
using data::TableView;

// Read per block and feature, never per value, so that a virtual call costs nothing that shows.
class RowSource {
 public:
  virtual ~RowSource() = default;
  virtual std::size_t n_rows() const = 0;
  virtual std::size_t n_features() const = 0;
  virtual void read(FeatureId feature, std::size_t begin, std::size_t end, double* out) const = 0;
  // The same as float32, if it is that already; else false, and nothing is read.
  virtual bool read_singles(FeatureId, std::size_t, std::size_t, float*) const { return false; }
  // Whether all values of a feature seem to be float32 numbers: a guess, from the type or the first rows.
  virtual bool seems_single(FeatureId feature) const;
};

class TableRows final : public RowSource {
 public:
  explicit TableRows(const TableView& table) : table_(table) {}
  std::size_t n_rows() const override { return table_.n_rows; }
  std::size_t n_features() const override { return table_.columns.size(); }
  void read(FeatureId feature, std::size_t begin, std::size_t end, double* out) const override {
    read_doubles(table_.columns[static_cast<std::size_t>(feature)], begin, end, out);
  }
  bool read_singles(FeatureId feature, std::size_t begin, std::size_t end, float* out) const override {
    const ColumnView& column = table_.columns[static_cast<std::size_t>(feature)];
    if (column.number != Number::kF32) return false;
    for (std::size_t row = begin; row < end; ++row) out[row - begin] = read_element<float>(column, row);
    return true;
  }
  bool seems_single(FeatureId feature) const override {
    return table_.columns[static_cast<std::size_t>(feature)].number == Number::kF32 ||
           RowSource::seems_single(feature);
  }

 private:
  const TableView& table_;
};

// Rows of an encoded data set, which a model grown on it can predict without its values being there: a code
// stands for its value, or for the upper edge of its bin, which lies on the same side of every threshold.
class EncodedRows final : public RowSource {
 public:
  EncodedRows(const Dataset& data, std::span<const RowId> rows);
  std::size_t n_rows() const override { return rows_.size(); }
  std::size_t n_features() const override { return static_cast<std::size_t>(data_.n_features()); }
  void read(FeatureId feature, std::size_t begin, std::size_t end, double* out) const override;

 private:
  const Dataset& data_;
  std::span<const RowId> rows_;
  std::vector<std::vector<double>> meaning_;  // by feature: what each code stands for, "missing" last
};

}  // namespace hornbeam::predict
