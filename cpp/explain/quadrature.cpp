#include "explain/quadrature.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace hornbeam::explain {

namespace {

// The cosine by its series: sums and products only, so that it has the same bits everywhere. 0 <= x <= pi.
double cosine(double x) {
  double term = 1.0;
  double sum = 1.0;
  for (int k = 1; k < 20; ++k) {
    term *= -x * x / ((2.0 * k - 1) * (2.0 * k));
    sum += term;
  }
  return sum;
}

struct Legendre {
  double value;
  double slope;
};

// The polynomial of degree n at x, -1 < x < 1.
Legendre legendre(std::size_t n, double x) {
  double before = 1.0;
  double value = x;
  for (std::size_t k = 2; k <= n; ++k) {
    const auto degree = static_cast<double>(k);
    const double next = ((2 * degree - 1) * x * value - (degree - 1) * before) / degree;
    before = value;
    value = next;
  }
  return {value, static_cast<double>(n) * (x * value - before) / (x * x - 1)};
}

Quadrature with_points(std::size_t n) {
  Quadrature made{std::vector<double>(n), std::vector<double>(n)};
  for (std::size_t i = 0; i < (n + 1) / 2; ++i) {
    // Newton's method from a good guess; the points lie symmetrically.
    double x = cosine(std::numbers::pi * (static_cast<double>(i) + 0.75) / (static_cast<double>(n) + 0.5));
    if (2 * i + 1 == n) x = 0.0;
    for (int step = 0; step < 8; ++step) {
      const Legendre at = legendre(n, x);
      x -= at.value / at.slope;
    }
    const double slope = legendre(n, x).slope;
    const double weight = 1.0 / ((1 - x * x) * slope * slope);
    made.at[i] = (1 - x) / 2;
    made.at[n - 1 - i] = (1 + x) / 2;
    made.weight[i] = made.weight[n - 1 - i] = weight;
  }
  return made;
}

}  // namespace

std::size_t points_for(std::size_t n_columns) {
  const std::size_t exact = (n_columns + 1) / 2;
  const auto enough = static_cast<std::size_t>(3.1 * std::sqrt(static_cast<double>(n_columns))) + 2;
  return std::max<std::size_t>(1, std::min(exact, enough));
}

Quadratures::Quadratures(std::size_t most_columns) {
  for (std::size_t n = 1; n <= points_for(most_columns); ++n) made_.push_back(with_points(n));
}

}  // namespace hornbeam::explain
