// Leave-one-out predictions (left_out.h), rough ones for many training rows at once. They leave only few training rows
// that can have a given rank, and only for these the exact value is computed.
//
// Members are taken in groups of four. The sum of each of the 16 subsets of a group is stored as a byte, so that a
// rough prediction is a sum of bytes that are looked up, for 64 training rows per instruction. Its distance from the
// exact value is bounded: half a unit for each group. Training rows are kept in the order of their errors. Predictions
// differ by less than errors do, so the rows far out in that order lie on a known side of any rank in question.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "predict/left_out.h"
#include "predict/predict_kernels.h"

namespace hornbeam::predict {

// Which members have seen which training rows, laid out for looking up.
class RoughTable {
 public:
  RoughTable(const Said& said, const LeftOut& left_out);

  // With fewer training rows, computing all answers is as quick; with more, the table takes too much memory.
  static bool is_worthwhile(const Said& said, const LeftOut& left_out);

 private:
  friend class RoughRows;
  std::vector<std::uint32_t> order_;           // training rows, by their errors
  std::vector<std::uint8_t> patterns_;         // as RoughPatterns says
  std::vector<std::uint8_t> patterns_by_row_;  // the same bytes, row by row
  std::vector<float> inverse_counts_;          // of the members that have not seen them
  std::vector<float> errors_;                  // as fractions of the largest
  double largest_error_ = 0.0;
  double least_count_ = 0.0, most_count_ = 0.0;
  std::size_t n_lines_ = 0, n_pairs_ = 0;
};

// Takes up to kRoughRows query rows at a time; one per thread.
class RoughRows {
 public:
  RoughRows(const Said& said, const LeftOut& left_out, const RoughTable& table);

  // From now on, number 0 and so on are these rows.
  void ask(std::size_t begin, std::size_t n_rows);

  // Of answers plus `sign` times errors, over all training rows, that of a rank, from 0. Nothing if too many of them
  // are about as large.
  std::optional<double> value_of_rank(std::size_t number, double sign, std::size_t rank);

  // How many training rows have an error below 1 - answer - tolerance; nothing as above.
  std::optional<std::int64_t> count_smaller_errors(std::size_t number, double tolerance);

 private:
  // What is known of a row's answers, all relative to the mean of all members and in units of its tables.
  struct Row {
    std::size_t number;
    double mean, unit;
    double centre;       // what belongs to every sum of bytes
    double error_scale;  // of RoughTable::errors_
    double least, most;  // answers
    double close_doubt;  // how far answers that are summed in another order can be apart, twice
    double uncertainty;  // how far rough answers can be from exact ones
    bool is_usable;
  };
  struct Range {
    std::size_t begin, end, n_below;  // rows in it, and rows that are below all of what was asked for
  };

  void write_tables(Row& row, std::size_t number);
  Range range(const Row& row, double sign, double low, double high) const;
  RoughLine line(const Row& row, double sign) const;
  void look_at(const Row& row);
  double close_answer(std::size_t place) const;
  double exact_answer(std::size_t row, std::size_t training_row) const;
  std::optional<double> exact_value_of_rank(const Row& row, double sign, std::size_t rank,
                                            std::span<const float> kept, double low, double high);

  const Said& said_;
  const LeftOut& left_out_;
  const RoughTable& table_;
  std::vector<std::uint8_t> tables_;
  std::vector<std::uint16_t> sums_;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> places_;
  std::vector<float> kept_, seen_;
  std::vector<std::uint32_t> close_places_;
  std::vector<double> close_, exact_, differences_;
  std::vector<double> byte_sums_;  // [eight members, choice], of the row looked at
  std::size_t looked_at_ = static_cast<std::size_t>(-1);
};

}  // namespace hornbeam::predict
