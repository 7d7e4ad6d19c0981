// Logarithms of our own, so that the same inputs give the same bits on every machine and instruction set
// (the C library's differ between versions). Plain double arithmetic, no fused multiply-add; about 1 ulp.
#pragma once

#include <bit>
#include <cmath>
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

// x log2 x with 0 log 0 = 0.
inline double x_log2_x(double x) {
  return x > 0 ? x * log2_of(x) : 0.0;
}

}  // namespace hornbeam
