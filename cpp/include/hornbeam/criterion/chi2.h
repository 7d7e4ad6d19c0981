// Pearson's chi-square statistic of the table of classes by branches.
//
//   statistic = sum over branches b and classes k of (n_bk - e_bk)^2 / e_bk,  e_bk = n_b n_k / n
//             = sum over b of (sum over k of n_bk^2 n / n_k) / n_b  -  n       (Pearson 1900)
//
// A branch scores its own part of the sum; the node, before any test, scores n. So a difference of scores is
// the statistic. For two classes it is the gini gain divided by the node's gini impurity: gini's own scorer
// finds the same tests, and this file is for more classes. Weights are read as counts.
#pragma once

#include <cstdint>
#include <vector>

#include "hornbeam/criterion/counts.h"
#include "hornbeam/criterion/vectors.h"
#include "hornbeam/stats.h"

namespace hornbeam {

// Counted classes: n_bk^2 n / n_k in fixed point, so that equal partitions tie exactly.
class Chi2Term {
 public:
  explicit Chi2Term(std::int64_t total)
      : scale_(fixed_point_scale(static_cast<double>(total) * static_cast<double>(total), 60)) {}

  void start(const CountStats::Element* node, const CountStats& stats) {
    const double scaled = scale_ * static_cast<double>(stats.weight(node));
    factors_.resize(static_cast<std::size_t>(stats.cell_size()));
    for (std::size_t k = 0; k < factors_.size(); ++k) factors_[k] = node[k] == 0 ? 0.0 : scaled / node[k];
  }
  std::int64_t operator()(int k, std::int64_t count) const {
    const auto n = static_cast<double>(count);
    return static_cast<std::int64_t>(n * n * factors_[static_cast<std::size_t>(k)] + 0.5);
  }
  double branch(std::int64_t terms, std::int64_t count) const {
    return count == 0 ? 0.0 : static_cast<double>(terms) / static_cast<double>(count);
  }
  double scale(std::int64_t) const { return 0.0; }
  double unit() const { return 1 / scale_; }

 private:
  double scale_;
  std::vector<double> factors_;  // per class, n / n_k in fixed point
};

class CountChi2Scorer : public CountScorer<Chi2Term> {
 public:
  static constexpr bool kShowsAnother = true;
  using CountScorer<Chi2Term>::CountScorer;

  double score_of_node(const Element* node) {
    term_.start(node, stats_);
    return CountScorer<Chi2Term>::score_of_node(node);
  }
};

// Weighted classes.
class VectorChi2 {
 public:
  void start(const VectorStats& stats, const std::int64_t* node) {
    const auto weight = static_cast<double>(stats.weight(node));
    factors_.resize(static_cast<std::size_t>(stats.offset(1)));
    for (std::size_t k = 0; k < factors_.size(); ++k) {
      factors_[k] = node[k] == 0 ? 0.0 : weight / static_cast<double>(node[k]);
    }
  }
  double branch(const VectorStats& stats, const std::int64_t* cell) const {
    const auto weight = static_cast<double>(stats.weight(cell));
    if (weight == 0) return 0.0;
    double score = 0.0;
    for (std::size_t k = 0; k < factors_.size(); ++k) {
      const auto w = static_cast<double>(cell[k]);
      score += w * w * factors_[k];
    }
    return score / weight;
  }
  static double scale(const VectorStats&, const std::int64_t*) { return 0.0; }
  static double unit(const VectorStats& stats) { return stats.weight_unit(); }

 private:
  std::vector<double> factors_;  // per class, n / n_k
};

class VectorChi2Scorer : public VectorScorer<VectorChi2> {
 public:
  static constexpr bool kShowsAnother = true;
  using VectorScorer<VectorChi2>::VectorScorer;
};

}  // namespace hornbeam
