// The bodies of boost/kernels.h; included once per instruction set, inside a namespace that HORNBEAM_KERNELS
// names.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "hornbeam/boost/kernels.h"
#include "hornbeam/boost/row_sets.h"
#include "hornbeam/boost/tiles.h"
#include "hornbeam/math.h"
#include "hornbeam/platform.h"

namespace hornbeam::HORNBEAM_KERNELS {

namespace {

// ---- histograms

// A row's codes are asked for this many rows ahead; a tile in the middle of a line finds it already there.
constexpr std::size_t kRowsAhead = 48;

template <class Cell>
struct RowCell;
template <>
struct RowCell<PackedCell> {
  const FixedPair* pairs;
  PackedCell operator()(BoostEntry entry) const { return cell_of(entry); }
};
template <>
struct RowCell<WideCell> {
  const FixedPair* pairs;
  WideCell operator()(BoostEntry entry) const {
    const FixedPair pair = pairs[row_of(entry)];
    return {pair.gradient, pair.hessian};
  }
};

// The number of slots is part of the type so that the updates of a row are one straight run of
// instructions. The 16 codes are read as two words: loads are what the loop has too many of.
template <int N, class Cell>
void add_rows(const std::uint8_t* codes, std::size_t row_bytes, const BoostEntry* entries, std::size_t n,
              std::size_t n_known, RowCell<Cell> row_cell, Cell* cells) {
  const auto add_row = [&](BoostEntry entry) {
    std::uint64_t words[2];
    std::memcpy(words, codes + std::size_t{row_of(entry)} * row_bytes, sizeof(words));
    const Cell cell = row_cell(entry);
    [&]<std::size_t... J>(std::index_sequence<J...>) {
      ((cells[J * kCellsPerSlot + static_cast<std::uint8_t>(words[J / 8] >> (8 * (J % 8)))] += cell), ...);
    }(std::make_index_sequence<N>{});
  };
  std::size_t i = 0;
  const std::size_t n_asking = n_known > kRowsAhead ? std::min(n, n_known - kRowsAhead) : 0;
  for (; i < n_asking; ++i) {
    prefetch(codes + std::size_t{row_of(entries[i + kRowsAhead])} * row_bytes);
    add_row(entries[i]);
  }
  for (; i < n; ++i) add_row(entries[i]);
}

template <class Cell>
using AddRows = void (*)(const std::uint8_t*, std::size_t, const BoostEntry*, std::size_t, std::size_t,
                         RowCell<Cell>, Cell*);

template <class Cell, int... N>
void add_some(std::integer_sequence<int, N...>, int n_slots, const std::uint8_t* codes, std::size_t row_bytes,
              const BoostEntry* entries, std::size_t n, std::size_t n_known, const FixedPair* pairs,
              Cell* cells) {
  constexpr AddRows<Cell> kBySize[] = {add_rows<N + 1, Cell>...};
  kBySize[n_slots - 1](codes, row_bytes, entries, n, n_known, RowCell<Cell>{pairs}, cells);
}

using TileSizes = std::make_integer_sequence<int, kTileSlots>;

void add_packed(const std::uint8_t* codes, std::size_t row_bytes, int n_slots, const BoostEntry* entries,
                std::size_t n, std::size_t n_known, PackedCell* cells) {
  add_some<PackedCell>(TileSizes{}, n_slots, codes, row_bytes, entries, n, n_known, nullptr, cells);
}

void add_wide(const std::uint8_t* codes, std::size_t row_bytes, int n_slots, const BoostEntry* entries,
              std::size_t n, std::size_t n_known, const FixedPair* pairs, WideCell* cells) {
  add_some<WideCell>(TileSizes{}, n_slots, codes, row_bytes, entries, n, n_known, pairs, cells);
}

// As many sums as one row adds to one slot's cells, side by side.
template <int kLanes>
struct Lanes {
  PackedCell sums[kLanes];

  static Lanes load(const PackedCell* from) {
    Lanes lanes;
    std::memcpy(lanes.sums, from, sizeof(lanes.sums));
    return lanes;
  }
  void add_to(PackedCell* cells) const {
    for (int lane = 0; lane < kLanes; ++lane) cells[lane] += sums[lane];
  }
};

#if defined(__AVX512F__)

// Compilers take the loop above apart into single additions.
template <>
struct Lanes<8> {
  __m512i sums;

