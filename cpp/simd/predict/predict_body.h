// The bodies of predict/predict_kernels.h; included once per instruction set, inside a namespace that
// HORNBEAM_KERNELS names. Plain loops over lines of 64 bytes become wide by themselves; what has no plain
// form wide enough is written out for AVX-512.
#include "predict/predict_kernels.h"
#include "simd/predict/left_out_body.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace hornbeam::predict::HORNBEAM_KERNELS {

namespace {

// As many bytes as a register holds, with the three operations that a test needs.
#if defined(__AVX512VBMI__)

struct Bytes {
  static constexpr std::size_t kSize = 64;
  using Mask = __mmask64;
  __m512i bytes;
  static Bytes load(const void* from) { return {_mm512_load_si512(from)}; }
  static Bytes filled(std::int8_t value) { return {_mm512_set1_epi8(value)}; }
  void store(void* to) const { _mm512_store_si512(to, bytes); }
  static Mask above(Bytes codes, Bytes threshold) {
    return _mm512_cmpgt_epi8_mask(codes.bytes, threshold.bytes);
  }
  static Bytes choose(Mask mask, Bytes yes, Bytes no) {
    return {_mm512_mask_blend_epi8(mask, no.bytes, yes.bytes)};
  }
};

#else

struct Bytes {
#if defined(__AVX2__)
  static constexpr std::size_t kSize = 32;
#else
  static constexpr std::size_t kSize = 16;
#endif
  using Vector [[gnu::vector_size(kSize)]] = std::int8_t;
  using Mask = Vector;
  Vector bytes;
  static Bytes load(const void* from) { return {*static_cast<const Vector*>(from)}; }
  static Bytes filled(std::int8_t value) { return {Vector{} + value}; }
  void store(void* to) const { *static_cast<Vector*>(to) = bytes; }
  static Mask above(Bytes codes, Bytes threshold) { return codes.bytes > threshold.bytes; }
  static Bytes choose(Mask mask, Bytes yes, Bytes no) { return {(mask & yes.bytes) | (~mask & no.bytes)}; }
};

#endif

// Codes of the feature that a test asks for, and the threshold that goes with them.
inline const std::int8_t* codes_of(const SliceTest& test, const SliceBlock& block) {
  return block.codes + test.codes + (test.second_copy & block.second_copy);
}
inline Bytes threshold_of(const SliceTest& test, const SliceBlock& block) {
  const int in_second = (test.second_copy & block.second_copy) != 0 ? 1 : 0;
  return Bytes::filled(static_cast<std::int8_t>(test.threshold + in_second * test.second_shift));
}

// The leaf numbers of as many rows as possible stay in registers from test to test.
constexpr std::size_t kRegisters = 8;
constexpr std::size_t kRowsAtOnce = kRegisters * Bytes::kSize;

void find_leaves_at(const SliceProgram& program, const SliceBlock& block, std::size_t row,
                    std::uint8_t* found) {
  Bytes numbers[kRegisters];
  for (Bytes& part : numbers) part = Bytes::filled(0);
  const SliceJoin* join = program.joins;
  for (const SliceChain* chain = program.chains; chain != program.chains + program.n_chains; ++chain) {
    std::uint8_t* keep = block.numbers + chain->keep * kLine + row;
    const std::int8_t* codes = codes_of(chain->test, block) + row;
    const Bytes threshold = threshold_of(chain->test, block);
    const Bytes left = Bytes::filled(static_cast<std::int8_t>(chain->left));
    const Bytes right = Bytes::filled(static_cast<std::int8_t>(chain->right));
#pragma GCC unroll 8
    for (std::size_t r = 0; r < kRegisters; ++r) {
      numbers[r].store(keep + r * Bytes::kSize);
      const auto goes_right = Bytes::above(Bytes::load(codes + r * Bytes::kSize), threshold);
      numbers[r] = Bytes::choose(goes_right, right, left);
    }
    for (const SliceJoin* end = join + chain->n_joins; join != end; ++join) {
      const std::int8_t* join_codes = codes_of(join->test, block) + row;
      const Bytes bound = threshold_of(join->test, block);
      const std::uint8_t* other = block.numbers + join->other * kLine + row * join->other_step;
      const std::size_t step = Bytes::kSize * join->other_step;
#pragma GCC unroll 8
      for (std::size_t r = 0; r < kRegisters; ++r) {
        const auto takes_other = Bytes::above(Bytes::load(join_codes + r * Bytes::kSize), bound);
        numbers[r] = Bytes::choose(takes_other, Bytes::load(other + r * step), numbers[r]);
      }
    }
  }
  for (std::size_t r = 0; r < kRegisters; ++r) numbers[r].store(found + row + r * Bytes::kSize);
}

void find_leaves(const SliceProgram& program, const SliceBlock& block, std::uint8_t* found) {
  for (std::size_t row = 0; row < kSliceRows; row += kRowsAtOnce) find_leaves_at(program, block, row, found);
}

#if defined(__AVX512VBMI__)

// Eight rows at a time are every eighth of the line: shifting the line by whole bytes brings their numbers
// into the lowest bits of its eight 64-bit parts, which is all that a permutation looks at.
constexpr auto kSumOrder = [] {
  std::array<std::uint8_t, kLine> order{};
  for (std::size_t i = 0; i < kLine; ++i) order[i] = static_cast<std::uint8_t>(i % 8 * 8 + i / 8);
  return order;
}();

// Looks numbers below 16 * kTables up in a table with that many values.
template <int kTables>
void add_from_registers(const std::uint8_t* numbers, const double* values, std::size_t n_lines,
                        double* sums) {
  __m512d table[2 * kTables];
  for (int i = 0; i < 2 * kTables; ++i) table[i] = _mm512_load_pd(values + 8 * i);
  for (std::size_t line = 0; line < n_lines; ++line) {
    const __m512i found = _mm512_load_si512(numbers + line * kLine);
    for (int g = 0; g < 8; ++g) {
      const __m512i index = _mm512_srli_epi64(found, static_cast<unsigned>(8 * g));
      __m512d value = _mm512_permutex2var_pd(table[0], index, table[1]);
      if constexpr (kTables >= 2) {
        const __mmask8 upper = _mm512_test_epi64_mask(index, _mm512_set1_epi64(16));
        const __m512d second = _mm512_permutex2var_pd(table[2], index, table[3]);
        value = _mm512_mask_blend_pd(upper, value, second);
        if constexpr (kTables == 4) {
          const __m512d third = _mm512_permutex2var_pd(table[4], index, table[5]);
          const __m512d fourth = _mm512_permutex2var_pd(table[6], index, table[7]);
          const __mmask8 upper_half = _mm512_test_epi64_mask(index, _mm512_set1_epi64(32));
          value = _mm512_mask_blend_pd(upper_half, value, _mm512_mask_blend_pd(upper, third, fourth));
        }
      }
      double* sum = sums + line * kLine + g * 8;
      _mm512_store_pd(sum, _mm512_add_pd(_mm512_load_pd(sum), value));
    }
  }
}

void add_values(const std::uint8_t* numbers, const double* values, std::size_t n_leaves, std::size_t n_lines,
                double* sums) {
  if (n_leaves <= 16)
    add_from_registers<1>(numbers, values, n_lines, sums);
  else if (n_leaves <= 32)
    add_from_registers<2>(numbers, values, n_lines, sums);
  else
    add_from_registers<4>(numbers, values, n_lines, sums);
}

// How many of 16 numbers lie below a value.
inline unsigned count_below(const double* numbers, double value) {
  const __m512d x = _mm512_set1_pd(value);
  const __mmask8 low = _mm512_cmp_pd_mask(_mm512_load_pd(numbers), x, _CMP_LT_OQ);
  const __mmask8 high = _mm512_cmp_pd_mask(_mm512_load_pd(numbers + 8), x, _CMP_LT_OQ);
  return static_cast<unsigned>(__builtin_popcount(_mm512_kunpackb(high, low)));
}
inline unsigned count_below(const float* numbers, float value) {
  const __mmask16 below = _mm512_cmp_ps_mask(_mm512_load_ps(numbers), _mm512_set1_ps(value), _CMP_LT_OQ);
  return static_cast<unsigned>(__builtin_popcount(below));
}

void look_up(const std::int8_t* codes, const std::uint8_t* table, std::size_t n_lines,
             std::int8_t* branches) {
  __m512i part[4];
  for (int i = 0; i < 4; ++i) part[i] = _mm512_loadu_si512(table + 64 * i);
  for (std::size_t line = 0; line < n_lines; ++line) {
    const __m512i code =
        _mm512_xor_si512(_mm512_load_si512(codes + line * kLine), _mm512_set1_epi8(static_cast<char>(0x80)));
    const __m512i lower = _mm512_permutex2var_epi8(part[0], code, part[1]);
    const __m512i upper = _mm512_permutex2var_epi8(part[2], code, part[3]);
    _mm512_store_si512(branches + line * kLine,
                       _mm512_mask_blend_epi8(_mm512_movepi8_mask(code), lower, upper));
  }
}

#else

constexpr auto kSumOrder = [] {
  std::array<std::uint8_t, kLine> order{};
  for (std::size_t i = 0; i < kLine; ++i) order[i] = static_cast<std::uint8_t>(i);
  return order;
}();

void add_values(const std::uint8_t* numbers, const double* values, std::size_t, std::size_t n_lines,
                double* __restrict sums) {
  for (std::size_t i = 0; i < n_lines * kLine; ++i) sums[i] += values[numbers[i]];
}

void look_up(const std::int8_t* codes, const std::uint8_t* table, std::size_t n_lines,
             std::int8_t* branches) {
  for (std::size_t i = 0; i < n_lines * kLine; ++i)
    branches[i] = static_cast<std::int8_t>(table[static_cast<std::uint8_t>(codes[i]) ^ 0x80]);
}

#endif

#if defined(__AVX2__) && !defined(__AVX512VBMI__)

// How many of 16 numbers lie below a value.
inline unsigned count_below(const double* numbers, double value) {
  const __m256d x = _mm256_set1_pd(value);
  unsigned below = 0;
  for (unsigned i = 0; i < 4; ++i) {
    const __m256d less = _mm256_cmp_pd(_mm256_load_pd(numbers + 4 * i), x, _CMP_LT_OQ);
    below |= static_cast<unsigned>(_mm256_movemask_pd(less)) << 4 * i;
  }
  return static_cast<unsigned>(__builtin_popcount(below));
}
inline unsigned count_below(const float* numbers, float value) {
  const __m256 x = _mm256_set1_ps(value);
  const __m256 low = _mm256_cmp_ps(_mm256_load_ps(numbers), x, _CMP_LT_OQ);
  const __m256 high = _mm256_cmp_ps(_mm256_load_ps(numbers + 8), x, _CMP_LT_OQ);
  return static_cast<unsigned>(
      __builtin_popcount(static_cast<unsigned>(_mm256_movemask_ps(low) | _mm256_movemask_ps(high) << 8)));
}

#endif

#if defined(__AVX2__)

// Compares with every 16th threshold first, then with the 16 between two of them.
template <class Number>
inline unsigned code_of(const Number* pivots, const Number* thresholds, Number value) {
  const unsigned group = count_below(pivots, value);
  return 16 * group + count_below(thresholds + 16 * group, value);
}

#else

// Halves the table eight times, by arithmetic: a branch would be mispredicted every other time.
template <class Number>
inline unsigned code_of(const Number*, const Number* thresholds, Number value) {
  unsigned below = 0;
  for (unsigned step = 128; step != 0; step /= 2)
    below += step & (0u - static_cast<unsigned>(thresholds[below + step - 1] < value));
  return below;
}

#endif

#if defined(__AVX512VBMI__)

// The search tree of a feature's thresholds in sixteen registers. A level that one or two registers hold takes one
// look-up; the last two levels take two and four look-ups, among which the upper bits choose.
class Levels {
 public:
  explicit Levels(const float* levels) {
    for (int i = 0; i < 16; ++i) part_[i] = _mm512_load_ps(levels + 16 * i);
  }

