// Growing one tree: take the next open node, partition its rows by its test, describe the children, find
// their tests.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/arena.h"
#include "base/cancel.h"
#include "criterion/branch_cells.h"
#include "criterion/criteria.h"
#include "criterion/facts.h"
#include "criterion/stats.h"
#include "data/dataset.h"
#include "data/row_records.h"
#include "data/row_values.h"
#include "grow/frontier.h"
#include "split/categories/category_tests.h"
#include "tree/tree.h"

namespace hornbeam::grow {

using criterion::Criterion;
using criterion::LeafValue;
using criterion::Sample;
using criterion::ScoreBranches;
using criterion::Target;
using data::Dataset;
using data::RowRecords;
using data::RowValues;
using split::CategoricalSplit;
using tree::Tree;

// The policy for rows that lack a test's feature. `kLearn` sends them where the test gains most; under all others
// a test is scored on the rows that have its feature.
enum class Missing : std::uint8_t { kLearn, kMajority, kSurrogate, kFractional, kAvailable };

// By default nothing is limited; limits of 0 mean "none", except where said. The defaults that users get are stated in
// src/hornbeam/params.
struct GrowParams {
  Criterion criterion{};              // a row of criterion/table.h
  ScoreBranches own_score = nullptr;  // scores tests instead of the criterion, whose impurity is still shown
  LeafValue leaf_value = LeafValue::kMean;
  Growth growth = Growth::kDepthFirst;
  Missing missing = Missing::kLearn;
  std::int32_t max_surrogates = 0;
  bool random_splits = false;  // one random threshold per feature instead of the best
  CategoricalSplit categorical_split = CategoricalSplit::kSubset;
  double merge_level = 1.0;  // kMerge: categories are merged if their difference has a larger p-value
  std::int32_t max_depth = 0;
  std::int64_t min_samples_split = 2;
  std::int64_t min_samples_leaf = 1;
  double min_weight_leaf = 0.0;  // total weight, not a fraction
  std::int64_t max_leaf_nodes = 0;
  std::int64_t max_nodes = 0;
  std::int32_t max_features = 0;  // features tried per node
  double min_impurity_decrease = 0.0;
  double min_significance = 1.0;    // a node whose best adjusted p-value is larger stays a leaf; chi2, f_test
  std::vector<FeatureId> features;  // the only ones that may be tested, ascending; empty for all
  std::vector<std::int8_t> monotonic;  // per feature -1, 0, +1; empty for none
  std::uint64_t key = 0;               // every random draw is a function of it
  // Other layouts of the table that some lanes read: made once for many trees, or else by the grower.
  const RowValues* row_values = nullptr;  // for random splits
  const RowRecords* records = nullptr;    // for best splits of two classes among drawn features
  bool searches_groups = true;            // whether the lane of groups is allowed; for tests
  bool grows_blocks = true;               // whether the lanes of blocks are allowed; for tests
  int n_threads = 1;
  std::span<Region> regions;      // working memory, one per thread; empty: the grower makes its own
  bool on_calling_thread = true;  // it runs on the thread that called in from Python, and checks for signals
  std::size_t subtree_rows = 65536;  // nodes of at most so many rows are grown from compacted rows; for tests
};

// Whether there are fast lanes (grow/fast, stumps): a core built with HORNBEAM_PLAIN grows the same trees without.
bool has_lanes();

struct GrownTree {
  Tree tree;
  std::int64_t n_weightless = 0;  // rows with a positive weight too small to count
};

GrownTree grow_tree(const Dataset& data, const Target& target, const Sample& sample, const GrowParams& params,
                    Cancel& cancel);

}  // namespace hornbeam::grow
