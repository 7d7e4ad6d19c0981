// The codes of a binned table once more, row by row: what the histogram kernel reads.
//
// A column-major pass would touch every row's gradient once per feature; row by row it is read once and added
// to the cells of up to 16 features (a tile), which together fit the first-level cache. Tiles of a row lie
// side by side in a slab of at most 64 bytes, one cache line, so that a row far away costs one trip to
// memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hornbeam/cancel.h"
#include "hornbeam/dataset.h"
#include "hornbeam/platform.h"

namespace hornbeam {

inline constexpr int kTileFeatures = 16;
inline constexpr std::size_t kCellsPerFeature = 256;  // codes are bytes, "missing" included

// Features are numbered by their place among those that have tiles.
struct Tile {
  int first_feature = 0;
  int n_features = 0;
  std::size_t offset = 0;  // of its first code within a row of the slab
};

struct Slab {
  std::size_t row_bytes = 0;  // 16, 32 or 64
  std::vector<Tile> tiles;
  Buffer<std::uint8_t> codes;

  const std::uint8_t* row(std::size_t row) const { return codes.data() + row * row_bytes; }
};

class Tiles {
 public:
  // `features` are columns of at most 256 codes, missing included.
  Tiles(const Dataset& data, std::span<const FeatureId> features, int n_threads, Cancel& cancel);

  int n_features() const { return n_features_; }
  const std::vector<Slab>& slabs() const { return slabs_; }

 private:
  int n_features_;
  std::vector<Slab> slabs_;
};

}  // namespace hornbeam
