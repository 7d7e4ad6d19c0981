// Squared error and Poisson deviance for one real output.
//
//   squared_error  weight * impurity = sum w y^2 - (sum w y)^2 / sum w         (around the mean)
//   poisson        weight * impurity = sum w y ln y - (sum w y) ln(mean of y)   (half deviance; 0 ln 0 = 0)
#pragma once

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "base/math.h"
#include "base/types.h"
#include "criterion/candidates.h"
#include "criterion/concepts.h"
#include "criterion/stats.h"

namespace hornbeam::criterion {

class SquaredErrorBranch {
 public:
  static constexpr bool kMovable = true;  // criterion/concepts.h
  explicit SquaredErrorBranch(const SumStats& stats)
      : unit_(stats.sum_unit() * stats.sum_unit() / stats.weight_unit()) {}
  double operator()(double sum, double weight) const { return sum * sum / weight; }
  // Scores all candidates; returns the largest score.
  double score(const double* left_sums, const double* right_sums, const double* left, std::size_t n,
               double node, double* scores) const {
    return kernels().two_squares(left_sums, right_sums, left, n, node, scores);
  }
  double unit() const { return unit_; }

 private:
  double unit_;
};

class PoissonBranch {
 public:
  static constexpr bool kMovable = false;
  explicit PoissonBranch(const SumStats& stats)
      : sum_unit_(stats.sum_unit()), mean_unit_(stats.sum_unit() / stats.weight_unit()) {}
  double operator()(double sum, double weight) const { return poisson_branch(sum, weight, mean_unit_); }
  // Logarithms are slow, so candidates are first compared by an upper bound of their scores that needs none.
  static double bound(const double* left_sums, const double* left, std::size_t n, double node_sum,
                      double node, double* bounds) {
    return kernels().poisson_bounds(left_sums, left, n, node_sum, node, bounds);
  }
  double score(const double* left_sums, const double* right_sums, const double* left, std::size_t n,
               double node, double* scores) const {
    return kernels().two_poissons(left_sums, right_sums, left, n, node, mean_unit_, scores);
  }
  double unit() const { return sum_unit_; }

 private:
  double sum_unit_;
  double mean_unit_;
};

template <class Branch>
class SumScorer {
 public:
  static constexpr bool kMovable = Branch::kMovable;
  using Stats = SumStats;
  using Element = SumStats::Element;
  static constexpr BlockCells kBlockCells =
      std::is_same_v<Branch, SquaredErrorBranch> ? BlockCells::kSums : BlockCells::kPoisson;

  explicit SumScorer(SumStats stats) : stats_(std::move(stats)), branch_(stats_) {}

  SumStats& stats() { return stats_; }
  const SumStats& stats() const { return stats_; }
  int cell_size() const { return stats_.cell_size(); }

  class Walk {
   public:
    using Element = SumStats::Element;
    using Step = std::uint32_t;

    static Step step_of(std::uint32_t position) { return position; }
    void move(Step position) {
      const SumStats::Moments& row = rows_[position];
      sum_ += row.sum;
      weight_ += row.weight;
      ++n_rows_;
    }
    void move_cell(const Element* cell) {
      sum_ += cell[SumStats::kSum];
      weight_ += cell[SumStats::kWeight];
      n_rows_ += cell[SumStats::kRows];
    }
    // Both sums are rounded to float64 from their integers, so that swapped branches have the same score.
    void add_candidate(bool wanted) {
      const std::int64_t left = sum_ - weight_ * node_centre_;
      left_sums_[n_candidates_] = static_cast<double>(left);
      right_sums_[n_candidates_] = static_cast<double>(moved_node_sum_ - left);
      left_weights_[n_candidates_] = static_cast<double>(weight_);
      n_candidates_ += wanted;
    }
    std::size_t n_candidates() const { return n_candidates_; }
    std::int64_t left_rows() const { return n_rows_; }
    std::int64_t left_weight() const { return weight_; }
    double left_value() const { return mean(sum_, weight_); }
    double right_value() const { return mean(node_sum_ - sum_, node_weight_ - weight_); }

   private:
    friend class SumScorer;
    double mean(std::int64_t sum, std::int64_t weight) const {
      return centre_ + static_cast<double>(sum) / static_cast<double>(weight) * mean_unit_;
    }

    std::int64_t sum_ = 0;
    std::int64_t weight_ = 0;
    std::int64_t n_rows_ = 0;
    std::size_t n_candidates_ = 0;
    std::int64_t node_sum_ = 0;
    std::int64_t node_weight_ = 0;
    std::int64_t node_centre_ = 0;     // subtracted from every target, in units of sum per weight
    std::int64_t moved_node_sum_ = 0;  // the node's sum after that
    const SumStats::Moments* rows_ = nullptr;
    double* left_sums_ = nullptr;
    double* right_sums_ = nullptr;
    double* left_weights_ = nullptr;
    double centre_ = 0.0;
    double mean_unit_ = 1.0;
  };

