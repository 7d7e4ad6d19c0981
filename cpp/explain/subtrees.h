// A tree cut into subtrees that are small enough for tables.
//
// Which tests a row passes decides all: its contributions are a function of bits. A subtree has a bit for
// each column on the path to its root (the row gets past all tests on it) and one for each of its own tests
// (the row goes right): with at most kMostBits of them, what all its leaves contribute is a table over
// patterns of bits, one look-up per column instead of one per leaf and column. The idea of tables over
// patterns is that of Woodelf (Nadel and Wettenstein, AAAI 2026), there per leaf.
//
// Leaves with too many columns on their paths are left over for a walk.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tree/tree.h"

namespace hornbeam::explain {

using tree::Tree;

inline constexpr int kMostBits = 8;                // a pattern is a byte
inline constexpr std::int32_t kMostLevels = 4096;  // deeper trees are walked
inline constexpr std::int32_t kNoLevel = -1;

// A leaf of a subtree. A row gets past the tests on a column if (pattern & mask) == wanted; `share` is the
// part of the rows of the fit that did.
struct SubtreeLeaf {
  struct Column {
    std::uint8_t place;  // among the columns of the subtree
    std::uint8_t mask;
    std::uint8_t wanted;
    double share;
  };
  NodeId node;
  std::vector<Column> columns;
};

struct Subtree {
  std::vector<std::int32_t> levels;  // of the columns on the path: where the walk keeps their bits
  std::vector<NodeId> tests;         // their bits come next
  std::vector<FeatureId> columns;    // those on the path first
  std::vector<SubtreeLeaf> leaves;

  std::size_t n_bits() const { return levels.size() + tests.size(); }
  std::size_t n_patterns() const { return std::size_t{1} << n_bits(); }
};

// One node of the walk from the root to all subtrees. The bits of the test above it, combined with those of
// the last test on the same column (at `former`, if there was one), are kept at its level.
struct CutStep {
  NodeId node;
  std::int32_t level;
  std::int32_t branch;
  std::int32_t former;
  std::int32_t subtree;  // that begins here, or -1: its test is made and kept
};

struct CutTree {
  std::vector<CutStep> steps;  // depth first
  std::vector<Subtree> subtrees;
  std::vector<bool> is_root;  // by node: a subtree begins here
  std::int32_t n_levels = 0;
  std::size_t n_left_over = 0;  // leaves outside of all subtrees
};

CutTree cut(const Tree& tree, std::span<const double> shares);

}  // namespace hornbeam::explain
