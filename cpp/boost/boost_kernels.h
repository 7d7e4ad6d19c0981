// The loops of boosting that touch rows or bins, compiled once per instruction set (see base/wide_loops.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "boost/cells.h"

namespace hornbeam::boost {

// How a cut of one feature is scored. Gradients and hessians are in fixed point; `hessian_unit` is the real value
// of one unit of hessian, which adding l2 takes; scores are in squared units of gradient.
struct CutTerms {
  double gradient = 0.0;  // of the whole node
  double hessian = 0.0;
  double hessian_unit = 1.0;
  double l1 = 0.0;  // in units of gradient
  double l2 = 0.0;
  double min_hessian = 0.0;  // of a branch, in units of hessian
};

// Rows of a set, and those of them that go to branch 0.
struct SetCounts {
  std::size_t n_rows = 0;
  std::size_t n_left = 0;
};

struct BoostKernels {
  // Adds n rows to the cells of a tile. `codes` points to the tile's codes in row 0 of its slab; the entries
  // up to n_known >= n may be read ahead, to prefetch the codes that come next.
  void (*add_packed)(const std::uint8_t* codes, std::size_t row_bytes, int n_slots, const BoostEntry* entries,
                     std::size_t n, std::size_t n_known, PackedCell* cells);
  void (*add_wide)(const std::uint8_t* codes, std::size_t row_bytes, int n_slots, const BoostEntry* entries,
                   std::size_t n, std::size_t n_known, const FixedPair* pairs, WideCell* cells);

  // Adds n rows to the cells of some slots; a code has four or eight sums side by side, slot j's from index
  // first[j] on. `additions` has as many numbers per row; `codes` points to the first slot in row 0.
  using AddLanes = void(const std::uint8_t* codes, std::size_t row_bytes, int n_slots,
                        const std::uint32_t* first, const RowId* rows, const PackedCell* additions,
                        std::size_t n, PackedCell* cells);
  AddLanes* add_four;
  AddLanes* add_eight;

  // One bit per entry, 64 to a word: is_left[its code], where `is_left` is 256 ones and zeros.
  void (*mark_left)(const std::uint8_t* column, const BoostEntry* entries, std::size_t n,
                    const std::uint8_t* is_left, std::uint64_t* left_bits);
  // Sends marked entries to `left`, the others to `right`, in order; writes nothing beyond them.
  void (*send)(const BoostEntry* entries, std::size_t n, const std::uint64_t* left_bits, BoostEntry* left,
               std::size_t n_left, BoostEntry* right);
  // Divides a set of rows, 64 to a word: those whose code `is_left` go from `members` to
  // `left`. `left_bits` gets a bit per row of the set, without gaps.
  SetCounts (*divide_set)(const std::uint8_t* codes, const std::uint8_t* is_left, std::size_t n_words,
                          std::uint64_t* members, std::uint64_t* left, std::uint64_t* left_bits);

  // scores[i] is that of the cut after cell i, i < n; `start` is on the left from the beginning. Returns the
  // largest score.
  double (*score_packed)(const PackedCell* cells, std::size_t n, PackedCell start, const CutTerms& terms,
                         double* scores);
  double (*score_wide)(const WideCell* cells, std::size_t n, const WideCell& start, const CutTerms& terms,
                       double* scores);
  // The first score that is no less than `floor`; there is one.
  std::size_t (*first_at_least)(const double* scores, std::size_t n, double floor);
  // The rank of each of a few keys among all of them, stable for equal keys.
  void (*rank_keys)(const double* keys, std::size_t n, std::uint32_t* places);

  // The largest absolute value, and the sum of absolute values.
  struct Spread {
    double largest = 0.0;
    double sum = 0.0;
  };
  Spread (*spread)(const float* values, std::size_t n);

  // Writes the entries of rows first_row, first_row + 1, ..., derivatives in fixed point; without hessians
  // (null) all are 1. Returns the sum.
  WideCell (*pack_rows)(const float* gradients, const float* hessians, std::size_t n, RowId first_row,
                        double gradient_scale, double hessian_scale, BoostEntry* entries);

  // gradient = p - y, hessian = p (1 - p), p the logistic function of the score.
  void (*log_loss)(const double* scores, const float* y, std::size_t n, float* gradients, float* hessians);
  // The same for several classes: p is the class's share of exp(score), y the class number. The arrays of
  // consecutive classes are `stride` apart; `scratch` has n numbers per class and 2 n more.
  void (*softmax)(const double* scores, const float* y, std::size_t n, std::size_t n_classes,
                  std::size_t stride, double* scratch, float* gradients, float* hessians);
};

const BoostKernels& boost_kernels();

}  // namespace hornbeam::boost
