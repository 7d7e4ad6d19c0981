#include "boost/histogram/cuts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "criterion/candidates.h"

namespace hornbeam::boost {

using criterion::tie_slack;
using data::halfway;

namespace {

PackedCell pack(const WideCell& cell) {
  return (static_cast<PackedCell>(cell.gradient) << 32) + static_cast<PackedCell>(cell.hessian);
}

// The better one of the best cuts with missing values on the left and on the right. Scores that differ by no
// more than rounding, given what the nodes score without a cut, are equal: then the lower threshold wins, and
// at the same threshold missing values on the left.
Cut better_of(const Cut& left, const Cut& right, double score_of_nodes) {
  if (!left.found || !right.found) return left.found ? left : right;
  const double slack = tie_slack(score_of_nodes + std::max(left.score, right.score), 0.0);
  if (right.score > left.score + slack) return right;
  if (left.score > right.score + slack) return left;
  return right.place < left.place ? right : left;
}

}  // namespace

// Which of the categories present at a node go left, and which right.
void write_categories(std::span<const Code> present, const Cut& cut, const BranchLimits& limits,
                      Split& split) {
  for (std::size_t i = 0; i < present.size(); ++i) {
    const bool left = limits.one_category ? i == cut.place : i <= cut.place;
    (left ? split.left_categories : split.right_categories).push_back(present[i]);
  }
  std::sort(split.left_categories.begin(), split.left_categories.end());
  std::sort(split.right_categories.begin(), split.right_categories.end());
}

// Categories in the order of gradient / (hessian + smoothing): for a convex loss the best set is a prefix of
// it (Fisher 1958); the smoothing keeps a rare category near the middle, where chance cannot make it an
// extreme.
void CutFinder::order_categories(double smoothing) {
  constexpr std::size_t kFew = 64;
  present_.clear();
  keys_.clear();
  for (Code code = 0; code < n_cells_; ++code) {
    const WideCell sums = wide_ ? wide_cells_[code] : widen(packed_[code]);
    if (sums == WideCell{}) continue;
    present_.push_back(code);
    keys_.push_back(static_cast<double>(sums.gradient) / (static_cast<double>(sums.hessian) + smoothing));
  }
  const std::size_t n = present_.size();
  order_.resize(n);
  if (n <= kFew) {
    std::uint32_t places[kFew];
    boost_kernels().rank_keys(keys_.data(), n, places);
    for (std::size_t i = 0; i < n; ++i) order_[places[i]] = present_[i];
  } else {
    std::vector<std::uint32_t> by_key(n);
    std::iota(by_key.begin(), by_key.end(), 0u);
    std::stable_sort(by_key.begin(), by_key.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return keys_[a] < keys_[b]; });
    for (std::size_t i = 0; i < n; ++i) order_[i] = present_[by_key[i]];
  }
  take_in_order();
}

// Puts the cells of the categories in their order.
void CutFinder::take_in_order() {
  const std::size_t n = order_.size();
  if (wide_) {
    ordered_wide_.resize(n);
    for (std::size_t i = 0; i < n; ++i) ordered_wide_[i] = wide_cells_[order_[i]];
    wide_cells_ = ordered_wide_.data();
  } else {
    ordered_packed_.resize(n);
    for (std::size_t i = 0; i < n; ++i) ordered_packed_[i] = packed_[order_[i]];
    packed_ = ordered_packed_.data();
  }
  n_cells_ = n;
}

// Every category by itself. The cells become steps from one category to the next: running sums, which is what
// cuts are scored by, are then single categories.
void CutFinder::single_out_categories() {
  order_.clear();
  ordered_wide_.clear();
  WideCell before{};
  for (Code code = 0; code < n_cells_; ++code) {
    const WideCell cell = wide_ ? wide_cells_[code] : widen(packed_[code]);
    if (cell == WideCell{}) continue;
    order_.push_back(code);
    ordered_wide_.push_back(cell);
    ordered_wide_.back() -= before;
    before = cell;
  }
  wide_ = true;
  wide_cells_ = ordered_wide_.data();
  n_cells_ = order_.size();
}

template <class Cell>
const Cell* CutFinder::cells_of(const Cell* joint, const Digit& digit, Cell (&own)[kCellsPerSlot]) {
  if (digit.is_alone()) return joint;
  add_up_digit(joint, digit, own);
  return own;
}

