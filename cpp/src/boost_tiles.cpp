#include <algorithm>
#include <array>
#include <variant>

#include "hornbeam/boost/tiles.h"
#include "hornbeam/parallel.h"

namespace hornbeam {

namespace {

constexpr std::size_t kLineBytes = 64;
constexpr std::size_t kRowsPerTask = 1 << 14;
constexpr std::size_t kRowsPerBlock =
    512;  // of one slab: they stay in the first-level cache while being written

std::size_t row_bytes_for(int n_tiles) {
  return n_tiles == 1 ? 16 : n_tiles == 2 ? 32 : kLineBytes;
}

// Spreads features evenly over tiles: 28 features make two tiles of 14, not 16 and 12.
std::vector<Slab> lay_out(int n_features) {
  const int n_tiles = (n_features + kTileFeatures - 1) / kTileFeatures;
  constexpr int kTilesPerSlab = static_cast<int>(kLineBytes) / kTileFeatures;
  std::vector<Slab> slabs;
  int feature = 0;
  for (int tile = 0; tile < n_tiles; ++tile) {
    if (tile % kTilesPerSlab == 0) {
      slabs.emplace_back();
      slabs.back().row_bytes = row_bytes_for(std::min(kTilesPerSlab, n_tiles - tile));
    }
    const int share = (n_features - feature) / (n_tiles - tile);
    const std::size_t offset = slabs.back().tiles.size() * kTileFeatures;
    slabs.back().tiles.push_back({feature, share, offset});
    feature += share;
  }
  return slabs;
}

const std::uint8_t* byte_codes(const Dataset& data, int feature) {
  return std::get<Buffer<std::uint8_t>>(data.column(feature).codes).data();
}

void fill_rows(const Dataset& data, std::span<const FeatureId> features, Slab& slab, std::size_t begin,
               std::size_t end) {
  for (std::size_t block = begin; block < end; block += kRowsPerBlock) {
    const std::size_t block_end = std::min(block + kRowsPerBlock, end);
    for (const Tile& tile : slab.tiles) {
      for (int j = 0; j < tile.n_features; ++j) {
        const std::uint8_t* column =
            byte_codes(data, features[static_cast<std::size_t>(tile.first_feature + j)]);
        std::uint8_t* out = slab.codes.data() + tile.offset + static_cast<std::size_t>(j);
        for (std::size_t row = block; row < block_end; ++row) out[row * slab.row_bytes] = column[row];
      }
    }
  }
}

}  // namespace

Tiles::Tiles(const Dataset& data, std::span<const FeatureId> features, int n_threads, Cancel& cancel)
    : n_features_(static_cast<int>(features.size())), slabs_(lay_out(n_features_)) {
  for (Slab& slab : slabs_) {
    // The kernel reads a tile's 16 bytes at once, so unused ones must exist.
    slab.codes = Buffer<std::uint8_t>(data.n_rows() * slab.row_bytes);
  }
  const std::size_t n_chunks = (data.n_rows() + kRowsPerTask - 1) / kRowsPerTask;
  parallel_for(
      n_chunks * slabs_.size(), n_threads,
      [&](std::size_t task, int) {
        const std::size_t begin = task % n_chunks * kRowsPerTask;
        fill_rows(data, features, slabs_[task / n_chunks], begin,
                  std::min(begin + kRowsPerTask, data.n_rows()));
      },
      &cancel);
}

}  // namespace hornbeam
