#include "explain/tables.h"

#include <algorithm>
#include <array>
#include <bit>

#include "explain/beta.h"

namespace hornbeam::explain {

void TableMaker::find_places(const SubtreeLeaf& leaf, std::size_t n_patterns) {
  places_.assign(n_patterns, 0);
  for (std::size_t i = 0; i < leaf.columns.size(); ++i) {
    const SubtreeLeaf::Column& column = leaf.columns[i];
    for (std::size_t p = 0; p < n_patterns; ++p)
      places_[p] = static_cast<std::uint8_t>(places_[p] | (((p & column.mask) == column.wanted) << i));
  }
}

// With known columns in = 1 or 0 and out = the share of the rows; see walk.h. Pairs follow long paths.
void TableMaker::play_by_shares(const SubtreeLeaf& leaf) {
  const std::size_t n_columns = leaf.columns.size();
  const std::size_t n = std::size_t{1} << n_columns;
  const Quadrature& points = quadratures_.for_columns(n_columns);
  amounts_.assign(n_columns * n, 0.0);
  products_.resize(n);
  for (std::size_t t = 0; t < points.size(); ++t) {
    const double at = points.at[t];
    std::array<double, kMostBits> if_in{};  // the factor of a column the row gets past
    products_[0] = points.weight[t];
    for (std::size_t i = 0; i < n_columns; ++i) {
      const double share = leaf.columns[i].share;
      if_in[i] = share + at * (1 - share);
      const double if_not = (1 - at) * share;
      for (std::size_t p = 0; p < std::size_t{1} << i; ++p) {
        products_[p | std::size_t{1} << i] = products_[p] * if_in[i];
        products_[p] *= if_not;
      }
    }
    for (std::size_t i = 0; i < n_columns; ++i) {
      const std::size_t bit = std::size_t{1} << i;
      for (std::size_t p = 0; p < n; ++p)
        if ((p & bit) != 0) amounts_[i * n + p] += products_[p] / if_in[i];
    }
  }
  // The integral does not depend on the column that was taken out: the two patterns differ in (in - out) only.
  for (std::size_t i = 0; i < n_columns; ++i) {
    const std::size_t bit = std::size_t{1} << i;
    const double share = leaf.columns[i].share;
    double* sums = amounts_.data() + i * n;
    for (std::size_t p = 0; p < n; ++p)  // the pattern with the bit comes after the one without
      sums[p] = sums[p | bit] * ((p & bit) != 0 ? 1 - share : -share);
  }
}

// A row with pattern `in` against rows of the background that have the other columns, at least. Only columns
// that one of the two gets past matter: `only_in`, which must be known, and those not `in`, which must not.
void TableMaker::add_by_counts(std::size_t n_columns, std::size_t in, std::size_t only_in, double share) {
  const std::size_t n = std::size_t{1} << n_columns;
  const std::size_t only_out = ~in & (n - 1);
  const int a = std::popcount(only_in);
  const int b = std::popcount(only_out);
  const double gain = a > 0 ? share * beta(a - 1, b) : 0.0;
  const double loss = b > 0 ? share * beta(a, b - 1) : 0.0;
  for (std::size_t i = 0; i < n_columns; ++i) {
    double& sum = amounts_[(i << n_columns) + in];
    if ((only_in >> i & 1) != 0) sum += gain;
    if ((only_out >> i & 1) != 0) sum -= loss;
  }
  if (!pairs_ || a + b < 2) return;
  const double both_in = a > 1 ? share * beta(a - 2, b) : 0.0;
  const double both_out = b > 1 ? share * beta(a, b - 2) : 0.0;
  const double one_each = a > 0 && b > 0 ? share * beta(a - 1, b - 1) : 0.0;
  const Slots slots(n_columns, true);
  for (std::size_t i = 0; i < n_columns; ++i) {
    const bool i_in = (only_in >> i & 1) != 0;
    if (!i_in && (only_out >> i & 1) == 0) continue;
    for (std::size_t j = i + 1; j < n_columns; ++j) {
      const bool j_in = (only_in >> j & 1) != 0;
      if (!j_in && (only_out >> j & 1) == 0) continue;
      amounts_[(slots.pair(i, j) << n_columns) + in] += i_in != j_in ? -one_each : i_in ? both_in : both_out;
    }
  }
}

void TableMaker::play_by_counts(const SubtreeLeaf& leaf, std::span<const std::uint32_t> counts,
                                double n_background) {
  const std::size_t n_columns = leaf.columns.size();
  const std::size_t n = std::size_t{1} << n_columns;
  shares_.assign(n, 0.0);
  for (std::size_t p = 0; p < counts.size(); ++p) shares_[places_[p]] += counts[p];
  for (double& share : shares_) share /= n_background;
  amounts_.assign(Slots(n_columns, pairs_).size() * n, 0.0);
  for (std::size_t in = 0; in < n; ++in) {
    const std::size_t others = ~in & (n - 1);
    for (std::size_t only_in = in;; only_in = (only_in - 1) & in) {  // all subsets of `in`
      const double share = shares_[others | (in & ~only_in)];
      if (share > 0) add_by_counts(n_columns, in, only_in, share);
      if (only_in == 0) break;
    }
  }
}

double TableMaker::reach(const SubtreeLeaf& leaf, const Subtree& subtree,
                         std::span<const std::uint32_t> counts, std::size_t n_background) {
  find_places(leaf, subtree.n_patterns());
  const auto all = static_cast<std::uint8_t>((std::size_t{1} << leaf.columns.size()) - 1);
  std::uint64_t n = 0;
  for (std::size_t p = 0; p < counts.size(); ++p)
    if (places_[p] == all) n += counts[p];
  return static_cast<double>(n) / static_cast<double>(n_background);
}

}  // namespace hornbeam::explain
