// The best test of one feature by absolute error. The other searches add up rows in cells, but medians cannot be
// added: here the rows of a node are sorted by the feature and walked from both ends. Limits, ties and missing
// values are treated as for the other criteria; categories are put in the order of their medians, or taken one by
// one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "base/cancel.h"
#include "base/sampler.h"
#include "criterion/medians.h"
#include "split/find_random.h"
#include "split/node.h"

namespace hornbeam::split {

using criterion::AbsoluteErrors;
using criterion::MedianScorer;
using criterion::WideInt;

// The rows of a node in the order of each output, sorted once for all features.
template <>
struct SearchBuffers<MedianScorer> {
  explicit SearchBuffers(Region* = nullptr) {}

  std::vector<std::vector<std::uint32_t>> rank;     // [output][position]
  std::vector<std::vector<std::int64_t>> numbers;   // [output][rank]
  std::vector<std::vector<std::uint32_t>> by_rank;  // [output][rank]: the position

  void load(MedianScorer& scorer, std::span<const Entry> entries) {
    scorer.stats().load(entries);
    const auto n_outputs = static_cast<std::size_t>(scorer.n_outputs());
    rank.resize(n_outputs);
    numbers.resize(n_outputs);
    by_rank.resize(n_outputs);
    for (std::size_t o = 0; o < n_outputs; ++o) {
      const auto number = [&](std::uint32_t i) { return scorer.number(entries[i].row, static_cast<int>(o)); };
      by_rank[o].resize(entries.size());
      std::iota(by_rank[o].begin(), by_rank[o].end(), 0u);
      std::ranges::sort(by_rank[o], {}, number);
      rank[o].resize(entries.size());
      numbers[o].resize(entries.size());
      for (std::size_t r = 0; r < entries.size(); ++r) {
        rank[o][by_rank[o][r]] = static_cast<std::uint32_t>(r);
        numbers[o][r] = number(by_rank[o][r]);
      }
    }
  }
};

class MedianFinder {
 public:
  using MedianNode = Node<MedianScorer>;

  // Offers the best test of a feature; false if it is constant in the node. Large nodes take long, so it polls
  // meanwhile.
  bool find(const MedianNode& node, FeatureId id, const Column& column, FirstBest<Split>& best,
            CancelPoller& poller);
  // Offers a random test.
  bool find_random(const MedianNode& node, FeatureId id, const Column& column, Stream& stream,
                   FirstBest<Split>& best, CancelPoller& poller);

 private:
  // About how many nanoseconds a row of a large node takes, to be sorted and to be counted in the sum of errors.
  static constexpr std::size_t kSorting = 64;
  static constexpr std::size_t kErrorOfRow = 256;

  // Rows that no test can separate, because they have the same code: side by side in `order_`.
  struct Group {
    Code code;
    std::size_t begin;
    std::size_t end;
  };
  struct Side {
    std::int64_t rows = 0;
    std::int64_t weight = 0;
  };
  // The feature at hand.
  struct Feature {
    const MedianNode& node;
    const Column& column;
    FeatureId id;
    Limits limits;
    std::span<const Code> codes;             // of the rows
    std::span<const std::uint32_t> missing;  // positions of the rows that lack it
    CancelPoller& poller;

    std::int64_t weight(std::size_t position) const {
      return node.scorer.stats().entry_weight(node.entries[position]);
    }
    bool lacks(std::size_t position) const { return codes[position] == column.missing_code(); }
    Split split(bool missing_left) const {
      Split split;
      split.feature = id;
      split.n_missing = static_cast<std::uint32_t>(missing.size());
      if (!missing.empty()) split.missing_branch = missing_left ? 0 : 1;
      return split;
    }
    bool admits(const Side& left) const {
      if (!limits.bind) return true;
      return left.rows >= limits.min_rows && limits.node_rows - left.rows >= limits.min_rows &&
             left.weight >= limits.min_weight && limits.node_weight - left.weight >= limits.min_weight;
    }
  };

  // Lists the rows by code, and the groups; false if the feature is constant.
  bool list_groups(const MedianNode& node, const Column& column, CancelPoller& poller);
  void order_by_median(const Feature& feature);
  void walk(const Feature& feature, bool missing_left, FirstBest<Split>& best);
  void try_each_category(const Feature& feature, FirstBest<Split>& best);
  template <class GoesLeft>
  void offer_sides(const Feature& feature, const GoesLeft& goes_left, const Split& split,
                   FirstBest<Split>& best);
  template <class Positions>
  void add_errors(const Feature& feature, const Positions& walked, std::span<const std::size_t> ends,
                  double* errors);

