// Gini and entropy over class counts, one output. Both are sums over classes of a whole-number term (n_k^2,
// or n_k log2 n_k in fixed point), so moving a row from right to left updates four terms and nothing depends
// on the number of classes.
//
//   gini     weight * impurity = n - sum n_k^2 / n           (Breiman et al. 1984)
//   entropy  weight * impurity = n log2 n - sum n_k log2 n_k  in bits (Quinlan 1986)
#pragma once

#include <cmath>
#include <memory>
#include <vector>

#include "base/math.h"
#include "criterion/candidates.h"
#include "criterion/concepts.h"
#include "criterion/stats.h"

namespace hornbeam::criterion {

struct TwoClassAccuracyTerm;  // accuracy.h

struct GiniTerm {
  explicit GiniTerm(std::int64_t) {}
  std::int64_t operator()(int, std::int64_t count) const { return count * count; }
  double branch(std::int64_t terms, std::int64_t count) const {
    return count == 0 ? 0.0 : static_cast<double>(terms) / static_cast<double>(count);
  }
  double scale(std::int64_t) const { return 0.0; }
  double unit() const { return 1.0; }
};

class EntropyTerm {
 public:
  // `total` is the largest count that can occur. The table is shared by all copies.
  explicit EntropyTerm(std::int64_t total) {
    const double largest = x_log2_x(static_cast<double>(total)) + 1.0;
    scale_ = fixed_point_scale(largest, 60);
    auto table = std::make_shared<std::vector<std::int64_t>>(static_cast<std::size_t>(total) + 1);
    for (std::int64_t i = 0; i <= total; ++i) {
      (*table)[static_cast<std::size_t>(i)] = std::llround(x_log2_x(static_cast<double>(i)) * scale_);
    }
    table_ = std::move(table);
    values_ = table_->data();
  }
  std::int64_t operator()(int, std::int64_t count) const { return values_[count]; }
  double branch(std::int64_t terms, std::int64_t count) const {
    return static_cast<double>(terms - values_[count]);
  }
  double scale(std::int64_t count) const { return static_cast<double>(values_[count]); }
  double unit() const { return 1 / scale_; }
  // By count, from 0 on.
  const std::int64_t* values() const { return values_; }

 private:
  double scale_ = 1.0;
  std::shared_ptr<const std::vector<std::int64_t>> table_;
  const std::int64_t* values_ = nullptr;
};

// gain_ratio needs to know how large the branches of entropy's tests are.
template <class Term>
inline constexpr bool kKeepsWeights = std::is_same_v<Term, EntropyTerm>;

// What both forms below have in common: the score of a single branch, and the units.
template <class Term>
class CountCriterion {
 public:
  using Stats = CountStats;
  using Element = CountStats::Element;

  CountCriterion(CountStats stats, std::int64_t total_count) : stats_(std::move(stats)), term_(total_count) {}

  CountStats& stats() { return stats_; }
  const CountStats& stats() const { return stats_; }
  int cell_size() const { return stats_.cell_size(); }
  double score_of_node(const Element* cell) const {
    std::int64_t terms = 0;
    std::int64_t count = 0;
    for (int k = 0; k < stats_.n_classes(); ++k) {
      terms += term_(k, cell[k]);
      count += cell[k];
    }
    return term_.branch(terms, count);
  }
  double score_of_branch(const Element* cell, const Element*) const { return score_of_node(cell); }
  double order_of(const Element* cell) const { return share_of_class_1(cell[1], stats_.weight(cell)); }
  double tie_scale(const Element* node) const { return term_.scale(stats_.weight(node)); }
  double score_unit() const { return term_.unit() * stats_.weight_unit(); }
  const Term& term() const { return term_; }

  static double share_of_class_1(std::int64_t ones, std::int64_t count) {
    return static_cast<double>(ones) / static_cast<double>(count);
  }

 protected:
  CountStats stats_;
  Term term_;
};

// The base of walks over counted classes; derived classes define what moving rows of one class does.
template <class Derived>
class CountWalk {
 public:
  using Element = CountStats::Element;
  using Step = std::uint32_t;

