#include "stumps/stumps.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <type_traits>

#include "base/parallel.h"
#include "criterion/accuracy.h"
#include "criterion/facts.h"
#include "criterion/vectors.h"
#include "grow/tree_builder.h"

namespace hornbeam::stumps {

using criterion::BestCandidate;
using criterion::Entry;
using criterion::first_best;
using criterion::fixed_point_scale;
using criterion::Sample;
using criterion::Target;
using criterion::tie_slack;
using criterion::VectorAccuracy;
using criterion::VectorScorer;
using criterion::VectorStats;
using data::codes_at_or_below;
using data::Column;
using data::halfway;
using split::add_up;
using split::CategoryFinder;
using split::CategoryPlan;
using split::gather;
using split::Node;
using split::SearchBuffers;

namespace {

constexpr std::uint32_t kCutFollows = std::uint32_t{1} << 31;  // row numbers are below 2^31
constexpr std::uint32_t kRow = kCutFollows - 1;

std::int64_t heaviest(std::span<const std::int64_t> cell) {
  return *std::max_element(cell.begin(), cell.end());
}

// Like std::llround for 0 <= x < 2^52, but suitable for vector instructions.
std::int64_t rounded(double x) {
  const auto whole = static_cast<std::int64_t>(x);
  return whole + (x - static_cast<double>(whole) >= 0.5 ? 1 : 0);
}

// If all weights that are not 0 are equal, rows can be counted instead: returns that weight, or else 0.
double common_weight(std::span<const double> weights) {
  double common = 0.0;
  for (const double weight : weights) {
    if (weight == 0 || weight == common) continue;
    if (common != 0) return 0.0;
    common = weight;
  }
  return common;
}

struct Extremes {
  std::int64_t least;
  std::int64_t largest;
  bool any;
};

// The smallest and the largest sum of signed weights to the left of a cut, over all cuts.
Extremes extremes_of_cuts(std::span<const std::uint32_t> known, const std::int64_t* weights) {
  constexpr std::int64_t kFar = std::int64_t{1} << 62;
  std::int64_t sum = 0;
  std::int64_t least = kFar;
  std::int64_t largest = -kFar;
  for (const std::uint32_t marked : known) {
    sum += weights[marked & kRow];
    const bool cut = marked >= kCutFollows;
    least = std::min(least, cut ? sum : kFar);
    largest = std::max(largest, cut ? sum : -kFar);
  }
  return {least, largest, least != kFar};
}

}  // namespace

// Scratch of one thread.
struct StumpSearch::Workspace {
  Buffer<std::uint32_t> known;      // the rows of a column that count, if not all do
  std::vector<std::uint32_t> cuts;  // positions in the known rows
  std::vector<double> scores;       // of these cuts
  std::vector<std::int64_t> cell;

  // Scores the cuts of the known rows, which move to the left one by one; `left` and `right` hold the rows
  // with missing values at first. The heaviest class of a side that only gains rows is found in constant
  // time, so a pass from each end is enough.
  void score_cuts(std::span<const std::uint32_t> known_rows, const Weighed* rows,
                  std::span<const std::int64_t> left, std::span<const std::int64_t> right) {
    cuts.clear();
    scores.clear();
    cell.assign(left.begin(), left.end());
    std::int64_t heaviest_class = heaviest(cell);
    for (std::size_t i = 0; i < known_rows.size(); ++i) {
      const Weighed& row = rows[known_rows[i] & kRow];
      std::int64_t& weight = cell[static_cast<std::size_t>(row.label)];
      weight += row.weight;
      heaviest_class = std::max(heaviest_class, weight);
      if (known_rows[i] < kCutFollows) continue;
      cuts.push_back(static_cast<std::uint32_t>(i));
      scores.push_back(static_cast<double>(heaviest_class));
    }
    cell.assign(right.begin(), right.end());
    heaviest_class = heaviest(cell);
    std::size_t cut = cuts.size();
    for (std::size_t i = known_rows.size(); i-- > 0 && cut > 0;) {
      if (known_rows[i] >= kCutFollows) scores[--cut] += static_cast<double>(heaviest_class);
      const Weighed& row = rows[known_rows[i] & kRow];
      std::int64_t& weight = cell[static_cast<std::size_t>(row.label)];
      weight += row.weight;
      heaviest_class = std::max(heaviest_class, weight);
    }
  }
};

// Finds tests on categories, as for any tree. One per thread and round.
class StumpSearch::CategorySearch {
 public:
  using AccuracyScorer = VectorScorer<VectorAccuracy>;

  CategorySearch(const VectorStats& stats, std::span<const Entry> entries, double unit)
      : scorer_(stats), entries_(entries), unit_(unit) {
    add_up(scorer_, entries, cell_);
    buffers_.load(scorer_, entries);
  }

