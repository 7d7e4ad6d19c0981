// The few loops that profit from wide registers, compiled once per instruction set and chosen once at run
// time. All variants give the same bits: plain IEEE operations, no contraction, no reordering of sums.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hornbeam {

struct Kernels {
  const char* name;

  // Gini of two classes: `left` and `left_ones` count rows and rows of class 1 in branch 0 of each candidate.
  void (*gini_two_classes)(const std::int32_t* left, const std::int32_t* left_ones, std::size_t n,
                           double node, double node_ones, double* scores);
  // left_sum^2 / left + right_sum^2 / (node - left).
  void (*two_squares)(const double* left_sums, const double* right_sums, const double* left, std::size_t n,
                      double node, double* scores);
  // The largest of n >= 1 scores; -inf counts, NaN does not occur.
  double (*largest)(const double* scores, std::size_t n);
};

const Kernels& kernels();

}  // namespace hornbeam
