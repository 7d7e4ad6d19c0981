#include "neighbors/neighbors.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "base/parallel.h"

namespace hornbeam::neighbors {

namespace {

constexpr std::size_t kBlockPoints = kMostAtOnce;
constexpr std::size_t kQueriesAtOnce = 240;  // a multiple of every kernel's tile
constexpr std::size_t kQueriesRounded = 12;

std::vector<CancelPoller> pollers(int n_threads, Cancel& cancel) {
  std::vector<CancelPoller> result;
  for (int worker = 0; worker < std::max(1, n_threads); ++worker) result.emplace_back(cancel, worker == 0);
  return result;
}

std::size_t in_parts(std::size_t n, std::size_t part) {
  return (n + part - 1) / part;
}

std::vector<std::uint32_t> every(std::size_t step, std::size_t n) {
  std::vector<std::uint32_t> begins;
  for (std::size_t begin = 0; begin < n; begin += step) begins.push_back(static_cast<std::uint32_t>(begin));
  begins.push_back(static_cast<std::uint32_t>(n));
  return begins;
}

std::variant<Blocks, Panels, KdTree> build(const MatrixView& points, const Metric& metric,
                                           Structure structure, const Run& run) {
  const bool adds_features = metric.kind != MetricKind::kCosine && metric.kind != MetricKind::kGower;
  switch (structure) {
    case Structure::kBlocks:
      return Blocks(points, metric, run);
    case Structure::kPanels:
      if (metric.kind != MetricKind::kEuclidean) throw std::invalid_argument("panels are Euclidean only");
      return Panels(points, run);
    case Structure::kTree:
      if (!adds_features) throw std::invalid_argument("the metric has no bounds for boxes");
      return KdTree(points, metric, run);
  }
  throw std::logic_error("unknown structure");
}

}  // namespace

void MatrixView::read_row(std::size_t row, double* result) const {
  if (is_single) {
    const float* values = static_cast<const float*>(data) + row * n_columns;
    for (std::size_t j = 0; j < n_columns; ++j) result[j] = values[j];
  } else {
    const double* values = static_cast<const double*>(data) + row * n_columns;
    std::copy_n(values, n_columns, result);
  }
}

// ------------------------------------------------------------------------------------------------------------
// Metrics

BlockDistances Metric::kernel() const {
  const DistanceKernels& kernels = distance_kernels();
  switch (kind) {
    case MetricKind::kEuclidean:
      return kernels.squared_euclidean;
    case MetricKind::kManhattan:
      return kernels.manhattan;
    case MetricKind::kChebyshev:
      return kernels.chebyshev;
    case MetricKind::kMinkowski:
      return kernels.minkowski;
    case MetricKind::kCosine:
      return kernels.cosine;
    case MetricKind::kGower:
      return kernels.gower;
  }
  throw std::logic_error("unknown metric");
}

double Metric::distance_of(double sum) const {
  if (kind == MetricKind::kEuclidean) return std::sqrt(sum);
  if (kind == MetricKind::kMinkowski) return std::pow(sum, 1 / parameters[0]);
  return sum;
}

// ------------------------------------------------------------------------------------------------------------
// Blocks

// Large enough for the largest block, and a multiple of cache lines.
std::size_t PointBlocks::common_stride() const {
  std::size_t most = 0;
  for (std::size_t b = 0; b < n_blocks(); ++b)
    most = std::max<std::size_t>(most, begins_[b + 1] - begins_[b]);
  return in_parts(most, 8) * 8;
}

PointBlocks::PointBlocks(const MatrixView& points, std::vector<std::uint32_t> begins, const Run& run)
    : begins_(std::move(begins)),
      n_features_(points.n_columns),
      stride_(common_stride()),
      values_(n_blocks() * n_features_ * stride_) {
  std::vector<CancelPoller> poll = pollers(run.n_threads, run.cancel);
  std::vector<std::vector<double>> values(poll.size(), std::vector<double>(n_features_));
  parallel_for(
      n_blocks(), run.n_threads,
      [&](std::size_t b, int worker) {
        double* block = values_.data() + b * n_features_ * stride_;
        double* point = values[static_cast<std::size_t>(worker)].data();
        for (std::uint32_t position = begins_[b]; position < begins_[b + 1]; ++position) {
          points.read_row(position, point);
          for (std::size_t j = 0; j < n_features_; ++j) block[j * stride_ + position - begins_[b]] = point[j];
        }
        poll[static_cast<std::size_t>(worker)].poll(n_features_ * stride_);
      },
      &run.cancel);
}

PointBlocks::PointBlocks(const double* values, std::size_t n_features, std::vector<std::uint32_t> rows,
                         std::vector<std::uint32_t> begins)
    : rows_(std::move(rows)),
      begins_(std::move(begins)),
      n_features_(n_features),
      stride_(common_stride()),
      values_(n_blocks() * n_features_ * stride_) {
  for (std::size_t b = 0; b < n_blocks(); ++b) {
    for (std::size_t j = 0; j < n_features_; ++j) {
      std::copy_n(values + j * rows_.size() + begins_[b], begins_[b + 1] - begins_[b],
                  values_.data() + (b * n_features_ + j) * stride_);
    }
  }
}

Blocks::Blocks(const MatrixView& points, const Metric& metric, const Run& run)
    : blocks_(points, every(kBlockPoints, points.n_rows), run), metric_(metric) {}

// All queries of the batch are compared with a block while it is in the cache.
void Blocks::search(const QueryBatch& batch, CancelPoller& poller) const {
  const DistanceKernels& kernels = distance_kernels();
  const BlockDistances distances = metric_.kernel();
  double sums[kBlockPoints] = {};
  for (std::size_t b = 0; b < blocks_.n_blocks(); ++b) {
    const PointBlock block = blocks_.block(b);
    const std::uint32_t begin = blocks_.begin(b);
    for (std::size_t q = 0; q < batch.nearest.size(); ++q) {
      Nearest& nearest = batch.nearest[q];
      distances(block, batch.query(q), metric_.parameters.data(), sums);
      offer(kernels, block.n_points, sums, nearest, [&](std::uint32_t i) { return begin + i; });
    }
    poller.poll(block.n_points * block.n_features * batch.nearest.size() / 4);
  }
}

void Blocks::all_sums(const double* query, double* result) const {
  const BlockDistances distances = metric_.kernel();
  for (std::size_t b = 0; b < blocks_.n_blocks(); ++b)
    distances(blocks_.block(b), query, metric_.parameters.data(), result + blocks_.begin(b));
}

// ------------------------------------------------------------------------------------------------------------
// The index

NeighborIndex::NeighborIndex(const MatrixView& points, Metric metric, Structure structure, int n_threads,
                             Cancel& cancel)
    : n_points_(points.n_rows),
      n_features_(points.n_columns),
      metric_(std::move(metric)),
      structure_(build(points, metric_, structure, {n_threads, cancel})) {}

NeighborTable NeighborIndex::search(const MatrixView& queries, std::size_t k, int n_threads,
                                    Cancel& cancel) const {
  const std::size_t per_thread = in_parts(queries.n_rows, static_cast<std::size_t>(std::max(1, n_threads)));
  const std::size_t at_once =
      std::min(kQueriesAtOnce, in_parts(per_thread, kQueriesRounded) * kQueriesRounded);
  NeighborTable result{std::vector<std::int64_t>(queries.n_rows * k),
                       std::vector<double>(queries.n_rows * k)};
  struct Workspace {
    std::vector<double> values;
    std::vector<Neighbor> found;
    std::vector<Nearest> nearest;
  };
  std::vector<CancelPoller> poll = pollers(n_threads, cancel);
  std::vector<Workspace> workspaces(poll.size());
  const KdTree* tree = std::get_if<KdTree>(&structure_);
  const std::vector<std::uint32_t> order =
      tree == nullptr ? std::vector<std::uint32_t>{} : tree->order_of(queries, {n_threads, cancel});
  const auto number_of = [&](std::size_t place) { return order.empty() ? place : order[place]; };
  parallel_for(
      in_parts(queries.n_rows, at_once), n_threads,
      [&](std::size_t part, int worker) {
        Workspace& work = workspaces[static_cast<std::size_t>(worker)];
        const std::size_t begin = part * at_once;
        const std::size_t n = std::min(at_once, queries.n_rows - begin);
        work.values.resize(n * n_features_);
        work.found.resize(n * k);
        work.nearest.clear();
        for (std::size_t q = 0; q < n; ++q) {
          queries.read_row(number_of(begin + q), work.values.data() + q * n_features_);
          work.nearest.emplace_back(std::span(work.found).subspan(q * k, k));
        }
        const QueryBatch batch{work.values, work.nearest, n_features_};
        std::visit(
            [&](const auto& structure) { structure.search(batch, poll[static_cast<std::size_t>(worker)]); },
            structure_);
        for (std::size_t q = 0; q < n; ++q) {
          std::size_t place = number_of(begin + q) * k;
          for (const Neighbor& neighbor : work.nearest[q].sorted()) {
            result.rows[place] = neighbor.row;
            result.distances[place++] = metric_.distance_of(neighbor.distance);
          }
        }
      },
      &cancel);
  return result;
}

std::vector<double> NeighborIndex::all_distances(const MatrixView& queries, int n_threads,
                                                 Cancel& cancel) const {
  const Blocks* blocks = std::get_if<Blocks>(&structure_);
  if (blocks == nullptr) throw std::invalid_argument("only an index of blocks knows all distances");
  std::vector<double> result(queries.n_rows * n_points_);
  std::vector<CancelPoller> poll = pollers(n_threads, cancel);
  std::vector<std::vector<double>> values(poll.size(), std::vector<double>(n_features_));
  parallel_for(
      queries.n_rows, n_threads,
      [&](std::size_t q, int worker) {
        double* query = values[static_cast<std::size_t>(worker)].data();
        queries.read_row(q, query);
        const std::span distances = std::span(result).subspan(q * n_points_, n_points_);
        blocks->all_sums(query, distances.data());
        for (double& distance : distances) distance = metric_.distance_of(distance);
        poll[static_cast<std::size_t>(worker)].poll(n_points_ * n_features_ / 2);
      },
      &cancel);
  return result;
}

// ------------------------------------------------------------------------------------------------------------
// What comes in

namespace {

template <class T>
std::size_t first_unusable_in(std::span<const T> values, T limit, bool nan_allowed) {
  constexpr std::size_t kAtOnce = 256;
  for (std::size_t begin = 0; begin < values.size(); begin += kAtOnce) {
    const std::span<const T> some = values.subspan(begin, std::min(kAtOnce, values.size() - begin));
    int n_good = 0;  // without branches: nearly always all numbers are valid
    for (const T value : some) n_good += std::abs(value) <= limit;
    if (n_good == static_cast<int>(some.size())) continue;
    for (std::size_t i = 0; i < some.size(); ++i) {
      const bool good = std::isnan(some[i]) ? nan_allowed : std::abs(some[i]) <= limit;
      if (!good) return begin + i;
    }
  }
  return values.size();
}

}  // namespace

std::size_t first_unusable(const MatrixView& matrix, double limit, bool nan_allowed, int n_threads) {
  constexpr std::size_t kPart = std::size_t{1} << 16;
  const std::size_t n = matrix.n_rows * matrix.n_columns;
  std::vector<std::size_t> found(in_parts(n, kPart), n);
  parallel_for(found.size(), n_threads, [&](std::size_t part, int) {
    const std::size_t begin = part * kPart;
    const std::size_t length = std::min(kPart, n - begin);
    const auto first_in = [&](const auto* values, auto bound) {
      return first_unusable_in(std::span(values + begin, length), bound, nan_allowed);
    };
    const std::size_t place =
        matrix.is_single
            ? first_in(static_cast<const float*>(matrix.data),
                       static_cast<float>(std::min<double>(limit, std::numeric_limits<float>::max())))
            : first_in(static_cast<const double*>(matrix.data), limit);
    if (place < length) found[part] = begin + place;
  });
  return found.empty() ? n : *std::min_element(found.begin(), found.end());
}

}  // namespace hornbeam::neighbors
