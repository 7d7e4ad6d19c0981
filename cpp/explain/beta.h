// The integral of t^a (1 - t)^b from 0 to 1, a! b! / (a + b + 1)!: the weight of a set of columns in a game
// in which a columns must be known and b must not.
#pragma once

namespace hornbeam::explain {

inline constexpr int kMostOfBeta = 64;

// 0 <= a, b <= kMostOfBeta
double beta(int a, int b);

}  // namespace hornbeam::explain
