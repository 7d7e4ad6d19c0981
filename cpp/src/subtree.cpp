#include "hornbeam/subtree.h"

#include <algorithm>
#include <cstring>

#include "hornbeam/radix.h"

namespace hornbeam {

namespace {

// Few codes for the rows are counted into cells, for which no order has to be kept.
bool has_few_codes(const Column& column, std::size_t n_rows) {
  return column.n_codes <= 16 && std::size_t{column.n_codes} * 4 <= n_rows;
}

// Moves the items that go left to the front and the others behind them, both in their order; `goes_left(i)`
// is 0 or 1. Both destinations are written every time and only the taken one advances: no branch to
// mispredict.
template <class Item, class GoesLeft>
void part(Item* items, std::size_t n, Item* scratch, GoesLeft goes_left) {
  std::size_t n_left = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Item item = items[i];
    const std::size_t left = goes_left(i);
    items[n_left] = item;
    scratch[i - n_left] = item;
    n_left += left;
  }
  if (n_left != n) std::memcpy(items + n_left, scratch, (n - n_left) * sizeof(Item));
}

// The same for keys, which learn their rows' new places on the way; places below `first_right` are on the
// left.
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

std::size_t Subtree::most_rows(int n_features) {
  constexpr std::size_t kMostKeys = std::size_t{1} << 22;
  constexpr std::size_t kMostPlaces = std::size_t{1} << kPlaceBits;
  return std::min(kMostPlaces, kMostKeys / static_cast<std::size_t>(std::max(n_features, 1)));
}

void Subtree::start(const Dataset& data, std::span<const Entry> entries, std::size_t origin, bool keep_order,
                    CancelPoller& poller) {
  const auto n_features = static_cast<std::size_t>(data.n_features());
  origin_ = origin;
  n_rows_ = entries.size();
  original_.resize(n_rows_);
  for (std::size_t i = 0; i < n_rows_; ++i) original_[i] = static_cast<Place>(i);
  goes_left_.resize(n_rows_);
  new_place_.resize(n_rows_);
  lists_.grow_to(n_rows_ * n_features);
  sort_keys_.grow_to(n_rows_);
  scratch_.grow_to(n_rows_);
  ordered_.assign(n_features, 0);
  for (FeatureId f = 0; f < data.n_features(); ++f) {
    poller.poll(8 * n_rows_);
    const Column& column = data.column(f);
    if (keep_order && column.kind == ColumnKind::kNumeric && !has_few_codes(column, n_rows_)) {
      ordered_[static_cast<std::size_t>(f)] = 1;
      order(column, entries, list(f));
    } else {
      std::visit(
          [&](const auto& codes) {
            for (std::size_t i = 0; i < n_rows_; ++i) list(f)[i] = codes[entries[i].row];
          },
          column.codes);
    }
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

// Which rows of the node go left.
void Subtree::mark(std::size_t begin, std::size_t n, const Column& column, const Split& split) {
  const bool missing_left = split.missing_branch == 0;
  if (is_ordered(split.feature)) {
    const PlacedRank* keys = list(split.feature) + (begin - origin_);
    for (std::size_t i = 0; i < n; ++i) goes_left_[place_of(keys[i])] = i < split.n_known_left;
    if (missing_left) {
      for (std::size_t i = n - split.n_missing; i < n; ++i) goes_left_[place_of(keys[i])] = 1;
    }
    return;
  }
  const KeptCodes codes = kept_codes(split.feature, begin);
  std::uint8_t* goes_left = goes_left_.data() + (begin - origin_);
  if (column.kind == ColumnKind::kCategorical) {
    std::vector<std::uint8_t> left(std::size_t{column.n_codes} + 1, missing_left ? 1 : 0);
    for (const Code code : split.left_categories) left[code] = 1;
    for (const Code code : split.right_categories) left[code] = 0;
    for (std::size_t i = 0; i < n; ++i) goes_left[i] = left[codes[i]];
  } else {
    for (std::size_t i = 0; i < n; ++i) {
      const Code code = codes[i];
      goes_left[i] = code < split.first_right || (missing_left && code == column.missing_code());
    }
  }
}

std::size_t Subtree::part_rows(std::span<Entry> entries, std::size_t begin, const Column& column,
                               const Split& split) {
  const std::size_t n = entries.size();
  mark(begin, n, column, split);
  const std::size_t first = begin - origin_;
  const std::uint8_t* goes_left = goes_left_.data() + first;
  std::size_t n_left = 0;
  for (std::size_t i = 0; i < n; ++i) n_left += goes_left[i];
  std::size_t next_left = first;
  std::size_t next_right = first + n_left;
  for (std::size_t i = 0; i < n; ++i) {
    new_place_[first + i] = static_cast<Place>(goes_left[i] != 0 ? next_left : next_right);
    next_left += goes_left[i];
    next_right += 1 - goes_left[i];
  }
  const auto left = [=](std::size_t i) { return goes_left[i]; };
  part(entries.data(), n, reinterpret_cast<Entry*>(scratch_.data()), left);
  part(original_.data() + first, n, reinterpret_cast<Place*>(scratch_.data()), left);
  return n_left;
}

void Subtree::part_orders(std::size_t begin, std::size_t end, std::size_t n_left, const Split& split) {
  const auto first_right = static_cast<std::uint32_t>(begin - origin_ + n_left);
  for (std::size_t f = 0; f < ordered_.size(); ++f) {
    if (ordered_[f] == 0) continue;
    part_keys(list(static_cast<FeatureId>(f)) + (begin - origin_), end - begin,
              reinterpret_cast<PlacedRank*>(scratch_.data()), new_place_.data(), first_right);
  }
}

}  // namespace hornbeam
