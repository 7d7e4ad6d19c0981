// The growth of grow/fast/value_block.h; included once per instruction set, inside a namespace that
// HORNBEAM_KERNELS names. Cells add up rows (simd/grow/value_two_counts.h, simd/grow/value_class_counts.h,
// simd/grow/value_class_weights.h, simd/grow/value_sums.h); loops over rows are in simd/grow/value_block_registers.h, random draws in
// simd/grow/value_block_draws.h.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/sampler.h"
#include "criterion/candidates.h"
#include "grow/fast/value_block.h"
#include "simd/grow/row_words.h"
#include "simd/grow/value_block_draws.h"
#include "simd/grow/value_block_registers.h"
#include "simd/grow/value_two_counts.h"
#if defined(__AVX512F__)
#include "simd/grow/value_class_counts.h"
#include "simd/grow/value_class_weights.h"
#include "simd/grow/value_sums.h"
#endif

namespace hornbeam::grow::HORNBEAM_KERNELS {

using criterion::tie_slack;

namespace {

constexpr std::size_t kSparse = 4;        // of so many rows of the table, a sparse node has less than one
constexpr std::size_t kMostCached = 128;  // columns of rows in lanes that are kept

// The best test of a node so far; among equals the first stays, as in FirstBest.
template <class Left>
struct BestTest {
  double score = kNoTest;
  double tie_scale = 0.0;  // criterion/concepts.h
  double threshold = 0.0;
  float bound = 0.0f;
  std::int32_t column = -1;
  std::uint32_t left_rows = 0;
  Left left = {};
  Lanes left_lanes = 0;  // where rows are lanes

  bool found() const { return column >= 0; }

  // Offers tests of four columns; returns which of them is now the best, or kFour. Which one wins is unpredictable, so
  // nothing branches on it. (A column that occurs twice does not win a second time.)
  [[gnu::always_inline]] std::size_t offer(const double* scores, const std::uint32_t* drawn,
                                           const FourTests& tests) {
    std::size_t winner = kFour;
    for (std::size_t c = 0; c < kFour; ++c) {
      winner = scores[c] > score + tie_slack(score, tie_scale) ? c : winner;
      score = std::max(score, scores[c]);
    }
    if (winner == kFour) return kFour;
    column = static_cast<std::int32_t>(drawn[winner]);
    threshold = tests.threshold[winner];
    bound = tests.bound[winner];
    return winner;
  }
};

// A node whose rows are lanes.
struct LaneNode {
  std::uint64_t path;
  Lanes rows;
  std::int32_t node;
  std::int32_t depth;
};

// Cells say what rows add up to, and what a test is worth.
template <class Cells>
class BlockGrower {
 public:
  explicit BlockGrower(BlockGrowth& growth)
      : growth_(growth),
        draws_(growth),
        cells_(growth),
        nodes_(cells_.nodes()),
        n_nodes_(growth.n_nodes),
        caches_lanes_(growth.draw.n_columns <= kMostCached &&
                      2 * growth.draw.max_features > growth.draw.n_columns) {}

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
  using Best = BestTest<typename Cells::Left>;
  static constexpr std::size_t kMostWaiting = 128;  // more than twice the 32 bits of a number of rows

  // Stores a node's test and makes its children; returns the first child, or -1 if the test is not worth making.
  std::int32_t split(std::int32_t id, double score, const Best& best) {
    if (!best.found()) return -1;
    const std::int32_t first =
        growth_.rules.split(nodes_, n_nodes_, id, growth_.features[best.column], best.score - score);
    if (first >= 0) nodes_[id].threshold = best.threshold;
    return first;
  }

  // ---- nodes whose rows move

  // Finds the test of a node and carries it out. `fetch` says where the values of four columns are, those
  // of the node's rows one after the other, and their extremes.
  template <class Fetch>
  void grow_node(const Waiting& node, std::size_t& n_waiting, const Fetch& fetch) {
    cells_.start(node.node);
    Best best{.tie_scale = cells_.tie_scale(node.node)};
    const float* tested = nullptr;
    std::size_t n_fetches = 0;
    std::size_t winning_fetch = 0;
    draws_.try_columns(node.path, [&](const std::uint32_t* drawn) {
      FourColumns columns;
      const FourTests tests = draws_.tests(drawn, node.path, fetch(drawn, columns));
      const typename Cells::Counts left = cells_.count(columns, node, tests);
      double scores[kFour];
      cells_.score(left, node.node, tests.informative, scores);
      const std::size_t winner = best.offer(scores, drawn, tests);
      ++n_fetches;
      if (winner != kFour) {
        best.left_rows = left.rows[winner];
        best.left = cells_.left_of(left, winner);
        winning_fetch = n_fetches;
        tested = columns.at[winner];
      }
      return tests.informative != 0;
    });
    const std::int32_t first = split(node.node, cells_.score_of(node.node), best);
    if (first < 0) return;
    cells_.divide(node.node, first, best.left_rows, best.left);
    if (winning_fetch != n_fetches) {  // others lie where its values were
      std::uint32_t again[kFour];
      std::fill_n(again, kFour, static_cast<std::uint32_t>(best.column));
      FourColumns columns;
      fetch(again, columns);
      tested = columns.at[0];
    }
    open_children(node, first, best, tested, n_waiting);
  }

