// From values to codes. Exact: few distinct values go through a small hash table, many through a radix sort
// of order-preserving integer keys. Binned: as bins.h says, edges first, then a search per value.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "base/parallel.h"
#include "base/radix.h"
#include "base/sampler.h"
#include "base/wide_loops.h"
#include "data/bins.h"
#include "data/dataset.h"
#include "data/sorting.h"
#include "data/store_codes.h"

namespace hornbeam::data {

namespace {

constexpr std::size_t kPrefetchDistance = 24;
constexpr std::size_t kWorkPerPass = 10;  // of a row in a pass over a column, in the poller's units

// A column read once as float64, -0.0 made 0.0.
struct Values {
  Buffer<double> numbers;
  bool has_missing = false;
};

Values read_values(const ColumnView& column, std::size_t n_rows) {
  Values values{Buffer<double>(n_rows)};
  read_doubles(column, 0, n_rows, values.numbers.data());
  bool missing = false;
  for (std::size_t row = 0; row < n_rows; ++row) {
    values.numbers[row] += 0.0;  // -0.0 + 0.0 is 0.0
    missing |= std::isnan(values.numbers[row]);
  }
  values.has_missing = missing;
  return values;
}

// Distinct values by hashing; gives up once there are more than kMostExactValues. `slot_of_row` keeps each
// row's place.
class DistinctValues {
 public:
  bool collect(std::span<const double> numbers) {
    // Samples evenly spread rows first. If their values are mostly distinct, a table would overflow anyway; if there
    // are few, a table that stays in the nearest cache is large enough.
    if (numbers.size() > kProbe) {
      std::vector<double> probe;
      const std::size_t step = numbers.size() / kProbe;
      for (std::size_t row = 0; row < numbers.size(); row += step) probe.push_back(numbers[row]);
      if (!fill(probe, kMostSlots)) return false;
      const std::size_t small = std::bit_ceil(4 * n_distinct_ + 1);
      if (small < kMostSlots && fill(numbers, small)) return true;
    }
    return fill(numbers, std::min(kMostSlots, std::bit_ceil(4 * numbers.size())));
  }

  std::size_t size() const { return n_distinct_; }

  std::vector<double> sorted() const {
    std::vector<double> values;
    for (const std::uint64_t key : slots_) {
      if (key != 0) values.push_back(from_ordered_bits(key - 1));
    }
    std::sort(values.begin(), values.end());
    return values;
  }

  CodeBuffer codes(const std::vector<double>& sorted_values) const {
    const Code missing = static_cast<Code>(sorted_values.size());
    std::vector<Code> code_of_slot(n_slots_ + 1, missing);
    for (std::size_t slot = 0; slot < n_slots_; ++slot) {
      if (slots_[slot] == 0) continue;
      const double value = from_ordered_bits(slots_[slot] - 1);
      const auto place = std::lower_bound(sorted_values.begin(), sorted_values.end(), value);
      code_of_slot[slot] = static_cast<Code>(place - sorted_values.begin());
    }
    return store_codes(n_rows_, missing, [&](std::size_t row) { return code_of_slot[slot_of_row_[row]]; });
  }

 private:
  static constexpr std::size_t kMostSlots = 8192;
  static constexpr std::size_t kProbe = 4096;

  // False if more than half of the slots would be taken.
  bool fill(std::span<const double> numbers, std::size_t n_slots) {
    n_slots_ = n_slots;
    n_distinct_ = 0;
    slots_.assign(n_slots, 0);
    slot_of_row_.grow_to(numbers.size());
    n_rows_ = numbers.size();
    const std::size_t most = std::min(kMostExactValues, n_slots / 2);
    for (std::size_t row = 0; row < numbers.size(); ++row) {
      if (std::isnan(numbers[row])) {
        slot_of_row_[row] = static_cast<std::uint16_t>(n_slots);  // one past the table
        continue;
      }
      const std::uint64_t key = ordered_bits(numbers[row]) + 1;  // 0 marks a free slot; no value maps to ~0
      std::size_t slot = mix(key) & (n_slots - 1);
      while (slots_[slot] != key && slots_[slot] != 0) slot = (slot + 1) & (n_slots - 1);
      if (slots_[slot] == 0) {
        if (++n_distinct_ > most) return false;
        slots_[slot] = key;
      }
      slot_of_row_[row] = static_cast<std::uint16_t>(slot);
    }
    return true;
  }

