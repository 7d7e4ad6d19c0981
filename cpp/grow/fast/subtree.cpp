#include "grow/fast/subtree.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/radix.h"
#include "split/partition.h"

namespace hornbeam::grow {

using data::GroupedCode;
using split::add_up_counts;
using split::fill_branches;
using split::kPlaceBits;
using split::place_of;
using split::placed_rank;
using split::with_place;

namespace {

// Few codes for the rows are counted into cells, for which no order has to be kept.
bool has_few_codes(const Column& column, std::size_t n_rows) {
  return column.n_codes <= 16 && std::size_t{column.n_codes} * 4 <= n_rows;
}

// Moves the keys of rows that go left to the front and the others behind them, both in their order, and puts the rows'
// new places into them; places from `first_right` on are on the right. Both destinations are written every time and
// only the one taken advances, so there is no branch to mispredict.
void part_keys(PlacedRank* keys, std::size_t n, PlacedRank* scratch, const Place* new_place,
               std::uint32_t first_right) {
  std::size_t n_left = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint32_t place = new_place[place_of(keys[i])];
    const PlacedRank key = with_place(keys[i], place);
    keys[n_left] = key;
    scratch[i - n_left] = key;
    n_left += place < first_right;
  }
  std::memcpy(keys + n_left, scratch, (n - n_left) * sizeof(PlacedRank));
}

}  // namespace

std::size_t Subtree::rows_for(const LaneTask& lane) {
  const GrowParams& params = lane.params();
  // A subtree's lists of places cannot hold more rows than it began with, but rows in portions occur in
  // several nodes.
  if (params.missing == Missing::kFractional) return 0;
  std::size_t rows = std::min(params.subtree_rows, most_rows(params.features.size()));
  // Where all features have few codes, larger nodes count their rows into cells and need no order.
  constexpr std::size_t kAlwaysOrdered = 4096;
  const std::size_t n_cells =
      std::size_t{lane.most_codes} * static_cast<std::size_t>(lane.criterion.cell_size);
  rows = std::min(rows, std::max(kAlwaysOrdered, 2 * n_cells));
  if (params.n_threads > 1) rows = std::min(rows, kPieceRows);
  if (lane.values != nullptr) rows = std::min(rows, most_rows_of_values(params.features.size()));
  return rows;
}

bool Subtree::keeps_order_for(const LaneTask& lane) {
  // Keeping so many features in order costs about as much as sorting one when it is tried.
  constexpr std::size_t kOrdersPerTry = 12;
  const GrowParams& params = lane.params();
  return !params.random_splits &&
         params.features.size() <= static_cast<std::size_t>(params.max_features) * kOrdersPerTry;
}

std::size_t Subtree::most_rows(std::size_t n_features) {
  constexpr std::size_t kMostKeys = std::size_t{1} << 22;
  constexpr std::size_t kMostPlaces = std::size_t{1} << kPlaceBits;
  return std::min(kMostPlaces, kMostKeys / std::max<std::size_t>(n_features, 1));
}

std::size_t Subtree::most_rows_of_values(std::size_t n_features) {
  constexpr std::size_t kMostValues = std::size_t{1} << 17;  // 1 MiB
  return std::min(most_rows(n_features), kMostValues / std::max<std::size_t>(n_features, 1));
}

void Subtree::start_rows(std::size_t n_rows, std::size_t origin) {
  origin_ = origin;
  n_rows_ = n_rows;
  original_.resize(n_rows);
  std::iota(original_.begin(), original_.end(), Place{0});
  goes_left_.resize(n_rows);
  new_place_.resize(n_rows);
  scratch_.grow_to(n_rows);
}