  static Lanes load(const PackedCell* from) { return {_mm512_loadu_si512(from)}; }
  void add_to(PackedCell* cells) const {
    _mm512_storeu_si512(cells, _mm512_add_epi64(_mm512_loadu_si512(cells), sums));
  }
};

#endif

#if defined(__AVX2__)

template <>
struct Lanes<4> {
  __m256i sums;

  static Lanes load(const PackedCell* from) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from))};
  }
  void add_to(PackedCell* cells) const {
    auto* place = reinterpret_cast<__m256i*>(cells);
    _mm256_storeu_si256(place, _mm256_add_epi64(_mm256_loadu_si256(place), sums));
  }
};

#endif

// A row's additions stay in registers while they go to one slot after the other.
template <int kLanes>
void add_lanes(const std::uint8_t* __restrict codes, std::size_t row_bytes, int n_slots,
               const std::uint32_t* __restrict first, const RowId* __restrict rows,
               const PackedCell* __restrict additions, std::size_t n, PackedCell* __restrict cells) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint8_t* row = codes + std::size_t{rows[i]} * row_bytes;
    const auto addition = Lanes<kLanes>::load(additions + i * kLanes);
    for (int j = 0; j < n_slots; ++j) addition.add_to(cells + (std::size_t{first[j]} + row[j]) * kLanes);
  }
}

// ---- partition

std::uint64_t mark_few(const std::uint8_t* column, const BoostEntry* entries, std::size_t n,
                       unsigned first_right, unsigned extra) {
  std::uint64_t word = 0;
  for (std::size_t j = 0; j < n; ++j) {
    const unsigned code = column[row_of(entries[j])];
    word |= static_cast<std::uint64_t>(code < first_right || code == extra) << j;
  }
  return word;
}

void send_few(const BoostEntry* entries, std::size_t n, std::uint64_t word, BoostEntry*& left,
              BoostEntry*& right) {
  for (std::size_t j = 0; j < n; ++j) {
    const bool goes_left = (word >> j & 1) != 0;
    *(goes_left ? left : right) = entries[j];
    left += goes_left;
    right += !goes_left;
  }
}

#if defined(__AVX512F__)

// Sixteen codes: aligned words around them are gathered, so nothing beyond the column is read.
__m512i gather_codes(const std::uint8_t* column, const BoostEntry* entries) {
  const __m512i first = _mm512_loadu_si512(entries);
  const __m512i second = _mm512_loadu_si512(entries + 8);
  const __m512i evens = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
  const __m512i rows = _mm512_permutex2var_epi32(first, evens, second);
  const __m512i words = _mm512_i32gather_epi32(_mm512_srli_epi32(rows, 2), column, 4);
  const __m512i shifts = _mm512_slli_epi32(_mm512_and_si512(rows, _mm512_set1_epi32(3)), 3);
  return _mm512_and_si512(_mm512_srlv_epi32(words, shifts), _mm512_set1_epi32(0xff));
}

void mark_left(const std::uint8_t* column, const BoostEntry* entries, std::size_t n, unsigned first_right,
               unsigned extra, std::uint64_t* marks) {
  const __m512i limit = _mm512_set1_epi32(static_cast<int>(first_right));
  const __m512i other = _mm512_set1_epi32(static_cast<int>(extra));
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    std::uint64_t word = 0;
    for (int part = 0; part < 4; ++part) {
      const __m512i codes = gather_codes(column, entries + i + 16 * part);
      const __mmask16 mask = _mm512_cmplt_epi32_mask(codes, limit) | _mm512_cmpeq_epi32_mask(codes, other);
      word |= std::uint64_t{mask} << (16 * part);
    }
    *marks++ = word;
  }
  if (i < n) *marks = mark_few(column, entries + i, n - i, first_right, extra);
}

