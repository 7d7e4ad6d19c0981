"""The rows of a fit, kept to be searched: the model of nearest neighbours.

A `Neighborhood` takes tables as users give them and returns neighbours and distances; estimators turn these
into predictions. It never changes after it is made. Only the rows are saved; the index over them is built
when it is first needed and never leaves the process.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.content import Rows
from hornbeam.data.matrix import FloatMatrix, Matrix, read_matrix_as
from hornbeam.data.table import Schema
from hornbeam.data.wording import shown
from hornbeam.sums import sum_in_any_order

__all__ = [
    "Metric",
    "Neighborhood",
    "Scaling",
    "Structure",
    "choose_structure",
    "largest_value",
    "make_neighborhood",
    "settled_metric",
]

Metric = Literal["euclidean", "manhattan", "chebyshev", "minkowski", "cosine", "gower"]
Structure = Literal["blocks", "panels", "tree"]
FloatArray = npt.NDArray[np.float64]

# Beyond these the squares, or the p-th powers, of differences could overflow.
_LARGEST_POWER = 1e300

# Where the kd-tree is faster than comparing with every row: the fewest rows, by the number of columns. More
# columns: never. Measured; docs/decisions/22-neighbours.md has the figures.
_ROWS_FOR_A_TREE: dict[Structure, dict[int, int]] = {
    "panels": {1: 250, 2: 250, 3: 250, 4: 250, 5: 8000, 6: 40_000, 7: 100_000},
    "blocks": {1: 500, 2: 500, 3: 500, 4: 1000, 5: 2000, 6: 4000, 7: 8000, 8: 20_000},
}


@dataclass(frozen=True, eq=False)
class Scaling:
    """The number subtracted from each column, and the number by which it is then divided."""

    centre: FloatArray
    spread: FloatArray

    def apply(self, values: FloatMatrix) -> FloatArray:
        """Scale rows."""
        scaled: FloatArray = (values.astype(np.float64) - self.centre) / self.spread
        return scaled


@dataclass(frozen=True, eq=False)
class Neighborhood:
    """Rows, and how distances to them are measured.

    `points` are the rows as they are compared: scaled, or of length 1 for the cosine. `parameters` belong to
    the metric: the power of "minkowski", the range of each column for "gower", 0 for categories.
    `weights` are None where all rows count alike. `row_numbers` are the rows of X that count, if not all do.
    """

    points: FloatMatrix
    schema: Schema
    metric: Metric
    parameters: tuple[float, ...]
    scaling: Scaling | None
    structure: Structure
    weights: FloatArray | None = None
    row_numbers: Rows | None = None

    @property
    def n_rows(self) -> int:
        """Number of rows that count."""
        return len(self.points)

    def read(self, X: Any, *, n_threads: int, estimator_name: str) -> FloatMatrix:
        """Read rows to search neighbours for: the columns of the fit, checked and scaled like its rows."""
        values = read_matrix_as(X, self.schema, estimator_name=estimator_name)
        refuse_unusable(
            values,
            self.schema,
            self.metric,
            parameters=self.parameters,
            n_threads=n_threads,
            estimator_name=estimator_name,
        )
        if self.scaling is not None:
            values = self.scaling.apply(values)
        return _of_length_one(values) if self.metric == "cosine" else values

    def search(self, queries: FloatMatrix, k: int, *, n_threads: int) -> tuple[Rows, FloatArray]:
        """Find the k nearest rows of each query, nearest first: their positions among `points`, distances."""
        rows, distances = self._index(self.structure, n_threads).search(queries, k, n_threads)
        return rows, distances

    def all_distances(self, queries: FloatMatrix, *, n_threads: int) -> FloatArray:
        """Measure the distances of all rows to each query: queries x rows."""
        distances: FloatArray = self._index("blocks", n_threads).all_distances(queries, n_threads)
        return distances

    def distances_between(self, points: FloatMatrix, *, n_threads: int) -> FloatArray:
        """Measure the distances between some of `points`."""
        index = _core.NeighborIndex(points, self.metric, list(self.parameters), "blocks", n_threads)
        distances: FloatArray = index.all_distances(points, n_threads)
        return distances

    def original_rows(self, positions: Rows) -> Rows:
        """Turn positions among `points` into numbers of rows of X."""
        return positions if self.row_numbers is None else self.row_numbers[positions]

    @cached_property
    def _indices(self) -> dict[Structure, _core.NeighborIndex]:
        return {}

    def _index(self, structure: Structure, n_threads: int) -> _core.NeighborIndex:
        # Two threads may build it at the same time; both results are equal.
        if structure not in self._indices:
            self._indices[structure] = _core.NeighborIndex(
                self.points, self.metric, list(self.parameters), structure, n_threads
            )
        return self._indices[structure]

    def built(self, *, n_threads: int) -> "Neighborhood":
        """Build the index now rather than with the first search."""
        self._index(self.structure, n_threads)
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the rows, not the index."""
        return {name: value for name, value in vars(self).items() if name != "_indices"}


