#include "explain/tables.h"

#include <algorithm>
#include <array>
#include <bit>

#include "explain/beta.h"

namespace hornbeam::explain {

void TableMaker::find_places(const SubtreeLeaf& leaf, std::size_t n_patterns) {
  places_.assign(n_patterns, 0);
  for (std::size_t i = 0; i < leaf.columns.size(); ++i) {
    const auto [place, mask, wanted, share] = leaf.columns[i];
    std::uint8_t* places = places_.data();
    std::uint8_t pattern = 0;
    for (std::size_t p = 0; p < n_patterns; ++p, ++pattern)
      places[p] = static_cast<std::uint8_t>(places[p] | (((pattern & mask) == wanted) << i));
  }
}

// For known columns in = 1 or 0 and out = the share of the rows; see walk.h. Pairs are computed as in
// paths/long_paths.h.
void TableMaker::play_by_shares(const SubtreeLeaf& leaf) {
  const std::size_t n_columns = leaf.columns.size();
  const std::size_t n = std::size_t{1} << n_columns;
  const Quadrature& points = quadratures_.for_columns(n_columns);
  amounts_.assign(n_columns * n, 0.0);
  products_.resize(n);
  for (std::size_t t = 0; t < points.size(); ++t) {
    const double at = points.at[t];
    std::array<double, kMostBits> if_in{};  // the factor of a column that the row passes
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
  // The integral does not depend on the column that was taken out: the two patterns differ only in (in -
  // out).
  for (std::size_t i = 0; i < n_columns; ++i) {
    const std::size_t bit = std::size_t{1} << i;
    const double share = leaf.columns[i].share;
    double* sums = amounts_.data() + i * n;
    for (std::size_t p = 0; p < n; ++p)  // the pattern with the bit comes after the one without
      sums[p] = sums[p | bit] * ((p & bit) != 0 ? 1 - share : -share);
  }
}

// A row with pattern `in` and the rows of the background that pass at least the other columns. Only columns
// that exactly one of the two passes matter: `only_in`, which must be known, and those not `in`, which must
// not.
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
  amounts_.assign(Slots(n_columns, pairs_).size() * n, 0.0);
  if (!pairs_) return play_singles_by_counts(n_columns, n_background);
  for (double& share : shares_) share /= n_background;
  for (std::size_t in = 0; in < n; ++in) {
    const std::size_t others = ~in & (n - 1);
    for (std::size_t only_in = in;; only_in = (only_in - 1) & in) {  // all subsets of `in`
      const double share = shares_[others | (in & ~only_in)];
      if (share > 0) add_by_counts(n_columns, in, only_in, share);
      if (only_in == 0) break;
    }
  }
}

// The same for single columns, without going through all pairs of patterns. A row of the background counts
// for a row with pattern `in` if all columns that it fails are `in`. These are the `only_in` of the pair, and
// only their number k matters. Let f_k(S) be the number of background rows that fail k columns, all of them
// in the set S, and let b columns not be `in`. Then
//     a column that is `in` gets the sum over k of beta(k - 1, b) (f_k(in) - f_k(in without the column)),
//     any other loses the sum over k of beta(k, b - 1) f_k(in).
// f_k of all sets is found column by column: f_k(S) = f_k(S without the column) + the rows that fail it.
void TableMaker::play_singles_by_counts(std::size_t n_columns, double n_background) {
  const std::size_t n = std::size_t{1} << n_columns;
  constexpr auto kMost = static_cast<std::size_t>(kMostBits);
  lacking_.assign(n * kMost, 0.0);  // [set, k - 1]
  for (std::size_t set = 1; set < n; ++set)
    lacking_[set * kMost + static_cast<std::size_t>(std::popcount(set)) - 1] = shares_[set ^ (n - 1)];
  for (std::size_t bit = 1; bit < n; bit *= 2) {
    for (std::size_t first = bit; first < n; first += 2 * bit) {
      double* sums = lacking_.data() + first * kMost;
      const double* without = sums - bit * kMost;
      for (std::size_t i = 0; i < bit * kMost; ++i) sums[i] += without[i];
    }
  }
  const double each = 1.0 / n_background;
  for (std::size_t in = 0; in < n; ++in) {
    const auto sum = [&](const double* betas) {  // of k = 1, 2, ...
      const double* found = lacking_.data() + in * kMost;
      double total = 0.0;
      for (std::size_t k = 0; k < kMost; ++k) total += betas[k] * found[k];
      return total * each;
    };
    const int b = static_cast<int>(n_columns) - std::popcount(in);
    const double gain = sum(row_of_betas(b) + 1);
    const double gain_above = b > 0 ? sum(row_of_betas(b - 1) + 1) : 0.0;  // where one more column is `in`
    const double loss = b > 0 ? sum(row_of_betas(b - 1) + 2) + beta(0, b - 1) * shares_[n - 1] * each : 0.0;
    for (std::size_t i = 0; i < n_columns; ++i) {
      const std::size_t bit = std::size_t{1} << i;
      if ((in & bit) != 0) {
        amounts_[(i << n_columns) + in] += gain;
      } else {
        amounts_[(i << n_columns) + in] = -loss;
        amounts_[(i << n_columns) + (in | bit)] = -gain_above;
      }
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