void send(const BoostEntry* entries, std::size_t n, const std::uint64_t* marks, BoostEntry* left,
          std::size_t n_left, BoostEntry* right) {
  // Whole registers are stored and the surplus overwritten by the next store; near the end of either side,
  // where the surplus would belong to someone else, entries go one by one.
  const BoostEntry* const left_end = left + n_left;
  const BoostEntry* const right_end = right + (n - n_left);
  std::size_t i = 0;
  for (; i + 64 <= n && left_end - left >= 72 && right_end - right >= 72; i += 64) {
    const std::uint64_t word = marks[i / 64];
    for (int part = 0; part < 8; ++part) {
      const auto mask = static_cast<__mmask8>(word >> (8 * part));
      const __m512i eight = _mm512_loadu_si512(entries + i + 8 * static_cast<std::size_t>(part));
      const int n_here = std::popcount(static_cast<unsigned>(mask));
      _mm512_storeu_si512(left, _mm512_maskz_compress_epi64(mask, eight));
      _mm512_storeu_si512(right, _mm512_maskz_compress_epi64(static_cast<__mmask8>(~mask), eight));
      left += n_here;
      right += 8 - n_here;
    }
  }
  for (; i < n; i += 64) send_few(entries + i, std::min<std::size_t>(64, n - i), marks[i / 64], left, right);
}

#else

void mark_left(const std::uint8_t* column, const BoostEntry* entries, std::size_t n, unsigned first_right,
               unsigned extra, std::uint64_t* marks) {
  for (std::size_t i = 0; i < n; i += 64) {
    *marks++ = mark_few(column, entries + i, n - i < 64 ? n - i : 64, first_right, extra);
  }
}

void send(const BoostEntry* entries, std::size_t n, const std::uint64_t* marks, BoostEntry* left, std::size_t,
          BoostEntry* right) {
  for (std::size_t i = 0; i < n; i += 64) {
    send_few(entries + i, n - i < 64 ? n - i : 64, marks[i / 64], left, right);
  }
}

#endif

constexpr std::size_t kWordsAhead = 24;  // of a set, whose rows' codes are asked for

// A row per bit of a word: which go to branch 0, and the same without gaps between the rows.
struct Divided {
  std::uint64_t left = 0;
  std::uint64_t marks = 0;
};

#if defined(__AVX512F__)

// The test as a table: a byte for each of 256 codes, with its highest bit set for branch 0.
class CodeTest {
 public:
  explicit CodeTest(const std::uint8_t* is_left) {
    for (int part = 0; part < 4; ++part) {
      table_[part] = _mm512_slli_epi16(_mm512_loadu_si512(is_left + 64 * part), 7);
    }
  }
  Divided operator()(const std::uint8_t* codes, std::uint64_t members) const {
    const __m512i sixty_four = _mm512_maskz_loadu_epi8(members, codes);
    const __m512i lower = _mm512_permutex2var_epi8(table_[0], sixty_four, table_[1]);
    const __m512i upper = _mm512_permutex2var_epi8(table_[2], sixty_four, table_[3]);
    const __mmask64 is_upper = _mm512_movepi8_mask(sixty_four);
    const std::uint64_t left = _mm512_movepi8_mask(_mm512_mask_blend_epi8(is_upper, lower, upper)) & members;
    return {left, _pext_u64(left, members)};
  }

 private:
  __m512i table_[4];
};

#else

class CodeTest {
 public:
  explicit CodeTest(const std::uint8_t* is_left) : is_left_(is_left) {}
  Divided operator()(const std::uint8_t* codes, std::uint64_t members) const {
    Divided divided;
    for (int n = 0; members != 0; members &= members - 1, ++n) {
      const int row = std::countr_zero(members);
      const std::uint64_t goes_left = is_left_[codes[row]];
      divided.left |= goes_left << row;
      divided.marks |= goes_left << n;
    }
    return divided;
  }

 private:
  const std::uint8_t* is_left_;
};

#endif

SetCounts divide_set(const std::uint8_t* codes, const std::uint8_t* is_left, std::size_t n_words,
                     std::uint64_t* members, std::uint64_t* left, std::uint64_t* marks) {
  const CodeTest test(is_left);
  MarkStream stream(marks);
  SetCounts counts;
  for (std::size_t w = 0; w < n_words; ++w) {
    prefetch(codes + 64 * (w + kWordsAhead));
    const Divided divided = test(codes + 64 * w, members[w]);
    const int n = std::popcount(members[w]);
    stream.add(divided.marks, n);
    left[w] = divided.left;
    members[w] &= ~divided.left;
    counts.n_rows += static_cast<std::size_t>(n);
    counts.n_left += static_cast<std::size_t>(std::popcount(divided.left));
  }
  stream.end();
  return counts;
}