  Walk start(const Element* node, std::size_t most_candidates) {
    Walk walk;
    walk.node_sum_ = node[SumStats::kSum];
    walk.node_weight_ = node[SumStats::kWeight];
    walk.node_centre_ = centre_of(node);
    walk.moved_node_sum_ = node[SumStats::kSum] - node[SumStats::kWeight] * walk.node_centre_;
    walk.rows_ = stats_.loaded();
    candidates_.start(most_candidates);
    walk.left_sums_ = candidates_.left_sums.data();
    walk.right_sums_ = candidates_.right_sums.data();
    walk.left_weights_ = candidates_.left_weights.data();
    walk.centre_ = stats_.centre();
    walk.mean_unit_ = stats_.sum_unit() / stats_.weight_unit();
    scores_.start(most_candidates);
    return walk;
  }
  BestCandidate best_candidate(const Walk& walk, double to_beat) {
    if (walk.n_candidates_ == 0) return {};
    if constexpr (requires { branch_.bound(nullptr, nullptr, 0, 0.0, 0.0, nullptr); }) {
      const bool pays = walk.n_candidates_ > kScoreGroup || to_beat > -kInfinity;
      if (pays && walk.node_sum_ > 0) return best_of_bounded(walk, to_beat);
    }
    return best_of_all(candidates_, walk.n_candidates_, static_cast<double>(walk.node_weight_), to_beat);
  }

  bool is_empty(const Element* cell) const { return cell[SumStats::kRows] == 0; }
  double score_of_node(const Element* node) {
    node_centre_ = centre_of(node);
    return score_of_branch(node, node);
  }
  double score_of_branch(const Element* cell, const Element*) const {
    const std::int64_t moved = cell[SumStats::kSum] - cell[SumStats::kWeight] * node_centre_;
    return branch_(static_cast<double>(moved), static_cast<double>(cell[SumStats::kWeight]));
  }
  double order_of(const Element* cell) const {
    return static_cast<double>(cell[SumStats::kSum]) / static_cast<double>(cell[SumStats::kWeight]);
  }
  double tie_scale(const Element*) const { return 0.0; }
  double score_unit() const { return branch_.unit(); }

 private:
  // The node's mean, rounded to a whole number of units, so that sums stay exact; |weight * centre| is at
  // most about |sum|.
  static std::int64_t centre_of(const Element* node) {
    if (!Branch::kMovable) return 0;
    return std::llround(static_cast<double>(node[SumStats::kSum]) /
                        static_cast<double>(node[SumStats::kWeight]));
  }

  struct Candidates {
    CandidateList<double> left_sums;
    CandidateList<double> right_sums;
    CandidateList<double> left_weights;

    void start(std::size_t most_candidates) {
      for (CandidateList<double>* candidates : {&left_sums, &right_sums, &left_weights})
        candidates->start(most_candidates);
    }
    void repeat_last(std::size_t n_candidates) {
      for (CandidateList<double>* candidates : {&left_sums, &right_sums, &left_weights})
        candidates->repeat_last(n_candidates);
    }
  };

  BestCandidate best_of_all(Candidates& candidates, std::size_t n, double node_weight, double to_beat) {
    candidates.repeat_last(n);
    const double largest = branch_.score(candidates.left_sums.data(), candidates.right_sums.data(),
                                         candidates.left_weights.data(), n, node_weight, scores_.data());
    return first_best(scores_.data(), largest, 0.0, to_beat);
  }

  // Scores the candidates that may be the best, or equal to it, according to their bounds; most features have
  // none.
  BestCandidate best_of_bounded(const Walk& walk, double to_beat) {
    constexpr double kRounding = 0x1p-40;
    const std::size_t n = walk.n_candidates_;
    const auto node_sum = static_cast<double>(walk.node_sum_);
    const auto node_weight = static_cast<double>(walk.node_weight_);
    const double node_score = score_of_sums(walk.node_sum_, walk.node_weight_);
    candidates_.repeat_last(n);
    double* bounds = bounds_.start(n);
    const double largest =
        branch_.bound(walk.left_sums_, walk.left_weights_, n, node_sum, node_weight, bounds);
    const double slack = kRounding * (std::abs(node_score) + largest);
    if (node_score + largest + slack <= to_beat) return {};
    if (n <= kScoreGroup) return best_of_all(candidates_, n, node_weight, to_beat);
    const auto promising = static_cast<std::size_t>(std::find(bounds, bounds + n, largest) - bounds);
    const double left_weight = walk.left_weights_[promising];
    const double reached = branch_(walk.left_sums_[promising], left_weight) +
                           branch_(walk.right_sums_[promising], node_weight - left_weight);
    const double needed = std::max(reached, to_beat) - node_score - slack;
    std::size_t n_promising = 0;
    promising_.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      promising_[n_promising] = i;
      n_promising += bounds[i] >= needed;
    }
    promising_candidates_.start(n_promising);
    for (std::size_t i = 0; i < n_promising; ++i) {
      promising_candidates_.left_sums.data()[i] = walk.left_sums_[promising_[i]];
      promising_candidates_.right_sums.data()[i] = walk.right_sums_[promising_[i]];
      promising_candidates_.left_weights.data()[i] = walk.left_weights_[promising_[i]];
    }
    if (n_promising == 0) return {};
    BestCandidate best = best_of_all(promising_candidates_, n_promising, node_weight, to_beat);
    best.index = promising_[best.index];
    return best;
  }

  // Computed once per node, because every feature needs it and a logarithm takes as long as the walk through
  // a few rows.
  double score_of_sums(std::int64_t sum, std::int64_t weight) {
    if (sum != known_sum_ || weight != known_weight_) {
      known_sum_ = sum;
      known_weight_ = weight;
      known_score_ = branch_(static_cast<double>(sum), static_cast<double>(weight));
    }
    return known_score_;
  }

  SumStats stats_;
  Branch branch_;
  std::int64_t node_centre_ = 0;  // of the node that was last asked for
  std::int64_t known_sum_ = 0;
  std::int64_t known_weight_ = 0;
  double known_score_ = 0.0;
  Candidates candidates_;
  Candidates promising_candidates_;
  CandidateList<double> bounds_;
  std::vector<std::size_t> promising_;
  CandidateList<double> scores_;
};

}  // namespace hornbeam::criterion
