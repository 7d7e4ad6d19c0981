// The best test of one feature at one node. The node's codes are gathered once; then
//   few codes for the rows:  count rows into one cell per code and walk the cells;
//   many codes:              sort (code, payload) keys and walk the rows;
// both present the same candidates in the same order to the same Scorer, so they find the same test.
#pragma once

#include <bit>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "hornbeam/criterion.h"
#include "hornbeam/dataset.h"
#include "hornbeam/radix.h"
#include "hornbeam/sampler.h"
#include "hornbeam/stats.h"
#include "hornbeam/types.h"

namespace hornbeam {

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

// A finished test, ready to be put into a tree and to partition rows.
struct Split {
  FeatureId feature = kNoFeature;
  double threshold = kNoThreshold;
  Code first_right = 0;               // numeric: codes below it go left
  std::vector<Code> left_categories;  // categorical: known codes of branch 0, ascending
  std::vector<Code> right_categories;
  std::int32_t missing_branch =
      -1;  // -1: the node has no missing value here, the larger branch is to be taken
};

template <Scorer S>
class TestFinder {
 public:
  using Element = typename S::Element;
  using Stats = typename S::Stats;

  explicit TestFinder(const S& scorer) : scorer_(scorer) {}

  // Makes these rows the node at hand and sums its cell.
  void load(std::span<const Entry> entries) {
    entries_ = entries;
    Stats& stats = scorer_.stats();
    stats.load(entries);
    node_.assign(static_cast<std::size_t>(stats.cell_size()), Element{0});
    for (std::size_t i = 0; i < entries.size(); ++i)
      stats.add(node_.data(), stats.sort_payload(entries[i], i));
    codes_.grow_to(entries.size());
  }
  const std::vector<Element>& node_cell() const { return node_; }
  double tie_scale() const { return scorer_.tie_scale(node_.data()); }

  S& scorer() { return scorer_; }

  // False when the feature is constant in the node, missing values counting as one value.
  bool gather(const Column& column);

  // Offers the best test of the gathered feature; false if it has none. Numeric tests are offered by the
  // first present code on their right; the winner of all features gets its threshold by `finish`.
  bool find_best(const Column& column, const Limits& limits, FirstBest<Split>& best, FeatureId feature);

  // Offers one random test: a threshold uniform between the least and the largest value, or a random set of
  // categories.
  bool find_random(const Column& column, const Limits& limits, Stream& stream, FirstBest<Split>& best,
                   FeatureId feature);

  // Puts the threshold halfway between the neighbouring values of the node at hand.
  void finish(const Column& column, Split& split);

 private:
  struct Found {
    double score = -kInfinity;
    Code place = 0;  // what it means is the search's own affair
    bool missing_left = false;
    bool any = false;
  };

  using Walk = typename S::Walk;

  bool admissible(const Walk& walk, const Limits& limits) const;
  Walk start_walk(bool missing_left, std::size_t most_notes);
  Found best_place(const Walk& walk, bool missing_left);
  Found merge_directions(const Found& missing_left, const Found& missing_right) const;

  bool count_pays() const;
  void count_into_cells();
  void clear_cells();
  Found walk_cells(const Limits& limits, bool missing_left);
  void sort_keys();
  Found walk_keys(const Limits& limits, bool missing_left);
  void make_groups();
  Found walk_groups(const Limits& limits, bool missing_left);
  Found find_cut(const Limits& limits);
  Found find_subset(const Limits& limits);
  Found find_subset_exhaustively(const Limits& limits);
  Found walk_masks(const Limits& limits, bool missing_left);
  void order_groups();
  void round_keys();
  void compute_missing_cell();
  Code present_before(Code place) const;
  void draw_categories(Stream& stream, Split& split);
  void draw_threshold(const Column& column, Stream& stream, Split& split) const;
  void write_categories(const Found& found, Split& split) const;

  static constexpr std::size_t kExhaustiveCategories = 8;
  static constexpr std::size_t kInsertionRows = 24;
  static constexpr std::size_t kBucketRows = 4096;

  S scorer_;
  std::span<const Entry> entries_;
  std::vector<Element> node_;

  // The gathered feature.
  Buffer<Code> codes_;
  Code lowest_ = 0;
  Code highest_ = 0;  // known codes only
  Code missing_code_ = 0;
  std::size_t n_missing_ = 0;
  std::vector<Element> missing_cell_;

  NoteRoom<Code> places_;  // where the noted candidates lie
  Buffer<Element> cells_;  // all zero between uses
  Buffer<std::uint64_t> keys_;
  Buffer<std::uint64_t> key_scratch_;
  std::uint64_t* sorted_ = nullptr;
  std::size_t n_sorted_ = 0;

  // Categorical features: the present categories with their cells.
  std::vector<Code> group_code_;
  std::vector<Element> group_cells_;
  std::vector<std::uint32_t> group_order_;
  std::vector<double> group_key_;
};

}  // namespace hornbeam

#include "hornbeam/split_impl.h"
