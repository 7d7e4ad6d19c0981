// Gini and entropy over any number of classes of weighted rows, one output. VectorScorer
// (criterion/vectors.h), which also handles several outputs, gives the same scores, bit for bit: weights are
// whole numbers below 2^53, which float64 adds exactly, and squares or logarithms are added up in the order
// of the classes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/math.h"
#include "base/platform.h"
#include "criterion/candidates.h"
#include "criterion/concepts.h"
#include "criterion/stats.h"

namespace hornbeam::criterion {

// What a row adds to a cell.
struct ClassWeight {
  std::int64_t weight;  // in fixed point
  std::int32_t label;

  // Class and weight in one word, as blocks hold them.
  static constexpr int kLabelShift = 53;
  std::int64_t packed() const { return std::int64_t{label} << kLabelShift | weight; }
};

// Fixed-point weights of the classes, as VectorStats has them; the last element of a cell counts rows.
class ClassWeightStats {
 public:
  using Element = std::int64_t;

  ClassWeightStats(const Target& target, const Sample& sample) : n_classes_(target.n_classes[0]) {
    double total_weight = 0.0;
    for (std::size_t i = 0; i < sample.rows.size(); ++i)
      total_weight += target.weight(sample.rows[i]) * sample.times(i);
    scale_ = fixed_point_scale(total_weight, 52);
    auto per_row =
        std::make_shared<Buffer<ClassWeight>>(*std::ranges::max_element(sample.rows) + std::size_t{1});
    for (const RowId row : sample.rows)
      (*per_row)[row] = {std::llround(target.weight(row) * scale_), target.label(row)};
    of_row_ = per_row->data();
    per_row_ = std::move(per_row);
  }

  static std::uint32_t payload_of(const Target&, RowId, std::uint32_t times) { return times; }

  int n_classes() const { return n_classes_; }
  int cell_size() const { return n_classes_ + 1; }
  double weight_unit() const { return 1 / scale_; }
  std::int64_t fixed_weight(RowId row) const { return of_row_[row].weight; }
  std::int64_t entry_weight(const Entry& entry) const { return of_row_[entry.row].weight * entry.payload; }
  ClassWeight item(const Entry& entry) const { return {entry_weight(entry), of_row_[entry.row].label}; }

  void load(std::span<const Entry> entries) {
    if (items_.size() < entries.size()) items_.resize(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) items_[i] = item(entries[i]);
  }
  const ClassWeight* loaded() const { return items_.data(); }  // by position in the node
  std::uint32_t sort_payload(const Entry&, std::size_t position) const {
    return static_cast<std::uint32_t>(position);
  }
  void add(Element* cell, std::uint32_t position) const {
    const ClassWeight& item = items_[position];
    cell[item.label] += item.weight;
    ++cell[n_classes_];
  }
  void add_all(Element* cell, std::span<const Entry> loaded) const {
    for (std::size_t i = 0; i < loaded.size(); ++i) cell[items_[i].label] += items_[i].weight;
    cell[n_classes_] += static_cast<Element>(loaded.size());
  }
  // The same as words that can be summed over any set of rows: a word of 64 bits per class, `stride` apart.
  int n_words() const { return n_classes_; }
  static constexpr std::size_t kRowsPerSum = kMaxRows;
  void write_words(std::span<const Entry> loaded, std::int64_t* words, std::size_t stride) const {
    for (std::size_t k = 0; k < static_cast<std::size_t>(n_classes_); ++k)
      std::fill_n(words + k * stride, loaded.size(), 0);
    for (std::size_t i = 0; i < loaded.size(); ++i)
      words[static_cast<std::size_t>(items_[i].label) * stride + i] = items_[i].weight;
  }
  void add_words(Element* cell, const std::int64_t* sums, std::size_t n_rows) const {
    for (int k = 0; k < n_classes_; ++k) cell[k] += sums[k];
    cell[n_classes_] += static_cast<Element>(n_rows);
  }

  std::int64_t weight(const Element* cell) const {
    std::int64_t sum = 0;
    for (int k = 0; k < n_classes_; ++k) sum += cell[k];
    return sum;
  }
  std::int64_t rows(const Element* cell) const { return cell[n_classes_]; }
  bool empty(const Element* cell) const { return rows(cell) == 0; }

