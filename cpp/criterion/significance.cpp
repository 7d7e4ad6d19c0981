#include "criterion/significance.h"

#include <cmath>

#include "base/math.h"
#include "base/types.h"

namespace hornbeam::criterion {

namespace {

constexpr double kConverged = 0x1p-53;
constexpr double kAlmostZero = 1e-300;

// ln Gamma(x) for x > 0: Stirling's series, which wants a large x; Gamma(x + 1) = x Gamma(x) brings it there.
double log_gamma(double x) {
  constexpr double kLargeEnough = 12.0;
  constexpr double kHalfLogTwoPi = 0.9189385332046727;
  double product = 1.0;
  for (; x < kLargeEnough; x += 1) product *= x;
  const double z = 1 / (x * x);
  const double series =
      (1.0 / 12 + z * (-1.0 / 360 + z * (1.0 / 1260 + z * (-1.0 / 1680 + z * (1.0 / 1188))))) / x;
  return (x - 0.5) * ln_of(x) - x + kHalfLogTwoPi + series - ln_of(product);
}

// ln(1 - p) for 0 <= p < 1, exact also where 1 - p rounds (Kahan).
double log_of_rest(double p) {
  const double rest = 1 - p;
  if (rest == 1) return -p;
  return ln_of(rest) * (p / (1 - rest));
}

// Continued fractions by Lentz's method: each step multiplies the value so far by a factor that tends to 1.
class ContinuedFraction {
 public:
  explicit ContinuedFraction(double first) : value_(first), c_(first), d_(0.0) {}
  // Adds the term numerator / (denominator + ...); false once that no longer matters.
  bool add(double numerator, double denominator) {
    d_ = away_from_zero(denominator + numerator * d_);
    c_ = away_from_zero(denominator + numerator / c_);
    d_ = 1 / d_;
    const double factor = c_ * d_;
    value_ *= factor;
    return std::abs(factor - 1) > kConverged;
  }
  double value() const { return value_; }

 private:
  static double away_from_zero(double x) { return std::abs(x) < kAlmostZero ? kAlmostZero : x; }
  double value_;
  double c_;
  double d_;
};

// ln Q(a, x), the upper part of the incomplete gamma function (Abramowitz and Stegun 6.5.29, 6.5.31).
double log_upper_gamma(double a, double x) {
  const double log_front = a * ln_of(x) - x - log_gamma(a);
  if (x < a + 1) {
    double term = 1 / a;
    double sum = term;
    for (double n = a + 1; term > sum * kConverged; n += 1) sum += term *= x / n;
    const double lower = exp_of(log_front + ln_of(sum));
    return log_of_rest(std::fmin(lower, 1 - 0x1p-53));
  }
  ContinuedFraction fraction(x + 1 - a);
  for (double n = 1; fraction.add(-n * (n - a), x + 2 * n + 1 - a); n += 1) {
  }
  return log_front - ln_of(fraction.value());
}

// ln I_x(a, b), the incomplete beta function, where x lies below its mean, about; y = 1 - x (Abramowitz and
// Stegun 26.5.8).
double log_small_beta(double a, double b, double x, double y) {
  ContinuedFraction fraction(1.0);
  for (double m = 0;; m += 1) {
    const bool odd_matters = fraction.add(-(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)), 1.0);
    const double k = m + 1;
    const bool even_matters = fraction.add(k * (b - k) * x / ((a + 2 * k - 1) * (a + 2 * k)), 1.0);
    if (!odd_matters && !even_matters) break;
  }
  const double log_front =
      a * ln_of(x) + b * ln_of(y) + log_gamma(a + b) - log_gamma(a) - log_gamma(b) - ln_of(a);
  return log_front - ln_of(fraction.value());
}

}  // namespace

double chi2_log_sf(double statistic, double dof) {
  if (!(statistic > 0)) return 0.0;
  if (statistic == kInfinity) return -kInfinity;
  if (dof == 2) return -statistic / 2;  // an exponential distribution
  return log_upper_gamma(dof / 2, statistic / 2);
}

double f_log_sf(double f, double d1, double d2) {
  if (!(f > 0)) return 0.0;
  const double ratio = d1 * f / d2;
  if (ratio == kInfinity) return -kInfinity;
  const double x = 1 / (1 + ratio);
  const double y = ratio / (1 + ratio);
  const double a = d2 / 2;
  const double b = d1 / 2;
  if (y == 0) return 0.0;
  if (x < (a + 1) / (a + b + 2)) return log_small_beta(a, b, x, y);
  return log_of_rest(std::fmin(exp_of(log_small_beta(b, a, y, x)), 1 - 0x1p-53));
}

}  // namespace hornbeam::criterion
