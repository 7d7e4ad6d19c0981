// The loops of prediction that profit from wide registers, compiled once per instruction set: for sliced prediction
// (sliced.h), for single rows (one_row.h) and for leave-one-out predictions (left_out.h, rough_answers.h).
// Leaf numbers are integers, and values are added one tree after the other, so all forms give the same bits.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/platform.h"

namespace hornbeam::predict {

inline constexpr std::size_t kSliceRows = 512;   // rows of a block
inline constexpr std::size_t kLine = 64;         // rows that are handled side by side: bytes of a cache line
inline constexpr std::size_t kMostLeaves = 64;   // of a tree
inline constexpr std::size_t kMostValues = 128;  // to code in one go

// One test for a whole block of rows: those whose code is above the threshold take a new value.
struct SliceTest {
  std::uint32_t codes;        // first byte of the feature's codes, or of their mirror image
  std::uint32_t second_copy;  // all bits set where missing values go left, else 0
  std::int8_t threshold;      // in the first copy
  std::int8_t second_shift;   // what is added to the threshold in the second copy
};

// Tests of a tree, which give the number of the leaf of every row. A chain begins with a test between two
// leaves; each join brings the numbers so far together with another leaf, or with numbers that an earlier
// chain has found. Places are lines of the block's `numbers`.
struct SliceJoin {
  SliceTest test;           // takes the other side
  std::uint16_t other;      // first line of what is there
  std::uint8_t other_step;  // lines from one to the next: 0 for a leaf, 1 for numbers
};
struct SliceChain {
  SliceTest test;  // takes the right leaf
  std::uint16_t n_joins;
  std::uint16_t keep;  // first line where the numbers of the chain before are put aside
  std::uint8_t left;   // numbers of leaves
  std::uint8_t right;
};

struct SliceProgram {
  const SliceChain* chains;
  std::size_t n_chains;
  const SliceJoin* joins;  // of all chains, in order
};

// A block of rows and what is known about it so far.
struct SliceBlock {
  const std::int8_t* codes;   // [feature, row], less 128, then their mirror image, see sliced.h
  std::uint32_t second_copy;  // distance to the codes in which missing values come first; 0 if there are none
  std::uint8_t* numbers;      // a line for each leaf, filled with its number, then room for numbers
};

// Thresholds of one feature, ascending, padded with infinities; every 16th of them again. Then the same for
// values that are float32 numbers: the largest such number at or below each threshold. These once more as a
// search tree: the middle one first, then those in the middle of either half, and so on; from 1 on, those
// after number i are 2i and 2i + 1.
struct ThresholdTable {
  alignas(64) std::array<double, 16> pivots;
  alignas(64) std::array<double, 256> thresholds;
  alignas(64) std::array<float, 16> single_pivots;
  alignas(64) std::array<float, 256> single_thresholds;
  alignas(64) std::array<float, 256> single_levels;
};

inline constexpr std::size_t kAnswersAtOnce = 32;  // rows of left_out.h that are asked about side by side

// Training rows for rough_answers.h, in lines of kLine: for every eight members a byte per row, whose bits say
// which of them have not seen the row. Row i of a line is in byte 2i, row i + 32 in byte 2i + 1.
struct RoughPatterns {
  const std::uint8_t* bytes;  // [line, eight members, byte]
  std::size_t n_lines;
  std::size_t n_pairs;  // of groups of four members
};

inline constexpr std::size_t kRoughRows = 4;  // asked about at once
inline constexpr std::size_t kRoughTable =
    32;  // entries: what each choice among four members adds up to, twice

struct RoughSums {
  std::uint16_t* sums;   // [row asked about, training row]
  std::uint16_t* least;  // of all training rows
  std::uint16_t* most;
};

// What the rough values of one query row are computed from.
struct RoughLine {
  const std::uint16_t* sums;
  const float* inverse_counts;
  const float* errors;
  float centre;
  float error_scale;
};

inline float rough_value(const RoughLine& line, std::size_t i) {
  return (static_cast<float>(line.sums[i]) + line.centre) * line.inverse_counts[i] +
         line.error_scale * line.errors[i];
}

inline constexpr std::size_t kMostRowSlots = 64;   // of the codes of a single row
inline constexpr std::size_t kMostRowLeaves = 32;  // of a tree for single rows

// All tests of two trees, for one row. A row goes right where its code is above the threshold. It comes to
// the leaf whose tests, those on the way to it, have turned out as wanted; bit i stands for test i.
struct RowTests {
  struct Leaves {
    alignas(64) std::array<std::uint32_t, kMostRowLeaves> wanted;
    alignas(64) std::array<std::uint32_t, kMostRowLeaves> on_the_way;
  };
  alignas(64) std::array<std::uint8_t, 2 * kMostRowLeaves> places;  // of the codes; kMostRowLeaves per tree
  alignas(64) std::array<std::uint8_t, 2 * kMostRowLeaves> thresholds;
  std::array<Leaves, 2> leaves;
};

// The codes of a row, slot by slot: where a value is missing the largest, and then all again, the smallest.
struct RowCodes {
  alignas(64) std::array<std::uint8_t, 2 * kMostRowSlots> codes;
  bool has_missing = false;
};

struct PredictKernels {
  // The order in which sums of rows lie: sums[i] is that of row sum_order[i] of its line.
  const std::uint8_t* sum_order;