  // How many thresholds lie below each of 16 values, plus 256.
  __m512i codes_of(__m512 values) const {
    __m512i at = _mm512_set1_epi32(1);
    for (int level = 0; level < 4; ++level) at = descend(at, values, _mm512_permutexvar_ps(at, part_[0]));
    at = descend(at, values, _mm512_permutexvar_ps(at, part_[1]));
    at = descend(at, values, pair(at, 2));
    at = descend(at, values, two_pairs(at, 4));
    const __mmask16 upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(64));
    at = descend(at, values, _mm512_mask_blend_ps(upper, two_pairs(at, 8), two_pairs(at, 12)));
    return at;
  }

 private:
  // The register holds whole levels, or one; either way the low bits of the number are the place in it.
  __m512 pair(__m512i at, int first) const {
    return _mm512_permutex2var_ps(part_[first], at, part_[first + 1]);
  }
  __m512 two_pairs(__m512i at, int first) const {
    const __mmask16 upper = _mm512_test_epi32_mask(at, _mm512_set1_epi32(32));
    return _mm512_mask_blend_ps(upper, pair(at, first), pair(at, first + 2));
  }
  static __m512i descend(__m512i at, __m512 values, __m512 thresholds) {
    const __mmask16 above = _mm512_cmp_ps_mask(thresholds, values, _CMP_LT_OQ);
    const __m512i twice = _mm512_add_epi32(at, at);
    return _mm512_mask_add_epi32(twice, above, twice, _mm512_set1_epi32(1));
  }

