#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "base/counters.h"
#include "base/math.h"
#include "base/parallel.h"
#include "boost/boost_kernels.h"
#include "boost/losses.h"

namespace hornbeam::boost {

namespace {

// A row for each loss, in the order of LossKind.
constexpr std::array kLosses = {
    LossRow{LossKind::kSquaredError, "squared_error", true, false},
    LossRow{LossKind::kAbsoluteError, "absolute_error", true, true},
    LossRow{LossKind::kHuber, "huber", true, true},
    LossRow{LossKind::kQuantile, "quantile", true, true},
    LossRow{LossKind::kPoisson, "poisson", false, false},
    LossRow{LossKind::kGamma, "gamma", false, false},
    LossRow{LossKind::kTweedie, "tweedie", false, false},
    LossRow{LossKind::kLogLoss, "log_loss", false, false},
    LossRow{LossKind::kExponential, "exponential", false, false},
    LossRow{LossKind::kSoftmax, "softmax", false, false},
};
static_assert([] {
  for (std::size_t i = 0; i < kLosses.size(); ++i) {
    if (static_cast<std::size_t>(kLosses[i].kind) != i) return false;
  }
  return true;
}());

struct Pair {
  double gradient;
  double hessian;
};

template <class Rule>
void for_rows(const LossRows& rows, float* gradients, float* hessians, Rule rule) {
  for (std::size_t i = rows.begin; i < rows.end; ++i) {
    const Pair pair = rule(rows.scores[i], static_cast<double>(rows.y[i]));
    const double weight = rows.weights == nullptr ? 1.0 : static_cast<double>(rows.weights[i]);
    gradients[i] = static_cast<float>(pair.gradient * weight);
    if (hessians != nullptr) hessians[i] = static_cast<float>(pair.hessian * weight);
  }
}

// Calls `work(begin, end)` for stretches of rows that are short enough to share out few rows evenly.
template <class Work>
void for_stretches(std::size_t n_rows, int n_threads, Cancel& cancel, const Work& work) {
  constexpr std::size_t kRowsPerTask = 1 << 12;
  parallel_for((n_rows + kRowsPerTask - 1) / kRowsPerTask, n_threads,
               [&](std::size_t task, int) {
                 const Timed timed("derivatives");
                 work(task * kRowsPerTask, std::min((task + 1) * kRowsPerTask, n_rows));
               },
               &cancel);
}

void weigh(const LossRows& rows, float* values) {
  if (rows.weights == nullptr) return;
  for (std::size_t i = rows.begin; i < rows.end; ++i) values[i] *= rows.weights[i];
}

// In blocks of rows, so that the memory for the classes' probabilities stays small.
void softmax(int n_scores, const LossRows& rows, float* gradients, float* hessians) {
  constexpr std::size_t kRowsPerBlock = 256;
  const auto n_classes = static_cast<std::size_t>(n_scores);
  std::vector<double> scratch((n_classes + 2) * kRowsPerBlock);
  for (std::size_t begin = rows.begin; begin < rows.end; begin += kRowsPerBlock) {
    const std::size_t n = std::min(kRowsPerBlock, rows.end - begin);
    boost_kernels().softmax(rows.scores + begin, rows.y + begin, n, n_classes, rows.n_rows, scratch.data(),
                            gradients + begin, hessians + begin);
  }
  for (std::size_t k = 0; k < n_classes; ++k) {
    weigh(rows, gradients + k * rows.n_rows);
    weigh(rows, hessians + k * rows.n_rows);
  }
}

// How far the score of a leaf's rows would be from the minimum of log loss if they were all alike: from the
// logit of their probability p, of which p (1 - p) is their mean hessian, to that of p + |mean gradient|, the
// share of rows that are of the class. If all of them are, there is no minimum; then 1 - p / 2 is used.
double distance_to_share(const LeafSums& leaf) {
  constexpr double kLeastHessian = 0x1p-100;  // of rows whose p is 0 or 1 in floating point
  const double hessian = std::clamp(leaf.hessian / leaf.weight, kLeastHessian, 0.25);
  const double p = 2 * hessian / (1 + std::sqrt(1 - 4 * hessian));  // the smaller root, without cancellation
  const double others = std::max(p / 2, 1 - p - std::abs(leaf.gradient) / leaf.weight);
  return ln_of((1 - others) / others) - ln_of(p / (1 - p));
}

double sign(double x) {
  return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0;
}

}  // namespace

std::optional<LossKind> loss_named(std::string_view name) {
  for (const LossRow& row : kLosses) {
    if (row.name == name) return row.kind;
  }
  return std::nullopt;
}

const LossRow& Loss::row() const {
  return kLosses[static_cast<std::size_t>(kind)];
}

// Newton's step ends where a parabola has its minimum. If the loss flattens out towards its minimum, that is
// too far: rows of a class that seemed almost impossible have almost no curvature, and the step of their leaf
// would be huge.
//
// Poisson, gamma: the step v overshoots on the exponential side, where the leaf's mean is met at log(1 + v)
// (without l1 and l2). On the other side it stops short.
// Log loss: at most twice the way to the minimum. Beyond that a step does more harm than good; within it,
// where Newton's step is the usual one, it stays as it is.
double Loss::shortened(double step, const LeafSums& leaf) const {
  const double size = std::abs(step);
  if (size < 0x1p-26) return step;  // so small a step is the logarithm
  if (kind == LossKind::kLogLoss || kind == LossKind::kSoftmax)
    return std::copysign(std::min(size, 2 * distance_to_share(leaf)), step);
  const bool too_far = (kind == LossKind::kPoisson && step > 0) || (kind == LossKind::kGamma && step < 0);
  return too_far ? std::copysign(ln_of(1.0 + size), step) : step;
}

void compute_derivatives(const Loss& loss, int n_scores, const LossRows& rows, double delta, float* gradients,
                         float* hessians) {
  const double p = loss.parameter;
  switch (loss.kind) {
    case LossKind::kSquaredError:
      return for_rows(rows, gradients, hessians, [](double s, double y) { return Pair{s - y, 1.0}; });
    case LossKind::kAbsoluteError:
      return for_rows(rows, gradients, hessians, [](double s, double y) { return Pair{sign(s - y), 1.0}; });
    case LossKind::kHuber:
      return for_rows(rows, gradients, hessians,
                      [=](double s, double y) { return Pair{std::clamp(s - y, -delta, delta), 1.0}; });
    case LossKind::kQuantile:
      return for_rows(rows, gradients, hessians,
                      [=](double s, double y) { return Pair{s >= y ? 1.0 - p : -p, 1.0}; });
    case LossKind::kPoisson:
      return for_rows(rows, gradients, hessians, [](double s, double y) {
        const double mean = exp_of(s);
        return Pair{mean - y, mean};
      });
    case LossKind::kGamma:
      return for_rows(rows, gradients, hessians, [](double s, double y) {
        const double ratio = y * exp_of(-s);
        return Pair{1.0 - ratio, ratio};
      });
    case LossKind::kTweedie:
      return for_rows(rows, gradients, hessians, [=](double s, double y) {
        const double a = y * exp_of((1.0 - p) * s);
        const double b = exp_of((2.0 - p) * s);
        return Pair{b - a, (2.0 - p) * b - (1.0 - p) * a};
      });
    case LossKind::kLogLoss:
      boost_kernels().log_loss(rows.scores + rows.begin, rows.y + rows.begin, rows.end - rows.begin,
                               gradients + rows.begin, hessians + rows.begin);
      weigh(rows, gradients);
      weigh(rows, hessians);
      return;
    case LossKind::kExponential:
      return for_rows(rows, gradients, hessians, [](double s, double y) {
        const double size = exp_of(y > 0 ? -s : s);
        return Pair{y > 0 ? -size : size, size};
      });
    case LossKind::kSoftmax:
      return softmax(n_scores, rows, gradients, hessians);
  }
}

double weighted_quantile(std::span<double> values, std::span<double> weights, double alpha) {
  const std::size_t n = values.size();
  if (weights.empty()) {
    const double place = alpha * static_cast<double>(n);
    const auto below = static_cast<std::size_t>(std::min(std::floor(place), static_cast<double>(n - 1)));
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(below), values.end());
    const double upper = values[below];
    if (place != std::floor(place) || below == 0) return upper;
    // The share ends exactly between two values.
    const double lower =
        *std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(below));
    return (lower + upper) / 2;
  }
  std::vector<std::size_t> order(n);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  double total = 0.0;
  for (const double weight : weights) total += weight;
  const double wanted = alpha * total;
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    sum += weights[order[i]];
    if (sum > wanted || i + 1 == n) return values[order[i]];
    if (sum == wanted) return (values[order[i]] + values[order[i + 1]]) / 2;
  }
  return values[order[n - 1]];
}

