// The growth of grow/fast/value_block.h; included once per instruction set, inside a namespace that
// HORNBEAM_KERNELS names. The loops over rows are those of simd/grow/value_block_registers.h, the random
// draws those of simd/grow/value_block_draws.h.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/sampler.h"
#include "criterion/counts.h"
#include "grow/fast/value_block.h"
#include "simd/grow/row_words.h"
#include "simd/grow/value_block_draws.h"
#include "simd/grow/value_block_registers.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

using criterion::GiniTerm;
using criterion::tie_slack;

namespace {

constexpr std::size_t kSparse = 4;  // of so many rows of the table, a sparse node has less than one

// Scores of a branch of few rows, by its rows and those of class 1.
struct FewScores {
  FewScores() {
    const GiniTerm term(0);
    for (std::int64_t rows = 0; rows <= std::int64_t{kLanes}; ++rows) {
      for (std::int64_t ones = 0; ones <= rows; ++ones)
        of[rows][ones] = term.branch(term(1, ones) + term(0, rows - ones), rows);
    }
  }
  double operator()(std::uint32_t rows, std::uint32_t ones) const { return of[rows][ones]; }
  double of[kLanes + 1][kLanes + 1];
};

struct AnyScore {
  double operator()(std::uint32_t rows, std::uint32_t ones) const {
    const GiniTerm term(0);
    const std::int64_t zeros = rows - ones;
    return term.branch(term(1, ones) + term(0, zeros), rows);
  }
};

// The best test of a node so far; among equals the first stays, as in FirstBest.
struct BestTest {
  double score = -1.0;  // less than any
  double threshold = 0.0;
  float bound = 0.0f;
  std::int32_t column = -1;
  std::uint32_t left_rows = 0;
  std::uint32_t left_ones = 0;
  Lanes left_lanes = 0;  // where rows are lanes

  bool found() const { return column >= 0; }
};

// A node whose rows are lanes.
struct LaneNode {
  std::uint64_t path;
  Lanes rows;
  std::int32_t node;
  std::int32_t depth;
};

class BlockGrower {
 public:
  explicit BlockGrower(BlockGrowth& growth)
      : growth_(growth),
        draws_(growth),
        n_nodes_(growth.n_nodes),
        least_rows_(std::max(growth.rules.min_samples_leaf, growth.rules.min_weight)) {}

  void grow() {
    std::size_t n_waiting = 0;
    waiting_[n_waiting++] = growth_.root;
    while (n_waiting > 0) {
      const Waiting node = waiting_[--n_waiting];
      growth_.poll(growth_.poller, node.n_rows * 8);
      if (node.n_rows <= growth_.held_rows) {
        grow_held(node, n_waiting);
      } else {
        grow_listed(node, n_waiting);
      }
    }
    growth_.n_nodes = n_nodes_;
  }

 private:
  using Waiting = BlockGrowth::Waiting;
  static constexpr std::size_t kMostWaiting = 128;  // twice a number has 32 bits, and a few

  bool is_open(const CountedNode& node, std::int32_t depth) const {
    return growth_.rules.opens(node.samples, node.rows, node.ones, depth);
  }

  // ---- tests

  // Offers tests of four columns, by what goes left. Which one wins is a matter of chance, so nothing
  // branches on it. (A column that is there twice does not win a second time.)
  template <class Score>
  void offer(const Score& score, const CountedNode& node, const std::uint32_t* drawn, const FourTests& tests,
             const FourCounts& left, const Lanes* left_lanes, BestTest& best) const {
    double here[kFour];
    for (std::size_t c = 0; c < kFour; ++c) {
      const double both =
          score(left.rows[c], left.ones[c]) + score(node.rows - left.rows[c], node.ones - left.ones[c]);
      const std::uint32_t smaller = std::min(left.rows[c], node.rows - left.rows[c]);
      here[c] = (tests.informative >> c & 1) != 0 && smaller >= least_rows_ ? both : -1.0;
    }
    std::size_t winner = kFour;
    for (std::size_t c = 0; c < kFour; ++c) {
      winner = here[c] > best.score + tie_slack(best.score, 0.0) ? c : winner;
      best.score = std::max(best.score, here[c]);
    }
    if (winner == kFour) return;
    best.column = static_cast<std::int32_t>(drawn[winner]);
    best.threshold = tests.threshold[winner];
    best.bound = tests.bound[winner];
    best.left_rows = left.rows[winner];
    best.left_ones = left.ones[winner];
    best.left_lanes = left_lanes[winner];
  }

