// Histograms of nodes: a slot has a cell per joint code, the sum of the derivatives of the node's rows with that
// code. Built from rows, or as parent minus sibling; read feature by feature.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "boost/cells.h"
#include "boost/histogram/reuse_pool.h"
#include "boost/histogram/tiles.h"
#include "boost/team.h"

namespace hornbeam::boost {

// The cells of one node, [slot, code]; packed while the sums fit, else wide.
class Histogram {
 public:
  Histogram(int n_slots, bool wide) : is_wide_(wide) {
    const std::size_t n_cells = static_cast<std::size_t>(n_slots) * kCellsPerSlot;
    (wide ? void(wide_ = Buffer<WideCell>(n_cells)) : void(packed_ = Buffer<PackedCell>(n_cells)));
  }
  bool is_wide() const { return is_wide_; }
  PackedCell* packed(int slot) { return packed_.data() + static_cast<std::size_t>(slot) * kCellsPerSlot; }
  WideCell* wide(int slot) { return wide_.data() + static_cast<std::size_t>(slot) * kCellsPerSlot; }
  WideCell cell(int slot, std::size_t code) {
    return is_wide_ ? wide(slot)[code] : widen(packed(slot)[code]);
  }

 private:
  bool is_wide_;
  Buffer<PackedCell> packed_;
  Buffer<WideCell> wide_;
};

// A feature's sums by its own codes, from those of its slot's joint codes: cells with the same digit are added
// up. Over the digits above, the array is folded in half again and again, in long runs that vectorize; those of
// the digits below lie side by side.
template <class Cell>
void add_up_digit(const Cell* joint, const Digit& digit, Cell* out) {
  const std::size_t period = std::size_t{digit.step} * digit.n_codes;
  Cell sums[kCellsPerSlot];
  const Cell* from = joint;
  for (std::size_t n_left = digit.n_joint / period; n_left > 1; n_left -= n_left / 2) {
    const std::size_t n_added = n_left / 2 * period;
    const std::size_t n_kept = n_left * period - n_added;
    for (std::size_t i = 0; i < n_added; ++i) sums[i] = from[i] + from[n_kept + i];
    if (from != sums) std::copy(from + n_added, from + n_kept, sums + n_added);
    from = sums;
  }
  for (std::size_t code = 0; code < digit.n_codes; ++code) {
    Cell sum{};
    for (std::size_t i = code * digit.step; i < (code + 1) * digit.step; ++i) sum += from[i];
    out[code] = sum;
  }
}

class HistogramPool {
 public:
  explicit HistogramPool(int n_slots) : n_slots_(n_slots) {}
  Histogram* take(bool wide) { return (wide ? wide_ : packed_).take(n_slots_, wide); }
  // Takes nullptr for "none".
  void give_back(Histogram* histogram) {
    if (histogram != nullptr) (histogram->is_wide() ? wide_ : packed_).give_back(histogram);
  }

 private:
  int n_slots_;
  ReusePool<Histogram> packed_;
  ReusePool<Histogram> wide_;
};

// The rows of a node with their derivatives: in packed trees the entries carry them, in trees with wide cells they
// are looked up in `pairs` by row.
struct NodeRows {
  std::span<const BoostEntry> entries;
  const FixedPair* pairs = nullptr;
};

// Sums over some of a node's rows, [slot, code], by one thread.
struct PartialSums {
  Buffer<PackedCell> packed;
  Buffer<WideCell> wide;
  std::size_t packed_rows = 0;  // added since `packed` was cleared
  bool widened = false;         // some of the sums are in `wide`
};

class HistogramBuilder {
 public:
  HistogramBuilder(const Tiles& tiles, int n_threads)
      : tiles_(tiles), n_threads_(static_cast<std::size_t>(std::max(1, n_threads))) {}

  // Whether the threads of a team share out a node's columns; otherwise they share out its rows.
  bool divides_columns(Team team) const {
    return tiles_.slabs().size() >= 2 * static_cast<std::size_t>(team.size);
  }
  // Sums the rows into `out`. Where several threads take part, each has sums of its own: `finish_slot` must be
  // called for each slot before it is read, and the parts must be given back in the end.
  using Parts = std::vector<PartialSums*>;  // none if `out` is complete
  Parts add_rows(const NodeRows& rows, Histogram& out, Team team, Cancel& cancel);
  // The same for several nodes at once; their rows are shared out as one list.
  struct Count {
    NodeRows rows;
    Parts parts{};
  };
  void add_rows(std::span<Count> nodes, Team team, Cancel& cancel);
  void finish_slot(int slot, Histogram& out, const Parts& parts) const;
  void give_back(const Parts& parts);

  // out = whole - part, in the kind of cells that `out` has. `out` may be `whole`.
  void subtract(int slot, Histogram& whole, Histogram& part, Histogram& out) const;

 private:
  std::size_t n_cells() const { return static_cast<std::size_t>(tiles_.n_slots()) * kCellsPerSlot; }
  std::size_t codes_of(int slot) const { return tiles_.n_codes()[static_cast<std::size_t>(slot)]; }
  template <class Cell>
  void clear(Cell* cells, int first_slot, int n_slots) const;
  void add_block(const Slab& slab, const NodeRows& rows, std::size_t begin, std::size_t end,
                 PackedCell* packed, WideCell* wide) const;
  void add_slab_alone(const Slab& slab, const NodeRows& rows, Histogram& out);
  PartialSums* empty_sums(bool packed);
  void add_chunk(const NodeRows& rows, std::size_t begin, std::size_t end, PartialSums& sums) const;
  void widen_sums(PartialSums& sums) const;

  const Tiles& tiles_;
  std::size_t n_threads_;
  ReusePool<PartialSums> pool_;
};

}  // namespace hornbeam::boost
