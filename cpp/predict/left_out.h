// Answers of a bag as it would be without a training row: the mean of what the members say that have not seen
// it, for every row asked about and every training row. With the error of each training row, which comes from
// the same members, they make intervals and sets that hold (recipes/uncertainty.py). There are as many such
// answers as pairs of rows, so none is kept longer than it takes to rank or count those of one row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"

namespace hornbeam::predict {

// What is asked about: said[row, member].
struct Said {
  std::span<const double> values;
  std::size_t n_rows;
  std::size_t n_members;
};

// Training rows: the members that have not seen row i lie from begin[i] to begin[i + 1], at least one;
// errors[i] is how wrong they are about it.
struct LeftOut {
  std::span<const std::int64_t> begin;
  std::span<const std::uint32_t> members;
  std::span<const double> errors;
};

// bounds[row, 0] = the low_rank-th smallest of answers less errors, bounds[row, 1] = the high_rank-th smallest
// of answers plus errors. Ranks count from 1 to the number of training rows.
std::vector<double> ranked_bounds(const Said& said, const LeftOut& left_out, std::size_t low_rank,
                                  std::size_t high_rank, int n_threads, Cancel& cancel);

// For each row, how many training rows have an error below 1 - answer - tolerance.
std::vector<std::int64_t> count_smaller_errors(const Said& said, const LeftOut& left_out, double tolerance,
                                               int n_threads, Cancel& cancel);

// The value of a rank, from 0, among some: they come out in another order.
double value_of_rank(std::span<double> values, std::size_t rank, std::vector<double>& scratch);

}  // namespace hornbeam::predict
