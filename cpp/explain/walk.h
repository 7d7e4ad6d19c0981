// The game of one row in one tree, leaf by leaf: the simple and general way, whose results all faster ones
// must match.
//
// A set of columns is known. At a test on a known column the row takes its own branch; at any other it goes
// down every branch, in the shares of the rows of the fit (path-dependent), or down the branch of a row of a
// background (interventional). A leaf is then worth its value times a product over the columns on its path:
// the share of rows that passes all tests on the column, `in` if the column is known, `out` if it is not. The
// Shapley value of column i in such a product is
//
//     (in_i - out_i) * integral over t from 0 to 1 of the product over j != i of (1 - t) out_j + t in_j,
//
// that of a pair the same with two factors taken out (quadrature.h). The values of all leaves are added up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "explain/quadrature.h"
#include "explain/rows.h"

namespace hornbeam::explain {

struct PathColumn {
  FeatureId feature;
  double in;
  double out;
};

// Visits the leaves of a tree with the columns on their paths. Leaves with in = out = 0 for a column, which
// no row can reach, are skipped. Keeps its memory from tree to tree. Nothing recurses: trees may be deep.
class PathWalk {
 public:
  explicit PathWalk(std::size_t n_features) : place_(n_features, kNowhere) {}

  // `in(node)` and `out(node)` say which branch is taken at a node; kAllBranches means all, in the given
  // `shares`. `skips(node)` says below which nodes not to go.
  template <class In, class Out, class Skips, class Visit>
  void visit(const Tree& tree, std::span<const double> shares, const In& in, const Out& out,
             const Skips& skips, Visit&& visit) {
    waiting_.assign(1, {0, 0, kNoFeature, 1.0, 1.0});
    while (!waiting_.empty()) {
      const Step step = waiting_.back();
      waiting_.pop_back();
      take_back(step.depth == 0 ? 0 : step.depth - 1);
      if (step.depth > 0) apply(step);
      const NodeId node = step.node;
      if (skips(node)) continue;
      if (tree.is_leaf(node)) {
        visit(node, std::span<const PathColumn>(columns_));
        continue;
      }
      push_children(tree, shares, node, step.depth, in(node), out(node));
    }
    take_back(0);
  }

 private:
  static constexpr std::int32_t kNowhere = -1;
  struct Step {
    NodeId node;
    std::size_t depth;
    FeatureId feature;  // of the test before it, and the shares that pass
    double in;
    double out;
  };
  struct Former {
    std::size_t place;
    double in;
    double out;
    bool is_new;
  };

  void apply(const Step& step);
  void take_back(std::size_t depth);
  void push_children(const Tree& tree, std::span<const double> shares, NodeId node, std::size_t depth,
                     std::int32_t in, std::int32_t out);

  std::vector<Step> waiting_;
  std::vector<Former> formers_;  // what the steps to here have changed, in order
  std::vector<PathColumn> columns_;
  std::vector<std::int32_t> place_;  // by feature: its place in columns_
};

// Shapley values, and those of pairs, in the game of one leaf that is worth 1.
class LeafGame {
 public:
  explicit LeafGame(const Quadratures& quadratures) : quadratures_(quadratures) {}

  // Calls single(i, value) for the columns that count.
  template <class Single>
  void singles(std::span<const PathColumn> columns, Single&& single) {
    multiply(columns);
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].in != columns[i].out)
        single(i, (columns[i].in - columns[i].out) * integral_without(i, i, columns.size()));
    }
  }
  // Calls pair(i, j, value) for pairs i < j; the value is that of both orders together. Call `singles` first.
  template <class Pair>
  void pairs(std::span<const PathColumn> columns, Pair&& pair) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      if (columns[i].in == columns[i].out) continue;
      for (std::size_t j = i + 1; j < columns.size(); ++j) {
        const double both = (columns[i].in - columns[i].out) * (columns[j].in - columns[j].out);
        if (both != 0) pair(i, j, both * integral_without(i, j, columns.size()));
      }
    }
  }

 private:
  void multiply(std::span<const PathColumn> columns);
  double integral_without(std::size_t i, std::size_t j, std::size_t n_columns) const;

  const Quadratures& quadratures_;
  std::vector<double> factors_;  // [column, point]
  std::vector<double> product_;  // of all factors and the weight, by point
};

}  // namespace hornbeam::explain
