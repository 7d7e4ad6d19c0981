// What a Scorer writes down about candidates while walking, to be scored all at once by a kernel.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "hornbeam/kernels.h"
#include "hornbeam/types.h"

namespace hornbeam {

// Scores within this slack are equal: what is equal on paper may differ in the last bits of float64. It is
// relative to the score, or to the terms whose difference the score is, if those are larger.
inline constexpr double kTieSlack = 0x1p-44;
inline double tie_slack(double score, double scale) {
  return std::max(std::abs(score), scale) * kTieSlack;
}

// Room for the notes of one walk; grows, never shrinks.
template <class T>
class NoteRoom {
 public:
  T* start(std::size_t most_notes) {
    if (values_.size() < most_notes) values_.resize(most_notes);
    return values_.data();
  }
  T* data() { return values_.data(); }

 private:
  std::vector<T> values_;
};

// The first of the scores that is within the slack of the largest.
struct BestNote {
  std::size_t index = 0;
  double score = -kInfinity;  // the largest
  bool found = false;
};

inline BestNote first_best(const double* scores, std::size_t n, double scale) {
  BestNote best;
  if (n == 0) return best;
  best.score = kernels().largest(scores, n);
  if (best.score == -kInfinity) return best;  // nothing admissible
  const double floor = best.score - tie_slack(best.score, scale);
  while (scores[best.index] < floor) ++best.index;
  best.found = true;
  return best;
}

}  // namespace hornbeam
