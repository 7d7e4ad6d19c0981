// The losses of gradient boosting: derivatives by the score, and how a leaf finds its value.
//
// With y the target and s the score of a row (for log-link losses the prediction is e^s):
//   squared_error   (s - y)^2 / 2
//   absolute_error  |s - y|                              leaf: median of y - s
//   huber           (s - y)^2 / 2 up to delta, then linear
//                   (delta is a quantile of |s - y|, computed anew each round)
//   quantile        pinball loss at alpha                leaf: alpha-quantile of y - s
//   poisson         e^s - y s
//   gamma           s + y e^-s
//   tweedie         e^((2-p)s) / (2-p) - y e^((1-p)s) / (1-p),   1 < p < 2
//   log_loss        log(1 + e^s) - y s,                  y in {0, 1}
//   exponential     e^(-s) for y = 1, e^s for y = 0
//   softmax         -s_y + log(sum_k e^(s_k)),           y in {0, ..., K - 1}, one score per class
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/cancel.h"
#include "base/types.h"
#include "boost/cells.h"

namespace hornbeam::boost {

enum class LossKind : std::uint8_t {
  kSquaredError,
  kAbsoluteError,
  kHuber,
  kQuantile,
  kPoisson,
  kGamma,
  kTweedie,
  kLogLoss,
  kExponential,
  kSoftmax,
};

// What the core knows of a loss besides its derivatives; losses.cpp has a row for each.
struct LossRow {
  LossKind kind;
  std::string_view name;
  bool hessian_is_one;  // for every row, so hessians need no memory
  bool refits_leaves;   // a leaf's value is computed from its residuals, not by a Newton step
};
// The loss of this name, if there is one.
std::optional<LossKind> loss_named(std::string_view name);

// The derivatives of a leaf's rows, summed in floating point.
struct LeafSums {
  double gradient = 0.0;
  double hessian = 0.0;
  double weight = 0.0;
};

struct Loss {
  LossKind kind = LossKind::kSquaredError;
  double parameter = 0.0;  // huber: delta's quantile; quantile: alpha; tweedie: the power p

  const LossRow& row() const;
  bool hessian_is_one() const { return row().hessian_is_one; }
  bool refits_leaves() const { return row().refits_leaves; }
  // A Newton step, cut short where it would overshoot the leaf's minimum.
  double shortened(double step, const LeafSums& leaf) const;
};

// A range of rows; arrays of scores and derivatives are [score][row], with `n_rows` rows per score.
struct LossRows {
  const double* scores;
  const float* y;
  const float* weights;  // null for none
  std::size_t n_rows;    // of the whole table
  std::size_t begin;
  std::size_t end;
};

// Writes gradients, and hessians unless they are all 1 and there are no weights. `delta` is huber's.
void compute_derivatives(const Loss& loss, int n_scores, const LossRows& rows, double delta, float* gradients,
                         float* hessians);

// The same for a whole table, on several threads.
void all_derivatives(const Loss& loss, int n_scores, const LossRows& rows, double delta, float* gradients,
                     float* hessians, int n_threads, Cancel& cancel);

// Derivatives of all rows along one direction: all scores move together, each up or down by the sign in its key.
// Mixed second derivatives are left out, as they are in the leaf values. Input is [score][row].
struct Along {
  const float* gradients;
  const float* hessians;
  std::size_t n_rows;
};
void derivatives_along(std::span<const std::uint64_t> keys, const Along& all, float* gradients,
                       float* hessians, int n_threads, Cancel& cancel);

// The leaf value of a loss that refits leaves. Reorders the residuals y - s and their weights (empty for none).
double refitted_value(const Loss& loss, double delta, std::span<double> residuals, std::span<double> weights);

// The alpha-quantile of weighted values; halfway between two values where it falls between them.
double weighted_quantile(std::span<double> values, std::span<double> weights, double alpha);

}  // namespace hornbeam::boost