 private:
  int n_classes_;
  double scale_ = 1.0;
  std::shared_ptr<const Buffer<ClassWeight>> per_row_;  // shared by the copies that worker threads hold
  const ClassWeight* of_row_ = nullptr;
  std::vector<ClassWeight> items_;  // of the loaded node, in its row order
};

// How many classes the order of categories depends on (split/categories/category_order.h).
inline int class_channels(const ClassWeightStats& stats) {
  return stats.n_classes();
}

// What a class weighs on both sides of a candidate.
struct ClassSides {
  double left;
  double right;
};

// A candidate is two sums of squares.
class GiniOfWeights {
 public:
  static constexpr BlockCells kBlockCells = BlockCells::kClassWeights;

  void start(std::span<const ClassSides>, std::size_t most_candidates) {
    left_terms_.start(most_candidates);
    right_terms_.start(most_candidates);
  }
  void add(std::size_t candidate, std::span<const ClassSides> classes) {
    double left = 0.0;
    double right = 0.0;
    for (const ClassSides& weights : classes) {
      left += weights.left * weights.left;
      right += weights.right * weights.right;
    }
    left_terms_.data()[candidate] = left;
    right_terms_.data()[candidate] = right;
  }
  // Scores all candidates; returns the largest score.
  double score(const double* left_weights, std::size_t n, double node_weight, double* scores) {
    for (CandidateList<double>* list : {&left_terms_, &right_terms_}) list->repeat_last(n);
    return kernels().two_ratios(left_terms_.data(), right_terms_.data(), left_weights, n, node_weight,
                                scores);
  }
  static double branch(std::span<const std::int64_t> weights, double weight) {
    double terms = 0.0;
    for (const std::int64_t of_class : weights) {
      const auto w = static_cast<double>(of_class);
      terms += w * w;
    }
    return terms / weight;
  }
  static double tie_scale(double) { return 0.0; }

 private:
  CandidateList<double> left_terms_;
  CandidateList<double> right_terms_;
};

// A candidate is the weights of all classes in the left branch: logarithms of many candidates are taken at once. Most
// candidates are ruled out by rough scores in float32, which are in units of the node's weight (base/math.h).
class EntropyOfWeights {
 public:
  static constexpr BlockCells kBlockCells = BlockCells::kWeightEntropies;

  // All is on the right.
  void start(std::span<const ClassSides> classes, std::size_t most_candidates) {
    node_.resize(classes.size());
    for (std::size_t k = 0; k < classes.size(); ++k) node_[k] = classes[k].right;
    stride_ = whole_groups(most_candidates) + kScoreGroup;
    weights_.start(classes.size() * stride_);
    others_.start(most_candidates);
    right_scores_.start(most_candidates);
  }
  void add(std::size_t candidate, std::span<const ClassSides> classes) {
    double* weights = weights_.data() + candidate;
    for (std::size_t k = 0; k < classes.size(); ++k) weights[k * stride_] = classes[k].left;
  }
  double score(const double* left_weights, std::size_t n, double node_weight, double* scores) {
    const std::size_t end = whole_groups(n);
    double* right_scores = right_scores_.data();
    begin(left_weights, n, scores);
    begin(right_of(left_weights, n, node_weight), n, right_scores);
    for (std::size_t k = 0; k < node_.size(); ++k) {
      const double* weights = of_class(k, n);
      kernels().add_x_log2_x(weights, n, scores);
      kernels().add_x_log2_x(right_of(weights, n, node_[k]), n, right_scores);
    }
    for (std::size_t i = 0; i < end; ++i) scores[i] += right_scores[i];
    return kernels().largest(scores, n);
  }
  // Whether rough scores come first: they cost a fifth of the exact ones of a few candidates.
  static bool pays(std::size_t n, double to_beat) { return n > kScoreGroup || to_beat > -kInfinity; }
  // Lists the candidates that may be the best, or about equal to it, if any may beat that score; forgets the others.
  std::span<const std::size_t> keep_promising(const double* left_weights, std::size_t n, double node_weight,
                                              double to_beat) {
    const float* rough = score_roughly(left_weights, n, node_weight);
    const double margin = rough_entropy_margin(node_.size());
    const double largest = largest_of(rough, n);
    promising_.clear();
    if (largest + margin <= to_beat / node_weight) return promising_;
    const auto floor = static_cast<float>(std::max(largest, to_beat / node_weight) - margin);
    for (std::size_t i = 0; i < n; ++i) {
      if (rough[i] >= floor) promising_.push_back(i);
    }
    for (std::size_t k = 0; k < node_.size(); ++k) {
      double* weights = weights_.data() + k * stride_;
      for (std::size_t i = 0; i < promising_.size(); ++i) weights[i] = weights[promising_[i]];
    }
    return promising_;
  }
  static double branch(std::span<const std::int64_t> weights, double weight) {
    double score = -x_log2_x(weight);
    for (const std::int64_t of_class : weights) score += x_log2_x(static_cast<double>(of_class));
    return score;
  }
  static double tie_scale(double weight) { return x_log2_x(weight); }

