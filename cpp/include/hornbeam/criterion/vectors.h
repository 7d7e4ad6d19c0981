// Gini, entropy and squared error for weighted classes and for several outputs: the sum over outputs of the
// one-output score, computed from the cell at every candidate. Fixed class order keeps it independent of the
// path.
#pragma once

#include <vector>

#include "hornbeam/math.h"
#include "hornbeam/notes.h"
#include "hornbeam/stats.h"

namespace hornbeam {

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
  static double branch(const VectorStats& stats, const std::int64_t* cell) {
    const double sum = static_cast<double>(cell[0]);
    const double mean =
        sum / static_cast<double>(stats.weight(cell)) * stats.sum_unit(0) / stats.weight_unit();
    return sum * ln_of(mean > 0 ? mean : 1.0);
  }
  static double scale(const VectorStats&, const std::int64_t*) { return 0.0; }
  static double unit(const VectorStats& stats) { return stats.sum_unit(0); }
};

template <class Criterion>
class VectorScorer {
 public:
  using Stats = VectorStats;
  using Element = VectorStats::Element;

  explicit VectorScorer(VectorStats stats)
      : stats_(std::move(stats)),
        left_(static_cast<std::size_t>(stats_.cell_size())),
        right_(static_cast<std::size_t>(stats_.cell_size())),
        row_(static_cast<std::size_t>(stats_.cell_size())) {}

  VectorStats& stats() { return stats_; }
  const VectorStats& stats() const { return stats_; }
  int cell_size() const { return stats_.cell_size(); }

  class Walk {
   public:
    using Element = VectorStats::Element;
    using Step = std::uint32_t;

    static Step step_of(std::uint32_t position) { return position; }
    void move(Step position) {
      std::fill(scorer_.row_.begin(), scorer_.row_.end(), 0);
      scorer_.stats_.add(scorer_.row_.data(), position);
      move_cell(scorer_.row_.data());
    }
    void move_cell(const Element* cell) {
      for (std::size_t k = 0; k < scorer_.left_.size(); ++k) {
        scorer_.left_[k] += cell[k];
        scorer_.right_[k] -= cell[k];
      }
    }
    void note(bool wanted) {
      if (!wanted) return;
      left_weights_[n_notes_] = left_weight();
      notes_[n_notes_++] = scorer_.score_of(scorer_.left_.data()) + scorer_.score_of(scorer_.right_.data());
    }
    std::size_t n_notes() const { return n_notes_; }
    std::int64_t left_rows() const { return scorer_.stats_.rows(scorer_.left_.data()); }
    std::int64_t left_weight() const { return scorer_.stats_.weight(scorer_.left_.data()); }
    double left_value() const { return scorer_.order_of(scorer_.left_.data()); }
    double right_value() const { return scorer_.order_of(scorer_.right_.data()); }

   private:
    friend class VectorScorer;
    Walk(VectorScorer& scorer, double* notes, std::int64_t* left_weights)
        : scorer_(scorer), notes_(notes), left_weights_(left_weights) {}
    VectorScorer& scorer_;
    double* notes_;
    std::int64_t* left_weights_;
    std::size_t n_notes_ = 0;
  };

  Walk start(const Element* node, std::size_t most_notes) {
    std::fill(left_.begin(), left_.end(), 0);
    std::copy_n(node, right_.size(), right_.begin());
    scale_ = tie_scale(node);
    if constexpr (requires { criterion_.start(stats_, node); }) criterion_.start(stats_, node);
    return Walk(*this, scores_.start(most_notes), left_weights_.start(most_notes));
  }
  BestNote best_note(const Walk& walk, double to_beat) {
    return first_best(scores_.data(), walk.n_notes(), scale_, to_beat);
  }

  std::int64_t left_weight_of(std::size_t note) { return left_weights_.data()[note]; }

  bool is_empty(const Element* cell) const { return stats_.empty(cell); }
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
  double tie_scale(const Element* node) const { return Criterion::scale(stats_, node); }
  double score_unit() const { return Criterion::unit(stats_) / stats_.n_outputs(); }

 private:
  VectorStats stats_;
  [[no_unique_address]] Criterion criterion_;
  std::vector<Element> left_;
  std::vector<Element> right_;
  std::vector<Element> row_;
  double scale_ = 0.0;
  NoteRoom<double> scores_;
  NoteRoom<std::int64_t> left_weights_;
};

}  // namespace hornbeam