// ---- scores of cuts

double shrunk(double gradient, double l1) {
  const double size = (gradient < 0 ? -gradient : gradient) - l1;
  return size > 0 ? size : 0.0;  // its square is all that is needed
}

// Eight running maxima: a single one would wait for itself.
double largest_of(const double* scores, std::size_t n) {
  constexpr std::size_t kLanes = 8;
  double best[kLanes];
  for (double& b : best) b = -kInfinity;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) best[j] = scores[i + j] > best[j] ? scores[i + j] : best[j];
  }
  for (; i < n; ++i) best[0] = std::max(best[0], scores[i]);
  return *std::max_element(best, best + kLanes);
}

// G_l^2 / (H_l + l2) + G_r^2 / (H_r + l2) with one division.
template <bool kShrink, class Number>
double score_cuts(const Number* __restrict left_gradients, const Number* __restrict left_hessians,
                  std::size_t n, const CutTerms& terms, double* __restrict scores) {
  const double gradient = terms.gradient;
  const double hessian = terms.hessian;
  const double unit = terms.hessian_unit;
  const double l1 = terms.l1;
  const double l2 = terms.l2;
  const double least = terms.min_hessian;
  for (std::size_t i = 0; i < n; ++i) {
    double gl = static_cast<double>(left_gradients[i]);
    const double hl = static_cast<double>(left_hessians[i]);
    double gr = gradient - gl;
    const double hr = hessian - hl;
    if constexpr (kShrink) {
      gl = shrunk(gl, l1);
      gr = shrunk(gr, l1);
    }
    const double a = hl * unit + l2;
    const double b = hr * unit + l2;
    const double score = (gl * gl * b + gr * gr * a) / (a * b);
    scores[i] = ((hl >= least) & (hr >= least)) ? score : -kInfinity;
  }
  return largest_of(scores, n);
}

#if defined(__AVX512F__)

std::size_t first_at_least(const double* scores, std::size_t n, double floor) {
  const __m512d least = _mm512_set1_pd(floor);
  for (std::size_t i = 0;; i += 8) {
    const auto inside = static_cast<__mmask8>(n - i >= 8 ? 0xff : (1u << (n - i)) - 1);
    const __m512d eight = _mm512_maskz_loadu_pd(inside, scores + i);
    const auto found = _mm512_mask_cmp_pd_mask(inside, eight, least, _CMP_GE_OQ);
    if (found != 0) return i + static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(found)));
  }
}

// Running sums of eight cells: three shifted additions.
__m512i prefix_sums(__m512i cells) {
  const __m512i zero = _mm512_setzero_si512();
  cells = _mm512_add_epi64(cells, _mm512_alignr_epi64(cells, zero, 7));
  cells = _mm512_add_epi64(cells, _mm512_alignr_epi64(cells, zero, 6));
  return _mm512_add_epi64(cells, _mm512_alignr_epi64(cells, zero, 4));
}

