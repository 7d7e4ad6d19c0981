#include "explain/beta.h"

#include <vector>

namespace hornbeam::explain {

namespace {

const double* table() {
  static const std::vector<double> found = [] {
    std::vector<double> made((kMostOfBeta + 1) * kRowOfBetas);  // the 0 at the start of each row stays
    for (std::size_t i = 0; i <= kMostOfBeta; ++i) {
      double* column = made.data() + 1 + i;
      *column = 1.0 / (static_cast<double>(i) + 1);
      for (std::size_t j = 1; j <= kMostOfBeta; ++j)
        column[j * kRowOfBetas] =
            column[(j - 1) * kRowOfBetas] * static_cast<double>(j) / (static_cast<double>(i + j) + 1);
    }
    return made;
  }();
  return found.data();
}

}  // namespace

double beta(int a, int b) {
  return table()[static_cast<std::size_t>(a) * kRowOfBetas + 1 + static_cast<std::size_t>(b)];
}

// The integral is the same if t is exchanged for 1 - t: beta(a, b) = beta(b, a).
const double* row_of_betas(int b) {
  return table() + static_cast<std::size_t>(b) * kRowOfBetas;
}

}  // namespace hornbeam::explain