  std::vector<Code> codes_;
  std::vector<std::uint32_t> order_;    // positions with known values, by code,
  std::vector<std::uint32_t> missing_;  // and those without
  std::vector<Group> groups_;
  std::vector<std::uint32_t> walked_;
  std::vector<std::size_t> ends_;
  std::vector<double> left_errors_;
  std::vector<double> right_errors_;
  AbsoluteErrors errors_;
};

inline bool MedianFinder::list_groups(const MedianNode& node, const Column& column, CancelPoller& poller) {
  const std::size_t n = node.entries.size();
  poller.poll(kSorting * n);
  codes_.resize(n);
  order_.clear();
  missing_.clear();
  for (std::size_t i = 0; i < n; ++i) {
    codes_[i] = column.code(node.entries[i].row);
    (codes_[i] == column.missing_code() ? missing_ : order_).push_back(static_cast<std::uint32_t>(i));
  }
  if (order_.empty()) return false;
  const auto code = [&](std::uint32_t i) { return codes_[i]; };
  const auto [lowest, highest] = std::ranges::minmax(order_, {}, code);
  if (codes_[lowest] == codes_[highest] && missing_.empty()) return false;
  std::ranges::sort(order_, {}, code);
  groups_.clear();
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Code here = codes_[order_[i]];
    if (groups_.empty() || groups_.back().code != here) groups_.push_back({here, i, i});
    groups_.back().end = i + 1;
  }
  return true;
}

