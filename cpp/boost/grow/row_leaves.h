// The leaf of each row: the leaves' lists of rows turned into one array indexed by row. Sums over leaves, and
// adding leaf values to scores, then read memory sequentially instead of jumping about in it list by list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/platform.h"
#include "boost/grow/boost_grower.h"

namespace hornbeam::boost {

// Sums over leaves are made in blocks of neighbouring rows. Blocks depend only on the number of rows and of leaves,
// so sums have the same bits for any number of threads. Within a block, consecutive rows are added to `kLanes`
// separate sums in turn.
struct LeafBlocks {
  static constexpr std::size_t kLanes = 4;
  std::size_t n_rows;
  std::size_t n_blocks;
  std::size_t rows_per_block;

  LeafBlocks(std::size_t n_rows, std::size_t n_leaves);
  std::size_t begin(std::size_t block) const { return block * rows_per_block; }
  std::size_t end(std::size_t block) const { return std::min(begin(block) + rows_per_block, n_rows); }
};

class RowLeaves {
 public:
  // For a tree on all rows, or if not `complete` on some of them. `numbers` must outlive this.
  RowLeaves(const std::vector<LeafRows>& leaves, std::size_t n_rows, bool complete,
            Buffer<std::uint8_t>& numbers);

  // All work is done in blocks of neighbouring rows; different threads may take different blocks.
  std::size_t n_blocks() const { return blocks_.n_blocks; }
  // Must be called for every block before the functions below.
  void record(std::size_t block);
  // Sums two values per row over the rows of each leaf; `second` may be null. The arrays begin with row
  // first_row.
  struct Sums {
    double first = 0.0;
    double second = 0.0;
  };
  std::vector<Sums> sum(std::size_t block, const float* first, const float* second,
                        std::size_t first_row = 0) const;
  // The rows of a block.
  std::size_t begin(std::size_t block) const { return blocks_.begin(block); }
  std::size_t end(std::size_t block) const { return blocks_.end(block); }
  // Adds `values[leaf]` to the rows of each leaf.
  void add(std::size_t block, std::span<const double> values, double* scores) const;

 private:
  // Rows of no leaf have the number after the last leaf's.
  std::size_t n_numbers() const { return leaves_.size() + 1; }
  // Calls task with the leaves' numbers by row.
  template <class Task>
  auto with_numbers(Task task) const {
    return bytes_ ? task(numbers_.data()) : task(reinterpret_cast<std::uint32_t*>(numbers_.data()));
  }

  const std::vector<LeafRows>& leaves_;
  bool complete_;
  Buffer<std::uint8_t>& numbers_;
  bool bytes_;  // numbers are bytes, else 32 bits
  LeafBlocks blocks_;
};

}  // namespace hornbeam::boost
