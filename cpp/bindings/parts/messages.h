// What trees and the parts of their rows say to each other, as Python carries it: numbers, arrays, tuples.
#pragma once

#include <cstdint>
#include <vector>

#include "bindings/arrays.h"
#include "boost/parts/part_rows.h"

namespace hornbeam::bindings {

using boost::LeafNodes;
using boost::LeafSums;
using boost::PartRows;
using Scale = boost::BoostGrower::Scale;
using Doubles = Array1<double>;
using NodeArray = Array1<std::uint64_t>;

inline nb::tuple tuple_of(const Scale& scale) {
  return nb::make_tuple(scale.packed, scale.constant_hessian, scale.gradient, scale.hessian,
                        scale.largest_hessian, scale.has_hessian);
}

inline Scale scale_of(const nb::tuple& given) {
  Scale scale;
  scale.packed = nb::cast<bool>(given[0]);
  scale.constant_hessian = nb::cast<bool>(given[1]);
  scale.gradient = nb::cast<double>(given[2]);
  scale.hessian = nb::cast<double>(given[3]);
  scale.largest_hessian = nb::cast<std::int64_t>(given[4]);
  scale.has_hessian = nb::cast<bool>(given[5]);
  return scale;
}

inline NumpyArray<double> array_of(const std::vector<LeafSums>& sums) {
  std::vector<double> flat;
  for (const LeafSums& leaf : sums) flat.insert(flat.end(), {leaf.gradient, leaf.hessian, leaf.weight});
  return to_numpy(std::move(flat));
}

inline std::vector<LeafSums> leaf_sums_of(const Doubles& flat) {
  std::vector<LeafSums> sums(flat.size() / 3);
  for (std::size_t i = 0; i < sums.size(); ++i)
    sums[i] = {flat.data()[3 * i], flat.data()[3 * i + 1], flat.data()[3 * i + 2]};
  return sums;
}

inline int number_of(PartRows::Wanted wanted) {
  return (wanted.total ? 1 : 0) + (wanted.left ? 2 : 0) + (wanted.right ? 4 : 0);
}

inline nb::tuple tuple_of(const LeafNodes& leaves) {
  return nb::make_tuple(to_numpy(std::vector<std::uint64_t>(leaves.nodes.begin(), leaves.nodes.end())),
                        to_numpy(leaves.leaf_of), leaves.n_leaves);
}

inline LeafNodes leaf_nodes_of(const nb::tuple& given) {
  const auto nodes = nb::cast<NodeArray>(given[0]);
  const auto leaf_of = nb::cast<Array1<std::uint32_t>>(given[1]);
  return {{nodes.data(), nodes.data() + nodes.size()},
          {leaf_of.data(), leaf_of.data() + leaf_of.size()},
          nb::cast<std::size_t>(given[2])};
}

}  // namespace hornbeam::bindings
