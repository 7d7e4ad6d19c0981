// The growth of grow/fast/rank_block.h.
#define HORNBEAM_KERNELS avx512
#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/sampler.h"
#include "grow/fast/rank_block.h"
#include "simd/grow/drawn_columns.h"
#include "simd/grow/rank_class_weights.h"
#include "simd/grow/rank_classes.h"
#include "simd/grow/rank_counts.h"
#include "simd/grow/rank_sums.h"
#include "simd/grow/rank_weights.h"
#include "simd/grow/row_ranks.h"

namespace hornbeam::grow::avx512 {

namespace {

constexpr std::size_t kTables = RankGrowth::kTables;
constexpr std::size_t kMostColumns = RowRecords::kMostFeatures;

// The place of a set's n-th bit.
std::size_t place_of_bit(Bits bits, std::size_t n) {
  return static_cast<std::size_t>(std::countr_zero(_pdep_u64(Bits{1} << n, bits)));
}

// Which occupied places of a feature's order follow another one with the same value: each occupied place tells the
// places above it, as far as the value repeats. The carries of an addition do this.
struct Repetition {
  bool reaches_end = false;  // of the word before

  Bits in(Bits occupied, Bits repeats) {
    Bits reached = 0;
    if (repeats != 0) {
      const Bits seeds = (occupied << 1 | static_cast<Bits>(reaches_end)) & repeats;
      reached = repeats & (~(repeats + seeds) | seeds);
    }
    reaches_end = ((occupied | reached) >> 63) != 0;
    return occupied & reached;
  }
};

// A node of a small subtree.
struct SmallNode {
  Bits rows;
  std::uint64_t path;
  std::int32_t node;
  std::int32_t depth;
};

// How the rows of a small subtree are ordered by a column.
struct RowOrder {
  alignas(64) std::uint8_t row_at[kSmallRows];
  Bits repeats;  // places whose value is that of the place before
};

// Of a chunk of 32 rows, those that go left move to the first places of a register, the others behind them.
class RowDivider {
 public:
  static constexpr std::size_t kRows = 32;

  RowDivider(std::uint32_t left, std::size_t n) : n_left_(static_cast<std::size_t>(std::popcount(left))) {
    const auto all = static_cast<std::uint32_t>(first_bits(n));
    const __m512i places = _mm512_set_epi16(31, 30, 29, 28, 27, 26, 25, 24, 23, 22, 21, 20, 19, 18, 17, 16,
                                            15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    to_left_ = static_cast<std::uint32_t>(first_bits(n_left_));
    to_right_ = all & ~to_left_;
    const __m512i lefts = _mm512_maskz_compress_epi16(left, places);
    const __m512i rights = _mm512_maskz_compress_epi16(all & ~left, places);
    const __m512i back = _mm512_sub_epi16(places, _mm512_set1_epi16(static_cast<short>(n_left_)));
    const __m512i from = _mm512_mask_permutexvar_epi16(lefts, to_right_, back, rights);
    // Moving bytes is quicker than moving pairs of them.
    from_ = _mm512_add_epi16(_mm512_mullo_epi16(from, _mm512_set1_epi16(0x0202)), _mm512_set1_epi16(0x0100));
  }
  std::size_t n_left() const { return n_left_; }
  void move(const Rank* from, Rank* left, Rank* right) const {
    const __m512i divided = _mm512_permutexvar_epi8(from_, _mm512_loadu_si512(from));
    _mm512_mask_storeu_epi16(left, to_left_, divided);
    _mm512_mask_storeu_epi16(right - n_left_, to_right_, divided);
  }

 private:
  std::size_t n_left_;
  __mmask32 to_left_;
  __mmask32 to_right_;
  __m512i from_;
};

// Cells say what the rows add up to and what a cut is worth.
template <class Cells>
class RankGrower {
 public:
  explicit RankGrower(RankGrowth& growth)
      : growth_(growth),
        cells_(growth),
        nodes_(Cells::nodes(growth)),
        tables_(reinterpret_cast<Item*>(growth.tables)),
        draw_(growth.draw),
        n_nodes_(growth.n_nodes),
        n_words_((growth.n_rows + 63) / 64),
        row_ranks_(growth) {}

