// A tree cut into subtrees that are small enough for tables.
//
// A row's contributions depend only on the tests that it passes, so they are a function of bits. A subtree
// has a bit for each column on the path to its root (the row passes all tests on it) and one for each of its
// own tests (the row goes right). With at most kMostBits of them, the contributions of all its leaves are a
// table over patterns of bits: one look-up per column instead of one per leaf and column. Tables over
// patterns are the idea of Woodelf (Nadel and Wettenstein, AAAI 2026), which makes one per leaf.
//
// Leaves with too many columns on their paths are left to a walk.
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

// A leaf of a subtree. A row passes the tests on a column if (pattern & mask) == wanted; `share` is the share
// of the rows of the fit that did.
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
  std::vector<std::int32_t> levels;  // by column on the path: where the walk keeps its bits
  std::vector<NodeId> tests;         // their bits come next
  std::vector<FeatureId> columns;    // those on the path first
  std::vector<SubtreeLeaf> leaves;

  std::size_t n_bits() const { return levels.size() + tests.size(); }
  std::size_t n_patterns() const { return std::size_t{1} << n_bits(); }
};

// One node of the walk from the root to all subtrees. At its level the walk keeps the bits of the test above
// it, combined with those of the last test on the same column (at `former`, if there was one).
struct CutStep {
  NodeId node;
  std::int32_t level;
  std::int32_t branch;
  std::int32_t former;
  std::int32_t subtree;  // the subtree that begins here, or -1: then its test is made and its bits are kept
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
