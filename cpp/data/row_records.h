// Numeric features in two steps: a coarse code, which of at most 256 groups of neighbouring values a row is
// in, with about as many rows each, and a fine one, which value within the group. A node that counts its rows
// by group has an upper bound for the tests within each group; only the few groups that may contain the best
// test are searched value by value (split/find_groups.h). So finding the exact best test costs little more than
// a histogram, and nothing has to be kept in order.
//
// The codes of a row lie side by side, as a record: first the coarse ones, a byte per feature, then the fine
// ones, two bytes per feature.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "base/types.h"
#include "data/dataset.h"

namespace hornbeam::data {

inline constexpr std::size_t kGroups = 256;

// Coarse and fine code in one number, in the order of the values.
using GroupedCode = std::uint32_t;
inline constexpr int kFineBits = 16;
inline constexpr GroupedCode grouped_code(std::uint8_t group, std::uint16_t fine) {
  return GroupedCode{group} << kFineBits | fine;
}

class RowRecords {
 public:
  // With more rows, a group could have more values than there are fine codes.
  static constexpr std::size_t kMostRows = std::size_t{1} << 24;
  // Records move with their rows; with more features they would be too long for that.
  static constexpr int kMostFeatures = 128;
  // Whether all columns are numeric and without missing values, and the table is within both limits.
  static bool can_hold(const Dataset& data);

  RowRecords(const Dataset& data, CancelPoller& poller);

  std::size_t size_of_record() const { return size_; }  // a multiple of 8
  const std::uint8_t* of_row(RowId row) const { return records_.data() + row * size_; }

  // Where a feature is in a record.
  struct Place {
    std::size_t coarse;
    std::size_t fine;
    std::uint8_t group(const std::uint8_t* record) const { return record[coarse]; }
    std::uint16_t fine_code(const std::uint8_t* record) const {
      std::uint16_t code;
      std::memcpy(&code, record + fine, sizeof(code));
      return code;
    }
    GroupedCode grouped(const std::uint8_t* record) const {
      return grouped_code(group(record), fine_code(record));
    }
  };
  Place place(FeatureId feature) const {
    const auto byte = static_cast<std::size_t>(feature);
    return {byte, fine_begin_ + 2 * byte};
  }

  // The coarse codes once more, by row in a column of their own.
  const std::uint8_t* groups(Place place) const { return groups_.data() + place.coarse * n_rows_; }

  Code code(FeatureId feature, GroupedCode grouped) const {
    return first_codes_[static_cast<std::size_t>(feature)][grouped >> kFineBits] +
           static_cast<std::uint16_t>(grouped);
  }

 private:
  std::size_t n_rows_ = 0;
  std::size_t size_ = 0;
  std::size_t fine_begin_ = 0;
  std::vector<std::array<Code, kGroups>> first_codes_;  // per feature and group
  Buffer<std::uint8_t> records_;
  Buffer<std::uint8_t> groups_;
};

}  // namespace hornbeam::data
