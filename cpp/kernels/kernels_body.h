// The bodies of kernels.h; included once per instruction set, inside a namespace that HORNBEAM_KERNELS names.
#include <algorithm>

#include "hornbeam/kernels.h"

namespace hornbeam::HORNBEAM_KERNELS {

namespace {

void gini_two_classes(const TwoCounts* __restrict left, std::size_t n, TwoCounts node,
                      double* __restrict scores) {
  const double node_rows = rows_of(node);
  const double node_ones = ones_of(node);
  for (std::size_t i = 0; i < n; ++i) {
    const double l = rows_of(left[i]);
    const double l1 = ones_of(left[i]);
    const double l0 = l - l1;
    const double r = node_rows - l;
    const double r1 = node_ones - l1;
    const double r0 = r - r1;
    scores[i] = (l1 * l1 + l0 * l0) / l + (r1 * r1 + r0 * r0) / r;
  }
}

void two_squares(const double* __restrict left_sums, const double* __restrict right_sums,
                 const double* __restrict left, std::size_t n, double node, double* __restrict scores) {
  for (std::size_t i = 0; i < n; ++i) {
    scores[i] = left_sums[i] * left_sums[i] / left[i] + right_sums[i] * right_sums[i] / (node - left[i]);
  }
}

// Eight running maxima: a single one would wait for itself. The order of comparison does not change a
// maximum.
double largest(const double* scores, std::size_t n) {
  double best[8];
  for (double& b : best) b = scores[0];
  std::size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (int j = 0; j < 8; ++j) best[j] = scores[i + j] > best[j] ? scores[i + j] : best[j];
  }
  for (; i < n; ++i) best[0] = std::max(best[0], scores[i]);
  for (int j = 1; j < 8; ++j) best[0] = std::max(best[0], best[j]);
  return best[0];
}

}  // namespace

extern const Kernels table;
const Kernels table = {HORNBEAM_KERNELS_NAME, gini_two_classes, two_squares, largest};

}  // namespace hornbeam::HORNBEAM_KERNELS
