// A node as the finders of its test see it, and their working memory, which is kept from node to node.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "base/platform.h"
#include "criterion/concepts.h"
#include "criterion/stats.h"
#include "split/categories/category_tests.h"
#include "split/split.h"

namespace hornbeam::split {

using criterion::CandidateList;
using criterion::Entry;
using criterion::kNeedsRows;
using criterion::Scorer;

// Kept from node to node only to use its memory again: steps are valid for one node, all else for one feature.
template <Scorer S>
struct SearchBuffers {
  using Element = typename S::Element;

  explicit SearchBuffers(Region* region = nullptr)
      : steps(region), codes(region), cells(region), keys(region), key_scratch(region) {}

  Buffer<typename S::Walk::Step> steps;  // of the node's rows
  Buffer<Code> codes;                    // of a feature
  Buffer<Element> cells;                 // all zero between uses (split/gather.h)
  Buffer<std::uint64_t> keys;
  Buffer<std::uint64_t> key_scratch;
  CandidateList<Code> places;  // of the candidates
  std::vector<Element> missing_cell;
  std::vector<Element> known_cell;

  // Computes what the searches of all features need to know about the rows.
  void load(S& scorer, std::span<const Entry> entries) {
    scorer.stats().load(entries);
    steps.grow_to(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i)
      steps[i] = S::Walk::step_of(scorer.stats().sort_payload(entries[i], i));
  }
};

template <Scorer S>
struct Node {
  using Element = typename S::Element;

  S& scorer;  // with these rows loaded
  SearchBuffers<S>& buffers;
  std::span<const Entry> entries;
  std::span<const Element> cell;  // the sums over these rows
  const CategoryPlan& categories;
  bool known_only = false;  // tests are scored on the rows that have the feature, and do not place the others
  Limits limits = {};
  std::span<const std::int8_t> directions = {};  // monotonic constraints by feature; empty for none

  double tie_scale() const { return scorer.tie_scale(cell.data()); }
  std::uint32_t payload(std::size_t i) const { return scorer.stats().sort_payload(entries[i], i); }
  std::size_t cell_size() const { return static_cast<std::size_t>(scorer.stats().cell_size()); }
  Limits limits_of(FeatureId feature) const {
    Limits result = limits;
    if (!directions.empty()) result.direction = directions[static_cast<std::size_t>(feature)];
    return result;
  }
};

// Computes the cell of some rows.
template <Scorer S>
void add_up(S& scorer, std::span<const Entry> entries, std::vector<typename S::Element>& cell) {
  auto& stats = scorer.stats();
  stats.load(entries);
  cell.assign(static_cast<std::size_t>(stats.cell_size()), typename S::Element{0});
  stats.add_all(cell.data(), entries);
}

// The cell of the node's rows that have a feature.
template <Scorer S>
std::vector<typename S::Element> known_cell(const Node<S>& node, const data::Column& column) {
  std::vector<typename S::Element> missing(node.cell.size(), 0);
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    if (column.code(node.entries[i].row) == column.missing_code())
      node.scorer.stats().add(missing.data(), node.payload(i));
  }
  std::vector<typename S::Element> known(node.cell.begin(), node.cell.end());
  for (std::size_t k = 0; k < known.size(); ++k) known[k] -= missing[k];
  return known;
}

}  // namespace hornbeam::split
