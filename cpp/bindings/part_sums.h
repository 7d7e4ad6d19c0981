// Sums of parts of a boosting fit on their way to Python and from there: a tuple of the rows on the left, the total,
// the cells and those of categories, all in plain arrays.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "arrays.h"
#include "boost/parts/part_rows.h"

namespace hornbeam::bindings {

using boost::CategorySums;
using boost::PartSums;
using boost::WideCell;

// Sums on their way to Python, their cells in 32 bits if these hold them.
struct Outgoing {
  PartSums sums;
  std::vector<std::int32_t> narrow;
  std::vector<std::int64_t> wide;
  explicit Outgoing(PartSums given);
};
nb::tuple tuple_of(Outgoing out);

// Sums on their way from Python. Arrays that came over a network may begin at any address.
struct Incoming {
  std::size_t n_left;
  WideCell total;
  const char* cells;
  std::size_t n_cells;
  bool narrow;
  std::vector<CategorySums> categories;
};
Incoming incoming(const nb::tuple& given);

// The sums of several parts' sums of one node.
PartSums added(std::span<const Incoming> parts);
// Node by node, what each of several parts says of it: from lists that have a list of sums for each part.
std::vector<std::vector<Incoming>> by_node(const nb::list& parts);

}  // namespace hornbeam::bindings
