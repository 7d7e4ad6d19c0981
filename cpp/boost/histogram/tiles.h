// A second copy of a binned table's codes, row by row, for the histogram kernel.
//
// A column-major pass would read every row's gradient once per feature. Row by row it is read once and added to
// the cells of up to 16 codes (a tile), which together fit the first-level cache. The tiles of a row lie side by
// side in a slab of at most 64 bytes, one cache line, so a random row costs one memory access.
//
// A byte has room for 256 codes, and many columns have two or ten. Such features share a byte, called a slot, as
// the digits of one joint code: eight flags take one update instead of eight. A feature's own sums are recovered
// from those of the joint codes when it is searched, once per node instead of once per row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/cancel.h"
#include "base/platform.h"
#include "data/dataset.h"

namespace hornbeam::boost {

using data::Dataset;

inline constexpr int kTileSlots = 16;
inline constexpr std::size_t kCellsPerSlot = 256;  // codes are bytes, "missing" included

// A feature's digit of the joint codes of a slot: joint code = sum of code * step.
struct Digit {
  static constexpr int kNoSlot = -1;
  int slot = kNoSlot;  // kNoSlot: the feature's codes do not fit a byte
  std::uint32_t step = 1;
  std::uint32_t n_codes = 1;  // "missing" included if the column has any
  std::uint32_t n_joint = 1;  // joint codes of the slot

  bool has_slot() const { return slot != kNoSlot; }
  bool is_alone() const { return n_codes == n_joint; }
};

struct Tile {
  int first_slot = 0;
  int n_slots = 0;
  std::size_t offset = 0;  // of its first code within a row of the slab
};

struct Slab {
  std::size_t row_bytes = 0;  // 16, 32 or 64; as many as there are slots where rows are kClose
  std::vector<Tile> tiles;
  Buffer<std::uint8_t> codes;

  const std::uint8_t* row(std::size_t row) const { return codes.data() + row * row_bytes; }
};

class Tiles {
 public:
  // kClose rows take less memory, but some of them straddle two cache lines.
  enum class Rows : std::uint8_t { kAligned, kClose };

  // Holds the columns whose codes are bytes.
  Tiles(const Dataset& data, int n_threads, Cancel& cancel, Rows rows = Rows::kAligned);
  // Slots and digits only, without the codes of any row.
  explicit Tiles(const Dataset& data);

  int n_slots() const { return static_cast<int>(features_.size()); }
  // The features that share a slot.
  std::span<const FeatureId> features_in(int slot) const { return features_[static_cast<std::size_t>(slot)]; }
  // Joint codes per slot.
  std::span<const Code> n_codes() const { return n_codes_; }
  const Digit& digit_of(FeatureId feature) const { return digits_[static_cast<std::size_t>(feature)]; }
  const std::vector<Slab>& slabs() const { return slabs_; }
  // The codes of one slot: that of row i is at `codes[i * row_bytes]`.
  struct SlotCodes {
    const std::uint8_t* codes;
    std::size_t row_bytes;
  };
  SlotCodes codes_of(int slot) const;
  // A slot's most common joint code, as estimated from a sample of rows.
  std::uint8_t common_code(int slot) const { return common_codes_[static_cast<std::size_t>(slot)]; }

 private:
  void share_out(const Dataset& data);
  void find_common_codes(std::size_t n_rows);

  std::vector<std::vector<FeatureId>> features_;  // per slot
  std::vector<Code> n_codes_;                     // per slot
  std::vector<Digit> digits_;                     // per feature of the data set
  std::vector<Slab> slabs_;
  std::vector<std::uint8_t> common_codes_;  // per slot
};

}  // namespace hornbeam::boost
