// Histograms of nodes: per feature one cell per code, each the sum of the derivatives of the node's rows with
// that code. Built from rows, or as parent minus sibling.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "hornbeam/boost/cells.h"
#include "hornbeam/boost/tiles.h"
#include "hornbeam/cancel.h"
#include "hornbeam/parallel.h"
#include "hornbeam/platform.h"

namespace hornbeam {

// The cells of one node, [feature, code]; packed while the sums fit, else wide.
class Histogram {
 public:
  Histogram(int n_features, bool wide) : is_wide_(wide) {
    const std::size_t n_cells = static_cast<std::size_t>(n_features) * kCellsPerFeature;
    (wide ? void(wide_ = Buffer<WideCell>(n_cells)) : void(packed_ = Buffer<PackedCell>(n_cells)));
  }
  bool is_wide() const { return is_wide_; }
  PackedCell* packed(int feature) {
    return packed_.data() + static_cast<std::size_t>(feature) * kCellsPerFeature;
  }
  WideCell* wide(int feature) { return wide_.data() + static_cast<std::size_t>(feature) * kCellsPerFeature; }

 private:
  bool is_wide_;
  Buffer<PackedCell> packed_;
  Buffer<WideCell> wide_;
};

// Histograms that are no longer needed are used again. Several threads may take and give back.
class HistogramPool {
 public:
  explicit HistogramPool(int n_features) : n_features_(n_features) {}

  Histogram* take(bool wide) {
    const std::lock_guard lock(lock_);
    auto& free = wide ? free_wide_ : free_packed_;
    if (free.empty()) return &all_.emplace_back(n_features_, wide);
    Histogram* histogram = free.back();
    free.pop_back();
    return histogram;
  }
  // Takes nullptr for "none".
  void give_back(Histogram* histogram) {
    if (histogram == nullptr) return;
    const std::lock_guard lock(lock_);
    (histogram->is_wide() ? free_wide_ : free_packed_).push_back(histogram);
  }

 private:
  int n_features_;
  SpinLock lock_;
  std::deque<Histogram> all_;  // its members never move
  std::vector<Histogram*> free_packed_;
  std::vector<Histogram*> free_wide_;
};

// The threads that work on one node together: workers [first, first + size). Nodes worked on side by side
// have teams of one.
struct Team {
  int first = 0;
  int size = 1;
};

// The rows of a node and what they add. `pairs` is set in trees with wide cells and looked up by row; in
// packed trees the entries carry their own.
struct NodeRows {
  std::span<const BoostEntry> entries;
  const FixedPair* pairs = nullptr;
};

class HistogramBuilder {
 public:
  HistogramBuilder(const Tiles& tiles, std::span<const Code> n_codes, int n_threads);

  // Sums the rows into `out`, except that `finish_feature` must be called for every feature before it is
  // read: threads have sums of their own, which are put together feature by feature while something is done
  // with them.
  void add_rows(const NodeRows& rows, Histogram& out, Team team, Cancel& cancel);
  void finish_feature(int feature, Histogram& out, Team team);

  // whole -= part, turned into what `out` holds. `out` may be `whole`.
  void subtract(int feature, Histogram& whole, Histogram& part, Histogram& out) const;

 private:
  struct Worker {
    Buffer<PackedCell> packed;  // [feature, code]
    Buffer<WideCell> wide;
    std::size_t packed_rows = 0;  // added since `packed` was cleared
    bool used = false;            // has sums that belong to the histogram at hand
    bool widened = false;         // some of them in `wide`
  };

  std::span<Worker> members(Team team) {
    return std::span(workers_).subspan(static_cast<std::size_t>(team.first),
                                       static_cast<std::size_t>(team.size));
  }
  std::size_t n_cells() const { return static_cast<std::size_t>(tiles_.n_features()) * kCellsPerFeature; }
  std::size_t codes_of(int feature) const { return n_codes_[static_cast<std::size_t>(feature)]; }
  template <class Cell>
  void clear(Cell* cells, int first_feature, int n_features) const;
  void add_block(const Slab& slab, const NodeRows& rows, std::size_t begin, std::size_t end,
                 PackedCell* packed, WideCell* wide) const;
  void add_slab_alone(const Slab& slab, const NodeRows& rows, Worker& worker, Histogram& out);
  void add_chunk(const NodeRows& rows, std::size_t begin, std::size_t end, Worker& worker);
  void widen_sums(Worker& worker) const;

  const Tiles& tiles_;
  std::span<const Code> n_codes_;  // per feature, missing included
  std::vector<Worker> workers_;
};

}  // namespace hornbeam
