// The growth of value_block.h; included once per instruction set, inside a namespace that HORNBEAM_KERNELS
// names. Columns are looked at four at a time, rows sixteen at a time; what depends on the registers there
// are comes first.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "drawn_columns.h"
#include "hornbeam/criterion/counts.h"
#include "hornbeam/sampler.h"
#include "hornbeam/value_block.h"

namespace hornbeam::HORNBEAM_KERNELS {

namespace {

constexpr std::size_t kLanes = BlockGrowth::kLanes;
constexpr std::size_t kFour = BlockGrowth::kFour;
constexpr std::size_t kSparse = 4;  // of so many rows of the table, a sparse node has less than one
using Lanes = std::uint32_t;        // a bit per lane

constexpr Lanes first_lanes(std::size_t n) {
  return (Lanes{1} << n) - 1;
}

// Where the values of four columns begin; of a node, or of its first lanes.
struct FourColumns {
  const float* at[kFour];
};

struct FourExtremes {
  alignas(16) float least[kFour];
  alignas(16) float largest[kFour];
};

// Tests of four columns. A value is not larger than the threshold where it is not larger than the bound, the
// largest float32 up to there.
struct FourTests {
  alignas(32) double threshold[kFour];
  alignas(16) float bound[kFour];
  Lanes informative;  // a bit per column: set unless it is constant
};

struct FourCounts {
  std::uint32_t rows[kFour] = {};
  std::uint32_t ones[kFour] = {};
};

// What a row, or several, count.
constexpr std::uint32_t rows_in(std::uint32_t counts) {
  return counts & ((1u << BlockGrowth::kOnes) - 1);
}
constexpr std::uint32_t ones_in(std::uint32_t counts) {
  return counts >> BlockGrowth::kOnes;
}
constexpr std::size_t kMostCounted = (std::size_t{1} << BlockGrowth::kOnes) - kLanes;

#if defined(__AVX512F__)

// Puts together the lanes of four registers, each by itself.
template <class Join>
__m128 join_lanes(__m512 a, __m512 b, __m512 c, __m512 d, Join join) {
  const __m512 ab = join(_mm512_unpacklo_ps(a, b), _mm512_unpackhi_ps(a, b));
  const __m512 cd = join(_mm512_unpacklo_ps(c, d), _mm512_unpackhi_ps(c, d));
  const __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512 four = join(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
  const __m512 two = join(four, _mm512_shuffle_f32x4(four, four, 0b01001110));
  return _mm512_castps512_ps128(join(two, _mm512_shuffle_f32x4(two, two, 0b10110001)));
}

struct Smaller {
  __m512 operator()(__m512 a, __m512 b) const { return _mm512_min_ps(a, b); }
};
struct Larger {
  __m512 operator()(__m512 a, __m512 b) const { return _mm512_max_ps(a, b); }
};
struct Sum {
  __m512 operator()(__m512 a, __m512 b) const {
    return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), _mm512_castps_si512(b)));
  }
};

FourExtremes extremes(const FourColumns& columns, Lanes rows) {
  const auto mask = static_cast<__mmask16>(rows);
  const __m512 highest = _mm512_set1_ps(std::numeric_limits<float>::infinity());
  const __m512 lowest = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  const auto low = [&](std::size_t c) { return _mm512_mask_loadu_ps(highest, mask, columns.at[c]); };
  const auto high = [&](std::size_t c) { return _mm512_mask_loadu_ps(lowest, mask, columns.at[c]); };
  FourExtremes found;
  _mm_store_ps(found.least, join_lanes(low(0), low(1), low(2), low(3), Smaller{}));
  _mm_store_ps(found.largest, join_lanes(high(0), high(1), high(2), high(3), Larger{}));
  return found;
}

