// The inner loops of nearest neighbours, compiled once per instruction set.
//
// `scan_panel` is a filter: it computes single-precision distances of many queries to many points, and lists
// the pairs that are close enough for an exact distance. Points are stored in panels of `panel_points`,
// feature by feature; queries in tiles of `tile_queries`, likewise. For each pair of a panel and a tile,
// |x|^2 / 2 - q.x, which orders the points of one query as their distance does, is computed in registers and
// compared with the query's limit; only the numbers of pairs not above the limit are stored. Rounding may
// differ between instruction sets; the margin of the limits (neighbors/panels.cpp) covers any rounding.
//
// The others compute exact distances of one query to a block of points, in double precision, feature by
// feature in order, with the same bits on every instruction set. `result` gets the sums before the root is
// taken: they order the points as the distances do.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hornbeam::neighbors {

// Exact distances are computed and compared in blocks of at most this many points, so that a point is a bit
// of a word.
inline constexpr std::size_t kMostAtOnce = 64;

// Points of a block are stored feature by feature: point i has value `values[j * stride + i]` in feature j.
struct PointBlock {
  const double* values;
  std::size_t stride;
  std::size_t n_points;
  std::size_t n_features;
};

// `parameters` belongs to the metric: the power of Minkowski, the range of each column for Gower.
using BlockDistances = void (*)(const PointBlock& block, const double* query, const double* parameters,
                                double* result);

struct DistanceKernels {
  std::size_t tile_queries;
  std::size_t panel_points;

  // Compares one panel with n_tiles tiles. `half_norms` has one number per point, `limits` one per query.
  // Writes query * panel_points + point of each pair whose value is <= the limit, query by query, and returns
  // how many. There must be room for all pairs.
  std::size_t (*scan_panel)(const float* panel, const float* half_norms, std::size_t n_features,
                            const float* tiles, std::size_t n_tiles, const float* limits,
                            std::uint32_t* survivors);

  // Which of n <= kMostAtOnce distances are not above the limit: a bit for each. Distances are read up to the
  // next multiple of eight.
  std::uint64_t (*not_above)(const double* distances, std::size_t n, double limit);

  BlockDistances squared_euclidean;
  BlockDistances manhattan;
  BlockDistances chebyshev;
  BlockDistances minkowski;  // the sum of the powers
  BlockDistances cosine;     // of rows whose length is 1, or 0
  BlockDistances gower;
};

const DistanceKernels& distance_kernels();

}  // namespace hornbeam::neighbors
