#include "data/sorting.h"

#include <algorithm>

#include "base/platform.h"
#include "base/radix.h"

namespace hornbeam::data {

void sort_run(RoundedItem* begin, RoundedItem* end, std::span<const double> numbers) {
  const double first = numbers[row_of(*begin)];
  if (std::all_of(begin, end, [&](RoundedItem item) { return numbers[row_of(item)] == first; })) return;
  std::sort(begin, end,
            [&](RoundedItem a, RoundedItem b) { return numbers[row_of(a)] < numbers[row_of(b)]; });
}

namespace {

// If all values are float32 numbers, four bytes each are sorted, without row numbers to resolve ties.
void sort_as_floats(std::vector<double>& numbers) {
  const std::size_t n = numbers.size();
  Buffer<std::uint32_t> keys(n);
  Buffer<std::uint32_t> scratch(n);
  for (std::size_t i = 0; i < n; ++i) keys[i] = ordered_bits(static_cast<float>(numbers[i]));
  const std::uint32_t* sorted =
      radix_sort(keys.data(), scratch.data(), n, 32, [](std::uint32_t key) { return key; });
  for (std::size_t i = 0; i < n; ++i) numbers[i] = static_cast<double>(from_ordered_bits(sorted[i]));
}

}  // namespace

void sort_numbers(std::vector<double>& numbers) {
  const bool are_floats = std::ranges::all_of(
      numbers, [](double value) { return static_cast<double>(static_cast<float>(value)) == value; });
  if (are_floats) return sort_as_floats(numbers);
  const std::size_t n = numbers.size();
  Buffer<RoundedItem> items(n);
  Buffer<RoundedItem> scratch(n);
  for (std::size_t i = 0; i < n; ++i) items[i] = rounded_item(numbers[i], i);
  RoundedItem* sorted =
      radix_sort(items.data(), scratch.data(), n, 32, [](RoundedItem item) { return item >> 32; });
  for (std::size_t i = 0; i < n;) {
    std::size_t end = i + 1;
    while (end < n && sorted[end] >> 32 == sorted[i] >> 32) ++end;
    if (end - i > 1) sort_run(sorted + i, sorted + end, numbers);
    i = end;
  }
  std::vector<double> in_order(n);
  for (std::size_t i = 0; i < n; ++i) in_order[i] = numbers[row_of(sorted[i])];
  numbers = std::move(in_order);
}

}  // namespace hornbeam::data
