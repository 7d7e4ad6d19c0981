#include "split/categories/merge_categories.h"

#include <algorithm>
#include <numeric>
#include <queue>

#include "base/types.h"
#include "criterion/significance.h"

namespace hornbeam::split {

using criterion::chi2_log_sf;
using criterion::f_log_sf;

namespace {

// The table of two rows and the classes that occur in them.
double log_chi2_difference(const double* a, const double* b, std::size_t n_classes) {
  const double in_a = std::accumulate(a, a + n_classes, 0.0);
  const double in_b = std::accumulate(b, b + n_classes, 0.0);
  double sum = 0.0;
  int n_present = 0;
  for (std::size_t k = 0; k < n_classes; ++k) {
    const double both = a[k] + b[k];
    if (!(both > 0)) continue;
    ++n_present;
    const double excess = a[k] * in_b - b[k] * in_a;
    sum += excess * excess / both;
  }
  return n_present < 2 ? 0.0 : chi2_log_sf(sum / (in_a * in_b), n_present - 1);
}

struct Moments {
  double weight;
  double mean;
  double within;  // sum of squares about the mean
};

Moments moments(const double* cell) {
  return {cell[0], cell[1], cell[2]};
}

double between(const Moments& a, const Moments& b) {
  const double distance = a.mean - b.mean;
  return distance * distance * a.weight * b.weight / (a.weight + b.weight);
}

double log_f_difference(const Moments& a, const Moments& b, double negligible) {
  const double freedom = a.weight + b.weight - 2;
  const double apart = between(a, b);
  if (!(freedom > 0) || !(apart > negligible)) return 0.0;
  const double within = a.within + b.within;
  return within > negligible ? f_log_sf(apart / within * freedom, 1, freedom) : -kInfinity;
}

// Groups that may still be merged, each named by its first category or, in an order, its first place.
class Groups {
 public:
  Groups(MergeTable& table, double log_level, bool all_pairs)
      : table_(table), log_level_(log_level), all_pairs_(all_pairs) {
    const std::size_t n = table.n_groups();
    version_.assign(n, 0);
    next_.resize(n);
    previous_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      next_[i] = static_cast<std::int64_t>(i) + 1;
      previous_[i] = static_cast<std::int64_t>(i) - 1;
    }
    for (std::size_t a = 0; a < n; ++a) {
      for (std::size_t b = a + 1; b < (all_pairs ? n : std::min(n, a + 2)); ++b) consider(a, b);
    }
  }

  // Merges until all differ; calls merged(kept, gone) each time.
  template <class Merged>
  void merge_all(Merged&& merged) {
    while (!pairs_.empty()) {
      const Pair pair = pairs_.top();
      pairs_.pop();
      if (version_[pair.a] != pair.version_a || version_[pair.b] != pair.version_b) continue;
      add(pair.a, pair.b);
      merged(pair.a, pair.b);
    }
  }

 private:
  struct Pair {
    double log_p;
    std::size_t a;
    std::size_t b;
    std::uint32_t version_a;
    std::uint32_t version_b;
    // The pair on top of the heap differs least; of equals the first.
    bool operator<(const Pair& other) const {
      if (log_p != other.log_p) return log_p < other.log_p;
      return a != other.a ? a > other.a : b > other.b;
    }
  };

  void consider(std::size_t a, std::size_t b) {
    const double log_p = log_difference(table_, a, b);
    if (log_p > log_level_) pairs_.push({log_p, a, b, version_[a], version_[b]});
  }

  void add(std::size_t kept, std::size_t gone) {
    const std::size_t width = table_.width();
    double* cell = &table_.cells[kept * width];
    const double* other = &table_.cells[gone * width];
    if (table_.n_classes > 0) {
      for (std::size_t k = 0; k < width; ++k) cell[k] += other[k];
    } else {
      const Moments a = moments(cell);
      const Moments b = moments(other);
      cell[0] = a.weight + b.weight;
      cell[1] = a.mean + (b.mean - a.mean) * (b.weight / cell[0]);
      cell[2] = a.within + b.within + between(a, b);
    }
    ++version_[kept];
    ++version_[gone];
    unlink(gone);
    consider_again(kept);
  }

