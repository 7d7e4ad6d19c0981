// The best test of one feature at one node. Within a subtree that keeps the feature in order
// (grow/fast/subtree.h), the rows are walked as they lie. Elsewhere the node's codes are gathered once; then
//   few codes for the rows:  count rows into one cell per code and walk the cells;
//   many codes:              sort (code, payload) keys and walk the rows.
// All present the same candidates in the same order to the same Scorer, so they find the same test.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/radix.h"
#include "base/sampler.h"
#include "base/types.h"
#include "criterion/choice.h"
#include "criterion/concepts.h"
#include "criterion/stats.h"
#include "data/dataset.h"
#include "data/row_records.h"
#include "split/category_tests.h"
#include "split/merge_categories.h"
#include "split/surrogates.h"

namespace hornbeam::split {

using criterion::BoundsGroups;
using criterion::CandidateList;
using criterion::Contender;
using criterion::GroupBounds;
using criterion::RowFacts;
using criterion::Scorer;
using criterion::tie_slack;
using criterion::Walk;
using data::GroupedCode;
using data::kGroups;
using data::RowRecords;

// What a branch must satisfy to exist.
struct Limits {
  bool bind = false;  // any of them can refuse a test that parts the rows
  std::int64_t min_rows = 1;
  std::int64_t min_weight = 0;  // fixed point
  std::int64_t node_rows = 0;
  std::int64_t node_weight = 0;
  int direction = 0;          // the feature's monotonic constraint: -1, 0, +1
  double lower = -kInfinity;  // bounds on what a constrained test's branches may predict
  double upper = kInfinity;
};

// Keeps the best of the candidates offered in order; among equals the first stays.
template <class What>
class FirstBest {
 public:
  explicit FirstBest(double scale) : scale_(scale) {}

  bool offer(double score, const What& what) {
    if (!(score > score_)) return false;
    const bool wins = !winner_.has_value() || score > score_ + tie_slack(score_, scale_);
    if (wins) winner_ = what;
    score_ = score;
    return wins;
  }
  bool found() const { return winner_.has_value(); }
  double score() const { return score_; }
  const What& winner() const { return *winner_; }
  What& winner() { return *winner_; }