// The same operations in the same order as score_cuts, eight cuts at a time.
template <bool kShrink>
double score_eights(const PackedCell* cells, std::size_t n, PackedCell start, const CutTerms& terms,
                    double* scores) {
  const __m512d gradient = _mm512_set1_pd(terms.gradient);
  const __m512d hessian = _mm512_set1_pd(terms.hessian);
  const __m512d unit = _mm512_set1_pd(terms.hessian_unit);
  const __m512d l1 = _mm512_set1_pd(terms.l1);
  const __m512d l2 = _mm512_set1_pd(terms.l2);
  const __m512d least = _mm512_set1_pd(terms.min_hessian);
  const __m512d never = _mm512_set1_pd(-kInfinity);
  const __m512i low_half = _mm512_set1_epi64(0xffffffff);
  const __m512i last = _mm512_set1_epi64(7);
  const auto shrink = [&](__m512d g) {
    return _mm512_max_pd(_mm512_sub_pd(_mm512_abs_pd(g), l1), _mm512_setzero_pd());
  };
  __m512i carried = _mm512_set1_epi64(static_cast<long long>(start));
  __m512d largest = never;
  for (std::size_t i = 0; i < n; i += 8) {
    const auto inside = static_cast<__mmask8>(n - i >= 8 ? 0xff : (1u << (n - i)) - 1);
    const __m512i left = _mm512_add_epi64(prefix_sums(_mm512_maskz_loadu_epi64(inside, cells + i)), carried);
    carried = _mm512_permutexvar_epi64(last, left);
    __m512d gl = _mm512_cvtepi64_pd(_mm512_srai_epi64(left, 32));
    const __m512d hl = _mm512_cvtepi64_pd(_mm512_and_si512(left, low_half));
    __m512d gr = _mm512_sub_pd(gradient, gl);
    const __m512d hr = _mm512_sub_pd(hessian, hl);
    if constexpr (kShrink) {
      gl = shrink(gl);
      gr = shrink(gr);
    }
    const __m512d a = _mm512_add_pd(_mm512_mul_pd(hl, unit), l2);
    const __m512d b = _mm512_add_pd(_mm512_mul_pd(hr, unit), l2);
    const __m512d above =
        _mm512_add_pd(_mm512_mul_pd(_mm512_mul_pd(gl, gl), b), _mm512_mul_pd(_mm512_mul_pd(gr, gr), a));
    const __mmask8 enough =
        _mm512_cmp_pd_mask(hl, least, _CMP_GE_OQ) & _mm512_cmp_pd_mask(hr, least, _CMP_GE_OQ);
    const __m512d score = _mm512_mask_div_pd(never, enough, above, _mm512_mul_pd(a, b));
    _mm512_mask_storeu_pd(scores + i, inside, score);
    largest = _mm512_mask_max_pd(largest, inside, largest, score);
  }
  return _mm512_reduce_max_pd(largest);
}

double score_packed(const PackedCell* cells, std::size_t n, PackedCell start, const CutTerms& terms,
                    double* scores) {
  return terms.l1 > 0 ? score_eights<true>(cells, n, start, terms, scores)
                      : score_eights<false>(cells, n, start, terms, scores);
}

#else

std::size_t first_at_least(const double* scores, std::size_t, double floor) {
  std::size_t i = 0;
  while (scores[i] < floor) ++i;
  return i;
}

double score_packed(const PackedCell* cells, std::size_t n, PackedCell start, const CutTerms& terms,
                    double* scores) {
  std::int32_t gradients[kCellsPerSlot];
  std::int32_t hessians[kCellsPerSlot];
  PackedCell left = start;
  for (std::size_t i = 0; i < n; ++i) {
    left += cells[i];
    gradients[i] = static_cast<std::int32_t>(left >> 32);
    hessians[i] = static_cast<std::int32_t>(left);
  }
  return terms.l1 > 0 ? score_cuts<true>(gradients, hessians, n, terms, scores)
                      : score_cuts<false>(gradients, hessians, n, terms, scores);
}

#endif

double score_wide(const WideCell* cells, std::size_t n, const WideCell& start, const CutTerms& terms,
                  double* scores) {
  double gradients[kCellsPerSlot];
  double hessians[kCellsPerSlot];
  WideCell left = start;
  for (std::size_t i = 0; i < n; ++i) {
    left += cells[i];
    gradients[i] = static_cast<double>(left.gradient);
    hessians[i] = static_cast<double>(left.hessian);
  }
  return terms.l1 > 0 ? score_cuts<true>(gradients, hessians, n, terms, scores)
                      : score_cuts<false>(gradients, hessians, n, terms, scores);
}

// ---- derivatives

// Many sums side by side, put together in a fixed order: the same bits in every build.
BoostKernels::Spread spread(const float* __restrict values, std::size_t n) {
  constexpr std::size_t kLanes = 64;
  double largest[kLanes] = {};
  double sums[kLanes] = {};
  for (std::size_t i = 0; i + kLanes <= n; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const double size = std::abs(static_cast<double>(values[i + lane]));
      largest[lane] = largest[lane] < size ? size : largest[lane];
      sums[lane] += size;
    }
  }
  BoostKernels::Spread all;
  const auto take = [&](double most, double sum) {
    all.largest = std::max(all.largest, most);
    all.sum += sum;
  };
  for (std::size_t lane = 0; lane < kLanes; ++lane) take(largest[lane], sums[lane]);
  for (std::size_t i = n - n % kLanes; i < n; ++i) {
    const double size = std::abs(static_cast<double>(values[i]));
    take(size, size);
  }
  return all;
}

