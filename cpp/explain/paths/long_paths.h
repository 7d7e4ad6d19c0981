// All leaves of a tree in one walk, with many rows side by side (path-dependent games).
//
// On a path, a column that is known with probability t counts with the factor f = (1 - t) out + t in (explain/walk.h).
// Say a test has branches L and R with the shares l and r = 1 - l, and that the factor of its column has been
// f0 = out0 + t (in0 - out0) up to here: 1 where the column is new. Below the test it is f0 times
//
//     r + s u  to the right,  l - s u  to the left,  with s = t / (out0 + t (1 - out0))  and
//     u = l if the row goes right, -r if it goes left, 0 where in0 = 0.
//
// So a test takes one number u per row, and one number s per point of the quadrature. With P the product of
// all factors of the path to the test, and GL, GR what the leaves below are worth times the factors from the
// test down,
//
//     PR = P (r + s u),    PL = P (l - s u)    on the way down,
//     G = GL + (GR - GL) (r + s u)             on the way up,
//
// and the column gets u times the integral of P q (GR - GL), where q = out0 / (out0 + t (1 - out0))^2: that
// is what the last test on a column contributes by the leaves below, less what the one before has contributed
// by the same leaves. A test takes one step, however many columns there are, and no division. The quadrature
// is that of Quadrature-TreeSHAP (2026).
//
// A pair of columns i and j gets the integral of the second derivative: what the test contributes to column i
// at a point, P u q (GR - GL), times (in - out) / (out + t (in - out)) of the last test on j above it. For a
// row that passes the tests on j that is (1 - out) / (out + t (1 - out)), for any other -1 / (1 - t), so each
// test takes one more sum over the points for each column above.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/platform.h"
#include "explain/explain_kernels.h"
#include "explain/paths/path_tests.h"
#include "explain/quadrature.h"
#include "explain/rows.h"

namespace hornbeam::explain {

// The tests of a tree.
class LongPaths {
 public:
  LongPaths() = default;
  LongPaths(const Tree& tree, std::span<const double> shares, const Quadratures& quadratures, bool pairs);

  bool any() const { return !tests_.empty(); }
  std::size_t n_bytes() const {
    return tests_.size() * sizeof(Test) + (constants_.size() + of_pairs_.size()) * sizeof(double);
  }

 private:
  friend class LongPathWalk;
  struct Test : TreeTest {
    std::array<double, 2> shares;
    std::size_t constants;  // where its bend and weight begin
  };

  static std::array<double, 2> shares_of(const Tree& tree, std::span<const double> shares,
                                         const TreeTest& test);
  void find_constants(const std::vector<double>& outs);
  void find_constants_of_pairs(const std::vector<double>& shares_before);

  std::vector<Test> tests_;  // depth first
  std::vector<NodeId> leaves_;
  std::vector<double> constants_;  // [bend or weight, point], where the column is new and for each other test
  // (in - out) / (out + t (in - out)) at each point: where in = 0, then of rows on the left and on the right of
  // each test; empty unless pairs are asked for.
  std::vector<double> of_pairs_;
  const Quadrature* points_ = nullptr;
  std::int32_t n_levels_ = 0;
};

// One thread's memory for it.
class LongPathWalk {
 public:
  explicit LongPathWalk(Unseen unseen) : unseen_(unseen) {}

