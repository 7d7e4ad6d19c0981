// The innermost loops of grow/fast/value_block.h, which depend on the registers there are: what is looked at
// four columns and sixteen rows at a time. Included once per instruction set, inside a namespace that
// HORNBEAM_KERNELS names.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "grow/fast/value_block.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

namespace {

constexpr std::size_t kLanes = BlockGrowth::kLanes;
constexpr std::size_t kFour = BlockGrowth::kFour;
using Lanes = std::uint32_t;  // a bit per lane
using ListedRow = BlockGrowth::ListedRow;

constexpr double kNoTest = -0x1p1000;  // instead of a score: less than any

constexpr Lanes first_lanes(std::size_t n) {
  return (Lanes{1} << n) - 1;
}

// Where the values of four columns begin: those of a node's rows one after the other, or those of a block.
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

// One sum holds all rows and, this many bits higher, the rows of class 1.
constexpr int kOnes = 16;
constexpr std::uint32_t rows_in(std::uint32_t counts) {
  return counts & ((1u << kOnes) - 1);
}
constexpr std::uint32_t ones_in(std::uint32_t counts) {
  return counts >> kOnes;
}
constexpr std::size_t kMostCounted = (std::size_t{1} << kOnes) - kLanes;

constexpr double kMostFinite = std::numeric_limits<double>::max();
constexpr float kInfinite = std::numeric_limits<float>::infinity();

// The largest float32 that is not larger.
float bound_of(double threshold) {
  const auto nearest = static_cast<float>(threshold);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  constexpr std::uint32_t kSign = 0x80000000u;
  const std::uint32_t next = nearest > 0 ? bits - 1 : (bits | kSign) + 1;  // below either zero comes the same
  return std::bit_cast<float>(static_cast<double>(nearest) > threshold ? next : bits);
}

#if defined(__AVX512F__)

// Puts together the lanes of four registers, each by itself.
template <class Join>
__m128 join_lanes(const __m512* four, Join join) {
  const __m512 ab = join(_mm512_unpacklo_ps(four[0], four[1]), _mm512_unpackhi_ps(four[0], four[1]));
  const __m512 cd = join(_mm512_unpacklo_ps(four[2], four[3]), _mm512_unpackhi_ps(four[2], four[3]));
  const __m512d low = _mm512_unpacklo_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512d high = _mm512_unpackhi_pd(_mm512_castps_pd(ab), _mm512_castps_pd(cd));
  const __m512 all = join(_mm512_castpd_ps(low), _mm512_castpd_ps(high));
  const __m512 two = join(all, _mm512_shuffle_f32x4(all, all, 0b01001110));
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

// The extremes of four columns, sixteen rows at a time.
class RunningExtremes {
 public:
  RunningExtremes() {
    std::fill_n(least_, kFour, _mm512_set1_ps(kInfinite));
    std::fill_n(largest_, kFour, _mm512_set1_ps(-kInfinite));
  }
  void add(std::size_t c, Lanes rows, __m512 values) {
    const auto mask = static_cast<__mmask16>(rows);
    least_[c] = _mm512_mask_min_ps(least_[c], mask, least_[c], values);
    largest_[c] = _mm512_mask_max_ps(largest_[c], mask, largest_[c], values);
  }
  FourExtremes result() const {
    FourExtremes found;
    _mm_store_ps(found.least, join_lanes(least_, Smaller{}));
    _mm_store_ps(found.largest, join_lanes(largest_, Larger{}));
    return found;
  }

 private:
  __m512 least_[kFour];
  __m512 largest_[kFour];
};

__m512 look_up(const float* column, __m512i places, Lanes rows) {
  return _mm512_mask_i32gather_ps(_mm512_setzero_ps(), static_cast<__mmask16>(rows), places, column, 4);
}

// The values of four columns that are neighbours in a block, of sixteen rows: those of a row are one load.
void look_up_neighbours(const float* first, const ListedRow* rows, __m512* columns) {
  __m512 of_rows[kFour];  // four rows each: i, i + 4, i + 8, i + 12
  for (std::size_t i = 0; i < kFour; ++i) {
    const auto row = [&](std::size_t quarter) { return _mm_loadu_ps(first + (rows[i + 4 * quarter] >> 1)); };
    const __m256 low = _mm256_set_m128(row(1), row(0));
    of_rows[i] = _mm512_insertf32x8(_mm512_castps256_ps512(low), _mm256_set_m128(row(3), row(2)), 1);
  }
  const __m512 low_ab = _mm512_unpacklo_ps(of_rows[0], of_rows[1]);
  const __m512 high_ab = _mm512_unpackhi_ps(of_rows[0], of_rows[1]);
  const __m512 low_cd = _mm512_unpacklo_ps(of_rows[2], of_rows[3]);
  const __m512 high_cd = _mm512_unpackhi_ps(of_rows[2], of_rows[3]);
  const auto join = [](__m512 a, __m512 b, auto which) {
    const __m512d x = _mm512_castps_pd(a);
    const __m512d y = _mm512_castps_pd(b);
    return _mm512_castpd_ps(which == 0 ? _mm512_unpacklo_pd(x, y) : _mm512_unpackhi_pd(x, y));
  };
  columns[0] = join(low_ab, low_cd, 0);
  columns[1] = join(low_ab, low_cd, 1);
  columns[2] = join(high_ab, high_cd, 0);
  columns[3] = join(high_ab, high_cd, 1);
}

bool are_neighbours(const FourColumns& block) {
  return block.at[1] == block.at[0] + 1 && block.at[2] == block.at[0] + 2 && block.at[3] == block.at[0] + 3;
}

// Copies the values of listed rows and finds their extremes.
FourExtremes fetch_four(const FourColumns& block, const ListedRow* rows, std::size_t n, float* const* to) {
  RunningExtremes extremes;
  std::size_t i = 0;
  for (const bool neighbours = are_neighbours(block); neighbours && i + kLanes <= n; i += kLanes) {
    __m512 values[kFour];
    look_up_neighbours(block.at[0], rows + i, values);
    for (std::size_t c = 0; c < kFour; ++c) {
      _mm512_storeu_ps(to[c] + i, values[c]);
      extremes.add(c, first_lanes(kLanes), values[c]);
    }
  }
  for (; i < n; i += kLanes) {
    const Lanes here = first_lanes(std::min(kLanes, n - i));
    const __m512i places = _mm512_srli_epi32(_mm512_loadu_si512(rows + i), 1);
    for (std::size_t c = 0; c < kFour; ++c) {
      const __m512 values = look_up(block.at[c], places, here);
      _mm512_storeu_ps(to[c] + i, values);
      extremes.add(c, here, values);
    }
  }
  return extremes.result();
}

FourExtremes extremes_of(const FourColumns& columns, std::size_t n) {
  RunningExtremes extremes;
  for (std::size_t i = 0; i < n; i += kLanes) {
    const Lanes here = first_lanes(std::min(kLanes, n - i));
    for (std::size_t c = 0; c < kFour; ++c) extremes.add(c, here, _mm512_loadu_ps(columns.at[c] + i));
  }
  return extremes.result();
}

// Adds up what goes left of at most kMostCounted rows.
void count_stretch(const FourColumns& columns, const ListedRow* rows, std::size_t n, const float* bounds,
                   FourCounts& found) {
  __m512 bound[kFour];
  __m512 sum[kFour];
  for (std::size_t c = 0; c < kFour; ++c) {
    bound[c] = _mm512_set1_ps(bounds[c]);
    sum[c] = _mm512_setzero_ps();
  }
  const __m512i one = _mm512_set1_epi32(1);
  for (std::size_t i = 0; i < n; i += kLanes) {
    const auto here = static_cast<__mmask16>(first_lanes(std::min(kLanes, n - i)));
    const __m512i ones = _mm512_and_si512(_mm512_loadu_si512(rows + i), one);
    const __m512i count = _mm512_add_epi32(_mm512_slli_epi32(ones, kOnes), one);
    for (std::size_t c = 0; c < kFour; ++c) {
      const __mmask16 left =
          _mm512_mask_cmp_ps_mask(here, _mm512_loadu_ps(columns.at[c] + i), bound[c], _CMP_LE_OQ);
      const __m512i before = _mm512_castps_si512(sum[c]);
      sum[c] = _mm512_castsi512_ps(_mm512_mask_add_epi32(before, left, before, count));
    }
  }
  alignas(16) std::uint32_t left[kFour];
  _mm_store_si128(reinterpret_cast<__m128i*>(left), _mm_castps_si128(join_lanes(sum, Sum{})));
  for (std::size_t c = 0; c < kFour; ++c) {
    found.rows[c] += rows_in(left[c]);
    found.ones[c] += ones_in(left[c]);
  }
}

// The classes of listed rows of two: a bit for those of class 1.
Lanes ones_of(const ListedRow* rows, std::size_t n) {
  return _mm512_test_epi32_mask(_mm512_loadu_si512(rows), _mm512_set1_epi32(1)) & first_lanes(n);
}

// Writes the rows whose values are not larger than the bound to one place, the others to another.
void divide_rows(const ListedRow* rows, const float* values, std::size_t n, float bound, ListedRow* left,
                 ListedRow* right) {
  const __m512 most = _mm512_set1_ps(bound);
  for (std::size_t i = 0; i < n; i += kLanes) {
    const auto here = static_cast<__mmask16>(first_lanes(std::min(kLanes, n - i)));
    const __m512i these = _mm512_loadu_si512(rows + i);
    const __mmask16 low = _mm512_mask_cmp_ps_mask(here, _mm512_loadu_ps(values + i), most, _CMP_LE_OQ);
    const auto high = static_cast<__mmask16>(here & ~low);
    const auto n_low = static_cast<std::size_t>(std::popcount(low));
    const auto n_high = static_cast<std::size_t>(std::popcount(high));
    _mm512_mask_storeu_epi32(left, static_cast<__mmask16>(first_lanes(n_low)),
                             _mm512_maskz_compress_epi32(low, these));
    _mm512_mask_storeu_epi32(right, static_cast<__mmask16>(first_lanes(n_high)),
                             _mm512_maskz_compress_epi32(high, these));
    left += n_low;
    right += n_high;
  }
}

// At most sixteen rows of a block, one per lane.
class RowsInLanes {
 public:
  explicit RowsInLanes(const ListedRow* rows) : places_(_mm512_srli_epi32(_mm512_loadu_si512(rows), 1)) {}

  // The values of some of the rows.
  class Values {
   public:
    Values(const FourColumns& block, __m512i places, Lanes rows) : rows_(rows) {
      for (std::size_t c = 0; c < kFour; ++c) values_[c] = look_up(block.at[c], places, rows);
    }
    // Of columns that have been copied.
    Values(const float* copy, const std::uint32_t* columns, Lanes rows) : rows_(rows) {
      for (std::size_t c = 0; c < kFour; ++c) values_[c] = _mm512_load_ps(copy + columns[c] * kLanes);
    }
    FourExtremes extremes() const {
      RunningExtremes extremes;
      for (std::size_t c = 0; c < kFour; ++c) extremes.add(c, rows_, values_[c]);
      return extremes.result();
    }
    Lanes up_to(std::size_t c, float bound) const {
      return _mm512_mask_cmp_ps_mask(static_cast<__mmask16>(rows_), values_[c], _mm512_set1_ps(bound),
                                     _CMP_LE_OQ);
    }

   private:
    Lanes rows_;
    __m512 values_[kFour];
  };
  Values values(const FourColumns& block, Lanes rows) const { return {block, places_, rows}; }
  // Copies so many columns of a block, of the first so many rows, side by side.
  void copy(const float* block, std::size_t n_columns, std::size_t n_rows, float* to) const {
    for (std::size_t c = 0; c < n_columns; ++c)
      _mm512_store_ps(to + c * kLanes, look_up(block + c, places_, first_lanes(n_rows)));
  }

 private:
  __m512i places_;
};

// Sets the tests at fractions of the way from the least to the largest values, as random_threshold does; returns
// the columns for which it must be asked, because rounding has reached the largest value.
Lanes set_tests(const FourExtremes& extremes, const double* fractions, FourTests& tests) {
  const __m256d least = _mm256_cvtps_pd(_mm_load_ps(extremes.least));
  const __m256d largest = _mm256_cvtps_pd(_mm_load_ps(extremes.largest));
  const __m256d share = _mm256_load_pd(fractions);
  const __m256d low = _mm256_max_pd(least, _mm256_set1_pd(-kMostFinite));
  const __m256d high = _mm256_min_pd(largest, _mm256_set1_pd(kMostFinite));
  const __m256d between = _mm256_add_pd(_mm256_mul_pd(low, _mm256_sub_pd(_mm256_set1_pd(1.0), share)),
                                        _mm256_mul_pd(high, share));
  const __mmask8 informative = _mm256_cmp_pd_mask(least, largest, _CMP_NEQ_OQ);
  const __mmask8 below = _mm256_cmp_pd_mask(between, largest, _CMP_LT_OQ);
  const __mmask8 above = _mm256_mask_cmp_pd_mask(informative, between, least, _CMP_GE_OQ);
  const __m256d threshold = _mm256_mask_mov_pd(least, above, between);
  _mm256_store_pd(tests.threshold, threshold);
  const __m256 bound =
      _mm512_cvt_roundpd_ps(_mm512_zextpd256_pd512(threshold), _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
  _mm_store_ps(tests.bound, _mm256_castps256_ps128(bound));
  tests.informative = informative;
  return informative & ~Lanes{below};
}

#else

FourExtremes extremes_of(const FourColumns& columns, std::size_t n) {
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

FourExtremes fetch_four(const FourColumns& block, const ListedRow* rows, std::size_t n, float* const* to) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < kFour; ++c) to[c][i] = block.at[c][rows[i] >> 1];
  }
  return extremes_of({to[0], to[1], to[2], to[3]}, n);
}

void count_stretch(const FourColumns& columns, const ListedRow* rows, std::size_t n, const float* bounds,
                   FourCounts& found) {
  for (std::size_t c = 0; c < kFour; ++c) {
    const float* values = columns.at[c];
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += values[i] <= bounds[c] ? 1 + ((rows[i] & 1) << kOnes) : 0;
    found.rows[c] += rows_in(sum);
    found.ones[c] += ones_in(sum);
  }
}

Lanes ones_of(const ListedRow* rows, std::size_t n) {
  Lanes ones = 0;
  for (std::size_t lane = 0; lane < n; ++lane) ones |= (rows[lane] & 1) << lane;
  return ones;
}

void divide_rows(const ListedRow* rows, const float* values, std::size_t n, float bound, ListedRow* left,
                 ListedRow* right) {
  for (std::size_t i = 0; i < n; ++i) {
    const bool low = values[i] <= bound;
    *(low ? left : right) = rows[i];
    left += low;
    right += !low;
  }
}

class RowsInLanes {
 public:
  explicit RowsInLanes(const ListedRow* rows) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) places_[lane] = rows[lane] >> 1;
  }

  class Values {
   public:
    Values(const FourColumns& block, const std::uint32_t* places, Lanes rows) : rows_(rows) {
      for (Lanes rest = rows; rest != 0; rest &= rest - 1) {
        const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
        for (std::size_t c = 0; c < kFour; ++c) values_[c][lane] = block.at[c][places[lane]];
      }
    }
    Values(const float* copy, const std::uint32_t* columns, Lanes rows) : rows_(rows) {
      for (std::size_t c = 0; c < kFour; ++c) std::copy_n(copy + columns[c] * kLanes, kLanes, values_[c]);
    }
    FourExtremes extremes() const {
      FourExtremes found;
      for (std::size_t c = 0; c < kFour; ++c) {
        found.least[c] = kInfinite;
        found.largest[c] = -kInfinite;
        for (Lanes rest = rows_; rest != 0; rest &= rest - 1) {
          const float value = values_[c][std::countr_zero(rest)];
          found.least[c] = value < found.least[c] ? value : found.least[c];
          found.largest[c] = value > found.largest[c] ? value : found.largest[c];
        }
      }
      return found;
    }
    Lanes up_to(std::size_t c, float bound) const {
      Lanes low = 0;
      for (Lanes rest = rows_; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        low |= static_cast<Lanes>(values_[c][lane] <= bound) << lane;
      }
      return low;
    }

   private:
    Lanes rows_;
    float values_[kFour][kLanes];
  };
  Values values(const FourColumns& block, Lanes rows) const { return {block, places_, rows}; }
  void copy(const float* block, std::size_t n_columns, std::size_t n_rows, float* to) const {
    for (std::size_t c = 0; c < n_columns; ++c) {
      for (std::size_t lane = 0; lane < n_rows; ++lane) to[c * kLanes + lane] = block[places_[lane] + c];
    }
  }

 private:
  std::uint32_t places_[kLanes];
};

Lanes set_tests(const FourExtremes& extremes, const double* fractions, FourTests& tests) {
  tests.informative = 0;
  Lanes unsettled = 0;
  for (std::size_t c = 0; c < kFour; ++c) {
    const double least = extremes.least[c];
    const double largest = extremes.largest[c];
    const double low = std::max(least, -kMostFinite);
    const double high = std::min(largest, kMostFinite);
    const double between = low * (1 - fractions[c]) + high * fractions[c];
    const bool informative = least != largest;
    tests.informative |= static_cast<Lanes>(informative) << c;
    unsettled |= static_cast<Lanes>(informative && !(between < largest)) << c;
    tests.threshold[c] = informative && between >= least ? between : least;
    tests.bound[c] = bound_of(tests.threshold[c]);
  }
  return unsettled;
}

#endif

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