  void find(const Column& column, FeatureId feature, FirstBest<Split>& best) {
    const Node<AccuracyScorer> node{scorer_, buffers_, entries_, cell_, CategoryPlan::subsets()};
    FirstBest<Split> found(0.0);
    finder_.find(node, feature, gather(node, column), found);
    if (found.found()) best.offer(found.score() * unit_, found.winner());
  }

 private:
  AccuracyScorer scorer_;
  SearchBuffers<AccuracyScorer> buffers_;
  std::span<const Entry> entries_;
  std::vector<AccuracyScorer::Element> cell_;
  CategoryFinder<AccuracyScorer> finder_;
  double unit_;  // a unit of the finder's weights in those of the search
};

StumpSearch::StumpSearch(const Dataset& data, std::span<const std::int32_t> classes, int n_classes,
                         int n_threads, Cancel& cancel)
    : data_(data),
      classes_(classes.begin(), classes.end()),
      n_classes_(n_classes),
      columns_(static_cast<std::size_t>(data.n_features())),
      rows_(data.n_rows()),
      signed_(n_classes == 2 ? data.n_rows() : 0),
      node_(static_cast<std::size_t>(n_classes)) {
  sort_columns(n_threads, cancel);
}

void StumpSearch::sort_columns(int n_threads, Cancel& cancel) {
  const std::size_t n = data_.n_rows();
  const auto sort = [&](const Column& column, const auto& codes, SortedColumn& sorted) {
    std::vector<std::uint32_t> begin(std::size_t{column.n_codes} + 2, 0);
    for (std::size_t row = 0; row < n; ++row) ++begin[std::size_t{codes[row]} + 1];
    for (std::size_t code = 0; code <= column.n_codes; ++code) begin[code + 1] += begin[code];
    const std::size_t n_known = begin[column.n_codes];
    sorted.known = Buffer<std::uint32_t>(n_known);
    for (std::size_t row = 0; row < n; ++row) {
      const Code code = codes[row];
      if (code == column.missing_code()) {
        sorted.missing.push_back(static_cast<RowId>(row));
      } else {
        sorted.known[begin[code]++] = static_cast<std::uint32_t>(row);
      }
    }
    // Each `begin` has moved to the end of its code. There is no cut behind the last row.
    for (std::size_t code = 0; code < column.n_codes; ++code) {
      const std::size_t end = begin[code];
      if (end > 0 && end < n_known) sorted.known[end - 1] |= kCutFollows;
    }
  };
  parallel_for(
      columns_.size(), n_threads,
      [&](std::size_t feature, int worker) {
        CancelPoller(cancel, worker == 0).poll(std::size_t{1} << 18);
        const Column& column = data_.column(static_cast<FeatureId>(feature));
        if (column.kind == ColumnKind::kCategorical) return;
        std::visit([&](const auto& codes) { sort(column, codes, columns_[feature]); }, column.codes);
      },
      &cancel);
}

// ---- a round's weights

void StumpSearch::weigh(std::span<const double> weights) {
  // Like the grower, counts rows of equal weights.
  const double common = common_weight(weights);
  counting_ = common != 0;
  double scale = 1.0;
  if (!counting_) {
    double total = 0.0;
    for (const double weight : weights) total += weight;
    scale = fixed_point_scale(total, 52);
  }
  unit_ = counting_ ? common : 1 / scale;
  std::ranges::fill(node_, 0);
  n_rows_counting_ = 0;
  std::size_t n_given = 0;
  for (std::size_t row = 0; row < weights.size(); ++row) {
    const std::int64_t weight = counting_ ? (weights[row] != 0 ? 1 : 0) : rounded(weights[row] * scale);
    const std::int32_t label = classes_[row];
    rows_[row] = {weight, label};
    node_[static_cast<std::size_t>(label)] += weight;
    n_rows_counting_ += weight != 0;
    n_given += weights[row] != 0;
  }
  for (std::size_t row = 0; row < signed_.size(); ++row)
    signed_[row] = rows_[row].label == 0 ? -rows_[row].weight : rows_[row].weight;
  n_weightless_ = static_cast<std::int64_t>(n_given - n_rows_counting_);
}

// The known rows of a column that have weight. If all have weight, these are the sorted rows; otherwise rows
// without weight are left out, and a row takes over the flag of a removed row behind it with the same value.
std::span<const std::uint32_t> StumpSearch::known_rows(FeatureId feature, Workspace& work) const {
  const Buffer<std::uint32_t>& sorted = columns_[static_cast<std::size_t>(feature)].known;
  if (n_rows_counting_ == rows_.size()) return sorted.span();
  work.known.grow_to(sorted.size());
  std::uint32_t* const begin = work.known.data();
  std::uint32_t* end = begin;
  std::uint32_t* value_begin = begin;
  for (const std::uint32_t marked : sorted.span()) {
    const std::uint32_t row = marked & kRow;
    if (rows_[row].weight != 0) *end++ = row;
    if (marked < kCutFollows) continue;
    if (end > value_begin) end[-1] |= kCutFollows;
    value_begin = end;
  }
  if (end > begin) end[-1] &= kRow;
  return {begin, end};
}

std::vector<std::int64_t> StumpSearch::missing_cell(FeatureId feature, std::size_t& n_missing) const {
  std::vector<std::int64_t> cell(node_.size(), 0);
  n_missing = 0;
  for (const RowId row : columns_[static_cast<std::size_t>(feature)].missing) {
    cell[static_cast<std::size_t>(rows_[row].label)] += rows_[row].weight;
    n_missing += rows_[row].weight != 0;
  }
  return cell;
}

// ---- a feature

// The weight that the best test of a feature gets right; -infinity if it has no test.
double StumpSearch::best_score(FeatureId feature, Workspace& work) const {
  if (n_classes_ == 2) return best_of_two_classes(feature, work);
  const auto known = known_rows(feature, work);
  std::size_t n_missing = 0;
  const std::vector<std::int64_t> missing = missing_cell(feature, n_missing);
  const std::vector<std::int64_t> nothing(node_.size(), 0);
  double best = -kInfinity;
  const auto consider = [&] {
    for (const double score : work.scores) best = std::max(best, score);
  };
  work.score_cuts(known, rows_.data(), nothing, missing);
  consider();
  if (n_missing == 0) return best;
  work.score_cuts(known, rows_.data(), missing, nothing);
  consider();
  if (known.empty()) return best;
  std::vector<std::int64_t> rest(node_.size());
  for (std::size_t k = 0; k < rest.size(); ++k) rest[k] = node_[k] - missing[k];
  return std::max(best, static_cast<double>(heaviest(rest) + heaviest(missing)));
}

// If d is the weight of class 1 less that of class 0 on the left, and D the same in both branches, the weight
// that is right is half of W + |d| + |D - d|. That is convex in d, so only the extreme sums can be best.
double StumpSearch::best_of_two_classes(FeatureId feature, Workspace& work) const {
  const auto known = known_rows(feature, work);
  std::size_t n_missing = 0;
  const std::vector<std::int64_t> missing = missing_cell(feature, n_missing);
  const std::int64_t weight = node_[0] + node_[1];
  const std::int64_t difference = node_[1] - node_[0];
  std::int64_t best = -1;
  const auto consider = [&](std::int64_t left) {
    best = std::max(best, (weight + std::abs(left) + std::abs(difference - left)) / 2);
  };
  const Extremes extremes = extremes_of_cuts(known, signed_.data());
  const std::int64_t without = missing[1] - missing[0];
  if (extremes.any) {
    consider(extremes.least);
    consider(extremes.largest);
    if (n_missing > 0) {
      consider(extremes.least + without);
      consider(extremes.largest + without);
    }
  }
  if (n_missing > 0 && !known.empty()) consider(difference - without);
  return best < 0 ? -kInfinity : static_cast<double>(best);
}

// Without missing values the best score is known from the search, and the first cut with that score is taken.
std::size_t StumpSearch::first_cut_of_two_classes(std::span<const std::uint32_t> known, double score) const {
  const std::int64_t weight = node_[0] + node_[1];
  const std::int64_t difference = node_[1] - node_[0];
  const double floor = score - tie_slack(score, 0.0);
  std::int64_t left = 0;
  std::size_t position = 0;
  for (;; ++position) {
    left += signed_[known[position] & kRow];
    if (known[position] < kCutFollows) continue;
    const std::int64_t right = (weight + std::abs(left) + std::abs(difference - left)) / 2;
    if (static_cast<double>(right) >= floor) return position;
  }
}

// Finds the first best cut of the winning feature. Ties are resolved as in the grower: the lower threshold
// wins, then missing values on the left.
Split StumpSearch::place_cut(FeatureId feature, double score, Workspace& work) const {
  const Column& column = data_.column(feature);
  const auto known = known_rows(feature, work);
  std::size_t n_missing = 0;
  const std::vector<std::int64_t> missing = missing_cell(feature, n_missing);
  const std::vector<std::int64_t> nothing(node_.size(), 0);
  constexpr std::uint32_t kAllKnown = std::numeric_limits<std::uint32_t>::max();
  struct Found {
    double score = -kInfinity;
    std::uint32_t cut = 0;
  };
  const auto first = [&] {
    const BestCandidate best = first_best(work.scores.data(), work.scores.size(), 0.0);
    return best.found ? Found{best.score, work.cuts[best.index]} : Found{};
  };
  const auto code_at = [&](std::size_t position) {
    const RowId row = known[position] & kRow;
    return std::visit([row](const auto& codes) { return Code{codes[row]}; }, column.codes);
  };
  Split split;
  split.feature = feature;
  const auto part_after = [&](std::size_t cut) {
    const Code low = code_at(cut);
    const Code high = code_at(cut + 1);
    split.threshold = column.binned ? column.values[low] : halfway(column.values[low], column.values[high]);
    split.first_right = column.binned ? low + 1 : codes_at_or_below(column, split.threshold);
    return split;
  };
  if (n_classes_ == 2 && n_missing == 0) return part_after(first_cut_of_two_classes(known, score));
  work.score_cuts(known, rows_.data(), nothing, missing);
  if (n_missing > 0) {
    std::vector<std::int64_t> rest(node_.size());
    for (std::size_t k = 0; k < rest.size(); ++k) rest[k] = node_[k] - missing[k];
    work.scores.push_back(static_cast<double>(heaviest(rest) + heaviest(missing)));
    work.cuts.push_back(kAllKnown);
  }
  Found found = first();
  if (n_missing > 0) {
    split.missing_branch = 1;
    work.score_cuts(known, rows_.data(), missing, nothing);
    const Found left = first();
    const double slack = tie_slack(std::max(left.score, found.score), 0.0);
    if (left.score > found.score + slack || (left.score >= found.score - slack && left.cut <= found.cut)) {
      found = left;
      split.missing_branch = 0;
    }
  }
  if (found.cut == kAllKnown) {
    split.threshold = kInfinity;
    split.first_right = column.n_codes;
    return split;
  }
  return part_after(found.cut);
}

// ---- a round

FirstBest<Split> StumpSearch::find_split(std::span<const double> weights, int n_threads, Cancel& cancel) {
  const std::size_t n_features = columns_.size();
  const auto n_workers = static_cast<std::size_t>(std::max(1, n_threads));
  std::vector<Workspace> workspaces(n_workers);
  std::vector<std::unique_ptr<CategorySearch>> category_searches(n_workers);
  std::vector<Entry> entries;
  std::optional<VectorStats> stats;
  const bool has_categories = [&] {
    for (FeatureId f = 0; f < data_.n_features(); ++f)
      if (data_.column(f).kind == ColumnKind::kCategorical) return true;
    return false;
  }();
  std::vector<RowId> counting_rows;
  Target target{1, {n_classes_}, classes_, {}, counting_ ? std::span<const double>{} : weights};
  if (has_categories) {
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (rows_[row].weight == 0) continue;
      counting_rows.push_back(static_cast<RowId>(row));
      entries.push_back({static_cast<RowId>(row), 1});
    }
    stats.emplace(target, Sample{counting_rows, {}});
  }
  std::vector<FirstBest<Split>> found(n_features, FirstBest<Split>(0.0));
  parallel_for(
      n_features, n_threads,
      [&](std::size_t f, int w) {
        const auto feature = static_cast<FeatureId>(f);
        const auto worker = static_cast<std::size_t>(w);
        CancelPoller(cancel, w == 0).poll(std::size_t{1} << 18);
        const Column& column = data_.column(feature);
        if (column.kind == ColumnKind::kCategorical) {
          auto& search = category_searches[worker];
          const double unit = counting_ ? stats->weight_unit() : 1.0;
          if (!search) search = std::make_unique<CategorySearch>(*stats, entries, unit);
          search->find(column, feature, found[f]);
          return;
        }
        Split split;
        split.feature = feature;
        found[f].offer(best_score(feature, workspaces[worker]), split);
      },
      &cancel);
  FirstBest<Split> best(0.0);
  for (const FirstBest<Split>& one : found)
    if (one.found()) best.offer(one.score(), one.winner());
  if (best.found() && data_.column(best.winner().feature).kind == ColumnKind::kNumeric)
    best.winner() = place_cut(best.winner().feature,
                              found[static_cast<std::size_t>(best.winner().feature)].score(), workspaces[0]);
  return best;
}

Stump StumpSearch::best(std::span<const double> weights, int n_threads, Cancel& cancel) {
  weigh(weights);
  const auto n_present = std::ranges::count_if(node_, [](std::int64_t weight) { return weight > 0; });
  if (n_present <= 1 || n_rows_counting_ < 2) return carry_out({}, 0.0);
  FirstBest<Split> found = find_split(weights, n_threads, cancel);
  if (!found.found()) return carry_out({}, 0.0);
  const double gain = std::max(0.0, (found.score() - static_cast<double>(heaviest(node_))) * unit_);
  return carry_out(std::move(found.winner()), gain);
}

}  // namespace hornbeam::stumps
