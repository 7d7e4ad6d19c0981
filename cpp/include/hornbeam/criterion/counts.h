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

#include "hornbeam/math.h"
#include "hornbeam/stats.h"

namespace hornbeam {

struct GiniTerm {
  explicit GiniTerm(std::int64_t) {}
  std::int64_t operator()(std::int64_t count) const { return count * count; }
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
  std::int64_t operator()(std::int64_t count) const { return values_[count]; }
  double branch(std::int64_t terms, std::int64_t count) const {
    return static_cast<double>(terms - values_[count]);
  }
  double scale(std::int64_t count) const { return static_cast<double>(values_[count]); }
  double unit() const { return 1 / scale_; }

 private:
  double scale_ = 1.0;
  std::shared_ptr<const std::vector<std::int64_t>> table_;
  const std::int64_t* values_ = nullptr;
};

template <class Term>
class CountScorer {
 public:
  using Stats = CountStats;
  using Element = CountStats::Element;

  CountScorer(CountStats stats, std::int64_t total_count)
      : stats_(std::move(stats)),
        term_(total_count),
        left_(static_cast<std::size_t>(stats_.cell_size())),
        right_(static_cast<std::size_t>(stats_.cell_size())) {}

  CountStats& stats() { return stats_; }

  void start(const Element* node) {
    left_terms_ = right_terms_ = 0;
    left_count_ = right_count_ = 0;
    for (std::size_t k = 0; k < left_.size(); ++k) {
      left_[k] = 0;
      right_[k] = node[k];
      right_terms_ += term_(node[k]);
      right_count_ += node[k];
    }
  }

  void move(std::uint32_t payload) { move_class(payload >> 8, payload & 0xff); }

  void move_cell(const Element* cell) {
    for (std::size_t k = 0; k < left_.size(); ++k) {
      if (cell[k] != 0) move_class(k, cell[k]);
    }
  }

  double score() const {
    return term_.branch(left_terms_, left_count_) + term_.branch(right_terms_, right_count_);
  }
  std::int64_t left_rows() const { return left_count_; }
  std::int64_t left_weight() const { return left_count_; }
  double left_value() const { return share_of_class_1(left_.data(), left_count_); }
  double right_value() const { return share_of_class_1(right_.data(), right_count_); }

  double score_of(const Element* cell) const {
    std::int64_t terms = 0;
    std::int64_t count = 0;
    for (std::size_t k = 0; k < left_.size(); ++k) {
      terms += term_(cell[k]);
      count += cell[k];
    }
    return term_.branch(terms, count);
  }
  double order_of(const Element* cell) const { return share_of_class_1(cell, stats_.weight(cell)); }
  double tie_scale(const Element* node) const { return term_.scale(stats_.weight(node)); }
  double score_unit() const { return term_.unit() * stats_.weight_unit(); }

 private:
  void move_class(std::size_t k, std::int64_t count) {
    const std::int64_t l = left_[k];
    const std::int64_t r = right_[k];
    left_terms_ += term_(l + count) - term_(l);
    right_terms_ += term_(r - count) - term_(r);
    left_[k] = static_cast<Element>(l + count);
    right_[k] = static_cast<Element>(r - count);
    left_count_ += count;
    right_count_ -= count;
  }
  static double share_of_class_1(const Element* cell, std::int64_t count) {
    return static_cast<double>(cell[1]) / static_cast<double>(count);
  }

  CountStats stats_;
  Term term_;
  std::vector<Element> left_;
  std::vector<Element> right_;
  std::int64_t left_terms_ = 0;
  std::int64_t right_terms_ = 0;
  std::int64_t left_count_ = 0;
  std::int64_t right_count_ = 0;
};

}  // namespace hornbeam
