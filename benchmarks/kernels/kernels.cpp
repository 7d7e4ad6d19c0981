// The core's inner loops measured alone, one line each: nanoseconds per value, row or candidate, best of
// several runs. Run on an idle machine; HORNBEAM_INSTRUCTIONS=baseline or avx2 keeps the kernels to a smaller
// instruction set. This file has the loops of trees.
#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/wide_loops.h"
#include "criterion/counts.h"
#include "data/dataset.h"
#include "grow/fast/subtree.h"
#include "grow/grower.h"
#include "measure.h"
#include "split/find_cuts.h"
#include "split/partition.h"

namespace {

using namespace hornbeam;
using namespace hornbeam::criterion;
using namespace hornbeam::data;
using namespace hornbeam::grow;
using namespace hornbeam::split;
using namespace hornbeam::bench;

constexpr std::size_t kRows = 1'000'000;

void measure_encoding(std::mt19937_64& generator) {
  const auto few = normal_values(kRows, 0.01, generator);
  const auto many = normal_values(kRows, 0.0, generator);
  auto single = many;
  for (double& v : single) v = static_cast<float>(v);
  const auto encode = [](const std::vector<double>& values, int max_bins) {
    return fastest([] {}, [&] { (void)encode_numeric(view(values), values.size(), max_bins, poller()); });
  };
  report("rank, about 900 distinct values", encode(few, 0), kRows, "value");
  report("rank, distinct float64 values", encode(many, 0), kRows, "value");
  report("rank, distinct values exact in float32", encode(single, 0), kRows, "value");
  report("255 quantile bins, edges included", encode(many, 255), kRows, "value");
  std::vector<double> edges(256);
  for (std::size_t i = 0; i < edges.size(); ++i) edges[i] = -2.5 + 5.0 * static_cast<double>(i) / 255.0;
  std::vector<std::uint8_t> codes(kRows);
  report(std::string("255 bins, edges known, ") + kernels().name,
         fastest([] {}, [&] { kernels().count_below(many.data(), kRows, edges.data(), codes.data()); }),
         kRows, "value");
}

void measure_partition(std::mt19937_64& generator) {
  const Column column = encode_numeric(view(normal_values(kRows, 0.01, generator)), kRows, 0, poller());
  std::vector<Entry> rows(kRows);
  std::vector<Entry> scratch(kRows);
  Split split;
  split.feature = 0;
  split.first_right = column.n_codes / 2;
  split.missing_branch = 1;
  const auto fill = [&] {
    for (std::size_t i = 0; i < kRows; ++i) rows[i] = {static_cast<RowId>(i), 1};
  };
  report("partition, one row in two goes right",
         fastest(fill,
                 [&] { (void)partition_rows(rows, scratch.data(), column, split, CategoryPlan::subsets()); }),
         kRows, "row");
}

void measure_scores() {
  constexpr std::size_t kCandidates = 4096;
  constexpr int kRepeats = 200;
  static_assert(kCandidates % kScoreGroup == 0);
  std::vector<TwoCounts> left(kCandidates);
  std::vector<double> sums(kCandidates);
  std::vector<double> weights(kCandidates);
  for (std::size_t i = 0; i < kCandidates; ++i) {
    left[i] = two_counts(static_cast<std::uint32_t>(i + 1), static_cast<std::uint32_t>(i / 2));
    sums[i] = static_cast<double>(i) - 2000.0;
    weights[i] = static_cast<double>(i + 1);
  }
  std::vector<double> scores(kCandidates);
  const Kernels& k = kernels();
  const auto repeated = [&](const std::function<void()>& work) {
    return fastest([] {},
                   [&] {
                     for (int r = 0; r < kRepeats; ++r) work();
                   });
  };
  const double n = kCandidates;
  const TwoCounts node = two_counts(kCandidates + 1, kCandidates / 2);
  report(std::string("score two-class gini, ") + k.name,
         repeated([&] { (void)k.gini_two_classes(left.data(), kCandidates, node, scores.data()); }),
         n * kRepeats, "candidate");
  std::vector<float> rough(kCandidates);
  report(std::string("score two-class gini roughly, ") + k.name,
         repeated([&] { (void)k.rough_gini_two_classes(left.data(), kCandidates, node, rough.data()); }),
         n * kRepeats, "candidate");
  report(std::string("score squared error, ") + k.name, repeated([&] {
           (void)k.two_squares(sums.data(), sums.data(), weights.data(), kCandidates, n + 1, scores.data());
         }),
         n * kRepeats, "candidate");
  volatile double sink = 0;
  report(std::string("largest score, ") + k.name,
         repeated([&] { sink = k.largest(scores.data(), kCandidates); }), n * kRepeats, "candidate");
}

using GiniScorer = TwoClassScorer<GiniTerm>;

// A node of a table of 100,000 rows with one feature and two classes.
struct OneFeatureNode {
  static constexpr std::size_t kTableRows = 100'000;

