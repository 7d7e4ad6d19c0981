// The last levels of a tree: a node of at most 64 rows and all that grows below it. Most nodes of a grown-out
// tree are there, so what a node costs besides its rows is what counts.
//
// A set of rows is one word, a bit per row. Each feature is looked at once, when a node first tries it: its
// rows are put in order or, for random tests, their values side by side. No node moves anything after that:
// its rows in the feature's order are the bits of another word.
//
// Every feature here is numeric and has no missing value among the rows. The finders of split/ do the rest;
// where both apply they find the same test.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/sampler.h"
#include "base/types.h"
#include "criterion/concepts.h"
#include "criterion/stats.h"
#include "data/dataset.h"
#include "grow/fast/subtree.h"
#include "grow/lane_task.h"
#include "split/find_cuts.h"

namespace hornbeam::grow {

using criterion::BestCandidate;
using criterion::Contender;
using criterion::Scorer;
using criterion::Walk;
using data::kFineBits;
using data::random_threshold;
using split::FirstBest;
using split::kNotYet;
using split::place_of;
using split::rank_of;

// A set of a small subtree's rows, or of places in the order of one of its features.
using Bits = std::uint64_t;

inline constexpr int lowest_bit(Bits bits) {
  return std::countr_zero(bits);
}
inline constexpr int highest_bit(Bits bits) {
  return 63 - std::countl_zero(bits);
}
inline constexpr Bits without_lowest(Bits bits) {
  return bits & (bits - 1);
}
inline constexpr Bits below(int place) {
  return (Bits{1} << place) - 1;
}
inline constexpr Bits up_to(int place) {
  return ~Bits{0} >> (63 - place);
}
inline constexpr Bits after(int place) {
  return ~up_to(place);
}

// Whether a task's subtrees end in small ones.
inline bool takes_small_subtrees(const LaneTask& lane) {
  const GrowParams& params = lane.params();
  const auto is_number = [&](FeatureId feature) {
    return lane.task.data.column(feature).kind == ColumnKind::kNumeric;
  };
  const bool by_numbers = params.random_splits
                              ? lane.values != nullptr
                              : !lane.has_surrogates() && std::ranges::all_of(params.features, is_number);
  // If the impurity that is shown is not the score, it is computed from the children once they are made.
  const bool gains_in_time = !lane.criterion.shows_another || params.min_impurity_decrease <= 0;
  return by_numbers && gains_in_time && lane.is_depth_first() && lane.is_unconstrained();
}

// A test that was found in a small subtree.
struct Cut {
  FeatureId feature = kNoFeature;
  Bits left = 0;               // rows (random tests) or places in the feature's order that go left
  Bits right = 0;              // places that go right
  double threshold = kNotYet;  // random tests have it from the start
  // For the second step of a criterion, as in Split:
  double n_tests = 1.0;
  std::int64_t left_weight = 0;

  Contender contender(double score) const { return {score, n_tests, 2, left_weight, 0, {}, {}}; }
};

template <Scorer S>
class SmallSubtree {
 public:
  static constexpr int kRowBits = 6;
  static constexpr std::size_t kMostRows = std::size_t{1} << kRowBits;
  using Element = typename S::Element;

  // The node at [begin, begin + entries.size()) of the grower's list; false if a value is missing there.
  // A branch has at least so many rows, and this weight.
  bool start(const Dataset& data, const RowRecords* records, std::span<const FeatureId> features,
             const Subtree& subtree, std::span<const Entry> entries, std::size_t begin, S& scorer,
             std::int64_t min_rows, std::int64_t min_weight) {
    for (const FeatureId feature : features) {
      const Column& column = data.column(feature);
      if (column.has_missing && some_missing(column, entries)) return false;
    }
    data_ = &data;
    records_ = records;
    subtree_ = &subtree;
    begin_ = begin;
    n_rows_ = entries.size();
    min_rows_ = min_rows;
    min_weight_ = min_weight;
    scorer_ = &scorer;
    std::copy(entries.begin(), entries.end(), entries_.begin());
    scorer.stats().load({entries_.data(), n_rows_});
    for (std::size_t row = 0; row < n_rows_; ++row) {
      payloads_[row] = scorer.stats().sort_payload(entries_[row], row);
      steps_[row] = Walk::step_of(payloads_[row]);
    }
    if (orders_.size() < static_cast<std::size_t>(data.n_features()))
      orders_.resize(static_cast<std::size_t>(data.n_features()));
    ++number_;
    return true;
  }

