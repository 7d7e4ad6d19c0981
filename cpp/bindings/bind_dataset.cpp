// Encoding: columns in, Dataset out.
#include "arrays.h"
#include "base/parallel.h"
#include "data/dataset.h"

namespace hornbeam::bindings {

using data::Column;
using data::Dataset;
using data::encode_bytes;
using data::encode_categories;
using data::encode_numeric;
using data::encode_rows;
using data::encode_sparse;

namespace {

// How one column is to be encoded; kept as views while the lock is released.
struct ColumnTask {
  enum class Form : std::uint8_t { kNumeric, kCategorical, kSparse, kRows } form = Form::kNumeric;
  ColumnView values;
  ColumnView indices;
  std::size_t n_stored = 0;
  Code n_categories = 0;
  const Column* whole = nullptr;
  std::span<const RowId> rows;

  Column encode(std::size_t n_rows, int max_bins, CancelPoller& poller) const {
    switch (form) {
      case Form::kNumeric:
        return encode_numeric(values, n_rows, max_bins, poller);
      case Form::kCategorical:
        return encode_categories(values, n_rows, n_categories);
      case Form::kSparse:
        return encode_sparse(indices, values, n_stored, n_rows, max_bins, poller);
      case Form::kRows:
        return encode_rows(*whole, rows, max_bins);
    }
    throw std::logic_error("unknown form of column");
  }
};

// Rows of a table that is encoded already.
struct EncodedBefore {
  const Dataset* whole = nullptr;
  std::span<const RowId> rows;

  void check(std::size_t n_rows) const {
    if (rows.size() != n_rows) throw nb::value_error("columns of one table differ in length");
    for (const RowId row : rows) {
      if (row >= whole->n_rows()) throw nb::value_error("a row lies outside the table");
    }
  }

  ColumnTask task(FeatureId feature) const {
    if (whole == nullptr || feature < 0 || feature >= whole->n_features()) {
      throw nb::index_error("no such feature");
    }
    const Column& column = whole->column(feature);
    if (column.binned || column.kind != ColumnKind::kNumeric) {
      throw nb::value_error("only exact numeric columns can be encoded again from their codes");
    }
    ColumnTask task;
    task.form = ColumnTask::Form::kRows;
    task.whole = &column;
    task.rows = rows;
    return task;
  }
};

// A tuple per column: (values,), (codes, n_categories) or (row indices, values, None); or the number of a
// column that is encoded already.
ColumnTask task_of(nb::handle item, std::size_t n_rows, const EncodedBefore& before,
                   std::vector<AnyColumn>& alive) {
  if (nb::isinstance<nb::int_>(item)) return before.task(nb::cast<FeatureId>(item));
  const auto parts = nb::cast<nb::tuple>(item);
  ColumnTask task;
  alive.push_back(nb::cast<AnyColumn>(parts[0]));
  task.values = view_of(alive.back());
  std::size_t length = alive.back().shape(0);
  if (parts.size() == 2) {
    task.form = ColumnTask::Form::kCategorical;
    task.n_categories = nb::cast<Code>(parts[1]);
  } else if (parts.size() == 3) {
    task.form = ColumnTask::Form::kSparse;
    task.indices = task.values;
    task.n_stored = length;
    alive.push_back(nb::cast<AnyColumn>(parts[1]));
    task.values = view_of(alive.back());
    if (alive.back().shape(0) != length)
      throw nb::value_error("a sparse column's indices and values differ in length");
    length = n_rows;
  }
  if (length != n_rows) throw nb::value_error("columns of one table differ in length");
  return task;
}

// Encodes the columns that become bytes, all together, and marks them as done.
std::vector<char> encode_dense_numbers(const std::vector<ColumnTask>& tasks, std::size_t n_rows, int max_bins,
                                       int n_threads, Cancel& cancel, std::vector<Column>& encoded) {
  constexpr int kMostBytes = 255;  // one code is reserved for missing values
  std::vector<char> is_encoded(tasks.size(), 0);
  if (max_bins <= 0 || max_bins > kMostBytes) return is_encoded;
  std::vector<std::size_t> places;
  std::vector<ColumnView> views;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i].form != ColumnTask::Form::kNumeric) continue;
    places.push_back(i);
    views.push_back(tasks[i].values);
  }
  std::vector<std::optional<Column>> columns = encode_bytes(views, n_rows, max_bins, n_threads, cancel);
  for (std::size_t j = 0; j < places.size(); ++j) {
    if (!columns[j]) continue;
    encoded[places[j]] = std::move(*columns[j]);
    is_encoded[places[j]] = 1;
  }
  return is_encoded;
}