  __m512 part_[16];
};

bool code_singles(const ThresholdTable& table, const float* values, std::size_t n, std::int8_t* codes) {
  const Levels levels(table.single_levels.data());
  __mmask16 missing = 0;
  for (std::size_t i = 0; i < n; i += 16) {
    const auto there = static_cast<__mmask16>(n - i >= 16 ? 0xFFFF : (1u << (n - i)) - 1);
    const __m512 some = _mm512_maskz_loadu_ps(there, values + i);
    const __mmask16 is_missing = _mm512_cmp_ps_mask(some, some, _CMP_UNORD_Q);
    const __m512i found = _mm512_mask_mov_epi32(levels.codes_of(some), is_missing, _mm512_set1_epi32(255));
    const __m128i bytes = _mm512_cvtepi32_epi8(_mm512_xor_si512(found, _mm512_set1_epi32(0x80)));
    _mm_mask_storeu_epi8(codes + i, there, bytes);
    missing = static_cast<__mmask16>(missing | is_missing);
  }
  return missing != 0;
}

#endif

template <class Number>
void code_known(const std::array<Number, 16>& pivots, const std::array<Number, 256>& thresholds,
                const Number* values, std::size_t n, std::int8_t* codes) {
  for (std::size_t i = 0; i < n; ++i)
    codes[i] = static_cast<std::int8_t>(code_of(pivots.data(), thresholds.data(), values[i]) ^ 0x80);
}

