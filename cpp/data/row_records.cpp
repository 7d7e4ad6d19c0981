#include "data/row_records.h"

#include <algorithm>

namespace hornbeam::data {

namespace {

// The group of each code: those that begin within the same 1/256 of the rows, in ascending order.
template <class Codes>
std::vector<std::uint8_t> group_codes(const Codes& codes, std::size_t n_rows, Code n_codes) {
  std::vector<std::uint8_t> group(n_codes);
  if (n_codes <= kGroups) {
    for (Code code = 0; code < n_codes; ++code) group[code] = static_cast<std::uint8_t>(code);
    return group;
  }
  std::vector<std::uint32_t> count(n_codes, 0);
  for (std::size_t row = 0; row < n_rows; ++row) ++count[codes[row]];
  std::uint64_t before = 0;
  for (Code code = 0; code < n_codes; ++code) {
    group[code] = static_cast<std::uint8_t>(before * kGroups / n_rows);
    before += count[code];
  }
  return group;
}

}  // namespace

bool RowRecords::can_hold(const Dataset& data) {
  if (data.n_rows() >= kMostRows || data.n_features() > kMostFeatures) return false;
  for (FeatureId feature = 0; feature < data.n_features(); ++feature) {
    const Column& column = data.column(feature);
    if (column.kind != ColumnKind::kNumeric || column.has_missing) return false;
  }
  return true;
}

RowRecords::RowRecords(const Dataset& data, CancelPoller& poller)
    : n_rows_(data.n_rows()), first_codes_(static_cast<std::size_t>(data.n_features())) {
  const std::size_t n_features = first_codes_.size();
  fine_begin_ = (n_features + 1) / 2 * 2;
  size_ = (fine_begin_ + 2 * n_features + 7) / 8 * 8;
  records_ = Buffer<std::uint8_t>(size_ * n_rows_);
  groups_ = Buffer<std::uint8_t>(n_features * n_rows_);
  for (FeatureId feature = 0; feature < data.n_features(); ++feature) {
    poller.poll(4 * n_rows_);
    const Column& column = data.column(feature);
    const Place to = place(feature);
    std::array<Code, kGroups>& first_code = first_codes_[static_cast<std::size_t>(feature)];
    std::visit(
        [&](const auto& codes) {
          const std::vector<std::uint8_t> group = group_codes(codes, n_rows_, column.n_codes);
          for (Code code = column.n_codes; code > 0; --code) first_code[group[code - 1]] = code - 1;
          std::uint8_t* record = records_.data();
          std::uint8_t* groups = groups_.data() + to.coarse * n_rows_;
          for (std::size_t row = 0; row < n_rows_; ++row, record += size_) {
            const Code code = codes[row];
            const std::uint8_t coarse = group[code];
            const auto fine = static_cast<std::uint16_t>(code - first_code[coarse]);
            record[to.coarse] = groups[row] = coarse;
            std::memcpy(record + to.fine, &fine, sizeof(fine));
          }
        },
        column.codes);
  }
}

}  // namespace hornbeam::data
