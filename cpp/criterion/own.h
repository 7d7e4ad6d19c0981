// A criterion of the user's own: the cells of the branches of all candidates of a feature are handed over at once, and
// scores come back, larger being better. This is slower than a compiled criterion, but walks, cells, ties and limits
// are the same. The function that scores may be in Python; the core does not know.
//
// Cells are in the user's units: for classes the weight of each class, for numbers the weight, the sum of y
// and the sum of y^2.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "criterion/branch_cells.h"
#include "criterion/candidates.h"
#include "criterion/stats.h"
#include "criterion/vectors.h"

namespace hornbeam::criterion {

// The sums of y and of y^2 come from a target with two outputs.
class MomentTarget {
 public:
  explicit MomentTarget(const Target& target) : target_(target) {
    moments_.reserve(2 * target.reals.size());
    for (const double y : target.reals) moments_.insert(moments_.end(), {y, y * y});
    target_.n_outputs = 2;
    target_.reals = moments_;
  }
  const Target& target() const { return target_; }

 private:
  Target target_;
  std::vector<double> moments_;
};

class OwnScorer : public CellScorer {
 public:
  static constexpr bool kShowsAnother = true;

  OwnScorer(VectorStats stats, ScoreBranches score)
      : CellScorer(std::move(stats)), score_(std::move(score)) {}

  class Walk : public CellScorer::Walk {
   public:
    void add_candidate(bool wanted) {
      if (!wanted) return;
      scorer_.write_cell(scorer_.left_.data());
      scorer_.write_cell(scorer_.right_.data());
      ++n_candidates_;
    }
    double left_value() const { return scorer_.order_of(scorer_.left_.data()); }
    double right_value() const { return scorer_.order_of(scorer_.right_.data()); }

   private:
    friend class OwnScorer;
    explicit Walk(OwnScorer& scorer) : CellScorer::Walk(scorer), scorer_(scorer) {}
    OwnScorer& scorer_;
  };

  Walk start(const Element* node, std::size_t) {
    start_cells(node);
    cells_.clear();
    return Walk(*this);
  }
  BestCandidate best_candidate(const Walk& walk, double to_beat) {
    const std::size_t n = walk.n_candidates();
    if (n == 0) return {};
    double* scores = scores_.start(n);
    score_({cells_.data(), n, 2, cells_.size() / (2 * n)}, scores);
    return first_best(scores, n, 0.0, to_beat);
  }
  double score_of_node(const Element*) const { return 0.0; }  // what is shown is computed from the branches
  double score_of_branch(const Element*, const Element*) const { return 0.0; }  // only whole tests have one
  // Of a test with any number of branches.
  double score_of_test(std::span<const Element> branch_cells) {
    const std::size_t n_branches = branch_cells.size() / left_.size();
    cells_.clear();
    for (std::size_t b = 0; b < n_branches; ++b) write_cell(&branch_cells[b * left_.size()]);
    double score = -kInfinity;
    score_({cells_.data(), 1, n_branches, cells_.size() / n_branches}, &score);
    return score;
  }
  double order_of(const Element* cell) const {
    if (!stats_.is_classification()) return stats_.sum(cell, 0) / stats_.real_weight(cell);
    return static_cast<double>(cell[1]) / static_cast<double>(stats_.weight(cell));
  }
  double tie_scale(const Element*) const { return 0.0; }
  double score_unit() const { return 1.0; }

 private:
  void write_cell(const Element* cell) {
    if (stats_.is_classification()) {
      for (int k = 0; k < stats_.offset(1); ++k) {
        cells_.push_back(static_cast<double>(cell[k]) * stats_.weight_unit());
      }
    } else {
      cells_.insert(cells_.end(), {stats_.real_weight(cell), stats_.sum(cell, 0), stats_.sum(cell, 1)});
    }
  }

  ScoreBranches score_;
  std::vector<double> cells_;  // [candidate, branch, cell]
  CandidateList<double> scores_;
};

}  // namespace hornbeam::criterion
