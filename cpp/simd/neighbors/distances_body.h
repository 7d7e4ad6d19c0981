// The bodies of neighbors/distances.h; included once per instruction set, inside a namespace that
// HORNBEAM_KERNELS names. Before, that namespace defines `Lanes`, some floats in one register, with load,
// broadcast, subtract_product(sum, a, b) = sum - a * b, smaller, and not_above(x): one bit per lane that is
// <= x; `eight_not_above`, the same for eight doubles in memory; and how many registers a tile takes:
// kTileQueries x kVectors sums, kVectors values of points, one of a query.
#include <algorithm>
#include <bit>
#include <cmath>

#include "neighbors/distances.h"

namespace hornbeam::neighbors::HORNBEAM_KERNELS {

namespace {

// ---------------------------------------------------------------------------------------------------------
// The filter

constexpr int kPanelPoints = kVectors * Lanes::kCount;

struct Tile {
  Lanes sums[kTileQueries][kVectors];
};

inline Tile multiply(const float* panel, const float* half_norms, std::size_t n_features,
                     const float* queries) {
  Tile tile;
  for (int v = 0; v < kVectors; ++v) {
    const Lanes start = Lanes::load(half_norms + v * Lanes::kCount);
    for (int q = 0; q < kTileQueries; ++q) tile.sums[q][v] = start;
  }
  for (std::size_t j = 0; j < n_features; ++j) {
    Lanes points[kVectors];
    for (int v = 0; v < kVectors; ++v) points[v] = Lanes::load(panel + v * Lanes::kCount);
    for (int q = 0; q < kTileQueries; ++q) {
      const Lanes value = Lanes::broadcast(queries[q]);
      for (int v = 0; v < kVectors; ++v)
        tile.sums[q][v] = Lanes::subtract_product(tile.sums[q][v], value, points[v]);
    }
    panel += kPanelPoints;
    queries += kTileQueries;
  }
  return tile;
}

inline bool any_survives(const Tile& tile, const float* limits) {
  unsigned any = 0;
  for (int q = 0; q < kTileQueries; ++q) {
    Lanes least = tile.sums[q][0];
    for (int v = 1; v < kVectors; ++v) least = Lanes::smaller(least, tile.sums[q][v]);
    any |= least.not_above(limits[q]);
  }
  return any != 0;
}

std::size_t report(const Tile& tile, const float* limits, std::size_t first_query, std::uint32_t* survivors) {
  std::size_t count = 0;
  for (int q = 0; q < kTileQueries; ++q) {
    for (int v = 0; v < kVectors; ++v) {
      unsigned lanes = tile.sums[q][v].not_above(limits[q]);
      const std::size_t first = (first_query + q) * kPanelPoints + v * Lanes::kCount;
      for (; lanes != 0; lanes &= lanes - 1)
        survivors[count++] = static_cast<std::uint32_t>(first + std::countr_zero(lanes));
    }
  }
  return count;
}

std::size_t scan_panel(const float* panel, const float* half_norms, std::size_t n_features,
                       const float* tiles, std::size_t n_tiles, const float* limits,
                       std::uint32_t* survivors) {
  std::size_t count = 0;
  for (std::size_t t = 0; t < n_tiles; ++t) {
    const Tile tile = multiply(panel, half_norms, n_features, tiles + t * n_features * kTileQueries);
    const float* tile_limits = limits + t * kTileQueries;
    if (any_survives(tile, tile_limits))
      count += report(tile, tile_limits, t * kTileQueries, survivors + count);
  }
  return count;
}

// ---------------------------------------------------------------------------------------------------------
// Exact distances

std::uint64_t not_above(const double* distances, std::size_t n, double limit) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < n; i += 8) bits |= std::uint64_t{eight_not_above(distances + i, limit)} << i;
  return n < kMostAtOnce ? bits & ((std::uint64_t{1} << n) - 1) : bits;
}

// Adds what each feature contributes, in the order of the features.
template <class Contribution>
inline void sum_features(const PointBlock& block, const double* query, double* __restrict result,
                         Contribution contribution) {
  std::fill_n(result, block.n_points, 0.0);
  for (std::size_t j = 0; j < block.n_features; ++j) {
    const double* __restrict values = block.values + j * block.stride;
    const double q = query[j];
    for (std::size_t i = 0; i < block.n_points; ++i) result[i] += contribution(q, values[i]);
  }
}

void squared_euclidean(const PointBlock& block, const double* query, const double*, double* result) {
  sum_features(block, query, result, [](double q, double x) { return (q - x) * (q - x); });
}

void manhattan(const PointBlock& block, const double* query, const double*, double* result) {
  sum_features(block, query, result, [](double q, double x) { return std::abs(q - x); });
}

void chebyshev(const PointBlock& block, const double* query, const double*, double* __restrict result) {
  std::fill_n(result, block.n_points, 0.0);
  for (std::size_t j = 0; j < block.n_features; ++j) {
    const double* __restrict values = block.values + j * block.stride;
    const double q = query[j];
    for (std::size_t i = 0; i < block.n_points; ++i) {
      const double gap = std::abs(q - values[i]);
      result[i] = gap > result[i] ? gap : result[i];
    }
  }
}

void minkowski(const PointBlock& block, const double* query, const double* power, double* result) {
  const double p = power[0];
  sum_features(block, query, result, [p](double q, double x) { return std::pow(std::abs(q - x), p); });
}

void cosine(const PointBlock& block, const double* query, const double*, double* result) {
  sum_features(block, query, result, [](double q, double x) { return q * x; });
  for (std::size_t i = 0; i < block.n_points; ++i) result[i] = std::max(0.0, 1.0 - result[i]);
}

// The mean difference over the features both rows have; 1, the largest there is, if they share none. A
// number differs by its share of the column's range, at most 1; a category (range 0) by 0 or 1.
void gower(const PointBlock& block, const double* query, const double* ranges, double* __restrict result) {
  double known[kMostAtOnce];
  for (std::size_t begin = 0; begin < block.n_points; begin += kMostAtOnce) {
    const std::size_t n = std::min(kMostAtOnce, block.n_points - begin);
    double* __restrict sums = result + begin;
    std::fill_n(sums, n, 0.0);
    std::fill_n(known, n, 0.0);
    for (std::size_t j = 0; j < block.n_features; ++j) {
      const double* __restrict values = block.values + j * block.stride + begin;
      const double q = query[j];
      const double range = ranges[j];
      if (std::isnan(q)) continue;
      for (std::size_t i = 0; i < n; ++i) {
        const double x = values[i];
        const double share = range > 0 ? std::abs(q - x) / range : (q == x ? 0.0 : 1.0);
        const double is_known = x == x ? 1.0 : 0.0;
        sums[i] += x == x ? std::min(1.0, share) : 0.0;
        known[i] += is_known;
      }
    }
    for (std::size_t i = 0; i < n; ++i) sums[i] = known[i] > 0 ? sums[i] / known[i] : 1.0;
  }
}

}  // namespace

extern const DistanceKernels distance_table;
const DistanceKernels distance_table = {kTileQueries, kPanelPoints, scan_panel, not_above, squared_euclidean,
                                        manhattan,    chebyshev,    minkowski,  cosine,    gower};

}  // namespace hornbeam::neighbors::HORNBEAM_KERNELS