 private:
  std::optional<What> winner_;
  double score_ = -kInfinity;
  double scale_;
};

// The place of the test that parts known values from missing ones.
inline constexpr Code kAfterLast = std::numeric_limits<Code>::max();

// A row's place among the rows of its subtree, and below a value's rank there the place of the row that has
// it: see grow/fast/subtree.h.
using Place = std::uint16_t;
using PlacedRank = std::uint32_t;
inline constexpr int kPlaceBits = 16;
inline constexpr PlacedRank placed_rank(std::uint32_t rank, Place place) {
  return rank << kPlaceBits | place;
}
inline constexpr std::uint32_t rank_of(PlacedRank key) {
  return key >> kPlaceBits;
}
inline constexpr Place place_of(PlacedRank key) {
  return static_cast<Place>(key);
}
inline constexpr PlacedRank with_place(PlacedRank key, std::uint32_t place) {
  return (key >> kPlaceBits << kPlaceBits) | place;
}

// A feature of a node within a subtree: its rows in ascending order, `first` being the node's first place,
struct OrderedRows {
  const PlacedRank* keys;
  std::size_t n;
  Place first;
};
// or the codes of its rows, in their order.
struct KeptCodes {
  const Code* codes;
  const Place* places;
  Code operator[](std::size_t i) const { return codes[places[i]]; }
};

// or, for random tests, their values.
struct KeptValues {
  const double* values;
  const Place* places;
  double operator[](std::size_t i) const { return values[places[i]]; }
};
// Where there is no subtree, values by row.
template <class Value>
struct ValuesByRow {
  const Value* values;
  const Entry* entries;
  double operator[](std::size_t i) const { return values[entries[i].row]; }
};

// The records (data/row_records.h) of a node's rows: side by side in its subtree,
struct KeptRecords {
  const std::uint8_t* first;
  std::size_t size;
  const std::uint8_t* operator[](std::size_t i) const { return first + i * size; }
  // The groups of one feature.
  auto groups(RowRecords::Place place) const {
    return [byte = first + place.coarse, size = size](std::size_t i) { return byte[i * size]; };
  }
};
// or by row. Then a node has a good part of the table's rows: of a column of groups, a cache line has
// several.
struct RecordsByRow {
  const RowRecords& records;
  const Entry* entries;
  const std::uint8_t* operator[](std::size_t i) const { return records.of_row(entries[i].row); }
  auto groups(RowRecords::Place place) const {
    return
        [column = records.groups(place), entries = entries](std::size_t i) { return column[entries[i].row]; };
  }
};

// A threshold that nobody has looked up yet. (Any number can be one, the mark that trees have for "none"
// too.)
inline constexpr double kNotYet = std::numeric_limits<double>::quiet_NaN();

// A test, ready to be put into a tree and to partition rows.
struct Split {
  FeatureId feature = kNoFeature;
  double threshold = kNotYet;
  Code last_left = 0;                 // numeric: the neighbouring codes that the test parts; once it has a
  Code first_right = 0;               // threshold, codes below first_right go left
                                      // (random tests of values: 0, nobody has looked it up)
  GroupedCode last_left_grouped = 0;  // found by groups: up to this one, rows go left; between groups, it is
  std::uint8_t group_right = 0;       // the last that could be, and this the group of the right neighbour
  std::uint32_t n_known_left = 0;     // ordered rows of a subtree: how many with known values go left
  std::uint32_t n_missing = 0;        // rows of the node that lack the feature
  CategoryTest categories;            // categorical: what is asked; of listed categories
  std::vector<Code> left_categories;  // those of branch 0, ascending,
  std::vector<Code> right_categories;
  std::vector<CategoryBranch> many_categories;  // or, where there are more branches, all of them, ascending
  std::int32_t n_branches = 2;
  std::int32_t empty_branch = -1;  // takes the fit's categories that the node lacks; -1: missing values' does
  std::int32_t missing_branch =
      -1;  // -1: the node has no missing value here, the larger branch is to be taken
  std::vector<Surrogate> surrogates;
  // For the second step of a criterion (criterion/choice.h):
  double n_tests = 1.0;                      // of the feature, of which this is the best
  std::int64_t left_weight = 0;              // in fixed point, where the criterion's first step candidates it
  std::int64_t left_out_weight = 0;          // of rows that lack the feature and take no part
  std::vector<std::int64_t> branch_weights;  // of many branches, in fixed point
  std::optional<RowFacts> known;             // where p-values leave out rows that lack the feature

  Contender contender(double score) const {
    const std::int32_t n_with_rows = n_branches - (empty_branch >= 0 ? 1 : 0);
    return {score, n_tests, n_with_rows, left_weight, left_out_weight, branch_weights, known};
  }
};

// Choice keeps views of the branch weights while a list of splits grows.
static_assert(std::is_nothrow_move_constructible_v<Split>);

struct CodeRange {
  Code lowest;
  Code highest;
};

template <Scorer S>
class TestFinder {
 public:
  using Element = typename S::Element;
  using Stats = typename S::Stats;

  // `plan` says how categories are split, and outlives the finder. With `known_only`, a test is scored on the
  // rows that have its feature, and says nothing of the others.
  TestFinder(const S& scorer, const CategoryPlan& plan, bool known_only, Region* region = nullptr)
      : scorer_(scorer),
        plan_(plan),
        known_only_(known_only),
        steps_(region),
        left_steps_(region),
        values_(region),
        codes_(region),
        cells_(region),
        keys_(region),
        key_scratch_(region) {}

  // Adds up the cell of some rows.
  void add_up(std::span<const Entry> entries, std::vector<Element>& cell);

  // Makes these rows, with their cell, the node at hand.
  void load(std::span<const Entry> entries, const std::vector<Element>& cell);

  const std::vector<Element>& node_cell() const { return node_; }
  // Of the rows that have the feature that was last looked at, where others were left out.
  const std::vector<Element>& known_cell() const { return known_cell_; }
  double tie_scale() const { return scorer_.tie_scale(node_.data()); }

  S& scorer() { return scorer_; }

  // Puts the codes of the node's rows side by side; false when the feature is constant in the node, missing
  // values counting as one value if a test may part them from the others.
  bool gather(const Column& column);
  // The same for a numeric feature with few codes for the rows and none missing, counting right away.
  bool count(const Column& column);
  bool counts_right_away(const Column& column) const {
    return column.kind == ColumnKind::kNumeric && !column.has_missing &&
           4 * std::size_t{column.n_codes} <= entries_.size();
  }
  bool gather(const Column& column, const KeptCodes& codes);

