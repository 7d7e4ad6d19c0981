#include "split/categories/category_order.h"

#include <algorithm>
#include <cmath>

namespace hornbeam::split {

void round_to_grid(std::vector<double>& keys) {
  double largest = 0.0;
  for (const double key : keys) largest = std::max(largest, std::abs(key));
  if (!(largest > 0)) return;
  const double grid = largest * 0x1p-40;
  for (double& key : keys) key = std::nearbyint(key / grid);
}

void leading_direction(std::span<const double> shares, std::span<const double> weights, int n_classes,
                       std::vector<double>& keys) {
  const std::size_t n_groups = weights.size();
  const std::size_t k = static_cast<std::size_t>(n_classes);
  double total = 0.0;
  std::vector<double> mean(k, 0.0);
  for (std::size_t g = 0; g < n_groups; ++g) {
    total += weights[g];
    for (std::size_t c = 0; c < k; ++c) mean[c] += weights[g] * shares[g * k + c];
  }
  for (double& m : mean) m /= total;

  // Power iteration on the weighted covariance of the shares, never formed: one product is a pass over the
  // groups.
  constexpr int kIterations = 50;
  std::vector<double> direction(k);
  for (std::size_t c = 0; c < k; ++c) direction[c] = 1.0 + static_cast<double>(c) / static_cast<double>(k);
  std::vector<double> next(k);
  for (int iteration = 0; iteration < kIterations; ++iteration) {
    std::fill(next.begin(), next.end(), 0.0);
    for (std::size_t g = 0; g < n_groups; ++g) {
      double projection = 0.0;
      for (std::size_t c = 0; c < k; ++c) projection += (shares[g * k + c] - mean[c]) * direction[c];
      for (std::size_t c = 0; c < k; ++c) next[c] += weights[g] * projection * (shares[g * k + c] - mean[c]);
    }
    double norm = 0.0;
    for (const double v : next) norm += v * v;
    if (!(norm > 0)) break;  // all groups alike
    norm = std::sqrt(norm);
    for (std::size_t c = 0; c < k; ++c) direction[c] = next[c] / norm;
  }
  std::size_t largest = 0;
  for (std::size_t c = 1; c < k; ++c) {
    if (std::abs(direction[c]) > std::abs(direction[largest])) largest = c;
  }
  const double sign = direction[largest] < 0 ? -1.0 : 1.0;
  keys.resize(n_groups);
  for (std::size_t g = 0; g < n_groups; ++g) {
    keys[g] = 0.0;
    for (std::size_t c = 0; c < k; ++c) keys[g] += sign * direction[c] * (shares[g * k + c] - mean[c]);
  }
}

}  // namespace hornbeam::split
