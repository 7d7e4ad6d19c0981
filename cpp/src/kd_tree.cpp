// The kd-tree: halves of halves of the points, each cut across the longest side of its box at the median. All
// leaves are on one level and their sizes differ by at most one point, so that node i has the children 2i + 1
// and 2i + 2 and nothing but the boxes needs to be stored.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "hornbeam/neighbors.h"
#include "hornbeam/parallel.h"

namespace hornbeam {

namespace {

constexpr std::size_t kLeafPoints = 32;
constexpr int kMostLevels = 64;

// Node `position` of a level of `width` nodes holds the points [n * position / width, ...) of the order; with
// these numbers the halves of a node are the nodes of the next level.
std::uint32_t begin_of(std::size_t n_points, std::size_t position, std::size_t width) {
  return static_cast<std::uint32_t>(n_points * position / width);
}

// A point's place in the order, below a key that sorts as its value does, nearly: the value is rounded to a
// float. Where a box is cut need not be exact, and keys that are one integer are selected several times as
// fast. All keys differ.
using KeyedPlace = std::uint64_t;

KeyedPlace keyed_place(double value, std::uint32_t place) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::uint32_t key = bits ^ ((bits >> 31) != 0 ? 0xffffffffU : 0x80000000U);
  return std::uint64_t{key} << 32 | place;
}

// Brings the keys below the pivot to the front, without a branch that could be guessed wrong.
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

// The median of some keys, at even steps: nearly halves them.
KeyedPlace median_guess(const KeyedPlace* begin, const KeyedPlace* end) {
  constexpr std::size_t kSample = 15;
  std::array<KeyedPlace, kSample> sample;
  const auto last = static_cast<std::size_t>(end - begin - 1);
  for (std::size_t i = 0; i < kSample; ++i) sample[i] = begin[i * last / (kSample - 1)];
  std::nth_element(sample.begin(), sample.begin() + kSample / 2, sample.end());
  return sample[kSample / 2];
}

// As std::nth_element; a good deal faster, since it does not guess how comparisons end.
void select_nth(KeyedPlace* begin, KeyedPlace* nth, KeyedPlace* end) {
  constexpr int kMostRounds = 64;  // unlucky guesses: leave the rest to an algorithm with a guarantee
  constexpr std::ptrdiff_t kFew = 64;
  for (int round = 0; round < kMostRounds && end - begin > kFew; ++round) {
    KeyedPlace* const middle = gather_below(begin, end, median_guess(begin, end));
    (nth < middle ? end : begin) = middle;
  }
  std::nth_element(begin, nth, end);
}

// Orders the points and finds the boxes, level by level. The points are moved, not only their numbers, so
// that a node is one stretch of memory in each feature.
class TreeBuilder {
 public:
  TreeBuilder(const MatrixView& points, std::size_t n_leaves, const Run& run)
      : n_points_(points.n_rows),
        n_features_(points.n_columns),
        now_(points.n_rows, points.n_columns),
        next_(points.n_rows, points.n_columns),
        keyed_(points.n_rows),
        boxes_((2 * n_leaves - 1) * 2 * points.n_columns) {
    read(points);
    for (std::size_t width = 1; width < n_leaves; width *= 2) {
      parallel_for(
          width, run.n_threads, [&](std::size_t position, int) { cut(position, width); }, &run.cancel);
      std::swap(now_, next_);
    }
  }

  Buffer<double> take_boxes() { return std::move(boxes_); }
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
    const double* values = now_.values.data() + longest_side(node) * n_points_;
    for (std::uint32_t i = begin; i < end; ++i) keyed_[i] = keyed_place(values[i], i);
    select_nth(keyed_.data() + begin, keyed_.data() + middle, keyed_.data() + end);
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
      double low = std::numeric_limits<double>::infinity();
      double high = -low;
      for (std::uint32_t i = begin; i < end; ++i) {
        const double value = now[from(i)];
        next[i] = value;
        low = std::min(low, value);
        high = std::max(high, value);
      }
      box[j] = low;
      box[n_features_ + j] = high;
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

}  // namespace

KdTree::KdTree(const MatrixView& points, const Metric& metric, const Run& run)
    : metric_(metric), n_leaves_(leaves_for(points.n_rows)), blocks_([&] {
        TreeBuilder builder(points, n_leaves_, run);
        boxes_ = builder.take_boxes();
        return PointBlocks(builder.values(), points.n_columns, builder.take_rows(),
                           begins_of_leaves(points.n_rows, n_leaves_));
      }()) {}

// No point of the node is nearer than this, in the arithmetic of the kernels: every operation there rounds
// monotonically, and the same operations on smaller numbers give no larger result. Only `pow` promises less.
double KdTree::bound(std::size_t node, const double* query) const {
  constexpr double kPowerMargin = 1 - 1e-12;
  const std::size_t n_features = blocks_.n_features();
  const double* low = box(node);
  const double* high = low + n_features;
  double sum = 0;
  const auto for_each_gap = [&](auto add) {
    for (std::size_t j = 0; j < n_features; ++j) add(gap(query[j], low[j], high[j]));
  };
  switch (metric_.kind) {
    case MetricKind::kEuclidean:
      for_each_gap([&](double side) { sum += side * side; });
      break;
    case MetricKind::kChebyshev:
      for_each_gap([&](double side) { sum = std::max(sum, side); });
      break;
    case MetricKind::kMinkowski:
      for_each_gap([&](double side) { sum += std::pow(side, metric_.parameters[0]) * kPowerMargin; });
      break;
    default:
      for_each_gap([&](double side) { sum += side; });
  }
  return sum;
}

void KdTree::search(const QueryBatch& batch, CancelPoller& poller) const {
  struct Pending {
    double bound;
    std::size_t node;
  };
  const BlockDistances distances = metric_.kernel();
  const std::size_t first_leaf = n_leaves_ - 1;
  std::array<Pending, kMostLevels> pending;
  std::array<double, 2 * kLeafPoints> sums;
  for (std::size_t q = 0; q < batch.nearest.size(); ++q) {
    const double* query = batch.query(q);
    Nearest& nearest = batch.nearest[q];
    std::size_t n_pending = 0;
    pending[n_pending++] = {0, 0};
    while (n_pending > 0) {
      auto [bound_here, node] = pending[--n_pending];
      // A box as far as the worst neighbour may still hold a row of a smaller number.
      if (bound_here > nearest.worst()) continue;
      while (node < first_leaf) {
        std::size_t near = 2 * node + 1;
        std::size_t far = near + 1;
        double near_bound = bound(near, query);
        double far_bound = bound(far, query);
        if (far_bound < near_bound) {
          std::swap(near, far);
          std::swap(near_bound, far_bound);
        }
        if (far_bound <= nearest.worst()) pending[n_pending++] = {far_bound, far};
        node = near;
        bound_here = near_bound;
      }
      if (bound_here > nearest.worst()) continue;
      const PointBlock leaf = blocks_.block(node - first_leaf);
      const std::uint32_t begin = blocks_.begin(node - first_leaf);
      distances(leaf, query, metric_.parameters.data(), sums.data());
      offer(leaf.n_points, sums.data(), nearest, [&](std::uint32_t i) { return blocks_.row(begin + i); });
      poller.poll(leaf.n_points * leaf.n_features);
    }
  }
}

}  // namespace hornbeam
