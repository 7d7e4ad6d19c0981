// The bins of a numeric column in three steps, which may be made in different places: which rows are sampled, what
// the bins are, and the codes of any block of rows. Rows may lie in memory, come from a file block by block, or be
// spread over machines: the bins depend only on the values and the number of rows, never on how the rows are cut
// into blocks.
//
//   sampled_rows(n)     at most 200,000 row numbers; a function of n
//   DistinctNumbers     the distinct values of all rows, as long as they are few; blocks may come in any order
//   make_bins           from both: the distinct values themselves, or edges at the quantiles of the sample
//   codes_in_bins       the codes of a block
#pragma once

#include <optional>
#include <vector>

#include "data/dataset.h"

namespace hornbeam::data {

// The rows that quantiles are taken from, ascending: all of them, or one at random from each of equally long stretches,
// which is as even as a grid but has no period. Which rows these are depends only on the number of rows.
std::vector<RowId> sampled_rows(std::size_t n_rows);

// A column with more distinct values than this gets bins, however many bins are allowed.
inline constexpr std::size_t kMostExactValues = 2048;
std::size_t most_exact_values(int max_bins);

// How a numeric column is coded.
struct Bins {
  bool binned = false;         // codes are bins, `values` the edges between them
  std::vector<double> values;  // or the distinct values, ascending: a code is the number of values below

  Code n_codes() const { return static_cast<Code>(values.size()) + (binned ? 1 : 0); }
  Code missing_code() const { return n_codes(); }
};

// `sample` are the known values of the sampled rows in any order, -0.0 made 0.0; `distinct` those of all rows,
// ascending, or nothing if they are more than most_exact_values(max_bins).
Bins make_bins(std::vector<double> sample, std::optional<std::vector<double>> distinct, int max_bins);

// The distinct ones of ascending numbers; nothing if they are more than `most`.
std::optional<std::vector<double>> distinct_of_sorted(const std::vector<double>& sorted, std::size_t most);

// A column without its codes.
Column column_of(Bins bins);

// The codes of a block of rows. Throws std::invalid_argument for a value that an exact column does not have.
CodeBuffer codes_in_bins(const ColumnView& column, std::size_t n_rows, const Bins& bins);

// Collects the distinct values of a column, block after block, until there are too many. The blocks may come in
// any order: what is known at the end is the same.
class DistinctNumbers {
 public:
  explicit DistinctNumbers(int max_bins);

  void add(const ColumnView& column, std::size_t n_rows);

  bool has_missing() const { return has_missing_; }
  // Ascending; nothing if there are more than most_exact_values(max_bins).
  std::optional<std::vector<double>> values() const;

 private:
  void insert(double value);

  std::size_t most_;
  std::size_t n_distinct_ = 0;
  bool too_many_ = false;
  bool has_missing_ = false;
  std::vector<std::uint64_t> slots_;  // ordered bits plus 1; 0 marks a free slot
};

}  // namespace hornbeam::data
