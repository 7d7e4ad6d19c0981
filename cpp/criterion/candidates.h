// What a Scorer records about candidates while walking, so that a kernel can score all of them at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/types.h"
#include "base/wide_loops.h"

namespace hornbeam::criterion {

// Scores within this slack count as equal: mathematically equal scores may differ in the last bits of float64. It is
// relative to the score, or to the terms whose difference the score is if those are larger.
inline constexpr double kTieSlack = 0x1p-44;
inline double tie_slack(double score, double scale) {
  return std::max(std::abs(score), scale) * kTieSlack;
}

// Room for the candidates of one walk, padded to whole groups; it grows and never shrinks.
template <class T>
class CandidateList {
 public:
  T* start(std::size_t most_candidates) {
    if (values_.size() < most_candidates + kScoreGroup) values_.resize(most_candidates + kScoreGroup);
    return values_.data();
  }
  // Pads the last group.
  void repeat_last(std::size_t n_candidates) {
    std::fill_n(values_.begin() + static_cast<std::ptrdiff_t>(n_candidates), kScoreGroup - 1,
                values_[n_candidates - 1]);
  }
  T* data() { return values_.data(); }

 private:
  std::vector<T> values_;
};

// The first of the scores that is within the slack of the largest.
struct BestCandidate {
  std::size_t index = 0;
  double score = -kInfinity;  // the largest
  bool found = false;
};

// Returns nothing if no score exceeds `to_beat`.
inline BestCandidate first_best(const double* scores, double largest, double scale, double to_beat) {
  BestCandidate best;
  best.score = largest;
  if (!(largest > to_beat)) return best;  // -inf: nothing admissible
  const double floor = largest - tie_slack(largest, scale);
  while (scores[best.index] < floor) ++best.index;
  best.found = true;
  return best;
}

inline BestCandidate first_best(const double* scores, std::size_t n, double scale,
                                double to_beat = -kInfinity) {
  return n == 0 ? BestCandidate{} : first_best(scores, kernels().largest(scores, n), scale, to_beat);
}

// What the best test within each group of values can score at most (split/find_groups.h).
struct GroupBounds {
  const float* of_edge = nullptr;   // the score before each group, and at last after all of them
  const float* of_group = nullptr;  // no test within the group has a larger score
  float floor = 0.0f;               // tests that score less cannot be the best
  bool any = false;                 // whether any group or edge reaches the score to beat
};

}  // namespace hornbeam::criterion