  void grow() {
    for (std::size_t c = 0; c < growth_.n_columns; ++c) {
      growth_.poll(growth_.poller, growth_.n_rows * 4);
      row_ranks_.find(c);
    }
    std::size_t n_waiting = 0;
    waiting_[n_waiting++] = {0, growth_.n_rows, growth_.root_path, growth_.root, growth_.root_depth, 0};
    while (n_waiting > 0) {
      const Waiting node = waiting_[--n_waiting];
      growth_.poll(growth_.poller, node.n_rows * 8);
      if (node.n_rows <= kSmallRows) {
        grow_small_subtree(node);
      } else {
        grow_node(node, n_waiting);
      }
    }
    growth_.n_nodes = n_nodes_;
  }

 private:
  using Node = typename Cells::Node;
  using Item = typename Cells::Item;
  using Best = typename Cells::Best;

  // A node without a test so far.
  struct Waiting {
    std::size_t begin;  // its rows in every column
    std::size_t n_rows;
    std::uint64_t path;
    std::int32_t node;
    std::int32_t depth;
    std::int32_t side;
  };
  static constexpr std::size_t kMostWaiting = 32;  // twice as often as kMostRows can be halved, and a few
  static_assert(RankGrowth::kMostRows <= 1u << 14);

  // Stores a node's test and its children; returns the first child, or -1 if there is no test or none that is worth
  // making.
  std::int32_t split(std::int32_t id, const Best& best) {
    Node& node = nodes_[id];
    node.first_child = kNoChild;
    if (!best.found()) return -1;
    const std::int32_t first = growth_.rules.split(nodes_, n_nodes_, id, growth_.features[best.column],
                                                   best.score - cells_.score_of_node(id));
    if (first < 0) return -1;
    Node* children = nodes_ + first;
    children[0].samples = static_cast<std::uint32_t>(best.n_left);
    children[1].samples = node.samples - children[0].samples;
    cells_.divide(id, best.left, first);
    return first;
  }

  void name_codes(std::int32_t id, std::int32_t column, Rank last_left, Rank first_right) {
    const Code* code_at = growth_.code_at + static_cast<std::size_t>(column) * growth_.stride;
    nodes_[id].threshold = codes_as_threshold(code_at[last_left], code_at[first_right]);
  }

  // ---- nodes whose rows move

  void grow_node(const Waiting& node, std::size_t& n_waiting) {
    const Node& cell = nodes_[node.node];
    const Rank* ranks = growth_.column(node.side, 0, node.begin);
    const Rank* items = growth_.column(node.side, growth_.n_columns, node.begin);
    cells_.start_large();
    cells_.start_node(node.node);
    Best best;
    Bits* kept = occupied_[0];  // of the best column
    Bits* own = occupied_[1];
    draw_.until_informative(node.path, [&](const std::uint32_t* drawn, std::size_t n) {
      bool informative = false;
      for (std::size_t i = 0; i < n; ++i) {
        if (i % kTables == 0) fill_tables({drawn + i, std::min(kTables, n - i)}, ranks, items, node.n_rows);
        const auto column = static_cast<std::int32_t>(drawn[i]);
        order_rows(drawn[i], tables_ + i % kTables * RankGrowth::kMostRows, node.n_rows, own);
        informative |= cells_.offer_cuts(column, node.n_rows, cuts_, cell, 0, best);
        if (best.column == column) std::swap(kept, own);
      }
      return informative;
    });
    const std::int32_t first = split(node.node, best);
    if (first < 0) return;
    const Rank first_right = rank_at(kept, best.n_left);
    name_codes(node.node, best.column, rank_at(kept, best.n_left - 1), first_right);
    const Rank* tested = ranks + static_cast<std::size_t>(best.column) * growth_.stride;
    cells_.count_divided(node.node, first, items, tested, first_right, node.n_rows);
    open_children(node, first, tested, first_right, n_waiting);
  }

