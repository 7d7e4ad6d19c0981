// Prediction: the one door through which every estimator asks its trees. A `Predictor` is made of trees, once
// per model, and answers for rows: the leaf of each row in each tree, or what the trees say added up.
//
// Whatever path computes it, the answer is the one of the plain walk (predict/plain.h), bit for bit: a leaf
// is a leaf, and sums are made in float64, in the order of the trees, one tree after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hornbeam/cancel.h"
#include "hornbeam/predict/rows.h"
#include "hornbeam/tree.h"

namespace hornbeam {

// Where a category goes that the model has not seen.
enum class Unseen : std::uint8_t { kMissing, kMajority };

struct TreeRange {
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t size() const { return end - begin; }
};

// What a tree adds to the score of a row: the values of the leaf (class shares, a number), or as a hard vote
// 1 for the first largest class of each output; times the tree's weight, if there are weights.
struct Counting {
  bool hard_votes = false;
  std::span<const double> weights{};  // one per tree of the ensemble, or none

  double weight(std::size_t tree) const { return weights.empty() ? 1.0 : weights[tree]; }
};

class Predictor {
 public:
  // `adds_to` is empty where the values of a tree cover the whole score. Else every tree has one value and
  // adds it to the column of the score that `adds_to` names for it (boosting of several classes). The trees
  // belong to the caller and outlive the predictor.
  Predictor(std::vector<const Tree*> trees, std::vector<std::int32_t> adds_to, Unseen unseen);

  std::size_t n_trees() const { return trees_.size(); }
  std::size_t n_outputs() const { return n_outputs_; }
  std::size_t n_values() const { return n_values_; }  // per output
  std::size_t score_size() const { return n_outputs_ * n_values_; }
  // The features that the trees test, ascending.
  const std::vector<FeatureId>& features() const { return features_; }

  // leaves[row, tree of the range] = the leaf that the row falls into.
  void leaves(const RowSource& rows, TreeRange range, int n_threads, Cancel& cancel,
              std::span<NodeId> leaves) const;

  // scores[row, output, value] += what each tree of the range says, in the order of the trees.
  void add(const RowSource& rows, TreeRange range, const Counting& counting, int n_threads, Cancel& cancel,
           std::span<double> scores) const;

 private:
  std::vector<const Tree*> trees_;
  std::vector<std::int32_t> adds_to_;
  Unseen unseen_;
  std::size_t n_outputs_ = 1;
  std::size_t n_values_ = 1;
  std::vector<FeatureId> features_;
};

}  // namespace hornbeam
