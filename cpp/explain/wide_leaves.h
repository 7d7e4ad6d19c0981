// Leaves with more columns on their paths than a table has bits, in games against a background. A pattern has
// up to 64 bits; its worth is computed when it is first seen, and kept.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "explain/rows.h"

namespace hornbeam::explain {

struct WideLeaf {
  struct Column {
    FeatureId feature;
    double share;                                        // of the rows of the fit that pass all tests on it
    std::vector<std::pair<NodeId, std::int32_t>> tests;  // and the branches that lead here
  };
  NodeId node;
  std::vector<Column> columns;
  // The rows of the background: distinct patterns, ascending, and how many rows have each.
  std::vector<std::pair<std::uint64_t, std::uint32_t>> background;

  std::uint64_t all_bits() const { return ~std::uint64_t{0} >> (64 - columns.size()); }
};

// The leaves of a tree that are not below a node of `is_done` and have at most 64 columns on their paths.
// They are marked in `is_done`.
std::vector<WideLeaf> find_wide_leaves(const Tree& tree, std::span<const double> shares,
                                       std::vector<bool>& is_done);

// One thread's work on such leaves.
class WidePatterns {
 public:
  WidePatterns(Unseen unseen, bool pairs) : unseen_(unseen), pairs_(pairs) {}

  // The pattern of each row of a block: bit i is set if the row passes the tests on column i.
  const std::vector<std::uint64_t>& find(const Tree& tree, const WideLeaf& leaf, const RowBlock& block);

  // What the columns of a leaf that is worth 1, and their pairs, get for a pattern; numbered as in slots.h.
  // Each pattern is computed once until `begin_leaf` is called again.
  void begin_leaf() {
    known_.clear();
    amounts_.clear();
  }
  const double* amounts(const WideLeaf& leaf, std::uint64_t pattern, std::size_t n_background);

 private:
  void play_by_counts(const WideLeaf& leaf, std::uint64_t pattern, std::size_t n_background, double* amounts);

  Unseen unseen_;
  bool pairs_;
  std::vector<std::uint64_t> patterns_;
  std::vector<std::uint8_t> passed_;
  std::vector<std::uint8_t> right_;
  std::unordered_map<std::uint64_t, std::size_t> known_;  // pattern: its place in amounts_
  std::vector<double> amounts_;
};

}  // namespace hornbeam::explain
