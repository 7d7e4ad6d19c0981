// Prediction: the one door through which every estimator asks its trees. A `Predictor` is made of trees, once
// per model, and answers for rows: the leaf of each row in each tree, or what the trees say added up.
//
// Whatever path computes it, the answer is the one of the plain walk (predict/plain.h), bit for bit: a leaf
// is a leaf, and sums are made in float64, in the order of the trees, one tree after the other.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "predict/lazy.h"
#include "predict/rows.h"
#include "tree/tree.h"

namespace hornbeam::predict {

using tree::Tree;

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

// Scores on the way: out[stage, row, output, value] are those after `step` more trees each.
struct Stages {
  std::size_t step = 0;  // 0: nobody wants them
  std::span<double> out{};
};

struct SingleForm;
struct DoubleForm;
template <class Form>
class CompactTrees;
class SlicedTrees;
class OneRowTrees;

// How the answers are computed. They do not depend on it; tests and measurements may ask for one.
enum class PredictPath : std::uint8_t { kFastest, kPlain, kCompact, kSliced, kOneRow };

class Predictor {
 public:
  // `adds_to` is empty where the values of a tree cover the whole score. Else every tree has one value and
  // adds it to the column of the score that `adds_to` names for it (boosting of several classes). The trees
  // belong to the caller and outlive the predictor.
  Predictor(std::vector<const Tree*> trees, std::vector<std::int32_t> adds_to, Unseen unseen,
            PredictPath path = PredictPath::kFastest, InstructionSet instructions = InstructionSet::kAvx512);
  ~Predictor();

  std::size_t n_trees() const { return trees_.size(); }
  std::size_t n_outputs() const { return n_outputs_; }
  std::size_t n_values() const { return n_values_; }  // per output
  std::size_t score_size() const { return n_outputs_ * n_values_; }
  // The features that the trees test, ascending.
  const std::vector<FeatureId>& features() const { return features_; }

  // Whether a path can serve these trees at all. The plain walk serves every tree.
  bool can_take(PredictPath path) const;

  // leaves[row, tree of the range] = the leaf that the row falls into.
  void leaves(const RowSource& rows, TreeRange range, int n_threads, Cancel& cancel,
              std::span<NodeId> leaves) const;

  // scores[row, output, value] += what each tree of the range says, in the order of the trees; a tree that
  // has no answer for a row adds nothing. `leaves` shows which: there the way of the row ends at an inner
  // node.
  void add(const RowSource& rows, TreeRange range, const Counting& counting, int n_threads, Cancel& cancel,
           std::span<double> scores, const Stages& stages = {}) const;

 private:
  // Forms of the trees are worth making after some rows: counts them, and says whether they are enough.
  void count_rows(std::size_t n_rows) const;
  bool has_seen_enough() const;
  // Whether the compact form can hold the trees and is worth making, or made already.
  bool should_compact() const;
  template <class Form>
  const CompactTrees<Form>& compact(int n_threads, Cancel* cancel = nullptr) const;
  bool seem_single(const RowSource& rows) const;

  const SlicedTrees& make_sliced() const;
  // The sliced form of the trees, if it can hold them and suits the rows; else null.
  const SlicedTrees* sliced(std::size_t n_rows, TreeRange range, const Counting& counting) const;
  void add_sliced(const SlicedTrees& sliced, const RowSource& rows, TreeRange range, const Counting& counting,
                  int n_threads, Cancel& cancel, std::span<double> scores, const Stages& stages) const;
  // The form for single rows, if it can hold the trees and suits the rows; else null.
  const OneRowTrees* one_row(std::size_t n_rows, const Counting& counting, const Stages& stages) const;
  void add_row_by_row(const OneRowTrees& trees, const RowSource& rows, TreeRange range,
                      const Counting& counting, std::span<double> scores) const;
  // Where the scores from a row on are to be copied after a tree; null if the tree ends no stage.
  double* stage_after(std::size_t tree, TreeRange range, const Stages& stages, std::size_t n_rows,
                      std::size_t row) const {
    if (stages.step == 0 || (tree + 1 - range.begin) % stages.step != 0) return nullptr;
    return stages.out.data() + ((tree - range.begin) / stages.step * n_rows + row) * score_size();
  }
  std::size_t first_score(std::size_t tree) const {
    return adds_to_.empty() ? 0 : static_cast<std::size_t>(adds_to_[tree]);
  }

  // Calls visit(tree, first row, leaves of the rows, where the values of a leaf are), for some rows after the
  // other and in the order of the trees.
  template <class Visit>
  void visit_leaves(const RowSource& rows, TreeRange range, int n_threads, Cancel& cancel,
                    Visit&& visit) const;
  template <class Visit>
  void visit_plain(const RowSource& rows, TreeRange range, int n_threads, Cancel& cancel,
                   Visit&& visit) const;
  template <class Visit>
  void visit_mixtures(const RowSource& rows, TreeRange range, int n_threads, Cancel& cancel,
                      Visit&& visit) const;
  template <class Visit>
  void visit_compact(const RowSource& rows, TreeRange range, int n_threads, Cancel& cancel,
                     Visit&& visit) const;
  template <class Form, class Visit>
  bool visit_few_rows(const RowSource& rows, TreeRange range, Visit&& visit) const;

  std::vector<const Tree*> trees_;
  std::vector<std::int32_t> adds_to_;
  Unseen unseen_;
  std::size_t n_outputs_ = 1;
  std::size_t n_values_ = 1;
  std::vector<FeatureId> features_;
  PredictPath path_;
  InstructionSet instructions_;  // at most
  double nodes_per_tree_ = 0;
  bool single_can_hold_ = false;
  bool double_can_hold_ = false;
  bool sliced_may_hold_ = false;
  bool one_row_may_hold_ = false;

  // What follows from the trees and is made when it pays. Predicting changes nothing else.
  mutable std::atomic<std::size_t> rows_seen_{0};
  Lazy<CompactTrees<SingleForm>> single_;
  Lazy<CompactTrees<DoubleForm>> double_;
  Lazy<SlicedTrees> sliced_;
  Lazy<OneRowTrees> one_row_;
};

}  // namespace hornbeam::predict