  void unlink(std::size_t gone) {
    const std::int64_t before = previous_[gone];
    const std::int64_t after = next_[gone];
    if (before >= 0) next_[static_cast<std::size_t>(before)] = after;
    if (after < static_cast<std::int64_t>(next_.size())) previous_[static_cast<std::size_t>(after)] = before;
  }

  void consider_again(std::size_t kept) {
    const auto n = static_cast<std::int64_t>(next_.size());
    for (std::int64_t before = previous_[kept]; before >= 0;
         before = all_pairs_ ? previous_[static_cast<std::size_t>(before)] : -1) {
      consider(static_cast<std::size_t>(before), kept);
    }
    for (std::int64_t after = next_[kept]; after < n;
         after = all_pairs_ ? next_[static_cast<std::size_t>(after)] : n) {
      consider(kept, static_cast<std::size_t>(after));
    }
  }

  MergeTable& table_;
  double log_level_;
  bool all_pairs_;
  std::vector<std::uint32_t> version_;  // changes with the group
  std::vector<std::int64_t> next_;      // groups that are left, as a list
  std::vector<std::int64_t> previous_;
  std::priority_queue<Pair> pairs_;
};

std::uint32_t find_root(std::vector<std::uint32_t>& parent, std::uint32_t group) {
  while (parent[group] != group) group = parent[group] = parent[parent[group]];
  return group;
}

MergeTable reordered(const MergeTable& table, std::span<const std::uint32_t> order) {
  MergeTable result = table;
  const std::size_t width = table.width();
  for (std::size_t place = 0; place < order.size(); ++place) {
    std::copy_n(&table.cells[order[place] * width], width, &result.cells[place * width]);
  }
  return result;
}

}  // namespace

double log_difference(const MergeTable& table, std::size_t a, std::size_t b) {
  const double* cell_a = &table.cells[a * table.width()];
  const double* cell_b = &table.cells[b * table.width()];
  if (table.n_classes > 0) return log_chi2_difference(cell_a, cell_b, table.width());
  return log_f_difference(moments(cell_a), moments(cell_b), table.negligible);
}

double n_ways_to_group(std::size_t n_categories, std::size_t n_groups) {
  constexpr double kEnough = 0x1p1000;
  if (n_groups <= 1 || n_groups == n_categories) return 1.0;
  if (n_categories > 1001) return kEnough;      // so many ways even into two groups
  std::vector<double> ways(n_groups + 1, 0.0);  // of the first few categories, by number of groups
  ways[0] = 1.0;
  for (std::size_t n = 1; n <= n_categories; ++n) {
    for (std::size_t k = std::min(n, n_groups); k > 0; --k) {
      ways[k] = std::min(static_cast<double>(k) * ways[k] + ways[k - 1], kEnough);
    }
    ways[0] = 0.0;
  }
  return ways[n_groups];
}

std::vector<std::uint32_t> merge_categories(MergeTable table, std::span<const std::uint32_t> order,
                                            double log_level) {
  const std::size_t n = table.n_groups();
  const bool all_pairs = n <= kMostComparedPairwise;
  if (!all_pairs) table = reordered(table, order);
  std::vector<std::uint32_t> parent(n);
  std::iota(parent.begin(), parent.end(), 0u);
  Groups(table, log_level, all_pairs).merge_all([&](std::size_t kept, std::size_t gone) {
    parent[gone] = static_cast<std::uint32_t>(kept);
  });
  std::vector<std::uint32_t> root_of_category(n);
  for (std::uint32_t place = 0; place < n; ++place) {
    root_of_category[all_pairs ? place : order[place]] = find_root(parent, place);
  }
  std::vector<std::uint32_t> number(n, ~0u);
  std::uint32_t n_numbered = 0;
  for (std::uint32_t& root : root_of_category) {
    if (number[root] == ~0u) number[root] = n_numbered++;
    root = number[root];
  }
  return root_of_category;
}

}  // namespace hornbeam::split
