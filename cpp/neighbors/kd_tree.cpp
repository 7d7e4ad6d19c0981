// The kd-tree: the points are halved again and again, each time at the median of the longest side of their
// box. All leaves are on one level and their sizes differ by at most one point, so node i has the children 2i
// + 1 and 2i + 2 and only the boxes need to be stored.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>

#include "base/parallel.h"
#include "base/radix.h"
#include "neighbors/neighbors.h"

namespace hornbeam::neighbors {

namespace {

constexpr std::size_t kLeafPoints = 32;
constexpr int kMostLevels = 64;

// Node `position` of a level of `width` nodes holds the points [n * position / width, ...) of the order; with
// these numbers the halves of a node are the nodes of the next level.
std::uint32_t begin_of(std::size_t n_points, std::size_t position, std::size_t width) {
  return static_cast<std::uint32_t>(n_points * position / width);
}

// A key that sorts nearly as the point's value: the value rounded to a float, with the point's place in the
// lower bits. Boxes need not be cut exactly at the median, and selecting among integer keys is several times
// as fast. All keys differ.
using KeyedPlace = std::uint64_t;

KeyedPlace keyed_place(double value, std::uint32_t place) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::uint32_t key = bits ^ ((bits >> 31) != 0 ? 0xffffffffU : 0x80000000U);
  return std::uint64_t{key} << 32 | place;
}

// Moves the keys below the pivot to the front, without a branch to mispredict.
KeyedPlace* gather_below(KeyedPlace* begin, KeyedPlace* end, KeyedPlace pivot) {
  KeyedPlace* front = begin;
  for (KeyedPlace* here = begin; here != end; ++here) {
    const KeyedPlace key = *here;
    *here = *front;
    *front = key;
    front += key < pivot;
  }
  return front;
}

// The median of evenly spaced keys, which nearly halves them.
KeyedPlace median_guess(const KeyedPlace* begin, const KeyedPlace* end) {
  constexpr std::size_t kSample = 15;
  std::array<KeyedPlace, kSample> sample;
  const auto last = static_cast<std::size_t>(end - begin - 1);
  for (std::size_t i = 0; i < kSample; ++i) sample[i] = begin[i * last / (kSample - 1)];
  std::nth_element(sample.begin(), sample.begin() + kSample / 2, sample.end());
  return sample[kSample / 2];
}

// Like std::nth_element, but much faster, since no branch depends on a comparison.
void select_nth(KeyedPlace* begin, KeyedPlace* nth, KeyedPlace* end) {
  constexpr int kMostRounds = 64;  // after this many bad pivots, an algorithm with a guarantee finishes
  constexpr std::ptrdiff_t kFew = 64;
  for (int round = 0; round < kMostRounds && end - begin > kFew; ++round) {
    KeyedPlace* const middle = gather_below(begin, end, median_guess(begin, end));
    (nth < middle ? end : begin) = middle;
  }
  std::nth_element(begin, nth, end);
}

// The least and the largest of some numbers, in several lanes, so that no step waits for the one before.
std::pair<double, double> range_of(std::span<const double> values) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> low;
  std::array<double, kLanes> high;
  low.fill(std::numeric_limits<double>::infinity());
  high.fill(-std::numeric_limits<double>::infinity());
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      low[lane] = std::min(low[lane], values[i + lane]);
      high[lane] = std::max(high[lane], values[i + lane]);
    }
  }
  for (; i < values.size(); ++i) {
    low[0] = std::min(low[0], values[i]);
    high[0] = std::max(high[0], values[i]);
  }
  return {*std::ranges::min_element(low), *std::ranges::max_element(high)};
}

// Orders the points and finds the boxes, level by level. The points are moved, not only their numbers, so
// that a node is one stretch of memory in each feature.
class TreeBuilder {
 public:
  using Cut = KdTree::Cut;

  TreeBuilder(const MatrixView& points, std::size_t n_leaves, const Run& run)
      : n_points_(points.n_rows),
        n_features_(points.n_columns),
        now_(points.n_rows, points.n_columns),
        next_(points.n_rows, points.n_columns),
        keyed_(points.n_rows),
        boxes_((2 * n_leaves - 1) * 2 * points.n_columns),
        cuts_(n_leaves - 1) {
    read(points);
    for (std::size_t width = 1; width < n_leaves; width *= 2) {
      parallel_for(
          width, run.n_threads, [&](std::size_t position, int) { cut(position, width); }, &run.cancel);
      std::swap(now_, next_);
    }
  }

  Buffer<double> take_boxes() { return std::move(boxes_); }
  std::vector<Cut> take_cuts() { return std::move(cuts_); }
  std::vector<std::uint32_t> take_rows() { return std::move(now_.rows); }
  // Feature by feature.
  const double* values() const { return now_.values.data(); }

