// Kernels that send the rows of a node to its branches, as lists and as sets.
#pragma once

#include <algorithm>
#include <bit>
#include <cstring>
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "base/platform.h"
#include "boost/boost_kernels.h"
#include "boost/grow/row_sets.h"

namespace hornbeam::boost::HORNBEAM_KERNELS {

namespace {

// Rows of a set, a bit each: which go to branch 0, and the same without gaps between the rows.
struct Divided {
  std::uint64_t left = 0;
  std::uint64_t left_bits = 0;
};

// Where 64 rows go, by a table with a one for each of 256 codes that goes to branch 0, else a zero.
#if defined(__AVX512F__)

class CodeTest {
 public:
  explicit CodeTest(const std::uint8_t* is_left) {
    for (int part = 0; part < 4; ++part) {
      table_[part] = _mm512_slli_epi16(_mm512_loadu_si512(is_left + 64 * part), 7);  // to the highest bit
    }
  }
  // Neighbours that are in the set.
  Divided divide(const std::uint8_t* codes, std::uint64_t members) const {
    const std::uint64_t left = lefts_of(_mm512_maskz_loadu_epi8(members, codes)) & members;
    return {left, _pext_u64(left, members)};
  }
  // For scattered rows. Their codes are put together in plain registers: gather instructions take as long on some
  // processors, and several times as long on others.
  std::uint64_t mark(const std::uint8_t* column, const BoostEntry* entries) const {
    const auto eight = [&](int first) {
      std::uint64_t codes = 0;
      for (int j = 0; j < 8; ++j) codes |= std::uint64_t{column[row_of(entries[first + j])]} << (8 * j);
      return static_cast<long long>(codes);
    };
    return lefts_of(_mm512_setr_epi64(eight(0), eight(8), eight(16), eight(24), eight(32), eight(40),
                                      eight(48), eight(56)));
  }

 private:
  std::uint64_t lefts_of(__m512i codes) const {
    const __m512i lower = _mm512_permutex2var_epi8(table_[0], codes, table_[1]);
    const __m512i upper = _mm512_permutex2var_epi8(table_[2], codes, table_[3]);
    return _mm512_movepi8_mask(_mm512_mask_blend_epi8(_mm512_movepi8_mask(codes), lower, upper));
  }

  __m512i table_[4];
};

#else

class CodeTest {
 public:
  explicit CodeTest(const std::uint8_t* is_left) : is_left_(is_left) {}
  Divided divide(const std::uint8_t* codes, std::uint64_t members) const {
    Divided divided;
    for (int n = 0; members != 0; members &= members - 1, ++n) {
      const int row = std::countr_zero(members);
      const std::uint64_t goes_left = is_left_[codes[row]];
      divided.left |= goes_left << row;
      divided.left_bits |= goes_left << n;
    }
    return divided;
  }
  std::uint64_t mark(const std::uint8_t* column, const BoostEntry* entries) const {
    std::uint64_t left = 0;
    for (int j = 0; j < 64; ++j) left |= std::uint64_t{is_left_[column[row_of(entries[j])]]} << j;
    return left;
  }

 private:
  const std::uint8_t* is_left_;
};

#endif

void mark_left(const std::uint8_t* column, const BoostEntry* entries, std::size_t n,
               const std::uint8_t* is_left, std::uint64_t* left_bits) {
  const CodeTest test(is_left);
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) *left_bits++ = test.mark(column, entries + i);
  if (i == n) return;
  std::uint64_t word = 0;
  for (std::size_t j = i; j < n; ++j) word |= std::uint64_t{is_left[column[row_of(entries[j])]]} << (j - i);
  *left_bits = word;
}

#if defined(__AVX512F__)

// Writes the marked ones of eight entries side by side; returns where the next ones go.
template <bool kSurplus>
BoostEntry* store_marked(__m512i eight, unsigned marked, BoostEntry* to) {
  const __m512i together = _mm512_maskz_compress_epi64(static_cast<__mmask8>(marked), eight);
  const int n = std::popcount(marked);
  if constexpr (kSurplus) {
    _mm512_storeu_si512(to, together);
  } else {
    _mm512_mask_storeu_epi64(to, static_cast<__mmask8>((1u << n) - 1), together);
  }
  return to + n;
}

void send(const BoostEntry* entries, std::size_t n, const std::uint64_t* left_bits, BoostEntry* left,
          std::size_t n_left, BoostEntry* right) {
  // Whole registers are stored and the surplus overwritten by the next store, except near the end of either
  // side, where the surplus would belong to someone else.
  const BoostEntry* const left_end = left + n_left;
  const BoostEntry* const right_end = right + (n - n_left);
  std::size_t i = 0;
  for (; i + 64 <= n && left_end - left >= 72 && right_end - right >= 72; i += 64) {
    const std::uint64_t word = left_bits[i / 64];
    for (std::size_t part = 0; part < 64; part += 8) {
      const __m512i eight = _mm512_loadu_si512(entries + i + part);
      const unsigned marked = word >> part & 0xff;
      left = store_marked<true>(eight, marked, left);
      right = store_marked<true>(eight, marked ^ 0xff, right);
    }
  }
  for (; i < n; i += 8) {
    const unsigned inside = n - i >= 8 ? 0xff : (1u << (n - i)) - 1;
    const __m512i eight = _mm512_maskz_loadu_epi64(static_cast<__mmask8>(inside), entries + i);
    const unsigned marked = left_bits[i / 64] >> (i % 64) & inside;
    left = store_marked<false>(eight, marked, left);
    right = store_marked<false>(eight, marked ^ inside, right);
  }
}

#else

void send(const BoostEntry* entries, std::size_t n, const std::uint64_t* left_bits, BoostEntry* left,
          std::size_t, BoostEntry* right) {
  for (std::size_t i = 0; i < n; ++i) {
    const bool goes_left = (left_bits[i / 64] >> (i % 64) & 1) != 0;
    *(goes_left ? left : right) = entries[i];
    left += goes_left;
    right += !goes_left;
  }
}

#endif

constexpr std::size_t kWordsAhead = 24;  // how far ahead, in words of a set, codes are requested

SetCounts divide_set(const std::uint8_t* codes, const std::uint8_t* is_left, std::size_t n_words,
                     std::uint64_t* members, std::uint64_t* left, std::uint64_t* left_bits) {
  const CodeTest test(is_left);
  BitStream stream(left_bits);
  SetCounts counts;
  for (std::size_t w = 0; w < n_words; ++w) {
    prefetch(codes + 64 * (w + kWordsAhead));
    const Divided divided = test.divide(codes + 64 * w, members[w]);
    const int n = std::popcount(members[w]);
    stream.add(divided.left_bits, n);
    left[w] = divided.left;
    members[w] &= ~divided.left;
    counts.n_rows += static_cast<std::size_t>(n);
    counts.n_left += static_cast<std::size_t>(std::popcount(divided.left));
  }
  stream.end();
  return counts;
}

}  // namespace

}  // namespace hornbeam::boost::HORNBEAM_KERNELS
