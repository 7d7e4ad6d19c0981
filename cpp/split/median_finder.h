// The best test of one feature by absolute error. TestFinder (split/test_finder.h) adds rows up in cells, and
// medians do not add up: here the rows of a node are put in the order of the feature, and walked from both
// ends. Limits, ties and missing values are those of the other criteria; categories are put in the order of
// their medians, or taken one by one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "criterion/medians.h"
#include "split/category_plan.h"
#include "split/test_finder.h"

namespace hornbeam::split {

using criterion::AbsoluteErrors;
using criterion::MedianScorer;
using criterion::WideInt;
using data::codes_at_or_below;
using data::halfway;
using data::random_threshold;

template <>
class TestFinder<MedianScorer> {
 public:
  using Element = MedianScorer::Element;

  TestFinder(const MedianScorer& scorer, const CategoryPlan& plan, bool, Region* = nullptr)
      : scorer_(scorer), one_by_one_(plan.split() == CategoricalSplit::kOneVsRest) {}

  MedianScorer& scorer() { return scorer_; }
  const std::vector<Element>& node_cell() const { return node_; }
  const std::vector<Element>& known_cell() const { return node_; }  // no row is left out
  double tie_scale() const { return 0.0; }

  void add_up(std::span<const Entry> entries, std::vector<Element>& cell) {
    scorer_.stats().load(entries);
    cell.assign(static_cast<std::size_t>(scorer_.cell_size()), Element{0});
    scorer_.stats().add_all(cell.data(), entries);
  }
  // Ranks the rows by each output.
  void load(std::span<const Entry> entries, const std::vector<Element>& cell);

  bool counts_right_away(const Column&) const { return false; }
  bool count(const Column& column) { return gather(column); }
  bool gather(const Column& column);
  void find_best(const Column& column, const Limits& limits, FirstBest<Split>& best, FeatureId feature);
  void find_random(const Column& column, const Limits& limits, Stream& stream, FirstBest<Split>& best,
                   FeatureId feature);
  void finish(const Column& column, Split& split) const;

  // A criterion that needs rows has no subtrees, values or records (grow/plan.cpp): nobody calls these.
  bool gather(const Column& column, const KeptCodes&) { return gather(column); }
  bool find_best(const Column&, OrderedRows, const Limits&, FirstBest<Split>&, FeatureId) { return false; }
  template <class Values>
  bool find_random(const Values&, const Column&, const Limits&, Stream, FirstBest<Split>&, FeatureId) {
    return false;
  }
  void finish(const Column& column, const OrderedRows&, Split& split) const { finish(column, split); }
  template <class Records>
  void finish(const Column& column, const RowRecords&, const Records&, Split& split) const {
    finish(column, split);
  }

 private:
  // Rows that no test parts: those of one code, side by side in order_.
  struct Group {
    Code code;
    std::size_t begin;
    std::size_t end;
  };
  struct Side {
    std::int64_t rows = 0;
    std::int64_t weight = 0;
  };

  void make_groups();
  void order_by_median();
  void walk(const Limits& limits, bool missing_left, const Column& column, FirstBest<Split>& best,
            FeatureId feature);
  void try_each_category(const Limits& limits, FirstBest<Split>& best, FeatureId feature);
  template <class GoesLeft>
  void offer_sides(const Limits& limits, const GoesLeft& goes_left, const Split& split,
                   FirstBest<Split>& best);
  template <class Positions>
  void add_errors(const Positions& walked, std::span<const std::size_t> ends, double* errors);
  bool admissible(const Side& left, const Limits& limits) const;
  Split split_of(FeatureId feature, bool missing_left) const;
  std::int64_t weight(std::size_t position) const { return scorer_.stats().entry_weight(entries_[position]); }

