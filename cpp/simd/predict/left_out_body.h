// Kernels for leave-one-out predictions: exact ones (predict/left_out.h) and rough ones
// (predict/rough_answers.h).
#pragma once

#include <algorithm>
#include <cstdint>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "predict/predict_kernels.h"

namespace hornbeam::predict::HORNBEAM_KERNELS {

namespace {

// Sums stay in registers from member to member.
void mean_of_members(const double* said, const std::uint32_t* members, std::size_t n_members, double* means) {
#if defined(__AVX512F__)
  constexpr std::size_t kWidth = 8;
#elif defined(__AVX2__)
  constexpr std::size_t kWidth = 4;
#else
  constexpr std::size_t kWidth = 2;
#endif
  using Vector [[gnu::vector_size(kWidth * sizeof(double))]] = double;
  constexpr std::size_t kSums = 8 < kAnswersAtOnce / kWidth ? 8 : kAnswersAtOnce / kWidth;
  for (std::size_t first = 0; first < kAnswersAtOnce; first += kSums * kWidth) {
    Vector sums[kSums] = {};
    for (std::size_t m = 0; m < n_members; ++m) {
      const double* from = said + members[m] * kAnswersAtOnce + first;
#pragma GCC unroll 8
      for (std::size_t s = 0; s < kSums; ++s) {
        Vector part;
        __builtin_memcpy(&part, from + s * kWidth, sizeof part);
        sums[s] += part;
      }
    }
    const Vector count = Vector{} + static_cast<double>(n_members);
#pragma GCC unroll 8
    for (std::size_t s = 0; s < kSums; ++s) {
      const Vector mean = sums[s] / count;
      __builtin_memcpy(means + first + s * kWidth, &mean, sizeof mean);
    }
  }
}

std::size_t keep_between(const double* values, std::size_t n, double low, double high, double* kept,
                         std::size_t& n_below) {
  std::size_t n_kept = 0, i = 0;
#if defined(__AVX512F__)
  const __m512d lows = _mm512_set1_pd(low), highs = _mm512_set1_pd(high);
  for (; i + 8 <= n; i += 8) {
    const __m512d value = _mm512_loadu_pd(values + i);
    const __mmask8 below = _mm512_cmp_pd_mask(value, lows, _CMP_LT_OQ);
    const __mmask8 inside = _kandn_mask8(below, _mm512_cmp_pd_mask(value, highs, _CMP_LE_OQ));
    // Compresses in a register: compressing straight to memory takes some processors a hundred cycles.
    _mm512_storeu_pd(kept + n_kept, _mm512_maskz_compress_pd(inside, value));
    n_kept += static_cast<std::size_t>(__builtin_popcount(inside));
    n_below += static_cast<std::size_t>(__builtin_popcount(below));
  }
#endif
  for (; i < n; ++i) {
    const double value = values[i];
    kept[n_kept] = value;
    n_kept += static_cast<std::size_t>(value >= low) & static_cast<std::size_t>(value <= high);
    n_below += static_cast<std::size_t>(value < low);
  }
  return n_kept;
}

// --- Rough sums: a table of 16 entries is looked up for as many training rows as a register has bytes ----------

#if defined(__AVX512VBMI__) || defined(__AVX2__)

#if defined(__AVX512VBMI__)
struct Lanes {
  static constexpr std::size_t kSize = 64;
  static constexpr std::size_t kRows = kRoughRows;  // query rows at once, as many as registers allow
  __m512i lanes;
  static Lanes load(const void* from) { return {_mm512_loadu_si512(from)}; }
  static Lanes table(const void* from) {
    return {_mm512_broadcast_i32x4(_mm_loadu_si128(static_cast<const __m128i*>(from)))};
  }
  static Lanes filled(std::uint16_t value) { return {_mm512_set1_epi16(static_cast<short>(value))}; }
  void store(void* to) const { _mm512_storeu_si512(to, lanes); }
  Lanes of(Lanes places) const { return {_mm512_shuffle_epi8(lanes, places.lanes)}; }
  Lanes operator&(Lanes other) const { return {_mm512_and_si512(lanes, other.lanes)}; }
  Lanes operator+(Lanes other) const { return {_mm512_add_epi16(lanes, other.lanes)}; }
  Lanes operator-(Lanes other) const { return {_mm512_sub_epi16(lanes, other.lanes)}; }
  template <int bits>
  Lanes right() const {
    return {_mm512_srli_epi16(lanes, bits)};
  }
  template <int bits>
  Lanes left() const {
    return {_mm512_slli_epi16(lanes, bits)};
  }
  static Lanes least(Lanes a, Lanes b) { return {_mm512_min_epu16(a.lanes, b.lanes)}; }
  static Lanes most(Lanes a, Lanes b) { return {_mm512_max_epu16(a.lanes, b.lanes)}; }
};
#else
struct Lanes {
  static constexpr std::size_t kSize = 32;
  static constexpr std::size_t kRows = kRoughRows / 2;
  __m256i lanes;
  static Lanes load(const void* from) { return {_mm256_loadu_si256(static_cast<const __m256i*>(from))}; }
  static Lanes table(const void* from) {
    return {_mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(from)))};
  }
  static Lanes filled(std::uint16_t value) { return {_mm256_set1_epi16(static_cast<short>(value))}; }
  void store(void* to) const { _mm256_storeu_si256(static_cast<__m256i*>(to), lanes); }
  Lanes of(Lanes places) const { return {_mm256_shuffle_epi8(lanes, places.lanes)}; }
  Lanes operator&(Lanes other) const { return {_mm256_and_si256(lanes, other.lanes)}; }
  Lanes operator+(Lanes other) const { return {_mm256_add_epi16(lanes, other.lanes)}; }
  Lanes operator-(Lanes other) const { return {_mm256_sub_epi16(lanes, other.lanes)}; }
  template <int bits>
  Lanes right() const {
    return {_mm256_srli_epi16(lanes, bits)};
  }
  template <int bits>
  Lanes left() const {
    return {_mm256_slli_epi16(lanes, bits)};
  }
  static Lanes least(Lanes a, Lanes b) { return {_mm256_min_epu16(a.lanes, b.lanes)}; }
  static Lanes most(Lanes a, Lanes b) { return {_mm256_max_epu16(a.lanes, b.lanes)}; }
};
#endif