FourExtremes extremes_of_stretch(const FourColumns& columns, std::size_t n) {
  const __m512 highest = _mm512_set1_ps(std::numeric_limits<float>::infinity());
  const __m512 lowest = _mm512_set1_ps(-std::numeric_limits<float>::infinity());
  __m512 least[kFour] = {highest, highest, highest, highest};
  __m512 largest[kFour] = {lowest, lowest, lowest, lowest};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t c = 0; c < kFour; ++c) {
      const __m512 values = _mm512_loadu_ps(columns.at[c] + i);
      least[c] = _mm512_min_ps(least[c], values);
      largest[c] = _mm512_max_ps(largest[c], values);
    }
  }
  const auto rest = static_cast<__mmask16>(first_lanes(n - i));
  for (std::size_t c = 0; c < kFour; ++c) {
    least[c] = _mm512_min_ps(least[c], _mm512_mask_loadu_ps(highest, rest, columns.at[c] + i));
    largest[c] = _mm512_max_ps(largest[c], _mm512_mask_loadu_ps(lowest, rest, columns.at[c] + i));
  }
  FourExtremes found;
  _mm_store_ps(found.least, join_lanes(least[0], least[1], least[2], least[3], Smaller{}));
  _mm_store_ps(found.largest, join_lanes(largest[0], largest[1], largest[2], largest[3], Larger{}));
  return found;
}

Lanes lanes_up_to(const float* values, float bound, Lanes rows) {
  return _mm512_mask_cmp_ps_mask(static_cast<__mmask16>(rows), _mm512_loadu_ps(values), _mm512_set1_ps(bound),
                                 _CMP_LE_OQ);
}

Lanes lanes_of_class_1(const float* counts) {
  return _mm512_test_epi32_mask(_mm512_loadu_si512(counts), _mm512_set1_epi32(1 << BlockGrowth::kOnes));
}

// Adds up what goes left of at most kMostCounted rows.
void count_stretch(const FourColumns& columns, const float* counts, std::size_t n, const float* bounds,
                   FourCounts& found) {
  __m512 bound[kFour];
  __m512i sum[kFour];
  for (std::size_t c = 0; c < kFour; ++c) {
    bound[c] = _mm512_set1_ps(bounds[c]);
    sum[c] = _mm512_setzero_si512();
  }
  for (std::size_t i = 0; i < n; i += kLanes) {
    const auto here = static_cast<__mmask16>(first_lanes(std::min(kLanes, n - i)));
    const __m512i count = _mm512_loadu_si512(counts + i);
    for (std::size_t c = 0; c < kFour; ++c) {
      const __mmask16 left =
          _mm512_mask_cmp_ps_mask(here, _mm512_loadu_ps(columns.at[c] + i), bound[c], _CMP_LE_OQ);
      sum[c] = _mm512_mask_add_epi32(sum[c], left, sum[c], count);
    }
  }
  const __m128 joined = join_lanes(_mm512_castsi512_ps(sum[0]), _mm512_castsi512_ps(sum[1]),
                                   _mm512_castsi512_ps(sum[2]), _mm512_castsi512_ps(sum[3]), Sum{});
  alignas(16) std::uint32_t left[kFour];
  _mm_store_si128(reinterpret_cast<__m128i*>(left), _mm_castps_si128(joined));
  for (std::size_t c = 0; c < kFour; ++c) {
    found.rows[c] += rows_in(left[c]);
    found.ones[c] += ones_in(left[c]);
  }
}

