"""The weights of neighbours. In: distances. Out: weights.

Only ratios of weights matter, so weights that are unbounded near a row are taken relative to the nearest
neighbour: they never overflow, and do not vanish far from all rows. For 1/d and 1/d^2, neighbours at distance
0 share all the weight.
"""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hornbeam.declare.kinds import shown

__all__ = ["Weights", "median_distance", "neighbor_weights", "portions", "suffice", "weight_of_nearest"]

FloatArray = npt.NDArray[np.float64]
Weights = Literal["uniform", "distance", "inverse_square", "gaussian"] | Callable[..., Any]

_MOST_ROWS_FOR_MEDIAN = 1000
_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 over the golden ratio: multiplied by it, bits spread


def neighbor_weights(weights: Weights, distances: FloatArray, bandwidth: float | None) -> FloatArray:
    """Weigh the neighbours of each query: queries x neighbours, at least one positive weight per query."""
    if not isinstance(weights, str):
        return _called(weights, distances)
    if weights == "uniform":
        return np.ones_like(distances)
    nearest = distances.min(axis=1, keepdims=True)
    if weights == "gaussian":
        assert bandwidth is not None
        # exp(-d^2 / 2h^2) divided by that of the nearest; the square is factored so that it cannot overflow.
        with np.errstate(over="ignore"):
            excess = (distances - nearest) / bandwidth * ((distances + nearest) / bandwidth)
        result: FloatArray = np.exp(-excess / 2)
        return result
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(distances == 0, 1.0, nearest / distances)
    return ratio if weights == "distance" else ratio * ratio


def weight_of_nearest(weights: Weights, distances: FloatArray, bandwidth: float | None) -> FloatArray:
    """Return the weight of each query's nearest neighbour, which `neighbor_weights` sets to 1: queries x 1.

    At distance 0, where that weight would be infinite, 1 is returned.
    """
    nearest = distances.min(axis=1, keepdims=True)
    if weights == "gaussian":
        assert bandwidth is not None
        whole: FloatArray = np.exp(-np.square(nearest / bandwidth) / 2)
        return whole
    if weights in ("distance", "inverse_square"):
        power = 1 if weights == "distance" else 2
        with np.errstate(divide="ignore"):
            return np.where(nearest > 0, 1 / nearest**power, 1.0)
    return np.ones_like(nearest)


def _called(function: Callable[..., Any], distances: FloatArray) -> FloatArray:
    found = np.asarray(function(distances.copy()), dtype=np.float64)
    if found.shape != distances.shape:
        raise ValueError(
            f"weights, a function, was given distances of shape {distances.shape} and returned an array of "
            f"shape {found.shape}; it must return one weight per distance."
        )
    bad = ~(np.isfinite(found) & (found >= 0))
    if bad.any():
        row, column = map(int, np.argwhere(bad)[0])
        raise ValueError(
            f"weights, a function, returned {shown(float(found[row, column]))} for the distance "
            f"{distances[row, column]}; weights must be finite and >= 0."
        )
    empty = ~found.any(axis=1)
    if empty.any():
        raise ValueError(
            "weights, a function, returned 0 for all neighbours of a row, which leaves nothing to predict "
            f"from; the nearest is at distance {distances[int(np.argmax(empty)), 0]}."
        )
    return found


def portions(row_weights: FloatArray, n_neighbors: float) -> FloatArray:
    """Count neighbours, nearest first, until their weights sum to `n_neighbors`; the last one in part."""
    # Earlier weights are added up, not subtracted from a sum: next to a weight of 1e20 the others would be
    # lost.
    before = np.zeros_like(row_weights)
    np.cumsum(row_weights[:, :-1], axis=1, out=before[:, 1:])
    return np.clip(n_neighbors - before, 0.0, row_weights)


def suffice(row_weights: FloatArray, n_neighbors: float) -> bool:
    """Whether no further neighbour would count, by the sums that `portions` makes."""
    return bool((np.cumsum(row_weights, axis=1)[:, -1] >= n_neighbors).all())


def median_distance(
    distances: Callable[[npt.NDArray[np.intp]], FloatArray],
    points: npt.NDArray[Any],
    row_weights: FloatArray | None,
) -> float:
    """Return the median distance between different rows; 1 if there are no two that differ.

    `distances` computes those between some rows. If there are many rows, a thousand are drawn by their
    contents, so that their order does not matter. A row of weight 2 counts as two rows.
    """
    rows = np.arange(len(points))
    if len(rows) > _MOST_ROWS_FOR_MEDIAN:
        order = _shuffled_by_content(points, row_weights)
        rows = order[np.linspace(0, len(order) - 1, _MOST_ROWS_FOR_MEDIAN).astype(np.intp)]
    pairs = np.triu_indices(len(rows), k=1)
    between = distances(rows)[pairs]
    some = np.ones(len(rows)) if row_weights is None else row_weights[rows]
    counts = some[pairs[0]] * some[pairs[1]]
    apart = between > 0
    return _weighted_median(between[apart], counts[apart]) if apart.any() else 1.0


def _shuffled_by_content(points: npt.NDArray[Any], row_weights: FloatArray | None) -> npt.NDArray[np.intp]:
    """Put rows into an order that looks random and follows from their values; equal rows are neighbours."""
    mixed = np.zeros(len(points), dtype=np.uint64)
    for column in points.T:
        values = np.where(np.isnan(column), np.nan, column.astype(np.float64) + 0.0)  # one NaN and one zero
        mixed = (mixed ^ values.view(np.uint64)) * _ODD
        mixed ^= mixed >> np.uint64(29)
    return np.argsort(mixed) if row_weights is None else np.lexsort((row_weights, mixed))


def _weighted_median(values: FloatArray, counts: FloatArray) -> float:
    """Return the value with half of the weight below; the mean of two where the half is met exactly."""
    order = np.argsort(values)
    sums = np.cumsum(counts[order])
    middle = int(np.searchsorted(sums, sums[-1] / 2))
    following = middle + 1 if sums[middle] == sums[-1] / 2 else middle
    return float((values[order[middle]] + values[order[following]]) / 2)
