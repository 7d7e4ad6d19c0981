#include <algorithm>
#include <cmath>
#include <variant>

#include "boost/histogram/many_categories.h"
#include "criterion/candidates.h"

namespace hornbeam::boost {

using criterion::tie_slack;

void ManyCategories::add(const Column& column, const CategorySums& sums) {
  for (std::size_t i = 0; i < sums.codes.size(); ++i) {
    sums_[sums.codes[i]] = {sums.cells[i], sums.rows[i]};
    if (sums.codes[i] != column.missing_code()) order_.push_back(sums.codes[i]);
  }
}

void ManyCategories::add(const Column& column, const NodeRows& rows) {
  std::visit(
      [&](const auto& codes) {
        for (const BoostEntry entry : rows.entries) {
          const Code code = codes[row_of(entry)];
          Sums& sums = sums_[code];
          if (sums.rows++ == 0 && code != column.missing_code()) order_.push_back(code);
          if (rows.pairs == nullptr) {
            sums.cell += widen(cell_of(entry));
          } else {
            const FixedPair pair = rows.pairs[row_of(entry)];
            sums.cell += WideCell{pair.gradient, pair.hessian};
          }
        }
      },
      column.codes);
}

template <class Source>
void ManyCategories::load(const Column& column, const Source& source, const BranchLimits& limits) {
  if (sums_.size() < std::size_t{column.n_codes} + 1) sums_.resize(std::size_t{column.n_codes} + 1);
  order_.clear();
  add(column, source);
  missing_ = std::exchange(sums_[column.missing_code()], Sums{});
  if (limits.one_category) {
    std::sort(order_.begin(), order_.end());
    return;
  }
  const auto key = [&](Code code) {
    const WideCell& cell = sums_[code].cell;
    return static_cast<double>(cell.gradient) /
           (static_cast<double>(cell.hessian) + limits.category_smoothing);
  };
  std::sort(order_.begin(), order_.end(), [&](Code a, Code b) {
    const double first = key(a);
    const double second = key(b);
    return first < second || (first == second && a < b);
  });
}

void ManyCategories::unload() {
  for (const Code code : order_) sums_[code] = Sums{};
}

Cut ManyCategories::find_one_way(const CutTerms& terms, const BranchLimits& limits, bool missing_left) const {
  const bool missing_right = missing_.rows > 0 && !missing_left;
  const auto squared = [&](double gradient) {
    const double size = std::max(0.0, std::abs(gradient) - terms.l1);
    return size * size;
  };
  const Sums start = missing_left ? missing_ : Sums{};
  const bool all_left = limits.one_category ? order_.size() == 1 : true;  // after the last category
  const std::size_t n = order_.size() - (all_left && !missing_right && !order_.empty() ? 1 : 0);
  Sums left = start;
  Cut best;
  for (std::size_t i = 0; i < n; ++i) {
    if (limits.one_category) left = start;
    left.cell += sums_[order_[i]].cell;
    left.rows += sums_[order_[i]].rows;
    const double hl = static_cast<double>(left.cell.hessian);
    const double hr = terms.hessian - hl;
    if (left.rows < limits.min_rows || limits.node_rows - left.rows < limits.min_rows) continue;
    if (hl < terms.min_hessian || hr < terms.min_hessian) continue;
    const double gl = static_cast<double>(left.cell.gradient);
    const double a = hl * terms.hessian_unit + terms.l2;
    const double b = hr * terms.hessian_unit + terms.l2;
    const double score = (squared(gl) * b + squared(terms.gradient - gl) * a) / (a * b);
    if (!best.found || score > best.score + tie_slack(best.score, 0.0)) {
      best = {score, static_cast<Code>(i), missing_left, true};
    }
  }
  return best;
}

template <class Source>
Cut ManyCategories::find(const Column& column, const Source& source, const CutTerms& terms,
                         const BranchLimits& limits) {
  load(column, source, limits);
  Cut best = find_one_way(terms, limits, false);
  if (missing_.rows > 0) {
    const Cut left = find_one_way(terms, limits, true);
    if (left.found && (!best.found || left.score > best.score + tie_slack(best.score, 0.0))) best = left;
  }
  unload();
  return best;
}

template <class Source>
Split ManyCategories::to_split(const Column& column, FeatureId feature, const Source& source, const Cut& cut,
                               const BranchLimits& limits) {
  load(column, source, limits);
  Split split;
  split.feature = feature;
  split.missing_branch = missing_.rows == 0 ? -1 : cut.missing_left ? 0 : 1;
  write_categories(order_, cut, limits, split);
  unload();
  return split;
}

CategorySums ManyCategories::sums_of(const Column& column, const NodeRows& rows) {
  if (sums_.size() < std::size_t{column.n_codes} + 1) sums_.resize(std::size_t{column.n_codes} + 1);
  order_.clear();
  add(column, rows);
  if (sums_[column.missing_code()].rows > 0) order_.push_back(column.missing_code());
  CategorySums sums;
  for (const Code code : order_) {
    sums.codes.push_back(code);
    sums.cells.push_back(sums_[code].cell);
    sums.rows.push_back(sums_[code].rows);
  }
  unload();
  return sums;
}

template Cut ManyCategories::find(const Column&, const NodeRows&, const CutTerms&, const BranchLimits&);
template Cut ManyCategories::find(const Column&, const CategorySums&, const CutTerms&, const BranchLimits&);
template Split ManyCategories::to_split(const Column&, FeatureId, const NodeRows&, const Cut&,
                                        const BranchLimits&);
template Split ManyCategories::to_split(const Column&, FeatureId, const CategorySums&, const Cut&,
                                        const BranchLimits&);

}  // namespace hornbeam::boost