  MedianScorer scorer_;
  bool one_by_one_;
  std::span<const Entry> entries_;
  std::vector<Element> node_;
  std::vector<std::vector<std::uint32_t>> rank_;     // [output][position]
  std::vector<std::vector<std::int64_t>> numbers_;   // [output][rank]
  std::vector<std::vector<std::uint32_t>> by_rank_;  // [output][rank]: the position
  std::vector<Code> codes_;
  Code missing_code_ = 0;
  std::vector<std::uint32_t> order_;    // positions with known values, by code,
  std::vector<std::uint32_t> missing_;  // and those without
  std::vector<Group> groups_;
  std::vector<std::uint32_t> walked_;
  std::vector<std::size_t> ends_;
  std::vector<double> left_errors_;
  std::vector<double> right_errors_;
  AbsoluteErrors errors_;
};

inline void TestFinder<MedianScorer>::load(std::span<const Entry> entries, const std::vector<Element>& cell) {
  entries_ = entries;
  node_ = cell;
  scorer_.stats().load(entries);
  const auto n_outputs = static_cast<std::size_t>(scorer_.n_outputs());
  rank_.resize(n_outputs);
  numbers_.resize(n_outputs);
  by_rank_.resize(n_outputs);
  for (std::size_t o = 0; o < n_outputs; ++o) {
    const auto number = [&](std::uint32_t i) { return scorer_.number(entries[i].row, static_cast<int>(o)); };
    std::vector<std::uint32_t>& by_rank = by_rank_[o];
    by_rank.resize(entries.size());
    std::iota(by_rank.begin(), by_rank.end(), 0u);
    std::ranges::sort(by_rank, {}, number);
    rank_[o].resize(entries.size());
    numbers_[o].resize(entries.size());
    for (std::size_t r = 0; r < by_rank.size(); ++r) {
      rank_[o][by_rank[r]] = static_cast<std::uint32_t>(r);
      numbers_[o][r] = number(by_rank[r]);
    }
  }
}

inline bool TestFinder<MedianScorer>::gather(const Column& column) {
  missing_code_ = column.missing_code();
  codes_.resize(entries_.size());
  order_.clear();
  missing_.clear();
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    codes_[i] = column.code(entries_[i].row);
    (codes_[i] == missing_code_ ? missing_ : order_).push_back(static_cast<std::uint32_t>(i));
  }
  if (order_.empty()) return false;
  const auto [lowest, highest] = std::ranges::minmax(order_, {}, [&](std::uint32_t i) { return codes_[i]; });
  return codes_[lowest] != codes_[highest] || !missing_.empty();
}

inline void TestFinder<MedianScorer>::make_groups() {
  std::ranges::sort(order_, {}, [&](std::uint32_t i) { return codes_[i]; });
  groups_.clear();
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Code code = codes_[order_[i]];
    if (groups_.empty() || groups_.back().code != code) groups_.push_back({code, i, i});
    groups_.back().end = i + 1;
  }
}

// Categories by the medians of their rows, equal ones by code; with several outputs by the first.
inline void TestFinder<MedianScorer>::order_by_median() {
  std::vector<std::int64_t> medians(groups_.size());
  std::vector<std::uint32_t> members;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    const auto at = [&](std::size_t i) { return order_.begin() + static_cast<std::ptrdiff_t>(i); };
    members.assign(at(groups_[g].begin), at(groups_[g].end));
    std::ranges::sort(members, {}, [&](std::uint32_t i) { return rank_[0][i]; });
    std::int64_t whole = 0;
    for (const std::uint32_t i : members) whole += weight(i);
    std::int64_t up_to = 0;
    for (const std::uint32_t i : members) {
      up_to += weight(i);
      medians[g] = numbers_[0][rank_[0][i]];
      if (2 * up_to >= whole) break;
    }
  }
  std::vector<std::size_t> places(groups_.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, {}, [&](std::size_t g) { return medians[g]; });
  std::vector<Group> ordered;
  for (const std::size_t g : places) ordered.push_back(groups_[g]);
  groups_ = std::move(ordered);
}

// Adds the errors of the rows up to each end.
template <class Positions>
void TestFinder<MedianScorer>::add_errors(const Positions& walked, std::span<const std::size_t> ends,
                                          double* errors) {
  for (int o = 0; o < scorer_.n_outputs(); ++o) {
    const std::vector<std::uint32_t>& rank = rank_[static_cast<std::size_t>(o)];
    errors_.start(numbers_[static_cast<std::size_t>(o)]);
    std::size_t at = 0;
    for (std::size_t e = 0; e < ends.size(); ++e) {
      for (; at < ends[e]; ++at) errors_.add(rank[walked[at]], weight(walked[at]));
      errors[e] += static_cast<double>(errors_.error()) * scorer_.unit(o);
    }
  }
}

inline bool TestFinder<MedianScorer>::admissible(const Side& left, const Limits& limits) const {
  if (!limits.bind) return true;
  return left.rows >= limits.min_rows && limits.node_rows - left.rows >= limits.min_rows &&
         left.weight >= limits.min_weight && limits.node_weight - left.weight >= limits.min_weight;
}

