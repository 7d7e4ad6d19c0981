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
// Writes a score per test, larger being better, -inf for a test that must not be; throws to end the fit.
using ScoreBranches = std::function<void(const BranchCells&, double* scores)>;

}  // namespace hornbeam::criterion