// Gives NaN the code of missing values; returns whether there was any.
template <class Number>
bool mark_missing(const Number* values, std::size_t n, std::int8_t* codes) {
  bool any = false;
  for (std::size_t i = 0; i < n; ++i) any |= values[i] != values[i];
  if (!any) return false;
  for (std::size_t i = 0; i < n; ++i)
    if (values[i] != values[i]) codes[i] = 127;
  return true;
}

#if !defined(__AVX512VBMI__)

bool code_singles(const ThresholdTable& table, const float* values, std::size_t n, std::int8_t* codes) {
  code_known(table.single_pivots, table.single_thresholds, values, n, codes);
  return mark_missing(values, n, codes);
}

#endif

bool code_numbers(const ThresholdTable& table, const double* values, std::size_t n, std::int8_t* codes) {
  float singles[kMostValues];
  std::uint64_t differs = 0;
  for (std::size_t i = 0; i < n; ++i) {
    singles[i] = static_cast<float>(values[i]);
    differs |= __builtin_bit_cast(std::uint64_t, values[i]) ^
               __builtin_bit_cast(std::uint64_t, static_cast<double>(singles[i]));
  }
  if (differs == 0) return code_singles(table, singles, n, codes);
  code_known(table.pivots, table.thresholds, values, n, codes);
  return mark_missing(values, n, codes);
}

