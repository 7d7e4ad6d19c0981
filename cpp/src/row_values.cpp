#include "hornbeam/row_values.h"

namespace hornbeam {

RowValues::RowValues(const Dataset& data, CancelPoller& poller)
    : values_(data.n_rows() * static_cast<std::size_t>(data.n_features())),
      columns_(static_cast<std::size_t>(data.n_features()), nullptr) {
  double* values = values_.data();
  for (FeatureId feature = 0; feature < data.n_features(); ++feature) {
    const Column& column = data.column(feature);
    if (column.kind != ColumnKind::kNumeric || column.binned || column.has_missing) continue;
    poller.poll(data.n_rows());
    std::visit(
        [&](const auto& codes) {
          for (std::size_t row = 0; row < data.n_rows(); ++row) values[row] = column.values[codes[row]];
        },
        column.codes);
    columns_[static_cast<std::size_t>(feature)] = values;
    values += data.n_rows();
  }
}

}  // namespace hornbeam