  // Offers the best test of the gathered feature. Numeric tests are offered by the codes they part; the
  // winner of all features gets its threshold by `finish`.
  void find_best(const Column& column, const Limits& limits, FirstBest<Split>& best, FeatureId feature);

  // The same for a feature that the subtree keeps in order, without gathering; false when it is constant.
  bool find_best(const Column& column, OrderedRows rows, const Limits& limits, FirstBest<Split>& best,
                 FeatureId feature);

  // The same by groups of values, where no value is missing: the rows are counted by the groups of a few
  // features at once; then the best test of each of them is offered.
  static constexpr std::size_t kCountedAtOnce = 4;
  template <class Records>
  void count_groups(const Records& records, std::span<const RowRecords::Place> places)
    requires BoundsGroups<S>;
  template <class Records>
  bool find_best(const Column& column, const Records& records, RowRecords::Place place, std::size_t counted,
                 const Limits& limits, FirstBest<Split>& best, FeatureId feature)
    requires BoundsGroups<S>;

  // Offers one random test: a threshold uniform between the least and the largest value, or a random set of
  // categories.
  void find_random(const Column& column, const Limits& limits, Stream& stream, FirstBest<Split>& best,
                   FeatureId feature);

  // The same for a numeric feature whose values are at hand, without gathering; false when it is constant.
  template <class Values>
  bool find_random(const Values& values, const Column& column, const Limits& limits, Stream stream,
                   FirstBest<Split>& best, FeatureId feature);

  // Puts the threshold halfway between the neighbouring values that the test parts.
  void finish(const Column& column, Split& split) const;
  void finish(const Column& column, const OrderedRows& rows, Split& split) const;
  template <class Records>
  void finish(const Column& column, const RowRecords& all, const Records& records, Split& split) const;

 private:
  struct Found {
    double score = -kInfinity;
    Code place = 0;  // what it means is the search's own affair
    bool missing_left = false;
    bool any = false;
    Code last_left = 0;  // numeric: the two neighbouring codes that the test parts
    Code first_right = 0;
    std::int64_t left_weight = 0;
    CategoryTest categories = {};
  };

  using Walk = typename S::Walk;
  using Step = typename Walk::Step;

  std::uint32_t payload(std::size_t i) { return scorer_.stats().sort_payload(entries_[i], i); }
  bool set_range(const Column& column, const CodeRange& range);
  // Whether tests send rows without the feature to one of the branches.
  bool sends_missing() const { return n_missing_ > 0 && !known_only_; }
  const Limits& leave_out_missing(const Limits& limits);
  Code code_of(const Column& column, const OrderedRows& rows, std::size_t i) const;

  bool admissible(const Walk& walk, const Limits& limits) const;
  Walk start_walk(bool missing_left, std::size_t most_candidates);
  Found best_place(const Walk& walk, bool missing_left);
  Found merge_directions(const Found& missing_left, const Found& missing_right) const;
  Split split_of(const Found& found, FeatureId feature) const;

  bool count_pays() const;
  void make_cells(Code first, Code last);
  Element* cell_of(Code code) {
    return cells_.data() + std::size_t{code - first_cell_} * static_cast<std::size_t>(scorer_.cell_size());
  }
  void count_into_cells();
  void clear_cells();
  Found walk_cells(const Limits& limits, bool missing_left);
  void sort_keys();
  template <class Keys>
  Found walk_keys(const Keys& keys, const Limits& limits, bool missing_left);
  template <class WalkOnce>
  Found walk_both_ways(const WalkOnce& walk);
  void name_codes(Found& found, bool counted);
  void make_groups();
  Found walk_groups(const Limits& limits, bool missing_left);
  Found find_cut(const Limits& limits);
  Found find_subset(const Limits& limits);
  Found find_subset_exhaustively(const Limits& limits);
  Found walk_masks(const Limits& limits, bool missing_left);
  void order_groups();
  void compute_missing_cell();
  void draw_categories(Stream& stream, Split& split);
  void draw_threshold(const Column& column, Stream& stream, Split& split) const;
  template <class GoesLeft>
  void move_left(Walk& walk, const GoesLeft& goes_left);
  void offer_drawn(Walk& walk, const Limits& limits, Split split, FirstBest<Split>& best);
  void write_categories(const Found& found, Split& split) const;