Dataset encode_table(std::size_t n_rows, nb::list columns, int max_bins, int n_threads, const Dataset* whole,
                     std::optional<Array1<RowId>> rows) {
  const EncodedBefore before{whole, span_of(rows)};
  if (whole != nullptr) before.check(n_rows);
  std::vector<AnyColumn> alive;
  std::vector<ColumnTask> tasks;
  for (nb::handle item : columns) tasks.push_back(task_of(item, n_rows, before, alive));
  return without_lock([&](Cancel& cancel) {
    Dataset data(n_rows);
    std::vector<Column> encoded(tasks.size());
    std::vector<char> is_encoded = encode_dense_numbers(tasks, n_rows, max_bins, n_threads, cancel, encoded);
    std::vector<CancelPoller> pollers;
    for (int w = 0; w < std::max(1, n_threads); ++w) pollers.emplace_back(cancel, w == 0);
    parallel_for(
        tasks.size(), n_threads,
        [&](std::size_t i, int worker) {
          if (is_encoded[i]) return;
          encoded[i] = tasks[i].encode(n_rows, max_bins, pollers[static_cast<std::size_t>(worker)]);
        },
        &cancel);
    for (Column& column : encoded) data.add(std::move(column));
    return data;
  });
}

std::vector<Code> codes_of(const Dataset& data, FeatureId feature) {
  if (feature < 0 || feature >= data.n_features()) throw nb::index_error("no such feature");
  return std::visit(
      [](const auto& codes) { return std::vector<Code>(codes.data(), codes.data() + codes.size()); },
      data.column(feature).codes);
}

}  // namespace

void bind_dataset(nb::module_& module) {
  nb::class_<Dataset>(module, "Dataset", "A table encoded column by column as integer codes.")
      .def_prop_ro("n_rows", &Dataset::n_rows)
      .def_prop_ro("n_features", &Dataset::n_features)
      .def(
          "n_codes", [](const Dataset& data, FeatureId feature) { return data.column(feature).n_codes; },
          nb::arg("feature"))
      .def(
          "codes", [](const Dataset& data, FeatureId feature) { return to_numpy(codes_of(data, feature)); },
          nb::arg("feature"), "The codes of a column; n_codes means missing.")
      .def(
          "values",
          [](const Dataset& data, FeatureId feature) { return to_numpy(data.column(feature).values); },
          nb::arg("feature"), "The distinct values of an exact column, or the inner edges of a binned one.")
      .def(
          "is_constant",
          [](const Dataset& data, FeatureId feature) { return data.column(feature).is_constant(); },
          nb::arg("feature"), "Whether all rows agree, missing values counting as one value.")
      .def(
          "has_missing",
          [](const Dataset& data, FeatureId feature) { return data.column(feature).has_missing; },
          nb::arg("feature"), "Whether some row has no value.")
      .def(
          "is_binned", [](const Dataset& data, FeatureId feature) { return data.column(feature).binned; },
          nb::arg("feature"));
  module.def(
      "encode_table", &encode_table, nb::arg("n_rows"), nb::arg("columns"), nb::arg("max_bins"),
      nb::arg("n_threads"), nb::arg("whole").none() = nb::none(), nb::arg("rows").none() = nb::none(),
      "Encodes columns given as tuples: (values,), (category codes, n_categories) or (row indices, "
      "values, None).\n\n"
      "An integer in the place of a tuple is the number of a numeric column of `whole`, encoded exactly "
      "before, whose `rows` are wanted. max_bins=0 asks for exact codes.");
}

}  // namespace hornbeam::bindings
