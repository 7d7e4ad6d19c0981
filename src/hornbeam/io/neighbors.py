"""Nearest neighbours into a record and back: the rows of the fit; the index over them is built again."""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.matrix import FloatMatrix
from hornbeam.data.table import Schema
from hornbeam.errors import ModelFormatError
from hornbeam.estimators.neighbors import KNeighborsClassifier, KNeighborsRegressor
from hornbeam.io.record import RecordReader, RecordWriter
from hornbeam.io.schema import read_classes, read_schema, write_classes, write_schema
from hornbeam.neighborhood import (
    Metric,
    Neighborhood,
    Scaling,
    choose_structure,
    largest_value,
    settled_metric,
)
from hornbeam.params import NeighborOptions

__all__ = [
    "read_neighbor_classes",
    "read_neighbor_numbers",
    "write_neighbor_classes",
    "write_neighbor_numbers",
]

FloatArray = npt.NDArray[np.float64]
_Neighbors = KNeighborsClassifier | KNeighborsRegressor


def _write_neighbors(estimator: _Neighbors, writer: RecordWriter) -> None:
    if estimator.bandwidth_ is not None:
        writer.facts["bandwidth"] = float(estimator.bandwidth_)
    _write_neighborhood(estimator._model, writer)


def _read_neighbors(estimator: _Neighbors, reader: RecordReader) -> Neighborhood:
    model = _read_neighborhood(estimator, reader)
    estimator.bandwidth_ = reader.fact("bandwidth", float) if estimator.weights == "gaussian" else None
    if estimator.bandwidth_ is not None and not 0 < estimator.bandwidth_ < np.inf:
        raise ModelFormatError(f"the bandwidth is {estimator.bandwidth_}")
    estimator.n_features_in_ = len(model.schema.given_names)
    if model.schema.names_given:
        estimator.feature_names_in_ = np.array(model.schema.given_names, dtype=object)
    estimator.n_samples_fit_ = model.n_rows
    estimator._model = model
    return model


def write_neighbor_classes(estimator: KNeighborsClassifier, writer: RecordWriter) -> None:
    """Put in a fitted classifier."""
    write_classes(
        estimator.classes_ if isinstance(estimator.classes_, list) else [estimator.classes_], writer
    )
    writer.put("codes", estimator._codes)
    _write_neighbors(estimator, writer)


def read_neighbor_classes(estimator: KNeighborsClassifier, reader: RecordReader) -> None:
    """Take out what a fit sets on a classifier."""
    classes = read_classes(reader)
    model = _read_neighbors(estimator, reader)
    codes = reader.take("codes", np.int32, (model.n_rows, len(classes)))
    counts = [len(labels) for labels in classes]
    if (codes < 0).any() or (codes >= counts).any():
        raise ModelFormatError("a row has a class that does not exist")
    several = len(classes) > 1
    estimator.n_outputs_ = len(classes)
    estimator.classes_ = classes if several else classes[0]
    estimator.n_classes_ = counts if several else counts[0]
    estimator._codes = codes


def write_neighbor_numbers(estimator: KNeighborsRegressor, writer: RecordWriter) -> None:
    """Put in a fitted regressor."""
    writer.put("targets", estimator._values)
    _write_neighbors(estimator, writer)


def read_neighbor_numbers(estimator: KNeighborsRegressor, reader: RecordReader) -> None:
    """Take out what a fit sets on a regressor."""
    model = _read_neighbors(estimator, reader)
    values = reader.take("targets", np.float64, (model.n_rows, None))
    if not values.shape[1] or not np.isfinite(values).all():
        raise ModelFormatError("the targets of the rows are not finite numbers")
    estimator.n_outputs_ = values.shape[1]
    estimator._values = values


def _write_neighborhood(model: Neighborhood, writer: RecordWriter) -> None:
    """Put in the rows and how distances to them are measured."""
    write_schema(model.schema, writer)
    writer.facts["single"] = model.points.dtype == np.float32
    writer.put("points", model.points.astype(np.float64))
    if model.metric == "gower":
        writer.put("ranges", np.array(model.parameters, dtype=np.float64))
    if model.scaling is not None:
        writer.put("centre", model.scaling.centre)
        writer.put("spread", model.scaling.spread)
    writer.facts["weighted"] = model.weights is not None
    if model.weights is not None:
        writer.put("weights", model.weights)
    writer.facts["some_rows"] = model.row_numbers is not None
    if model.row_numbers is not None:
        writer.put("row_numbers", model.row_numbers.astype(np.int64))


def _read_neighborhood(options: NeighborOptions, reader: RecordReader) -> Neighborhood:
    """Take out the rows, checked against the parameters of their estimator."""
    schema = read_schema(reader)
    metric, parameters = settled_metric(options.metric, options.p)
    points = _read_points(schema, metric, largest_value(metric, parameters), reader)
    n_rows, n_features = points.shape
    if metric == "gower":
        parameters = tuple(_take_numbers("ranges", n_features, reader).tolist())
        _require(min(parameters) >= 0, "a range is negative")
    scaling = None
    if options.scale is not None:
        scaling = Scaling(
            _take_numbers("centre", n_features, reader), _take_numbers("spread", n_features, reader)
        )
        _require((scaling.spread > 0).all(), "a standard deviation is not above 0")
    weights = None
    if reader.fact("weighted", bool):
        weights = _take_numbers("weights", n_rows, reader)
        _require((weights > 0).all(), "a weight is not above 0")
    row_numbers = None
    if reader.fact("some_rows", bool):
        row_numbers = reader.take("row_numbers", np.int64, (n_rows,))
        _require(row_numbers[0] >= 0 and (np.diff(row_numbers) > 0).all(), "row numbers do not ascend")
    _require_enough(options, n_rows, weights)
    all_rows = options.n_neighbors is None
    structure = "blocks" if all_rows else choose_structure(options.algorithm, metric, n_rows, n_features)
    return Neighborhood(points, schema, metric, parameters, scaling, structure, weights, row_numbers)


def _read_points(schema: Schema, metric: Metric, largest: float, reader: RecordReader) -> FloatMatrix:
    single = reader.fact("single", bool)
    points: FloatMatrix = reader.take("points", np.float64, (None, len(schema.names)))
    _require(len(points) > 0, "there are no rows")
    usable = (np.abs(points) <= largest) | (np.isnan(points) & (metric == "gower"))
    _require(usable.all(), "a value is missing or too large")
    _require(metric == "gower" or "categorical" not in schema.kinds, "there are categories to measure")
    for j, (kind, categories) in enumerate(zip(schema.kinds, schema.categories, strict=True)):
        if kind != "numeric" and categories is not None:
            codes = points[~np.isnan(points[:, j]), j]
            _require(np.isin(codes, np.arange(len(categories))).all(), "a category does not exist")
    if not single:
        return points
    narrow = points.astype(np.float32)
    _require(np.array_equal(narrow, points, equal_nan=True), "values are not single precision")
    return narrow


def _take_numbers(name: str, length: int, reader: RecordReader) -> FloatArray:
    numbers: FloatArray = reader.take(name, np.float64, (length,))
    _require(np.isfinite(numbers).all(), f"{name} are not finite")
    return numbers


def _require_enough(options: NeighborOptions, n_rows: int, weights: FloatArray | None) -> None:
    if options.n_neighbors is not None:
        there_are = n_rows if weights is None else float(weights.sum())
        _require(options.n_neighbors <= there_are, "there are fewer rows than neighbours")


def _require(holds: Any, otherwise: str) -> None:
    if not holds:
        raise ModelFormatError(f"the rows of the fit: {otherwise}")
