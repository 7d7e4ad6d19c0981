// Nearest neighbours: a matrix of points in, an index out; queries in, rows and distances out.
#include "arrays.h"
#include "neighbors/neighbors.h"

namespace hornbeam::bindings {

using neighbors::first_unusable;
using neighbors::MatrixView;
using neighbors::Metric;
using neighbors::MetricKind;
using neighbors::NeighborIndex;
using neighbors::NeighborTable;
using neighbors::Structure;

namespace {

using AnyMatrix = InPlace<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using NumpyMatrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

MatrixView matrix_of(const AnyMatrix& array) {
  const Number number = number_of(array.dtype());
  if (number != Number::kF32 && number != Number::kF64)
    throw nb::type_error("a matrix must hold float32 or float64 numbers");
  return {array.data(), number == Number::kF32, array.shape(0), array.shape(1)};
}

template <class T>
NumpyMatrix<T> to_numpy_matrix(std::vector<T> values, std::size_t n_columns) {
  auto* owned = new std::vector<T>(std::move(values));
  nb::capsule owner(owned, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return NumpyMatrix<T>(owned->data(), {n_columns == 0 ? 0 : owned->size() / n_columns, n_columns}, owner);
}

Metric metric_of(const std::string& name, std::vector<double> parameters, std::size_t n_features) {
  const auto kind_of = [&] {
    if (name == "euclidean") return MetricKind::kEuclidean;
    if (name == "manhattan") return MetricKind::kManhattan;
    if (name == "chebyshev") return MetricKind::kChebyshev;
    if (name == "minkowski") return MetricKind::kMinkowski;
    if (name == "cosine") return MetricKind::kCosine;
    if (name == "gower") return MetricKind::kGower;
    throw nb::value_error("unknown metric");
  };
  const MetricKind kind = kind_of();
  const std::size_t expected = kind == MetricKind::kMinkowski ? 1
                               : kind == MetricKind::kGower   ? n_features
                                                              : 0;
  if (parameters.size() != expected) throw nb::value_error("the metric has another number of parameters");
  return {kind, std::move(parameters)};
}

Structure structure_of(const std::string& name) {
  if (name == "blocks") return Structure::kBlocks;
  if (name == "panels") return Structure::kPanels;
  if (name == "tree") return Structure::kTree;
  throw nb::value_error("unknown structure");
}

NeighborIndex* make_index(const AnyMatrix& points, const std::string& metric, std::vector<double> parameters,
                          const std::string& structure, int n_threads) {
  const MatrixView matrix = matrix_of(points);
  if (matrix.n_rows == 0 || matrix.n_columns == 0) throw nb::value_error("there are no points");
  if (matrix.n_rows >= std::uint32_t(-1)) throw nb::value_error("there are too many points");
  Metric checked = metric_of(metric, std::move(parameters), matrix.n_columns);
  const Structure form = structure_of(structure);
  return without_lock(
      [&](Cancel& cancel) { return new NeighborIndex(matrix, std::move(checked), form, n_threads, cancel); });
}

MatrixView queries_of(const NeighborIndex& index, const AnyMatrix& queries) {
  const MatrixView matrix = matrix_of(queries);
  if (matrix.n_columns != index.n_features()) throw nb::value_error("queries have another number of columns");
  return matrix;
}

}  // namespace

void bind_neighbors(nb::module_& module) {
  nb::class_<NeighborIndex>(module, "NeighborIndex", "Points, ready to be searched for neighbours.")
      .def(nb::new_(&make_index), nb::arg("points"), nb::arg("metric"), nb::arg("parameters"),
           nb::arg("structure"), nb::arg("n_threads"),
           "structure: 'blocks' (any metric), 'panels' (euclidean) or 'tree' (not cosine, not gower).")
      .def_prop_ro("n_points", &NeighborIndex::n_points)
      .def_prop_ro("n_features", &NeighborIndex::n_features)
      .def(
          "search",
          [](const NeighborIndex& index, const AnyMatrix& queries, std::size_t k, int n_threads) {
            const MatrixView matrix = queries_of(index, queries);
            if (k == 0 || k > index.n_points()) throw nb::value_error("there are not that many neighbours");
            NeighborTable found =
                without_lock([&](Cancel& cancel) { return index.search(matrix, k, n_threads, cancel); });
            return nb::make_tuple(to_numpy_matrix(std::move(found.rows), k),
                                  to_numpy_matrix(std::move(found.distances), k));
          },
          nb::arg("queries"), nb::arg("k"), nb::arg("n_threads"),
          "The rows of the k nearest points of each query, nearest first, and their distances.")
      .def(
          "all_distances",
          [](const NeighborIndex& index, const AnyMatrix& queries, int n_threads) {
            const MatrixView matrix = queries_of(index, queries);
            return to_numpy_matrix(
                without_lock([&](Cancel& cancel) { return index.all_distances(matrix, n_threads, cancel); }),
                index.n_points());
          },
          nb::arg("queries"), nb::arg("n_threads"),
          "The distances of all points to each query; only of an index of the structure 'blocks'.");
  module.def(
      "first_unusable",
      [](const AnyMatrix& matrix, double limit, bool nan_allowed, int n_threads) {
        const MatrixView view = matrix_of(matrix);
        return without_lock([&](Cancel&) { return first_unusable(view, limit, nan_allowed, n_threads); });
      },
      nb::arg("matrix"), nb::arg("limit"), nb::arg("nan_allowed"), nb::arg("n_threads"),
      "The flat place of the first number that is not finite or beyond +-limit; the size if there is none.");
}

}  // namespace hornbeam::bindings