  // Writes the rows' items into one table per column, for up to four columns: by the time the first table is read, its
  // stores have completed.
  void fill_tables(std::span<const std::uint32_t> columns, const Rank* ranks, const Rank* items,
                   std::size_t n) const {
    const auto fill = [&](auto n_columns) {  // known to the compiler
      const Rank* of[kTables];
      for (std::size_t k = 0; k < n_columns; ++k) of[k] = ranks + columns[k] * growth_.stride;
      Item* tables = tables_;
      for (std::size_t i = 0; i < n; ++i) {
        const auto item = static_cast<Item>(items[i]);
        for (std::size_t k = 0; k < n_columns; ++k) tables[k * RankGrowth::kMostRows + of[k][i]] = item;
      }
    };
    static_assert(kTables == 4);
    switch (columns.size()) {
      case 1:
        return fill(std::integral_constant<std::size_t, 1>{});
      case 2:
        return fill(std::integral_constant<std::size_t, 2>{});
      case 3:
        return fill(std::integral_constant<std::size_t, 3>{});
      default:
        return fill(std::integral_constant<std::size_t, 4>{});
    }
  }

  // Moves what a table has, in its order, to the cells, and writes the places of cuts into cuts_. `occupied` gets
  // the ranks there are.
  void order_rows(std::size_t column, Item* table, std::size_t n, Bits* occupied) {
    const Bits* repeats = growth_.repeats + column * RankGrowth::kWords;
    std::fill_n(cuts_, n / 64, ~Bits{0});
    cuts_[n / 64] = first_bits(n % 64);
    Repetition repetition;
    std::size_t n_found = 0;
    for (std::size_t w = 0; w < n_words_; ++w) {
      const Bits here = cells_.take(table + 64 * w, n_found);
      occupied[w] = here;
      if (const Bits repeated = repetition.in(here, repeats[w]); repeated != 0)
        leave_out(n_found, _pext_u64(repeated, here));
      n_found += static_cast<std::size_t>(std::popcount(here));
    }
    cuts_[0] &= ~Bits{1};
  }

  // Of the places from `first` on, these are no cuts.
  void leave_out(std::size_t first, Bits places) {
    const std::size_t shift = first % 64;
    cuts_[first / 64] &= ~(places << shift);
    if (shift != 0) cuts_[first / 64 + 1] &= ~(places >> (64 - shift));
  }

  static Rank rank_at(const Bits* occupied, std::size_t n) {
    std::size_t w = 0;
    for (std::size_t here; n >= (here = static_cast<std::size_t>(std::popcount(occupied[w]))); ++w) n -= here;
    return static_cast<Rank>(64 * w + place_of_bit(occupied[w], n));
  }

  // Opens the children that may be split further, once the rows are divided.
  void open_children(const Waiting& node, std::int32_t first, const Rank* tested, Rank first_right,
                     std::size_t& n_waiting) {
    const Node* children = nodes_ + first;
    const std::int32_t depth = node.depth + 1;
    const bool opens[2] = {cells_.opens(first, depth), cells_.opens(first + 1, depth)};
    if (!opens[0] && !opens[1]) return;
    const std::size_t n_left = children[0].samples;
    divide_rows(node, tested, first_right, n_left);
    // The smaller child is grown first: then the number of waiting nodes is at most the binary logarithm of the rows.
    const std::size_t begin[2] = {node.begin, node.begin + n_left};
    const std::int32_t larger = children[1].samples > children[0].samples ? 1 : 0;
    for (const std::int32_t b : {larger, 1 - larger}) {
      waiting_[n_waiting] = {
          begin[b], children[b].samples, child_path(node.path, static_cast<std::uint64_t>(b)), first + b,
          depth,    1 - node.side};
      n_waiting += opens[b];
    }
  }

  void divide_rows(const Waiting& node, const Rank* tested, Rank first_right, std::size_t n_left) const {
    const Rank* from = growth_.column(node.side, 0, node.begin);
    Rank* left = growth_.column(1 - node.side, 0, node.begin);
    Rank* right = left + n_left;
    const __m512i bound = _mm512_set1_epi16(static_cast<short>(first_right));
    for (std::size_t i = 0; i < node.n_rows; i += RowDivider::kRows) {
      const std::size_t n = std::min(RowDivider::kRows, node.n_rows - i);
      const std::uint32_t goes_left = _mm512_mask_cmplt_epu16_mask(static_cast<__mmask32>(first_bits(n)),
                                                                   _mm512_loadu_si512(tested + i), bound);
      const RowDivider dividing(goes_left, n);
      for (std::size_t c = 0, at = 0; c <= growth_.n_columns; ++c, at += growth_.stride)
        dividing.move(from + i + at, left + at, right + at);
      left += dividing.n_left();
      right += n - dividing.n_left();
    }
  }