  Bits all_rows() const { return ~Bits{0} >> (kMostRows - n_rows_); }

  void add_up(Bits rows, std::vector<Element>& cell) const {
    const auto& stats = scorer_->stats();
    cell.assign(static_cast<std::size_t>(scorer_->cell_size()), Element{0});
    for (; rows != 0; rows = without_lowest(rows)) stats.add(cell.data(), payloads_[lowest_bit(rows)]);
  }

  // The rows one by one, in the order of the grower's list.
  std::span<const Entry> list(Bits rows) {
    std::size_t n = 0;
    for (; rows != 0; rows = without_lowest(rows)) listed_[n++] = entries_[lowest_bit(rows)];
    return {listed_.data(), n};
  }

  // Offers the feature's best test of a node with these rows and this cell; false if the feature is constant
  // there.
  bool find_best(FeatureId feature, Bits rows, const Element* cell, FirstBest<Cut>& best) {
    const RowOrder& order = ordered(feature);
    Bits places = 0;
    for (Bits bits = rows; bits != 0; bits = without_lowest(bits))
      places |= Bits{1} << order.place_of[lowest_bit(bits)];
    int place = lowest_bit(places);
    if ((order.starts & after(place) & up_to(highest_bit(places))) == 0) return false;
    Walk walk = scorer_->start(cell, kMostRows);
    const auto admits = limits_of(rows, cell);
    std::int64_t n_left = 0;
    for (Bits bits = without_lowest(places); bits != 0; bits = without_lowest(bits)) {
      walk.move(steps_[order.row_at[place]]);
      const Bits passed = after(place);
      place = lowest_bit(bits);
      first_right_[walk.n_candidates()] = static_cast<std::uint8_t>(place);
      ++n_left;
      walk.add_candidate((order.starts & passed & up_to(place)) != 0 && admits(walk, n_left));
    }
    const BestCandidate candidate = scorer_->best_candidate(walk, best.score());
    if (!candidate.found || (best.found() && !(candidate.score > best.score()))) return true;
    const Bits left = places & below(first_right_[candidate.index]);
    Cut cut{feature, left, places ^ left};
    cut.n_tests = static_cast<double>(walk.n_candidates());
    if constexpr (requires { scorer_->left_weight_of(candidate.index); })
      cut.left_weight = scorer_->left_weight_of(candidate.index);
    best.offer(candidate.score, cut);
    return true;
  }

  // The same with a threshold drawn uniformly between the least and the largest value.
  bool find_random(FeatureId feature, Bits rows, const Element* cell, Stream stream, FirstBest<Cut>& best) {
    const double* values = valued(feature).values.data();
    double least = kInfinity;
    double largest = -kInfinity;
    for (Bits bits = rows; bits != 0; bits = without_lowest(bits)) {
      const double value = values[lowest_bit(bits)];
      least = std::min(least, value);
      largest = std::max(largest, value);
    }
    if (least == largest) return false;
    const double threshold = random_threshold(data_->column(feature), least, largest, stream.unit());
    Walk walk = scorer_->start(cell, 1);
    Bits left = 0;
    for (Bits bits = rows; bits != 0; bits = without_lowest(bits)) {
      const int row = lowest_bit(bits);
      left |= static_cast<Bits>(values[row] <= threshold) << row;
    }
    for (Bits bits = left; bits != 0; bits = without_lowest(bits)) walk.move(steps_[lowest_bit(bits)]);
    walk.add_candidate(limits_of(rows, cell)(walk, std::popcount(left)));
    const BestCandidate candidate = scorer_->best_candidate(walk, -kInfinity);
    if (candidate.found)
      best.offer(candidate.score, {.feature = feature, .left = left, .threshold = threshold});
    return true;
  }

