"""Validation data that the user gives to a fit: `X_val`, `y_val`, `sample_weight_val`."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.class_weight import ClassWeight, class_weights
from hornbeam.data.table import Table
from hornbeam.data.target import ClassTarget, RegressionTarget, in_classes_of, read_classes, read_numbers
from hornbeam.data.weights import multiplied, weights_of_rows
from hornbeam.model import Ensemble
from hornbeam.recipes.holdout import HeldOut, refuse_one_class

__all__ = ["ReadRows", "Validation", "read_rows", "read_validation"]

_WAY_OUT = "Give rows of several classes, or leave X_val out and set validation_fraction."


@dataclass(frozen=True, eq=False)
class Validation:
    """Validation data as the user gave them, not read yet."""

    X: Any = None
    y: Any = None
    sample_weight: Any = None

    @property
    def is_given(self) -> bool:
        """Whether there are any."""
        return self.X is not None or self.y is not None or self.sample_weight is not None


@dataclass(frozen=True, eq=False)
class ReadRows:
    """Rows with targets and weights, read and checked."""

    table: Table
    target: ClassTarget | RegressionTarget
    weights: npt.NDArray[np.float64] | None


def read_validation(
    given: Validation,
    *,
    model: Ensemble,
    target: ClassTarget | RegressionTarget,
    class_weight: ClassWeight | None = None,
    estimator_name: str,
) -> HeldOut:
    """Read validation rows as `model` reads rows to predict, with targets as `target` has them.

    `class_weight` applies here as in the fit.
    """
    if given.X is None or given.y is None:
        absent = "X_val" if given.X is None else "y_val"
        raise ValueError(f"Validation takes X_val and y_val, but {absent} is not given.")
    if np.ndim(given.y) > 0 and len(given.y) == 0:
        raise ValueError(
            "X_val and y_val hold no row. Give rows, or leave both out and set validation_fraction."
        )
    try:
        read = read_rows(
            given,
            model=model,
            target=target,
            class_weight=class_weight,
            estimator_name=estimator_name,
            y="y_val",
        )
    except ValueError as fault:
        if type(fault) is not ValueError or "_val" in str(fault):
            raise
        raise ValueError(f"X_val and y_val, the rows to judge by: {fault}") from fault
    held = HeldOut(read.table, read.target, read.weights)
    refuse_one_class(held, what="The validation data", way_out=_WAY_OUT)
    return held


def read_rows(
    given: Validation,
    *,
    model: Ensemble,
    target: ClassTarget | RegressionTarget,
    class_weight: ClassWeight | None = None,
    estimator_name: str,
    y: str = "y",
) -> ReadRows:
    """Read rows with targets for a fitted model; errors call the target `y`."""
    table = model.read(given.X, estimator_name=estimator_name)
    weights = weights_of_rows(given.sample_weight, table.n_rows)
    rows = None if weights is None or weights.all() else np.flatnonzero(weights)
    held_target = _read_target(given.y, table.n_rows, rows, target, estimator_name=estimator_name, y=y)
    if isinstance(held_target, ClassTarget):
        weights = multiplied(weights, class_weights(class_weight, held_target, weights))
    return ReadRows(table, held_target, weights)


def _read_target(
    given: Any,
    n_rows: int,
    rows: npt.NDArray[np.int64] | None,
    target: ClassTarget | RegressionTarget,
    *,
    estimator_name: str,
    y: str,
) -> ClassTarget | RegressionTarget:
    """Read targets like those of the fit; rows of weight 0 may hold anything, and are ignored."""
    if isinstance(target, ClassTarget):
        labels = read_classes(given, n_rows, rows=rows, estimator_name=estimator_name, name=y)
        known = in_classes_of(labels, target, name=y)
        return replace(known, codes=_in_place(known.codes, rows, n_rows))
    numbers = read_numbers(given, n_rows, rows=rows, estimator_name=estimator_name, name=y)
    if numbers.n_outputs != target.n_outputs:
        raise ValueError(f"{y} has {numbers.n_outputs} output(s), but the fit had {target.n_outputs}.")
    return replace(numbers, values=_in_place(numbers.values, rows, n_rows))


def _in_place(values: npt.NDArray[Any], rows: npt.NDArray[np.int64] | None, n_rows: int) -> Any:
    """Put the targets of some rows in their places among all rows; the others get 0."""
    if rows is None:
        return values
    spread = np.zeros((n_rows, values.shape[1]), dtype=values.dtype)
    spread[rows] = values
    return spread
