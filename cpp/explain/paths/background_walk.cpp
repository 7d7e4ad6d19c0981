#include "explain/paths/background_walk.h"

#include <algorithm>

#include "explain/patterns.h"

namespace hornbeam::explain {

namespace {

constexpr std::size_t kMostRows = 64;          // at once
constexpr std::size_t kMostValues = 8;         // at once
constexpr std::size_t kMostKept = 1u << 17;    // numbers on the way down, so that they stay in the cache
constexpr std::size_t kMostVisits = 1u << 22;  // rows at tests between two polls for Ctrl-C
constexpr std::size_t kOfRow = 9 * 8;          // numbers per row at a test: its losses and 64 lanes
constexpr std::size_t kFewColumns = 15;        // 0 to 15 are looked up in two registers
constexpr std::size_t kLine = 64;              // bytes: every array begins a cache line

std::uint64_t word_of(const std::uint8_t* bytes) {
  std::uint64_t word = 0;
  for (std::size_t place = 0; place < kOthers; ++place) word |= std::uint64_t{bytes[place]} << place;
  return word;
}

}  // namespace

void BackgroundWalk::find_sides(const Tree& tree, const TreeTest& test, const RowBlock& block,
                                std::size_t first, std::size_t n, std::uint8_t* right) const {
  if (test.branch < 0) return goes_right(tree, test.node, unseen_, block, first, n, right);
  for (std::size_t i = 0; i < n; ++i)
    right[i] = branch_taken(tree, test.node, unseen_, block, first + i) != test.branch;
}

void BackgroundWalk::begin(const Tree& tree, const PathTests& list, const BackgroundTask& task) {
  const std::size_t n_tests = list.tests.size();
  const auto n_levels = static_cast<std::size_t>(list.n_levels);
  leaf_step_ = task.n_values;
  most_values_ = std::min(task.n_values, kMostValues);
  n_columns_ = list.columns.size();
  const std::size_t of_row = (n_levels * kOfRow + n_columns_ * kLanesOfSum) * most_values_;
  const std::size_t fit = std::min(kMostKept / of_row, kMostVisits / n_tests);
  most_rows_ = std::min(task.rows.n_rows(), std::clamp<std::size_t>(fit, 1, kMostRows));
  make_room(n_levels);
  right_.resize(n_tests * most_rows_);

  n_others_ = task.background.n_rows();
  n_words_ = (n_others_ + kOthers - 1) / kOthers;
  bytes_.assign(n_words_ * kOthers, 0);
  others_.resize(n_words_ * n_tests);
  for (std::size_t i = 0; i < n_tests; ++i) {
    find_sides(tree, list.tests[i], task.background, 0, n_others_, bytes_.data());
    for (std::size_t word = 0; word < n_words_; ++word)
      others_[word * n_tests + i] = word_of(bytes_.data() + kOthers * word);
  }
}

void BackgroundWalk::make_room(std::size_t n_levels) {
  const std::size_t n = (most_rows_ + kLine - 1) / kLine * kLine;
  constexpr std::size_t kBytes = kOthers + 4;  // of a row
  constexpr std::size_t kWords = 4;
  const std::size_t worth = most_rows_ * most_values_ * kOfRow;
  frame_bytes_.grow_to(n_levels * n * kBytes);
  frame_words_.grow_to(n_levels * n * kWords);
  frame_worth_.grow_to(n_levels * worth + kOthers);  // they are read eight at a time, the last ones too
  sums_.grow_to(most_values_ * n_columns_ * most_rows_ * kLanesOfSum);
  path_.resize(n_levels);
  frames_.resize(n_levels);
  for (std::size_t level = 0; level < n_levels; ++level) {
    std::uint8_t* bytes = frame_bytes_.data() + level * n * kBytes;
    std::uint64_t* words = frame_words_.data() + level * n * kWords;
    BackgroundFrame& frame = frames_[level];
    frame.n_lacked = bytes;
    frame.row = bytes + n * kOthers;
    frame.n_failed = frame.row + n;
    frame.now_fails = frame.row + 2 * n;
    frame.has_failed = frame.row + 3 * n;
    frame.others = words;
    frame.stay = words + n;
    frame.now_lack = words + 2 * n;
    frame.lacks = words + 3 * n;
    frame.worth = frame_worth_.data() + level * worth;
  }
}

BackgroundSide BackgroundWalk::side_of(const PathTests& list, const Place& place, std::size_t word) {
  const TreeTest& test = list.tests[place.test];
  const std::uint64_t right = others_[word * list.tests.size() + place.test];
  BackgroundSide side{};
  side.right = right_.data() + place.test * most_rows_;
  side.is_right = place.side == 1;
  side.others = side.is_right ? right : ~right;
  side.is_first = !side.is_right || test.below[0] == TreeTest::kNothing;
  side.is_asked_again = test.is_asked_again;
  side.former = test.former < 0 ? nullptr : &frames_[static_cast<std::size_t>(test.former)];
  side.n_values = n_values_;
  side.sums = sums_of(static_cast<std::size_t>(test.column), 0);
  side.sums_step = n_columns_ * most_rows_ * kLanesOfSum;
  return side;
}

BackgroundLeaf BackgroundWalk::leaf_of(const PathTests& list, std::int32_t leaf) const {
  return {leaves_ + static_cast<std::size_t>(leaf) * leaf_step_, row_of_betas(0), kRowOfBetas,
          list.most_columns <= kFewColumns};
}

BackgroundPair BackgroundWalk::pair_of(const PathTests& list, std::size_t number, std::size_t word) {
  const TreeTest& test = list.tests[number];
  return {leaf_of(list, test.below[0]),
          leaf_of(list, test.below[1]).values,
          right_.data() + number * most_rows_,
          others_[word * list.tests.size() + number],
          test.former < 0 ? nullptr : &frames_[static_cast<std::size_t>(test.former)],
          sums_of(static_cast<std::size_t>(test.column), 0)};
}

double BackgroundWalk::sum_of(std::size_t column, std::size_t value, std::size_t row) {
  const double* sums = sums_of(column, value) + row * kLanesOfSum;
  return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}

// The rows from `first_` on against a word of the background.
void BackgroundWalk::play(const PathTests& list, std::size_t word) {
  BackgroundFrame& root = frames_[0];
  root.n_rows = n_rows_;
  for (std::size_t i = 0; i < n_rows_; ++i) root.row[i] = static_cast<std::uint8_t>(i);
  std::fill_n(root.n_failed, n_rows_, std::uint8_t{0});
  std::fill_n(root.n_lacked, n_rows_ * kOthers, std::uint8_t{0});
  const std::size_t n_others = std::min(kOthers, n_others_ - kOthers * word);
  std::fill_n(root.others, n_rows_, ~std::uint64_t{0} >> (kOthers - n_others));
  path_[0] = {0, 0};
  for (std::size_t level = 0;;) {
    Place& place = path_[level];
    BackgroundFrame& here = frames_[level];
    if (place.side == 2) {
      if (level == 0) return;
      Place& above = path_[--level];
      explain_kernels().return_others(side_of(list, above, word), frames_[level], here);
      ++above.side;
      continue;
    }
    const std::int32_t below = list.tests[place.test].below[place.side];
    if (below == TreeTest::kNothing) {
      ++place.side;
      continue;
    }
    const BackgroundSide side = side_of(list, place, word);
    if (below >= 0) {
      explain_kernels().add_leaf_for_others(side, here, leaf_of(list, below));
      ++place.side;
      continue;
    }
    const auto lower = static_cast<std::size_t>(~below);
    if (list.tests[lower].has_leaves_only()) {
      explain_kernels().add_two_leaves_for_others(side, here, pair_of(list, lower, word));
      ++place.side;
      continue;
    }
    BackgroundFrame& next = frames_[level + 1];
    explain_kernels().follow_others(side, here, next);
    path_[++level] = {lower, next.n_rows == 0 ? std::size_t{2} : 0};
  }
}

}  // namespace hornbeam::explain
