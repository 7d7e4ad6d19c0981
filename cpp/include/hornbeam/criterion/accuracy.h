// Misclassification: a branch scores the weight of its most frequent class, so that the score of a test is
// the weight it classifies rightly.
//
//   accuracy  weight * impurity = n - max n_k     (6-decisions, 11: the stump of AdaBoost)
//
// A poor score for growing large trees: many tests that part the classes leave the majorities as they are,
// and tie. It is what a stump of least weighted error needs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "hornbeam/stats.h"

namespace hornbeam {

// Two classes counted as whole numbers. With s the sum of the squares of two counts and n their sum, the
// larger one is (n + sqrt(2 s - n^2)) / 2; the root is that of a square, hence exact.
struct TwoClassAccuracyTerm {
  explicit TwoClassAccuracyTerm(std::int64_t) {}
  std::int64_t operator()(std::int64_t count) const { return count * count; }
  double branch(std::int64_t squares, std::int64_t count) const {
    return (static_cast<double>(count) + std::sqrt(static_cast<double>(2 * squares - count * count))) / 2;
  }
  double scale(std::int64_t) const { return 0.0; }
  double unit() const { return 1.0; }
};

// Any number of classes and any weights.
struct VectorAccuracy {
  static double branch(const VectorStats& stats, const std::int64_t* cell) {
    std::int64_t right = 0;
    for (int o = 0; o < stats.n_outputs(); ++o) {
      right += *std::max_element(cell + stats.offset(o), cell + stats.offset(o + 1));
    }
    return static_cast<double>(right);
  }
  static double scale(const VectorStats&, const std::int64_t*) { return 0.0; }
  static double unit(const VectorStats& stats) { return stats.weight_unit(); }
};

}  // namespace hornbeam