  // The rows that go left.
  Bits left_rows(const Cut& cut) {
    if (!std::isnan(cut.threshold)) return cut.left;
    const RowOrder& order = ordered(cut.feature);
    Bits rows = 0;
    for (Bits bits = cut.left; bits != 0; bits = without_lowest(bits))
      rows |= Bits{1} << order.row_at[lowest_bit(bits)];
    return rows;
  }

  // The threshold of a random test; for any other, the neighbouring codes that it separates: the threshold is
  // computed later.
  void name_values(const Cut& cut, Split& split) {
    split.threshold = cut.threshold;
    if (!std::isnan(cut.threshold)) return;
    const RowOrder& order = ordered(cut.feature);
    split.last_left = code_of(cut.feature, order.row_at[highest_bit(cut.left)]);
    split.first_right = code_of(cut.feature, order.row_at[lowest_bit(cut.right)]);
  }

 private:
  using Walk = typename S::Walk;

  // What is known about a feature. It belongs to an earlier small subtree unless the numbers agree.
  struct RowOrder {
    std::uint64_t number = 0;
    std::array<std::uint8_t, kMostRows> place_of;  // by row
    std::array<std::uint8_t, kMostRows> row_at;    // by place
    Bits starts;                                   // places whose value differs from the one before
    std::array<double, kMostRows> values;          // by row, for random tests
  };

  // Whether the limits admit a test of these rows, by the walk at it and the number of rows on its left.
  auto limits_of(Bits rows, const Element* cell) const {
    const auto n_rows = static_cast<std::int64_t>(std::popcount(rows));
    const std::int64_t weight = min_weight_ > 0 ? scorer_->stats().weight(cell) : 0;
    return [this, n_rows, weight](const Walk& walk, std::int64_t n_left) {
      if (std::min(n_left, n_rows - n_left) < min_rows_) return false;
      if (min_weight_ == 0) return true;
      const std::int64_t left = walk.left_weight();
      return std::min(left, weight - left) >= min_weight_;
    };
  }

  static bool some_missing(const Column& column, std::span<const Entry> entries) {
    return std::ranges::any_of(
        entries, [&](const Entry& entry) { return column.code(entry.row) == column.missing_code(); });
  }

  Code code_of(FeatureId feature, std::size_t row) const {
    if (records_ == nullptr) return data_->column(feature).code(entries_[row].row);
    const RowRecords::Place place = records_->place(feature);
    return records_->code(feature, place.grouped(subtree_->records(begin_)[row]));
  }

  const RowOrder& ordered(FeatureId feature) {
    RowOrder& order = orders_[static_cast<std::size_t>(feature)];
    if (order.number == number_) return order;
    order.number = number_;
    if (subtree_->is_ordered(feature)) {
      const OrderedRows rows = subtree_->ordered_rows(feature, begin_, begin_ + n_rows_);
      write_order(
          order, [&](std::size_t i) { return rank_of(rows.keys[i]); },
          [&](std::size_t i) { return place_of(rows.keys[i]) - rows.first; });
    } else if (records_ != nullptr) {
      sort_by_group(order, feature);
    } else {
      std::array<std::uint64_t, kMostRows> keys;
      const KeptCodes codes = subtree_->kept_codes(feature, begin_);
      for (std::size_t row = 0; row < n_rows_; ++row) keys[row] = std::uint64_t{codes[row]} << 32 | row;
      std::sort(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(n_rows_));
      write_order(
          order, [&](std::size_t i) { return keys[i] >> 32; }, [&](std::size_t i) { return keys[i] & 0xff; });
    }
    return order;
  }

