// The codes of a feature at the rows of a node: gathered side by side, in cells that count them, or sorted.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>

#include "base/radix.h"
#include "data/dataset.h"
#include "split/feature_search.h"
#include "split/node.h"
#include "split/row_views.h"

namespace hornbeam::split {

using data::Column;

// In the order of the node's rows; they lie in the node's buffers.
struct GatheredCodes {
  const Code* codes;
  Code lowest;  // known codes only
  Code highest;
  Code missing;
  std::size_t n_missing = 0;

  Code operator[](std::size_t i) const { return codes[i]; }
};

struct CodeRange {
  Code lowest;
  Code highest;
};

// A function of its own so that the running extremes stay in registers.
template <class CodeAt>
CodeRange gather_codes(std::size_t n, CodeAt code_at, Code* out) {
  Code lowest = ~Code{0};
  Code highest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const Code code = code_at[i];
    out[i] = code;
    lowest = std::min(lowest, code);
    highest = std::max(highest, code);
  }
  return {lowest, highest};
}

template <Scorer S, class CodeAt>
GatheredCodes gather(const Node<S>& node, const Column& column, CodeAt code_at) {
  const std::size_t n = node.entries.size();
  node.buffers.codes.grow_to(n);
  Code* codes = node.buffers.codes.data();
  const CodeRange range = gather_codes(n, code_at, codes);
  GatheredCodes gathered{codes, range.lowest, range.highest, column.missing_code()};
  if (range.highest != gathered.missing) return gathered;
  gathered.highest = range.lowest;
  for (std::size_t i = 0; i < n; ++i) {
    if (codes[i] == gathered.missing) {
      ++gathered.n_missing;
    } else {
      gathered.highest = std::max(gathered.highest, codes[i]);
    }
  }
  return gathered;
}

template <Scorer S>
GatheredCodes gather(const Node<S>& node, const Column& column) {
  return std::visit(
      [&](const auto& codes) { return gather(node, column, CodesByRow{codes.data(), node.entries.data()}); },
      column.codes);
}

// Whether the feature is constant in the node, missing values counting as one value if a test may part them
// from the others.
template <Scorer S>
bool is_constant(const Node<S>& node, const GatheredCodes& codes) {
  const bool parts_missing = codes.n_missing > 0 && !node.known_only && codes.n_missing < node.entries.size();
  return codes.lowest == codes.highest && !parts_missing;
}

// The sum of the rows that lack the feature, in the node's buffers.
template <Scorer S>
const typename S::Element* add_up_missing(const Node<S>& node, const GatheredCodes& codes) {
  auto& cell = node.buffers.missing_cell;
  cell.assign(node.cell.size(), 0);
  for (std::size_t i = 0; i < node.entries.size(); ++i) {
    if (codes[i] == codes.missing) node.scorer.stats().add(cell.data(), node.payload(i));
  }
  return cell.data();
}

template <Scorer S>
FeatureSearch<S> search_of(const Node<S>& node, FeatureId feature, const GatheredCodes& codes) {
  if (codes.n_missing == 0) return {node, feature};
  return {node, feature, codes.n_missing, add_up_missing(node, codes)};
}

// ---- counted

// All cells must be cleared and walked, even those without rows, so there should not be many more cells than rows.
template <Scorer S>
bool counting_pays(const Node<S>& node, const GatheredCodes& codes) {
  const std::size_t n = node.entries.size();
  const std::size_t range = std::size_t{codes.highest} - codes.lowest + 1;
  return range * static_cast<std::size_t>(node.scorer.cell_size()) <= (n > 24 ? 8 : 4) * n;
}

// Whether to count right away, without gathering: for a numeric feature without missing values that has few codes,
// compared with the number of rows.
template <Scorer S>
bool counts_right_away(const Node<S>& node, const Column& column) {
  return column.kind == ColumnKind::kNumeric && !column.has_missing &&
         4 * std::size_t{column.n_codes} <= node.entries.size();
}

