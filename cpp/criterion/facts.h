// The facts of a node: weight, impurity, value (class shares or mean), and whether it is pure. Those of classes are
// computed from the integer cell; means and variances from the targets themselves, in row order, so that they have no
// fixed-point rounding.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/math.h"
#include "criterion/criteria.h"
#include "criterion/stats.h"

namespace hornbeam::criterion {

// What a regression node predicts.
enum class LeafValue : std::uint8_t { kMean, kMedian };

struct NodeFacts {
  double weight = 0.0;
  double impurity = 0.0;
  bool pure = false;
};

// `value` has room for [output, class]; `n_values` is its row length (see Tree).
NodeFacts class_facts(Impurity shown, const Target& target, std::span<const double> class_weights,
                      double* value, int n_values);
// The same for one output of two classes and gini, from the weights of the classes.
inline NodeFacts gini_facts(double zeros, double ones, double* value) {
  NodeFacts facts;
  facts.weight = zeros + ones;
  value[0] = zeros / facts.weight;
  value[1] = ones / facts.weight;
  facts.pure = zeros == 0 || ones == 0;
  facts.impurity = facts.pure ? 0.0 : value[0] * (1 - value[0]) + value[1] * (1 - value[1]);
  return facts;
}
// The same for any number of classes, from the number of rows of each, which all have the same weight.
inline NodeFacts gini_facts(std::span<const std::uint32_t> counts, double row_weight, double* value) {
  NodeFacts facts;
  std::uint32_t total = 0;
  std::uint32_t largest = 0;
  for (const std::uint32_t count : counts) {
    total += count;
    largest = std::max(largest, count);
  }
  facts.pure = largest == total;
  if (facts.pure) {  // most leaves are, and need no division
    facts.weight = total * row_weight;
    for (std::size_t k = 0; k < counts.size(); ++k) value[k] = counts[k] > 0 ? 1.0 : 0.0;
    return facts;
  }
  for (const std::uint32_t count : counts) facts.weight += count * row_weight;
  for (std::size_t k = 0; k < counts.size(); ++k) value[k] = counts[k] * row_weight / facts.weight;
  for (std::size_t k = 0; k < counts.size(); ++k) facts.impurity += value[k] * (1 - value[k]);
  return facts;
}
// The same from the weight of each class in fixed point.
inline NodeFacts gini_facts(std::span<const std::int64_t> weights, double weight_unit, double* value) {
  const auto weight_of = [&](std::size_t k) { return static_cast<double>(weights[k]) * weight_unit; };
  if (weights.size() == 2) return gini_facts(weight_of(0), weight_of(1), value);
  NodeFacts facts;
  std::size_t present = 0;
  for (std::size_t k = 0; k < weights.size(); ++k) {
    facts.weight += weight_of(k);
    present += weights[k] > 0;
  }
  facts.pure = present <= 1;
  if (facts.pure) {
    for (std::size_t k = 0; k < weights.size(); ++k) value[k] = weights[k] > 0 ? 1.0 : 0.0;
    return facts;
  }
  for (std::size_t k = 0; k < weights.size(); ++k) value[k] = weight_of(k) / facts.weight;
  for (std::size_t k = 0; k < weights.size(); ++k) facts.impurity += value[k] * (1 - value[k]);
  return facts;
}
// Such facts by entropy instead.
inline void show_entropy(std::span<const double> shares, NodeFacts& facts) {
  if (facts.pure) return;
  facts.impurity = 0.0;
  for (const double share : shares) facts.impurity -= x_log2_x(share);
}
NodeFacts real_facts(Impurity shown, LeafValue leaf_value, const Target& target,
                     std::span<const Entry> entries, double* value);

// The least number with at least half of the weight at or below it; if exactly half, the mean of it and the
// next one. So a whole-number weight means the same as repeating the number. Reorders the pairs.
struct WeightedNumber {
  double number;
  double weight;
};
double weighted_median(std::span<WeightedNumber> numbers);

}  // namespace hornbeam::criterion