  OneFeatureNode(std::mt19937_64& generator, double step, std::size_t n_node)
      : data(kTableRows), rows(kTableRows), classes(kTableRows) {
    data.add(encode_numeric(view(normal_values(kTableRows, step, generator)), kTableRows, 0, poller()));
    std::iota(rows.begin(), rows.end(), 0);
    std::shuffle(rows.begin(), rows.end(), generator);
    rows.resize(n_node);
    std::sort(rows.begin(), rows.end());
    for (auto& c : classes) c = static_cast<std::int32_t>(generator() & 1);
    target = {1, {2}, classes, {}, {}};
    for (const RowId row : rows) entries.push_back({row, CountStats::payload_of(target, row, 1)});
  }
  // As finders are told about it.
  Node<GiniScorer> at_hand() {
    scorer.emplace(CountStats(target, {rows, {}}), static_cast<std::int64_t>(entries.size()));
    add_up(*scorer, std::span<const Entry>(entries), cell);
    room.load(*scorer, entries);
    return {*scorer, room, entries, cell, CategoryPlan::subsets()};
  }
  int repeats() const { return static_cast<int>(std::max<std::size_t>(1, 200'000 / entries.size())); }

  Dataset data;
  std::vector<RowId> rows;
  std::vector<std::int32_t> classes;
  Target target;
  std::vector<Entry> entries;
  std::optional<GiniScorer> scorer;
  std::vector<CountStats::Element> cell;
  SearchBuffers<GiniScorer> room;
};

// One feature of one node, from gathering its codes to its best test.
void measure_find_split(std::mt19937_64& generator, double step, std::size_t n_node,
                        const std::string& what) {
  OneFeatureNode node(generator, step, n_node);
  const auto at_hand = node.at_hand();
  const Column& column = node.data.column(0);
  report("best test of a feature, " + what,
         fastest([] {},
                 [&] {
                   for (int r = 0; r < node.repeats(); ++r) {
                     FirstBest<Split> best(0.0);
                     find_cut(at_hand, 0, gather(at_hand, column), best);
                   }
                 }),
         static_cast<double>(n_node) * node.repeats(), "row");
}

// The same within a subtree, where the rows lie in order, and what keeping them in order costs.
void measure_subtree(std::mt19937_64& generator, std::size_t n_node, const std::string& what) {
  OneFeatureNode node(generator, 0.0, n_node);
  const auto at_hand = node.at_hand();
  const Column& column = node.data.column(0);
  const FeatureId features[] = {0};
  Subtree subtree;
  const auto start = [&] { subtree.start(node.data, nullptr, features, node.entries, 0, true, poller()); };
  const auto count = static_cast<double>(n_node) * node.repeats();
  report("order a feature of a subtree, " + what,
         fastest([] {},
                 [&] {
                   for (int r = 0; r < node.repeats(); ++r) start();
                 }),
         count, "row");
  report("best test of an ordered feature, " + what,
         fastest(start,
                 [&] {
                   for (int r = 0; r < node.repeats(); ++r) {
                     FirstBest<Split> best(0.0);
                     find_cut(at_hand, 0, column, subtree.ordered_rows(0, 0, n_node), best);
                   }
                 }),
         count, "row");
  Split split;
  split.feature = 0;
  split.n_known_left = static_cast<std::uint32_t>(n_node / 2);
  const auto part = [&] {
    start();
    (void)subtree.divide_rows(node.entries, 0, column, split, CategoryPlan::subsets());
  };
  // Whether the keys have been parted already makes no difference to the time.
  report("part an ordered feature, " + what,
         fastest(part,
                 [&] {
                   for (int r = 0; r < node.repeats(); ++r) subtree.divide_orders(0, n_node, n_node / 2);
                 }),
         count, "row");
}

}  // namespace

int main() {
  std::mt19937_64 generator(1);
  measure_encoding(generator);
  measure_partition(generator);
  measure_scores();
  measure_find_split(generator, 0.01, 100'000, "100,000 rows, 900 codes (counts)");
  measure_find_split(generator, 0.0, 100'000, "100,000 rows, all distinct (sorts)");
  measure_find_split(generator, 0.0, 1'000, "1,000 rows, all distinct (sorts)");
  measure_find_split(generator, 0.0, 100, "100 rows, all distinct (sorts)");
  measure_find_split(generator, 0.0, 12, "12 rows, all distinct (sorts)");
  measure_subtree(generator, 50'000, "50,000 rows");
  measure_subtree(generator, 1'000, "1,000 rows");
  measure_subtree(generator, 100, "100 rows");
  measure_subtree(generator, 12, "12 rows");
  measure_boosting(generator);
  measure_answers(generator);
}
