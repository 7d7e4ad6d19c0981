// The loops of explanations that profit from wide registers, compiled once per instruction set. Each row's
// sums are made in the same order in all forms: the same bits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "explain/paths/path_tests.h"

namespace hornbeam::explain {

inline constexpr std::size_t kLanes = 128;     // most rows that walk long paths side by side
inline constexpr std::size_t kLanesStep = 16;  // in multiples of this

inline constexpr std::size_t kTables =
    8;  // tables that are looked up together: each pattern has a cache line

// A test on a long path, for some rows side by side (explain/paths/long_paths.h). A row's way is 1 if it goes
// right, -1 if it goes left, and 0 if an earlier test on the same column kept it out.
struct PathTest {
  double share_left;
  double share_right;
  const double* bend;    // [point]
  const double* weight;  // [point]; null where the column is new: then all are 1, and no way is 0
  double* way;           // [row]
  double* product;       // of the path to the test, [point, row]
  // The factors on it: [branch, way, point], for ways to the left and to the right; for way 0 the factor is
  // the share.
  double* factors;
};
// Where the ways come from: `former` is the last test on the same column and `above` the test above, if there
// are any; from there the path continues to the left or to the right.
struct PathStep {
  const double* values;  // [row]
  double threshold;
  bool missing_right;
  const double* former_way;
  bool former_right;
  const PathTest* above;
  bool above_right;
};
// What a branch is worth: [point, row] for the leaves below it, or one number if it is a leaf.
struct Branch {
  const double* worth;
  bool is_leaf;
};

// Explained rows at a test, each with the rows of a background that are there with it
// (explain/paths/background_walk.h). There are up to 64 of them, a word; on the way down they are packed into
// lanes, in order. `others` and `lacks` are bits of the word, the other masks bits of lanes.
inline constexpr std::size_t kOthers = 64;
struct BackgroundFrame {
  std::size_t n_rows;
  std::uint8_t* row;       // [row here]: its place among the explained rows
  std::uint8_t* n_failed;  // [row here]: how many columns it fails
  std::uint64_t* others;   // [row here]
  std::uint8_t* n_lacked;  // [row here, 64]: how many columns it passes that the row in the lane fails
  double* worth;  // of the leaves below: [row here, (1 + its groups of 8 lanes) * n_values, 8], losses first
  // On the side that is followed:
  std::uint64_t* stay;       // [row here]: others that continue with it
  std::uint64_t* now_lack;   // [row here]: others that fail the column from here on, where the row passes it
  std::uint8_t* now_fails;   // [row here]: 255 where the row fails the column from here on
  std::uint64_t* lacks;      // [row]: rows of the word that fail a test on the column down to here
  std::uint8_t* has_failed;  // [row]: 1 where the row fails one
};
// A side of a test with two branches.
struct BackgroundSide {
  const std::uint8_t* right;  // [row]: 1 where the row goes right
  std::uint64_t others;       // of the word, that go to this side
  bool is_right;
  bool is_first;                  // of the two: sums are written, not added
  bool is_asked_again;            // the column is tested again below: `lacks` and `has_failed` are needed
  const BackgroundFrame* former;  // with the last test on the column, or null
  std::size_t n_values;
  double* sums;  // of the column: [value, sums_step], of these [row, 8]
  std::size_t sums_step;
};
struct BackgroundLeaf {
  const double* values;
  const double* betas;  // [b, betas_step]: row_of_betas
  std::size_t betas_step;
  bool few_columns;  // at most 15 on a path
};
// A test whose branches are leaves.
struct BackgroundPair {
  BackgroundLeaf left;
  const double* right_values;
  const std::uint8_t* right;
  std::uint64_t others;  // that go right
  const BackgroundFrame* former;
  double* sums;
};

struct ExplainKernels {
  // right[i] = 1 where values[i] goes right at a threshold; NaN goes right if `missing_right`.
  void (*compare)(const double* values, std::size_t n, double threshold, bool missing_right,
                  std::uint8_t* right);
  // patterns[i] |= bits[i] << place
  void (*set_bits)(const std::uint8_t* bits, std::size_t n, int place, std::uint8_t* patterns);
  // sums[k][i] += table[patterns[i], k], for kTables tables side by side; n is a multiple of kTables.
  void (*look_up)(const std::uint8_t* patterns, std::size_t n, const double* table, double* const* sums);
  // On the way down: writes test.way and test.factors, and test.product if there is a test above. All arrays
  // have `n_rows` rows and `n_points` points.
  void (*enter)(const PathStep& step, const PathTest& test, std::size_t n_rows, std::size_t n_points);
  // On the way up: writes the worth of the leaves below the test, and adds to parts[row].
  void (*join)(const PathTest& test, Branch left, Branch right, std::size_t n_rows, std::size_t n_points,
               double* worth, double* parts);
  // What the test contributes to its column at each point of the quadrature, from which pairs with other
  // columns of the path are computed: at_points[point, row]; and if_unknown[row], the sum of these times
  // unknown[point].
  void (*part_at_points)(const PathTest& test, Branch left, Branch right, std::size_t n_rows,
                         std::size_t n_points, const double* unknown, double* at_points, double* if_unknown);
  // sums[row] += the joint effect of a pair: the sum over the points of known[point] times at_points, or
  // if_unknown[row] for rows that do not go to the given side at the last test on the other column.
  void (*add_pair)(const double* at_points, const double* if_unknown, const double* known, const double* way,
                   bool right, std::size_t n_rows, std::size_t n_points, double* sums);
  // `enter` and `join` in one, for a test with two leaves and a test above; test.way and test.product are not
  // written.
  void (*join_leaves)(const PathStep& step, const PathTest& test, double left, double right,
                      std::size_t n_rows, std::size_t n_points, double* worth, double* parts);
  // Rows at a test go down one side, to another test. A row that no other row follows is dropped.
  void (*follow_others)(const BackgroundSide& side, BackgroundFrame& here, BackgroundFrame& below);
  // They go down to a leaf: adds it to the sums below the test, and to the column's sums.
  void (*add_leaf_for_others)(const BackgroundSide& side, BackgroundFrame& here, const BackgroundLeaf& leaf);
  // They go down to a test with two leaves: adds these to the sums below the test above, and to the sums of
  // both columns.
  void (*add_two_leaves_for_others)(const BackgroundSide& side, BackgroundFrame& here,
                                    const BackgroundPair& pair);
  // Adds the sums below the other test to those of the test above.
  void (*return_others)(const BackgroundSide& side, BackgroundFrame& here, const BackgroundFrame& below);
};

const ExplainKernels& explain_kernels();

}  // namespace hornbeam::explain
