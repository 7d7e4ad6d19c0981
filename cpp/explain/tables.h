// Tables of what the leaves of a subtree contribute, by the pattern of a row (subtrees.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "explain/explain_kernels.h"
#include "explain/quadrature.h"
#include "explain/slots.h"
#include "explain/subtrees.h"

namespace hornbeam::explain {

// Makes tables; keeps its memory between them.
class TableMaker {
 public:
  TableMaker(const Quadratures& quadratures, bool pairs) : quadratures_(quadratures), pairs_(pairs) {}

  // How many tables: one per column of a subtree and, after them, one per pair of its columns.
  std::size_t n_tables(const Subtree& subtree) const { return slots_of(subtree).size(); }
  Slots slots_of(const Subtree& subtree) const { return {subtree.columns.size(), pairs_}; }

  // How many doubles they take: rounded up to whole groups of kTables.
  static std::size_t n_entries(const Subtree& subtree, std::size_t n_tables) {
    return (n_tables + kTables - 1) / kTables * kTables * subtree.n_patterns();
  }

  // Adds to tables[group, pattern, table of the group], which must be 0 before; tables are numbered [slot,
  // value]. `value_of(leaf)` gives the values of a leaf. `counts` is the number of background rows by
  // pattern, `n_background` in all; path-dependent games have none.
  template <class ValueOf>
  void make(const Subtree& subtree, std::span<const std::uint32_t> counts, std::size_t n_background,
            std::size_t n_values, const ValueOf& value_of, double* tables) {
    const std::size_t n = subtree.n_patterns();
    const Slots slots = slots_of(subtree);
    for (const SubtreeLeaf& leaf : subtree.leaves) {
      find_places(leaf, n);
      if (n_background == 0)
        play_by_shares(leaf);
      else
        play_by_counts(leaf, counts, static_cast<double>(n_background));
      const double* values = value_of(leaf.node);
      const std::size_t n_columns = leaf.columns.size();
      const auto spread = [&](std::size_t slot, const double* amounts) {
        for (std::size_t v = 0; v < n_values; ++v) {
          const std::size_t number = slot * n_values + v;
          double* table = tables + number / kTables * kTables * n + number % kTables;
          for (std::size_t p = 0; p < n; ++p) table[p * kTables] += amounts[places_[p]] * values[v];
        }
      };
      for (std::size_t i = 0; i < n_columns; ++i) spread(leaf.columns[i].place, amounts(i, n_columns));
      if (!pairs_) continue;
      const Slots own(n_columns, true);
      for (std::size_t i = 0; i < n_columns; ++i)
        for (std::size_t j = i + 1; j < n_columns; ++j)
          spread(slots.pair(leaf.columns[i].place, leaf.columns[j].place),
                 amounts(own.pair(i, j), n_columns));
    }
  }

  // The share of the background that reaches a leaf.
  double reach(const SubtreeLeaf& leaf, const Subtree& subtree, std::span<const std::uint32_t> counts,
               std::size_t n_background);

 private:
  const double* amounts(std::size_t slot, std::size_t n_columns) const {
    return amounts_.data() + (slot << n_columns);
  }
  void find_places(const SubtreeLeaf& leaf, std::size_t n_patterns);
  void play_by_shares(const SubtreeLeaf& leaf);
  void play_by_counts(const SubtreeLeaf& leaf, std::span<const std::uint32_t> counts, double n_background);
  void play_singles_by_counts(std::size_t n_columns, double n_background);
  void add_by_counts(std::size_t n_columns, std::size_t in, std::size_t only_in, double share);

  const Quadratures& quadratures_;
  bool pairs_;
  std::vector<std::uint8_t> places_;  // by pattern of the subtree: that of the leaf
  std::vector<double> products_;      // [point, pattern of the leaf]
  std::vector<double> amounts_;       // [slot, pattern of the leaf]
  std::vector<double> shares_;        // of the background, by pattern of the leaf
  std::vector<double> lacking_;       // rows of the background by the columns they fail: tables.cpp
};

}  // namespace hornbeam::explain