  std::vector<std::uint64_t> slots_;
  Buffer<std::uint16_t> slot_of_row_;
  std::size_t n_rows_ = 0;
  std::size_t n_distinct_ = 0;
  std::size_t n_slots_ = 0;  // a power of two, at least twice as many as distinct values
};

Column rank_by_sorting(const Values& values, CancelPoller& poller) {
  const std::span<const double> numbers = values.numbers.span();
  const std::size_t n_rows = numbers.size();
  Buffer<RoundedItem> items(n_rows);
  Buffer<RoundedItem> scratch(n_rows);
  std::size_t n_known = 0;
  for (std::size_t row = 0; row < n_rows; ++row) {
    items[n_known] = rounded_item(numbers[row], row);
    n_known += !std::isnan(numbers[row]);
  }
  RoundedItem* sorted =
      radix_sort(items.data(), scratch.data(), n_known, 32, [](RoundedItem item) { return item >> 32; });
  poller.poll(kWorkPerPass * n_rows);
  Column column;
  Buffer<Code> code_of_row(n_rows);
  for (std::size_t i = 0; i < n_known;) {
    std::size_t end = i + 1;
    while (end < n_known && sorted[end] >> 32 == sorted[i] >> 32) ++end;
    if (end - i > 1) sort_run(sorted + i, sorted + end, numbers);
    for (; i < end; ++i) {
      // Values and codes are read in random order, but the next rows are known, so their lines can be requested ahead.
      const RowId ahead = row_of(sorted[std::min(i + kPrefetchDistance, n_known - 1)]);
      prefetch(&numbers[ahead]);
      prefetch(&code_of_row[ahead]);
      const double value = numbers[row_of(sorted[i])];
      if (column.values.empty() || value != column.values.back()) column.values.push_back(value);
      code_of_row[row_of(sorted[i])] = static_cast<Code>(column.values.size()) - 1;
    }
  }
  poller.poll(kWorkPerPass * n_rows);
  column.n_codes = static_cast<Code>(column.values.size());
  column.codes = store_codes(n_rows, column.missing_code(), [&](std::size_t row) {
    return std::isnan(numbers[row]) ? column.missing_code() : code_of_row[row];
  });
  return column;
}

Column exact_column(const Values& values, const DistinctValues* few, CancelPoller& poller) {
  Column column;
  if (few != nullptr) {
    column.values = few->sorted();
    column.n_codes = static_cast<Code>(column.values.size());
    column.codes = few->codes(column.values);
  } else {
    column = rank_by_sorting(values, poller);
  }
  column.has_missing = values.has_missing;
  return column;
}

Column binned_column(const Values& values, int max_bins) {
  std::vector<double> sample;
  for (const RowId row : sampled_rows(values.numbers.size())) {
    if (!std::isnan(values.numbers[row])) sample.push_back(values.numbers[row]);
  }
  const Bins bins = make_bins(std::move(sample), std::nullopt, max_bins);
  const ColumnView view{reinterpret_cast<const std::byte*>(values.numbers.data()), sizeof(double),
                        Number::kF64};
  Column column = column_of(bins);
  column.has_missing = values.has_missing;
  column.codes = codes_in_bins(view, values.numbers.size(), bins);
  return column;
}

Column encode_values(const Values& values, int max_bins, CancelPoller& poller) {
  poller.poll(kWorkPerPass * values.numbers.size());
  DistinctValues distinct;
  const bool few = distinct.collect(values.numbers.span());
  poller.poll(kWorkPerPass * values.numbers.size());
  if (max_bins > 0 && !(few && distinct.size() <= most_exact_values(max_bins))) {
    return binned_column(values, max_bins);
  }
  return exact_column(values, few ? &distinct : nullptr, poller);
}

// How many of some rows have each code of a column, the missing code included.
template <class RowOf>
std::vector<std::uint32_t> count_codes(const Column& column, std::size_t n, RowOf row_of) {
  std::vector<std::uint32_t> times(std::size_t{column.missing_code()} + 1, 0);
  std::visit(
      [&](const auto& codes) {
        for (std::size_t i = 0; i < n; ++i) ++times[codes[row_of(i)]];
      },
      column.codes);
  return times;
}

// The known ones among the sampled values of these rows of an exact column, ascending.
std::vector<double> sorted_sample_of(const Column& exact, std::span<const RowId> rows) {
  const std::vector<RowId> sampled = sampled_rows(rows.size());
  const auto times = count_codes(exact, sampled.size(), [&](std::size_t i) { return rows[sampled[i]]; });
  std::vector<double> sample;
  sample.reserve(sampled.size());
  for (Code code = 0; code < exact.n_codes; ++code) {
    sample.insert(sample.end(), times[code], exact.values[code]);
  }
  return sample;
}

}  // namespace

Column encode_numeric(const ColumnView& column, std::size_t n_rows, int max_bins, CancelPoller& poller) {
  return encode_values(read_values(column, n_rows), max_bins, poller);
}

Column encode_rows(const Column& whole, std::span<const RowId> rows, int max_bins) {
  const Code missing = whole.missing_code();
  const auto times = count_codes(whole, rows.size(), [&](std::size_t i) { return rows[i]; });
  Column column;
  column.has_missing = times[missing] > 0;
  std::vector<Code> new_code(times.size());
  for (Code code = 0; code < missing; ++code) {
    new_code[code] = static_cast<Code>(column.values.size());
    if (times[code] > 0) column.values.push_back(whole.values[code]);
  }
  if (max_bins > 0 && column.values.size() > most_exact_values(max_bins)) {
    column.binned = true;
    column.values = make_bins(sorted_sample_of(whole, rows), std::nullopt, max_bins).values;
    Code bin = 0;  // the number of edges below a value; values ascend
    for (Code code = 0; code < missing; ++code) {
      while (bin < column.values.size() && column.values[bin] < whole.values[code]) ++bin;
      new_code[code] = bin;
    }
  }
  column.n_codes = static_cast<Code>(column.values.size()) + (column.binned ? 1 : 0);
  new_code[missing] = column.missing_code();
  column.codes = std::visit(
      [&](const auto& codes) {
        return store_codes(rows.size(), column.missing_code(),
                           [&](std::size_t i) { return new_code[codes[rows[i]]]; });
      },
      whole.codes);
  return column;
}

// ---- many columns into byte codes

namespace {

constexpr std::size_t kEdgeRoom = 256;
constexpr std::size_t kRowsPerTask = 1 << 13;
constexpr std::size_t kRowsPerBlock = 512;
constexpr std::size_t kColumnsTogether = 8;  // whose samples are taken together

// The known ones among the sampled values of some columns. Blocks of rows, and within them column after
// column: the lines of a row-major table are read once.
std::vector<std::vector<double>> sample_columns(std::span<const ColumnView> views,
                                                std::span<const RowId> rows) {
  std::vector<std::vector<double>> samples(views.size());
  for (std::vector<double>& sample : samples) sample.reserve(rows.size());
  for (std::size_t begin = 0; begin < rows.size(); begin += kRowsPerBlock) {
    const auto block = rows.subspan(begin, std::min(kRowsPerBlock, rows.size() - begin));
    for (std::size_t j = 0; j < views.size(); ++j) {
      visit_number(views[j].number, [&](auto zero) {
        for (const RowId row : block) {
          const double value = static_cast<double>(read_element<decltype(zero)>(views[j], row));
          if (!std::isnan(value)) samples[j].push_back(value + 0.0);  // -0.0 + 0.0 is 0.0
        }
      });
    }
  }
  return samples;
}

// Decides from a sample how a column is coded. If the sample has few distinct values, it assumes that there are no
// others; this is checked when codes are written.
Column plan_bytes(std::vector<double> sample, std::size_t n_rows, int max_bins) {
  sort_numbers(sample);
  std::optional<std::vector<double>> distinct = distinct_of_sorted(sample, most_exact_values(max_bins));
  Column column = column_of(make_bins(std::move(sample), std::move(distinct), max_bins));
  column.codes = Buffer<std::uint8_t>(n_rows);
  return column;
}

struct Seen {
  std::atomic<bool> missing{false};
  std::atomic<bool> unplanned{false};  // a value that the sample did not have
};

// Codes of rows [begin, end) of one column.
void write_bytes(const ColumnView& view, std::size_t begin, std::size_t end, const double* edges,
                 Column& column, Seen& seen) {
  double values[kRowsPerBlock];
  read_doubles(view, begin, end, values);
  std::uint8_t* codes = std::get<Buffer<std::uint8_t>>(column.codes).data() + begin;
  kernels().count_below(values, end - begin, edges, codes);
  bool missing = false;
  bool unplanned = false;
  for (std::size_t i = 0; i < end - begin; ++i) missing |= std::isnan(values[i]);
  if (missing) {
    seen.missing = true;
    for (std::size_t i = 0; i < end - begin; ++i) {
      if (std::isnan(values[i])) codes[i] = static_cast<std::uint8_t>(column.missing_code());
    }
  }
  if (column.binned) return;
  for (std::size_t i = 0; i < end - begin; ++i)
    unplanned |= edges[codes[i]] != values[i] && !std::isnan(values[i]);
  if (unplanned) seen.unplanned = true;
}

}  // namespace

std::vector<std::optional<Column>> encode_bytes(std::span<const ColumnView> views, std::size_t n_rows,
                                                int max_bins, int n_threads, Cancel& cancel) {
  std::vector<std::optional<Column>> columns(views.size());
  std::vector<std::vector<double>> edges(views.size());
  const std::vector<RowId> rows = sampled_rows(n_rows);
  const std::size_t n_groups = (views.size() + kColumnsTogether - 1) / kColumnsTogether;
  parallel_for(
      n_groups, n_threads,
      [&](std::size_t group, int) {
        const std::size_t first = views.size() * group / n_groups;
        const std::size_t n = views.size() * (group + 1) / n_groups - first;
        std::vector<std::vector<double>> samples = sample_columns(views.subspan(first, n), rows);
        for (std::size_t j = 0; j < n; ++j) {
          columns[first + j] = plan_bytes(std::move(samples[j]), n_rows, max_bins);
          edges[first + j] = columns[first + j]->values;
          edges[first + j].resize(kEdgeRoom, kInfinity);
        }
      },
      &cancel);
  const std::size_t n_tasks = (n_rows + kRowsPerTask - 1) / kRowsPerTask;
  std::vector<Seen> seen(views.size());
  parallel_for(
      n_tasks, n_threads,
      [&](std::size_t task, int) {
        const std::size_t task_end = std::min((task + 1) * kRowsPerTask, n_rows);
        for (std::size_t begin = task * kRowsPerTask; begin < task_end; begin += kRowsPerBlock) {
          const std::size_t end = std::min(begin + kRowsPerBlock, task_end);
          for (std::size_t j = 0; j < views.size(); ++j) {
            write_bytes(views[j], begin, end, edges[j].data(), *columns[j], seen[j]);
          }
        }
      },
      &cancel);
  for (std::size_t j = 0; j < views.size(); ++j) {
    columns[j]->has_missing = seen[j].missing;
    if (seen[j].unplanned) columns[j].reset();
  }
  return columns;
}

Column encode_sparse(const ColumnView& indices, const ColumnView& data, std::size_t n_stored,
                     std::size_t n_rows, int max_bins, CancelPoller& poller) {
  // Only one dense column exists at a time.
  Buffer<double> dense = Buffer<double>::zeros(n_rows);
  Buffer<double> stored(n_stored);
  read_doubles(data, 0, n_stored, stored.data());
  visit_number(indices.number, [&](auto zero) {
    using T = decltype(zero);
    for (std::size_t i = 0; i < n_stored; ++i) {
      const auto row = static_cast<std::int64_t>(read_element<T>(indices, i));
      if (row < 0 || static_cast<std::size_t>(row) >= n_rows) {
        throw std::out_of_range("a sparse column holds a row index outside the table");
      }
      dense[static_cast<std::size_t>(row)] = stored[i];
    }
  });
  const ColumnView view{reinterpret_cast<const std::byte*>(dense.data()), sizeof(double), Number::kF64};
  return encode_numeric(view, n_rows, max_bins, poller);
}

Column encode_categories(const ColumnView& codes, std::size_t n_rows, Code n_categories) {
  if (codes.number != Number::kI32) throw std::invalid_argument("category codes must be int32");
  Column column;
  column.kind = ColumnKind::kCategorical;
  column.n_codes = n_categories;
  for (std::size_t row = 0; row < n_rows; ++row) {
    const auto code = read_element<std::int32_t>(codes, row);
    if (code < kMissingCategory || code >= static_cast<std::int64_t>(n_categories)) {
      throw std::out_of_range("a category code lies outside the category table");
    }
    column.has_missing |= code == kMissingCategory;
  }
  column.codes = store_codes(n_rows, column.missing_code(), [&](std::size_t row) {
    const auto code = read_element<std::int32_t>(codes, row);
    return code == kMissingCategory ? column.missing_code() : static_cast<Code>(code);
  });
  return column;
}

}  // namespace hornbeam::data
