// The search for a node's test, once its histogram is at hand: the best cut of every feature that may be
// tried, the rows of its branches counted where sums do not prove that they are enough, and the winner as a
// split.
#include <algorithm>
#include <cmath>

#include "base/counters.h"
#include "base/sampler.h"
#include "boost/grow/boost_grower.h"
#include "boost/grow/row_marker.h"
#include "criterion/candidates.h"

namespace hornbeam::boost {

using criterion::tie_slack;
using split::FirstBest;

namespace {

constexpr std::size_t kParallelCells = 1 << 12;
// A node with fewer rows keeps no histogram for its children: counting them again is as cheap, and memory
// then depends on the rows, not on the number of leaves.
constexpr std::size_t kKeepRows = 512;

// Four counts side by side: where most rows have the same code, one would wait for itself.
void count_by_code(const std::uint8_t* codes, std::span<const BoostEntry> entries,
                   std::vector<std::uint32_t>& counts) {
  std::uint32_t side_by_side[4][kCellsPerSlot] = {};
  for (std::size_t i = 0; i < entries.size(); ++i) ++side_by_side[i % 4][codes[row_of(entries[i])]];
  counts.resize(kCellsPerSlot);
  for (std::size_t code = 0; code < kCellsPerSlot; ++code) {
    counts[code] =
        side_by_side[0][code] + side_by_side[1][code] + side_by_side[2][code] + side_by_side[3][code];
  }
}

// Whether a test sends at least this many rows to each branch. Usually the smaller branch has more than
// enough, and some of the rows are enough to see it.
bool has_rows_in_both(const RowMarker& marker, std::span<const BoostEntry> rows, std::int64_t enough) {
  constexpr std::size_t kRowsPerCheck = 1024;
  std::uint64_t left_bits[kRowsPerCheck / 64];
  std::int64_t n_left = 0;
  for (std::size_t begin = 0; begin < rows.size(); begin += kRowsPerCheck) {
    const std::size_t end = std::min(begin + kRowsPerCheck, rows.size());
    n_left += static_cast<std::int64_t>(marker.mark(rows.subspan(begin, end - begin), left_bits));
    if (n_left >= enough && static_cast<std::int64_t>(end) - n_left >= enough) return true;
  }
  return false;
}

}  // namespace

void BoostGrower::for_feature_groups(Team team,
                                     const std::function<void(const FeatureGroup&, Worker&)>& task) {
  const std::size_t n_groups = feature_groups_.size();
  const bool alone = team.size == 1 || n_groups * kCellsPerSlot < kParallelCells;
  const std::size_t step =
      alone ? n_groups : std::max<std::size_t>(1, n_groups / (4 * static_cast<std::size_t>(team.size)));
  team.run((n_groups + step - 1) / step,
           [&](std::size_t index, int w) {
             const Timed timed("search");
             Worker& worker = workers_[static_cast<std::size_t>(w)];
             const std::size_t end = std::min((index + 1) * step, n_groups);
             for (std::size_t group = index * step; group < end; ++group)
               task(feature_groups_[group], worker);
           },
           *cancel_);
}

CutTerms BoostGrower::terms_of(const NodeState& node) const {
  CutTerms terms;
  terms.gradient = static_cast<double>(node.total.gradient);
  terms.hessian = static_cast<double>(node.total.hessian);
  terms.hessian_unit = 1.0 / scale_.hessian;
  terms.l1 = params_.l1_regularization * scale_.gradient;
  terms.l2 = params_.l2_regularization;
  // One unit at least: a branch without any hessian has no value.
  terms.min_hessian = std::max(1.0, std::ceil(params_.min_hessian_leaf * scale_.hessian));
  if (scale_.constant_hessian) {
    terms.min_hessian = std::max(terms.min_hessian, static_cast<double>(params_.min_samples_leaf));
  }
  return terms;
}

BranchLimits BoostGrower::limits_of(const NodeState& node, int feature) const {
  BranchLimits limits;
  limits.node_rows = static_cast<std::int64_t>(node.n_rows());
  limits.min_rows = params_.min_samples_leaf;
  if (!params_.monotonic.empty()) {
    limits.direction = params_.monotonic[static_cast<std::size_t>(feature)];
    limits.lower = node.lower * scale_.gradient;
    limits.upper = node.upper * scale_.gradient;
  }
  limits.l2 = params_.l2_regularization;
  limits.category_smoothing = params_.categorical_smoothing * scale_.hessian;
  limits.one_category = params_.one_vs_rest();
  return limits;
}

// A set of categories is chosen by the gradients that it is judged by: among many categories some look good
// by chance. Gains of such sets are therefore computed with more l2, and so for smaller values than the
// leaves will have. The addition is limited by a share of the node's own hessian, so that sets stay
// competitive where all weights are small.
CutTerms BoostGrower::terms_for(const Column& column, CutTerms terms) const {
  constexpr Code kFewCategories = 4;
  constexpr double kLargestShare = 0.3;
  const bool is_set = column.kind == ColumnKind::kCategorical && !params_.one_vs_rest();
  if (is_set && column.n_codes > kFewCategories) {
    terms.l2 += std::min(params_.categorical_smoothing, kLargestShare * terms.hessian * terms.hessian_unit);
  }
  return terms;
}

BoostGrower::Search BoostGrower::start_search(NodeState& node, std::int32_t depth, std::uint64_t path) const {
  Search search;
  search.node = &node;
  search.terms = terms_of(node);
  search.open.depth = depth;
  search.open.path = path;
  if (!may_split(node, depth)) return search;  // no cuts: it stays a leaf
  const auto n_features = static_cast<std::size_t>(data_.n_features());
  search.cuts.resize(n_features);
  if (!features_.empty()) search.allowed.assign(features_.begin(), features_.end());
  if (!params_.interactions.empty()) {
    std::vector<char> together(n_features, 0);
    for (const std::size_t group : node.groups) {
      for (const FeatureId feature : params_.interactions[group])
        together[static_cast<std::size_t>(feature)] = 1;
    }
    for (std::size_t f = 0; f < n_features && !search.allowed.empty(); ++f) together[f] &= search.allowed[f];
    search.allowed = std::move(together);
  }
  if (params_.max_features > 0 && params_.max_features < data_.n_features()) {
    std::vector<FeatureId> pool;
    for (int f = 0; f < data_.n_features(); ++f) {
      if (search.allowed.empty() || search.allowed[static_cast<std::size_t>(f)]) pool.push_back(f);
    }
    search.allowed.assign(n_features, 0);
    Stream stream(key_, Purpose::kFeatures, path);
    const std::size_t wanted = std::min(pool.size(), static_cast<std::size_t>(params_.max_features));
    for (std::size_t i = 0; i < wanted; ++i) {
      std::swap(pool[i], pool[i + stream.below(static_cast<std::uint32_t>(pool.size() - i))]);
      search.allowed[static_cast<std::size_t>(pool[i])] = 1;
    }
  }
  return search;
}

// The best cut of a feature; its score stands above the node's by its gain, by whatever terms that is
// counted.
Cut BoostGrower::find_cut(const Search& search, int feature, Worker& worker,
                          std::span<const std::uint32_t> rows_by_code) {
  const NodeState& node = *search.node;
  const Column& column = data_.column(feature);
  const BranchLimits limits = limits_of(node, feature);
  const CutTerms terms = terms_for(column, search.terms);
  const Digit& digit = tiles_.digit_of(feature);
  Cut cut = digit.has_slot() ? worker.cuts.find(column, *node.histogram, digit, terms, limits, rows_by_code)
            : node.sums      ? worker.many.find(column, node.sums->categories[feature], terms, limits)
                             : worker.many.find(column, rows_of(node), terms, limits);
  if (terms.l2 != search.terms.l2) cut.score += score_of_node(search.terms) - score_of_node(terms);
  return cut;
}

void BoostGrower::search_feature(Search& search, int feature, Worker& worker) {
  const auto f = static_cast<std::size_t>(feature);
  if (!search.allowed.empty() && !search.allowed[f]) return;
  search.cuts[f] = find_cut(search, feature, worker);
}

// Whether a test on a feature of the slot could leave enough in both branches. All rows of one code go the
// same way, so those of other codes must be enough for a branch by themselves; every row has some hessian. In
// sparse tables one cell thus settles most features.
bool BoostGrower::may_cut(const Search& search, int slot) const {
  const WideCell common = search.node->histogram->cell(slot, tiles_.common_code(slot));
  const auto others = static_cast<double>(search.node->total.hessian - common.hessian);
  return others >= std::max(search.terms.min_hessian, static_cast<double>(params_.min_samples_leaf));
}

void BoostGrower::search_feature_group(Search& search, const FeatureGroup& group, Worker& worker) {
  if (search.cuts.empty() || (group.slot != Digit::kNoSlot && !may_cut(search, group.slot))) return;
  for (const FeatureId feature : group.features) search_feature(search, feature, worker);
}

// Makes sure that the branches of a feature's cut have enough rows; if not, searches the next best cut with
// the rows counted. Hessians are sums of rows, so enough hessian proves enough rows; only short branches must
// be counted.
BoostGrower::Rows BoostGrower::verify_rows(Search& search, int feature, Worker& worker) {
  const Digit& digit = tiles_.digit_of(feature);
  if (!digit.has_slot() || scale_.constant_hessian || params_.min_samples_leaf <= 1) return Rows::kEnough;
  const NodeState& node = *search.node;
  const Column& column = data_.column(feature);
  const Cut& cut = search.cuts[static_cast<std::size_t>(feature)];
  const double enough = static_cast<double>(params_.min_samples_leaf * scale_.largest_hessian);
  const double left = worker.cuts.left_hessian(column, *node.histogram, digit, cut, limits_of(node, feature));
  if (left >= enough && static_cast<double>(node.total.hessian) - left >= enough) return Rows::kEnough;
  if (node.sums) {
    const auto counted = node.sums->rows_by_code.find(feature);
    if (counted == node.sums->rows_by_code.end()) return Rows::kUnknown;
    worker.rows_by_code = counted->second;
  }
  if (has_probably_rows(search, feature, left, worker)) return Rows::kEnough;
  if (!node.sums) count_by_code(byte_codes(column), entries_of(node), worker.rows_by_code);
  return recount(search, feature, worker, worker.rows_by_code) ? Rows::kEnough : Rows::kOtherCut;
}

// Whether some of the rows already show that both branches have enough; not tried if they probably have too
// few.
bool BoostGrower::has_probably_rows(const Search& search, int feature, double left, Worker& worker) {
  const NodeState& node = *search.node;
  const Column& column = data_.column(feature);
  const double hessian_per_row = static_cast<double>(node.total.hessian) / static_cast<double>(node.n_rows());
  const double few = static_cast<double>(params_.min_samples_leaf) * hessian_per_row;
  if (!(left >= few && static_cast<double>(node.total.hessian) - left >= few)) return false;
  const Cut& cut = search.cuts[static_cast<std::size_t>(feature)];
  const Split split =
      worker.cuts.to_split(column, *node.histogram, tiles_.digit_of(feature), cut, limits_of(node, feature));
  if (!node.sums)
    return has_rows_in_both(marker_of_list(feature, split), entries_of(node), params_.min_samples_leaf);
  const std::vector<std::uint8_t> is_left = left_codes(column, split);
  std::int64_t n_left = 0;
  for (std::size_t code = 0; code < kCellsPerSlot; ++code)
    n_left += is_left[code] * worker.rows_by_code[code];
  const auto n_rows = static_cast<std::int64_t>(node.n_rows());
  return n_left >= params_.min_samples_leaf && n_rows - n_left >= params_.min_samples_leaf;
}

// Searches a feature's cut again now that the rows are counted; returns whether it is the same.
bool BoostGrower::recount(Search& search, int feature, Worker& worker,
                          std::span<const std::uint32_t> rows_by_code) {
  Cut& cut = search.cuts[static_cast<std::size_t>(feature)];
  const Cut counted = find_cut(search, feature, worker, rows_by_code);
  const bool same = counted.found && counted.place == cut.place && counted.missing_left == cut.missing_left;
  cut = counted;
  return same;
}

// The rest are all other categories of the table, in the node or not, as if the category had a column of its
// own.
void BoostGrower::name_rest(Split& split) const {
  if (!params_.one_vs_rest() || split.left_categories.empty()) return;
  split.right_categories = categories_[static_cast<std::size_t>(split.feature)];
  std::erase(split.right_categories, split.left_categories.front());
}

Split BoostGrower::split_of(const NodeState& node, int feature, const Cut& cut, Worker& worker) const {
  const Column& column = data_.column(feature);
  const BranchLimits limits = limits_of(node, feature);
  const Digit& digit = tiles_.digit_of(feature);
  Split split = digit.has_slot() ? worker.cuts.to_split(column, *node.histogram, digit, cut, limits)
                : node.sums
                    ? worker.many.to_split(column, feature, node.sums->categories[feature], cut, limits)
                    : worker.many.to_split(column, feature, rows_of(node), cut, limits);
  split.feature = feature;
  name_rest(split);
  return split;
}

// Chooses among the features; a node without a test that gains stays a leaf.
std::optional<OpenNode> BoostGrower::settle(Search& search, Worker& worker) {
  const Timed timed("settle");
  NodeState& node = *search.node;
  const auto drop_histogram = [&] {
    pool_.give_back(node.histogram);
    node.histogram = nullptr;
    return std::nullopt;
  };
  std::vector<char> verified(search.cuts.size(), 0);
  for (;;) {
    FirstBest<int> best(0.0);
    for (std::size_t f = 0; f < search.cuts.size(); ++f) {
      if (search.cuts[f].found) best.offer(search.cuts[f].score, static_cast<int>(f));
    }
    if (!best.found()) return drop_histogram();
    const int feature = best.winner();
    if (!verified[static_cast<std::size_t>(feature)]) {
      verified[static_cast<std::size_t>(feature)] = 1;
      const Rows rows = verify_rows(search, feature, worker);
      if (rows == Rows::kUnknown) {
        search.question = feature;
        return std::nullopt;
      }
      if (rows == Rows::kOtherCut) continue;
    }
    const Cut& cut = search.cuts[static_cast<std::size_t>(feature)];
    const double unit = 0.5 / (scale_.gradient * scale_.gradient);
    const double node_score = score_of_node(search.terms);
    const double gain = (cut.score - node_score) * unit;
    if (!(gain > params_.min_split_gain) || !(cut.score - node_score > tie_slack(node_score, 0.0)))
      return drop_histogram();
    search.open.gain = gain;
    search.open.split = split_of(node, feature, cut, worker);
    if (node.n_rows() < kKeepRows) drop_histogram();
    return std::move(search.open);
  }
}

}  // namespace hornbeam::boost