  // found[row] = the number of the row's leaf, for all kSliceRows rows.
  void (*find_leaves)(const SliceProgram& program, const SliceBlock& block, std::uint8_t* found);
  // sums[row] += values[number of the row's leaf]; `values` has room for kMostLeaves, n_leaves are used.
  void (*add_values)(const std::uint8_t* numbers, const double* values, std::size_t n_leaves,
                     std::size_t n_lines, double* sums);
  // codes[i] = how many thresholds lie below values[i], less 128; 255 less 128 where it is NaN.
  // Returns whether one is. At most kMostValues values.
  bool (*code_numbers)(const ThresholdTable& table, const double* values, std::size_t n, std::int8_t* codes);
  bool (*code_singles)(const ThresholdTable& table, const float* values, std::size_t n, std::int8_t* codes);
  // branches[i] = table[codes[i] + 128], a byte per category.
  void (*look_up)(const std::int8_t* codes, const std::uint8_t* table, std::size_t n_lines,
                  std::int8_t* branches);
  // numbers[tree] = the number of the leaf that a row comes to, for two trees per element of `tests`.
  void (*find_leaves_of_row)(const RowTests* tests, std::size_t n_pairs, const RowCodes& row,
                             std::uint8_t* numbers);
  // Whether this is faster than walking.
  bool is_quick_with_rows;
  // means[row] = the mean of said[member, row] over some members, at least one, for kAnswersAtOnce rows.
  void (*mean_of_members)(const double* said, const std::uint32_t* members, std::size_t n_members,
                          double* means);
  // Writes those of n values that lie from low to high to `kept`, which has room for n and 8 more, and adds
  // the number of those below to n_below. Returns how many it has written.
  std::size_t (*keep_between)(const double* values, std::size_t n, double low, double high, double* kept,
                              std::size_t& n_below);
  // Adds up what the tables, [pair of groups, row asked about, entry], have for each training row.
  void (*add_groups)(const RoughPatterns& patterns, const std::uint8_t* tables, const RoughSums& found);
  // Writes which training rows from `begin` to `end` have a rough value from low to high, and the values: to
  // room for 16 more than there are. Adds the number of those below to n_below. Returns how many it has written.
  std::size_t (*keep_rough)(const RoughLine& line, std::size_t begin, std::size_t end, float low, float high,
                            std::uint32_t* places, float* kept, std::size_t& n_below);
};

// The fastest form that this machine can run, up to a given set of instructions.
const PredictKernels& predict_kernels(InstructionSet at_most);

}  // namespace hornbeam::predict