  // Writes down a node's test and its children; returns the first of them, or -1 if the test is not worth it.
  std::int32_t split(std::int32_t id, double score, const BestTest& best) {
    CountedNode& node = growth_.nodes[id];
    if (!best.found()) return -1;
    const std::int32_t first =
        growth_.rules.split(growth_.nodes, n_nodes_, id, growth_.features[best.column], best.score - score);
    if (first < 0) return -1;
    node.threshold = best.threshold;
    CountedNode* children = growth_.nodes + first;
    children[0].samples = children[0].rows = best.left_rows;
    children[0].ones = best.left_ones;
    children[1].samples = children[1].rows = node.rows - best.left_rows;
    children[1].ones = node.ones - best.left_ones;
    return first;
  }

  // ---- nodes whose rows move

  // Finds the test of a node and carries it out. `fetch` says where the values of four columns are, those
  // of the node's rows one after the other, and their extremes.
  template <class Fetch>
  void grow_node(const Waiting& node, std::size_t& n_waiting, const Fetch& fetch) {
    const CountedNode& counted = growth_.nodes[node.node];
    const ListedRow* rows = growth_.list[node.side] + node.begin;
    const Lanes no_lanes[kFour] = {};
    BestTest best;
    const float* tested = nullptr;
    std::size_t n_fetches = 0;
    std::size_t winning_fetch = 0;
    draws_.try_columns(node.path, [&](const std::uint32_t* drawn) {
      FourColumns columns;
      const FourTests tests = draws_.tests(drawn, node.path, fetch(drawn, columns));
      const std::int32_t before = best.column;
      offer(AnyScore{}, counted, drawn, tests, count(columns, rows, node.n_rows, tests), no_lanes, best);
      ++n_fetches;
      if (best.column != before) {
        winning_fetch = n_fetches;
        tested = columns.at[std::find(drawn, drawn + kFour, static_cast<std::uint32_t>(best.column)) - drawn];
      }
      return tests.informative != 0;
    });
    if (!best.found()) return;
    if (winning_fetch != n_fetches) {  // others lie where its values were
      std::uint32_t again[kFour];
      std::fill_n(again, kFour, static_cast<std::uint32_t>(best.column));
      FourColumns columns;
      fetch(again, columns);
      tested = columns.at[0];
    }
    split_rows(node, best, tested, n_waiting);
  }

  static FourCounts count(FourColumns columns, const ListedRow* rows, std::size_t n, const FourTests& tests) {
    FourCounts found;
    for (; n > kMostCounted; n -= kMostCounted, rows += kMostCounted) {
      count_stretch(columns, rows, kMostCounted, tests.bound, found);
      for (const float*& at : columns.at) at += kMostCounted;
    }
    count_stretch(columns, rows, n, tests.bound, found);
    return found;
  }

  // Carries out the test: `tested` are the values it looks at.
  void split_rows(const Waiting& node, const BestTest& best, const float* tested, std::size_t& n_waiting) {
    const CountedNode& counted = growth_.nodes[node.node];
    const std::int32_t first = split(node.node, AnyScore{}(counted.rows, counted.ones), best);
    if (first < 0) return;
    const CountedNode* children = growth_.nodes + first;
    const std::int32_t depth = node.depth + 1;
    const bool opens[2] = {is_open(children[0], depth), is_open(children[1], depth)};
    if (!opens[0] && !opens[1]) return;
    ListedRow* left = growth_.list[1 - node.side] + node.begin;
    divide_rows(growth_.list[node.side] + node.begin, tested, node.n_rows, best.bound, left,
                left + best.left_rows);
    // The smaller one goes on first: then at most as many wait as a number of rows can be halved.
    const std::size_t begin[2] = {node.begin, node.begin + best.left_rows};
    const std::int32_t larger = children[1].rows > children[0].rows ? 1 : 0;
    for (const std::int32_t b : {larger, 1 - larger}) {
      waiting_[n_waiting] = {
          begin[b], children[b].rows, child_path(node.path, static_cast<std::uint64_t>(b)), first + b,
          depth,    1 - node.side};
      n_waiting += opens[b];
    }
  }

