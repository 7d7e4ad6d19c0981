#include "density/density.h"

#include <algorithm>
#include <stdexcept>

#include "data/dataset.h"

namespace hornbeam::density {

using data::halfway;
using tree::kNoTable;

namespace {

constexpr double kLeastVolume = 1e-280;
constexpr double kTie = 1 + 0x1p-40;  // scores this close count as equal, and the first one wins

struct Box {
  std::vector<double> low;
  std::vector<double> high;
  double volume = 1.0;  // relative to the bounding box
};

struct Point {
  double value;
  double weight;
};

struct Cut {
  double score = 0.0;  // sum over the sides of w^2 / (share of the node's volume)
  FeatureId feature = kNoFeature;
  double threshold = 0.0;
  double left_volume = 0.0;  // share of the node's
};

// Grows breadth-first, so that nodes are numbered as a Tree requires.
class DensityGrower {
 public:
  DensityGrower(const std::vector<std::span<const double>>& columns, std::span<const double> weights,
                std::span<const RowId> rows, const DensityParams& params, Cancel& cancel)
      : columns_(columns),
        weights_(weights),
        params_(params),
        poller_(cancel, true),
        rows_(rows.begin(), rows.end()),
        points_(rows.size()) {}

  Tree grow(std::span<const double> low, std::span<const double> high) {
    add_node(0, rows_.size(), {{low.begin(), low.end()}, {high.begin(), high.end()}, 1.0}, 0);
    total_ = tree_.weight[0];
    for (std::size_t node = 0; node < tree_.n_nodes(); ++node) {
      describe(node);
      const Cut cut = best_cut(node);
      if (cut.feature != kNoFeature) split(node, cut);
      boxes_[node] = {};  // its children have their own
    }
    return std::move(tree_);
  }

 private:
  struct Span {
    std::size_t begin;
    std::size_t end;
    std::int32_t depth;
  };

  double weight_of(RowId row) const { return weights_.empty() ? 1.0 : weights_[row]; }

  void add_node(std::size_t begin, std::size_t end, Box box, std::int32_t depth) {
    spans_.push_back({begin, end, depth});
    boxes_.push_back(std::move(box));
    double weight = 0.0;
    for (std::size_t i = begin; i < end; ++i) weight += weight_of(rows_[i]);
    tree_.n_samples.push_back(static_cast<std::int64_t>(end - begin));
    tree_.weight.push_back(weight);
    tree_.first_child.push_back(kNoChild);
    tree_.n_branches.push_back(0);
    tree_.feature.push_back(kNoFeature);
    tree_.threshold.push_back(kNoThreshold);
    tree_.category_begin.push_back(kNoTable);
    tree_.missing_branch.push_back(0);
    tree_.impurity.push_back(0.0);
    tree_.gain.push_back(0.0);
    tree_.value.push_back(0.0);
  }

  void describe(std::size_t node) {
    const double density = tree_.weight[node] / total_ / boxes_[node].volume;
    tree_.value[node] = density;
    tree_.impurity[node] = -density;
  }

  Cut best_cut(std::size_t node) {
    const auto [begin, end, depth] = spans_[node];
    const auto n = static_cast<std::int64_t>(end - begin);
    const bool is_full = params_.max_depth > 0 && depth >= params_.max_depth;
    Cut best;
    if (is_full || n < params_.min_samples_split || n < 2 * params_.min_samples_leaf) return best;
    // A cut that does not change the density scores w^2 and does not count.
    best.score = tree_.weight[node] * tree_.weight[node];
    for (FeatureId feature = 0; feature < static_cast<FeatureId>(columns_.size()); ++feature) {
      try_feature(node, feature, best);
      poller_.poll(8 * (end - begin));
    }
    return best;
  }

