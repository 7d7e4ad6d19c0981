// Kernels that send the rows of a node to its branches, as lists and as sets.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "hornbeam/boost/kernels.h"
#include "hornbeam/boost/row_sets.h"
#include "hornbeam/platform.h"

namespace hornbeam::HORNBEAM_KERNELS {

namespace {

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

}  // namespace

}  // namespace hornbeam::HORNBEAM_KERNELS
