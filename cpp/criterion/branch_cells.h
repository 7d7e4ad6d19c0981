// How the candidates of a feature are handed to a criterion of the user's own (own.h).
#pragma once

#include <cstddef>
#include <functional>

namespace hornbeam::criterion {

// Candidate tests of one feature, cells[test, branch, element].
struct BranchCells {
  const double* cells;
  std::size_t n_tests;
  std::size_t n_branches;
  std::size_t cell_size;
};
// Writes a score per test: larger is better, -inf forbids the test. Throwing ends the fit.
using ScoreBranches = std::function<void(const BranchCells&, double* scores)>;

}  // namespace hornbeam::criterion