void Subtree::start(const RowValues& values, std::span<const FeatureId> features,
                    std::span<const Entry> entries, std::size_t origin, CancelPoller& poller) {
  start_rows(entries.size(), origin);
  keeps_values_ = some_kept_ = true;
  ordered_.clear();
  keys_.assign(values.n_features(), nullptr);
  keep_records(nullptr, entries);
  values_.assign(values.n_features(), nullptr);
  value_lists_.grow_to(n_rows_ * features.size());
  double* list = value_lists_.data();
  for (const FeatureId feature : features) {
    poller.poll(n_rows_);
    values_[static_cast<std::size_t>(feature)] = list;
    values.visit(feature, [&](const auto* by_row) {
      for (std::size_t i = 0; i < n_rows_; ++i) list[i] = by_row[entries[i].row];
    });
    list += n_rows_;
  }
}

void Subtree::start(const Dataset& data, const RowRecords* records, std::span<const FeatureId> features,
                    std::span<const Entry> entries, std::size_t origin, bool keep_order,
                    CancelPoller& poller) {
  start_rows(entries.size(), origin);
  keeps_values_ = false;
  keep_records(records, entries);
  if (records == nullptr) lists_.grow_to(n_rows_ * features.size());
  sort_keys_.grow_to(n_rows_);
  keys_.assign(static_cast<std::size_t>(data.n_features()), nullptr);
  codes_.assign(static_cast<std::size_t>(data.n_features()), nullptr);
  ordered_.clear();
  some_kept_ = false;
  std::uint32_t* list = lists_.data();
  if (records != nullptr) return;
  for (const FeatureId feature : features) {
    poller.poll(8 * n_rows_);
    const Column& column = data.column(feature);
    if (keep_order && column.kind == ColumnKind::kNumeric && !has_few_codes(column, n_rows_)) {
      order(column, entries, list);
      keys_[static_cast<std::size_t>(feature)] = list;
      ordered_.push_back(list);
    } else {
      std::visit(
          [&](const auto& codes) {
            for (std::size_t i = 0; i < n_rows_; ++i) list[i] = codes[entries[i].row];
          },
          column.codes);
      codes_[static_cast<std::size_t>(feature)] = list;
      some_kept_ = true;
    }
    list += n_rows_;
  }
}

// Missing values have the largest code and so the largest rank.
void Subtree::order(const Column& column, std::span<const Entry> entries, PlacedRank* out) {
  Code lowest = ~Code{0};
  Code highest = 0;
  std::visit(
      [&](const auto& codes) {
        for (std::size_t i = 0; i < n_rows_; ++i) {
          const Code code = codes[entries[i].row];
          sort_keys_[i] = std::uint64_t{code} << 32 | i;
          lowest = std::min(lowest, code);
          highest = std::max(highest, code);
        }
      },
      column.codes);
  const std::uint64_t* sorted = sort_by_code(sort_keys_.data(), scratch_.data(), n_rows_, lowest, highest);
  std::uint32_t rank = 0;
  for (std::size_t i = 0; i < n_rows_; ++i) {
    rank += i > 0 && sorted[i] >> 32 != sorted[i - 1] >> 32;
    out[i] = placed_rank(rank, static_cast<Place>(sorted[i]));
  }
}

