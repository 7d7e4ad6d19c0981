// Histograms of nodes: per feature one cell per code, each the sum of the derivatives of the node's rows with
// that code. Built from rows, or as parent minus sibling.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "hornbeam/boost/cells.h"
#include "hornbeam/boost/tiles.h"
#include "hornbeam/cancel.h"
#include "hornbeam/platform.h"

namespace hornbeam {

// The cells of one node, [feature, code]; packed while the sums fit, else wide.
class Histogram {
 public:
  Histogram(int n_features, bool wide) {
    const std::size_t n_cells = static_cast<std::size_t>(n_features) * kCellsPerFeature;
    (wide ? void(wide_ = Buffer<WideCell>(n_cells)) : void(packed_ = Buffer<PackedCell>(n_cells)));
  }
  bool is_wide() const { return wide_.size() != 0; }
  PackedCell* packed(int feature) {
    return packed_.data() + static_cast<std::size_t>(feature) * kCellsPerFeature;
  }
  WideCell* wide(int feature) { return wide_.data() + static_cast<std::size_t>(feature) * kCellsPerFeature; }

 private:
  Buffer<PackedCell> packed_;
  Buffer<WideCell> wide_;
};

// Histograms that are no longer needed are used again.
class HistogramPool {
 public:
  explicit HistogramPool(int n_features) : n_features_(n_features) {}

  int take(bool wide) {
    auto& free = wide ? free_wide_ : free_packed_;
    if (free.empty()) {
      all_.emplace_back(n_features_, wide);
      return static_cast<int>(all_.size()) - 1;
    }
    const int index = free.back();
    free.pop_back();
    return index;
  }
  void give_back(int index) { (at(index).is_wide() ? free_wide_ : free_packed_).push_back(index); }
  Histogram& at(int index) { return all_[static_cast<std::size_t>(index)]; }

 private:
  int n_features_;
  std::deque<Histogram> all_;  // references to its members stay valid
  std::vector<int> free_packed_;
  std::vector<int> free_wide_;
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
  void add_rows(const NodeRows& rows, Histogram& out, Cancel& cancel);
  void finish_feature(int feature, Histogram& out);

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
  int n_threads_;
  std::vector<Worker> workers_;
};

}  // namespace hornbeam
