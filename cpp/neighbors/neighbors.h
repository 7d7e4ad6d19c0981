// Exact nearest neighbours: built once from a matrix of points, it answers queries with rows and distances.
//
// Three structures answer the same question with the same bits. `Blocks` compares a query with every point,
// in double precision, for any metric. `Panels` filters by a single-precision kernel first (Euclidean only).
// `KdTree` leaves out boxes of points that are too far away (metrics that add up the features one by one).
// A distance is the sum, in double precision and in the order of the features, that the metric's kernel in
// neighbors/distances.h defines; equally near rows come in the order of their numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "neighbors/distances.h"
#include "neighbors/nearest.h"

namespace hornbeam::neighbors {

// Numbers in rows, in single or double precision; memory of the caller.
struct MatrixView {
  const void* data;
  bool is_single;
  std::size_t n_rows;
  std::size_t n_columns;

  void read_row(std::size_t row, double* result) const;
};

enum class MetricKind : std::uint8_t { kEuclidean, kManhattan, kChebyshev, kMinkowski, kCosine, kGower };

struct Metric {
  MetricKind kind = MetricKind::kEuclidean;
  std::vector<double>
      parameters{};  // Minkowski: the power; Gower: the range of each column, 0 for categories

  BlockDistances kernel() const;
  // Turns the sum that orders the points into the distance.
  double distance_of(double sum) const;
};

// How a structure is built and searched: the number of threads, and what may stop it.
struct Run {
  int n_threads;
  Cancel& cancel;
};

// Some queries at once, in double precision, row after row, and the neighbours found for each so far.
struct QueryBatch {
  std::span<const double> values;
  std::span<Nearest> nearest;
  std::size_t n_features;

  const double* query(std::size_t q) const { return values.data() + q * n_features; }
};

// Points in blocks of double precision, feature by feature within a block.
class PointBlocks {
 public:
  // Block b holds the points [begins[b], begins[b + 1]) of the matrix.
  PointBlocks(const MatrixView& points, std::vector<std::uint32_t> begins, const Run& run);
  // The same for points given feature by feature, which are the rows numbered in `rows`.
  PointBlocks(const double* values, std::size_t n_features, std::vector<std::uint32_t> rows,
              std::vector<std::uint32_t> begins);

  std::size_t n_blocks() const { return begins_.size() - 1; }
  std::size_t n_features() const { return n_features_; }
  std::size_t most_points() const { return stride_; }
  std::uint32_t begin(std::size_t block) const { return begins_[block]; }
  std::uint32_t row(std::uint32_t position) const { return rows_.empty() ? position : rows_[position]; }
  PointBlock block(std::size_t block) const {
    return {values_.data() + block * n_features_ * stride_, stride_, begins_[block + 1] - begins_[block],
            n_features_};
  }

 private:
  std::size_t common_stride() const;

  std::vector<std::uint32_t> rows_;
  std::vector<std::uint32_t> begins_;
  std::size_t n_features_;
  std::size_t stride_;
  Buffer<double> values_;
};

class Blocks {
 public:
  Blocks(const MatrixView& points, const Metric& metric, const Run& run);
  void search(const QueryBatch& batch, CancelPoller& poller) const;
  // The sums of all points, in the order of the rows.
  void all_sums(const double* query, double* result) const;

 private:
  PointBlocks blocks_;
  Metric metric_;
};

class KdTree {
 public:
  // The feature by which a node is cut, and where: decides which half is searched first.
  struct Cut {
    double value;
    std::size_t feature;
  };

  KdTree(const MatrixView& points, const Metric& metric, const Run& run);
  void search(const QueryBatch& batch, CancelPoller& poller) const;
  // The numbers of the queries, sorted by the part of the tree they lie in: neighbouring queries visit the
  // same boxes, which then are in the cache. Empty if there are too many queries to number.
  std::vector<std::uint32_t> order_of(const MatrixView& queries, const Run& run) const;

 private:
  // A box is its lower corner, then its upper one.
  const double* box(std::size_t node) const { return boxes_.data() + node * 2 * blocks_.n_features(); }
  template <MetricKind kind>
  void search_by(const QueryBatch& batch, CancelPoller& poller) const;
  std::size_t near_half(std::size_t node, const double* query) const;

  Metric metric_;
  std::size_t n_leaves_;  // a power of two; nodes are numbered from the root, level by level
  Buffer<double> boxes_;
  std::vector<Cut> cuts_;  // of all nodes but the leaves
  PointBlocks blocks_;
};

class Panels {
 public:
  Panels(const MatrixView& points, const Run& run);
  void search(const QueryBatch& batch, CancelPoller& poller) const;

 private:
  struct Query;
  struct Survivor;
  static constexpr std::size_t kMeasuredAtOnce = 4;

  void measure(const Run& run);
  void pack(const Run& run);
  Query pack_query(const double* query, float* tile_column) const;
  double margin(const Query& query, double largest_norm) const;
  float limit(const Query& query, double worst) const;
  void squared_distances(const QueryBatch& batch, std::span<const Survivor, kMeasuredAtOnce> pairs,
                         std::span<double, kMeasuredAtOnce> result) const;
  void check_survivors(std::vector<Survivor>& pairs, const QueryBatch& batch, std::span<const Query> queries,
                       std::span<float> limits) const;

  const DistanceKernels* kernels_;
  std::size_t n_points_;
  std::size_t n_features_;
  Buffer<double> rows_;  // as they are
  std::vector<double> centre_;
  double scale_ = 1;                     // a power of two: centred and scaled, all values are in [-1, 1]
  double underflow_ = 0x1p-1000;         // how much a scaled sum of squares can lose to underflow
  Buffer<float> panels_;                 // centred and scaled
  Buffer<float> half_norms_;             // of the points in the panels
  std::vector<double> norms_of_groups_;  // the largest in each group of panels
};

enum class Structure : std::uint8_t { kBlocks, kPanels, kTree };

struct NeighborTable {
  std::vector<std::int64_t> rows;  // queries x k
  std::vector<double> distances;
};

class NeighborIndex {
 public:
  NeighborIndex(const MatrixView& points, Metric metric, Structure structure, int n_threads, Cancel& cancel);

  std::size_t n_points() const { return n_points_; }
  std::size_t n_features() const { return n_features_; }
  NeighborTable search(const MatrixView& queries, std::size_t k, int n_threads, Cancel& cancel) const;
  // The distances of all points to each query, in the order of the points; of the structure kBlocks only.
  std::vector<double> all_distances(const MatrixView& queries, int n_threads, Cancel& cancel) const;

 private:
  std::size_t n_points_;
  std::size_t n_features_;
  Metric metric_;
  std::variant<Blocks, Panels, KdTree> structure_;
};

// The place, row by row, of the first number that is not finite or beyond +-limit; the number of all numbers
// if there is none. NaN passes if `nan_allowed`.
std::size_t first_unusable(const MatrixView& matrix, double limit, bool nan_allowed, int n_threads);

}  // namespace hornbeam::neighbors