  static Step step_of(std::uint32_t payload) { return payload; }
  void move(Step payload) {
    move_class(payload >> 8, payload & 0xff);
    ++left_rows_;
  }
  void move_cell(const Element* cell) {
    for (std::size_t k = 0; k < n_classes_; ++k) {
      if (cell[k] != 0) move_class(k, cell[k]);
    }
    if (counts_rows_) left_rows_ += cell[n_classes_];
  }
  std::size_t n_candidates() const { return n_candidates_; }
  std::int64_t left_rows() const { return counts_rows_ ? left_rows_ : left_count_; }
  std::int64_t left_weight() const { return left_count_; }

 protected:
  CountWalk(const CountStats& stats, std::int64_t node_count)
      : n_classes_(static_cast<std::size_t>(stats.n_classes())),
        right_count_(node_count),
        counts_rows_(stats.counts_rows()) {}

  std::size_t n_classes_;
  std::size_t n_candidates_ = 0;
  std::int64_t left_count_ = 0;
  std::int64_t right_count_;

 private:
  void move_class(std::size_t k, std::int64_t count) {
    static_cast<Derived*>(this)->renew_class(k, count);
    left_count_ += count;
    right_count_ -= count;
  }

  bool counts_rows_;
  std::int64_t left_rows_ = 0;
};

// Any number of classes.
template <class Term>
class CountScorer : public CountCriterion<Term> {
 public:
  using typename CountCriterion<Term>::Element;
  static constexpr BlockCells kBlockCells = std::is_same_v<Term, GiniTerm>      ? BlockCells::kCounts
                                            : std::is_same_v<Term, EntropyTerm> ? BlockCells::kEntropies
                                                                                : BlockCells::kNone;

  CountScorer(CountStats stats, std::int64_t total_count)
      : CountCriterion<Term>(std::move(stats), total_count),
        left_(static_cast<std::size_t>(this->stats_.n_classes())),
        right_(static_cast<std::size_t>(this->stats_.n_classes())) {}

  class Walk : public CountWalk<Walk> {
   public:
    void add_candidate(bool wanted) {
      candidates_[n_candidates_] =
          term_.branch(left_terms_, left_count_) + term_.branch(right_terms_, right_count_);
      if constexpr (kKeepsWeights<Term>) left_counts_[n_candidates_] = left_count_;
      n_candidates_ += wanted;
    }
    double left_value() const { return CountScorer::share_of_class_1(left_[1], left_count_); }
    double right_value() const { return CountScorer::share_of_class_1(right_[1], right_count_); }

   private:
    friend class CountScorer;
    friend class CountWalk<Walk>;
    using CountWalk<Walk>::n_candidates_;
    using CountWalk<Walk>::left_count_;
    using CountWalk<Walk>::right_count_;
    Walk(const CountScorer& scorer, std::int64_t node_count)
        : CountWalk<Walk>(scorer.stats_, node_count), term_(scorer.term_) {}

    void renew_class(std::size_t k, std::int64_t count) {
      const auto of = [&](std::int64_t n) { return term_(static_cast<int>(k), n); };
      const std::int64_t l = left_[k];
      const std::int64_t r = right_[k];
      left_terms_ += of(l + count) - of(l);
      right_terms_ += of(r - count) - of(r);
      left_[k] = static_cast<Element>(l + count);
      right_[k] = static_cast<Element>(r - count);
    }

    const Term& term_;
    Element* left_ = nullptr;
    Element* right_ = nullptr;
    double* candidates_ = nullptr;
    std::int64_t* left_counts_ = nullptr;
    std::int64_t left_terms_ = 0;
    std::int64_t right_terms_ = 0;
  };

  Walk start(const Element* node, std::size_t most_candidates) {
    Walk walk(*this, this->stats_.weight(node));
    walk.left_ = left_.data();
    walk.right_ = right_.data();
    walk.candidates_ = scores_.start(most_candidates);
    if constexpr (kKeepsWeights<Term>) walk.left_counts_ = left_counts_.start(most_candidates);
    for (std::size_t k = 0; k < left_.size(); ++k) {
      left_[k] = 0;
      right_[k] = node[k];
      walk.right_terms_ += this->term_(static_cast<int>(k), node[k]);
    }
    scale_ = this->tie_scale(node);
    return walk;
  }
  BestCandidate best_candidate(const Walk& walk, double to_beat) {
    return first_best(scores_.data(), walk.n_candidates(), scale_, to_beat);
  }
  std::int64_t left_weight_of(std::size_t candidate)
    requires kKeepsWeights<Term>
  {
    return left_counts_.data()[candidate];
  }
  bool is_empty(const Element* cell) const { return this->stats_.weight(cell) == 0; }

