// Squared error and Poisson deviance for one real output.
//
//   squared_error  weight * impurity = sum w y^2 - (sum w y)^2 / sum w         (around the mean)
//   poisson        weight * impurity = sum w y ln y - (sum w y) ln(mean of y)   (half deviance; needs a
//   positive sum)
#pragma once

#include "hornbeam/math.h"
#include "hornbeam/stats.h"
#include "hornbeam/types.h"

namespace hornbeam {

struct SquaredErrorBranch {
  explicit SquaredErrorBranch(const SumStats& stats)
      : unit_(stats.sum_unit() * stats.sum_unit() / stats.weight_unit()) {}
  double operator()(double sum, double weight) const { return sum * sum / weight; }
  double unit() const { return unit_; }

 private:
  double unit_;
};

class PoissonBranch {
 public:
  explicit PoissonBranch(const SumStats& stats)
      : sum_unit_(stats.sum_unit()), mean_unit_(stats.sum_unit() / stats.weight_unit()) {}
  double operator()(double sum, double weight) const {
    return sum > 0 ? sum * ln_of(sum / weight * mean_unit_) : -kInfinity;
  }
  double unit() const { return sum_unit_; }

 private:
  double sum_unit_;
  double mean_unit_;
};

template <class Branch>
class SumScorer {
 public:
  using Stats = SumStats;
  using Element = SumStats::Element;

  explicit SumScorer(SumStats stats) : stats_(std::move(stats)), branch_(stats_) {}

  SumStats& stats() { return stats_; }

  void start(const Element* node) {
    for (int i = 0; i < 3; ++i) {
      left_[i] = 0;
      right_[i] = node[i];
    }
  }
  void move(std::uint32_t position) {
    Element row[3] = {0, 0, 0};
    stats_.add(row, position);
    move_cell(row);
  }
  void move_cell(const Element* cell) {
    for (int i = 0; i < 3; ++i) {
      left_[i] += cell[i];
      right_[i] -= cell[i];
    }
  }

  double score() const { return score_of(left_) + score_of(right_); }
  std::int64_t left_rows() const { return left_[SumStats::kRows]; }
  std::int64_t left_weight() const { return left_[SumStats::kWeight]; }
  double left_value() const { return mean(left_); }
  double right_value() const { return mean(right_); }
  double score_of(const Element* cell) const {
    return branch_(static_cast<double>(cell[SumStats::kSum]), static_cast<double>(cell[SumStats::kWeight]));
  }
  double order_of(const Element* cell) const {
    return static_cast<double>(cell[SumStats::kSum]) / static_cast<double>(cell[SumStats::kWeight]);
  }
  double tie_scale(const Element*) const { return 0.0; }
  double score_unit() const { return branch_.unit(); }

 private:
  double mean(const Element* cell) const {
    return stats_.centre() + order_of(cell) * (stats_.sum_unit() / stats_.weight_unit());
  }

  SumStats stats_;
  Branch branch_;
  Element left_[3] = {0, 0, 0};
  Element right_[3] = {0, 0, 0};
};

}  // namespace hornbeam
