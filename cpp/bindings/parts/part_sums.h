// Sums of parts of a boosting fit on their way to Python and from there. What a part says of several nodes is one tuple
// of few arrays, since each array costs time on its way over a network: five numbers for each node (rows on the left,
// the two sums of all rows, how many cells, whether these are of 32 bits), the cells of all nodes as bytes, and for each
// node a list of its categories' sums.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "bindings/arrays.h"
#include "boost/histogram/reuse_pool.h"
#include "boost/parts/part_rows.h"

namespace hornbeam::bindings {

using boost::CategorySums;
using boost::PartSums;
using boost::WideCell;

// Bytes of cells that Python has, or has had: they are used again, since a worker of Dask returns freed memory to the
// system at once, and would pay for every page of the next answer anew.
using CellBuffers = boost::ReusePool<std::vector<std::uint8_t>>;

// Sums of some nodes on their way to Python, their cells in 32 bits where these hold them.
class Outgoing {
 public:
  explicit Outgoing(std::shared_ptr<CellBuffers> buffers = std::make_shared<CellBuffers>());
  Outgoing(Outgoing&& other) noexcept;
  Outgoing& operator=(Outgoing&&) = delete;
  ~Outgoing();

  // Takes the sums of the next node; its categories are moved away.
  void add(PartSums& node);
  nb::tuple tuple() &&;

 private:
  std::vector<std::int64_t> heads_;
  std::shared_ptr<CellBuffers> buffers_;
  std::vector<std::uint8_t>* cells_;
  std::vector<std::vector<CategorySums>> categories_;
};

// Sums of a node on their way from Python. Arrays that came over a network may begin at any address.
struct Incoming {
  std::size_t n_left;
  WideCell total;
  const char* cells;
  std::size_t n_cells;
  bool narrow;
  std::vector<CategorySums> categories;
};
// The sums of several parts' sums of one node.
PartSums added(std::span<const Incoming> parts);
// Of `count` nodes from number `first` on, what each of several parts says.
std::vector<std::vector<Incoming>> by_node(const nb::list& parts, std::size_t first, std::size_t count);
// How many nodes a part speaks of.
std::size_t n_nodes(const nb::list& parts);

}  // namespace hornbeam::bindings
