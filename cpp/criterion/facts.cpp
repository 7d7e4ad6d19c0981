#include "criterion/facts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "base/math.h"
#include "base/wide_loops.h"

namespace hornbeam::criterion {

namespace {

double class_impurity(Impurity shown, std::span<const double> shares) {
  if (shown == Impurity::kMisclassification) return 1 - *std::ranges::max_element(shares);
  const bool in_bits = shown == Impurity::kEntropy;
  double impurity = 0.0;
  for (const double share : shares) {
    impurity += in_bits ? -x_log2_x(share) : share * (1 - share);
  }
  return impurity;
}

double squared_spread(const Target& target, int output, std::span<const Entry> entries, double mean) {
  double spread = 0.0;
  for (const Entry& entry : entries) {
    const double w = target.weight(entry.row) * entry.payload;
    const double y = target.real(entry.row, output);
    spread += w * (y - mean) * (y - mean);
  }
  return spread;
}

double absolute_spread(const Target& target, int output, std::span<const Entry> entries, double median) {
  double spread = 0.0;
  for (const Entry& entry : entries) {
    spread += target.weight(entry.row) * entry.payload * std::abs(target.real(entry.row, output) - median);
  }
  return spread;
}

// Taken one by one, logarithms would be most of the cost of a small node.
double poisson_spread(const Target& target, int output, std::span<const Entry> entries, double mean) {
  constexpr std::size_t kAtOnce = 4 * kScoreGroup;
  std::array<double, kAtOnce> numbers{};
  std::array<double, kAtOnce> logs;
  double spread = 0.0;
  for (std::size_t first = 0; first < entries.size(); first += kAtOnce) {
    const std::span<const Entry> some = entries.subspan(first, std::min(kAtOnce, entries.size() - first));
    for (std::size_t i = 0; i < some.size(); ++i) numbers[i] = target.real(some[i].row, output);
    kernels().log_ratios(numbers.data(), some.size(), mean, logs.data());
    for (std::size_t i = 0; i < some.size(); ++i) {
      const double w = target.weight(some[i].row) * some[i].payload;
      spread += w * numbers[i] * logs[i];
    }
  }
  return spread;
}

}  // namespace

NodeFacts class_facts(Impurity shown, const Target& target, std::span<const double> class_weights,
                      double* value, int n_values) {
  NodeFacts facts;
  facts.pure = true;
  std::size_t channel = 0;
  for (int o = 0; o < target.n_outputs; ++o) {
    const auto weights = class_weights.subspan(channel, static_cast<std::size_t>(target.n_classes[o]));
    channel += weights.size();
    double total = 0.0;
    for (const double w : weights) total += w;
    int present = 0;
    double* shares = value + static_cast<std::ptrdiff_t>(o) * n_values;
    std::fill_n(shares, n_values, 0.0);
    for (std::size_t k = 0; k < weights.size(); ++k) {
      shares[k] = weights[k] / total;
      present += weights[k] > 0;
    }
    facts.pure &= present <= 1;
    facts.weight = total;
    const double impurity = present <= 1 ? 0.0 : class_impurity(shown, {shares, weights.size()});
    facts.impurity += impurity / target.n_outputs;
  }
  return facts;
}

// Halves the range that holds the median again and again, instead of sorting it.
double weighted_median(std::span<WeightedNumber> numbers) {
  const auto by_number = [](const WeightedNumber& a, const WeightedNumber& b) { return a.number < b.number; };
  double total = 0.0;
  for (const WeightedNumber& each : numbers) total += each.weight;
  const double slack = total * 0x1p-40;  // the same sum in another order
  double wanted = total / 2;             // of the weight in the range
  while (numbers.size() > 1) {
    const auto middle = numbers.begin() + static_cast<std::ptrdiff_t>(numbers.size() / 2);
    std::nth_element(numbers.begin(), middle, numbers.end(), by_number);
    double first = 0.0;
    for (auto each = numbers.begin(); each != middle; ++each) first += each->weight;
    if (std::abs(first - wanted) <= slack) {
      return std::max_element(numbers.begin(), middle, by_number)->number / 2 + middle->number / 2;
    }
    if (first > wanted) {
      numbers = {numbers.begin(), middle};
    } else {
      wanted -= first;
      numbers = {middle, numbers.end()};
    }
  }
  return numbers[0].number;
}

NodeFacts real_facts(Impurity shown, LeafValue leaf_value, const Target& target,
                     std::span<const Entry> entries, double* value) {
  std::vector<WeightedNumber> numbers;
  NodeFacts facts;
  facts.pure = true;
  for (int o = 0; o < target.n_outputs; ++o) {
    double weight = 0.0;
    double sum = 0.0;
    double least = kInfinity;
    double largest = -kInfinity;
    for (const Entry& entry : entries) {
      const double w = target.weight(entry.row) * entry.payload;
      const double y = target.real(entry.row, o);
      weight += w;
      sum += w * y;
      least = std::min(least, y);
      largest = std::max(largest, y);
    }
    facts.weight = weight;
    if (least == largest) {
      value[o] = least;
      continue;
    }
    facts.pure = false;
    const double mean = sum / weight;
    value[o] = mean;
    if (leaf_value == LeafValue::kMedian || shown == Impurity::kAbsoluteDeviation) {
      numbers.clear();
      for (const Entry& entry : entries) {
        numbers.push_back({target.real(entry.row, o), target.weight(entry.row) * entry.payload});
      }
      value[o] = weighted_median(numbers);
    }
    if (shown == Impurity::kAbsoluteDeviation) {
      facts.impurity += absolute_spread(target, o, entries, value[o]) / weight / target.n_outputs;
      continue;
    }
    const bool of_counts = shown == Impurity::kHalfDeviance;
    const double spread =
        of_counts ? poisson_spread(target, o, entries, mean) : squared_spread(target, o, entries, mean);
    facts.impurity += spread / weight / target.n_outputs;
  }
  return facts;
}

}  // namespace hornbeam::criterion
