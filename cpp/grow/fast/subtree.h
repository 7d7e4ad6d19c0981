// The rows of one subtree, copied together: nodes read less memory the smaller they are, and nothing is sorted twice.
//
// In a node of at most 65,536 rows, and everywhere below it, 16 bits identify a row. When the subtree starts, each
// feature's codes are read from the table once and kept in one of three forms:
//   ordered   keys, rank above place, ascending. Dividing the rows keeps the keys of every feature in order
//             (SPRINT: Shafer, Agrawal, Mehta 1996), so all nodes below find them sorted.
//   records   the codes of a row side by side (data/row_records.h), which move with their rows.
//   kept      by row (codes or, for random tests, values): where order is of no use (categories, random tests,
//             few codes), or where features are drawn so rarely that keeping all of them in order would cost more
//             than sorting the drawn ones.
//
// A row's place is its index in the grower's list of entries, relative to the subtree's first. The rows of a node lie
// side by side there and in every list of keys, at the same places; when rows are divided, the keys are given their
// new places. So whatever a node looks up by place lies within a few cache lines of its own.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "base/types.h"
#include "criterion/stats.h"
#include "data/dataset.h"
#include "data/row_records.h"
#include "data/row_values.h"
#include "grow/lane_task.h"
#include "split/row_views.h"
#include "split/split.h"

namespace hornbeam::grow {

using criterion::Entry;
using data::Column;
using data::Dataset;
using data::RowRecords;
using data::RowValues;
using split::CategoryPlan;
using split::KeptCodes;
using split::KeptRecords;
using split::KeptValues;
using split::OrderedRows;
using split::Place;
using split::PlacedRank;
using split::Split;

class Subtree {
 public:
  explicit Subtree(Region* region = nullptr)
      : region_(region),
        lists_(region),
        kept_records_(region),
        right_records_(region),
        value_lists_(region),
        sort_keys_(region),
        scratch_(region) {}

  // Nodes of at most this many rows grow as subtrees; 0 for none. And whether these keep their features in order.
  static std::size_t rows_for(const LaneTask& lane);
  static bool keeps_order_for(const LaneTask& lane);

  // The most rows that a subtree over so many features may have: places fit 16 bits, all lists 16 MiB.
  static std::size_t most_rows(std::size_t n_features);
  // The same where values are kept, which should fit a core's own cache.
  static std::size_t most_rows_of_values(std::size_t n_features);

  // `entries` are the rows of the subtree's root, which begin at `origin` in the grower's list. If there are
  // `records` (or null), they are kept and nothing else.
  void start(const Dataset& data, const RowRecords* records, std::span<const FeatureId> features,
             std::span<const Entry> entries, std::size_t origin, bool keep_order, CancelPoller& poller);
  // Keeps values, for random tests.
  void start(const RowValues& values, std::span<const FeatureId> features, std::span<const Entry> entries,
             std::size_t origin, CancelPoller& poller);
  void finish() { n_rows_ = 0; }
  bool started() const { return n_rows_ > 0; }

  // What the subtree knows of the node at [begin, end) of the grower's list.
  bool is_ordered(FeatureId feature) const { return keys_[static_cast<std::size_t>(feature)] != nullptr; }
  OrderedRows ordered_rows(FeatureId feature, std::size_t begin, std::size_t end) const {
    const std::size_t first = begin - origin_;
    return {keys_[static_cast<std::size_t>(feature)] + first, end - begin, static_cast<Place>(first)};
  }
  KeptRecords records(std::size_t begin) const {
    return {kept_records_.data() + (begin - origin_) * record_size_, record_size_};
  }
  KeptCodes kept_codes(FeatureId feature, std::size_t begin) const {
    return {codes_[static_cast<std::size_t>(feature)], original_.data() + (begin - origin_)};
  }

  KeptValues kept_values(FeatureId feature, std::size_t begin) const {
    return {values_[static_cast<std::size_t>(feature)], original_.data() + (begin - origin_)};
  }

  // Sends the node's rows to its branches; returns how many go to branch 0. `divide_orders` does the same to the ordered
  // features, which is needed only if a branch will look for a test.
  std::size_t divide_rows(std::span<Entry> entries, std::size_t begin, const Column& column,
                          const Split& split, const CategoryPlan& plan);
  // The same by the branch of each row.
  std::size_t divide_rows(std::span<Entry> entries, std::size_t begin,
                          std::span<const std::uint8_t> branches);
  void divide_orders(std::size_t begin, std::size_t end, std::size_t n_left);

  // The same for any number of branches; writes into `branch_begin` where the rows of each begin, and the end.
  void divide_rows(std::span<Entry> entries, std::size_t begin, const Column& column, const Split& split,
                   const CategoryPlan& plan, std::span<std::size_t> branch_begin);
  void divide_orders(std::size_t begin, std::size_t end, std::span<const std::size_t> branch_begin);

 private:
  void start_rows(std::size_t n_rows, std::size_t origin);
  void order(const Column& column, std::span<const Entry> entries, PlacedRank* out);
  void move_rows(std::span<Entry> entries, std::size_t first, std::size_t n_left);
  std::size_t mark(std::size_t first, std::size_t n, const Column& column, const Split& split,
                   const CategoryPlan& plan);
  void keep_records(const RowRecords* records, std::span<const Entry> entries);
  void move_records(std::size_t first, std::size_t n);
  void move_originals(std::size_t first, std::size_t n);

  Region* region_;
  std::size_t origin_ = 0;
  std::size_t n_rows_ = 0;
  Buffer<std::uint32_t> lists_;       // one after the other, of all features
  std::vector<PlacedRank*> keys_;     // per feature: its list of keys, or null
  std::vector<PlacedRank*> ordered_;  // the lists of keys there are
  std::vector<const Code*> codes_;    // per feature: its list of codes by original place, or null
  const RowRecords* row_records_ = nullptr;
  std::size_t record_size_ = 0;
  Buffer<std::uint8_t> kept_records_;  // by place
  Buffer<std::uint8_t> right_records_;
  Buffer<double> value_lists_;
  std::vector<const double*> values_;  // per feature: its list of values by original place, or null
  bool keeps_values_ = false;
  bool some_kept_ = false;
  std::vector<Place> original_;          // by place: where the row was when the subtree started
  std::vector<std::uint8_t> goes_left_;  // by place, for the test at hand
  std::vector<Place> new_place_;         // by place, once the rows have been divided
  std::vector<std::uint32_t> branch_;    // by place, for a test with more than two branches
  Buffer<std::uint64_t> sort_keys_;
  Buffer<std::uint64_t> scratch_;
};

}  // namespace hornbeam::grow
