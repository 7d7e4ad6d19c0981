// Root histograms of several trees in one pass over the codes. The trees of a round, one per class, start with the
// same rows; only their derivatives differ. So a code has the sums of all trees side by side, and a row adds to
// all of them with one vector addition instead of a scalar addition per tree.
//
// Below the root each tree divides its rows in its own way, and there is nothing left to share.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "boost/cells.h"
#include "boost/histogram/histogram.h"
#include "boost/histogram/tiles.h"

namespace hornbeam::boost {

// A tree that takes part in a shared pass; its cells must be packed.
struct SharedTree {
  std::span<const float> gradients;  // one per row of the data set
  std::span<const float> hessians;   // empty: all are 1
  double gradient_scale = 1.0;       // fixed point = real * scale
  double hessian_scale = 1.0;
  Histogram* out = nullptr;
};

class SharedPass {
 public:
  static constexpr std::size_t kMostTrees = 8;  // their sums of one code fill a cache line

  SharedPass(const Tiles& tiles, int n_threads);

  // Whether that many rows are worth the memory that the sums take.
  bool pays(std::size_t n_rows) const;

  // Sums `rows` (ascending; all `n_rows` if empty) into the histograms of at most kMostTrees trees.
  void add_rows(std::span<const SharedTree> trees, std::size_t n_rows, std::span<const RowId> rows,
                Cancel& cancel);

 private:
  // Slots of a tile whose cells fit the cache together.
  struct Group {
    const Slab* slab;
    std::size_t offset;  // of the first slot's code within a row of the slab
    int first_slot;
    int n_slots;
  };
  struct Worker {
    Buffer<PackedCell> cells;      // [code of a slot, lane]
    Buffer<PackedCell> additions;  // [row of a chunk, lane]
    Buffer<BoostEntry> entries;    // one tree's, on their way to `additions`
    Buffer<RowId> rows;
    std::size_t n_added = 0;  // rows in `cells`
  };

  void form_groups();
  void begin(Worker& worker);
  void load_chunk(std::span<const SharedTree> trees, std::span<const RowId> rows, std::size_t begin,
                  std::size_t n, Worker& worker) const;
  void add_chunk(std::size_t n, Worker& worker) const;
  void add_to(const Worker& worker, std::size_t lane, Histogram& out) const;
  void clear(Histogram& out) const;

  const Tiles& tiles_;
  std::vector<std::uint32_t> first_;  // per slot: the place of its code 0 among all codes
  std::size_t n_places_ = 0;
  std::size_t n_lanes_ = 0;
  std::vector<Group> groups_;
  std::vector<Worker> workers_;
};

}  // namespace hornbeam::boost