// Adds pairs of bytes as numbers of 16 bits, and the upper bytes once more by themselves: the sum of the lower bytes
// is the difference.
void add_groups_of(const RoughPatterns& patterns, const std::uint8_t* tables, std::size_t first_row,
                   const RoughSums& found) {
  constexpr std::size_t kRows = Lanes::kRows;
  const Lanes low_half = Lanes::filled(0x0f0f);
  Lanes least[kRows], most[kRows];
  for (std::size_t r = 0; r < kRows; ++r) least[r] = Lanes::filled(0xffff), most[r] = Lanes::filled(0);
  for (std::size_t line = 0; line < patterns.n_lines; ++line) {
    for (std::size_t part = 0; part < kLine; part += Lanes::kSize) {
      const std::uint8_t* from = patterns.bytes + line * patterns.n_pairs * kLine + part;
      Lanes both[kRows], upper[kRows];
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kRows; ++r) both[r] = upper[r] = Lanes::filled(0);
      for (std::size_t pair = 0; pair < patterns.n_pairs; ++pair) {
        const Lanes codes = Lanes::load(from + pair * kLine);
        const Lanes first = codes & low_half, second = codes.template right<4>() & low_half;
        const std::uint8_t* table = tables + (pair * kRoughRows + first_row) * kRoughTable;
#pragma GCC unroll 4
        for (std::size_t r = 0; r < kRows; ++r) {
          const Lanes one = Lanes::table(table + r * kRoughTable).of(first);
          const Lanes other = Lanes::table(table + r * kRoughTable + kRoughTable / 2).of(second);
          both[r] = both[r] + one + other;
          upper[r] = upper[r] + one.template right<8>() + other.template right<8>();
        }
      }
#pragma GCC unroll 4
      for (std::size_t r = 0; r < kRows; ++r) {
        const Lanes lower = both[r] - upper[r].template left<8>();
        std::uint16_t* to = found.sums + (first_row + r) * patterns.n_lines * kLine + line * kLine + part / 2;
        lower.store(to);
        upper[r].store(to + kLine / 2);
        least[r] = Lanes::least(least[r], Lanes::least(lower, upper[r]));
        most[r] = Lanes::most(most[r], Lanes::most(lower, upper[r]));
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    std::uint16_t all[Lanes::kSize / 2];
    least[r].store(all);
    found.least[first_row + r] = *std::min_element(std::begin(all), std::end(all));
    most[r].store(all);
    found.most[first_row + r] = *std::max_element(std::begin(all), std::end(all));
  }
}

void add_groups(const RoughPatterns& patterns, const std::uint8_t* tables, const RoughSums& found) {
  for (std::size_t row = 0; row < kRoughRows; row += Lanes::kRows)
    add_groups_of(patterns, tables, row, found);
}

#else

void add_groups(const RoughPatterns& patterns, const std::uint8_t* tables, const RoughSums& found) {
  for (std::size_t r = 0; r < kRoughRows; ++r) {
    std::uint16_t least = 0xffff, most = 0;
    for (std::size_t line = 0; line < patterns.n_lines; ++line) {
      std::uint16_t sums[kLine] = {};
      for (std::size_t pair = 0; pair < patterns.n_pairs; ++pair) {
        const std::uint8_t* codes = patterns.bytes + (line * patterns.n_pairs + pair) * kLine;
        const std::uint8_t* table = tables + (pair * kRoughRows + r) * kRoughTable;
        for (std::size_t i = 0; i < kLine; ++i)
          sums[i] = static_cast<std::uint16_t>(sums[i] + table[codes[i] & 15] + table[16 + (codes[i] >> 4)]);
      }
      std::uint16_t* to = found.sums + (r * patterns.n_lines + line) * kLine;
      for (std::size_t i = 0; i < kLine; ++i) {
        to[i / 2 + (i % 2) * (kLine / 2)] = sums[i];
        least = std::min(least, sums[i]);
        most = std::max(most, sums[i]);
      }
    }
    found.least[r] = least;
    found.most[r] = most;
  }
}

#endif

std::size_t keep_rough(const RoughLine& line, std::size_t begin, std::size_t end, float low, float high,
                       std::uint32_t* places, float* kept, std::size_t& n_below) {
  std::size_t n_kept = 0, i = begin;
#if defined(__AVX512VBMI__)
  const __m512 centre = _mm512_set1_ps(line.centre), scale = _mm512_set1_ps(line.error_scale);
  const __m512 lows = _mm512_set1_ps(low), highs = _mm512_set1_ps(high);
  __m512i numbers = _mm512_add_epi32(_mm512_set1_epi32(static_cast<int>(begin)),
                                     _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
  for (; i + 16 <= end; i += 16, numbers = _mm512_add_epi32(numbers, _mm512_set1_epi32(16))) {
    const __m256i sums = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(line.sums + i));
    const __m512 sum = _mm512_add_ps(_mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(sums)), centre);
    const __m512 mean = _mm512_mul_ps(sum, _mm512_loadu_ps(line.inverse_counts + i));
    const __m512 value = _mm512_fmadd_ps(scale, _mm512_loadu_ps(line.errors + i), mean);
    const __mmask16 below = _mm512_cmp_ps_mask(value, lows, _CMP_LT_OQ);
    const __mmask16 inside = _kandn_mask16(below, _mm512_cmp_ps_mask(value, highs, _CMP_LE_OQ));
    n_below += static_cast<std::size_t>(__builtin_popcount(below));
    if (inside == 0) continue;
    _mm512_storeu_ps(kept + n_kept, _mm512_maskz_compress_ps(inside, value));
    _mm512_storeu_si512(places + n_kept, _mm512_maskz_compress_epi32(inside, numbers));
    n_kept += static_cast<std::size_t>(__builtin_popcount(inside));
  }
#endif
  for (; i < end; ++i) {
    const float value = rough_value(line, i);
    kept[n_kept] = value;
    places[n_kept] = static_cast<std::uint32_t>(i);
    n_kept += static_cast<std::size_t>(value >= low) & static_cast<std::size_t>(value <= high);
    n_below += static_cast<std::size_t>(value < low);
  }
  return n_kept;
}

}  // namespace

}  // namespace hornbeam::predict::HORNBEAM_KERNELS
