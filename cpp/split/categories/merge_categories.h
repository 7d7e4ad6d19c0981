// Merging categories that do not differ significantly (CHAID: Kass 1980): as long as some pair of groups
// differs less than the level asks, the pair that differs least becomes one group.
//
// Whether two groups differ is asked of their class counts by chi-square, of their means by F; weights count
// as rows. With many categories only neighbours in an order are compared, since all pairs would be too many.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hornbeam::split {

// What each category of a node holds: a weight per class, or weight, mean and sum of squares about it.
struct MergeTable {
  int n_classes = 0;  // 0 for real targets
  std::vector<double> cells;
  double negligible = 0.0;  // a sum of squares that is only rounding

  std::size_t width() const { return n_classes > 0 ? static_cast<std::size_t>(n_classes) : 3; }
  std::size_t n_groups() const { return cells.size() / width(); }
};

inline constexpr std::size_t kMostComparedPairwise = 128;

// ln p of the difference between two groups.
double log_difference(const MergeTable& table, std::size_t a, std::size_t b);

// In how many ways the categories can be put into this many groups (Stirling numbers of the second kind): the number
// of tests that the merged one was chosen from. Numbers too large for any significance are cut off.
double n_ways_to_group(std::size_t n_categories, std::size_t n_groups);

// The group of every category, numbered by their first categories. `order` lists the categories so that
// similar ones are neighbours; it is used where they are more than kMostComparedPairwise.
std::vector<std::uint32_t> merge_categories(MergeTable table, std::span<const std::uint32_t> order,
                                            double log_level);

}  // namespace hornbeam::split