def make_neighborhood(
    matrix: Matrix,
    weights: FloatArray | None,
    *,
    metric: Metric,
    power: float,
    scale: Literal["standard"] | None,
    algorithm: Literal["auto", "brute", "kd_tree"],
    all_rows: bool,
    row_numbers: Rows | None,
    n_threads: int,
    estimator_name: str,
) -> Neighborhood:
    """Check the rows of a fit and prepare them for the metric; `all_rows` if every search wants them all."""
    metric, parameters = settled_metric(metric, power)
    refuse_categories(matrix.schema, metric, estimator_name)
    refuse_unusable(
        matrix.values,
        matrix.schema,
        metric,
        parameters=parameters,
        n_threads=n_threads,
        estimator_name=estimator_name,
        row_numbers=row_numbers,
    )
    points, scaling = matrix.values, None
    if scale == "standard":
        scaling = _standard_scaling(points, weights)
        points = scaling.apply(points)
    if metric == "cosine":
        points = _of_length_one(points)
    if metric == "gower":
        parameters = tuple(_ranges(points, matrix.schema).tolist())
    structure = "blocks" if all_rows else choose_structure(algorithm, metric, *points.shape)
    return Neighborhood(
        points, matrix.schema, metric, parameters, scaling, structure, weights, row_numbers
    ).built(n_threads=n_threads)


def choose_structure(
    algorithm: Literal["auto", "brute", "kd_tree"], metric: Metric, n_rows: int, n_features: int
) -> Structure:
    """Choose what is searched: the tree where it was measured to be faster, else all rows."""
    brute: Structure = "panels" if metric == "euclidean" else "blocks"
    if algorithm == "kd_tree":
        return "tree"
    if algorithm == "brute" or metric in ("cosine", "gower"):
        return brute
    return "tree" if n_rows >= _ROWS_FOR_A_TREE[brute].get(n_features, np.inf) else brute


def settled_metric(metric: Metric, power: float) -> tuple[Metric, tuple[float, ...]]:
    """Use the named metrics for the powers that have one: their kernels are faster."""
    if metric != "minkowski":
        return metric, ()
    if power in (1, 2):
        return ("manhattan" if power == 1 else "euclidean"), ()
    return metric, (float(power),)


# ------------------------------------------------------------------------------------------------------------
# What is refused


def refuse_categories(schema: Schema, metric: Metric, estimator_name: str) -> None:
    """Raise if a column has categories, and the metric needs numbers."""
    if metric == "gower":
        return
    for name, kind, categories in zip(schema.names, schema.kinds, schema.categories, strict=True):
        if kind == "categorical":
            example = f", such as {shown(categories[0])}" if categories else ""
            raise ValueError(
                f"{estimator_name}: column {shown(name)} holds categories{example}; metric={metric!r} needs "
                "numbers. Use metric='gower', or encode the column."
            )


def largest_value(metric: Metric, parameters: tuple[float, ...]) -> float:
    """Return the largest number whose distances to others do not overflow."""
    power = max(2.0, *parameters) if metric == "minkowski" else 2.0
    return float(_LARGEST_POWER ** (1 / power))


def refuse_unusable(
    values: FloatMatrix,
    schema: Schema,
    metric: Metric,
    *,
    parameters: tuple[float, ...],
    n_threads: int,
    estimator_name: str,
    row_numbers: Rows | None = None,
) -> None:
    """Raise at the first value that has no distance to others: missing, infinite, or too large.

    `row_numbers` are the rows of X that `values` has, if not all.
    """
    limit = largest_value(metric, parameters)
    place = _core.first_unusable(values, limit, metric == "gower", n_threads)
    if place == values.size:
        return
    row, column = divmod(place, values.shape[1])
    value = values[row, column]
    row = row if row_numbers is None else int(row_numbers[row])
    where = f"column {shown(schema.names[column])}, row {row}"
    if np.isnan(value):
        raise ValueError(
            f"Input X contains NaN: {where} has no value. {estimator_name} with metric={metric!r} needs all "
            "of them. Fill the gap, or use metric='gower', which compares rows by what both have."
        )
    if np.isinf(value):
        raise ValueError(
            f"Input X contains infinity: {where} holds {value}, which is infinitely far from everything. "
            "Clip it, or drop the row."
        )
    raise ValueError(
        f"{estimator_name}: {where} holds {value}; distances to values beyond {limit:.0e} overflow. "
        "Rescale the column."
    )


# ------------------------------------------------------------------------------------------------------------
# What becomes of the rows


def _standard_scaling(points: FloatMatrix, weights: FloatArray | None) -> Scaling:
    """Find the mean and the standard deviation of each column; a constant one is only centred."""
    values = points.astype(np.float64)
    counted = np.ones(len(values)) if weights is None else weights
    total = sum_in_any_order(counted)
    centre = sum_in_any_order(values * counted[:, np.newaxis]) / total
    constant = values.min(axis=0) == values.max(axis=0)
    centre[constant] = values[0, constant]
    spread = np.sqrt(sum_in_any_order((values - centre) ** 2 * counted[:, np.newaxis]) / total)
    spread[constant | (spread == 0)] = 1.0
    return Scaling(centre, spread)


def _of_length_one(values: FloatMatrix) -> FloatArray:
    """Divide rows by their length; a row of zeros stays one, at distance 1 from everything."""
    values = values.astype(np.float64)
    largest = np.abs(values).max(axis=1, keepdims=True)
    values = values / np.where(largest > 0, largest, 1.0)  # or the squares of small numbers would vanish
    lengths = np.sqrt(np.sum(values * values, axis=1, keepdims=True))
    result: FloatArray = values / np.where(lengths > 0, lengths, 1.0)
    return result


def _ranges(points: FloatMatrix, schema: Schema) -> FloatArray:
    """Return the range of each column of numbers; 0 for categories, and where all rows are the same."""
    ranges = np.zeros(points.shape[1])
    for j, kind in enumerate(schema.kinds):
        known = points[~np.isnan(points[:, j]), j].astype(np.float64)
        if kind != "categorical" and known.size:
            ranges[j] = known.max() - known.min()
    return ranges
