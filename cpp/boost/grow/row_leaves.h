// Which leaf each row is in: the leaves' lists of rows once more, by row. What is added up or handed out by
// leaf then goes through all rows in their order, from one end of memory to the other, instead of jumping
// about in it list by list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/platform.h"
#include "boost/grow/boost_grower.h"

namespace hornbeam::boost {

// Sums over leaves are made block by block of neighbouring rows. Blocks depend on the rows of the table and the
// number of leaves only, so that sums have the same bits for any number of threads. Within a block, neighbouring
// rows add to different sums, `kLanes` of them by turns.
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
  // Of a tree on all rows, or on some of them if not `complete`. `room` is used as long as this lives.
  RowLeaves(const std::vector<LeafRows>& leaves, std::size_t n_rows, bool complete,
            Buffer<std::uint8_t>& room);

  // Everything is done in blocks of neighbouring rows; threads may take different blocks.
  std::size_t n_blocks() const { return blocks_.n_blocks; }
  // Comes before the others.
  void record(std::size_t block);
  // The sums over the rows of each leaf, of two values of a row at once; `second` may be nullptr. The values are
  // those of rows first_row, first_row + 1, ...
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
    return bytes_ ? task(room_.data()) : task(reinterpret_cast<std::uint32_t*>(room_.data()));
  }

  const std::vector<LeafRows>& leaves_;
  bool complete_;
  Buffer<std::uint8_t>& room_;
  bool bytes_;  // numbers are bytes, else 32 bits
  LeafBlocks blocks_;
};

}  // namespace hornbeam::boost
