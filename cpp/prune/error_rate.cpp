#include "prune/error_rate.h"

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string>

#include "base/math.h"

namespace hornbeam::prune {

namespace {

// ---- the binomial distribution, for real numbers of trials and successes

// ln of x! divided by Stirling's approximation, x > 0. The series is accurate from 16 on; smaller x are moved
// there by (x+1)! = (x+1) x!.
double stirling_error(double x) {
  double shift = 0.0;
  for (; x < 16; x += 1) shift += (x + 0.5) * ln_of((x + 1) / x) - 1;
  const double z = 1 / (x * x);
  return shift + (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z * (1.0 / 1680 - z / 1188)))) / x;
}

// x ln(x/m) + m - x for positive x and m, without cancellation where x is close to m: with v = (x-m)/(x+m) it
// is (x-m) v + 2 x (v^3/3 + v^5/5 + ...).
double deviance(double x, double m) {
  if (std::abs(x - m) > 0.1 * (x + m)) return x * ln_of(x / m) + m - x;
  const double v = (x - m) / (x + m);
  double power = 2 * x * v;
  double sum = (x - m) * v;
  for (int odd = 3;; odd += 2) {
    power *= v * v;
    const double next = sum + power / odd;
    if (next == sum) return sum;
    sum = next;
  }
}

// The probability of exactly `errors` in n trials, 0 < errors < n, 0 < p < 1. Written as its distance from
// the most likely outcome (Loader 2000), because factorials of large n lose all digits in their difference.
double binomial_density(double errors, double n, double p) {
  const double hits = n - errors;
  const double exponent = stirling_error(n) - stirling_error(errors) - stirling_error(hits) -
                          deviance(errors, n * p) - deviance(hits, n * (1 - p));
  return std::sqrt(n / (2 * std::numbers::pi * errors * hits)) * std::exp(exponent);
}

// I_x(a, b) without its leading factor: the continued fraction 1 / (1 + d_1 / (1 + d_2 / ...)) of Abramowitz
// and Stegun 26.5.8, by Lentz's method. It takes about sqrt(a + b) terms where x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;  // stands in for a denominator of 0
  constexpr int kMaxTerms = 1'000'000;
  const auto nonzero = [](double number) { return number == 0 ? kTiny : number; };
  const auto numerator = [&](int term) {
    const double m = term / 2;
    if (term == 0) return 1.0;
    if (term % 2 == 0) return m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    return -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
  };
  double fraction = 1.0;  // Lentz's method wants a leading term; this one is taken off at the end
  double upper = 1.0;     // ratios of successive numerators and denominators of the convergents
  double lower = 0.0;
  for (int term = 0; term < kMaxTerms; ++term) {
    upper = nonzero(1 + numerator(term) / upper);
    lower = 1 / nonzero(1 + numerator(term) * lower);
    fraction *= upper * lower;
    if (std::abs(upper * lower - 1) < 0x1p-52) break;
  }
  return fraction - 1;
}

// The probability of at most `errors` in n trials, given the density there.
double binomial_tail(double errors, double n, double p, double density) {
  if (1 - p < (n - errors + 1) / (n + 3)) return density * p * beta_fraction(n - errors, errors + 1, 1 - p);
  const double above = density * (n - errors) * p / (errors + 1) * beta_fraction(errors + 1, n - errors, p);
  return 1 - above;
}

// The p at which at most `errors` in n trials have this probability, 1 <= errors < n. Newton's method inside
// a bracket. It starts at the steepest point of the tail, from where it cannot overshoot.
double solve_for_rate(double errors, double n, double probability) {
  double low = 0.0;
  double high = 1.0;
  double p = n - errors > 1 ? errors / (n - 1) : 0.5;
  for (int step = 0; step < 200; ++step) {
    const double density = binomial_density(errors, n, p);
    const double excess = binomial_tail(errors, n, p, density) - probability;
    (excess > 0 ? low : high) = p;
    const double slope = density * (n - errors) / (1 - p);  // the tail falls as p rises
    double next = p + excess / slope;
    if (!(low < next && next < high)) next = low + (high - low) / 2;
    if (std::abs(next - p) <= 0x1p-48 * p) return next;
    p = next;
  }
  return p;
}

}  // namespace

void check_confidence(double confidence) {
  if (!(confidence > 0 && confidence < 1)) {
    throw std::invalid_argument("confidence must lie between 0 and 1, got " + std::to_string(confidence));
  }
}

double upper_error_rate(double errors, double weight, double confidence) {
  check_confidence(confidence);
  if (!(errors < weight)) return 1.0;
  const double without_errors = -std::expm1(ln_of(confidence) / weight);
  if (errors <= 0) return without_errors;
  if (errors < 1) {
    const double with_one = upper_error_rate(1.0, weight, confidence);
    return without_errors + errors * (with_one - without_errors);
  }
  return solve_for_rate(errors, weight, confidence);
}

}  // namespace hornbeam::prune
