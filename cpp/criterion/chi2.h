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
#include <span>
#include <vector>

#include "criterion/counts.h"
#include "criterion/stats.h"
#include "criterion/vectors.h"

namespace hornbeam::criterion {

// Counted classes: n_bk^2 n / n_k in fixed point, so that equal partitions tie exactly.
class Chi2Term {
 public:
  explicit Chi2Term(std::int64_t total)
      : scale_(fixed_point_scale(static_cast<double>(total) * static_cast<double>(total), 60)) {}

  void start(const CountStats::Element* node, const CountStats& stats) {
    const double scaled = scale_ * static_cast<double>(stats.weight(node));
    factors_.resize(static_cast<std::size_t>(stats.n_classes()));
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

// Computing a term takes a multiplication and a rounding, so the terms of every class are kept for both
// branches.
class CountChi2Scorer : public CountCriterion<Chi2Term> {
  struct Class {
    std::int64_t left;
    std::int64_t right;
    std::int64_t left_term;
    std::int64_t right_term;
  };

 public:
  static constexpr bool kShowsAnother = true;

  CountChi2Scorer(CountStats stats, std::int64_t total_count)
      : CountCriterion<Chi2Term>(std::move(stats), total_count),
        classes_(static_cast<std::size_t>(stats_.n_classes())) {}

  class Walk : public CountWalk<Walk> {
   public:
    void add_candidate(bool wanted) {
      candidate_left_terms_[n_candidates_] = static_cast<double>(left_terms_);
      candidate_right_terms_[n_candidates_] = static_cast<double>(right_terms_);
      candidate_counts_[n_candidates_] = static_cast<double>(left_count_);
      n_candidates_ += wanted;
    }
    double left_value() const { return share_of_class_1(classes_[1].left, left_count_); }
    double right_value() const { return share_of_class_1(classes_[1].right, right_count_); }

   private:
    friend class CountChi2Scorer;
    friend class CountWalk<Walk>;
    Walk(const CountStats& stats, const Chi2Term& term, std::span<Class> classes, std::int64_t node_count)
        : CountWalk<Walk>(stats, node_count), term_(term), classes_(classes) {}

    void renew_class(std::size_t k, std::int64_t count) {
      const auto renew = [&](std::int64_t& sum, std::int64_t& term, std::int64_t n) {
        const std::int64_t now = term_(static_cast<int>(k), n);
        sum += now - term;
        term = now;
      };
      Class& moved = classes_[k];
      moved.left += count;
      moved.right -= count;
      renew(left_terms_, moved.left_term, moved.left);
      renew(right_terms_, moved.right_term, moved.right);
    }

    const Chi2Term& term_;
    std::span<Class> classes_;
    double* candidate_left_terms_ = nullptr;
    double* candidate_right_terms_ = nullptr;
    double* candidate_counts_ = nullptr;
    std::int64_t left_terms_ = 0;
    std::int64_t right_terms_ = 0;
  };

  Walk start(const Element* node, std::size_t most_candidates) {
    term_.start(node, stats_);
    node_count_ = stats_.weight(node);
    Walk walk(stats_, term_, classes_, node_count_);
    walk.candidate_left_terms_ = left_terms_.start(most_candidates);
    walk.candidate_right_terms_ = right_terms_.start(most_candidates);
    walk.candidate_counts_ = counts_.start(most_candidates);
    scores_.start(most_candidates);
    for (std::size_t k = 0; k < classes_.size(); ++k) {
      const std::int64_t term = term_(static_cast<int>(k), node[k]);
      classes_[k] = {0, node[k], 0, term};
      walk.right_terms_ += term;
    }
    return walk;
  }
  BestCandidate best_candidate(const Walk& walk, double to_beat) {
    if (walk.n_candidates() == 0) return {};
    for (CandidateList<double>* candidates : {&left_terms_, &right_terms_, &counts_})
      candidates->repeat_last(walk.n_candidates());
    const double largest =
        kernels().two_ratios(left_terms_.data(), right_terms_.data(), counts_.data(), walk.n_candidates(),
                             static_cast<double>(node_count_), scores_.data());
    return first_best(scores_.data(), largest, 0.0, to_beat);
  }
  bool is_empty(const Element* cell) const { return stats_.weight(cell) == 0; }
  double score_of_node(const Element* node) {
    term_.start(node, stats_);
    return CountCriterion<Chi2Term>::score_of_node(node);
  }
  double score_of_branch(const Element* cell, const Element*) const {
    return CountCriterion<Chi2Term>::score_of_node(cell);
  }

 private:
  std::vector<Class> classes_;
  std::int64_t node_count_ = 0;
  CandidateList<double> left_terms_;
  CandidateList<double> right_terms_;
  CandidateList<double> counts_;
  CandidateList<double> scores_;
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

}  // namespace hornbeam::criterion