void CutFinder::load(const Column& column, Histogram& histogram, const Digit& digit,
                     const BranchLimits& limits) {
  load_cells(column, histogram, digit);
  if (column.kind != ColumnKind::kCategorical) return;
  limits.one_category ? single_out_categories() : order_categories(limits.category_smoothing);
}

void CutFinder::load_cells(const Column& column, Histogram& histogram, const Digit& digit) {
  wide_ = histogram.is_wide();
  packed_ = wide_ ? nullptr : cells_of(histogram.packed(digit.slot), digit, own_packed_);
  wide_cells_ = wide_ ? cells_of(histogram.wide(digit.slot), digit, own_wide_) : nullptr;
  n_cells_ = column.n_codes;
  missing_ = {};
  if (column.has_missing) {
    missing_ = wide_ ? wide_cells_[column.missing_code()] : widen(packed_[column.missing_code()]);
  }
  has_missing_ = missing_ != WideCell{};
}

// Removes cuts that leave too few rows in a branch.
void CutFinder::refuse_few_rows(std::size_t n, const BranchLimits& limits, bool missing_left,
                                std::span<const std::uint32_t> rows_by_code, Code missing_code) {
  const bool singles = limits.one_category && !order_.empty();
  const std::int64_t start = missing_left ? rows_by_code[missing_code] : 0;
  std::int64_t left = start;
  for (std::size_t i = 0; i < n; ++i) {
    if (singles) left = start;
    left += rows_by_code[order_.empty() ? i : order_[i]];
    if (left < limits.min_rows || limits.node_rows - left < limits.min_rows) scores_[i] = -kInfinity;
  }
}

void CutFinder::refuse_wrong_direction(std::size_t n, const CutTerms& terms, const BranchLimits& limits,
                                       bool missing_left) {
  WideCell left = missing_left ? missing_ : WideCell{};
  for (std::size_t i = 0; i < n; ++i) {
    left += wide_ ? wide_cells_[i] : widen(packed_[i]);
    const auto value = [&](double gradient, double hessian) {
      return -gradient / (hessian * terms.hessian_unit + limits.l2);
    };
    const double left_value = value(static_cast<double>(left.gradient), static_cast<double>(left.hessian));
    const double right_value = value(terms.gradient - static_cast<double>(left.gradient),
                                     terms.hessian - static_cast<double>(left.hessian));
    const bool rises = left_value <= right_value;
    const bool falls = left_value >= right_value;
    const bool within = std::min(left_value, right_value) >= limits.lower &&
                        std::max(left_value, right_value) <= limits.upper;
    if (!within || (limits.direction > 0 && !rises) || (limits.direction < 0 && !falls))
      scores_[i] = -kInfinity;
  }
}

Cut CutFinder::find_one_way(const Column& column, const CutTerms& terms, const BranchLimits& limits,
                            bool missing_left, std::span<const std::uint32_t> rows_by_code) {
  // Without missing values on the right, a cut after the last cell would leave nothing there; nor would the
  // only category.
  const bool all_left = limits.one_category && !order_.empty() ? n_cells_ == 1 : true;
  const std::size_t n = all_left && !(has_missing_ && !missing_left) ? n_cells_ - 1 : n_cells_;
  if (n_cells_ == 0 || n == 0) return {};
  const WideCell start = missing_left ? missing_ : WideCell{};
  const BoostKernels& kernels = boost_kernels();
  double largest = wide_ ? kernels.score_wide(wide_cells_, n, start, terms, scores_)
                         : kernels.score_packed(packed_, n, pack(start), terms, scores_);
  const bool is_bound = limits.direction != 0 || limits.lower != -kInfinity || limits.upper != kInfinity;
  if (!rows_by_code.empty()) refuse_few_rows(n, limits, missing_left, rows_by_code, column.missing_code());
  if (is_bound) refuse_wrong_direction(n, terms, limits, missing_left);
  if (is_bound || !rows_by_code.empty()) largest = *std::max_element(scores_, scores_ + n);
  if (!(largest > -kInfinity)) return {};
  const std::size_t first = kernels.first_at_least(scores_, n, largest - tie_slack(largest, 0.0));
  return {largest, static_cast<Code>(first), missing_left, true};
}