// Which of the node's n rows from place `first` on go left, and how many do.
std::size_t Subtree::mark(std::size_t first, std::size_t n, const Column& column, const Split& split,
                          const CategoryPlan& plan) {
  const bool missing_left = split.missing_branch == 0;
  std::uint8_t* goes_left = goes_left_.data();
  if (keeps_values_) {
    const KeptValues values = kept_values(split.feature, origin_ + first);
    std::size_t n_left = 0;
    for (std::size_t i = 0; i < n; ++i) n_left += goes_left[first + i] = values[i] <= split.threshold;
    return n_left;
  }
  if (row_records_ != nullptr) {
    const RowRecords::Place place = row_records_->place(split.feature);
    const KeptRecords records = this->records(origin_ + first);
    const GroupedCode last_left = split.last_left_grouped;
    std::size_t n_left = 0;
    for (std::size_t i = 0; i < n; ++i)
      n_left += goes_left[first + i] = place.grouped(records[i]) <= last_left;
    return n_left;
  }
  if (is_ordered(split.feature)) {
    const PlacedRank* keys = keys_[static_cast<std::size_t>(split.feature)] + first;
    const std::size_t first_missing = n - (missing_left ? split.n_missing : 0);
    for (std::size_t i = 0; i < split.n_known_left; ++i) goes_left[place_of(keys[i])] = 1;
    for (std::size_t i = split.n_known_left; i < first_missing; ++i) goes_left[place_of(keys[i])] = 0;
    for (std::size_t i = first_missing; i < n; ++i) goes_left[place_of(keys[i])] = 1;
    return split.n_known_left + (n - first_missing);
  }
  std::size_t n_left = 0;
  const KeptCodes codes = kept_codes(split.feature, origin_ + first);
  if (column.kind == ColumnKind::kCategorical) {
    Buffer<std::uint8_t> right(std::size_t{column.n_codes} + 1, region_);
    fill_branches(plan, column, split, missing_left ? 0 : 1, right.span());
    for (std::size_t i = 0; i < n; ++i) n_left += goes_left[first + i] = right[codes[i]] == 0;
  } else {
    const Code missing = column.missing_code();
    for (std::size_t i = 0; i < n; ++i) {
      const Code code = codes[i];
      n_left += goes_left[first + i] = code < split.first_right || (missing_left && code == missing);
    }
  }
  return n_left;
}

std::size_t Subtree::divide_rows(std::span<Entry> entries, std::size_t begin, const Column& column,
                                 const Split& split, const CategoryPlan& plan) {
  const std::size_t first = begin - origin_;
  const std::size_t n_left = mark(first, entries.size(), column, split, plan);
  move_rows(entries, first, n_left);
  return n_left;
}

std::size_t Subtree::divide_rows(std::span<Entry> entries, std::size_t begin,
                                 std::span<const std::uint8_t> branches) {
  const std::size_t first = begin - origin_;
  std::size_t n_left = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) n_left += goes_left_[first + i] = branches[i] == 0;
  move_rows(entries, first, n_left);
  return n_left;
}

// Moves rows to their new places.
void Subtree::move_rows(std::span<Entry> entries, std::size_t first, std::size_t n_left) {
  const std::size_t n = entries.size();
  const std::uint8_t* goes_left = goes_left_.data() + first;
  Place* new_place = new_place_.data() + first;
  auto* right = reinterpret_cast<Entry*>(scratch_.data());
  for (std::size_t i = 0, to = 0; i < n; ++i) {
    const Entry entry = entries[i];
    entries[to] = entry;
    right[i - to] = entry;
    to += goes_left[i];
  }
  std::copy_n(right, n - n_left, entries.data() + n_left);
  if (record_size_ > 0) move_records(first, n);
  if (ordered_.empty() && !some_kept_) return;
  for (std::size_t i = 0, to = 0; i < n; ++i) {
    const std::size_t left = goes_left[i];
    new_place[i] = static_cast<Place>(first + (left != 0 ? to : n_left + i - to));
    to += left;
  }
  move_originals(first, n);
}

void Subtree::keep_records(const RowRecords* records, std::span<const Entry> entries) {
  row_records_ = records;
  record_size_ = records == nullptr ? 0 : records->size_of_record();
  kept_records_.grow_to(n_rows_ * record_size_);
  right_records_.grow_to(n_rows_ * record_size_);
  if (records == nullptr) return;
  std::uint8_t* kept = kept_records_.data();
  for (std::size_t i = 0; i < n_rows_; ++i, kept += record_size_)
    std::memcpy(kept, records->of_row(entries[i].row), record_size_);
}

