// The few loops that profit from wide registers, compiled once per instruction set and chosen once at run
// time. All variants give the same bits: plain IEEE operations, no contraction, no reordering of sums.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hornbeam {

// Rows, and rows of class 1 in the upper half; below 2^31 each.
using TwoCounts = std::uint64_t;
inline constexpr TwoCounts two_counts(std::uint32_t rows, std::uint32_t ones) {
  return std::uint64_t{ones} << 32 | rows;
}
inline constexpr std::int32_t rows_of(TwoCounts counts) {
  return static_cast<std::int32_t>(counts);
}
inline constexpr std::int32_t ones_of(TwoCounts counts) {
  return static_cast<std::int32_t>(counts >> 32);
}

// Candidates are scored in whole groups, so that the last few need no loop of their own: the arrays are padded to
// the next multiple, and the padding repeats the last candidate.
inline constexpr std::size_t kScoreGroup = 16;
constexpr std::size_t whole_groups(std::size_t n) {
  return (n + kScoreGroup - 1) / kScoreGroup * kScoreGroup;
}

struct Kernels {
  const char* name;

  // These score n >= 1 candidates and return the largest score.
  // Gini of two classes, from what is in branch 0 of each candidate and in the node.
  double (*gini_two_classes)(const TwoCounts* left, std::size_t n, TwoCounts node, double* scores);
  // The same in float32, for counts below 2^24: off by less than 2^-21 of the score.
  float (*rough_gini_two_classes)(const TwoCounts* left, std::size_t n, TwoCounts node, float* scores);
  // For groups of rows in order: `before` has the counts of all rows before each group, and at its end those of the
  // node (below 2^24). Computes rough scores of the edges before, between and after the groups and returns the largest;
  // computes for each group an upper bound of the score of any test within it.
  float (*bound_gini_groups)(const TwoCounts* before, std::size_t n_groups, float* edges, float* groups);
  // How many rows of two classes belong to the larger class of their branch.
  std::int32_t (*majorities_two_classes)(const TwoCounts* left, std::size_t n, TwoCounts node,
                                         std::int32_t* scores);
  // left_sum^2 / left + right_sum^2 / (node - left).
  double (*two_squares)(const double* left_sums, const double* right_sums, const double* left, std::size_t n,
                        double node, double* scores);
  // left_sum ln(left_sum / left * unit), and the same on the right; sums are not negative.
  double (*two_poissons)(const double* left_sums, const double* right_sums, const double* left, std::size_t n,
                         double node, double unit, double* scores);
  // An upper bound of what the score above can exceed that of the node by; node_sum > 0.
  double (*poisson_bounds)(const double* left_sums, const double* left, std::size_t n, double node_sum,
                           double node, double* bounds);
  // ln(number / mean), 0 where the number is; in whole groups, too.
  void (*log_ratios)(const double* numbers, std::size_t n, double mean, double* logs);
  // left_term / left + right_term / (node - left).
  double (*two_ratios)(const double* left_terms, const double* right_terms, const double* left, std::size_t n,
                       double node, double* scores);
  // Adds x log2 x of each number to a sum, 0 where the number is; in whole groups, too.
  void (*add_x_log2_x)(const double* numbers, std::size_t n, double* sums);
  // The same of numbers in another unit, in which they are at most 1, and in float32 (base/math.h).
  void (*add_rough_x_log2_x)(const double* numbers, std::size_t n, double unit, float* sums);
  // The largest of n >= 1 scores; -inf counts, NaN does not occur.
  double (*largest)(const double* scores, std::size_t n);
  // The rank of each of n <= 64 different keys; both lists have room for 64.
  void (*places)(const std::uint32_t* keys, std::size_t n, std::uint8_t* places);
  // The same for bytes, equal ones in the order of the list; returns a bit for each byte that occurs more than once.
  std::uint64_t (*places_of_bytes)(const std::uint8_t* codes, std::size_t n, std::uint8_t* places);
  // How many of 256 ascending edges (unused ones infinite, one at least) lie below each value; 0 for NaN.
  void (*count_below)(const double* values, std::size_t n, const double* edges, std::uint8_t* counts);
};

const Kernels& kernels();

}  // namespace hornbeam