 private:
  struct Points {
    Points(std::size_t n, std::size_t n_features) : values(n * n_features), rows(n) {}
    Buffer<double> values;
    std::vector<std::uint32_t> rows;
  };

  void read(const MatrixView& points) {
    std::vector<double> point(n_features_);
    for (std::size_t i = 0; i < n_points_; ++i) {
      points.read_row(i, point.data());
      for (std::size_t j = 0; j < n_features_; ++j) next_.values[j * n_points_ + i] = point[j];
      next_.rows[i] = keyed_[i] = static_cast<std::uint32_t>(i);
    }
    std::swap(now_, next_);
    move(0, 0, static_cast<std::uint32_t>(n_points_));
    std::swap(now_, next_);
  }

  // Moves the points of a node into the order of its halves.
  void cut(std::size_t position, std::size_t width) {
    const std::uint32_t begin = begin_of(n_points_, position, width);
    const std::uint32_t middle = begin_of(n_points_, 2 * position + 1, 2 * width);
    const std::uint32_t end = begin_of(n_points_, position + 1, width);
    const std::size_t node = width - 1 + position;
    const std::size_t feature = longest_side(node);
    const double* values = now_.values.data() + feature * n_points_;
    for (std::uint32_t i = begin; i < end; ++i) keyed_[i] = keyed_place(values[i], i);
    select_nth(keyed_.data() + begin, keyed_.data() + middle, keyed_.data() + end);
    cuts_[node] = {values[static_cast<std::uint32_t>(keyed_[middle])], feature};
    move(2 * node + 1, begin, middle);
    move(2 * node + 2, middle, end);
  }

  // Moves the points of one node to their places, and finds the box around them.
  void move(std::size_t node, std::uint32_t begin, std::uint32_t end) {
    const auto from = [this](std::uint32_t i) { return static_cast<std::uint32_t>(keyed_[i]); };
    for (std::uint32_t i = begin; i < end; ++i) next_.rows[i] = now_.rows[from(i)];
    double* box = boxes_.data() + node * 2 * n_features_;
    for (std::size_t j = 0; j < n_features_; ++j) {
      const double* now = now_.values.data() + j * n_points_;
      double* next = next_.values.data() + j * n_points_;
      for (std::uint32_t i = begin; i < end; ++i) next[i] = now[from(i)];
      std::tie(box[j], box[n_features_ + j]) = range_of({next + begin, end - begin});
    }
  }

  std::size_t longest_side(std::size_t node) const {
    const double* low = boxes_.data() + node * 2 * n_features_;
    const double* high = low + n_features_;
    std::size_t longest = 0;
    for (std::size_t j = 1; j < n_features_; ++j) {
      if (high[j] - low[j] > high[longest] - low[longest]) longest = j;
    }
    return longest;
  }

  std::size_t n_points_;
  std::size_t n_features_;
  Points now_;
  Points next_;
  std::vector<KeyedPlace> keyed_;
  Buffer<double> boxes_;
  std::vector<Cut> cuts_;
};

std::size_t leaves_for(std::size_t n_points) {
  return std::bit_ceil((n_points + kLeafPoints - 1) / kLeafPoints);
}

std::vector<std::uint32_t> begins_of_leaves(std::size_t n_points, std::size_t n_leaves) {
  std::vector<std::uint32_t> begins(n_leaves + 1);
  for (std::size_t leaf = 0; leaf <= n_leaves; ++leaf) begins[leaf] = begin_of(n_points, leaf, n_leaves);
  return begins;
}

// How far outside [low, high] a value is. The subtractions are those of the distance to a point on the
// border, so the result is never above |value - x| of a point inside, as computed: rounding is monotone.
double gap(double value, double low, double high) {
  return std::max({low - value, value - high, 0.0});
}

// No point of a box is nearer than this as the kernels compute distances: every operation there rounds
// monotonically, so the same operations on smaller numbers give no larger result. Only `pow` does not
// guarantee that.
template <MetricKind kind>
double bound(const double* box, const double* query, std::size_t n_features, double power) {
  constexpr double kPowerMargin = 1 - 1e-12;
  double sum = 0;
  for (std::size_t j = 0; j < n_features; ++j) {
    const double side = gap(query[j], box[j], box[n_features + j]);
    if constexpr (kind == MetricKind::kEuclidean) {
      sum += side * side;
    } else if constexpr (kind == MetricKind::kChebyshev) {
      sum = std::max(sum, side);
    } else if constexpr (kind == MetricKind::kMinkowski) {
      sum += std::pow(side, power) * kPowerMargin;
    } else {
      sum += side;
    }
  }
  return sum;
}

}  // namespace

