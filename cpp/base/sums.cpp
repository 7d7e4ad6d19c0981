#include "base/sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace hornbeam {

namespace {

constexpr int kBits = 30;
constexpr std::size_t kLanes = 8;                     // sums side by side, for wide registers
constexpr std::size_t kBlock = std::size_t{1} << 20;  // whole numbers of 30 bits that 53 bits can add up
constexpr double kRound = 0x1.8p52;                   // added and taken off, it leaves a whole number

struct WholeSums {
  std::int64_t high = 0;
  std::int64_t low = 0;
};

template <class Scale>
WholeSums whole_sums(std::span<const double> values, const Scale& scaled) {
  WholeSums sums;
  for (std::size_t begin = 0; begin < values.size(); begin += kBlock) {
    const std::size_t end = std::min(begin + kBlock, values.size());
    double high[kLanes] = {};
    double low[kLanes] = {};
    const auto add = [&](std::size_t lane, double value) {
      const double all = scaled(value);
      const double whole = (all + kRound) - kRound;
      high[lane] += whole;
      low[lane] += ((all - whole) * (1 << kBits) + kRound) - kRound;
    };
    std::size_t i = begin;
    for (; i + kLanes <= end; i += kLanes)
      for (std::size_t lane = 0; lane < kLanes; ++lane) add(lane, values[i + lane]);
    for (; i < end; ++i) add(0, values[i]);
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      sums.high += static_cast<std::int64_t>(high[lane]);
      sums.low += static_cast<std::int64_t>(low[lane]);
    }
  }
  return sums;
}

}  // namespace

double sum_in_any_order(std::span<const double> values) {
  double largest = 0.0;
  double plain = 0.0;
  bool is_finite = true;
  for (const double value : values) {
    largest = std::max(largest, std::fabs(value));
    is_finite = is_finite && std::isfinite(value);
  }
  if (!is_finite) {
    for (const double value : values) plain += value;
    return plain;
  }
  if (largest == 0) return 0.0;
  int exponent = 0;
  std::frexp(largest, &exponent);
  const int up = kBits - exponent;
  // Tiny numbers are scaled in two steps, as the factor would be infinite.
  const double factor = std::ldexp(1.0, up > 1000 ? 1000 : up);
  const double rest = up > 1000 ? std::ldexp(1.0, up - 1000) : 1.0;
  const WholeSums sums = up > 1000 ? whole_sums(values, [&](double value) { return value * factor * rest; })
                                   : whole_sums(values, [&](double value) { return value * factor; });
  return std::ldexp(static_cast<double>(sums.high) + std::ldexp(static_cast<double>(sums.low), -kBits),
                    exponent - kBits);
}

}  // namespace hornbeam