// The rows with known codes, counted into a cell per code. The cells lie in the node's buffers, and are zero again
// when this is gone.
template <Scorer S>
class CountedCodes {
 public:
  using Element = typename S::Element;

  CountedCodes(const Node<S>& node, const GatheredCodes& codes)
      : CountedCodes(node, codes.lowest, codes.highest) {
    const auto& stats = node.scorer.stats();
    const std::size_t n = node.entries.size();
    const std::size_t size = size_;
    Element* cells = cells_;
    if (codes.n_missing == 0) {
      for (std::size_t i = 0; i < n; ++i)
        stats.add(cells + std::size_t{codes[i] - codes.lowest} * size, node.payload(i));
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        if (codes[i] == codes.missing) continue;
        stats.add(cells + std::size_t{codes[i] - codes.lowest} * size, node.payload(i));
      }
    }
  }
  CountedCodes(const Node<S>& node, const Column& column) : CountedCodes(node, 0, column.n_codes - 1) {
    const auto& stats = node.scorer.stats();
    const std::size_t size = size_;
    Element* cells = cells_;
    std::visit(
        [&](const auto& codes) {
          for (std::size_t i = 0; i < node.entries.size(); ++i)
            stats.add(cells + std::size_t{codes[node.entries[i].row]} * size, node.payload(i));
        },
        column.codes);
    while (node.scorer.is_empty(of(lowest_))) ++lowest_;
    while (node.scorer.is_empty(of(highest_))) --highest_;
  }
  CountedCodes(const CountedCodes&) = delete;
  CountedCodes& operator=(const CountedCodes&) = delete;
  ~CountedCodes() { std::fill_n(of(lowest_), (std::size_t{highest_} - lowest_ + 1) * size_, Element{0}); }

  // Codes outside this range have no rows.
  Code lowest() const { return lowest_; }
  Code highest() const { return highest_; }
  Element* of(Code code) const { return cells_ + std::size_t{code - first_} * size_; }
  std::size_t size() const { return size_; }  // of one cell

 private:
  CountedCodes(const Node<S>& node, Code lowest, Code highest)
      : lowest_(lowest), highest_(highest), first_(lowest), size_(node.cell_size()) {
    Buffer<Element>& cells = node.buffers.cells;
    const std::size_t n = (std::size_t{highest} - lowest + 1) * size_;
    if (cells.size() < n) {
      cells.grow_to(n);
      std::ranges::fill(cells.span(), Element{0});
    }
    cells_ = cells.data();
  }

  Code lowest_;
  Code highest_;
  Code first_;  // whose cell comes first
  std::size_t size_;
  Element* cells_;
};

// ---- sorted

// Rows with known values in ascending order, each a value and a payload; they lie in the node's buffers.
struct SortedRows {
  const std::uint64_t* keys;
  std::size_t n;
  Code value(std::size_t i) const { return static_cast<Code>(keys[i] >> 32); }
  std::uint32_t payload(std::size_t i) const { return static_cast<std::uint32_t>(keys[i]); }
};

template <Scorer S>
SortedRows sort(const Node<S>& node, const GatheredCodes& codes) {
  const std::size_t n = node.entries.size();
  SearchBuffers<S>& buffers = node.buffers;
  buffers.keys.grow_to(n);
  buffers.key_scratch.grow_to(n);
  std::uint64_t* keys = buffers.keys.data();
  std::size_t n_known = 0;
  for (std::size_t i = 0; i < n; ++i) {
    if (codes.n_missing > 0 && codes[i] == codes.missing) continue;
    keys[n_known++] = std::uint64_t{codes[i]} << 32 | node.payload(i);
  }
  return {sort_by_code(keys, buffers.key_scratch.data(), n_known, codes.lowest, codes.highest), n_known};
}

}  // namespace hornbeam::split