Cut CutFinder::find(const Column& column, Histogram& histogram, const Digit& digit, const CutTerms& terms,
                    const BranchLimits& limits, std::span<const std::uint32_t> rows_by_code) {
  order_.clear();
  load(column, histogram, digit, limits);
  const Cut right = find_one_way(column, terms, limits, false, rows_by_code);
  if (!has_missing_) return right;
  const Cut left = find_one_way(column, terms, limits, true, rows_by_code);
  return better_of(left, right, 0.0);
}

double CutFinder::left_hessian(const Column& column, Histogram& histogram, const Digit& digit, const Cut& cut,
                               const BranchLimits& limits) {
  order_.clear();
  load(column, histogram, digit, limits);
  WideCell left = cut.missing_left ? missing_ : WideCell{};
  for (std::size_t i = 0; i <= cut.place; ++i) left += wide_ ? wide_cells_[i] : widen(packed_[i]);
  return static_cast<double>(left.hessian);
}

std::vector<Code> CutFinder::order_of_categories(const Column& column, Histogram& histogram,
                                                 const Digit& digit, const BranchLimits& limits) {
  order_.clear();
  load(column, histogram, digit, limits);
  return order_;
}

void CutFinder::add_gains(const Column& column, Histogram& histogram, const Digit& digit,
                          const CutTerms& terms, std::span<const Code> order, CutGains& gains) {
  load_cells(column, histogram, digit);
  if (column.kind == ColumnKind::kCategorical) {
    order_.assign(order.begin(), order.end());
    take_in_order();
  }
  gains.n = n_cells_;
  gains.has_missing |= has_missing_;
  if (n_cells_ == 0) return;
  const double score_of_whole = score_of_node(terms);
  const BoostKernels& kernels = boost_kernels();
  const auto score = [&](const WideCell& start) {
    wide_ ? kernels.score_wide(wide_cells_, n_cells_, start, terms, scores_)
          : kernels.score_packed(packed_, n_cells_, pack(start), terms, scores_);
    for (std::size_t i = 0; i < n_cells_; ++i)
      scores_[i] = scores_[i] > -kInfinity ? scores_[i] - score_of_whole : 0.0;
  };
  score({});
  for (std::size_t i = 0; i < n_cells_; ++i) gains.missing_right[i] += scores_[i];
  if (!column.has_missing) return;
  if (has_missing_) score(missing_);  // else both sides give the same
  for (std::size_t i = 0; i < n_cells_; ++i) gains.missing_left[i] += scores_[i];
}

Cut CutGains::best(double score_of_nodes) const {
  const auto best_of = [&](const double* gains, bool is_left) -> Cut {
    const double largest = n == 0 ? 0.0 : *std::max_element(gains, gains + n);
    if (!(largest > 0.0)) return {};
    const double floor = largest - tie_slack(score_of_nodes + largest, 0.0);
    const std::size_t first = boost_kernels().first_at_least(gains, n, floor);
    return {largest, static_cast<Code>(first), is_left, true};
  };
  const Cut right = best_of(missing_right, false);
  if (!has_missing) return right;
  const Cut left = best_of(missing_left, true);
  return better_of(left, right, score_of_nodes);
}

Split CutFinder::to_split(const Column& column, Histogram& histogram, const Digit& digit, const Cut& cut,
                          const BranchLimits& limits) {
  order_.clear();
  load(column, histogram, digit, limits);
  if (column.kind == ColumnKind::kCategorical && limits.one_category) {
    Split split;
    split.missing_branch = has_missing_ ? (cut.missing_left ? 0 : 1) : -1;
    write_categories(order_, cut, limits, split);
    return split;
  }
  return split_at(column, order_, cut, has_missing_);
}

Split split_at(const Column& column, std::span<const Code> order, const Cut& cut, bool has_missing) {
  Split split;
  split.missing_branch = has_missing ? (cut.missing_left ? 0 : 1) : -1;
  if (column.kind == ColumnKind::kCategorical) {
    write_categories(order, cut, BranchLimits{}, split);
    return split;
  }
  split.first_right = cut.place + 1;
  if (split.first_right == column.n_codes) {
    split.threshold = kInfinity;  // known values against missing ones
  } else if (column.binned) {
    split.threshold = column.values[cut.place];
  } else {
    split.threshold = halfway(column.values[cut.place], column.values[split.first_right]);
  }
  return split;
}

double score_of_node(const CutTerms& terms) {
  const double size = std::max(0.0, std::abs(terms.gradient) - terms.l1);
  return size * size / (terms.hessian * terms.hessian_unit + terms.l2);
}

}  // namespace hornbeam::boost