 private:
  std::vector<Element> left_;
  std::vector<Element> right_;
  double scale_ = 0.0;
  CandidateList<double> scores_;
  CandidateList<std::int64_t> left_counts_;
};

// Two classes: two counts are all that is needed, and a kernel scores all candidates of a feature at once.
// Both counts share one word, so that moving a row is one addition: all rows in the lower half, rows of class
// 1 in the upper half.
template <class Term>
class TwoClassScorer : public CountCriterion<Term> {
 public:
  using typename CountCriterion<Term>::Element;
  using CountCriterion<Term>::CountCriterion;
  static constexpr BlockCells kBlockCells = std::is_same_v<Term, GiniTerm>      ? BlockCells::kTwoCounts
                                            : std::is_same_v<Term, EntropyTerm> ? BlockCells::kTwoEntropies
                                                                                : BlockCells::kNone;

  class Walk {
   public:
    using Element = CountStats::Element;
    using Step = TwoCounts;
    static constexpr bool kStepsAdd = true;  // several steps at once are the step of their sum
    static std::uint32_t count_of(Step step) { return static_cast<std::uint32_t>(rows_of(step)); }

    static Step step_of(std::uint32_t payload) {
      return two_counts(payload & 0xff, (payload & 0xff) * (payload >> 8));
    }
    void move(Step step) { move(step, 1); }
    // Several rows and the sum of their steps.
    void move(Step steps, std::int64_t n_rows) {
      left_ += steps;
      left_rows_ += n_rows;
    }
    void move_cell(const Element* cell) {
      const Element count = cell[0] + cell[1];
      move(two_counts(count, cell[1]), counts_rows_ ? cell[2] : count);
    }
    void add_candidate(bool wanted) {
      candidates_[n_candidates_] = left_;
      n_candidates_ += wanted;
    }
    std::size_t n_candidates() const { return n_candidates_; }
    std::int64_t left_rows() const { return counts_rows_ ? left_rows_ : rows_of(left_); }
    std::int64_t left_weight() const { return rows_of(left_); }
    double left_value() const { return TwoClassScorer::share_of_class_1(ones_of(left_), rows_of(left_)); }
    double right_value() const {
      return TwoClassScorer::share_of_class_1(ones_of(node_) - ones_of(left_),
                                              rows_of(node_) - rows_of(left_));
    }

   private:
    friend class TwoClassScorer;
    TwoCounts left_ = 0;
    TwoCounts node_ = 0;
    std::int64_t left_rows_ = 0;
    bool counts_rows_ = false;
    TwoCounts* candidates_ = nullptr;
    std::size_t n_candidates_ = 0;
  };

  Walk start(const Element* node, std::size_t most_candidates) {
    Walk walk;
    walk.node_ = two_counts(node[0] + node[1], node[1]);
    walk.counts_rows_ = this->stats_.counts_rows();
    walk.candidates_ = candidates_.start(most_candidates);
    scores_.start(most_candidates);
    scale_ = this->tie_scale(node);
    return walk;
  }
  BestCandidate best_candidate(const Walk& walk, double to_beat) {
    if (walk.n_candidates_ == 0) return {};
    if constexpr (std::is_same_v<Term, GiniTerm>) {
      candidates_.repeat_last(walk.n_candidates_);
      if (rows_of(walk.node_) < kExactInFloat32) return best_of_rough(walk, to_beat);
      const double largest =
          kernels().gini_two_classes(walk.candidates_, walk.n_candidates_, walk.node_, scores_.data());
      return first_best(scores_.data(), largest, scale_, to_beat);
    } else if constexpr (std::is_same_v<Term, TwoClassAccuracyTerm>) {
      return best_majority(walk, to_beat);
    } else {
      double* scores = scores_.data();
      for (std::size_t i = 0; i < walk.n_candidates_; ++i) scores[i] = score_of(walk, i);
      return first_best(scores, walk.n_candidates_, scale_, to_beat);
    }
  }
  std::int64_t left_weight_of(std::size_t candidate) { return rows_of(candidates_.data()[candidate]); }
  bool is_empty(const Element* cell) const { return (cell[0] | cell[1]) == 0; }

