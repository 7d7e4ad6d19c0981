// What a node of grow/fast/value_block.h draws: the columns that it tries, and a threshold for each. Pure
// functions of the node's path, the same as those of the finder (split/find_random.h). Included once per
// instruction set, inside a namespace that HORNBEAM_KERNELS names.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/sampler.h"
#include "grow/fast/value_block.h"
#include "simd/grow/drawn_columns.h"
#include "simd/grow/value_block_registers.h"

namespace hornbeam::grow::HORNBEAM_KERNELS {

using data::random_threshold;

namespace {

class NodeDraws {
 public:
  explicit NodeDraws(const BlockGrowth& growth) : growth_(growth), columns_(growth.draw) {}

  // Calls with four of the drawn columns at a time; the call says whether any is not constant in the node.
  template <class TryFour>
  void try_columns(std::uint64_t path, const TryFour& try_four) {
    columns_.until_informative(path, [&](const std::uint32_t* drawn, std::size_t n) {
      bool informative = false;
      for (std::size_t first = 0; first < n; first += kFour) informative |= try_four(drawn + first);
      return informative;
    });
  }

  // Of a column that is not constant.
  double threshold(std::uint32_t column, std::uint64_t path, float least, float largest) const {
    return random_threshold(*growth_.columns[column], least, largest, share(column, path));
  }

  FourTests tests(const std::uint32_t* drawn, std::uint64_t path, const FourExtremes& extremes) const {
    FourTests tests;
    alignas(32) double fractions[kFour];
    for (std::size_t c = 0; c < kFour; ++c) fractions[c] = share(drawn[c], path);
    for (Lanes rest = set_tests(extremes, fractions, tests); rest != 0; rest &= rest - 1) {
      const auto c = static_cast<std::size_t>(std::countr_zero(rest));
      tests.threshold[c] =
          random_threshold(*growth_.columns[drawn[c]], extremes.least[c], extremes.largest[c], fractions[c]);
      tests.bound[c] = bound_of(tests.threshold[c]);
    }
    return tests;
  }

 private:
  double share(std::uint32_t column, std::uint64_t path) const {
    return Stream(growth_.threshold_keys[column], path).unit();
  }

  const BlockGrowth& growth_;
  DrawnColumns columns_;
};

}  // namespace

}  // namespace hornbeam::grow::HORNBEAM_KERNELS