#if defined(__AVX512VBMI__)

// A register holds the codes of the row, another the places that 64 tests ask for: one instruction looks all
// of them up. The outcomes of a tree are 32 bits, which are compared with those of 16 leaves at a time.
template <bool kHasMissing>
void find_leaves_of_coded(const RowTests* tests, std::size_t n_pairs, const RowCodes& row,
                          std::uint8_t* numbers) {
  const __m512i codes = _mm512_load_si512(row.codes.data());
  const __m512i second = _mm512_load_si512(row.codes.data() + kMostRowSlots);
  for (const RowTests* pair = tests; pair != tests + n_pairs; ++pair) {
    const __m512i places = _mm512_load_si512(pair->places.data());
    const __m512i asked = kHasMissing ? _mm512_permutex2var_epi8(codes, places, second)
                                      : _mm512_permutexvar_epi8(places, codes);
    const std::uint64_t goes_right =
        _mm512_cmpgt_epu8_mask(asked, _mm512_load_si512(pair->thresholds.data()));
    for (std::size_t tree = 0; tree < 2; ++tree) {
      const RowTests::Leaves& leaves = pair->leaves[tree];
      const __m512i outcomes = _mm512_set1_epi32(static_cast<int>(goes_right >> (32 * tree)));
      const auto reached = [&](std::size_t first) -> std::uint32_t {
        const __m512i differs = _mm512_xor_si512(outcomes, _mm512_load_si512(leaves.wanted.data() + first));
        return _mm512_testn_epi32_mask(differs, _mm512_load_si512(leaves.on_the_way.data() + first));
      };
      *numbers++ = static_cast<std::uint8_t>(__builtin_ctz(reached(0) | reached(16) << 16));
    }
  }
}

void find_leaves_of_row(const RowTests* tests, std::size_t n_pairs, const RowCodes& row,
                        std::uint8_t* numbers) {
  if (row.has_missing)
    find_leaves_of_coded<true>(tests, n_pairs, row, numbers);
  else
    find_leaves_of_coded<false>(tests, n_pairs, row, numbers);
}

constexpr bool kIsQuickWithRows = true;

#else

void find_leaves_of_row(const RowTests* tests, std::size_t n_pairs, const RowCodes& row,
                        std::uint8_t* numbers) {
  for (const RowTests* pair = tests; pair != tests + n_pairs; ++pair) {
    std::uint64_t goes_right = 0;
    for (std::size_t test = 0; test < pair->places.size(); ++test)
      goes_right |= std::uint64_t{row.codes[pair->places[test]] > pair->thresholds[test]} << test;
    for (std::size_t tree = 0; tree < 2; ++tree) {
      const RowTests::Leaves& leaves = pair->leaves[tree];
      const auto outcomes = static_cast<std::uint32_t>(goes_right >> (32 * tree));
      std::uint8_t number = 0;
      while (((outcomes ^ leaves.wanted[number]) & leaves.on_the_way[number]) != 0) ++number;
      *numbers++ = number;
    }
  }
}

constexpr bool kIsQuickWithRows = false;

#endif

}  // namespace

extern const PredictKernels predict_table;
const PredictKernels predict_table = {kSumOrder.data(), find_leaves,  add_values,         code_numbers,
                                      code_singles,     look_up,      find_leaves_of_row, kIsQuickWithRows,
                                      mean_of_members,  keep_between, add_groups,         keep_rough};

}  // namespace hornbeam::predict::HORNBEAM_KERNELS
