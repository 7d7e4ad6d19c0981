// Where the parts of an explanation are added up: a slot per column and, if pairs are wanted, one per pair.
#pragma once

#include <cstddef>

namespace hornbeam::explain {

class Slots {
 public:
  Slots(std::size_t n_columns, bool pairs) : n_columns_(n_columns), pairs_(pairs) {}

  std::size_t n_columns() const { return n_columns_; }
  bool has_pairs() const { return pairs_; }
  std::size_t size() const { return n_columns_ + (pairs_ ? n_columns_ * (n_columns_ - 1) / 2 : 0); }
  // Columns are numbered among those that the trees test.
  std::size_t pair(std::size_t i, std::size_t j) const {
    if (i > j) return pair(j, i);
    return n_columns_ + i * (2 * n_columns_ - i - 1) / 2 + (j - i - 1);
  }

 private:
  std::size_t n_columns_;
  bool pairs_;
};

}  // namespace hornbeam::explain
