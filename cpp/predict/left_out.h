// Leave-one-out predictions of a bag: for each query row and each training row, the mean over the members that have
// not seen that training row. Together with the errors of the training rows under the same members, they give
// prediction intervals and sets whose coverage is guaranteed (recipes/uncertainty.py). There is one for every pair of
// rows, so those of a query row are dropped as soon as they have been ranked or counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"

namespace hornbeam::predict {

// The query rows: said[row, member] is what a member predicts for a row.
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

// The value of a rank, counted from 0. Reorders the values.
double value_of_rank(std::span<double> values, std::size_t rank, std::vector<double>& scratch);

}  // namespace hornbeam::predict