template <bool kOnes>
WideCell pack_some(const float* __restrict gradients, const float* __restrict hessians, std::size_t n,
                   RowId first_row, double gradient_scale, double hessian_scale,
                   BoostEntry* __restrict entries) {
  std::int64_t gradient_sum = 0;
  std::int64_t hessian_sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t gradient = fixed_point(gradients[i], gradient_scale);
    const std::int32_t hessian = kOnes ? 1 : fixed_hessian(hessians[i], hessian_scale);
    gradient_sum += gradient;
    hessian_sum += hessian;
    entries[i] = static_cast<std::uint64_t>(static_cast<std::int64_t>(gradient)) << 48 |
                 static_cast<std::uint64_t>(static_cast<std::int64_t>(hessian)) << 32 |
                 (first_row + static_cast<std::uint64_t>(i));
  }
  return {gradient_sum, hessian_sum};
}

WideCell pack_rows(const float* gradients, const float* hessians, std::size_t n, RowId first_row,
                   double gradient_scale, double hessian_scale, BoostEntry* entries) {
  return hessians == nullptr
             ? pack_some<true>(gradients, hessians, n, first_row, gradient_scale, hessian_scale, entries)
             : pack_some<false>(gradients, hessians, n, first_row, gradient_scale, hessian_scale, entries);
}

void log_loss(const double* __restrict scores, const float* __restrict y, std::size_t n,
              float* __restrict gradients, float* __restrict hessians) {
  for (std::size_t i = 0; i < n; ++i) {
    const double p = 1.0 / (1.0 + exp_of(-scores[i]));
    gradients[i] = static_cast<float>(p - static_cast<double>(y[i]));
    hessians[i] = static_cast<float>(p * (1.0 - p));
  }
}

// Class by class over all rows: what is done to one row does not depend on the others, so the bits are those
// of a loop over rows, and the exponentials of many rows are found together.
void softmax(const double* scores, const float* y, std::size_t n, std::size_t n_classes, std::size_t stride,
             double* room, float* gradients, float* hessians) {
  double* const most = room + n_classes * n;
  double* const sum = most + n;
  for (std::size_t i = 0; i < n; ++i) most[i] = scores[i];
  for (std::size_t k = 1; k < n_classes; ++k) {
    const double* of_class = scores + k * stride;
    for (std::size_t i = 0; i < n; ++i) most[i] = std::max(most[i], of_class[i]);
  }
  for (std::size_t i = 0; i < n; ++i) sum[i] = 0.0;
  for (std::size_t k = 0; k < n_classes; ++k) {
    const double* __restrict of_class = scores + k * stride;
    double* __restrict shares = room + k * n;
    for (std::size_t i = 0; i < n; ++i) shares[i] = exp_of(of_class[i] - most[i]);
    for (std::size_t i = 0; i < n; ++i) sum[i] += shares[i];
  }
  for (std::size_t k = 0; k < n_classes; ++k) {
    const double* __restrict shares = room + k * n;
    const auto number = static_cast<float>(k);
    float* __restrict out = gradients + k * stride;
    float* __restrict out_hessians = hessians + k * stride;
    for (std::size_t i = 0; i < n; ++i) {
      const double share = shares[i] / sum[i];
      const double truth = y[i] == number ? 1.0 : 0.0;
      out[i] = static_cast<float>(share - truth);
      out_hessians[i] = static_cast<float>(share * (1.0 - share));
    }
  }
}

}  // namespace

extern const BoostKernels boost_table;
const BoostKernels boost_table = {add_packed, add_wide,   add_lanes<4>, add_lanes<8>, mark_left,
                                  send,       divide_set, score_packed, score_wide,   first_at_least,
                                  spread,     pack_rows,  log_loss,     softmax};

}  // namespace hornbeam::HORNBEAM_KERNELS
