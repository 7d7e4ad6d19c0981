// Ordering categories for subset tests. Two classes or a real target: by class share or mean, and the best
// subset is a prefix (Fisher 1958; Breiman et al. 1984). More classes: by the leading principal direction of
// the class shares (Coppersmith, Hong, Hosking 1999), which is exact for two classes and good for more.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "criterion/stats.h"

namespace hornbeam::split {

using criterion::CountStats;
using criterion::SumStats;
using criterion::VectorStats;

// How many classes the order has to deal with; 0 for real targets.
inline int class_channels(const CountStats& stats) {
  return stats.n_classes();
}
inline int class_channels(const SumStats&) {
  return 0;
}
inline int class_channels(const VectorStats& stats) {
  return stats.is_classification() ? stats.offset(stats.n_outputs()) : 0;
}

// Means that are equal mathematically may differ in their last bits. Rounded to a coarser grid they are equal again,
// and the lower code comes first.
void round_to_grid(std::vector<double>& keys);

// `keys[g]` becomes the projection of group g's class shares on the leading principal direction, which is
// oriented so that its largest component is positive. Cells are `size` elements apart, their first
// `n_classes` are class weights.
void leading_direction(std::span<const double> shares, std::span<const double> weights, int n_classes,
                       std::vector<double>& keys);

template <class Element>
void leading_direction(const std::vector<Element>& cells, std::size_t size, int n_classes,
                       std::vector<double>& keys) {
  const std::size_t n_groups = cells.size() / size;
  std::vector<double> shares(n_groups * n_classes);
  std::vector<double> weights(n_groups, 0.0);
  for (std::size_t g = 0; g < n_groups; ++g) {
    for (int k = 0; k < n_classes; ++k) weights[g] += static_cast<double>(cells[g * size + k]);
    for (int k = 0; k < n_classes; ++k)
      shares[g * n_classes + k] = static_cast<double>(cells[g * size + k]) / weights[g];
  }
  leading_direction(std::span<const double>(shares), std::span<const double>(weights), n_classes, keys);
}

}  // namespace hornbeam::split
