#include <algorithm>

#include "base/counters.h"
#include "boost/boost_kernels.h"
#include "boost/histogram/histogram.h"

namespace hornbeam::boost {

namespace {

// Rows whose codes stay in the first-level cache while one tile after the other is added.
constexpr std::size_t kRowsPerBlock = 512;
// Updates below which waking another thread costs more than it saves.
constexpr std::size_t kParallelUpdates = 40'000;
// Updates from which a thread alone lets others join.
constexpr std::size_t kOpenUpdates = 200'000;
constexpr std::size_t kRowsPerTask = 4096;

}  // namespace

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

void HistogramBuilder::widen_sums(PartialSums& sums) const {
  sums.wide.grow_to(n_cells());
  const bool first = !sums.widened;
  for (int slot = 0; slot < tiles_.n_slots(); ++slot) {
    const std::size_t begin = static_cast<std::size_t>(slot) * kCellsPerSlot;
    for (std::size_t i = begin; i < begin + codes_of(slot); ++i) {
      const WideCell cell = widen(sums.packed[i]);
      if (first) {
        sums.wide[i] = cell;
      } else {
        sums.wide[i] += cell;
      }
    }
  }
  sums.widened = true;
}

PartialSums* HistogramBuilder::empty_sums(bool packed) {
  const Timed timed("clear sums");
  tally("sums of a thread", 1);
  PartialSums* sums = pool_.take();
  if (packed) {
    sums->packed.grow_to(n_cells());
    clear(sums->packed.data(), 0, tiles_.n_slots());
  } else {
    sums->wide.grow_to(n_cells());
    clear(sums->wide.data(), 0, tiles_.n_slots());
  }
  sums->packed_rows = 0;
  sums->widened = !packed;
  return sums;
}

// Rows [begin, end) of all slots.
void HistogramBuilder::add_chunk(const NodeRows& rows, std::size_t begin, std::size_t end,
                                 PartialSums& sums) const {
  const Timed timed("count rows");
  const std::size_t n = end - begin;
  const bool packed = rows.pairs == nullptr;
  if (packed && sums.packed_rows + n > kMostPackedRows) {
    widen_sums(sums);
    clear(sums.packed.data(), 0, tiles_.n_slots());
    sums.packed_rows = 0;
  }
  for (const Slab& slab : tiles_.slabs())
    add_block(slab, rows, begin, end, sums.packed.data(), sums.wide.data());
  if (packed) sums.packed_rows += n;
}

// All rows for the slots of one slab, straight into the histogram where it can hold the sums.
void HistogramBuilder::add_slab_alone(const Slab& slab, const NodeRows& rows, Histogram& out) {
  const Timed timed("count rows");
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
  PartialSums* sums = pool_.take();
  sums->packed.grow_to(n_cells());
  for (std::size_t begin = 0; begin < n; begin += kMostPackedRows) {
    PackedCell* cells = sums->packed.data() + static_cast<std::size_t>(first) * kCellsPerSlot;
    clear(cells, first, n_slots);
    add_block(slab, rows, begin, std::min(begin + kMostPackedRows, n), sums->packed.data(), nullptr);
    for (int j = 0; j < n_slots; ++j) {
      const PackedCell* from = cells + static_cast<std::size_t>(j) * kCellsPerSlot;
      WideCell* to = out.wide(first + j);
      for (std::size_t code = 0; code < codes_of(first + j); ++code) to[code] += widen(from[code]);
    }
  }
  pool_.give_back(sums);
}

HistogramBuilder::Parts HistogramBuilder::add_rows(const NodeRows& rows, Histogram& out, Team team,
                                                   Cancel& cancel) {
  const std::size_t n = rows.entries.size();
  const std::size_t n_updates = n * static_cast<std::size_t>(tiles_.n_slots());
  const bool alone = n_updates < (team.size > 1 ? kParallelUpdates : kOpenUpdates) || n_threads_ == 1;
  if (alone || divides_columns(team)) {
    const std::vector<Slab>& slabs = tiles_.slabs();
    (alone ? team.alone() : team)
        .run(slabs.size(), [&](std::size_t s, int) { add_slab_alone(slabs[s], rows, out); }, cancel);
    return {};
  }
  // As few pieces as threads while they are small, so that each thread's own sums are put together once.
  const std::size_t share = std::clamp((n + n_threads_ - 1) / n_threads_, std::size_t{512}, kRowsPerTask);
  Parts parts(n_threads_, nullptr);
  team.run((n + share - 1) / share,
           [&](std::size_t task, int worker) {
             PartialSums*& own = parts[static_cast<std::size_t>(worker)];
             if (own == nullptr) own = empty_sums(rows.pairs == nullptr);
             add_chunk(rows, task * share, std::min((task + 1) * share, n), *own);
           },
           cancel);
  std::erase(parts, nullptr);
  return parts;
}

void HistogramBuilder::add_rows(std::span<Count> nodes, Team team, Cancel& cancel) {
  std::size_t n_rows = 0;
  for (const Count& node : nodes) n_rows += node.rows.entries.size();
  const std::size_t share = std::clamp(n_rows / (4 * n_threads_), std::size_t{512}, kRowsPerTask);
  Pieces pieces;
  for (Count& node : nodes) {
    pieces.add((node.rows.entries.size() + share - 1) / share);
    node.parts.assign(n_threads_, nullptr);
  }
  team.run(
      pieces,
      [&](std::size_t i, std::size_t piece, int worker) {
        const NodeRows& rows = nodes[i].rows;
        PartialSums*& own = nodes[i].parts[static_cast<std::size_t>(worker)];
        if (own == nullptr) own = empty_sums(rows.pairs == nullptr);
        add_chunk(rows, piece * share, std::min((piece + 1) * share, rows.entries.size()), *own);
      },
      cancel);
  for (Count& node : nodes) std::erase(node.parts, nullptr);
}

void HistogramBuilder::give_back(const Parts& parts) {
  for (PartialSums* sums : parts) pool_.give_back(sums);
}

void HistogramBuilder::finish_slot(int slot, Histogram& out, const Parts& parts) const {
  const std::size_t place = static_cast<std::size_t>(slot) * kCellsPerSlot;
  const std::size_t n = codes_of(slot);
  bool first = true;
  for (const PartialSums* sums : parts) {
    if (!out.is_wide()) {
      const PackedCell* from = sums->packed.data() + place;
      PackedCell* to = out.packed(slot);
      for (std::size_t i = 0; i < n; ++i) to[i] = first ? from[i] : to[i] + from[i];
    } else {
      WideCell* to = out.wide(slot);
      if (first) std::fill_n(to, n, WideCell{});
      if (sums->widened) {
        for (std::size_t i = 0; i < n; ++i) to[i] += sums->wide[place + i];
      }
      if (sums->packed_rows > 0) {
        for (std::size_t i = 0; i < n; ++i) to[i] += widen(sums->packed[place + i]);
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

}  // namespace hornbeam::boost