double refitted_value(const Loss& loss, double delta, std::span<double> residuals,
                      std::span<double> weights) {
  if (loss.kind == LossKind::kQuantile) return weighted_quantile(residuals, weights, loss.parameter);
  const std::vector<double> in_order(residuals.begin(), residuals.end());
  const double median = weighted_quantile(residuals, weights, 0.5);
  if (loss.kind == LossKind::kAbsoluteError) return median;
  // One step from the median towards the mean of what is clipped (Friedman 2001, section 4.4).
  double sum = 0.0;
  double total = 0.0;
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    const double weight = weights.empty() ? 1.0 : weights[i];
    sum += weight * std::clamp(in_order[i] - median, -delta, delta);
    total += weight;
  }
  return median + sum / total;
}

void all_derivatives(const Loss& loss, int n_scores, const LossRows& rows, double delta, float* gradients,
                     float* hessians, int n_threads, Cancel& cancel) {
  for_stretches(rows.n_rows, n_threads, cancel, [&](std::size_t begin, std::size_t end) {
    LossRows stretch = rows;
    stretch.begin = begin;
    stretch.end = end;
    compute_derivatives(loss, n_scores, stretch, delta, gradients, hessians);
  });
}

void derivatives_along(std::span<const std::uint64_t> keys, const Along& all, float* gradients,
                       float* hessians, int n_threads, Cancel& cancel) {
  for_stretches(all.n_rows, n_threads, cancel, [&](std::size_t begin, std::size_t end) {
    std::fill(gradients + begin, gradients + end, 0.0F);
    std::fill(hessians + begin, hessians + end, 0.0F);
    for (std::size_t score = 0; score < keys.size(); ++score) {
      const float sign = keys[score] >> 63 != 0 ? -1.0F : 1.0F;
      const float* first = all.gradients + score * all.n_rows;
      const float* second = all.hessians + score * all.n_rows;
      for (std::size_t row = begin; row < end; ++row) {
        gradients[row] += sign * first[row];
        hessians[row] += second[row];
      }
    }
  });
}

}  // namespace hornbeam::boost
