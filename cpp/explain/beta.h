// The integral of t^a (1 - t)^b from 0 to 1, a! b! / (a + b + 1)!: the weight of a set of columns in a game
// in which a columns must be known and b must not.
#pragma once

#include <cstddef>

namespace hornbeam::explain {

inline constexpr int kMostOfBeta = 255;

// 0 <= a, b <= kMostOfBeta
double beta(int a, int b);

// 0, beta(0, b), beta(1, b) and so on; the row of the next b begins kRowOfBetas numbers later. 16 numbers may
// be read from the first place or the second.
inline constexpr std::size_t kRowOfBetas = 1 + kMostOfBeta + 16;
const double* row_of_betas(int b);

}  // namespace hornbeam::explain
