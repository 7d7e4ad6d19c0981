// Compares rows with the rows of a background, in one walk through a tree.
//
// A row passes a column at a leaf if it passes all tests on that column on the way to the leaf. For a row and
// another one from the background, a leaf counts if at least one of the two passes each column of its path.
// If the row alone passes a of the columns and the other alone passes b, and the leaf is worth v, each of the
// a columns gets v beta(a - 1, b) and each of the b columns loses v beta(a, b - 1) (explain/beta.h): for the
// row to reach the leaf, the first must be known and the second must not.
//
// A row walks together with up to 64 others. The columns that it fails do not depend on the other row, and
// neither does b. What differs between the others is carried in lanes: on the way down the number a, on the
// way back the sum G of v beta(a - 1, b) over the leaves below. The sum L of v beta(a, b - 1) over these
// leaves and all others is one number. A test on a new column c has two sides:
//
//     near, where the row goes. Others that go to the other side fail c: their a grows by 1, and c gets the
//         sum of their G on this side. All others continue.
//     far. The row fails c, so b grows by 1, and only others that go here, and so pass c, continue. c loses
//         L.
//
// If there are tests on c above, what counts is whether a row passes all of them:
//
//     As long as the row passes them, this is the near side. Others that failed c at a test above were
//         counted by that test: the G that c got there includes the leaves below this one. So c gets the G of
//         those alone that fail it from here on, and only their a grows.
//     If the row fails c from here on, this is the far side. Others that fail c are dropped along with those
//         that do not come here, for neither row passes c. So their G has nothing of these leaves, and the
//         tests above give c nothing for them.
//     If the row has failed c before, c lost its L there. Others that pass this test as well continue, on
//         either side; no number grows, and c gets nothing.
//
// On far sides the lanes are packed, and the walk skips a side where no other row is left. So a row reaches a
// leaf at most once for a word of others; if each test separates the row from half of the others, (3/4)^d of
// the pairs are left after d tests.
//
// Many rows take each step side by side (explain/explain_kernels.h), since all visit the tests in the same
// order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/platform.h"
#include "explain/beta.h"
#include "explain/explain_kernels.h"
#include "explain/paths/path_tests.h"
#include "explain/rows.h"

namespace hornbeam::explain {

// Most columns on a path, since they are counted in bytes.
inline constexpr std::size_t kMostColumnsOfBackgroundWalk = kMostOfBeta;

struct BackgroundTask {
  const RowBlock& rows;
  const RowBlock& background;
  std::span<const double> leaves;  // [leaf of the list, value]
  std::size_t n_values;
  double share;  // of each row of the background
};

// One thread's memory for the walk.
class BackgroundWalk {
 public:
  explicit BackgroundWalk(Unseen unseen) : unseen_(unseen) {}

  // Adds what the columns get to parts(feature, value), an array over the rows. Calls poll(work) now and
  // then.
  template <class PartsOf, class Poll>
  void add(const Tree& tree, const PathTests& list, const BackgroundTask& task, const PartsOf& parts_of,
           const Poll& poll) {
    begin(tree, list, task);
    for (first_ = 0; first_ < task.rows.n_rows(); first_ += most_rows_) {
      n_rows_ = std::min(most_rows_, task.rows.n_rows() - first_);
      for (std::size_t i = 0; i < list.tests.size(); ++i)
        find_sides(tree, list.tests[i], task.rows, first_, n_rows_, right_.data() + i * most_rows_);
      for (std::size_t value = 0; value < task.n_values; value += most_values_) {
        n_values_ = std::min(most_values_, task.n_values - value);
        leaves_ = task.leaves.data() + value;
        std::fill(sums_of(0, 0), sums_of(0, n_values_), 0.0);
        for (std::size_t word = 0; word < n_words_; ++word) {
          play(list, word);
          poll(n_rows_ * list.tests.size() * 16);
        }
        for (std::size_t column = 0; column < list.columns.size(); ++column) {
          for (std::size_t v = 0; v < n_values_; ++v) {
            double* parts = parts_of(list.columns[column], value + v) + first_;
            for (std::size_t row = 0; row < n_rows_; ++row) parts[row] += task.share * sum_of(column, v, row);
          }
        }
      }
    }
  }

 private:
  struct Place {  // on the way down
    std::size_t test;
    std::size_t side;  // the side that is followed, 2 after both
  };

  void begin(const Tree& tree, const PathTests& list, const BackgroundTask& task);
  void make_room(std::size_t n_levels);
  void find_sides(const Tree& tree, const TreeTest& test, const RowBlock& block, std::size_t first,
                  std::size_t n, std::uint8_t* right) const;
  void play(const PathTests& list, std::size_t word);
  BackgroundSide side_of(const PathTests& list, const Place& place, std::size_t word);
  BackgroundPair pair_of(const PathTests& list, std::size_t number, std::size_t word);
  BackgroundLeaf leaf_of(const PathTests& list, std::int32_t leaf) const;
  double* sums_of(std::size_t column, std::size_t value) {
    return sums_.data() + (value * n_columns_ + column) * most_rows_ * kLanesOfSum;
  }
  double sum_of(std::size_t column, std::size_t value, std::size_t row);

  static constexpr std::size_t kLanesOfSum = 8;

  Unseen unseen_;
  std::size_t most_rows_ = 1;    // at once
  std::size_t most_values_ = 1;  // at once
  std::size_t n_columns_ = 0;
  std::size_t first_ = 0;   // row of the block
  std::size_t n_rows_ = 1;  // from there on
  std::size_t n_values_ = 1;
  std::size_t leaf_step_ = 1;
  const double* leaves_ = nullptr;  // [leaf, leaf_step_], of these n_values_ count
  std::size_t n_others_ = 0;
  std::size_t n_words_ = 0;
  std::vector<std::uint8_t> right_;      // [test, row]: 1 where it goes right
  std::vector<std::uint64_t> others_;    // [word, test]: those that go right
  std::vector<std::uint8_t> bytes_;      // the same for one test, [row of the background]
  std::vector<Place> path_;              // by level
  std::vector<BackgroundFrame> frames_;  // by level, over these
  Buffer<std::uint8_t> frame_bytes_;
  Buffer<std::uint64_t> frame_words_;
  Buffer<double> frame_worth_;
  Buffer<double> sums_;  // [value, column, row, lane]
};

}  // namespace hornbeam::explain
