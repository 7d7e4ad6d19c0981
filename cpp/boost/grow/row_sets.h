// Sets of rows, one bit per row, 64 to a word. A large node is divided faster as a set than as a list: the codes
// of neighbouring rows are tested together, while those of a list are looked up one by one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/platform.h"

namespace hornbeam::boost {

using RowSet = Buffer<std::uint64_t>;
inline std::size_t words_of_set(std::size_t n_rows) {
  return (n_rows + 63) / 64;
}

// Writes bits one behind the other, a few at a time.
class BitStream {
 public:
  explicit BitStream(std::uint64_t* out) : out_(out) {}
  // Adds the lowest n of `bits`, n <= 64; those above must be 0. Whether a word is full cannot be predicted, so
  // there is no branch: the current word is written every time.
  void add(std::uint64_t bits, int n) {
    word_ |= bits << n_bits_;
    *out_ = word_;
    n_bits_ += n;
    const bool is_full = n_bits_ >= 64;
    n_bits_ &= 63;
    out_ += is_full ? 1 : 0;
    const std::uint64_t rest = bits >> 1 >> ((n - n_bits_ - 1) & 63);
    word_ = is_full ? rest : word_;
  }
  void end() {
    if (n_bits_ > 0) *out_ = word_;
  }

 private:
  std::uint64_t* out_;
  std::uint64_t word_ = 0;
  int n_bits_ = 0;
};

}  // namespace hornbeam::boost
