// Rows by their numbers in the order of a feature: an item is the number of a row, from 1 on, and what the
// row adds to a cell is looked up. This is what such cells have in common (simd/grow/rank_weights.h,
// simd/grow/rank_class_weights.h, simd/grow/rank_sums.h). Included inside the namespace that HORNBEAM_KERNELS
// names.
#pragma once

#include <bit>

#include "simd/grow/rank_cuts.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

namespace {

class NumberedRows {
 public:
  using Item = std::uint16_t;  // a row in a table; 0 is none

  // As in CountCells.
  Bits take(Item* table, std::size_t n_found) {
    const std::uint32_t low = take_half(table, n_found);
    const std::uint32_t high = take_half(table + 32, n_found + static_cast<std::size_t>(std::popcount(low)));
    return Bits{high} << 32 | low;
  }
  // In a small subtree rows are numbered anew.
  Bits order_small(const std::uint8_t* row_at, std::size_t n, Bits rows) {
    const __m512i order = _mm512_load_si512(row_at);
    const __m512i present = _mm512_maskz_set1_epi8(rows, 1);
    const __m512i bytes = _mm512_maskz_permutexvar_epi8(first_bits(n), order, present);
    const Bits places = _mm512_test_epi8_mask(bytes, bytes);
    const __m512i listed = _mm512_add_epi8(_mm512_maskz_compress_epi8(places, order), _mm512_set1_epi8(1));
    _mm512_store_si512(items_, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(listed)));
    _mm512_store_si512(items_ + 32, _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64(listed, 1)));
    return places;
  }

 protected:
  // What gathers read behind the last row must be an item.
  void end_items(std::size_t n) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(items_ + n), _mm_setzero_si128());
  }
  // Eight items from a place on.
  __m512i items_from(std::size_t place) const {
    return _mm512_cvtepu16_epi64(_mm_load_si128(reinterpret_cast<const __m128i*>(items_ + place)));
  }

  std::size_t item_at(std::size_t place) const { return items_[place]; }

  // The running sums, each row included.
  static __m512d sum_up(__m512d steps) {
    const __m512i zero = _mm512_setzero_si512();
    const auto shifted = [&](__m512d sums, auto by) {
      return _mm512_castsi512_pd(
          _mm512_alignr_epi64(_mm512_castpd_si512(sums), zero, 8 - decltype(by)::value));
    };
    __m512d sums = _mm512_add_pd(steps, shifted(steps, std::integral_constant<int, 1>{}));
    sums = _mm512_add_pd(sums, shifted(sums, std::integral_constant<int, 2>{}));
    return _mm512_add_pd(sums, shifted(sums, std::integral_constant<int, 4>{}));
  }
  static __m512d last_of(__m512d sums) { return _mm512_permutexvar_pd(_mm512_set1_epi64(7), sums); }

 private:
  std::uint32_t take_half(Item* table, std::size_t n_found) {
    const __m512i items = _mm512_loadu_si512(table);
    const std::uint32_t here = _mm512_test_epi16_mask(items, items);
    _mm512_storeu_si512(table, _mm512_setzero_si512());
    _mm512_storeu_si512(items_ + n_found, _mm512_maskz_compress_epi16(here, items));
    return here;
  }

  alignas(64) Item items_[kPlaces];  // of one order, by place
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