  // split/find_groups.h
  void list_groups(std::size_t counted);
  bool mark_hopeful(const GroupBounds& bounds, const Limits& limits);
  std::pair<std::size_t, std::size_t> admissible_edges(const Limits& limits);
  template <class Records>
  void sort_hopeful_rows(const Records& records, RowRecords::Place place);
  Found walk_groups_and_rows(const GroupBounds& bounds, const Limits& limits);

  // split/find_categories.h
  void keep_better(Found& best, const Found& found) const;
  Found find_categories(FeatureId feature, const Limits& limits);
  void sort_groups(FeatureId feature, std::int32_t order);
  CategoryTest cut_after(FeatureId feature, std::int32_t order, std::size_t place) const;
  Found find_in_orders(FeatureId feature, const Limits& limits);
  void list_single_categories();
  void list_digits(FeatureId feature);
  Found walk_firsts(const Limits& limits, bool missing_left);
  Found find_among_firsts(const Limits& limits);
  void write_known(Split& split) const;
  void draw_encoded(FeatureId feature, Stream& stream, Split& split);
  void find_branches(const Limits& limits, FirstBest<Split>& best, FeatureId feature);
  void merge_groups();
  MergeTable merge_table();
  void add_up_branches(std::size_t n_branches);
  std::optional<std::int32_t> branch_for_missing(const Limits& limits, const Split& split);
  double gain_by_joining(std::vector<Element>& joined, Element* branch);
  double score_branches();
  void write_branches(FeatureId feature, Split& split);
  bool is_large_enough(const Element* cell, const Limits& limits);

  static constexpr std::size_t kExhaustiveCategories = 8;

  S scorer_;
  const CategoryPlan& plan_;
  bool known_only_;

  // The node at hand.
  std::span<const Entry> entries_;
  std::vector<Element> node_;
  Buffer<Step> steps_;  // of its rows
  Buffer<Step> left_steps_;
  Buffer<double> values_;

  // The gathered feature.
  Buffer<Code> codes_;
  Code lowest_ = 0;
  Code highest_ = 0;  // known codes only
  Code missing_code_ = 0;
  std::size_t n_missing_ = 0;
  std::vector<Element> missing_cell_;
  const Element* tested_cell_ = nullptr;  // of the rows that take part in tests of the feature: all, or these
  std::vector<Element> known_cell_;
  Limits known_limits_;
  double left_out_ = 0.0;             // what the other rows add to the score of the node,
  std::int64_t left_out_weight_ = 0;  // and their weight

  double to_beat_ = -kInfinity;  // tests with a lower score, or this one, need not be found
  double n_tests_ = 0.0;         // of the feature at hand, so far
  CandidateList<Code> places_;   // where the candidates lie
  Buffer<Element> cells_;        // all zero between uses
  Code first_cell_ = 0;          // the code whose cell is the first
  bool counted_ = false;         // the cells hold the feature at hand already
  Buffer<std::uint64_t> keys_;
  Buffer<std::uint64_t> key_scratch_;
  std::uint64_t* sorted_ = nullptr;
  std::size_t n_sorted_ = 0;

  // Groups of values.
  std::array<std::array<Step, kGroups>, kCountedAtOnce> group_sums_{};  // all zero between uses
  std::array<std::uint8_t, kGroups + 1> groups_;                        // those that have rows
  std::size_t n_groups_ = 0;
  CandidateList<Step> before_group_;  // what comes before each group, and at last the node
  // The same for rows, each once, where the limits ask for them and the steps do not tell.
  std::array<std::array<std::uint32_t, kGroups>, kCountedAtOnce> group_rows_{};
  std::array<std::uint32_t, kGroups + 1> rows_before_;
  std::array<bool, kGroups> is_hopeful_;  // by group: may hold the best test

  // Categorical features: the present categories with their cells.
  std::vector<Code> group_code_;
  std::vector<Element> group_cells_;
  std::vector<std::uint32_t> group_order_;
  std::vector<double> group_key_;
  std::vector<Element> first_cells_;  // what branch 0 of each candidate holds, apart from missing values
  std::vector<CategoryTest> first_tests_;
  std::vector<std::uint32_t> group_branch_;  // tests with a branch per group, or merged group
  std::vector<Element> branch_cells_;
};

}  // namespace hornbeam::split

#include "split/find_categories.h"
#include "split/find_cuts.h"
#include "split/find_feature.h"
#include "split/find_groups.h"
#include "split/find_random.h"
#include "split/find_subsets.h"
