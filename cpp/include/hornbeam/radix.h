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
  constexpr int kMaxDigits = (64 + kRadixBits - 1) / kRadixBits;
  const int n_digits = (key_bits + kRadixBits - 1) / kRadixBits;
  const auto digit = [&](const Item& item, int d) {
    return static_cast<std::size_t>(key(item) >> (d * kRadixBits)) & (kRadixSize - 1);
  };
  // The digits of all passes are counted in one: sorting moves items but does not change them.
  std::array<std::array<std::uint32_t, kRadixSize>, kMaxDigits> start;
  for (int d = 0; d < n_digits; ++d) start[d].fill(0);
  for (std::size_t i = 0; i < n; ++i) {
    for (int d = 0; d < n_digits; ++d) ++start[d][digit(items[i], d)];
  }
  for (int d = 0; d < n_digits; ++d) {
    if (n == 0 || start[d][digit(items[0], d)] == n) continue;  // all alike in this digit
    std::uint32_t sum = 0;
    for (auto& s : start[d]) sum += std::exchange(s, sum);
    for (std::size_t i = 0; i < n; ++i) scratch[start[d][digit(items[i], d)]++] = items[i];
    std::swap(items, scratch);
  }
  return items;
}

}  // namespace hornbeam
