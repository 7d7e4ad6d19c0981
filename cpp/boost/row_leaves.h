// Which leaf each row is in: the leaves' lists of rows once more, by row. What is added up or handed out by
// leaf then goes through all rows in their order, from one end of memory to the other, instead of jumping
// about in it list by list.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/platform.h"
#include "boost/boost_grower.h"

namespace hornbeam::boost {

class RowLeaves {
 public:
  // Of a tree on all rows, or on some of them if not `complete`. `room` is used as long as this lives.
  RowLeaves(const std::vector<LeafRows>& leaves, std::size_t n_rows, bool complete,
            Buffer<std::uint8_t>& room);

  // Everything is done in blocks of neighbouring rows; threads may take different blocks. They depend on the
  // rows and the number of leaves only, so that sums have the same bits for any number of threads.
  std::size_t n_blocks() const { return n_blocks_; }
  // Comes before the others.
  void record(std::size_t block);
  // The sums over the rows of each leaf, of two values of a row at once; `second` may be nullptr.
  struct Sums {
    double first = 0.0;
    double second = 0.0;
  };
  std::vector<Sums> sum(std::size_t block, const float* first, const float* second) const;
  // Adds `values[leaf]` to the rows of each leaf.
  void add(std::size_t block, std::span<const double> values, double* scores) const;

 private:
  // Rows of no leaf have the number after the last leaf's.
  std::size_t n_numbers() const { return leaves_.size() + 1; }
  std::size_t begin(std::size_t block) const { return block * rows_per_block_; }
  std::size_t end(std::size_t block) const { return std::min(begin(block) + rows_per_block_, n_rows_); }
  // Calls task with the leaves' numbers by row.
  template <class Task>
  auto with_numbers(Task task) const {
    return bytes_ ? task(room_.data()) : task(reinterpret_cast<std::uint32_t*>(room_.data()));
  }

  const std::vector<LeafRows>& leaves_;
  std::size_t n_rows_;
  bool complete_;
  Buffer<std::uint8_t>& room_;
  bool bytes_;  // numbers are bytes, else 32 bits
  std::size_t n_blocks_;
  std::size_t rows_per_block_;
};

}  // namespace hornbeam::boost
