// Leaves with too many columns on their paths for tables: all of them in one walk of the tree, many rows at
// once (path-dependent games; the quadrature of Quadrature-TreeSHAP, 2026).
//
// On the way down the products of the path's factors are kept at each point of the quadrature; on the way up
// what the leaves below an edge are worth is added up, and the edge's column gets its share of it all at
// once. So the cost is one step per edge, however many columns there are.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "explain/explain_kernels.h"
#include "explain/quadrature.h"
#include "explain/rows.h"

namespace hornbeam::explain {

// A tree's edges on the way to such leaves.
class LongPaths {
 public:
  LongPaths() = default;
  // `is_done` marks the nodes below which every leaf is in a table.
  LongPaths(const Tree& tree, std::span<const double> shares, const std::vector<bool>& is_done,
            const Quadratures& quadratures);

  bool any() const { return !edges_.empty(); }
  std::size_t n_bytes() const;

 private:
  friend class LongPathWalk;
  // From the node above to `node`, which is on `level`; `former` is the last edge before it with the same
  // column.
  struct Edge {
    NodeId node;
    std::int32_t level;
    std::int32_t branch;
    std::int32_t former;
    FeatureId feature;
    double out;  // the share of the rows that gets past all tests on the column, down to here
    bool is_leaf;
  };
  Factors factors(std::size_t edge) const {
    const double* first = constants_.data() + edge * 3 * points_->size();
    return {first, first + points_->size(), first + 2 * points_->size()};
  }

  std::vector<Edge> edges_;        // depth first
  std::vector<double> constants_;  // [edge, kind of factor, point]
  const Quadrature* points_ = nullptr;
  std::int32_t n_levels_ = 0;
};

// One thread's memory for it.
class LongPathWalk {
 public:
  explicit LongPathWalk(Unseen unseen) : unseen_(unseen) {}

  // Adds what the leaves contribute to parts(feature, value), an array over the rows of the block;
  // `value_of(leaf)` gives the n_values values of a leaf.
  template <class ValueOf, class PartsOf>
  void add(const Tree& tree, const LongPaths& paths, const RowBlock& block, std::size_t n_values,
           const ValueOf& value_of, const PartsOf& parts_of) {
    for (std::size_t first = 0; first < block.n_rows(); first += kLanes) {
      begin(paths, block, first, n_values);
      std::int32_t open = 0;
      const auto close_down_to = [&](std::int32_t level) {
        for (; open > level; --open) close(paths, open, parts_of);
      };
      make_test(tree, 0, 0, block);
      for (std::size_t number = 0; number < paths.edges_.size(); ++number) {
        const LongPaths::Edge& edge = paths.edges_[number];
        close_down_to(edge.level - 1);
        enter(tree, paths, number);
        open = edge.level;
        if (edge.is_leaf)
          reach_leaf(edge.level, value_of(edge.node));
        else
          make_test(tree, edge.node, edge.level, block);
      }
      close_down_to(0);
    }
  }

 private:
  void begin(const LongPaths& paths, const RowBlock& block, std::size_t first, std::size_t n_values);
  void make_test(const Tree& tree, NodeId node, std::int32_t level, const RowBlock& block);
  void enter(const Tree& tree, const LongPaths& paths, std::size_t edge);
  void reach_leaf(std::int32_t level, const double* values);

  // Gives the column of the edge to a level its share, and the level above what is below.
  template <class PartsOf>
  void close(const LongPaths& paths, std::int32_t level, const PartsOf& parts_of) {
    const std::size_t number = edge_[static_cast<std::size_t>(level)];
    const LongPaths::Edge& edge = paths.edges_[number];
    for (std::size_t v = 0; v < n_values_; ++v) {
      parts_.assign(kLanes, 0.0);
      share_out(paths, number, level, v, 1.0);
      // Further up the leaves below would count with the factor that the column has there.
      if (edge.former >= 0) {
        const auto former = static_cast<std::size_t>(edge.former);
        share_out(paths, former, level, v, -1.0, paths.edges_[former].level);
      }
      double* parts = parts_of(edge.feature, v) + first_;
      for (std::size_t i = 0; i < n_rows_; ++i) parts[i] += parts_[i];
    }
    pass_up(level);
  }
  void share_out(const LongPaths& paths, std::size_t edge, std::int32_t level, std::size_t value,
                 double scale, std::int32_t in_level = -1);
  void pass_up(std::int32_t level);

  Unseen unseen_;
  std::size_t first_ = 0;   // row of the block
  std::size_t n_rows_ = 0;  // at most kLanes
  std::size_t n_points_ = 0;
  std::size_t n_values_ = 1;
  std::vector<std::size_t> edge_;       // by level: the edge that leads there
  std::vector<NodeId> node_;            // by level: whose test is kept
  std::vector<double> in_;              // [level, row]: 1 where the row gets past the tests on the column
  std::vector<double> products_;        // [level, point, row]
  std::vector<double> worth_;           // [level, value, point, row]
  std::vector<std::uint8_t> right_;     // [level, row]
  std::vector<std::int32_t> branches_;  // [level, row], where a test has more than two branches
  std::vector<double> parts_;           // [row]
};

}  // namespace hornbeam::explain