  template <class ValueAt, class RowAt>
  void write_order(RowOrder& order, const ValueAt& value_at, const RowAt& row_at) const {
    order.starts = ~Bits{0};
    for (std::size_t i = 0; i < n_rows_; ++i) {
      if (i > 0 && value_at(i) == value_at(i - 1)) order.starts &= ~(Bits{1} << i);
      order.row_at[i] = static_cast<std::uint8_t>(row_at(i));
      order.place_of[order.row_at[i]] = static_cast<std::uint8_t>(i);
    }
  }

  // Groups order most rows; only those that share one with another have their fine codes looked at.
  void sort_by_group(RowOrder& order, FeatureId feature) {
    const KeptRecords records = subtree_->records(begin_);
    const RowRecords::Place place = records_->place(feature);
    std::array<std::uint8_t, kMostRows> groups;
    for (std::size_t row = 0; row < n_rows_; ++row) groups[row] = place.group(records[row]);
    const Bits tied = kernels().places_of_bytes(groups.data(), n_rows_, order.place_of.data());
    order.starts = ~Bits{0};
    if (tied != 0) untie(order, records, place, tied);
    for (std::size_t row = 0; row < n_rows_; ++row)
      order.row_at[order.place_of[row]] = static_cast<std::uint8_t>(row);
  }

  // Rows of one group have neighbouring places, which are given out again in the order of the rows' codes.
  void untie(RowOrder& order, const KeptRecords& records, RowRecords::Place place, Bits tied) {
    static_assert(8 + kFineBits + kRowBits <= 32);
    std::array<std::uint32_t, kMostRows> keys{};  // grouped codes, and below them rows
    std::size_t n_tied = 0;
    Bits places = 0;
    for (; tied != 0; tied = without_lowest(tied)) {
      const int row = lowest_bit(tied);
      keys[n_tied++] = place.grouped(records[row]) << kRowBits | static_cast<std::uint32_t>(row);
      places |= Bits{1} << order.place_of[row];
    }
    std::array<std::uint8_t, kMostRows> rank;
    std::array<std::uint32_t, kMostRows> sorted;
    kernels().places(keys.data(), n_tied, rank.data());
    for (std::size_t i = 0; i < n_tied; ++i) sorted[rank[i]] = keys[i];
    for (std::size_t i = 0; i < n_tied; ++i, places = without_lowest(places)) {
      const int free = lowest_bit(places);
      order.place_of[sorted[i] & (kMostRows - 1)] = static_cast<std::uint8_t>(free);
      if (i > 0 && sorted[i] >> kRowBits == sorted[i - 1] >> kRowBits) order.starts &= ~(Bits{1} << free);
    }
  }

  const RowOrder& valued(FeatureId feature) {
    RowOrder& order = orders_[static_cast<std::size_t>(feature)];
    if (order.number == number_) return order;
    order.number = number_;
    const KeptValues values = subtree_->kept_values(feature, begin_);
    for (std::size_t row = 0; row < n_rows_; ++row) order.values[row] = values[row];
    return order;
  }

  const Dataset* data_ = nullptr;
  const RowRecords* records_ = nullptr;
  const Subtree* subtree_ = nullptr;
  S* scorer_ = nullptr;
  std::size_t begin_ = 0;
  std::size_t n_rows_ = 0;
  std::int64_t min_rows_ = 1;
  std::int64_t min_weight_ = 0;
  std::uint64_t number_ = 0;  // of small subtrees so far
  std::array<Entry, kMostRows> entries_;
  std::array<std::uint32_t, kMostRows> payloads_;
  std::array<typename Walk::Step, kMostRows> steps_;
  std::array<Entry, kMostRows> listed_;
  std::array<std::uint8_t, kMostRows> first_right_;  // by candidate
  std::vector<RowOrder> orders_;                     // by feature
};

}  // namespace hornbeam::grow