  // ---- rows of the table

  void grow_listed(const Waiting& node, std::size_t& n_waiting) {
    const ListedRow* rows = growth_.list[node.side] + node.begin;
    grow_node(node, n_waiting, [&](const std::uint32_t* drawn, FourColumns& columns) {
      for (std::size_t c = 0; c < kFour; ++c) {
        const bool as_they_are = growth_.whole_table && node.n_rows == growth_.table_rows;
        columns.at[c] = as_they_are ? growth_.by_row[drawn[c]] : growth_.fetched[c];
        if (!as_they_are && node.n_rows * kSparse >= growth_.table_rows)
          fetch(growth_.by_row[drawn[c]], rows, node.n_rows, growth_.fetched[c]);
      }
      if (node.n_rows * kSparse < growth_.table_rows) fetch_sparse(drawn, rows, node.n_rows);
      return extremes_of(columns, node.n_rows);
    });
  }

  const float* record_of(ListedRow row) const { return growth_.records + (row >> 1) * growth_.record_size; }

  // Where most of a column's cache lines hold a row of the node, columns are read; else records, of which
  // fewer lines are needed.
  void fetch_sparse(const std::uint32_t* drawn, const ListedRow* rows, std::size_t n) const {
    std::size_t feature[kFour];
    for (std::size_t c = 0; c < kFour; ++c) feature[c] = static_cast<std::size_t>(growth_.features[drawn[c]]);
    for (std::size_t i = 0; i < n; ++i) {
      const float* record = record_of(rows[i]);
      const float* later = record_of(rows[std::min(i + kLanes, n - 1)]);
      for (std::size_t c = 0; c < kFour; ++c) prefetch(later + feature[c]);
      for (std::size_t c = 0; c < kFour; ++c) growth_.fetched[c][i] = record[feature[c]];
    }
  }

  static void fetch(const float* by_row, const ListedRow* rows, std::size_t n, float* to) {
    for (std::size_t i = 0; i < n; ++i) to[i] = by_row[rows[i] >> 1];
  }

  // ---- rows of the block

  void grow_held(const Waiting& listed, std::size_t n_listed) {
    hold(listed);
    std::size_t n_waiting = n_listed;
    waiting_[n_waiting++] = listed;
    while (n_waiting > n_listed) {
      const Waiting node = waiting_[--n_waiting];
      if (node.n_rows <= kLanes) {
        grow_lanes(node);
        continue;
      }
      const ListedRow* rows = growth_.list[node.side] + node.begin;
      grow_node(node, n_waiting, [&](const std::uint32_t* drawn, FourColumns& columns) {
        columns = {growth_.fetched[0], growth_.fetched[1], growth_.fetched[2], growth_.fetched[3]};
        return fetch_four(columns_of_block(drawn), rows, node.n_rows, growth_.fetched);
      });
    }
  }

  FourColumns columns_of_block(const std::uint32_t* drawn) const {
    const float* block = growth_.block;
    return {block + drawn[0], block + drawn[1], block + drawn[2], block + drawn[3]};
  }

  // Copies the records of a node's rows into the block; from then on its rows are listed by where they are
  // there.
  void hold(const Waiting& node) const {
    const std::size_t size = growth_.draw.n_columns;
    ListedRow* rows = growth_.list[node.side] + node.begin;
    float* to = growth_.block;
    for (std::size_t i = 0; i < node.n_rows; ++i, to += size) {
      const float* record = record_of(rows[i]);
      const float* later = record_of(rows[std::min(i + kLanes, node.n_rows - 1)]);
      for (std::size_t c = 0; c < growth_.record_size; c += kLanes) prefetch(later + c);
      if (growth_.whole_records) {
        std::memcpy(to, record, size * sizeof(float));
      } else {
        for (std::size_t c = 0; c < size; ++c) to[c] = record[growth_.features[c]];
      }
    }
    for (std::size_t i = 0; i < node.n_rows; ++i)
      rows[i] = static_cast<ListedRow>(i * size) << 1 | (rows[i] & 1);
  }