KdTree::KdTree(const MatrixView& points, const Metric& metric, const Run& run)
    : metric_(metric), n_leaves_(leaves_for(points.n_rows)), blocks_([&] {
        TreeBuilder builder(points, n_leaves_, run);
        boxes_ = builder.take_boxes();
        cuts_ = builder.take_cuts();
        return PointBlocks(builder.values(), points.n_columns, builder.take_rows(),
                           begins_of_leaves(points.n_rows, n_leaves_));
      }()) {}

std::size_t KdTree::near_half(std::size_t node, const double* query) const {
  return 2 * node + 1 + static_cast<std::size_t>(query[cuts_[node].feature] >= cuts_[node].value);
}

std::vector<std::uint32_t> KdTree::order_of(const MatrixView& queries, const Run& run) const {
  constexpr std::size_t kQueriesAtOnce = 1024;
  if (queries.n_rows > std::numeric_limits<std::uint32_t>::max()) return {};
  const std::size_t first_leaf = n_leaves_ - 1;
  Buffer<std::uint64_t> items(queries.n_rows);  // the leaf, and the number of the query below it
  Buffer<std::uint64_t> scratch(queries.n_rows);
  parallel_for((queries.n_rows + kQueriesAtOnce - 1) / kQueriesAtOnce, run.n_threads,
               [&](std::size_t part, int) {
                 std::vector<double> query(queries.n_columns);
                 const std::size_t end = std::min(queries.n_rows, (part + 1) * kQueriesAtOnce);
                 for (std::size_t q = part * kQueriesAtOnce; q < end; ++q) {
                   queries.read_row(q, query.data());
                   std::size_t node = 0;
                   while (node < first_leaf) node = near_half(node, query.data());
                   items[q] = std::uint64_t{node - first_leaf} << 32 | q;
                 }
               },
               &run.cancel);
  const std::uint64_t* sorted =
      radix_sort(items.data(), scratch.data(), queries.n_rows, std::bit_width(first_leaf),
                 [](std::uint64_t item) { return item >> 32; });
  return {sorted, sorted + queries.n_rows};
}

void KdTree::search(const QueryBatch& batch, CancelPoller& poller) const {
  switch (metric_.kind) {
    case MetricKind::kEuclidean:
      return search_by<MetricKind::kEuclidean>(batch, poller);
    case MetricKind::kChebyshev:
      return search_by<MetricKind::kChebyshev>(batch, poller);
    case MetricKind::kMinkowski:
      return search_by<MetricKind::kMinkowski>(batch, poller);
    default:
      return search_by<MetricKind::kManhattan>(batch, poller);
  }
}

template <MetricKind kind>
void KdTree::search_by(const QueryBatch& batch, CancelPoller& poller) const {
  const DistanceKernels& kernels = distance_kernels();
  const BlockDistances distances = metric_.kernel();
  const double* parameters = metric_.parameters.data();
  const double power = metric_.parameters.empty() ? 1 : metric_.parameters[0];
  const std::size_t n_features = blocks_.n_features();
  const std::size_t first_leaf = n_leaves_ - 1;
  std::array<std::size_t, kMostLevels> pending;
  std::array<double, kMostAtOnce> sums{};
  for (std::size_t q = 0; q < batch.nearest.size(); ++q) {
    const double* query = batch.query(q);
    Nearest& nearest = batch.nearest[q];
    // A box exactly as far away as the worst neighbour may still have a row with a smaller number.
    const auto too_far = [&](std::size_t node) {
      return bound<kind>(box(node), query, n_features, power) > nearest.worst();
    };
    std::size_t n_pending = 0;
    pending[n_pending++] = 0;
    while (n_pending > 0) {
      // The distance to a half is computed only when its turn comes: by then most far halves are out of reach
      // anyway, and the near halves on the way down are always visited.
      std::size_t node = pending[--n_pending];
      if (too_far(node)) continue;
      while (node < first_leaf) {
        const std::size_t near = near_half(node, query);
        pending[n_pending++] = 4 * node + 3 - near;  // the other half: both together are 4 node + 3
        node = near;
      }
      if (too_far(node)) continue;
      const PointBlock leaf = blocks_.block(node - first_leaf);
      const std::uint32_t begin = blocks_.begin(node - first_leaf);
      distances(leaf, query, parameters, sums.data());
      offer(kernels, leaf.n_points, sums.data(), nearest,
            [&](std::uint32_t i) { return blocks_.row(begin + i); });
      poller.poll(leaf.n_points * leaf.n_features);
    }
  }
}

}  // namespace hornbeam::neighbors
