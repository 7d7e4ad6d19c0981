// Sorting integers by counting digits. Two users: ranking whole columns, and ordering the rows of one node by
// code.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace hornbeam {

inline constexpr int kRadixBits = 11;
inline constexpr std::size_t kRadixSize = std::size_t{1} << kRadixBits;

// Sorts `items` by `key(item)`, of which only the lowest `key_bits` may be set; stable. `scratch` has room
// for n items. Returns whichever of the two arrays holds the result.
template <class Item, class Key>
Item* radix_sort(Item* items, Item* scratch, std::size_t n, int key_bits, Key key) {
  std::array<std::uint32_t, kRadixSize> start;
  for (int shift = 0; shift < key_bits; shift += kRadixBits) {
    start.fill(0);
    for (std::size_t i = 0; i < n; ++i) ++start[(key(items[i]) >> shift) & (kRadixSize - 1)];
    const std::size_t first_digit = n == 0 ? 0 : (key(items[0]) >> shift) & (kRadixSize - 1);
    if (start[first_digit] == n) continue;  // all alike in this digit
    std::uint32_t sum = 0;
    for (auto& s : start) sum += std::exchange(s, sum);
    for (std::size_t i = 0; i < n; ++i) {
      scratch[start[(key(items[i]) >> shift) & (kRadixSize - 1)]++] = items[i];
    }
    std::swap(items, scratch);
  }
  return items;
}

}  // namespace hornbeam
