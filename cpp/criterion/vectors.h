// Gini, entropy and squared error for weighted classes and for several outputs: the sum over outputs of the
// one-output score, computed from the cell at every candidate. Fixed class order keeps it independent of the
// path.
#pragma once

#include <vector>

#include "base/math.h"
#include "criterion/candidates.h"
#include "criterion/concepts.h"
#include "criterion/stats.h"

namespace hornbeam::criterion {

struct VectorGini {
  static double branch(const VectorStats& stats, const std::int64_t* cell) {
    double score = 0.0;
    const double weight = static_cast<double>(stats.weight(cell));
    if (weight == 0) return 0.0;
    for (int k = stats.offset(0); k < stats.offset(stats.n_outputs()); ++k) {
      const double w = static_cast<double>(cell[k]);
      score += w * w;
    }
    return score / weight;
  }
  static double scale(const VectorStats&, const std::int64_t*) { return 0.0; }
  static double unit(const VectorStats& stats) { return stats.weight_unit(); }
};

struct VectorEntropy {
  static double branch(const VectorStats& stats, const std::int64_t* cell) {
    double score = -stats.n_outputs() * x_log2_x(static_cast<double>(stats.weight(cell)));
    for (int k = stats.offset(0); k < stats.offset(stats.n_outputs()); ++k) {
      score += x_log2_x(static_cast<double>(cell[k]));
    }
    return score;
  }
  static double scale(const VectorStats& stats, const std::int64_t* node) {
    return stats.n_outputs() * x_log2_x(static_cast<double>(stats.weight(node)));
  }
  static double unit(const VectorStats& stats) { return stats.weight_unit(); }
};

struct VectorSquaredError {
  static double branch(const VectorStats& stats, const std::int64_t* cell) {
    double score = 0.0;
    for (int o = 0; o < stats.n_outputs(); ++o) {
      const double sum = static_cast<double>(cell[o]);
      score += sum * sum * stats.squared_sum_factor(o);
    }
    return score / static_cast<double>(stats.weight(cell));
  }
  static double scale(const VectorStats&, const std::int64_t*) { return 0.0; }
  static double unit(const VectorStats&) { return 1.0; }
};

// For one output, whose sums are not centred.
struct VectorPoisson {
  static constexpr bool kMovable = false;
  static double branch(const VectorStats& stats, const std::int64_t* cell) {
    const double sum = static_cast<double>(cell[0]);
    const double mean =
        sum / static_cast<double>(stats.weight(cell)) * stats.sum_unit(0) / stats.weight_unit();
    return sum * ln_of(mean > 0 ? mean : 1.0);
  }
  static double scale(const VectorStats&, const std::int64_t*) { return 0.0; }
  static double unit(const VectorStats& stats) { return stats.sum_unit(0); }
};

// What scorers of general cells have in common: the two branches of the current candidate, and how rows move.
class CellScorer {
 public:
  using Stats = VectorStats;
  using Element = VectorStats::Element;

  VectorStats& stats() { return stats_; }
  const VectorStats& stats() const { return stats_; }
  int cell_size() const { return stats_.cell_size(); }
  bool is_empty(const Element* cell) const { return stats_.empty(cell); }

  class Walk {
   public:
    using Element = VectorStats::Element;
    using Step = std::uint32_t;

    static Step step_of(std::uint32_t position) { return position; }
    void move(Step position) {
      cells_.stats_.each_channel(position, [this](std::size_t channel, Element amount) {
        cells_.left_[channel] += amount;
        cells_.right_[channel] -= amount;
      });
    }
    void move_cell(const Element* cell) {
      for (std::size_t k = 0; k < cells_.left_.size(); ++k) {
        cells_.left_[k] += cell[k];
        cells_.right_[k] -= cell[k];
      }
    }
    std::size_t n_candidates() const { return n_candidates_; }
    std::int64_t left_rows() const { return cells_.stats_.rows(cells_.left_.data()); }
    std::int64_t left_weight() const { return cells_.stats_.weight(cells_.left_.data()); }

   protected:
    explicit Walk(CellScorer& cells) : cells_(cells) {}
    CellScorer& cells_;
    std::size_t n_candidates_ = 0;
  };

 protected:
  explicit CellScorer(VectorStats stats)
      : stats_(std::move(stats)), left_(static_cast<std::size_t>(stats_.cell_size())), right_(left_.size()) {}

  void start_cells(const Element* node) {
    std::fill(left_.begin(), left_.end(), 0);
    std::copy_n(node, right_.size(), right_.begin());
  }

  VectorStats stats_;
  std::vector<Element> left_;
  std::vector<Element> right_;
};

template <class Criterion>
class VectorScorer : public CellScorer {
 public:
  static constexpr bool kMovable = criterion::kMovable<Criterion>;

  explicit VectorScorer(VectorStats stats) : CellScorer(std::move(stats)) {}

  class Walk : public CellScorer::Walk {
   public:
    void add_candidate(bool wanted) {
      if (!wanted) return;
      left_weights_[n_candidates_] = left_weight();
      candidates_[n_candidates_++] =
          scorer_.score_of(scorer_.left_.data()) + scorer_.score_of(scorer_.right_.data());
    }
    double left_value() const { return scorer_.value_of(scorer_.left_.data()); }
    double right_value() const { return scorer_.value_of(scorer_.right_.data()); }

   private:
    friend class VectorScorer;
    Walk(VectorScorer& scorer, double* candidates, std::int64_t* left_weights)
        : CellScorer::Walk(scorer), scorer_(scorer), candidates_(candidates), left_weights_(left_weights) {}
    VectorScorer& scorer_;
    double* candidates_;
    std::int64_t* left_weights_;
  };

  Walk start(const Element* node, std::size_t most_candidates) {
    start_cells(node);
    scale_ = tie_scale(node);
    if constexpr (requires { criterion_.start(stats_, node); }) criterion_.start(stats_, node);
    return Walk(*this, scores_.start(most_candidates), left_weights_.start(most_candidates));
  }
  BestCandidate best_candidate(const Walk& walk, double to_beat) {
    return first_best(scores_.data(), walk.n_candidates(), scale_, to_beat);
  }

  std::int64_t left_weight_of(std::size_t candidate) { return left_weights_.data()[candidate]; }

  double score_of(const Element* cell) const { return criterion_.branch(stats_, cell); }
  double score_of_node(const Element* node) {
    if constexpr (requires { criterion_.start(stats_, node); }) criterion_.start(stats_, node);
    return score_of(node);
  }
  double score_of_branch(const Element* cell, const Element*) const { return score_of(cell); }
  // The share of class 1 of the first output, or its mean.
  double order_of(const Element* cell) const {
    const int channel = stats_.is_classification() ? 1 : 0;
    return static_cast<double>(cell[channel]) / static_cast<double>(stats_.weight(cell));
  }
  // The same in the user's units, and with the centre that sums leave out: what a branch would predict.
  double value_of(const Element* cell) const {
    return stats_.is_classification() ? order_of(cell) : stats_.sum(cell, 0) / stats_.real_weight(cell);
  }
  double tie_scale(const Element* node) const { return Criterion::scale(stats_, node); }
  double score_unit() const { return Criterion::unit(stats_) / stats_.n_outputs(); }

 private:
  [[no_unique_address]] Criterion criterion_;
  double scale_ = 0.0;
  CandidateList<double> scores_;
  CandidateList<std::int64_t> left_weights_;
};

}  // namespace hornbeam::criterion
