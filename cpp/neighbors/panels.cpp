// Euclidean neighbours by brute force: a single-precision filter, then exact distances of what passes it.
//
// Points and queries are centred (by c) and scaled by a power of two (s), so that offsets common to all rows
// cost no digits and nothing overflows. With a = s (q - c) and b = s (x - c) the kernel computes
//     v ~ |b|^2 / 2 - a.b = (|a - b|^2 - |a|^2) / 2.
// u = 2^-24 being the unit roundoff of a float, n the number of features, |a| and |b| lengths: rounding a and
// b to floats, |b|^2 / 2 to a float, and the n steps of the sum put v off by at most
//     e = 1.01 u (n + 6) |b| (|b| / 2 + |a|) + n 2^-147 (1 + |a| + |b|),
// the last term for numbers so small that floats have no full precision there. A point whose exact sum of
// squares is at most W (the k-th best so far) therefore has v <= (s^2 W' - |a|^2) / 2 + e, where W' is W plus
// the rounding error of a double-precision sum. A point above that limit is not a neighbour; everything else
// is computed exactly. A poor limit makes the search slow, never wrong.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "neighbors/neighbors.h"

namespace hornbeam::neighbors {

namespace {

constexpr std::size_t kGroupPoints = 1024;  // share one length |b|, the largest: a multiple of any panel
constexpr std::size_t kRowsAtOnce = 4096;
constexpr double kFarAway = 0x1p40;  // queries beyond this times the spread of the points are not filtered
constexpr double kSingleRoundoff = 0x1p-24;
constexpr double kDoubleRoundoff = 0x1p-53;
constexpr double kNoPoint = std::numeric_limits<float>::max();

std::size_t in_parts(std::size_t n, std::size_t part) {
  return (n + part - 1) / part;
}

// A float that is not below the value: rounding takes away less than was added before.
float rounded_up(double value) {
  return static_cast<float>(value + std::abs(value) * 0x1p-23 + 0x1p-149);
}

double length(const float* values, std::size_t n, std::size_t stride) {
  double sum = 0;
  for (std::size_t j = 0; j < n; ++j) sum += static_cast<double>(values[j * stride]) * values[j * stride];
  return std::sqrt(sum);
}

}  // namespace

// What the limit of a query depends on besides its neighbours.
struct Panels::Query {
  bool filtered;
  double squared_length;  // of a, in double precision
  double length;
  double margin;  // e for the points of the group that it meets
};

// A pair of query and point that the filter has let pass.
struct Panels::Survivor {
  std::size_t query;
  std::size_t row;
};

Panels::Panels(const MatrixView& points, const Run& run)
    : kernels_(&distance_kernels()),
      n_points_(points.n_rows),
      n_features_(points.n_columns),
      rows_(points.n_rows * points.n_columns),
      centre_(points.n_columns) {
  parallel_for(
      in_parts(n_points_, kRowsAtOnce), run.n_threads,
      [&](std::size_t part, int) {
        const std::size_t end = std::min(n_points_, (part + 1) * kRowsAtOnce);
        for (std::size_t i = part * kRowsAtOnce; i < end; ++i)
          points.read_row(i, rows_.data() + i * n_features_);
      },
      &run.cancel);
  measure(run);
  pack(run);
}

// Finds the centre, the middle of the range of each feature, and the scale.
void Panels::measure(const Run& run) {
  const std::size_t n_parts = in_parts(n_points_, kRowsAtOnce);
  std::vector<double> low(n_parts * n_features_);
  std::vector<double> high(n_parts * n_features_);
  parallel_for(
      n_parts, run.n_threads,
      [&](std::size_t part, int) {
        double* lowest = low.data() + part * n_features_;
        double* highest = high.data() + part * n_features_;
        const std::size_t begin = part * kRowsAtOnce;
        std::copy_n(rows_.data() + begin * n_features_, n_features_, lowest);
        std::copy_n(rows_.data() + begin * n_features_, n_features_, highest);
        for (std::size_t i = begin; i < std::min(n_points_, begin + kRowsAtOnce); ++i) {
          const double* point = rows_.data() + i * n_features_;
          for (std::size_t j = 0; j < n_features_; ++j) {
            lowest[j] = std::min(lowest[j], point[j]);
            highest[j] = std::max(highest[j], point[j]);
          }
        }
      },
      &run.cancel);
  double extent = 0;
  for (std::size_t j = 0; j < n_features_; ++j) {
    for (std::size_t part = 1; part < n_parts; ++part) {
      low[j] = std::min(low[j], low[part * n_features_ + j]);
      high[j] = std::max(high[j], high[part * n_features_ + j]);
    }
    centre_[j] = low[j] + (high[j] - low[j]) / 2;
    extent = std::max({extent, high[j] - centre_[j], centre_[j] - low[j]});
  }
  if (extent > 0) {
    int exponent = 0;
    std::frexp(extent, &exponent);
    exponent = std::clamp(-exponent, -1000, 1000);
    scale_ = std::ldexp(1.0, exponent);
    // Each square may have lost the smallest double. The bound stays a normal number, because subnormal ones
    // are slow.
    underflow_ = std::max(std::ldexp(static_cast<double>(n_features_), 2 * exponent - 1074), 0x1p-1000);
  }
}

void Panels::pack(const Run& run) {
  const std::size_t width = kernels_->panel_points;
  const std::size_t n_panels = in_parts(n_points_, width);
  const std::size_t panels_per_group = kGroupPoints / width;
  panels_ = Buffer<float>(n_panels * width * n_features_);
  half_norms_ = Buffer<float>(n_panels * width);
  norms_of_groups_.assign(in_parts(n_panels, panels_per_group), 0.0);
  parallel_for(
      norms_of_groups_.size(), run.n_threads,
      [&](std::size_t group, int) {
        const std::size_t last_panel = std::min(n_panels, (group + 1) * panels_per_group);
        for (std::size_t i = group * kGroupPoints; i < last_panel * width; ++i) {
          float* values = panels_.data() + i / width * width * n_features_ + i % width;
          if (i >= n_points_) {  // fills up the last panel
            for (std::size_t j = 0; j < n_features_; ++j) values[j * width] = 0;
            half_norms_[i] = kNoPoint;
            continue;
          }
          for (std::size_t j = 0; j < n_features_; ++j)
            values[j * width] = static_cast<float>((rows_[i * n_features_ + j] - centre_[j]) * scale_);
          const double norm = length(values, n_features_, width);
          half_norms_[i] = static_cast<float>(norm * norm / 2);
          norms_of_groups_[group] = std::max(norms_of_groups_[group], norm);
        }
      },
      &run.cancel);
}

Panels::Query Panels::pack_query(const double* query, float* tile_column) const {
  Query result{true, 0, 0, 0};
  for (std::size_t j = 0; j < n_features_; ++j) {
    const double value = (query[j] - centre_[j]) * scale_;
    result.filtered &= std::abs(value) < kFarAway;
    result.squared_length += value * value;
    tile_column[j * kernels_->tile_queries] = static_cast<float>(value);
  }
  result.length = std::sqrt(result.squared_length);
  if (!result.filtered) {
    for (std::size_t j = 0; j < n_features_; ++j) tile_column[j * kernels_->tile_queries] = 0;
  }
  return result;
}

double Panels::margin(const Query& query, double largest_norm) const {
  const auto n = static_cast<double>(n_features_);
  return 1.01 * kSingleRoundoff * (n + 6) * largest_norm * (largest_norm / 2 + query.length) +
         n * 0x1p-147 * (1 + query.length + largest_norm);
}

float Panels::limit(const Query& query, double worst) const {
  if (!query.filtered) return std::numeric_limits<float>::infinity();
  const double allowed = worst * scale_ * scale_ + underflow_;
  const double rounding =
      2 * (static_cast<double>(n_features_) + 4) * kDoubleRoundoff * (allowed + query.squared_length);
  return rounded_up((allowed - query.squared_length) / 2 + rounding + query.margin);
}

// Each is added up in the order of the features, like every exact distance here. Several are computed at
// once, because each step of a sum waits for the one before.
void Panels::squared_distances(const QueryBatch& batch, std::span<const Survivor, kMeasuredAtOnce> pairs,
                               std::span<double, kMeasuredAtOnce> result) const {
  const double* queries[kMeasuredAtOnce];
  const double* points[kMeasuredAtOnce];
  double sums[kMeasuredAtOnce] = {};
  for (std::size_t p = 0; p < kMeasuredAtOnce; ++p) {
    queries[p] = batch.query(pairs[p].query);
    points[p] = rows_.data() + pairs[p].row * n_features_;
  }
  for (std::size_t j = 0; j < n_features_; ++j) {
    for (std::size_t p = 0; p < kMeasuredAtOnce; ++p) {
      const double side = queries[p][j] - points[p][j];
      sums[p] += side * side;
    }
  }
  std::copy_n(sums, kMeasuredAtOnce, result.begin());
}

// Computes the exact distances of the pairs that passed the filter, offers near points, and updates the
// limits. The list of pairs is padded to a multiple of the number that is computed at once.
void Panels::check_survivors(std::vector<Survivor>& pairs, const QueryBatch& batch,
                             std::span<const Query> queries, std::span<float> limits) const {
  const std::size_t n_pairs = pairs.size();
  while (pairs.size() % kMeasuredAtOnce != 0) pairs.push_back(pairs.front());
  std::array<double, kMeasuredAtOnce> distances;
  for (std::size_t first = 0; first < n_pairs; first += kMeasuredAtOnce) {
    squared_distances(batch, std::span(pairs).subspan(first).first<kMeasuredAtOnce>(), distances);
    for (std::size_t p = first; p < std::min(first + kMeasuredAtOnce, n_pairs); ++p) {
      const auto [q, row] = pairs[p];
      Nearest& nearest = batch.nearest[q];
      if (distances[p - first] > nearest.worst()) continue;
      nearest.offer({distances[p - first], static_cast<std::uint32_t>(row)});
      limits[q] = limit(queries[q], nearest.worst());
    }
  }
}

void Panels::search(const QueryBatch& batch, CancelPoller& poller) const {
  const std::size_t tile = kernels_->tile_queries;
  const std::size_t width = kernels_->panel_points;
  const std::size_t n_queries = batch.nearest.size();
  const std::size_t n_tiles = in_parts(n_queries, tile);
  Buffer<float> tiles = Buffer<float>::zeros(n_tiles * tile * n_features_);
  std::vector<Query> queries(n_queries);
  for (std::size_t q = 0; q < n_queries; ++q)
    queries[q] = pack_query(batch.query(q), tiles.data() + q / tile * tile * n_features_ + q % tile);
  // The last tile is padded with queries that have no point near them.
  std::vector<float> limits(n_tiles * tile, -std::numeric_limits<float>::infinity());
  std::vector<std::uint32_t> survivors(n_tiles * tile * width);
  std::vector<Survivor> pairs;
  pairs.reserve(survivors.size() + kMeasuredAtOnce);

  const std::size_t n_panels = in_parts(n_points_, width);
  const std::size_t panels_per_group = kGroupPoints / width;
  for (std::size_t panel = 0; panel < n_panels; ++panel) {
    if (panel % panels_per_group == 0) {
      for (std::size_t q = 0; q < n_queries; ++q) {
        queries[q].margin = margin(queries[q], norms_of_groups_[panel / panels_per_group]);
        limits[q] = limit(queries[q], batch.nearest[q].worst());
      }
    }
    const std::size_t n_survivors =
        kernels_->scan_panel(panels_.data() + panel * width * n_features_, half_norms_.data() + panel * width,
                             n_features_, tiles.data(), n_tiles, limits.data(), survivors.data());
    pairs.clear();
    for (std::size_t s = 0; s < n_survivors; ++s) {
      const std::size_t row = panel * width + survivors[s] % width;
      if (row < n_points_) pairs.push_back({survivors[s] / width, row});
    }
    if (!pairs.empty()) check_survivors(pairs, batch, queries, limits);
    poller.poll(n_tiles * tile * width * n_features_ / 32 + n_survivors * n_features_);
  }
}

}  // namespace hornbeam::neighbors
