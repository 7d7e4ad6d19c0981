"""What every column of a node could have gained: the bars beside a growing tree.

In come the rows of a node as numbers; out goes, per column, the best test that parts them in two and what
it lowers the impurity by. `split_table` lists every test with all that the criterion compares it by; a page
needs the best per column, at once for all nodes, so thresholds are scanned with running sums.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core

__all__ = ["cells_of", "gain_of_branches", "impurity_named", "impurity_of", "threshold_gains"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_IMPURITY_OF = {criterion: impurity for criterion, impurity, *_ in _core.criteria()}


def impurity_named(criterion: Any, *, of_classes: bool) -> str:
    """Name the impurity that nodes show under a criterion."""
    if isinstance(criterion, str):
        return _IMPURITY_OF[criterion]
    named = str(getattr(criterion, "impurity", "gini" if of_classes else "squared_error"))
    return _IMPURITY_OF.get(named, named)


def cells_of(truth: npt.NDArray[Any], n_classes: int) -> FloatArray:
    """Return what a row adds to a cell: a one for its class; or a one, y, y squared, and y log y."""
    if n_classes:
        ones: FloatArray = np.eye(n_classes)[truth]
        return ones
    log = np.where(truth > 0, truth, 1)
    return np.stack([np.ones_like(truth), truth, truth * truth, truth * np.log(log)], axis=1)


def impurity_of(cells: FloatArray, name: str) -> FloatArray:
    """Return the impurity of cells, by its formula."""
    return _IMPURITIES[name](cells)


def _shares(cells: FloatArray) -> FloatArray:
    shares: FloatArray = cells / np.maximum(cells.sum(axis=-1, keepdims=True), 1e-300)
    return shares


def _entropy(cells: FloatArray) -> FloatArray:
    shares = _shares(cells)
    found: FloatArray = -(shares * np.log2(np.where(shares > 0, shares, 1))).sum(axis=-1) + 0.0
    return found


def _variance(cells: FloatArray) -> FloatArray:
    weight = np.maximum(cells[..., 0], 1e-300)
    return np.maximum(cells[..., 2] / weight - (cells[..., 1] / weight) ** 2, 0)


def _half_deviance(cells: FloatArray) -> FloatArray:
    weight = np.maximum(cells[..., 0], 1e-300)
    mean = cells[..., 1] / weight
    return np.maximum(cells[..., 3] / weight - mean * np.log(np.where(mean > 0, mean, 1)), 0)


_IMPURITIES: dict[str, Callable[[FloatArray], FloatArray]] = {
    "gini": lambda cells: 1 - (_shares(cells) ** 2).sum(axis=-1),
    "entropy": _entropy,
    "misclassification": lambda cells: 1 - _shares(cells).max(axis=-1),
    "variance": _variance,
    "half_deviance": _half_deviance,
}


def _sizes(cells: FloatArray, of_classes: bool) -> FloatArray:
    sizes: FloatArray = cells.sum(axis=-1) if of_classes else cells[..., 0]
    return sizes


def gain_of_branches(cells: FloatArray, branches: IntArray, name: str, *, of_classes: bool) -> float:
    """Return what parting the rows of a node by their branches lowers the impurity by."""
    parts = np.stack([cells[branches == branch].sum(axis=0) for branch in np.unique(branches).tolist()])
    sizes = _sizes(parts, of_classes)
    after = float((sizes * impurity_of(parts, name)).sum() / max(sizes.sum(), 1e-300))
    return float(impurity_of(cells.sum(axis=0), name)) - after


def threshold_gains(
    values: FloatArray, cells: FloatArray, name: str, *, of_classes: bool
) -> tuple[FloatArray, FloatArray]:
    """Return the thresholds between the values of some rows, and what each gains; rows have all values."""
    order = np.argsort(values, kind="stable")
    sorted_values = values[order]
    ends = np.flatnonzero(sorted_values[1:] > sorted_values[:-1])
    if not len(ends):
        return np.zeros(0), np.zeros(0)
    running = np.cumsum(cells[order], axis=0)
    left, total = running[ends], running[-1]
    right = total - left
    sizes_left, sizes_right = _sizes(left, of_classes), _sizes(right, of_classes)
    after = sizes_left * impurity_of(left, name) + sizes_right * impurity_of(right, name)
    gains = float(impurity_of(total, name)) - after / (sizes_left + sizes_right)
    middles = sorted_values[ends] / 2 + sorted_values[ends + 1] / 2
    return middles, gains
