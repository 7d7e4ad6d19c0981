// The loops of boosting measured alone: rows into histograms, rows to their branch, cuts from cells.
#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "boost/boost_kernels.h"
#include "boost/cells.h"
#include "boost/histogram/histogram.h"
#include "boost/histogram/tiles.h"
#include "data/dataset.h"
#include "measure.h"

namespace hornbeam::bench {
using boost::boost_kernels;
using boost::BoostEntry;
using boost::BoostKernels;
using boost::CutTerms;
using boost::Histogram;
using boost::HistogramBuilder;
using boost::kCellsPerSlot;
using boost::kMostPackedRows;
using boost::make_entry;
using boost::Tiles;
using data::Dataset;
using data::encode_numeric;

namespace {

constexpr int kFeatures = 28;

// A table of 28 columns of 255 bins, row by row, and rows that carry gradients.
struct BinnedTable {
  BinnedTable(std::size_t n_rows, std::mt19937_64& generator)
      : data(n_rows), n_codes(kFeatures), entries(n_rows) {
    // A few thousand different values are enough to fill 255 bins; to make more takes longer than to measure.
    const auto drawn = normal_values(8191, 0.0, generator);
    std::vector<double> values(n_rows);
    for (int j = 0; j < kFeatures; ++j) {
      for (std::size_t i = 0; i < n_rows; ++i)
        values[i] = drawn[(i * 31 + static_cast<std::size_t>(j) * 1009 + generator() % 64) % drawn.size()];
      data.add(encode_numeric(view(values), n_rows, 255, poller()));
    }
    for (int j = 0; j < kFeatures; ++j) n_codes[static_cast<std::size_t>(j)] = data.column(j).n_codes;
    for (std::size_t i = 0; i < n_rows; ++i)
      entries[i] = make_entry(static_cast<RowId>(i), static_cast<std::int32_t>(generator() % 4096) - 2048, 7);
  }

  Dataset data;
  std::vector<Code> n_codes;
  std::vector<BoostEntry> entries;
};

void measure_accumulate(std::size_t n_rows, const std::string& where, std::mt19937_64& generator) {
  const BinnedTable table(n_rows, generator);
  Cancel cancel;
  const Tiles tiles(table.data, 1, cancel);
  HistogramBuilder builder(tiles, 1);
  Histogram histogram(kFeatures, n_rows > kMostPackedRows);
  const int repeats = static_cast<int>(std::max<std::size_t>(1, 2'000'000 / n_rows));
  report("add rows to 28 histograms of 255 bins, " + where,
         fastest([] {},
                 [&] {
                   for (int r = 0; r < repeats; ++r)
                     builder.add_rows({table.entries, nullptr}, histogram, {}, cancel);
                 }),
         static_cast<double>(n_rows) * kFeatures * repeats, "update");
}

// Nodes deep in a tree have rows here and there: a table's rows shared out among sixteen nodes, each of which
// is then far from what the cache holds.
void measure_scattered(std::size_t n_rows, const std::string& where, std::mt19937_64& generator) {
  constexpr std::size_t kNodes = 16;
  const BinnedTable table(n_rows, generator);
  std::vector<std::vector<BoostEntry>> nodes(kNodes);
  for (const BoostEntry entry : table.entries) nodes[generator() % kNodes].push_back(entry);
  Cancel cancel;
  const Tiles tiles(table.data, 1, cancel);
  HistogramBuilder builder(tiles, 1);
  Histogram histogram(kFeatures, n_rows / kNodes > kMostPackedRows / 2);
  report("add rows to 28 histograms of 255 bins, " + where,
         fastest([] {},
                 [&] {
                   for (const auto& node : nodes) builder.add_rows({node, nullptr}, histogram, {}, cancel);
                 }),
         static_cast<double>(n_rows) * kFeatures, "update");
}

void measure_parting(std::mt19937_64& generator) {
  constexpr std::size_t kRows = 1 << 20;
  std::vector<std::uint8_t> column(kRows);
  std::vector<BoostEntry> entries(kRows);
  std::size_t n_left = 0;
  for (std::size_t i = 0; i < kRows; ++i) {
    column[i] = static_cast<std::uint8_t>(generator());
    n_left += column[i] < 128;
    entries[i] = make_entry(static_cast<RowId>(i), 1, 1);
  }
  std::vector<std::uint64_t> marks(kRows / 64);
  std::vector<BoostEntry> sent(kRows);
  std::uint8_t is_left[256] = {};
  std::fill_n(is_left, 128, 1);
  const BoostKernels& k = boost_kernels();
  report("part rows of boosting, one in two goes right",
         fastest([] {},
                 [&] {
                   k.mark_left(column.data(), entries.data(), kRows, is_left, marks.data());
                   k.send(entries.data(), kRows, marks.data(), sent.data(), n_left, sent.data() + n_left);
                 }),
         kRows, "row");
  std::vector<std::uint64_t> members(kRows / 64);
  std::vector<std::uint64_t> left(kRows / 64);
  report("test all rows of a column as a set, three in four being members",
         fastest([&] { std::ranges::generate(members, [&] { return generator() | generator(); }); },
                 [&] {
                   (void)k.divide_set(column.data(), is_left, kRows / 64, members.data(), left.data(),
                                      marks.data());
                 }),
         kRows, "row of the table");
}

void measure_cuts(std::mt19937_64& generator) {
  constexpr std::size_t kRows = 20'000;
  constexpr int kRepeats = 200;
  const BinnedTable table(kRows, generator);
  Cancel cancel;
  const Tiles tiles(table.data, 1, cancel);
  HistogramBuilder builder(tiles, 1);
  Histogram whole(kFeatures, false);
  Histogram part(kFeatures, false);
  Histogram rest(kFeatures, false);
  const std::span<const BoostEntry> rows(table.entries);
  builder.add_rows({rows, nullptr}, whole, {}, cancel);
  builder.add_rows({rows.first(kRows / 3), nullptr}, part, {}, cancel);
  CutTerms terms;
  terms.hessian = 7.0 * kRows * 2 / 3;
  terms.l2 = 1.0;
  std::vector<double> scores(kCellsPerSlot);
  double n_bins = 0;
  for (const Code codes : table.n_codes) n_bins += static_cast<double>(codes) * kRepeats;
  report("subtract a sibling and score all cuts",
         fastest([] {},
                 [&] {
                   for (int r = 0; r < kRepeats; ++r) {
                     for (int j = 0; j < kFeatures; ++j) {
                       builder.subtract(j, whole, part, rest);
                       (void)boost_kernels().score_packed(rest.packed(j),
                                                          table.n_codes[static_cast<std::size_t>(j)], 0,
                                                          terms, scores.data());
                     }
                   }
                 }),
         n_bins, "bin");
}

}  // namespace

void measure_boosting(std::mt19937_64& generator) {
  measure_accumulate(20'000, "20,000 rows, in cache", generator);
  measure_accumulate(2'000'000, "2,000,000 rows, from memory", generator);
  measure_scattered(2'000'000, "one row in sixteen of 2,000,000", generator);
  measure_parting(generator);
  measure_cuts(generator);
}

}  // namespace hornbeam::bench
