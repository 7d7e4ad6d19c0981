#include <algorithm>
#include <array>
#include <variant>

#include "base/parallel.h"
#include "boost/histogram/tiles.h"

namespace hornbeam::boost {

using data::Column;

namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kRowsPerTask = 1 << 14;
constexpr std::size_t kRowsPerBlock =
    512;  // of one slab: they stay in the first-level cache while being written

std::size_t row_bytes_for(int n_tiles) {
  return n_tiles == 1 ? 16 : n_tiles == 2 ? 32 : kLineBytes;
}

// Spreads slots evenly over tiles: 28 make two tiles of 14, not 16 and 12.
std::vector<Slab> lay_out(int n_slots, bool close) {
  const int n_tiles = (n_slots + kTileSlots - 1) / kTileSlots;
  constexpr int kTilesPerSlab = static_cast<int>(kLineBytes) / kTileSlots;
  std::vector<Slab> slabs;
  int slot = 0;
  for (int tile = 0; tile < n_tiles; ++tile) {
    if (tile % kTilesPerSlab == 0) {
      slabs.emplace_back();
      slabs.back().row_bytes = row_bytes_for(std::min(kTilesPerSlab, n_tiles - tile));
    }
    const int share = (n_slots - slot) / (n_tiles - tile);
    Slab& slab = slabs.back();
    const auto before = static_cast<std::size_t>(slab.tiles.empty() ? 0 : slot - slab.tiles[0].first_slot);
    slab.tiles.push_back({slot, share, close ? before : slab.tiles.size() * kTileSlots});
    slot += share;
    if (close) slab.row_bytes = before + static_cast<std::size_t>(share);
  }
  return slabs;
}

std::vector<FeatureId> features_of_bytes(const Dataset& data) {
  std::vector<FeatureId> features;
  for (int f = 0; f < data.n_features(); ++f) {
    if (std::holds_alternative<Buffer<std::uint8_t>>(data.column(f).codes)) features.push_back(f);
  }
  return features;
}

const std::uint8_t* byte_codes(const Dataset& data, int feature) {
  return std::get<Buffer<std::uint8_t>>(data.column(feature).codes).data();
}

// The joint codes of rows [begin, end) in one slot; `out` is where the first of all rows has its own.
void fill_slot(const Dataset& data, const Tiles& tiles, int slot, std::size_t begin, std::size_t end,
               std::size_t row_bytes, std::uint8_t* out) {
  bool first = true;
  for (const FeatureId feature : tiles.features_in(slot)) {
    const std::uint8_t* column = byte_codes(data, feature);
    const auto step = static_cast<std::uint8_t>(tiles.digit_of(feature).step);
    for (std::size_t row = begin; row < end; ++row) {
      std::uint8_t& code = out[row * row_bytes];
      code = static_cast<std::uint8_t>((first ? 0 : code) + column[row] * step);
    }
    first = false;
  }
}

void fill_rows(const Dataset& data, const Tiles& tiles, Slab& slab, std::size_t begin, std::size_t end) {
  for (std::size_t block = begin; block < end; block += kRowsPerBlock) {
    const std::size_t block_end = std::min(block + kRowsPerBlock, end);
    for (const Tile& tile : slab.tiles) {
      for (int j = 0; j < tile.n_slots; ++j) {
        fill_slot(data, tiles, tile.first_slot + j, block, block_end, slab.row_bytes,
                  slab.codes.data() + tile.offset + static_cast<std::size_t>(j));
      }
    }
  }
}

}  // namespace

