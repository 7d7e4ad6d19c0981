// Where growing a tree begins: chooses the cells and the criterion, then calls grow_with (grow/task.h,
// grow/tree_grower.h).
#include "grow/grower.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "criterion/criteria.h"
#include "criterion/own.h"
#include "grow/keep_best.h"
#include "grow/task.h"

namespace hornbeam::grow {

using criterion::Impurity;
using criterion::is_of_classes;
using criterion::MomentTarget;
using criterion::OwnScorer;
using criterion::row_of;
using criterion::VectorStats;
using data::Column;
using tree::Gaps;

bool can_count(const Target& target, const Sample& sample) {
  if (!target.is_classification() || target.n_outputs != 1) return false;
  if (!target.weights.empty()) {
    const double first = target.weights[sample.rows[0]];
    for (const RowId row : sample.rows) {
      if (target.weights[row] != first) return false;
    }
  }
  return std::ranges::all_of(sample.multiplicity, [](auto m) { return m < 256; });
}

namespace {

// Chooses the cells, which are what the innermost loops add up.
GrownTree grow_by_quickest_cells(const GrowTask& task) {
  for (const auto grow :
       {grow_by_cells<Cells::kCountsOfTwo>, grow_by_cells<Cells::kCounts>, grow_by_cells<Cells::kTwoWeights>,
        grow_by_cells<Cells::kClassWeights>, grow_by_cells<Cells::kWeights>, grow_by_cells<Cells::kRows>,
        grow_by_cells<Cells::kSums>, grow_by_cells<Cells::kSumsOfMany>}) {
    if (std::optional<GrownTree> grown = grow(task)) return *std::move(grown);
  }
  throw std::invalid_argument("the criterion cannot add up such rows");
}

// Grows a tree whose rows may be sent down several branches in portions, which takes the most general cells.
GrownTree grow_in_portions(const GrowTask& task) {
  const Sample& sample = task.sample;
  // A portion leaves no bits for the multiplicity of its row, so that becomes a weight.
  std::vector<double> weights;
  Target drawn = task.target;
  if (!sample.multiplicity.empty()) {
    weights.resize(task.data.n_rows());
    for (std::size_t i = 0; i < sample.rows.size(); ++i)
      weights[sample.rows[i]] = task.target.weight(sample.rows[i]) * sample.times(i);
    drawn.weights = weights;
  }
  const Sample once{sample.rows, {}};
  return grow_by_quickest_cells({task.data, drawn, once, task.params, task.cancel});
}

bool lacks_values(const Dataset& data, const Sample& sample, std::span<const FeatureId> features) {
  return std::ranges::any_of(features, [&](FeatureId feature) {
    const Column& column = data.column(feature);
    return column.has_missing && std::ranges::any_of(sample.rows, [&](RowId row) {
             return column.code(row) == column.missing_code();
           });
  });
}

GrownTree grow_by_kind(const GrowTask& task) {
  const auto& [data, target, sample, params, cancel] = task;
  if (is_of_classes(row_of(params.criterion).shown) != target.is_classification())
    throw std::invalid_argument("the criterion is for another kind of target");
  if (params.categorical_split == CategoricalSplit::kMerge && target.n_outputs > 1) {
    throw std::invalid_argument("categories are merged by one output");
  }
  if (params.missing == Missing::kFractional) return grow_in_portions(task);
  if (is_kept_by_cutting(task)) {
    GrowParams unlimited = params;
    unlimited.max_leaf_nodes = unlimited.max_nodes = 0;
    GrownTree grown = grow_by_quickest_cells({data, target, sample, unlimited, cancel});
    grown.tree = keep_best(grown.tree, params.max_leaf_nodes, params.max_nodes);
    return grown;
  }
  if (!params.own_score) return grow_by_quickest_cells(task);
  if (target.is_classification())
    return grow_with(task, OwnScorer(VectorStats(target, sample), params.own_score));
  const MomentTarget moments(target);
  return grow_with(task, OwnScorer(VectorStats(moments.target(), sample), params.own_score));
}

// The exponent of the largest of some numbers; 0 if all are 0.
int largest_exponent(std::span<const double> numbers) {
  double largest = 0.0;
  for (const double number : numbers) largest = std::max(largest, std::abs(number));
  int exponent = 0;
  std::frexp(largest, &exponent);
  return largest > 0 ? exponent : 0;
}

// The same for some of the rows, which have several numbers each.
int largest_exponent(std::span<const double> numbers, std::span<const RowId> rows, std::size_t per_row) {
  double largest = 0.0;
  for (const RowId row : rows)
    for (const double number : numbers.subspan(row * per_row, per_row))
      largest = std::max(largest, std::abs(number));
  return largest_exponent({&largest, 1});
}

// The exponent of the power of two that brings numbers near 1; 0 if they are near enough already.
int distant_exponent(int exponent) {
  constexpr int kNear = 200;  // squares and sums of billions still fit a float64
  return std::abs(exponent) > kNear ? exponent : 0;
}

// The power of two by which the impurities in the tree are smaller (or, if negative, larger) than the true ones. It
// is 0 unless the true ones, or those times weights, would overflow or underflow. It depends on all targets, not on
// those of the sample, so that the trees of a forest can be compared.
int unshown_exponent(const Target& target, bool squared) {
  constexpr int kRoom = 60;  // for sums over rows and nodes
  const int reals = largest_exponent(target.reals);
  const int weights = largest_exponent(target.weights);
  const int most = std::numeric_limits<double>::max_exponent - kRoom - std::max(0, weights);
  const int least = std::numeric_limits<double>::min_exponent + kRoom - std::min(0, weights);
  const int impurity = squared ? 2 * reals : reals;
  return impurity - std::clamp(impurity, std::min(least, most), most);
}

void scale(std::span<double> numbers, int exponent) {
  for (double& number : numbers) number = std::ldexp(number, exponent);
}

std::vector<double> scaled(std::span<const double> numbers, int exponent) {
  std::vector<double> result(numbers.begin(), numbers.end());
  scale(result, exponent);
  return result;
}

// For weights or targets like 1e-300: multiplies all of them by a power of two, grows the tree, and converts it back
// to the user's units. The power depends only on the rows of the sample; other rows may be of another size.
GrownTree grow_near(const GrowTask& task) {
  const auto& [data, target, sample, params, cancel] = task;
  const auto n_outputs = static_cast<std::size_t>(target.n_outputs);
  const int weight_exponent =
      target.weights.empty() ? 0 : distant_exponent(largest_exponent(target.weights, sample.rows, 1));
  const int real_exponent =
      target.reals.empty() ? 0 : distant_exponent(largest_exponent(target.reals, sample.rows, n_outputs));
  if (weight_exponent == 0 && real_exponent == 0) return grow_by_kind(task);

  const std::vector<double> weights = scaled(target.weights, -weight_exponent);
  const std::vector<double> reals = scaled(target.reals, -real_exponent);
  Target near = target;
  near.weights = weights;
  near.reals = reals;
  const Impurity shown = row_of(params.criterion).shown;
  const bool squared = shown != Impurity::kHalfDeviance && shown != Impurity::kAbsoluteDeviation;
  const int impurity_exponent = squared ? 2 * real_exponent : real_exponent;
  GrowParams near_params = params;
  near_params.min_weight_leaf = std::ldexp(params.min_weight_leaf, -weight_exponent);
  near_params.min_impurity_decrease = std::ldexp(params.min_impurity_decrease, -impurity_exponent);
  GrownTree grown = grow_by_kind({data, near, sample, near_params, cancel});
  Tree& tree = grown.tree;
  const int shift = real_exponent == 0 ? 0 : impurity_exponent - unshown_exponent(target, squared);
  scale(tree.weight, weight_exponent);
  scale(tree.impurity, shift);
  scale(tree.gain, weight_exponent + shift);
  if (!target.is_classification()) scale(tree.value, real_exponent);
  return grown;
}

}  // namespace

GrownTree grow_tree(const Dataset& data, const Target& target, const Sample& sample, const GrowParams& params,
                    Cancel& cancel) {
  GrowParams own = params;
  if (own.features.empty()) {
    own.features.resize(static_cast<std::size_t>(data.n_features()));
    std::iota(own.features.begin(), own.features.end(), 0);
  }
  if (own.max_features < 1) own.max_features = static_cast<std::int32_t>(own.features.size());
  std::optional<Arena> arena;
  if (own.regions.empty())
    own.regions = arena.emplace(static_cast<std::size_t>(std::max(1, own.n_threads))).regions();
  // Without missing values no row is ever divided, so faster cells can be used.
  if (own.missing == Missing::kFractional && !lacks_values(data, sample, own.features))
    own.missing = Missing::kLearn;
  GrownTree grown = grow_near({data, target, sample, own, cancel});
  if (params.missing == Missing::kFractional) grown.tree.gaps = Gaps::kFractional;
  if (params.missing == Missing::kAvailable) grown.tree.gaps = Gaps::kAvailable;
  return grown;
}

}  // namespace hornbeam::grow