  // ---- small subtrees

  void grow_small_subtree(const Waiting& root) {
    small_ranks_ = growth_.column(root.side, 0, root.begin);
    small_rows_ = root.n_rows;
    cells_.start_small(small_ranks_ + growth_.n_columns * growth_.stride, small_rows_);
    std::fill_n(is_ordered_, growth_.n_columns, std::uint8_t{0});
    // First in, first out: then neighbours in the list do not depend on each other.
    std::size_t n_small_nodes = 0;
    small_nodes_[n_small_nodes++] = {first_bits(root.n_rows), root.path, root.node, root.depth};
    for (std::size_t i = 0; i < n_small_nodes; ++i) grow_small_node(small_nodes_[i], n_small_nodes);
  }

  void grow_small_node(const SmallNode node, std::size_t& n_small_nodes) {
    const Node& cell = nodes_[node.node];
    cells_.start_node(node.node);
    const bool any_will_do = cell.samples == 2 && growth_.rules.min_weight == 0;
    const Best best = any_will_do ? find_cut_of_two(node, cell) : find_cut(node, cell);
    const std::int32_t first = split(node.node, best);
    if (first < 0) return;
    const Bits left = carry_out(node, best);
    const Bits rows[2] = {left, node.rows ^ left};
    const Rank* items = small_ranks_ + growth_.n_columns * growth_.stride;
    cells_.count_divided(node.node, first, items, rows[0], rows[1]);
    for (std::int32_t b = 0; b < 2; ++b) {
      small_nodes_[n_small_nodes] = {rows[b], child_path(node.path, static_cast<std::uint64_t>(b)), first + b,
                                     node.depth + 1};
      n_small_nodes += cells_.opens(first + b, node.depth + 1);
    }
  }

  Best find_cut(const SmallNode& node, const Node& cell) {
    Best best;
    draw_.until_informative(node.path, [&](const std::uint32_t* drawn, std::size_t n) {
      bool informative = false;
      for (std::size_t i = 0; i < n; ++i) {
        const RowOrder& order = ordered(drawn[i]);
        const Bits places = cells_.order_small(order.row_at, small_rows_, node.rows);
        const Bits repeated = Repetition{}.in(places, order.repeats);
        Bits cuts = _pext_u64(~repeated, places) & ~Bits{1};
        informative |=
            cells_.offer_cuts(static_cast<std::int32_t>(drawn[i]), cell.samples, &cuts, cell, places, best);
      }
      return informative;
    });
    return best;
  }

  // With two rows, every test that divides them is as good as any other: the first one stays.
  Best find_cut_of_two(const SmallNode& node, const Node& cell) {
    const auto one = static_cast<std::size_t>(std::countr_zero(node.rows));
    const auto other = static_cast<std::size_t>(std::bit_width(node.rows)) - 1;
    Best best;
    draw_.until_informative(node.path, [&](const std::uint32_t* drawn, std::size_t n) {
      for (std::size_t i = 0; i < n; ++i) {
        const Rank* ranks = small_ranks_ + drawn[i] * growth_.stride;
        const Code* code_at = growth_.code_at + drawn[i] * growth_.stride;
        if (growth_.has_repeats[drawn[i]] != 0 && code_at[ranks[one]] == code_at[ranks[other]]) continue;
        const Rank* items = small_ranks_ + growth_.n_columns * growth_.stride;
        best.column = static_cast<std::int32_t>(drawn[i]);
        best.n_left = 1;
        best.left = cells_.left_of(items[ranks[one] < ranks[other] ? one : other]);
        best.score = cells_.score_of_cut(best.left, cell);
        return true;
      }
      return false;
    });
    return best;
  }

