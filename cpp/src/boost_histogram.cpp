#include <algorithm>

#include "hornbeam/boost/histogram.h"
#include "hornbeam/boost/kernels.h"
#include "hornbeam/parallel.h"

namespace hornbeam {

namespace {

// Rows whose codes stay in the first-level cache while one tile after the other is added.
constexpr std::size_t kRowsPerBlock = 512;
// Updates below which waking another thread costs more than it saves.
constexpr std::size_t kParallelUpdates = 40'000;
constexpr std::size_t kRowsPerTask = 4096;

}  // namespace

HistogramBuilder::HistogramBuilder(const Tiles& tiles, int n_threads)
    : tiles_(tiles), workers_(static_cast<std::size_t>(std::max(1, n_threads))) {}

template <class Cell>
void HistogramBuilder::clear(Cell* cells, int first_slot, int n_slots) const {
  for (int j = 0; j < n_slots; ++j) {
    const std::size_t begin = static_cast<std::size_t>(j) * kCellsPerSlot;
    std::fill_n(cells + begin, codes_of(first_slot + j), Cell{});
  }
}

void HistogramBuilder::add_block(const Slab& slab, const NodeRows& rows, std::size_t begin, std::size_t end,
                                 PackedCell* packed, WideCell* wide) const {
  const BoostKernels& kernels = boost_kernels();
  for (std::size_t block = begin; block < end; block += kRowsPerBlock) {
    const std::size_t n = std::min(kRowsPerBlock, end - block);
    const BoostEntry* entries = rows.entries.data() + block;
    for (const Tile& tile : slab.tiles) {
      const std::uint8_t* codes = slab.codes.data() + tile.offset;
      const std::size_t place = static_cast<std::size_t>(tile.first_slot) * kCellsPerSlot;
      if (rows.pairs == nullptr) {
        kernels.add_packed(codes, slab.row_bytes, tile.n_slots, entries, n, end - block, packed + place);
      } else {
        kernels.add_wide(codes, slab.row_bytes, tile.n_slots, entries, n, end - block, rows.pairs,
                         wide + place);
      }
    }
  }
}

void HistogramBuilder::widen_sums(Worker& worker) const {
  worker.wide.grow_to(n_cells());
  const bool first = !worker.widened;
  for (int slot = 0; slot < tiles_.n_slots(); ++slot) {
    const std::size_t begin = static_cast<std::size_t>(slot) * kCellsPerSlot;
    for (std::size_t i = begin; i < begin + codes_of(slot); ++i) {
      const WideCell cell = widen(worker.packed[i]);
      if (first) {
        worker.wide[i] = cell;
      } else {
        worker.wide[i] += cell;
      }
    }
  }
  worker.widened = true;
}

// Rows [begin, end) of all slots, into the worker's own sums.
void HistogramBuilder::add_chunk(const NodeRows& rows, std::size_t begin, std::size_t end, Worker& worker) {
  const std::size_t n = end - begin;
  const bool packed = rows.pairs == nullptr;
  if (packed && worker.used && worker.packed_rows + n > kMostPackedRows) {
    widen_sums(worker);
    clear(worker.packed.data(), 0, tiles_.n_slots());
    worker.packed_rows = 0;
  }
  if (!worker.used) {
    if (packed) {
      worker.packed.grow_to(n_cells());
      clear(worker.packed.data(), 0, tiles_.n_slots());
    } else {
      worker.wide.grow_to(n_cells());
      clear(worker.wide.data(), 0, tiles_.n_slots());
    }
    worker.packed_rows = 0;
    worker.widened = !packed;
    worker.used = true;
  }
  for (const Slab& slab : tiles_.slabs())
    add_block(slab, rows, begin, end, worker.packed.data(), worker.wide.data());
  if (packed) worker.packed_rows += n;
}

// All rows for the slots of one slab, straight into the histogram where it can hold the sums.
void HistogramBuilder::add_slab_alone(const Slab& slab, const NodeRows& rows, Worker& worker,
                                      Histogram& out) {
  const int first = slab.tiles.front().first_slot;
  const int n_slots = slab.tiles.back().first_slot + slab.tiles.back().n_slots - first;
  const std::size_t n = rows.entries.size();
  if (!out.is_wide()) {
    clear(out.packed(first), first, n_slots);
    add_block(slab, rows, 0, n, out.packed(0), nullptr);
    return;
  }
  clear(out.wide(first), first, n_slots);
  if (rows.pairs != nullptr) {
    add_block(slab, rows, 0, n, nullptr, out.wide(0));
    return;
  }
  worker.packed.grow_to(n_cells());
  for (std::size_t begin = 0; begin < n; begin += kMostPackedRows) {
    PackedCell* cells = worker.packed.data() + static_cast<std::size_t>(first) * kCellsPerSlot;
    clear(cells, first, n_slots);
    add_block(slab, rows, begin, std::min(begin + kMostPackedRows, n), worker.packed.data(), nullptr);
    for (int j = 0; j < n_slots; ++j) {
      const PackedCell* from = cells + static_cast<std::size_t>(j) * kCellsPerSlot;
      WideCell* to = out.wide(first + j);
      for (std::size_t code = 0; code < codes_of(first + j); ++code) to[code] += widen(from[code]);
    }
  }
}

void HistogramBuilder::add_rows(const NodeRows& rows, Histogram& out, Team team, Cancel& cancel) {
  const std::span<Worker> workers = members(team);
  for (Worker& worker : workers) worker.used = false;
  const std::size_t n = rows.entries.size();
  const std::size_t n_slabs = tiles_.slabs().size();
  const bool alone = team.size == 1 || n * static_cast<std::size_t>(tiles_.n_slots()) < kParallelUpdates;
  if (alone || parts_columns(team)) {
    parallel_for(
        n_slabs, alone ? 1 : team.size,
        [&](std::size_t s, int w) {
          add_slab_alone(tiles_.slabs()[s], rows, workers[static_cast<std::size_t>(w)], out);
        },
        &cancel);
    return;
  }
  // As few pieces as threads while they are small, so that each thread's own sums are put together once.
  const std::size_t share =
      std::clamp((n + workers.size() - 1) / workers.size(), std::size_t{512}, kRowsPerTask);
  parallel_for((n + share - 1) / share, team.size,
               [&](std::size_t task, int w) {
                 add_chunk(rows, task * share, std::min((task + 1) * share, n),
                           workers[static_cast<std::size_t>(w)]);
               },
               &cancel);
}

void HistogramBuilder::finish_slot(int slot, Histogram& out, Team team) {
  const std::size_t place = static_cast<std::size_t>(slot) * kCellsPerSlot;
  const std::size_t n = codes_of(slot);
  bool first = true;
  for (const Worker& worker : members(team)) {
    if (!worker.used) continue;
    if (!out.is_wide()) {
      const PackedCell* from = worker.packed.data() + place;
      PackedCell* to = out.packed(slot);
      for (std::size_t i = 0; i < n; ++i) to[i] = first ? from[i] : to[i] + from[i];
    } else {
      WideCell* to = out.wide(slot);
      if (first) std::fill_n(to, n, WideCell{});
      if (worker.widened) {
        for (std::size_t i = 0; i < n; ++i) to[i] += worker.wide[place + i];
      }
      if (worker.packed_rows > 0) {
        for (std::size_t i = 0; i < n; ++i) to[i] += widen(worker.packed[place + i]);
      }
    }
    first = false;
  }
}

void HistogramBuilder::subtract(int slot, Histogram& whole, Histogram& part, Histogram& out) const {
  const std::size_t n = codes_of(slot);
  if (!whole.is_wide()) {
    const PackedCell* a = whole.packed(slot);
    const PackedCell* b = part.packed(slot);
    PackedCell* to = out.packed(slot);
    for (std::size_t i = 0; i < n; ++i) to[i] = a[i] - b[i];
    return;
  }
  const WideCell* a = whole.wide(slot);
  for (std::size_t i = 0; i < n; ++i) {
    WideCell rest = a[i];
    rest -= part.is_wide() ? part.wide(slot)[i] : widen(part.packed(slot)[i]);
    if (out.is_wide()) {
      out.wide(slot)[i] = rest;
    } else {
      out.packed(slot)[i] =
          (static_cast<PackedCell>(rest.gradient) << 32) + static_cast<PackedCell>(rest.hessian);
    }
  }
}

}  // namespace hornbeam
