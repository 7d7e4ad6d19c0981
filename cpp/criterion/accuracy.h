// Misclassification: a branch scores the weight of its most frequent class, so that the score of a test is
// the weight it classifies rightly.
//
//   accuracy  weight * impurity = n - max n_k
//
// A poor score for large trees: a test that separates the classes better often leaves the majorities
// unchanged, and so ties with others. It is what a stump of least weighted error needs.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "criterion/candidates.h"
#include "criterion/counts.h"
#include "criterion/stats.h"

namespace hornbeam::criterion {

// Two counted classes: TwoClassScorer's kernel for this term takes the larger of the two counts.
struct TwoClassAccuracyTerm {
  explicit TwoClassAccuracyTerm(std::int64_t) {}
  // If s is the sum of the squares of two counts and n their sum, the larger count is (n + sqrt(2 s - n^2)) /
  // 2. The root is exact, because 2 s - n^2 is a square.
  std::int64_t operator()(int, std::int64_t count) const { return count * count; }
  double branch(std::int64_t squares, std::int64_t count) const {
    return (static_cast<double>(count) + std::sqrt(static_cast<double>(2 * squares - count * count))) / 2;
  }
  double scale(std::int64_t) const { return 0.0; }
  double unit() const { return 1.0; }
};

// Any number of counted classes. Moving rows to the left can only raise the majority of the left branch. The
// majority of the right branch is searched again when it has lost a row.
class MajorityScorer {
 public:
  using Stats = CountStats;
  using Element = CountStats::Element;

  explicit MajorityScorer(CountStats stats)
      : stats_(std::move(stats)),
        left_(static_cast<std::size_t>(stats_.n_classes())),
        right_(static_cast<std::size_t>(stats_.n_classes())) {}

  class Walk : public CountWalk<Walk> {
   public:
    void add_candidate(bool wanted) {
      candidates_[n_candidates_] = static_cast<double>(left_most_ + right_most_);
      n_candidates_ += wanted;
    }
    double left_value() const { return share_of_class_1(left_[1], left_count_); }
    double right_value() const { return share_of_class_1(right_[1], right_count_); }

   private:
    friend class MajorityScorer;
    friend class CountWalk<Walk>;
    Walk(const CountStats& stats, std::int64_t node_count) : CountWalk<Walk>(stats, node_count) {}
    static double share_of_class_1(std::int64_t ones, std::int64_t count) {
      return static_cast<double>(ones) / static_cast<double>(count);
    }
    void renew_class(std::size_t k, std::int64_t count) {
      left_[k] += static_cast<Element>(count);
      left_most_ = std::max(left_most_, left_[k]);
      const Element before = right_[k];
      right_[k] = before - static_cast<Element>(count);
      if (before == right_most_) right_most_ = *std::max_element(right_, right_ + n_classes_);
    }

    Element* left_ = nullptr;
    Element* right_ = nullptr;
    double* candidates_ = nullptr;
    Element left_most_ = 0;
    Element right_most_ = 0;
  };

  CountStats& stats() { return stats_; }
  const CountStats& stats() const { return stats_; }
  Walk start(const Element* node, std::size_t most_candidates) {
    Walk walk(stats_, stats_.weight(node));
    walk.left_ = left_.data();
    walk.right_ = right_.data();
    walk.candidates_ = scores_.start(most_candidates);
    std::fill(left_.begin(), left_.end(), Element{0});
    std::copy_n(node, right_.size(), right_.begin());
    walk.right_most_ = *std::max_element(right_.begin(), right_.end());
    return walk;
  }
  BestCandidate best_candidate(const Walk& walk, double to_beat) {
    return first_best(scores_.data(), walk.n_candidates(), 0.0, to_beat);
  }
  int cell_size() const { return stats_.cell_size(); }
  bool is_empty(const Element* cell) const { return stats_.empty(cell); }
  double score_of_node(const Element* node) const {
    return static_cast<double>(*std::max_element(node, node + stats_.n_classes()));
  }
  double score_of_branch(const Element* cell, const Element*) const { return score_of_node(cell); }
  double order_of(const Element* cell) const { return Walk::share_of_class_1(cell[1], stats_.weight(cell)); }
  double tie_scale(const Element*) const { return 0.0; }
  double score_unit() const { return stats_.weight_unit(); }

 private:
  CountStats stats_;
  std::vector<Element> left_;
  std::vector<Element> right_;
  CandidateList<double> scores_;
};

// Any number of classes and any weights.
struct VectorAccuracy {
  static double branch(const VectorStats& stats, const std::int64_t* cell) {
    std::int64_t right = 0;
    for (int o = 0; o < stats.n_outputs(); ++o) {
      right += *std::max_element(cell + stats.offset(o), cell + stats.offset(o + 1));
    }
    return static_cast<double>(right);
  }
  static double scale(const VectorStats&, const std::int64_t*) { return 0.0; }
  static double unit(const VectorStats& stats) { return stats.weight_unit(); }
};

}  // namespace hornbeam::criterion