// Of a chunk of rows, those that go left move to the first places of a register, the others behind them.
class Parting {
 public:
  Parting(Lanes left, Lanes rows) : n_left_(static_cast<std::size_t>(std::popcount(left))) {
    const __m512i lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    const std::size_t n = static_cast<std::size_t>(std::popcount(rows));
    const __m512i lefts = _mm512_maskz_compress_epi32(static_cast<__mmask16>(left), lanes);
    const __m512i rights = _mm512_maskz_compress_epi32(static_cast<__mmask16>(rows & ~left), lanes);
    // From lane n_left on, the rights: lane i gets what is at i - n_left of them.
    const __m512i back = _mm512_sub_epi32(lanes, _mm512_set1_epi32(static_cast<int>(n_left_)));
    to_left_ = static_cast<__mmask16>(first_lanes(n_left_));
    to_right_ = static_cast<__mmask16>(first_lanes(n) & ~first_lanes(n_left_));
    from_ = _mm512_mask_permutexvar_epi32(lefts, to_right_, back, rights);
  }
  std::size_t n_left() const { return n_left_; }
  void move(const float* from, float* left, float* right) const {
    const __m512 parted = _mm512_permutexvar_ps(from_, _mm512_loadu_ps(from));
    _mm512_mask_storeu_ps(left, to_left_, parted);
    _mm512_mask_storeu_ps(right - n_left_, to_right_, parted);
  }

 private:
  std::size_t n_left_;
  __mmask16 to_left_;
  __mmask16 to_right_;
  __m512i from_;
};

#else

FourExtremes extremes(const FourColumns& columns, Lanes rows) {
  FourExtremes found;
  for (std::size_t c = 0; c < kFour; ++c) {
    float least = std::numeric_limits<float>::infinity();
    float largest = -std::numeric_limits<float>::infinity();
    for (Lanes left = rows; left != 0; left &= left - 1) {
      const float value = columns.at[c][std::countr_zero(left)];
      least = value < least ? value : least;
      largest = value > largest ? value : largest;
    }
    found.least[c] = least;
    found.largest[c] = largest;
  }
  return found;
}

FourExtremes extremes_of_stretch(const FourColumns& columns, std::size_t n) {
  constexpr std::size_t kAtOnce = 8;
  FourExtremes found;
  for (std::size_t c = 0; c < kFour; ++c) {
    const float* values = columns.at[c];
    float least[kAtOnce];
    float largest[kAtOnce];
    for (std::size_t j = 0; j < kAtOnce; ++j) least[j] = largest[j] = values[0];
    std::size_t i = 0;
    for (; i + kAtOnce <= n; i += kAtOnce) {
      for (std::size_t j = 0; j < kAtOnce; ++j) {
        least[j] = values[i + j] < least[j] ? values[i + j] : least[j];
        largest[j] = values[i + j] > largest[j] ? values[i + j] : largest[j];
      }
    }
    for (; i < n; ++i) {
      least[0] = values[i] < least[0] ? values[i] : least[0];
      largest[0] = values[i] > largest[0] ? values[i] : largest[0];
    }
    found.least[c] = *std::min_element(least, least + kAtOnce);
    found.largest[c] = *std::max_element(largest, largest + kAtOnce);
  }
  return found;
}

Lanes lanes_up_to(const float* values, float bound, Lanes rows) {
  Lanes up_to = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    up_to |= static_cast<Lanes>(values[lane] <= bound) << lane;
  return up_to & rows;
}

std::uint32_t count_at(const float* counts, std::size_t i) {
  std::uint32_t count;
  std::memcpy(&count, counts + i, sizeof(count));
  return count;
}

Lanes lanes_of_class_1(const float* counts) {
  Lanes ones = 0;
  for (std::size_t lane = 0; lane < kLanes; ++lane) ones |= (ones_in(count_at(counts, lane)) & 1) << lane;
  return ones;
}

void count_stretch(const FourColumns& columns, const float* counts, std::size_t n, const float* bounds,
                   FourCounts& found) {
  for (std::size_t c = 0; c < kFour; ++c) {
    const float* values = columns.at[c];
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += values[i] <= bounds[c] ? count_at(counts, i) : 0;
    found.rows[c] += rows_in(sum);
    found.ones[c] += ones_in(sum);
  }
}