  // The rows that go left.
  Bits carry_out(const SmallNode& node, const Best& best) {
    const auto column = static_cast<std::size_t>(best.column);
    const Rank* ranks = small_ranks_ + column * growth_.stride;
    Rank last_left;
    Rank first_right;
    if (nodes_[node.node].samples == 2) {
      const Rank one = ranks[std::countr_zero(node.rows)];
      const Rank other = ranks[std::bit_width(node.rows) - 1];
      last_left = std::min(one, other);
      first_right = std::max(one, other);
    } else {
      const RowOrder& order = orders_[column];
      last_left = ranks[order.row_at[place_of_bit(best.places, best.n_left - 1)]];
      first_right = ranks[order.row_at[place_of_bit(best.places, best.n_left)]];
    }
    name_codes(node.node, best.column, last_left, first_right);
    return rows_below(ranks, first_right) & node.rows;
  }

  static Bits rows_below(const Rank* ranks, Rank bound) {
    const __m512i bounds = _mm512_set1_epi16(static_cast<short>(bound));
    const Bits low = _mm512_cmplt_epu16_mask(_mm512_loadu_si512(ranks), bounds);
    const Bits high = _mm512_cmplt_epu16_mask(_mm512_loadu_si512(ranks + 32), bounds);
    return low | high << 32;
  }

  // A row's place is the number of those below it: comparing each with all is quicker than sorting.
  const RowOrder& ordered(std::size_t column) {
    RowOrder& order = orders_[column];
    if (is_ordered_[column] != 0) return order;
    is_ordered_[column] = 1;
    const Rank* ranks = small_ranks_ + column * growth_.stride;
    const std::size_t n = small_rows_;
    const Bits all = first_bits(n);
    if (n <= 32) {
      const __m512i list = _mm512_loadu_si512(ranks);
      for (std::size_t row = 0; row < n; ++row) {
        const __m512i own = _mm512_set1_epi16(static_cast<short>(ranks[row]));
        const auto below = _mm512_mask_cmplt_epu16_mask(static_cast<__mmask32>(all), list, own);
        order.row_at[std::popcount(below)] = static_cast<std::uint8_t>(row);
      }
    } else {
      for (std::size_t row = 0; row < n; ++row)
        order.row_at[std::popcount(rows_below(ranks, ranks[row]) & all)] = static_cast<std::uint8_t>(row);
    }
    order.repeats = 0;
    if (growth_.has_repeats[column] != 0) {
      const Code* code_at = growth_.code_at + column * growth_.stride;
      Code before = code_at[ranks[order.row_at[0]]];
      for (std::size_t place = 1; place < n; ++place) {
        const Code code = code_at[ranks[order.row_at[place]]];
        order.repeats |= static_cast<Bits>(code == before) << place;
        before = code;
      }
    }
    return order;
  }

  RankGrowth& growth_;
  Cells cells_;
  Node* nodes_;
  Item* tables_;  // kTables, of an item per rank
  DrawnColumns draw_;
  std::size_t n_nodes_;
  std::size_t n_words_;  // that the ranks of all rows have
  Waiting waiting_[kMostWaiting];
  Bits occupied_[2][RankGrowth::kWords];
  Bits cuts_[RankGrowth::kWords + 2];
  RowRanks row_ranks_;

  const Rank* small_ranks_ = nullptr;
  std::size_t small_rows_ = 0;
  SmallNode small_nodes_[2 * kSmallRows];
  std::uint8_t is_ordered_[kMostColumns];
  RowOrder orders_[kMostColumns];
};

template <class Cells>
void grow(RankGrowth& growth) {
  RankGrower<Cells>(growth).grow();
}

}  // namespace

extern const RankKernels rank_table;
const RankKernels rank_table = {grow<CountCells<GiniTerm>>,
                                grow<CountCells<EntropyTerm>>,
                                grow<CountCells<WeighedGini>>,
                                grow<WeightCells>,
                                grow<ClassWeightCells<GiniOfWeights>>,
                                grow<ClassWeightCells<EntropyOfWeights>>,
                                grow<ClassCells>,
                                grow<SumRankCells>};

}  // namespace hornbeam::grow::avx512