  // For nodes of fewer than 2^24 rows. Tests between groups may be made at these edges only; limits forbid those
  // before first_edge and from end_edge on.
  GroupBounds bound_groups(CandidateList<TwoCounts>& before, std::size_t n_groups, std::size_t first_edge,
                           std::size_t end_edge, double to_beat)
    requires std::is_same_v<Term, GiniTerm>
  {
    before.repeat_last(n_groups + 1);
    GroupBounds bounds;
    float* edges = rough_.start(n_groups + 1 + kScoreGroup);
    float* groups = rough_groups_.start(n_groups + kScoreGroup);
    float largest = kernels().bound_gini_groups(before.data(), n_groups, edges, groups);
    if (first_edge > 1 || end_edge < n_groups) {
      largest = edges[0];  // no test is worse than none
      for (std::size_t edge = first_edge; edge < end_edge; ++edge) largest = std::max(largest, edges[edge]);
    }
    bounds.floor = static_cast<float>(std::max<double>(largest, to_beat) * (1 - 2 * kDoubt));
    bounds.any = std::any_of(groups, groups + n_groups, [&](float bound) { return bound >= bounds.floor; });
    bounds.of_edge = edges;
    bounds.of_group = groups;
    return bounds;
  }

 private:
  static constexpr std::int32_t kExactInFloat32 = 1 << 24;
  static constexpr double kDoubt = 0x1p-20;

  double score_of(const Walk& walk, std::size_t i) const {
    const Term& term = this->term_;
    const std::int64_t l = rows_of(walk.candidates_[i]);
    const std::int64_t l1 = ones_of(walk.candidates_[i]);
    const std::int64_t r = rows_of(walk.node_) - l;
    const std::int64_t r1 = ones_of(walk.node_) - l1;
    return term.branch(term(1, l1) + term(0, l - l1), l) + term.branch(term(1, r1) + term(0, r - r1), r);
  }

  BestCandidate best_majority(const Walk& walk, double to_beat) {
    candidates_.repeat_last(walk.n_candidates_);
    std::int32_t* scores = majorities_.start(walk.n_candidates_);
    const std::int32_t largest =
        kernels().majorities_two_classes(walk.candidates_, walk.n_candidates_, walk.node_, scores);
    BestCandidate best;
    best.score = largest;
    best.found = best.score > to_beat;
    if (best.found)
      best.index = static_cast<std::size_t>(std::find(scores, scores + walk.n_candidates_, largest) - scores);
    return best;
  }

  // Dividing float32 numbers is four times as fast. The rough scores have a relative error below 2^-21, so
  // only candidates within 2^-20 of the largest can be the best, and only those are scored again.
  BestCandidate best_of_rough(const Walk& walk, double to_beat) {
    float* rough = rough_.start(walk.n_candidates_);
    const double largest =
        kernels().rough_gini_two_classes(walk.candidates_, walk.n_candidates_, walk.node_, rough);
    if (largest * (1 + kDoubt) <= to_beat) return {};
    const auto floor = static_cast<float>(largest * (1 - 2 * kDoubt));
    std::size_t n_promising = 0;
    std::size_t last = 0;
    for (std::size_t i = 0; i < walk.n_candidates_; ++i) {
      const bool promising = rough[i] >= floor;
      n_promising += promising;
      last = promising ? i : last;
    }
    if (n_promising == 1) {  // the usual case
      const double score = score_of(walk, last);
      return {last, score, score > to_beat};
    }
    double* scores = scores_.data();
    promising_.clear();
    for (std::size_t i = 0; i < walk.n_candidates_; ++i) {
      if (rough[i] < floor) continue;
      scores[promising_.size()] = score_of(walk, i);
      promising_.push_back(i);
    }
    BestCandidate best = first_best(scores, promising_.size(), scale_, to_beat);
    best.index = promising_[best.index];
    return best;
  }

  double scale_ = 0.0;
  CandidateList<TwoCounts> candidates_;
  CandidateList<float> rough_;
  CandidateList<float> rough_groups_;
  CandidateList<std::int32_t> majorities_;
  std::vector<std::size_t> promising_;  // candidates whose rough score is near the largest
  CandidateList<double> scores_;
};

}  // namespace hornbeam::criterion
