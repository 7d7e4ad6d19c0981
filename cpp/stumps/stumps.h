// Finds stumps of least weighted error, one after another under changing weights, as AdaBoost needs them.
//
// A stump is the root of a tree grown by accuracy and stopped at depth 1. What it needs from the columns
// never changes between rounds, so it is made once: the rows of every column in the order of its values. A
// round is then one pass over each column. In: weights. Out: a tree of at most three nodes, and for every row
// whether that tree is wrong about it.
//
// Weights are fixed-point integers as everywhere in growth, so the stump found depends neither on threads nor
// on the order of sums, and it is the one that the grower finds: first feature, lowest threshold.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "data/dataset.h"
#include "split/categories/find_categories.h"
#include "tree/tree.h"

namespace hornbeam::stumps {

using data::Dataset;
using split::FirstBest;
using split::Split;
using tree::Tree;

struct Stump {
  Tree tree;
  std::vector<std::uint8_t> wrong;  // per row
  std::int64_t n_weightless = 0;    // rows whose positive weight is too small to count
};

class StumpSearch {
 public:
  // `data` must outlive the search; `classes` are the class codes of its rows.
  StumpSearch(const Dataset& data, std::span<const std::int32_t> classes, int n_classes, int n_threads,
              Cancel& cancel);
  StumpSearch(StumpSearch&&) = default;  // sorted rows are large: moved, never copied
  StumpSearch(const StumpSearch&) = delete;

  std::size_t n_rows() const { return rows_.size(); }

  // Rows of weight 0 are ignored; at least one weight must be positive.
  Stump best(std::span<const double> weights, int n_threads, Cancel& cancel);

 private:
  // The known rows of a numeric column by ascending value; a flag on a row says that a cut may follow it.
  struct SortedColumn {
    Buffer<std::uint32_t> known;
    std::vector<RowId> missing;
  };
  // The weights of a round: fixed-point numbers with their class, in units of `unit`.
  struct Weighed {
    std::int64_t weight;
    std::int32_t label;
  };
  struct Workspace;
  class CategorySearch;

  void sort_columns(int n_threads, Cancel& cancel);
  void weigh(std::span<const double> weights);
  std::span<const std::uint32_t> known_rows(FeatureId feature, Workspace& work) const;
  std::vector<std::int64_t> missing_cell(FeatureId feature, std::size_t& n_missing) const;
  double best_score(FeatureId feature, Workspace& work) const;
  double best_of_two_classes(FeatureId feature, Workspace& work) const;
  std::size_t first_cut_of_two_classes(std::span<const std::uint32_t> known, double score) const;
  Split place_cut(FeatureId feature, double score, Workspace& work) const;
  FirstBest<Split> find_split(std::span<const double> weights, int n_threads, Cancel& cancel);
  Stump carry_out(Split split, double gain) const;

  const Dataset& data_;
  std::vector<std::int32_t> classes_;
  int n_classes_;
  std::vector<SortedColumn> columns_;

  // The current round.
  std::vector<Weighed> rows_;         // 0 for rows that do not count
  std::vector<std::int64_t> signed_;  // two classes: the weight, negative in class 0
  std::vector<std::int64_t> node_;    // weight per class
  std::size_t n_rows_counting_ = 0;
  std::int64_t n_weightless_ = 0;
  double unit_ = 1.0;
  bool counting_ = false;  // a row weighs 1 unit
};

}  // namespace hornbeam::stumps