  // Adds the contributions of the leaves to parts(feature, value), an array over the rows of the block, up to
  // a multiple of kLanesStep, and to pairs_of(feature, feature, value) if the paths were made for pairs.
  // `value_of(leaf)` gives the n_values values of a leaf.
  template <class ValueOf, class PartsOf, class PairsOf>
  void add(const Tree& tree, const LongPaths& paths, const RowBlock& block, std::size_t n_values,
           const ValueOf& value_of, const PartsOf& parts_of, const PairsOf& pairs_of) {
    const bool has_pairs = !paths.of_pairs_.empty();
    leaves_.clear();
    for (const NodeId leaf : paths.leaves_) {
      const double* values = value_of(leaf);
      leaves_.insert(leaves_.end(), values, values + n_values);
    }
    for (first_ = 0; first_ < block.n_rows(); first_ += n_lanes_) {
      begin(paths, block, n_values);
      std::int32_t open = 0;  // tests on the way down to here
      const auto close_down_to = [&](std::int32_t level) {
        while (open > level) {
          const LongPaths::Test& test = *tests_[static_cast<std::size_t>(--open)];
          if (has_pairs) find_columns_above(test);
          for (std::size_t v = 0; v < n_values; ++v) {
            if (has_pairs) {
              find_part_at_points(paths, test, v);
              for (const std::int32_t other : columns_above_)
                add_pair(paths, other, pairs_of(test.feature, test_at(other).feature, v) + first_);
            }
            join(test, v, parts_of(test.feature, v) + first_);
          }
        }
      };
      for (const LongPaths::Test& test : paths.tests_) {
        close_down_to(test.level);
        if (n_values == 1 && test.level > 0 && !has_pairs && test.has_leaves_only()) {
          join_leaves(tree, paths, test, block, parts_of(test.feature, 0) + first_);
          continue;
        }
        enter(tree, paths, test, block);
        open = test.level + 1;
      }
      close_down_to(0);
    }
  }

 private:
  void begin(const LongPaths& paths, const RowBlock& block, std::size_t n_values);
  void enter(const Tree& tree, const LongPaths& paths, const LongPaths::Test& test, const RowBlock& block);
  void join(const LongPaths::Test& test, std::size_t value, double* parts);
  void find_columns_above(const LongPaths::Test& test);
  void find_part_at_points(const LongPaths& paths, const LongPaths::Test& test, std::size_t value);
  void add_pair(const LongPaths& paths, std::int32_t other, double* sums);
  void join_leaves(const Tree& tree, const LongPaths& paths, const LongPaths::Test& test,
                   const RowBlock& block, double* parts);

  PathStep step_to(const Tree& tree, const LongPaths::Test& test, const RowBlock& block);
  PathTest place_of(const LongPaths& paths, const LongPaths::Test& test);
  Branch branch(const LongPaths::Test& test, std::size_t side, std::size_t value);
  const LongPaths::Test& test_at(std::int32_t level) const {
    return *tests_[static_cast<std::size_t>(level)];
  }
  double* worth(std::int32_t level, std::size_t side, std::size_t value) {
    const std::size_t place = (static_cast<std::size_t>(level) * 2 + side) * n_values_ + value;
    return worth_.data() + place * n_points_ * n_lanes_;
  }
  double* worth_of(const LongPaths::Test& test, std::size_t value) {
    return test.level == 0 ? whole_.data()
                           : worth(test.level - 1, static_cast<std::size_t>(test.side), value);
  }

  Unseen unseen_;
  std::size_t first_ = 0;    // row of the block
  std::size_t n_lanes_ = 1;  // rows from there on
  std::size_t n_points_ = 0;
  std::size_t n_values_ = 1;
  std::vector<const LongPaths::Test*> tests_;  // on the way down, by level
  std::vector<PathTest> places_;               // theirs
  std::vector<double> leaves_;                 // [leaf, value]
  Buffer<double> ways_;                        // [level, row]
  Buffer<double> products_;                    // [level, point, row]
  Buffer<double> factors_;                     // [level, branch, way, point]
  Buffer<double> worth_;                       // of branches: [level, side, value, point, row]
  Buffer<double> whole_;                       // of the tree: [point, row]
  Buffer<double> at_points_;                   // of the test that is closed: [point, row]
  Buffer<double> if_unknown_;                  // [row]
  std::vector<bool> is_asked_again_;           // by level, on the way to the test that is closed
  std::vector<std::int32_t> columns_above_;    // levels of the last tests on the other columns above it
  std::array<double, kLanes> goes_right_{};
};

}  // namespace hornbeam::explain