// Moves the records of the node's rows to the rows' new places.
void Subtree::move_records(std::size_t first, std::size_t n) {
  const std::uint8_t* goes_left = goes_left_.data() + first;
  const std::size_t n_words = record_size_ / sizeof(std::uint64_t);
  auto* records = reinterpret_cast<std::uint64_t*>(kept_records_.data()) + first * n_words;
  auto* right_records = reinterpret_cast<std::uint64_t*>(right_records_.data());
  const auto move = [&](auto n_words) {
    const std::uint64_t* record = records;
    std::uint64_t* left = records;
    std::uint64_t* right = right_records;
    for (std::size_t i = 0; i < n; ++i, record += n_words) {
      std::uint64_t* to = goes_left[i] != 0 ? left : right;
      for (std::size_t w = 0; w < n_words; ++w) to[w] = record[w];
      left += goes_left[i] != 0 ? static_cast<std::size_t>(n_words) : 0;
      right += goes_left[i] != 0 ? 0 : static_cast<std::size_t>(n_words);
    }
    std::copy(right_records, right, left);
  };
  switch (n_words) {  // so that common sizes are constants for the compiler
    case 1:
      return move(std::integral_constant<std::size_t, 1>{});
    case 2:
      return move(std::integral_constant<std::size_t, 2>{});
    case 3:
      return move(std::integral_constant<std::size_t, 3>{});
    case 4:
      return move(std::integral_constant<std::size_t, 4>{});
    case 8:
      return move(std::integral_constant<std::size_t, 8>{});
    default:
      return move(n_words);
  }
}

// Once the rows have their new places.
void Subtree::move_originals(std::size_t first, std::size_t n) {
  if (!some_kept_) return;
  std::copy_n(original_.data() + first, n, reinterpret_cast<Place*>(scratch_.data()));
  const auto* old = reinterpret_cast<const Place*>(scratch_.data());
  for (std::size_t i = 0; i < n; ++i) original_[new_place_[first + i]] = old[i];
}

void Subtree::divide_orders(std::size_t begin, std::size_t end, std::size_t n_left) {
  const std::size_t first = begin - origin_;
  for (PlacedRank* keys : ordered_) {
    part_keys(keys + first, end - begin, reinterpret_cast<PlacedRank*>(scratch_.data()), new_place_.data(),
              static_cast<std::uint32_t>(first + n_left));
  }
}

void Subtree::divide_rows(std::span<Entry> entries, std::size_t begin, const Column& column,
                          const Split& split, const CategoryPlan& plan, std::span<std::size_t> branch_begin) {
  const std::size_t n = entries.size();
  const std::size_t first = begin - origin_;
  const KeptCodes codes = kept_codes(split.feature, begin);
  Buffer<std::uint32_t> branch_of_code(std::size_t{column.n_codes} + 1, region_);
  fill_branches(plan, column, split, std::max(split.missing_branch, 0), branch_of_code.span());
  branch_.resize(n_rows_);
  std::ranges::fill(branch_begin, 0);
  for (std::size_t i = 0; i < n; ++i) {
    branch_[first + i] = branch_of_code[codes[i]];
    ++branch_begin[branch_[first + i] + 1];
  }
  add_up_counts(branch_begin);
  Buffer<std::size_t> next(branch_begin.size(), region_);
  std::ranges::copy(branch_begin, next.data());
  auto* divided = reinterpret_cast<Entry*>(scratch_.data());
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t to = next[branch_[first + i]]++;
    divided[to] = entries[i];
    new_place_[first + i] = static_cast<Place>(first + to);
  }
  std::copy_n(divided, n, entries.data());
  move_originals(first, n);
}

void Subtree::divide_orders(std::size_t begin, std::size_t end, std::span<const std::size_t> branch_begin) {
  auto* divided = reinterpret_cast<PlacedRank*>(scratch_.data());
  Buffer<std::size_t> next(branch_begin.size(), region_);
  for (PlacedRank* keys : ordered_) {
    keys += begin - origin_;
    std::ranges::copy(branch_begin, next.data());
    for (std::size_t i = 0; i < end - begin; ++i) {
      const Place place = place_of(keys[i]);
      divided[next[branch_[place]]++] = with_place(keys[i], new_place_[place]);
    }
    std::copy_n(divided, end - begin, keys);
  }
}

}  // namespace hornbeam::grow
