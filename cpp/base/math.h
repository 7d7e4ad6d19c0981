// Logarithms of our own, so that the same inputs give the same bits on every machine and instruction set
// (the C library's differ between versions). Plain double arithmetic, no fused multiply-add; about 1 ulp.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace hornbeam {

// For finite x > 0, without a branch, so that loops over it use wide registers. x = 2^k m with m near 1;
// ln m = 2 atanh(s), s = (m-1)/(m+1), as an odd series in s.
struct LogParts {
  double exponent;
  double ln_mantissa;
};

inline LogParts split_log(double x) {
  constexpr double kSqrt2 = 1.4142135623730951;
  const bool subnormal = x < 0x1p-1022;
  const auto bits = std::bit_cast<std::uint64_t>(subnormal ? x * 0x1p54 : x);
  double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) | 0x3ff0000000000000u);
  const bool large = m > kSqrt2;
  m = large ? m * 0.5 : m;
  // The biased exponent as a number: put below the leading bit of 2^52.
  const double biased = std::bit_cast<double>((bits >> 52) | 0x4330000000000000u) - 0x1p52;
  const double exponent = biased - (subnormal ? 1023 + 54 : 1023) + (large ? 1 : 0);
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double series = 1.0 / 23;
  for (int odd = 21; odd >= 3; odd -= 2) series = series * z + 1.0 / odd;
  return {exponent, 2 * s + 2 * s * z * series};
}

inline double log2_of(double x) {
  constexpr double kInverseLn2 = 1.4426950408889634;
  const LogParts parts = split_log(x);
  return parts.exponent + parts.ln_mantissa * kInverseLn2;
}

inline double ln_of(double x) {
  constexpr double kLn2High = 0.693147180369123816490;  // the low bits are zero, so exponent * high is exact
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  const LogParts parts = split_log(x);
  return parts.exponent * kLn2High + (parts.ln_mantissa + parts.exponent * kLn2Low);
}

// e^x for any x that is not NaN, without a branch, so that loops over it use wide registers. x = k ln 2 + r
// with |r| <= ln 2 / 2; e^r by its series; 2^k by way of the exponent's bits. Beyond the range of normal
// numbers the result is the smallest or the largest of them.
inline double exp_of(double x) {
  constexpr double kLeast = -708.0;
  constexpr double kMost = 709.0;
  constexpr double kInverseLn2 = 1.4426950408889634;
  constexpr double kLn2High = 0.693147180369123816490;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr double kRound = 0x1.8p52;  // adding it leaves the whole part in the low bits
  x = x < kLeast ? kLeast : x;
  x = x > kMost ? kMost : x;
  const double shifted = x * kInverseLn2 + kRound;
  const double k = shifted - kRound;
  const double r = (x - k * kLn2High) - k * kLn2Low;
  double series = 1.0 / 479001600;  // 1 / 12!
  series = series * r + 1.0 / 39916800;
  series = series * r + 1.0 / 3628800;
  series = series * r + 1.0 / 362880;
  series = series * r + 1.0 / 40320;
  series = series * r + 1.0 / 5040;
  series = series * r + 1.0 / 720;
  series = series * r + 1.0 / 120;
  series = series * r + 1.0 / 24;
  series = series * r + 1.0 / 6;
  series = series * r + 0.5;
  series = series * r + 1.0;
  series = series * r + 1.0;
  const std::uint64_t exponent = std::bit_cast<std::uint64_t>(shifted) << 52;
  return std::bit_cast<double>(std::bit_cast<std::uint64_t>(series) + exponent);
}

// A branch of Poisson's deviance: sum ln(mean), which goes to 0 as the sum does.
inline double poisson_branch(double sum, double weight, double mean_unit) {
  const double mean = sum / weight * mean_unit;
  return sum * ln_of(mean > 0 ? mean : 1.0);
}

// The same in float32 for 0 <= x <= 1, and finite at 0: off by less than kRoughLog2 and 2^-24 of itself. x = 2^k m with m
// near 1; log2 m is m - 1 times a polynomial that was fitted to it, whose largest error is 3.1e-7.
inline constexpr float kRoughLog2 = 0x1p-20f;
inline constexpr std::int32_t kRoughMantissa =
    0x3f3504f3;  // the bits of the square root of 1/2, where m begins
inline constexpr float kRoughSeries[] = {0.17063452303409576f, -0.2726980149745941f, 0.29726260900497437f,
                                         -0.3589618504047394f, 0.48046502470970154f, -0.7213758826255798f,
                                         1.442699670791626f};
inline float rough_log2(float x) {
  const auto bits = std::bit_cast<std::int32_t>(x);
  const std::int32_t exponent = (bits - kRoughMantissa) >> 23;
  const float t = std::bit_cast<float>(bits - exponent * (1 << 23)) - 1.0f;
  float series = kRoughSeries[0];
  for (int i = 1; i < 7; ++i) series = series * t + kRoughSeries[i];
  return static_cast<float>(exponent) + t * series;
}

// By how much rough scores of entropy may differ that are not to be told apart. The scores are in units of the node's
// weight: sums of x log2 x over the classes of both branches, less those of the branches; x are shares of the node.
// Each share is off by 2^-24 of itself, its logarithm as above, and each of at most 2 n + 3 additions by 2^-24 of what
// has been added up, which is at most 1 + log2(2 n). That is doubled, as two scores are compared. The errors of exact
// scores, and their ties, are less than 2^-36.
inline float rough_entropy_margin(std::size_t n_classes) {
  const auto n = static_cast<double>(n_classes);
  return 4 * kRoughLog2 + static_cast<float>(0x1p-23 * (2 * n + 10) * (std::log2(2 * n) + 2));
}

// x log2 x with 0 log 0 = 0.
inline double x_log2_x(double x) {
  return x > 0 ? x * log2_of(x) : 0.0;
}

}  // namespace hornbeam