inline Split TestFinder<MedianScorer>::split_of(FeatureId feature, bool missing_left) const {
  Split split;
  split.feature = feature;
  split.n_missing = static_cast<std::uint32_t>(missing_.size());
  if (!missing_.empty()) split.missing_branch = missing_left ? 0 : 1;
  return split;
}

// Offers the groups in their order, cut after each of them; what is missing goes first or last.
inline void TestFinder<MedianScorer>::walk(const Limits& limits, bool missing_left, const Column& column,
                                           FirstBest<Split>& best, FeatureId feature) {
  walked_.clear();
  if (missing_left) walked_ = missing_;
  ends_.clear();
  std::vector<std::size_t> last_group;
  const bool parts_missing = !missing_.empty() && !missing_left;
  Side left;
  for (const std::uint32_t i : walked_) left.weight += weight(i);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (std::size_t i = groups_[g].begin; i < groups_[g].end; ++i) {
      walked_.push_back(order_[i]);
      left.weight += weight(order_[i]);
    }
    left.rows = static_cast<std::int64_t>(walked_.size());
    if (g + 1 == groups_.size() && !parts_missing) break;
    if (!admissible(left, limits)) continue;
    ends_.push_back(walked_.size());
    last_group.push_back(g);
  }
  if (parts_missing) walked_.insert(walked_.end(), missing_.begin(), missing_.end());
  if (ends_.empty()) return;
  left_errors_.assign(ends_.size(), 0.0);
  right_errors_.assign(ends_.size(), 0.0);
  add_errors(walked_, ends_, left_errors_.data());
  std::ranges::reverse(walked_);
  std::ranges::reverse(ends_);
  for (std::size_t& end : ends_) end = walked_.size() - end;
  add_errors(walked_, ends_, right_errors_.data());
  for (std::size_t c = 0; c < last_group.size(); ++c) {
    const double score = -(left_errors_[c] + right_errors_[last_group.size() - 1 - c]);
    if (best.found() && !(score > best.score())) continue;
    Split split = split_of(feature, missing_left);
    const std::size_t g = last_group[c];
    const bool known_alone = g + 1 == groups_.size();
    if (column.kind == ColumnKind::kNumeric) {
      split.last_left = groups_[g].code;
      split.first_right = known_alone ? kAfterLast : groups_[g + 1].code;
    } else {
      for (std::size_t k = 0; k < groups_.size(); ++k)
        (k <= g ? split.left_categories : split.right_categories).push_back(groups_[k].code);
      std::ranges::sort(split.left_categories);
      std::ranges::sort(split.right_categories);
    }
    best.offer(score, split);
  }
}

// Sums up both sides at once, by rank.
template <class GoesLeft>
void TestFinder<MedianScorer>::offer_sides(const Limits& limits, const GoesLeft& goes_left,
                                           const Split& split, FirstBest<Split>& best) {
  Side sides[2];
  std::vector<std::uint8_t> is_left(entries_.size());
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    is_left[i] = goes_left(i);
    Side& side = sides[is_left[i]];
    side.rows += 1;
    side.weight += weight(i);
  }
  if (sides[0].rows == 0 || sides[1].rows == 0 || !admissible(sides[1], limits)) return;
  double score = 0.0;
  for (int o = 0; o < scorer_.n_outputs(); ++o) {
    const std::vector<std::uint32_t>& by_rank = by_rank_[static_cast<std::size_t>(o)];
    const std::vector<std::int64_t>& numbers = numbers_[static_cast<std::size_t>(o)];
    WideInt errors[2] = {0, 0};
    std::int64_t up_to[2] = {0, 0};
    WideInt below[2] = {0, 0};
    std::int64_t below_weight[2] = {0, 0};
    WideInt whole[2] = {0, 0};
    std::int64_t median[2] = {0, 0};
    for (std::size_t r = 0; r < by_rank.size(); ++r) {
      const std::uint8_t s = is_left[by_rank[r]];
      const std::int64_t w = weight(by_rank[r]);
      const WideInt weighted = WideInt{numbers[r]} * w;
      if (2 * up_to[s] < sides[s].weight) {  // this one holds the median, unless a later one does
        below[s] = whole[s];
        below_weight[s] = up_to[s];
        median[s] = numbers[r];
      }
      whole[s] += weighted;
      up_to[s] += w;
    }
    for (int s = 0; s < 2; ++s) {
      errors[s] = (whole[s] - 2 * below[s]) - WideInt{median[s]} * (sides[s].weight - 2 * below_weight[s]);
    }
    score -= static_cast<double>(errors[0] + errors[1]) * scorer_.unit(o);
  }
  best.offer(score, split);
}