class Parting {
 public:
  Parting(Lanes left, Lanes rows) : n_left_(static_cast<std::size_t>(std::popcount(left))) {
    for (Lanes rest = left; rest != 0; rest &= rest - 1) from_[n_++] = lowest(rest);
    for (Lanes rest = rows & ~left; rest != 0; rest &= rest - 1) from_[n_++] = lowest(rest);
  }
  std::size_t n_left() const { return n_left_; }
  void move(const float* from, float* left, float* right) const {
    for (std::size_t i = 0; i < n_left_; ++i) left[i] = from[from_[i]];
    for (std::size_t i = n_left_; i < n_; ++i) right[i - n_left_] = from[from_[i]];
  }

 private:
  static std::uint8_t lowest(Lanes lanes) { return static_cast<std::uint8_t>(std::countr_zero(lanes)); }

  std::size_t n_left_;
  std::size_t n_ = 0;
  std::uint8_t from_[kLanes];
};

#endif

// The largest float32 that is not larger.
float bound_of(double threshold) {
  const auto nearest = static_cast<float>(threshold);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  constexpr std::uint32_t kSign = 0x80000000u;
  const std::uint32_t next = nearest > 0 ? bits - 1 : (bits | kSign) + 1;  // below either zero comes the same
  return std::bit_cast<float>(static_cast<double>(nearest) > threshold ? next : bits);
}

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
  explicit BlockGrower(BlockGrowth& growth) : growth_(growth), draw_(growth.draw), n_nodes_(growth.n_nodes) {}

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
    const bool pure = node.ones == 0 || node.ones == node.rows;
    const bool ends = node.rows < growth_.rules.min_samples_split ||
                      (growth_.rules.max_depth > 0 && depth >= growth_.rules.max_depth);
    return !pure & !ends;
  }

  // ---- the features to try

  template <class TryFour>
  void try_columns(std::uint64_t path, const TryFour& try_four) {
    draw_.until_informative(path, [&](const std::uint32_t* drawn, std::size_t n) {
      bool informative = false;
      for (std::size_t first = 0; first < n; first += kFour)
        informative |= try_four(drawn + first, std::min(kFour, n - first));
      return informative;
    });
  }

  // Of a column that is not constant.
  double draw_threshold(std::uint32_t column, std::uint64_t path, float least, float largest) const {
    Stream stream(growth_.threshold_keys[column], path);
    return random_threshold(*growth_.columns[column], least, largest, stream.unit());
  }

  FourTests draw_tests(const std::uint32_t* drawn, std::uint64_t path, const FourExtremes& extremes) const {
    FourTests tests;
    tests.informative = 0;
    for (std::size_t c = 0; c < kFour; ++c) {
      const bool informative = extremes.least[c] != extremes.largest[c];
      tests.informative |= static_cast<Lanes>(informative) << c;
      tests.threshold[c] = extremes.least[c];
      if (informative)
        tests.threshold[c] = draw_threshold(drawn[c], path, extremes.least[c], extremes.largest[c]);
      tests.bound[c] = bound_of(tests.threshold[c]);
    }
    return tests;
  }

  // Offers a test of the node, by what goes left.
  template <class Score>
  static void offer(const Score& score, const CountedNode& node, std::uint32_t rows, std::uint32_t ones,
                    Lanes lanes, std::uint32_t column, std::size_t c, const FourTests& tests,
                    BestTest& best) {
    if ((tests.informative >> c & 1) == 0) return;
    const double here = score(rows, ones) + score(node.rows - rows, node.ones - ones);
    if (here > best.score + tie_slack(best.score, 0.0)) {
      best.column = static_cast<std::int32_t>(column);
      best.threshold = tests.threshold[c];
      best.bound = tests.bound[c];
      best.left_rows = rows;
      best.left_ones = ones;
      best.left_lanes = lanes;
    }
    best.score = std::max(best.score, here);
  }

  // Writes down a node's test and its children; returns the first of them, or -1 if the test is not worth it.
  std::int32_t split(std::int32_t id, double score, const BestTest& best) {
    CountedNode& node = growth_.nodes[id];
    node.first_child = kNoChild;
    if (!best.found()) return -1;
    const double gain = std::max(0.0, (best.score - score) * growth_.rules.weight_unit);
    if (growth_.rules.least_gain.is_more_than(gain)) return -1;
    const auto first = static_cast<std::int32_t>(n_nodes_);
    n_nodes_ += 2;
    node.first_child = first;
    node.feature = growth_.features[best.column];
    node.threshold = best.threshold;
    node.gain = gain;
    CountedNode* children = growth_.nodes + first;
    children[0].samples = children[0].rows = best.left_rows;
    children[0].ones = best.left_ones;
    children[1].samples = children[1].rows = node.rows - best.left_rows;
    children[1].ones = node.ones - best.left_ones;
    children[0].first_child = children[1].first_child = kNoChild;
    return first;
  }

  // ---- nodes whose rows move

  // Finds the test of a node, given where the values of four columns are.
  template <class Columns>
  BestTest find_test(const Waiting& node, const float* counts, const Columns& columns_of) {
    const CountedNode& counted = growth_.nodes[node.node];
    BestTest best;
    try_columns(node.path, [&](const std::uint32_t* drawn, std::size_t n) {
      const FourColumns columns = columns_of(drawn);
      const FourTests tests = draw_tests(drawn, node.path, extremes_of_stretch(columns, node.n_rows));
      const FourCounts left = count(columns, counts, node.n_rows, tests);
      for (std::size_t c = 0; c < n; ++c)
        offer(AnyScore{}, counted, left.rows[c], left.ones[c], 0, drawn[c], c, tests, best);
      return tests.informative != 0;
    });
    return best;
  }

  static FourCounts count(FourColumns columns, const float* counts, std::size_t n, const FourTests& tests) {
    FourCounts found;
    for (; n > kMostCounted; n -= kMostCounted, counts += kMostCounted) {
      count_stretch(columns, counts, kMostCounted, tests.bound, found);
      for (const float*& at : columns.at) at += kMostCounted;
    }
    count_stretch(columns, counts, n, tests.bound, found);
    return found;
  }

  // Carries out the test: `tested` are the values it looks at.
  void split_rows(const Waiting& node, const BestTest& best, const TwoSides& rows, const float* tested,
                  std::size_t& n_waiting) {
    const CountedNode& counted = growth_.nodes[node.node];
    const std::int32_t first = split(node.node, AnyScore{}(counted.rows, counted.ones), best);
    if (first < 0) return;
    const CountedNode* children = growth_.nodes + first;
    const std::int32_t depth = node.depth + 1;
    const bool opens[2] = {is_open(children[0], depth), is_open(children[1], depth)};
    if (!opens[0] && !opens[1]) return;
    part_rows(node, rows, tested, best.bound, best.left_rows);
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

  static void part_rows(const Waiting& node, const TwoSides& rows, const float* tested, float bound,
                        std::size_t n_left) {
    const float* from = rows.column(node.side, 0, node.begin);
    float* left = rows.column(1 - node.side, 0, node.begin);
    float* right = left + n_left;
    for (std::size_t i = 0; i < node.n_rows; i += kLanes) {
      const std::size_t n = std::min(kLanes, node.n_rows - i);
      const Parting parting(lanes_up_to(tested + i, bound, first_lanes(n)), first_lanes(n));
      for (std::size_t c = 0, at = 0; c <= rows.n_columns; ++c, at += rows.stride)
        parting.move(from + i + at, left + at, right + at);
      left += parting.n_left();
      right += n - parting.n_left();
    }
  }

  // ---- listed rows

  void grow_listed(const Waiting& node, std::size_t& n_waiting) {
    const TwoSides& list = growth_.list;
    const float* rows = list.column(node.side, 0, node.begin);
    std::fill_n(in_fetched_, kFour, -1);
    const BestTest best =
        find_test(node, list.column(node.side, 1, node.begin), [&](const std::uint32_t* drawn) {
          FourColumns columns;
          for (std::size_t c = 0; c < kFour; ++c) {
            columns.at[c] = growth_.fetched[c];
            in_fetched_[c] = static_cast<std::int32_t>(drawn[c]);
          }
          fetch_four(drawn, rows, node.n_rows);
          return columns;
        });
    std::size_t c = 0;
    if (!best.found()) return;
    while (c < kFour && in_fetched_[c] != best.column) ++c;
    if (c == kFour) fetch(growth_.by_row[best.column], rows, node.n_rows, growth_.fetched[c = 0]);
    split_rows(node, best, list, growth_.fetched[c], n_waiting);
  }

  static std::uint32_t row_at(const float* rows, std::size_t i) {
    std::uint32_t row;
    std::memcpy(&row, rows + i, sizeof(row));
    return row;
  }

  const float* record_at(const float* rows, std::size_t i) const {
    return growth_.records + row_at(rows, i) * growth_.record_size;
  }

  // Where most of a column's cache lines hold a row of the node, columns are read; else records, of which
  // fewer lines are needed.
  void fetch_four(const std::uint32_t* drawn, const float* rows, std::size_t n) const {
    if (n * kSparse >= growth_.table_rows) {
      for (std::size_t c = 0; c < kFour; ++c) fetch(growth_.by_row[drawn[c]], rows, n, growth_.fetched[c]);
      return;
    }
    std::size_t feature[kFour];
    for (std::size_t c = 0; c < kFour; ++c) feature[c] = static_cast<std::size_t>(growth_.features[drawn[c]]);
    for (std::size_t i = 0; i < n; ++i) {
      const float* record = record_at(rows, i);
      const float* later = record_at(rows, std::min(i + kLanes, n - 1));
      for (std::size_t c = 0; c < kFour; ++c) prefetch(later + feature[c]);
      for (std::size_t c = 0; c < kFour; ++c) growth_.fetched[c][i] = record[feature[c]];
    }
  }

  static void fetch(const float* by_row, const float* rows, std::size_t n, float* to) {
    for (std::size_t i = 0; i < n; ++i) to[i] = by_row[row_at(rows, i)];
  }

  // ---- rows in the block

  void grow_held(const Waiting& listed, std::size_t n_listed) {
    hold(listed);
    std::size_t n_waiting = n_listed;
    waiting_[n_waiting++] = {0, listed.n_rows, listed.path, listed.node, listed.depth, 0};
    while (n_waiting > n_listed) {
      const Waiting node = waiting_[--n_waiting];
      if (node.n_rows <= kLanes) {
        grow_lanes(node);
        continue;
      }
      const TwoSides& block = growth_.block;
      const float* values = block.column(node.side, 0, node.begin);
      const BestTest best =
          find_test(node, values + block.n_columns * block.stride, [&](const std::uint32_t* drawn) {
            FourColumns columns;
            for (std::size_t c = 0; c < kFour; ++c) columns.at[c] = values + drawn[c] * block.stride;
            return columns;
          });
      const auto tested = static_cast<std::size_t>(std::max(best.column, 0));
      split_rows(node, best, block, values + tested * block.stride, n_waiting);
    }
  }

  // Copies a node's rows into the block.
  void hold(const Waiting& node) const {
    const TwoSides& list = growth_.list;
    const TwoSides& block = growth_.block;
    const float* rows = list.column(node.side, 0, node.begin);
    std::memcpy(block.column(0, block.n_columns, 0), list.column(node.side, 1, node.begin),
                node.n_rows * sizeof(float));
    float* to = block.column(0, 0, 0);
    for (std::size_t first = 0; first < node.n_rows; first += kLanes) {
      const float* records[kLanes];
      for (std::size_t i = 0; i < kLanes; ++i) {
        records[i] = record_at(rows, std::min(first + i, node.n_rows - 1));
        const float* later = record_at(rows, std::min(first + i + kLanes, node.n_rows - 1));
        for (std::size_t c = 0; c < growth_.record_size; c += kLanes) prefetch(later + c);
      }
      for (std::size_t c = 0; c < block.n_columns; ++c) {
        const auto feature = static_cast<std::size_t>(growth_.features[c]);
        for (std::size_t i = 0; i < kLanes; ++i) to[c * block.stride + first + i] = records[i][feature];
      }
    }
  }

  // ---- lanes

  BestTest find_test_of_lanes(const LaneNode& node, const float* base, Lanes ones, const FewScores& score) {
    const CountedNode& counted = growth_.nodes[node.node];
    BestTest best;
    try_columns(node.path, [&](const std::uint32_t* drawn, std::size_t n) {
      FourColumns columns;
      for (std::size_t c = 0; c < kFour; ++c) columns.at[c] = base + drawn[c] * growth_.block.stride;
      const FourTests tests = draw_tests(drawn, node.path, extremes(columns, node.rows));
      for (std::size_t c = 0; c < n; ++c) {
        const Lanes left = lanes_up_to(columns.at[c], tests.bound[c], node.rows);
        offer(score, counted, static_cast<std::uint32_t>(std::popcount(left)),
              static_cast<std::uint32_t>(std::popcount(left & ones)), left, drawn[c], c, tests, best);
      }
      return tests.informative != 0;
    });
    return best;
  }

  // Of two rows, every test that parts them is as good as any other: the first one stays.
  BestTest find_test_of_two(const LaneNode& node, const float* base, Lanes ones, const FewScores& score) {
    const auto one = static_cast<std::size_t>(std::countr_zero(node.rows));
    const auto other = static_cast<std::size_t>(std::bit_width(node.rows)) - 1;
    BestTest best;
    try_columns(node.path, [&](const std::uint32_t* drawn, std::size_t n) {
      for (std::size_t c = 0; c < n && !best.found(); ++c) {
        const float* values = base + drawn[c] * growth_.block.stride;
        if (values[one] == values[other]) continue;
        const bool one_is_less = values[one] < values[other];
        best.threshold = draw_threshold(drawn[c], node.path, values[one_is_less ? one : other],
                                        values[one_is_less ? other : one]);
        best.column = static_cast<std::int32_t>(drawn[c]);
        best.left_lanes = Lanes{1} << (one_is_less ? one : other);
        best.left_rows = 1;
        best.left_ones = (best.left_lanes & ones) != 0 ? 1 : 0;
        best.score = score(1, best.left_ones) + score(1, 1 - best.left_ones);
      }
      return best.found();
    });
    return best;
  }

  void grow_lanes(const Waiting& root) {
    static const FewScores score;
    const TwoSides& block = growth_.block;
    const float* base = block.column(root.side, 0, root.begin);
    const Lanes ones = lanes_of_class_1(base + block.n_columns * block.stride);
    // First come, first served: neighbours in the list do not wait for each other.
    LaneNode nodes[2 * kLanes];
    std::size_t n_nodes = 0;
    nodes[n_nodes++] = {root.path, first_lanes(root.n_rows), root.node, root.depth};
    for (std::size_t i = 0; i < n_nodes; ++i) {
      const LaneNode node = nodes[i];
      const CountedNode& counted = growth_.nodes[node.node];
      const BestTest best = counted.rows == 2 ? find_test_of_two(node, base, ones, score)
                                              : find_test_of_lanes(node, base, ones, score);
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
  DrawnColumns draw_;
  std::size_t n_nodes_;
  Waiting waiting_[kMostWaiting];
  std::int32_t in_fetched_[kFour];  // which columns
};

void grow(BlockGrowth& growth) {
  BlockGrower(growth).grow();
}

}  // namespace

extern const BlockKernels block_table;
const BlockKernels block_table = {grow};

}  // namespace hornbeam::HORNBEAM_KERNELS