  // ---- lanes

  BestTest find_test_of_lanes(const LaneNode& node, const RowsInLanes& rows, const FewScores& score) {
    const CountedNode& counted = growth_.nodes[node.node];
    BestTest best;
    draws_.try_columns(node.path, [&](const std::uint32_t* drawn) {
      const RowsInLanes::Values values = rows.values(columns_of_block(drawn), node.rows);
      const FourTests tests = draws_.tests(drawn, node.path, values.extremes());
      FourCounts left;
      Lanes lanes[kFour];
      for (std::size_t c = 0; c < kFour; ++c) {
        lanes[c] = values.up_to(c, tests.bound[c]);
        left.rows[c] = static_cast<std::uint32_t>(std::popcount(lanes[c]));
        left.ones[c] = static_cast<std::uint32_t>(std::popcount(lanes[c] & rows.ones()));
      }
      offer(score, counted, drawn, tests, left, lanes, best);
      return tests.informative != 0;
    });
    return best;
  }

  // Of two rows, every test that parts them is as good as any other: the first one stays.
  BestTest find_test_of_two(const LaneNode& node, const ListedRow* rows, const FewScores& score) {
    const ListedRow one = rows[std::countr_zero(node.rows)];
    const ListedRow other = rows[std::bit_width(node.rows) - 1];
    BestTest best;
    draws_.try_columns(node.path, [&](const std::uint32_t* drawn) {
      for (std::size_t c = 0; c < kFour && !best.found(); ++c) {
        const float value = growth_.block[(one >> 1) + drawn[c]];
        const float other_value = growth_.block[(other >> 1) + drawn[c]];
        if (value == other_value) continue;
        const bool less = value < other_value;
        best.threshold =
            draws_.threshold(drawn[c], node.path, less ? value : other_value, less ? other_value : value);
        best.column = static_cast<std::int32_t>(drawn[c]);
        const Lanes first = node.rows & (~node.rows + 1);
        best.left_lanes = less ? first : node.rows ^ first;
        best.left_rows = 1;
        best.left_ones = (less ? one : other) & 1;
        best.score = score(1, 0) + score(1, 1);
      }
      return best.found();
    });
    return best;
  }

  void grow_lanes(const Waiting& root) {
    static const FewScores score;
    const ListedRow* listed = growth_.list[root.side] + root.begin;
    const RowsInLanes in_lanes(listed);
    // First come, first served: neighbours in the list do not wait for each other.
    LaneNode nodes[2 * kLanes];
    std::size_t n_nodes = 0;
    nodes[n_nodes++] = {root.path, first_lanes(root.n_rows), root.node, root.depth};
    for (std::size_t i = 0; i < n_nodes; ++i) {
      const LaneNode node = nodes[i];
      const CountedNode& counted = growth_.nodes[node.node];
      const BestTest best = counted.rows == 2 && least_rows_ <= 1 ? find_test_of_two(node, listed, score)
                                                                  : find_test_of_lanes(node, in_lanes, score);
      const std::int32_t first = split(node.node, score(counted.rows, counted.ones), best);
      if (first < 0) continue;
      const Lanes rows[2] = {best.left_lanes, node.rows ^ best.left_lanes};
      for (std::int32_t b = 0; b < 2; ++b) {
        nodes[n_nodes] = {child_path(node.path, static_cast<std::uint64_t>(b)), rows[b], first + b,
                          node.depth + 1};
        n_nodes += is_open(growth_.nodes[first + b], node.depth + 1);
      }
    }
  }

  BlockGrowth& growth_;
  NodeDraws draws_;
  std::size_t n_nodes_;
  std::int64_t least_rows_;  // of a branch; every row weighs the same
  Waiting waiting_[kMostWaiting];
};

void grow(BlockGrowth& growth) {
  BlockGrower(growth).grow();
}

}  // namespace

extern const BlockKernels block_table;
const BlockKernels block_table = {grow, fetch_values, sum_words};

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
