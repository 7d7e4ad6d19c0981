// What blocks (grow/fast/value_block.h, grow/fast/rank_block.h) need besides a tree's rows: the limits of
// growth, and memory for drawing the columns that a node tries. The draws are those of grow/feature_draw.h,
// made by simd/grow/drawn_columns.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/sampler.h"
#include "grow/tree_builder.h"

namespace hornbeam::grow {

struct TreeRules {
  std::uint64_t key = 0;         // of the tree
  std::size_t max_features = 0;  // tried per node
  std::int32_t max_depth = 0;    // 0 for none
  std::int64_t min_samples_split = 2;
  std::int64_t min_samples_leaf = 1;
  std::int64_t min_weight = 0;  // of a branch; in drawn rows if rows are counted, else in fixed point
  LeastGain least_gain;
  double score_unit = 1.0;  // a unit of score in the user's weight * impurity

  // Whether a node with these rows and this weight may have a test.
  bool opens(std::int64_t samples, std::int64_t weight, bool pure, std::int32_t depth) const {
    const bool ends = samples < std::max(min_samples_split, 2 * min_samples_leaf) ||
                      weight < 2 * min_weight || (max_depth > 0 && depth >= max_depth);
    return !pure & !ends;
  }
  // The same for two classes; `ones` is the weight of class 1.
  bool opens_two(std::int64_t samples, std::int64_t weight, std::int64_t ones, std::int32_t depth) const {
    return opens(samples, weight, ones == 0 || ones == weight, depth);
  }
  // Writes a node's test, which raises the score by `raised`, and appends two children to the nodes; returns the
  // first of them, or -1 if the test gains too little.
  template <class Node>
  std::int32_t split(Node* nodes, std::size_t& n_nodes, std::int32_t id, FeatureId feature,
                     double raised) const {
    const double gain = std::max(0.0, raised * score_unit);
    if (least_gain.is_more_than(gain)) return -1;
    const auto first = static_cast<std::int32_t>(n_nodes);
    n_nodes += 2;
    nodes[id].first_child = first;
    nodes[id].feature = feature;
    nodes[id].gain = gain;
    nodes[first].first_child = nodes[first + 1].first_child = kNoChild;
    return first;
  }
};

struct ColumnDraw {
  static constexpr std::size_t kFour = 4;  // kernels try four columns at a time

  std::size_t n_columns;
  std::size_t max_features;    // tried per node
  std::uint64_t key;           // of the stream of features
  std::uint32_t* order;        // of columns; 0, 1, 2, ... between uses
  std::uint32_t* swapped;      // per column
  std::uint32_t* drawn;        // per column, and kFour more
  std::uint64_t* drawn_words;  // a bit per column; zeros between uses
};

class ColumnDrawBuffers {
 public:
  ColumnDraw start(std::size_t n_columns, const TreeRules& rules) {
    order_.resize(n_columns);
    std::iota(order_.begin(), order_.end(), std::uint32_t{0});
    swapped_.resize(n_columns);
    drawn_.resize(n_columns + ColumnDraw::kFour);
    drawn_words_.assign(n_columns / 64 + 1, 0);
    return {n_columns,          rules.max_features, Stream::key_for(rules.key, Purpose::kFeatures),
            order_.data(),      swapped_.data(),    drawn_.data(),
            drawn_words_.data()};
  }

 private:
  std::vector<std::uint32_t> order_;
  std::vector<std::uint32_t> swapped_;
  std::vector<std::uint32_t> drawn_;
  std::vector<std::uint64_t> drawn_words_;
};

}  // namespace hornbeam::grow
