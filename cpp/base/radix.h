// Sorting integers by counting digits. Two users: ranking whole columns, and ordering the rows of one node by
// code.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace hornbeam {

inline constexpr int kMaxRadixBits = 11;

// Sorts `items` by `key(item)`, of which only the lowest `key_bits` may be set; stable. `scratch` has room
// for n items. Returns whichever of the two arrays holds the result.
template <class Item, class Key>
Item* radix_sort(Item* items, Item* scratch, std::size_t n, int key_bits, Key key) {
  constexpr int kMaxDigits = (64 + kMaxRadixBits - 1) / kMaxRadixBits;
  const int n_digits = (key_bits + kMaxRadixBits - 1) / kMaxRadixBits;
  // Digits of equal width: a pass that writes to fewer places keeps more of them in the cache.
  const int digit_bits = n_digits == 0 ? 0 : (key_bits + n_digits - 1) / n_digits;
  const std::size_t n_values = std::size_t{1} << digit_bits;
  const auto digit = [=](const Item& item, int d) {
    return static_cast<std::size_t>(key(item) >> (d * digit_bits)) & (n_values - 1);
  };
  // The digits of all passes are counted in one: sorting moves items but does not change them.
  std::array<std::array<std::uint32_t, std::size_t{1} << kMaxRadixBits>, kMaxDigits> start;
  for (int d = 0; d < n_digits; ++d) std::fill_n(start[d].begin(), n_values, 0u);
  for (std::size_t i = 0; i < n; ++i) {
    for (int d = 0; d < n_digits; ++d) ++start[d][digit(items[i], d)];
  }
  for (int d = 0; d < n_digits; ++d) {
    if (n == 0 || start[d][digit(items[0], d)] == n) continue;  // all items have the same digit
    std::uint32_t sum = 0;
    for (std::size_t v = 0; v < n_values; ++v) sum += std::exchange(start[d][v], sum);
    for (std::size_t i = 0; i < n; ++i) scratch[start[d][digit(items[i], d)]++] = items[i];
    std::swap(items, scratch);
  }
  return items;
}

// ---- keys of one node: a code in the upper 32 bits, something that travels with it in the lower

inline void insertion_sort_by_code(std::uint64_t* keys, std::size_t n) {
  for (std::size_t i = 1; i < n; ++i) {
    const std::uint64_t key = keys[i];
    std::size_t j = i;
    while (j > 0 && (keys[j - 1] >> 32) > (key >> 32)) {
      keys[j] = keys[j - 1];
      --j;
    }
    keys[j] = key;
  }
}

// One pass into about as many buckets as rows, over the node's own range of codes; then neighbours are nearly
// in place.
inline std::uint64_t* bucket_sort_by_code(std::uint64_t* keys, std::uint64_t* scratch, std::size_t n,
                                          std::uint32_t lowest, std::uint32_t highest) {
  constexpr std::size_t kMaxBuckets = 4096;
  constexpr std::uint32_t kCrowded = 48;
  std::array<std::uint32_t, kMaxBuckets> start;
  const int range_bits = std::bit_width(highest - lowest);
  const int bucket_bits = std::min(static_cast<int>(std::bit_width(n)), 12);
  const int shift = std::max(0, range_bits - bucket_bits);
  const std::size_t n_buckets = (std::size_t{highest - lowest} >> shift) + 1;
  std::fill_n(start.data(), n_buckets, 0u);
  const auto bucket = [=](std::uint64_t key) {
    return static_cast<std::size_t>((key >> 32) - lowest) >> shift;
  };
  for (std::size_t i = 0; i < n; ++i) ++start[bucket(keys[i])];
  std::uint32_t sum = 0;
  std::uint32_t most = 0;
  for (std::size_t b = 0; b < n_buckets; ++b) {
    most = std::max(most, start[b]);
    sum += std::exchange(start[b], sum);
  }
  for (std::size_t i = 0; i < n; ++i) scratch[start[bucket(keys[i])]++] = keys[i];
  if (shift == 0) return scratch;  // a bucket per code: sorted
  if (most <= kCrowded) {
    insertion_sort_by_code(scratch, n);
  } else {
    std::uint32_t begin = 0;
    for (std::size_t b = 0; b < n_buckets; ++b) {
      const std::uint32_t end = start[b];  // the pass above moved each start to its end
      if (end - begin <= kCrowded) {
        insertion_sort_by_code(scratch + begin, end - begin);
      } else {
        std::stable_sort(scratch + begin, scratch + end,
                         [](std::uint64_t a, std::uint64_t b) { return (a >> 32) < (b >> 32); });
      }
      begin = end;
    }
  }
  return scratch;
}

// Sorts keys by code; returns whichever of the two arrays holds the result. Codes lie within [lowest,
// highest].
inline std::uint64_t* sort_by_code(std::uint64_t* keys, std::uint64_t* scratch, std::size_t n,
                                   std::uint32_t lowest, std::uint32_t highest) {
  constexpr std::size_t kInsertionRows = 24;
  constexpr std::size_t kBucketRows = 4096;
  if (n <= kInsertionRows) {
    insertion_sort_by_code(keys, n);
    return keys;
  }
  if (n <= kBucketRows) return bucket_sort_by_code(keys, scratch, n, lowest, highest);
  return radix_sort(keys, scratch, n, std::bit_width(highest - lowest),
                    [lowest](std::uint64_t key) { return static_cast<std::uint32_t>(key >> 32) - lowest; });
}

}  // namespace hornbeam
