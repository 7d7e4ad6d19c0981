// The encoded table. Each column becomes integer codes once: the rank of the value among the distinct ones
// (exact), or the number of a quantile bin. Comparing codes is comparing values. The last code, n_codes,
// means "missing".
//
// Column-major; u8 while a column has at most 256 codes (missing included), else u16, else u32.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "base/types.h"
#include "data/input.h"

namespace hornbeam::data {

using CodeBuffer = std::variant<Buffer<std::uint8_t>, Buffer<std::uint16_t>, Buffer<std::uint32_t>>;

struct Column {
  ColumnKind kind = ColumnKind::kNumeric;
  bool binned = false;         // codes are bins, `values` their upper edges
  bool has_missing = false;    // some row has code n_codes
  Code n_codes = 0;            // known codes are 0 .. n_codes - 1
  std::vector<double> values;  // exact: the distinct values, ascending; binned: the n_codes - 1 inner edges
  CodeBuffer codes;

  Code missing_code() const { return n_codes; }
  Code code(RowId row) const {
    return std::visit([row](const auto& buffer) { return static_cast<Code>(buffer[row]); }, codes);
  }
  // Encoded columns have no unused codes, except that categories may lack rows.
  bool is_constant() const { return n_codes + (has_missing ? 1 : 0) <= 1; }
};

class Dataset {
 public:
  explicit Dataset(std::size_t n_rows);
  Dataset(Dataset&&) = default;  // codes are large: moved, never copied
  Dataset(const Dataset&) = delete;

  std::size_t n_rows() const { return n_rows_; }
  int n_features() const { return static_cast<int>(columns_.size()); }
  const Column& column(FeatureId feature) const { return columns_[static_cast<std::size_t>(feature)]; }

  // Encoding of the columns of a table runs in parallel; each returns a finished column.
  void add(Column column);
  // Keeps the owner of the memory of codes alive, where that is not the data set itself.
  void keep(std::shared_ptr<void> owner) { owners_.push_back(std::move(owner)); }

 private:
  std::size_t n_rows_;
  std::vector<std::shared_ptr<void>> owners_;
  std::vector<Column> columns_;
};

// max_bins = 0 means exact codes. Polls between the passes over the column.
Column encode_numeric(const ColumnView& column, std::size_t n_rows, int max_bins, CancelPoller& poller);

// Encodes some rows of an exact numeric column with the same result as if they were the whole column, but without
// sorting again.
Column encode_rows(const Column& whole, std::span<const RowId> rows, int max_bins);

// Encodes numeric columns together into at most max_bins <= 255 codes each, with the same result as one by one, but
// reading rows in the order of memory. Returns nothing for a column that turns out to have more values than its
// sample: it must be encoded by itself.
std::vector<std::optional<Column>> encode_bytes(std::span<const ColumnView> views, std::size_t n_rows,
                                                int max_bins, int n_threads, Cancel& cancel);

// A column of implicit zeros with `data` at `indices`.
Column encode_sparse(const ColumnView& indices, const ColumnView& data, std::size_t n_stored,
                     std::size_t n_rows, int max_bins, CancelPoller& poller);

// Category codes stay as they are; kMissingCategory becomes the missing code. A fit has no unseen categories.
Column encode_categories(const ColumnView& column, std::size_t n_rows, Code n_categories);

// The threshold halfway between two neighbouring values: lower <= t < upper, finite whenever a finite t
// exists.
double halfway(double lower, double upper);

// The threshold at a fraction u of the way between two values of the column; infinities count as the largest finite
// numbers. Values up to the threshold lie on the left; the larger of the two values always lies on the right.
double random_threshold(const Column& column, double least, double largest, double u);

// How many of the column's known codes lie at or below the threshold: rows with a smaller code go left.
Code codes_at_or_below(const Column& column, double threshold);

}  // namespace hornbeam::data
