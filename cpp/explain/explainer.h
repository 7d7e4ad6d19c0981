// The entry point of explanations: how much each column adds to the prediction of a row, as exact Shapley
// values.
//
// Two games (walk.h): path-dependent, where a row with an unknown column is divided as the rows of the fit
// were, and interventional, where it is drawn from the rows of a background. Parts and base add up to the
// prediction. Any number of threads work on blocks of rows. A row's sums are made by one thread in a fixed
// order, so the number of threads changes no bit.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "explain/quadrature.h"
#include "predict/predictor.h"

namespace hornbeam::explain {

using predict::RowSource;
using predict::Unseen;
using tree::Gaps;
using tree::Tree;

// How trees are added up. Tree t adds weights[t] times the values of a leaf, or times 1 for its largest value
// (with `votes`), to the scores; if `adds_to` is given, to score adds_to[t] alone.
struct Sum {
  std::vector<double> weights;
  std::vector<std::int32_t> adds_to;
  bool votes = false;
};

struct Question {
  const RowSource* background = nullptr;  // path-dependent without one
  bool pairs = false;
  int n_threads = 1;
};

class Explainer {
 public:
  // Throws std::invalid_argument if the trees cannot be added up. They must outlive the explainer.
  Explainer(std::vector<const Tree*> trees, Sum sum, Unseen unseen);

  const std::vector<FeatureId>& features() const { return features_; }  // that the trees test, ascending
  std::size_t n_scores() const { return n_scores_; }
  bool has_weights() const;  // from the rows of the fit, by tree

  // Writes parts[row, feature, score], or with pairs parts[row, feature, feature, score], and base[row,
  // score]. `n_features` is the number of columns of the table.
  void explain(const RowSource& rows, const Question& question, std::size_t n_features, Cancel& cancel,
               std::span<double> parts, std::span<double> base) const;

 private:
  friend class Work;
  // The values of a leaf as they are added up: one per score that the tree adds to, from first_score(tree)
  // on.
  void say(std::size_t tree, NodeId leaf, double* values) const;
  std::size_t n_said(std::size_t tree) const { return sum_.adds_to.empty() ? n_scores_ : 1; }
  std::size_t first_score(std::size_t tree) const {
    return sum_.adds_to.empty() ? 0 : static_cast<std::size_t>(sum_.adds_to[tree]);
  }

  std::vector<const Tree*> trees_;
  Sum sum_;
  Unseen unseen_;
  std::vector<FeatureId> features_;
  std::vector<bool> is_category_;  // by place in features_
  std::size_t n_scores_ = 1;
  Gaps gaps_ = Gaps::kBranch;
  std::vector<std::vector<double>> shares_;  // by tree and node: rows.h
  Quadratures quadratures_;
};

}  // namespace hornbeam::explain