  void try_feature(std::size_t node, FeatureId feature, Cut& best) {
    const auto [begin, end, depth] = spans_[node];
    const std::size_t n = end - begin;
    const std::span<const double> column = columns_[static_cast<std::size_t>(feature)];
    for (std::size_t i = 0; i < n; ++i) {
      points_[i] = {column[rows_[begin + i]], weight_of(rows_[begin + i])};
    }
    std::sort(points_.begin(), points_.begin() + static_cast<std::ptrdiff_t>(n),
              [](const Point& a, const Point& b) { return a.value < b.value; });
    const double low = boxes_[node].low[static_cast<std::size_t>(feature)];
    const double width = boxes_[node].high[static_cast<std::size_t>(feature)] - low;
    const auto least = static_cast<std::size_t>(params_.min_samples_leaf);
    double left = 0.0;
    for (std::size_t i = 0; i + 1 < n; ++i) {
      left += points_[i].weight;
      if (points_[i].value == points_[i + 1].value || i + 1 < least || n - i - 1 < least) continue;
      const double threshold = halfway(points_[i].value, points_[i + 1].value);
      const double share = (threshold - low) / width;
      // A side without volume has no density, and with hardly any volume its density is infinite in float64.
      if (std::min(share, 1 - share) * boxes_[node].volume < kLeastVolume) continue;
      const double right = tree_.weight[node] - left;
      const double score = left * left / share + right * right / (1 - share);
      if (score > best.score * kTie) best = {score, feature, threshold, share};
    }
  }

  void split(std::size_t node, const Cut& cut) {
    const auto [begin, end, depth] = spans_[node];
    const std::span<const double> column = columns_[static_cast<std::size_t>(cut.feature)];
    const auto first = rows_.begin() + static_cast<std::ptrdiff_t>(begin);
    const auto last = rows_.begin() + static_cast<std::ptrdiff_t>(end);
    const auto middle =
        std::stable_partition(first, last, [&](RowId row) { return column[row] <= cut.threshold; });
    const auto border = static_cast<std::size_t>(middle - rows_.begin());
    Box left = boxes_[node];
    Box right = boxes_[node];
    left.high[static_cast<std::size_t>(cut.feature)] = cut.threshold;
    right.low[static_cast<std::size_t>(cut.feature)] = cut.threshold;
    left.volume *= cut.left_volume;
    right.volume *= 1 - cut.left_volume;
    tree_.first_child[node] = static_cast<NodeId>(tree_.n_nodes());
    tree_.n_branches[node] = 2;
    tree_.feature[node] = cut.feature;
    tree_.threshold[node] = cut.threshold;
    const double weight = tree_.weight[node];
    tree_.gain[node] = (cut.score - weight * weight) / total_ / boxes_[node].volume;
    add_node(begin, border, std::move(left), depth + 1);
    add_node(border, end, std::move(right), depth + 1);
  }

  const std::vector<std::span<const double>>& columns_;
  std::span<const double> weights_;
  DensityParams params_;
  CancelPoller poller_;
  std::vector<RowId> rows_;
  std::vector<Point> points_;  // scratch
  std::vector<Span> spans_;
  std::vector<Box> boxes_;
  Tree tree_;
  double total_ = 0.0;
};

}  // namespace

Tree grow_density_tree(const std::vector<std::span<const double>>& columns, std::span<const double> weights,
                       std::span<const RowId> rows, std::span<const double> low, std::span<const double> high,
                       const DensityParams& params, Cancel& cancel) {
  if (columns.empty() || rows.empty() || low.size() != columns.size() || high.size() != columns.size()) {
    throw std::invalid_argument("a density tree needs rows, and a lower and an upper bound per column");
  }
  for (std::size_t j = 0; j < columns.size(); ++j) {
    if (!(low[j] < high[j])) throw std::invalid_argument("a bounding box needs an extent in every column");
    for (const RowId row : rows) {
      if (row >= columns[j].size() || (!weights.empty() && row >= weights.size())) {
        throw std::invalid_argument("a row lies outside the table");
      }
    }
  }
  return DensityGrower(columns, weights, rows, params, cancel).grow(low, high);
}

}  // namespace hornbeam::density