// Orders categories by the medians of their rows, equal ones by code; with several outputs, by the first output.
inline void MedianFinder::order_by_median(const Feature& feature) {
  const SearchBuffers<MedianScorer>& buffers = feature.node.buffers;
  std::vector<std::int64_t> medians(groups_.size());
  std::vector<std::uint32_t> members;
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    feature.poller.poll(kSorting * (groups_[g].end - groups_[g].begin));
    const auto at = [&](std::size_t i) { return order_.begin() + static_cast<std::ptrdiff_t>(i); };
    members.assign(at(groups_[g].begin), at(groups_[g].end));
    std::ranges::sort(members, {}, [&](std::uint32_t i) { return buffers.rank[0][i]; });
    std::int64_t whole = 0;
    for (const std::uint32_t i : members) whole += feature.weight(i);
    std::int64_t up_to = 0;
    for (const std::uint32_t i : members) {
      up_to += feature.weight(i);
      medians[g] = buffers.numbers[0][buffers.rank[0][i]];
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

// Adds up the errors of the rows before each cut.
template <class Positions>
void MedianFinder::add_errors(const Feature& feature, const Positions& walked,
                              std::span<const std::size_t> ends, double* errors) {
  const MedianScorer& scorer = feature.node.scorer;
  const SearchBuffers<MedianScorer>& buffers = feature.node.buffers;
  for (int o = 0; o < scorer.n_outputs(); ++o) {
    const std::vector<std::uint32_t>& rank = buffers.rank[static_cast<std::size_t>(o)];
    errors_.start(buffers.numbers[static_cast<std::size_t>(o)]);
    std::size_t at = 0;
    for (std::size_t e = 0; e < ends.size(); ++e) {
      feature.poller.poll(kErrorOfRow * (ends[e] - at));
      for (; at < ends[e]; ++at) errors_.add(rank[walked[at]], feature.weight(walked[at]));
      errors[e] += static_cast<double>(errors_.error()) * scorer.unit(o);
    }
  }
}

// Offers the groups in their order, cut after each of them; what is missing goes first or last.
inline void MedianFinder::walk(const Feature& feature, bool missing_left, FirstBest<Split>& best) {
  walked_.clear();
  if (missing_left) walked_ = missing_;
  ends_.clear();
  std::vector<std::size_t> last_group;
  const bool parts_missing = !missing_.empty() && !missing_left;
  Side left;
  for (const std::uint32_t i : walked_) left.weight += feature.weight(i);
  for (std::size_t g = 0; g < groups_.size(); ++g) {
    for (std::size_t i = groups_[g].begin; i < groups_[g].end; ++i) {
      walked_.push_back(order_[i]);
      left.weight += feature.weight(order_[i]);
    }
    left.rows = static_cast<std::int64_t>(walked_.size());
    if (g + 1 == groups_.size() && !parts_missing) break;
    if (!feature.admits(left)) continue;
    ends_.push_back(walked_.size());
    last_group.push_back(g);
  }
  if (parts_missing) walked_.insert(walked_.end(), missing_.begin(), missing_.end());
  if (ends_.empty()) return;
  left_errors_.assign(ends_.size(), 0.0);
  right_errors_.assign(ends_.size(), 0.0);
  add_errors(feature, walked_, ends_, left_errors_.data());
  std::ranges::reverse(walked_);
  std::ranges::reverse(ends_);
  for (std::size_t& end : ends_) end = walked_.size() - end;
  add_errors(feature, walked_, ends_, right_errors_.data());
  for (std::size_t c = 0; c < last_group.size(); ++c) {
    const double score = -(left_errors_[c] + right_errors_[last_group.size() - 1 - c]);
    if (best.found() && !(score > best.score())) continue;
    Split split = feature.split(missing_left);
    const std::size_t g = last_group[c];
    const bool known_alone = g + 1 == groups_.size();
    if (feature.column.kind == ColumnKind::kNumeric) {
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
void MedianFinder::offer_sides(const Feature& feature, const GoesLeft& goes_left, const Split& split,
                               FirstBest<Split>& best) {
  const MedianScorer& scorer = feature.node.scorer;
  const SearchBuffers<MedianScorer>& buffers = feature.node.buffers;
  feature.poller.poll(8 * feature.codes.size());
  Side sides[2];
  std::vector<std::uint8_t> is_left(feature.codes.size());
  for (std::size_t i = 0; i < is_left.size(); ++i) {
    is_left[i] = goes_left(i);
    Side& side = sides[is_left[i]];
    side.rows += 1;
    side.weight += feature.weight(i);
  }
  if (sides[0].rows == 0 || sides[1].rows == 0 || !feature.admits(sides[1])) return;
  double score = 0.0;
  for (int o = 0; o < scorer.n_outputs(); ++o) {
    const std::vector<std::uint32_t>& by_rank = buffers.by_rank[static_cast<std::size_t>(o)];
    const std::vector<std::int64_t>& numbers = buffers.numbers[static_cast<std::size_t>(o)];
    WideInt errors[2] = {0, 0};
    std::int64_t up_to[2] = {0, 0};
    WideInt below[2] = {0, 0};
    std::int64_t below_weight[2] = {0, 0};
    WideInt whole[2] = {0, 0};
    std::int64_t median[2] = {0, 0};
    for (std::size_t r = 0; r < by_rank.size(); ++r) {
      const std::uint8_t s = is_left[by_rank[r]];
      const std::int64_t w = feature.weight(by_rank[r]);
      const WideInt weighted = WideInt{numbers[r]} * w;
      if (2 * up_to[s] < sides[s].weight) {  // the median is here, unless it is further on
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
    score -= static_cast<double>(errors[0] + errors[1]) * scorer.unit(o);
  }
  best.offer(score, split);
}

inline void MedianFinder::try_each_category(const Feature& feature, FirstBest<Split>& best) {
  const bool tells_apart = groups_.size() > 1;  // else only known values from missing ones
  for (const Group& group : groups_) {
    for (const bool missing_left : {true, false}) {
      if (!tells_apart || (missing_left && missing_.empty())) continue;
      Split split = feature.split(missing_left);
      split.categories = {CategoryTest::Kind::kIs, 0, group.code};
      const auto goes_left = [&](std::size_t i) {
        return feature.lacks(i) ? missing_left : feature.codes[i] == group.code;
      };
      offer_sides(feature, goes_left, split, best);
    }
  }
  if (missing_.empty()) return;
  Split split = feature.split(false);
  split.categories = {CategoryTest::Kind::kKnown, 0, 0};
  offer_sides(feature, [&](std::size_t i) { return !feature.lacks(i); }, split, best);
}

inline bool MedianFinder::find(const MedianNode& node, FeatureId id, const Column& column,
                               FirstBest<Split>& best, CancelPoller& poller) {
  if (!list_groups(node, column, poller)) return false;
  const Feature feature{node, column, id, node.limits_of(id), codes_, missing_, poller};
  const bool categorical = column.kind == ColumnKind::kCategorical;
  FirstBest<Split> own(0.0);
  if (categorical && node.categories.split() == CategoricalSplit::kOneVsRest) {
    try_each_category(feature, own);
  } else {
    if (categorical) order_by_median(feature);
    if (!missing_.empty()) walk(feature, true, own);
    walk(feature, false, own);
  }
  if (own.found()) best.offer(own.score(), own.winner());
  return true;
}

inline bool MedianFinder::find_random(const MedianNode& node, FeatureId id, const Column& column,
                                      Stream& stream, FirstBest<Split>& best, CancelPoller& poller) {
  if (!list_groups(node, column, poller)) return false;
  const Feature feature{node, column, id, node.limits_of(id), codes_, missing_, poller};
  const bool missing_left = !missing_.empty() && (stream.next() >> 63) == 0;
  Split split = feature.split(missing_left);
  const Code lowest = groups_.front().code;
  const Code highest = groups_.back().code;
  const bool categorical = column.kind == ColumnKind::kCategorical;
  if (lowest == highest) {  // one known value: the only test left is known against missing
    split.missing_branch = 1;
    split.first_right = kAfterLast;
    if (categorical) split.left_categories = {lowest};
    offer_sides(feature, [&](std::size_t i) { return !feature.lacks(i); }, split, best);
    return true;
  }
  if (categorical) {
    for (const Group& group : groups_)
      ((stream.next() >> 63) != 0 ? split.left_categories : split.right_categories).push_back(group.code);
    if (split.left_categories.empty()) std::swap(split.left_categories, split.right_categories);
    if (split.right_categories.empty()) {
      split.right_categories.push_back(split.left_categories.back());
      split.left_categories.pop_back();
    }
    const auto in_set = [&](std::size_t i) {
      return feature.lacks(i) ? missing_left
                              : std::ranges::binary_search(split.left_categories, feature.codes[i]);
    };
    offer_sides(feature, in_set, split, best);
    return true;
  }
  draw_threshold(column, {codes_.data(), lowest, highest, column.missing_code()}, stream, split);
  const auto is_low = [&](std::size_t i) {
    return feature.lacks(i) ? missing_left : feature.codes[i] < split.first_right;
  };
  offer_sides(feature, is_low, split, best);
  return true;
}

}  // namespace hornbeam::split
