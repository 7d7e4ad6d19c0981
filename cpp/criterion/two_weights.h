// Gini over two classes of weighted rows. This is the common case of VectorScorer<VectorGini>
// (criterion/vectors.h), which takes any number of classes and outputs: here two sums are all that is needed.
// The scores are the same, bit for bit: weights are whole numbers below 2^53, which float64 adds exactly.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/platform.h"
#include "criterion/candidates.h"
#include "criterion/concepts.h"
#include "criterion/stats.h"

namespace hornbeam::criterion {

// Fixed-point weights of two classes, as VectorStats has them; the last element of a cell counts rows.
class TwoWeightStats {
 public:
  using Element = std::int64_t;

  TwoWeightStats(const Target& target, const Sample& sample) {
    double total_weight = 0.0;
    for (std::size_t i = 0; i < sample.rows.size(); ++i)
      total_weight += target.weight(sample.rows[i]) * sample.times(i);
    scale_ = fixed_point_scale(total_weight, 52);
    auto per_row = std::make_shared<Buffer<Element>>(*std::ranges::max_element(sample.rows) + std::size_t{1});
    for (const RowId row : sample.rows) {
      const Element weight = std::llround(target.weight(row) * scale_);
      (*per_row)[row] = target.label(row) == 0 ? weight : -weight;
    }
    weight_of_row_ = per_row->data();
    per_row_ = std::move(per_row);
    find_class_weights(sample);
  }

  static std::uint32_t payload_of(const Target&, RowId, std::uint32_t times) { return times; }

  int cell_size() const { return 3; }
  double weight_unit() const { return 1 / scale_; }
  std::int64_t fixed_weight(RowId row) const { return std::abs(weight_of_row_[row]); }
  std::int64_t entry_weight(const Entry& entry) const { return std::abs(signed_weight(entry)); }
  // Of class 1, negative.
  std::int64_t signed_weight(const Entry& entry) const { return weight_of_row_[entry.row] * entry.payload; }

  // What a row of each class weighs, if all of them weigh the same, as `class_weight` has it; else nothing.
  const std::optional<std::array<Element, 2>>& class_weights() const { return class_weights_; }

  void load(std::span<const Entry> entries) {
    if (items_.size() < entries.size()) items_.resize(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) items_[i] = signed_weight(entries[i]);
  }
  const std::int64_t* loaded() const { return items_.data(); }  // signed, by position in the node
  std::uint32_t sort_payload(const Entry&, std::size_t position) const {
    return static_cast<std::uint32_t>(position);
  }
  void add(Element* cell, std::uint32_t position) const {
    const std::int64_t item = items_[position];
    cell[item < 0 ? 1 : 0] += std::abs(item);
    ++cell[2];
  }
  void add_all(Element* cell, std::span<const Entry> loaded) const {
    std::int64_t sums[2] = {0, 0};  // in registers: adding to the same cell again and again waits for memory
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      sums[0] += std::max<std::int64_t>(items_[i], 0);
      sums[1] -= std::min<std::int64_t>(items_[i], 0);
    }
    cell[0] += sums[0];
    cell[1] += sums[1];
    cell[2] += static_cast<Element>(loaded.size());
  }
  // The same as words that can be summed over any set of rows: a row is two words of 64 bits, `stride` apart.
  int n_words() const { return 2; }
  static constexpr std::size_t kRowsPerSum = kMaxRows;
  void write_words(std::span<const Entry> loaded, std::int64_t* words, std::size_t stride) const {
    for (std::size_t i = 0; i < loaded.size(); ++i) {
      words[i] = std::max<std::int64_t>(items_[i], 0);
      words[stride + i] = -std::min<std::int64_t>(items_[i], 0);
    }
  }
  void add_words(Element* cell, const std::int64_t* sums, std::size_t n_rows) const {
    cell[0] += sums[0];
    cell[1] += sums[1];
    cell[2] += static_cast<Element>(n_rows);
  }

  std::int64_t weight(const Element* cell) const { return cell[0] + cell[1]; }
  std::int64_t rows(const Element* cell) const { return cell[2]; }
  bool empty(const Element* cell) const { return cell[2] == 0; }

 private:
  void find_class_weights(const Sample& sample) {
    std::array<Element, 2> weights = {0, 0};
    for (const RowId row : sample.rows) {
      const Element weight = weight_of_row_[row];
      if (weight == 0) continue;
      Element& known = weights[weight < 0 ? 1 : 0];
      if (known == 0) known = std::abs(weight);
      if (known != std::abs(weight)) return;
    }
    if (weights[0] > 0 && weights[1] > 0) class_weights_ = weights;
  }

  double scale_ = 1.0;
  std::optional<std::array<Element, 2>> class_weights_;
  std::shared_ptr<const Buffer<Element>> per_row_;  // shared by the copies that worker threads hold
  const Element* weight_of_row_ = nullptr;          // of class 1, negative
  std::vector<Element> items_;                      // of the loaded node, in its row order
};