 private:
  // What n candidates have of a class on the left, in whole groups.
  const double* of_class(std::size_t k, std::size_t n) {
    double* weights = weights_.data() + k * stride_;
    std::fill_n(weights + n, whole_groups(n) - n, weights[n - 1]);
    return weights;
  }
  // The same on the right, of which the node has so much.
  const double* right_of(const double* left, std::size_t n, double node) {
    double* others = others_.data();
    const std::size_t end = whole_groups(n);
    for (std::size_t i = 0; i < end; ++i) others[i] = node - left[i];
    return others;
  }

  // What a branch has besides its classes.
  void begin(const double* weights, std::size_t n, double* scores) {
    const std::size_t end = whole_groups(n);
    double* terms = terms_.start(n);
    std::fill_n(terms, end, 0.0);
    kernels().add_x_log2_x(weights, n, terms);
    for (std::size_t i = 0; i < end; ++i) scores[i] = -terms[i];
  }

  const float* score_roughly(const double* left_weights, std::size_t n, double node_weight) {
    const std::size_t end = whole_groups(n);
    const double unit = 1 / node_weight;
    float* rough = rough_.start(n);
    const auto add = [&](const double* left, double node) {
      kernels().add_rough_x_log2_x(left, n, unit, rough);
      kernels().add_rough_x_log2_x(right_of(left, n, node), n, unit, rough);
    };
    std::fill_n(rough, end, 0.0f);
    add(left_weights, node_weight);
    for (std::size_t i = 0; i < end; ++i) rough[i] = -rough[i];
    for (std::size_t k = 0; k < node_.size(); ++k) add(of_class(k, n), node_[k]);
    return rough;
  }
  // Of whole groups, the last of which repeats the last candidate.
  static float largest_of(const float* rough, std::size_t n) {
    std::array<float, kScoreGroup> largest;
    std::copy_n(rough, kScoreGroup, largest.begin());
    for (std::size_t i = kScoreGroup; i < n; i += kScoreGroup) {
      for (std::size_t j = 0; j < kScoreGroup; ++j)
        largest[j] = rough[i + j] > largest[j] ? rough[i + j] : largest[j];
    }
    return *std::ranges::max_element(largest);
  }

  std::vector<double> node_;  // by class
  std::size_t stride_ = 0;
  CandidateList<double> weights_;  // of the left branches, all candidates of a class side by side
  CandidateList<double> others_;
  CandidateList<double> right_scores_;
  CandidateList<double> terms_;
  CandidateList<float> rough_;
  std::vector<std::size_t> promising_;
};

template <class Candidates>
class ClassWeightScorer {
 public:
  using Stats = ClassWeightStats;
  using Element = ClassWeightStats::Element;
  static constexpr BlockCells kBlockCells = Candidates::kBlockCells;

  explicit ClassWeightScorer(ClassWeightStats stats)
      : stats_(std::move(stats)), sides_(static_cast<std::size_t>(stats_.n_classes())) {}

  ClassWeightStats& stats() { return stats_; }
  const ClassWeightStats& stats() const { return stats_; }
  int cell_size() const { return stats_.cell_size(); }
  bool is_empty(const Element* cell) const { return stats_.empty(cell); }

  class Walk {
   public:
    using Element = ClassWeightStats::Element;
    using Step = std::uint32_t;