  // Divides the rows and opens the children: `tested` are the values that the test looks at.
  void open_children(const Waiting& node, std::int32_t first, const Best& best, const float* tested,
                     std::size_t& n_waiting) {
    const std::int32_t depth = node.depth + 1;
    const std::int32_t side = 1 - node.side;
    const std::size_t begin[2] = {node.begin, node.begin + best.left_rows};
    bool opens[2] = {false, false};
    const auto ask = [&] {
      for (std::int32_t b = 0; b < 2; ++b) opens[b] = cells_.opens(first + b, depth);
      return opens[0] || opens[1];
    };
    if (!Cells::kDescribesRows && !ask()) return;
    ListedRow* left = growth_.list[side] + node.begin;
    divide_rows(growth_.list[node.side] + node.begin, tested, node.n_rows, best.bound, left,
                left + best.left_rows);
    cells_.move_words(node, tested, best.bound, best.left_rows);
    for (std::int32_t b = 0; b < 2; ++b) cells_.describe(first + b, side, begin[b]);
    if (Cells::kDescribesRows && !ask()) return;
    // The smaller child is grown first: then the number of waiting nodes is at most the binary logarithm of the rows.
    const std::int32_t larger = nodes_[first + 1].samples > nodes_[first].samples ? 1 : 0;
    for (const std::int32_t b : {larger, 1 - larger}) {
      const std::uint64_t path = child_path(node.path, static_cast<std::uint64_t>(b));
      waiting_[n_waiting] = {begin[b], nodes_[first + b].samples, path, first + b, depth, side};
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

  Best find_test_of_lanes(const LaneNode& node, const RowsInLanes& rows) {
    Best best{.tie_scale = cells_.tie_scale(node.node)};
    draws_.try_columns(node.path, [&](const std::uint32_t* drawn) {
      const RowsInLanes::Values values = caches_lanes_ ? RowsInLanes::Values(cached_, drawn, node.rows)
                                                       : rows.values(columns_of_block(drawn), node.rows);
      const FourTests tests = draws_.tests(drawn, node.path, values.extremes());
      Lanes lanes[kFour];
      for (std::size_t c = 0; c < kFour; ++c) lanes[c] = values.up_to(c, tests.bound[c]);
      double scores[kFour];
      cells_.score_lanes(cells_.count(lanes, node.rows), node.node, tests.informative, scores);
      const std::size_t winner = best.offer(scores, drawn, tests);
      if (winner != kFour) best.left_lanes = lanes[winner];
      return tests.informative != 0;
    });
    return best;
  }

  // With two rows, every test that divides them is as good as any other: the first one stays.
  Best find_test_of_two(const LaneNode& node, const ListedRow* rows) {
    const ListedRow one = rows[std::countr_zero(node.rows)];
    const ListedRow other = rows[std::bit_width(node.rows) - 1];
    Best best;
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
        best.score = cells_.score_of_pair();
      }
      return best.found();
    });
    return best;
  }

  void grow_lanes(const Waiting& root) {
    const ListedRow* listed = growth_.list[root.side] + root.begin;
    const RowsInLanes in_lanes(listed);
    if (caches_lanes_) in_lanes.copy(growth_.block, growth_.draw.n_columns, root.n_rows, cached_);
    cells_.start_lanes(root, n_nodes_);
    // First in, first out: then neighbours in the list do not depend on each other.
    LaneNode nodes[2 * kLanes];
    std::size_t n_nodes = 0;
    nodes[n_nodes++] = {root.path, first_lanes(root.n_rows), root.node, root.depth};
    for (std::size_t i = 0; i < n_nodes; ++i) {
      const LaneNode node = nodes[i];
      cells_.start(node.node, node.rows);
      const bool any_will_do = nodes_[node.node].samples == 2 && cells_.any_pair_will_do();
      const Best best = any_will_do ? find_test_of_two(node, listed) : find_test_of_lanes(node, in_lanes);
      const std::int32_t first = split(node.node, cells_.score_of(node.node, node.rows), best);
      if (first < 0) continue;
      const Lanes rows[2] = {best.left_lanes, node.rows ^ best.left_lanes};
      cells_.divide_lanes(node.node, first, rows[0], rows[1]);
      for (std::int32_t b = 0; b < 2; ++b) {
        nodes[n_nodes] = {child_path(node.path, static_cast<std::uint64_t>(b)), rows[b], first + b,
                          node.depth + 1};
        n_nodes += cells_.opens(first + b, rows[b], node.depth + 1);
      }
    }
    cells_.finish_lanes(n_nodes_);
  }

  BlockGrowth& growth_;
  NodeDraws draws_;
  Cells cells_;
  typename Cells::Node* nodes_;
  std::size_t n_nodes_;
  bool caches_lanes_;  // where most columns are tried, those of lanes are fetched once
  Waiting waiting_[kMostWaiting];
  alignas(64) float cached_[kMostCached * kLanes];
};

template <class Cells>
void grow(BlockGrowth& growth) {
  BlockGrower<Cells>(growth).grow();
}

}  // namespace

extern const BlockKernels block_table;
#if defined(__AVX512F__)
const BlockKernels block_table = {grow<TwoCountCells<GiniTerm>>,
                                  grow<TwoCountCells<EntropyTerm>>,
                                  grow<CountCells<GiniTerm>>,
                                  grow<CountCells<EntropyTerm>>,
                                  grow<TwoWeightCells>,
                                  grow<ClassWeightCells<GiniOfWeights>>,
                                  grow<ClassWeightCells<EntropyOfWeights>>,
                                  grow<SumCells<SquaredErrors>>,
                                  grow<SumCells<PoissonDeviances>>,
                                  fetch_values,
                                  sum_words};
#else
const BlockKernels block_table = {grow<TwoCountCells<GiniTerm>>,
                                  grow<TwoCountCells<EntropyTerm>>,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  nullptr,
                                  fetch_values,
                                  sum_words};
#endif

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