inline void TestFinder<MedianScorer>::try_each_category(const Limits& limits, FirstBest<Split>& best,
                                                        FeatureId feature) {
  const bool tells_apart = groups_.size() > 1;  // else only what is known from what is missing
  for (const Group& group : groups_) {
    for (const bool missing_left : {true, false}) {
      if (!tells_apart || (missing_left && missing_.empty())) continue;
      Split split = split_of(feature, missing_left);
      split.categories = {CategoryTest::Kind::kIs, 0, group.code};
      const auto goes_left = [&](std::size_t i) {
        return codes_[i] == missing_code_ ? missing_left : codes_[i] == group.code;
      };
      offer_sides(limits, goes_left, split, best);
    }
  }
  if (missing_.empty()) return;
  Split split = split_of(feature, false);
  split.categories = {CategoryTest::Kind::kKnown, 0, 0};
  const auto is_known = [&](std::size_t i) { return codes_[i] != missing_code_; };
  offer_sides(limits, is_known, split, best);
}

inline void TestFinder<MedianScorer>::find_best(const Column& column, const Limits& limits,
                                                FirstBest<Split>& best, FeatureId feature) {
  make_groups();
  FirstBest<Split> own(0.0);
  if (column.kind == ColumnKind::kCategorical && one_by_one_) {
    try_each_category(limits, own, feature);
  } else {
    if (column.kind == ColumnKind::kCategorical) order_by_median();
    if (!missing_.empty()) walk(limits, true, column, own, feature);
    walk(limits, false, column, own, feature);
  }
  if (own.found()) best.offer(own.score(), own.winner());
}

inline void TestFinder<MedianScorer>::find_random(const Column& column, const Limits& limits, Stream& stream,
                                                  FirstBest<Split>& best, FeatureId feature) {
  make_groups();
  const bool missing_left = !missing_.empty() && (stream.next() >> 63) == 0;
  Split split = split_of(feature, missing_left);
  const Code lowest = groups_.front().code;
  const Code highest = groups_.back().code;
  if (lowest == highest) {  // one known value: only known against missing is left
    split.missing_branch = 1;
    split.first_right = kAfterLast;
    if (column.kind == ColumnKind::kCategorical) split.left_categories = {lowest};
    const auto is_known = [&](std::size_t i) { return codes_[i] != missing_code_; };
    return offer_sides(limits, is_known, split, best);
  }
  if (column.kind == ColumnKind::kCategorical) {
    for (const Group& group : groups_)
      ((stream.next() >> 63) != 0 ? split.left_categories : split.right_categories).push_back(group.code);
    if (split.left_categories.empty()) std::swap(split.left_categories, split.right_categories);
    if (split.right_categories.empty()) {
      split.right_categories.push_back(split.left_categories.back());
      split.left_categories.pop_back();
    }
    const auto in_set = [&](std::size_t i) {
      return codes_[i] == missing_code_ ? missing_left
                                        : std::ranges::binary_search(split.left_categories, codes_[i]);
    };
    return offer_sides(limits, in_set, split, best);
  }
  const double u = stream.unit();
  if (column.binned) {
    const Code low = lowest + static_cast<Code>(u * (highest - lowest));
    split.threshold = column.values[low];
    split.first_right = low + 1;
  } else {
    split.threshold = random_threshold(column, column.values[lowest], column.values[highest], u);
    split.first_right = codes_at_or_below(column, split.threshold);
  }
  const auto is_low = [&](std::size_t i) {
    return codes_[i] == missing_code_ ? missing_left : codes_[i] < split.first_right;
  };
  offer_sides(limits, is_low, split, best);
}

inline void TestFinder<MedianScorer>::finish(const Column& column, Split& split) const {
  if (column.kind == ColumnKind::kCategorical || !std::isnan(split.threshold)) return;
  if (split.first_right == kAfterLast) {
    split.threshold = kInfinity;
    split.first_right = column.n_codes;
  } else if (column.binned) {
    split.threshold = column.values[split.last_left];
    split.first_right = split.last_left + 1;
  } else {
    split.threshold = halfway(column.values[split.last_left], column.values[split.first_right]);
    split.first_right = codes_at_or_below(column, split.threshold);
  }
}

}  // namespace hornbeam::split