    static Step step_of(std::uint32_t position) { return position; }
    void move(Step position) {
      const ClassWeight& item = rows_[position];
      move_class(static_cast<std::size_t>(item.label), item.weight);
      ++n_rows_;
    }
    void move_cell(const Element* cell) {
      for (std::size_t k = 0; k < n_classes_; ++k) move_class(k, cell[k]);
      n_rows_ += cell[n_classes_];
    }
    void add_candidate(bool wanted) {
      if (!wanted) return;
      candidates_->add(n_candidates_, {sides_, n_classes_});
      left_weights_[n_candidates_++] = static_cast<double>(weight_);
    }
    std::size_t n_candidates() const { return n_candidates_; }
    std::int64_t left_rows() const { return n_rows_; }
    std::int64_t left_weight() const { return weight_; }
    double left_value() const { return sides_[1].left / static_cast<double>(weight_); }
    double right_value() const { return sides_[1].right / static_cast<double>(node_weight_ - weight_); }

   private:
    friend class ClassWeightScorer;
    void move_class(std::size_t k, std::int64_t weight) {
      weight_ += weight;
      sides_[k].left += static_cast<double>(weight);
      sides_[k].right -= static_cast<double>(weight);
    }

    std::size_t n_classes_ = 0;
    std::int64_t weight_ = 0;
    std::int64_t n_rows_ = 0;
    std::size_t n_candidates_ = 0;
    std::int64_t node_weight_ = 0;
    const ClassWeight* rows_ = nullptr;
    ClassSides* sides_ = nullptr;  // by class
    Candidates* candidates_ = nullptr;
    double* left_weights_ = nullptr;
  };

  Walk start(const Element* node, std::size_t most_candidates) {
    Walk walk;
    walk.n_classes_ = sides_.size();
    walk.node_weight_ = stats_.weight(node);
    walk.rows_ = stats_.loaded();
    for (std::size_t k = 0; k < sides_.size(); ++k) sides_[k] = {0.0, static_cast<double>(node[k])};
    walk.sides_ = sides_.data();
    candidates_.start(sides_, most_candidates);
    walk.candidates_ = &candidates_;
    walk.left_weights_ = left_weights_.start(most_candidates);
    scores_.start(most_candidates);
    scale_ = tie_scale(node);
    return walk;
  }
  BestCandidate best_candidate(const Walk& walk, double to_beat) {
    const std::size_t n = walk.n_candidates_;
    if (n == 0) return {};
    left_weights_.repeat_last(n);
    const auto node_weight = static_cast<double>(walk.node_weight_);
    if constexpr (requires { candidates_.keep_promising(nullptr, n, node_weight, to_beat); }) {
      if (Candidates::pays(n, to_beat)) return best_of_promising(n, node_weight, to_beat);
    }
    const double largest = candidates_.score(walk.left_weights_, n, node_weight, scores_.data());
    return first_best(scores_.data(), largest, scale_, to_beat);
  }
  std::int64_t left_weight_of(std::size_t candidate) {
    return static_cast<std::int64_t>(left_weights_.data()[candidate]);
  }

  double score_of_node(const Element* node) const { return score_of_branch(node, node); }
  double score_of_branch(const Element* cell, const Element*) const {
    const std::int64_t weight = stats_.weight(cell);
    if (weight == 0) return 0.0;
    return Candidates::branch({cell, sides_.size()}, static_cast<double>(weight));
  }
  // The share of class 1.
  double order_of(const Element* cell) const {
    return static_cast<double>(cell[1]) / static_cast<double>(stats_.weight(cell));
  }
  double tie_scale(const Element* node) const {
    return Candidates::tie_scale(static_cast<double>(stats_.weight(node)));
  }
  double score_unit() const { return stats_.weight_unit(); }

 private:
  BestCandidate best_of_promising(std::size_t n, double node_weight, double to_beat) {
    const std::span<const std::size_t> promising =
        candidates_.keep_promising(left_weights_.data(), n, node_weight, to_beat);
    if (promising.empty()) return {};
    double* left_weights = promising_weights_.start(promising.size());
    for (std::size_t i = 0; i < promising.size(); ++i) left_weights[i] = left_weights_.data()[promising[i]];
    promising_weights_.repeat_last(promising.size());
    const double largest = candidates_.score(left_weights, promising.size(), node_weight, scores_.data());
    BestCandidate best = first_best(scores_.data(), largest, scale_, to_beat);
    if (best.found) best.index = promising[best.index];
    return best;
  }

  ClassWeightStats stats_;
  std::vector<ClassSides> sides_;
  double scale_ = 0.0;
  Candidates candidates_;
  CandidateList<double> left_weights_;
  CandidateList<double> promising_weights_;
  CandidateList<double> scores_;
};

}  // namespace hornbeam::criterion
