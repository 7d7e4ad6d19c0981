#include "explain/beta.h"

#include <array>
#include <cstddef>

namespace hornbeam::explain {

double beta(int a, int b) {
  using Table = std::array<std::array<double, kMostOfBeta + 1>, kMostOfBeta + 1>;
  static const Table table = [] {
    Table made{};
    for (int i = 0; i <= kMostOfBeta; ++i) {
      made[0][static_cast<std::size_t>(i)] = 1.0 / (i + 1);
      for (int j = 1; j <= kMostOfBeta; ++j)
        made[static_cast<std::size_t>(j)][static_cast<std::size_t>(i)] =
            made[static_cast<std::size_t>(j - 1)][static_cast<std::size_t>(i)] * j / (i + j + 1);
    }
    return made;
  }();
  return table[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
}

}  // namespace hornbeam::explain
