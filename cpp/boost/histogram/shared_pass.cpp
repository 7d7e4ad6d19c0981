#include "boost/histogram/shared_pass.h"

#include <algorithm>
#include <numeric>

#include "base/parallel.h"
#include "boost/boost_kernels.h"

namespace hornbeam::boost {

namespace {

// Rows whose derivatives stay near while group after group is added, and cells that stay in the second-level
// cache: groups that fit the first would make every row's derivatives be read once per two slots.
constexpr std::size_t kRowsPerChunk = 1024;
constexpr std::size_t kGroupBytes = 128 * 1024;
// Many columns of few rows would need more memory for sums than for themselves.
constexpr std::size_t kFewestRows = 512;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;

}  // namespace

SharedPass::SharedPass(const Tiles& tiles, int n_threads)
    : tiles_(tiles), workers_(static_cast<std::size_t>(std::max(1, n_threads))) {}

bool SharedPass::pays(std::size_t n_rows) const {
  const auto n_places = std::accumulate(tiles_.n_codes().begin(), tiles_.n_codes().end(), std::size_t{0});
  const std::size_t bytes = n_places * kMostTrees * sizeof(PackedCell) * workers_.size();
  return n_rows >= kFewestRows && bytes <= kMostBytes;
}

void SharedPass::form_groups() {
  first_.clear();
  groups_.clear();
  n_places_ = 0;
  for (const Code n : tiles_.n_codes()) {
    first_.push_back(static_cast<std::uint32_t>(n_places_));
    n_places_ += n;
  }
  const std::size_t most_places = kGroupBytes / (n_lanes_ * sizeof(PackedCell));
  for (const Slab& slab : tiles_.slabs()) {
    for (const Tile& tile : slab.tiles) {
      std::size_t n_places = most_places + 1;  // no room: the tile begins a group
      for (int j = 0; j < tile.n_slots; ++j) {
        const int slot = tile.first_slot + j;
        const std::size_t n = tiles_.n_codes()[static_cast<std::size_t>(slot)];
        if (n_places + n > most_places) {
          groups_.push_back({&slab, tile.offset + static_cast<std::size_t>(j), slot, 0});
          n_places = 0;
        }
        n_places += n;
        ++groups_.back().n_slots;
      }
    }
  }
}

void SharedPass::begin(Worker& worker) {
  worker.cells.grow_to(n_places_ * n_lanes_);
  worker.additions.grow_to(kRowsPerChunk * n_lanes_);
  worker.entries.grow_to(kRowsPerChunk);
  worker.rows.grow_to(kRowsPerChunk);
  std::fill_n(worker.cells.data(), n_places_ * n_lanes_, PackedCell{0});
  std::fill_n(worker.additions.data(), kRowsPerChunk * n_lanes_, PackedCell{0});  // lanes without a tree
}

// Puts the derivatives of n rows side by side, tree by tree.
void SharedPass::load_chunk(std::span<const SharedTree> trees, std::span<const RowId> rows, std::size_t begin,
                            std::size_t n, Worker& worker) const {
  if (rows.empty()) {
    std::iota(worker.rows.data(), worker.rows.data() + n, static_cast<RowId>(begin));
  } else {
    std::copy_n(rows.data() + begin, n, worker.rows.data());
  }
  BoostEntry* entries = worker.entries.data();
  for (std::size_t lane = 0; lane < trees.size(); ++lane) {
    const SharedTree& tree = trees[lane];
    const bool ones = tree.hessians.empty();
    if (rows.empty()) {
      boost_kernels().pack_rows(tree.gradients.data() + begin, ones ? nullptr : tree.hessians.data() + begin,
                                n, static_cast<RowId>(begin), tree.gradient_scale, tree.hessian_scale,
                                entries);
    } else {
      for (std::size_t i = 0; i < n; ++i) {
        const RowId row = worker.rows[i];
        entries[i] = make_entry(row, fixed_point(tree.gradients[row], tree.gradient_scale),
                                ones ? 1 : fixed_hessian(tree.hessians[row], tree.hessian_scale));
      }
    }
    for (std::size_t i = 0; i < n; ++i) worker.additions[i * n_lanes_ + lane] = cell_of(entries[i]);
  }
}

void SharedPass::add_chunk(std::size_t n, Worker& worker) const {
  const auto add = n_lanes_ == 4 ? boost_kernels().add_four : boost_kernels().add_eight;
  for (const Group& group : groups_) {
    add(group.slab->codes.data() + group.offset, group.slab->row_bytes, group.n_slots,
        first_.data() + group.first_slot, worker.rows.data(), worker.additions.data(), n,
        worker.cells.data());
  }
  worker.n_added += n;
}

void SharedPass::add_to(const Worker& worker, std::size_t lane, Histogram& out) const {
  for (int slot = 0; slot < tiles_.n_slots(); ++slot) {
    const auto s = static_cast<std::size_t>(slot);
    const PackedCell* from = worker.cells.data() + first_[s] * n_lanes_ + lane;
    for (std::size_t code = 0; code < tiles_.n_codes()[s]; ++code) {
      if (out.is_wide()) {
        out.wide(slot)[code] += widen(from[code * n_lanes_]);
      } else {
        out.packed(slot)[code] += from[code * n_lanes_];
      }
    }
  }
}

void SharedPass::clear(Histogram& out) const {
  for (int slot = 0; slot < tiles_.n_slots(); ++slot) {
    const std::size_t n = tiles_.n_codes()[static_cast<std::size_t>(slot)];
    out.is_wide() ? void(std::fill_n(out.wide(slot), n, WideCell{}))
                  : void(std::fill_n(out.packed(slot), n, PackedCell{0}));
  }
}

void SharedPass::add_rows(std::span<const SharedTree> trees, std::size_t n_rows, std::span<const RowId> rows,
                          Cancel& cancel) {
  if (const std::size_t n_lanes = trees.size() <= 4 ? 4 : kMostTrees; n_lanes != n_lanes_) {
    n_lanes_ = n_lanes;
    form_groups();
  }
  const std::size_t n = rows.empty() ? n_rows : rows.size();
  const auto n_threads = static_cast<int>(workers_.size());
  for (const SharedTree& tree : trees) clear(*tree.out);
  for (Worker& worker : workers_) worker.n_added = 0;
  std::mutex histograms;  // sums are integers: it does not matter who adds first
  parallel_for((n + kRowsPerChunk - 1) / kRowsPerChunk, n_threads,
               [&](std::size_t chunk, int w) {
                 Worker& worker = workers_[static_cast<std::size_t>(w)];
                 const std::size_t begin = chunk * kRowsPerChunk;
                 const std::size_t n_here = std::min(kRowsPerChunk, n - begin);
                 if (worker.n_added + n_here > kMostPackedRows) {
                   const std::lock_guard lock(histograms);
                   for (std::size_t lane = 0; lane < trees.size(); ++lane) {
                     add_to(worker, lane, *trees[lane].out);
                   }
                   worker.n_added = 0;
                 }
                 if (worker.n_added == 0) this->begin(worker);
                 load_chunk(trees, rows, begin, n_here, worker);
                 add_chunk(n_here, worker);
               },
               &cancel);
  parallel_for(
      trees.size(), n_threads,
      [&](std::size_t lane, int) {
        for (const Worker& worker : workers_) {
          if (worker.n_added > 0) add_to(worker, lane, *trees[lane].out);
        }
      },
      &cancel);
}

}  // namespace hornbeam::boost
