#include "data/bins.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "base/sampler.h"
#include "base/wide_loops.h"
#include "data/sorting.h"
#include "data/store_codes.h"

namespace hornbeam::data {

namespace {

constexpr std::size_t kQuantileSampleRows = 200'000;
constexpr std::size_t kRowsPerBlock = 512;
constexpr std::size_t kEdgeRoom = 256;  // the kernel that counts in bytes reads that many

// Cuts a sorted sample into at most max_bins groups of about equal size; equal values stay together.
std::vector<double> quantile_edges(const std::vector<double>& sorted, int max_bins) {
  std::vector<double> edges;
  std::size_t begin = 0;  // first sample of the open bin
  for (int bins_left = max_bins; bins_left > 1; --bins_left) {
    // This sample, with all that are equal to it, fills the bin.
    const double share = static_cast<double>(sorted.size() - begin) / bins_left;
    const std::size_t last = begin + static_cast<std::size_t>(std::ceil(share)) - 1;
    if (last >= sorted.size()) break;
    std::size_t next = last + 1;
    while (next < sorted.size() && sorted[next] == sorted[last]) ++next;
    if (next == sorted.size()) break;
    edges.push_back(halfway(sorted[next - 1], sorted[next]));
    begin = next;
  }
  return edges;
}

// The number of edges below a value, in a fixed number of steps without a branch to mispredict.
class EdgeSearch {
 public:
  explicit EdgeSearch(const std::vector<double>& edges)
      : top_step_(std::bit_floor(edges.size() + 1) / 2), edges_(edges) {
    if (std::bit_floor(edges.size() + 1) < edges.size() + 1) top_step_ *= 2;
    edges_.resize(2 * std::max<std::size_t>(top_step_, 1), kInfinity);
  }
  Code operator()(double value) const {
    std::size_t below = 0;
    for (std::size_t step = top_step_; step > 0; step /= 2) {
      below += edges_[below + step - 1] < value ? step : 0;
    }
    return static_cast<Code>(below);
  }

 private:
  std::size_t top_step_;
  std::vector<double> edges_;  // padded with infinity to a power of two
};

// The codes of columns that fit a byte, by the kernel that compares many edges at once.
Buffer<std::uint8_t> byte_codes(std::span<const double> numbers, const Bins& bins) {
  std::vector<double> edges = bins.values;
  edges.resize(kEdgeRoom, kInfinity);
  Buffer<std::uint8_t> codes(numbers.size());
  for (std::size_t begin = 0; begin < numbers.size(); begin += kRowsPerBlock) {
    const std::size_t n = std::min(kRowsPerBlock, numbers.size() - begin);
    kernels().count_below(numbers.data() + begin, n, edges.data(), codes.data() + begin);
  }
  const auto missing = static_cast<std::uint8_t>(bins.missing_code());
  for (std::size_t row = 0; row < numbers.size(); ++row) {
    if (std::isnan(numbers[row])) codes[row] = missing;
  }
  return codes;
}

void refuse_unknown_values(std::span<const double> numbers, const CodeBuffer& codes, const Bins& bins) {
  std::visit(
      [&](const auto& of_rows) {
        for (std::size_t row = 0; row < numbers.size(); ++row) {
          if (std::isnan(numbers[row])) continue;
          if (of_rows[row] >= bins.values.size() || bins.values[of_rows[row]] != numbers[row]) {
            throw std::invalid_argument("a value is none of those that the bins were made of");
          }
        }
      },
      codes);
}

}  // namespace

std::size_t most_exact_values(int max_bins) {
  return std::min(static_cast<std::size_t>(max_bins), kMostExactValues);
}

std::vector<RowId> sampled_rows(std::size_t n) {
  std::vector<RowId> rows(std::min(n, kQuantileSampleRows));
  Stream stream(n, Purpose::kThreshold);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::size_t begin = i * n / rows.size();
    const std::size_t end = (i + 1) * n / rows.size();
    rows[i] = static_cast<RowId>(
        end - begin == 1 ? begin : begin + stream.below(static_cast<std::uint32_t>(end - begin)));
  }
  return rows;
}

Bins make_bins(std::vector<double> sample, std::optional<std::vector<double>> distinct, int max_bins) {
  if (distinct) return {false, std::move(*distinct)};
  if (!std::ranges::is_sorted(sample)) sort_numbers(sample);
  return {true, quantile_edges(sample, max_bins)};
}

std::optional<std::vector<double>> distinct_of_sorted(const std::vector<double>& sorted, std::size_t most) {
  std::vector<double> distinct;
  for (const double value : sorted) {
    if (!distinct.empty() && value == distinct.back()) continue;
    if (distinct.size() == most) return std::nullopt;
    distinct.push_back(value);
  }
  return distinct;
}

Column column_of(Bins bins) {
  Column column;
  column.binned = bins.binned;
  column.n_codes = bins.n_codes();
  column.values = std::move(bins.values);
  return column;
}

CodeBuffer codes_in_bins(const ColumnView& column, std::size_t n_rows, const Bins& bins) {
  Buffer<double> numbers(n_rows);
  read_doubles(column, 0, n_rows, numbers.data());
  CodeBuffer codes;
  if (bins.missing_code() <= 0xff) {
    codes = byte_codes(numbers.span(), bins);
  } else {
    const EdgeSearch edges_below(bins.values);
    codes = store_codes(n_rows, bins.missing_code(), [&](std::size_t row) {
      return std::isnan(numbers[row]) ? bins.missing_code() : edges_below(numbers[row]);
    });
  }
  if (!bins.binned) refuse_unknown_values(numbers.span(), codes, bins);
  return codes;
}

DistinctNumbers::DistinctNumbers(int max_bins)
    : most_(most_exact_values(max_bins)), slots_(std::bit_ceil(4 * most_ + 1), 0) {}

void DistinctNumbers::insert(double value) {
  const std::uint64_t key = ordered_bits(value) + 1;  // no value maps to ~0
  std::size_t slot = mix(key) & (slots_.size() - 1);
  while (slots_[slot] != key && slots_[slot] != 0) slot = (slot + 1) & (slots_.size() - 1);
  if (slots_[slot] == key) return;
  if (n_distinct_ == most_) {
    too_many_ = true;
    return;
  }
  slots_[slot] = key;
  ++n_distinct_;
}

void DistinctNumbers::add(const ColumnView& column, std::size_t n_rows) {
  double numbers[kRowsPerBlock];
  for (std::size_t begin = 0; begin < n_rows; begin += kRowsPerBlock) {
    if (too_many_ && has_missing_) return;
    const std::size_t end = std::min(begin + kRowsPerBlock, n_rows);
    read_doubles(column, begin, end, numbers);
    for (std::size_t i = 0; i < end - begin; ++i) {
      if (std::isnan(numbers[i])) {
        has_missing_ = true;
      } else if (!too_many_) {
        insert(numbers[i] + 0.0);  // -0.0 + 0.0 is 0.0
      }
    }
  }
}

std::optional<std::vector<double>> DistinctNumbers::values() const {
  if (too_many_) return std::nullopt;
  std::vector<double> values;
  for (const std::uint64_t key : slots_) {
    if (key != 0) values.push_back(from_ordered_bits(key - 1));
  }
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace hornbeam::data