// How many classes the order of categories depends on (split/categories/category_order.h).
inline int class_channels(const TwoWeightStats&) {
  return 2;
}

class TwoWeightScorer {
 public:
  using Stats = TwoWeightStats;
  using Element = TwoWeightStats::Element;
  static constexpr BlockCells kBlockCells = BlockCells::kTwoWeights;

  explicit TwoWeightScorer(TwoWeightStats stats) : stats_(std::move(stats)) {}

  TwoWeightStats& stats() { return stats_; }
  const TwoWeightStats& stats() const { return stats_; }
  int cell_size() const { return stats_.cell_size(); }
  bool is_empty(const Element* cell) const { return stats_.empty(cell); }

  class Walk {
   public:
    using Element = TwoWeightStats::Element;
    using Step = std::uint32_t;

    static Step step_of(std::uint32_t position) { return position; }
    void move(Step position) {
      const std::int64_t item = rows_[position];
      weight_ += std::abs(item);
      ones_ -= std::min<std::int64_t>(item, 0);
      ++n_rows_;
    }
    void move_cell(const Element* cell) {
      weight_ += cell[0] + cell[1];
      ones_ += cell[1];
      n_rows_ += cell[2];
    }
    void add_candidate(bool wanted) {
      const auto term = [](std::int64_t zeros, std::int64_t ones) {
        const auto w0 = static_cast<double>(zeros);
        const auto w1 = static_cast<double>(ones);
        return w0 * w0 + w1 * w1;
      };
      left_terms_[n_candidates_] = term(weight_ - ones_, ones_);
      right_terms_[n_candidates_] = term(node_weight_ - node_ones_ - (weight_ - ones_), node_ones_ - ones_);
      left_weights_[n_candidates_] = static_cast<double>(weight_);
      n_candidates_ += wanted;
    }
    std::size_t n_candidates() const { return n_candidates_; }
    std::int64_t left_rows() const { return n_rows_; }
    std::int64_t left_weight() const { return weight_; }
    double left_value() const { return share_of_class_1(ones_, weight_); }
    double right_value() const { return share_of_class_1(node_ones_ - ones_, node_weight_ - weight_); }

   private:
    friend class TwoWeightScorer;
    std::int64_t weight_ = 0;
    std::int64_t ones_ = 0;
    std::int64_t n_rows_ = 0;
    std::size_t n_candidates_ = 0;
    std::int64_t node_weight_ = 0;
    std::int64_t node_ones_ = 0;
    const std::int64_t* rows_ = nullptr;
    double* left_terms_ = nullptr;
    double* right_terms_ = nullptr;
    double* left_weights_ = nullptr;
  };

  Walk start(const Element* node, std::size_t most_candidates) {
    Walk walk;
    walk.node_weight_ = stats_.weight(node);
    walk.node_ones_ = node[1];
    walk.rows_ = stats_.loaded();
    walk.left_terms_ = left_terms_.start(most_candidates);
    walk.right_terms_ = right_terms_.start(most_candidates);
    walk.left_weights_ = left_weights_.start(most_candidates);
    scores_.start(most_candidates);
    return walk;
  }
  BestCandidate best_candidate(const Walk& walk, double to_beat) {
    const std::size_t n = walk.n_candidates_;
    if (n == 0) return {};
    for (CandidateList<double>* list : {&left_terms_, &right_terms_, &left_weights_}) list->repeat_last(n);
    const double largest = kernels().two_ratios(walk.left_terms_, walk.right_terms_, walk.left_weights_, n,
                                                static_cast<double>(walk.node_weight_), scores_.data());
    return first_best(scores_.data(), largest, 0.0, to_beat);
  }
  std::int64_t left_weight_of(std::size_t candidate) {
    return static_cast<std::int64_t>(left_weights_.data()[candidate]);
  }

  double score_of_node(const Element* node) const { return score_of_branch(node, node); }
  double score_of_branch(const Element* cell, const Element*) const {
    const std::int64_t weight = stats_.weight(cell);
    if (weight == 0) return 0.0;
    const auto w0 = static_cast<double>(cell[0]);
    const auto w1 = static_cast<double>(cell[1]);
    return (w0 * w0 + w1 * w1) / static_cast<double>(weight);
  }
  double order_of(const Element* cell) const { return share_of_class_1(cell[1], stats_.weight(cell)); }
  double tie_scale(const Element*) const { return 0.0; }
  double score_unit() const { return stats_.weight_unit(); }

 private:
  static double share_of_class_1(std::int64_t ones, std::int64_t weight) {
    return static_cast<double>(ones) / static_cast<double>(weight);
  }

  TwoWeightStats stats_;
  CandidateList<double> left_terms_;
  CandidateList<double> right_terms_;
  CandidateList<double> left_weights_;
  CandidateList<double> scores_;
};

}  // namespace hornbeam::criterion