// The largest columns first, each into the first slot that has room for it. A slot without room for a column
// has none for the next one of its size, so the search goes on from where the last one ended: a million
// columns would otherwise be compared with half a million slots each.
void Tiles::share_out(const Dataset& data) {
  const std::vector<FeatureId> features = features_of_bytes(data);
  digits_.resize(static_cast<std::size_t>(data.n_features()));
  for (const FeatureId feature : features) {
    const Column& column = data.column(feature);
    digits_[static_cast<std::size_t>(feature)].n_codes =
        std::max<Code>(1, column.n_codes + (column.has_missing ? 1 : 0));
  }
  const auto codes_of = [&](FeatureId feature) { return digit_of(feature).n_codes; };
  std::vector<FeatureId> by_size = features;
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](FeatureId a, FeatureId b) { return codes_of(a) > codes_of(b); });
  Code size = 0;
  std::size_t slot = 0;
  for (const FeatureId feature : by_size) {
    if (codes_of(feature) != size) {
      size = codes_of(feature);
      slot = 0;
    }
    const auto room = std::find_if(n_codes_.begin() + static_cast<std::ptrdiff_t>(slot), n_codes_.end(),
                                   [&](Code n) { return n * size <= kCellsPerSlot; });
    slot = static_cast<std::size_t>(room - n_codes_.begin());
    if (room == n_codes_.end()) {
      n_codes_.push_back(1);
      features_.emplace_back();
    }
    Digit& digit = digits_[static_cast<std::size_t>(feature)];
    digit.slot = static_cast<int>(slot);
    digit.step = n_codes_[slot];
    n_codes_[slot] *= digit.n_codes;
    features_[slot].push_back(feature);
  }
  for (const FeatureId feature : features) {
    Digit& digit = digits_[static_cast<std::size_t>(feature)];
    digit.n_joint = n_codes_[static_cast<std::size_t>(digit.slot)];
  }
}

void Tiles::find_common_codes(std::size_t n_rows) {
  constexpr std::size_t kEnoughRows = 1024;
  for (const Slab& slab : slabs_) {
    for (const Tile& tile : slab.tiles) {
      for (int j = 0; j < tile.n_slots; ++j) {
        std::uint32_t counts[kCellsPerSlot] = {};
        for (std::size_t row = 0; row < std::min(n_rows, kEnoughRows); ++row)
          ++counts[slab.row(row)[tile.offset + static_cast<std::size_t>(j)]];
        common_codes_.push_back(static_cast<std::uint8_t>(std::ranges::max_element(counts) - counts));
      }
    }
  }
}

// Any code will do for the common one: it only saves looking at features.
Tiles::Tiles(const Dataset& data) {
  share_out(data);
  common_codes_.resize(features_.size(), 0);
}

Tiles::SlotCodes Tiles::codes_of(int slot) const {
  for (const Slab& slab : slabs_) {
    for (const Tile& tile : slab.tiles) {
      const int place = slot - tile.first_slot;
      if (place >= 0 && place < tile.n_slots)
        return {slab.codes.data() + tile.offset + static_cast<std::size_t>(place), slab.row_bytes};
    }
  }
  return {nullptr, 0};
}

Tiles::Tiles(const Dataset& data, int n_threads, Cancel& cancel, Rows rows) {
  share_out(data);
  slabs_ = lay_out(n_slots(), rows == Rows::kClose);
  for (Slab& slab : slabs_) {
    // The kernel reads a tile's 16 bytes at once, so unused ones must exist: after the last row, if rows are
    // close together.
    const std::size_t beyond = rows == Rows::kClose ? kTileSlots : 0;
    slab.codes = Buffer<std::uint8_t>(data.n_rows() * slab.row_bytes + beyond);
  }
  const std::size_t n_chunks = (data.n_rows() + kRowsPerTask - 1) / kRowsPerTask;
  parallel_for(
      n_chunks * slabs_.size(), n_threads,
      [&](std::size_t task, int) {
        const std::size_t begin = task % n_chunks * kRowsPerTask;
        fill_rows(data, *this, slabs_[task / n_chunks], begin, std::min(begin + kRowsPerTask, data.n_rows()));
      },
      &cancel);
  find_common_codes(data.n_rows());
}

}  // namespace hornbeam::boost
