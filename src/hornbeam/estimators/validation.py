"""Validation data of a fit, as the user gives them: `X_val`, `y_val`, `sample_weight_val`."""

from dataclasses import dataclass
from typing import Any

from hornbeam.data.target import (
    ClassTarget,
    ClassWeight,
    RegressionTarget,
    class_weights,
    in_classes_of,
    read_classes,
    read_numbers,
    read_weights,
)
from hornbeam.model import Ensemble
from hornbeam.recipes.holdout import HeldOut, refuse_one_class

__all__ = ["Validation", "read_validation"]

_WAY_OUT = "Give rows of several classes, or leave X_val out and set validation_fraction."


@dataclass(frozen=True, eq=False)
class Validation:
    """What a user gave to validate on, unread."""

    X: Any = None
    y: Any = None
    sample_weight: Any = None

    @property
    def is_given(self) -> bool:
        """Whether there is anything."""
        return self.X is not None or self.y is not None or self.sample_weight is not None


def read_validation(
    given: Validation,
    *,
    model: Ensemble,
    target: ClassTarget | RegressionTarget,
    class_weight: ClassWeight | None = None,
    estimator_name: str,
) -> HeldOut:
    """Read validation rows as `model` reads rows to predict, with targets as `target` has them.

    `class_weight` counts here as it does in the fit.
    """
    if given.X is None or given.y is None:
        absent = "X_val" if given.X is None else "y_val"
        raise ValueError(f"Validation takes X_val and y_val, but {absent} is not given.")
    table = model.read(given.X, estimator_name=estimator_name)
    weights = read_weights(given.sample_weight, table.n_rows)
    held_target = _read_target(given.y, table.n_rows, target, estimator_name)
    if isinstance(held_target, ClassTarget):
        factors = class_weights(class_weight, held_target, weights)
        if factors is not None:
            weights = factors if weights is None else weights * factors
    held = HeldOut(table, held_target, weights)
    refuse_one_class(held, what="The validation data", way_out=_WAY_OUT)
    return held


def _read_target(
    y_val: Any, n_rows: int, target: ClassTarget | RegressionTarget, estimator_name: str
) -> ClassTarget | RegressionTarget:
    if isinstance(target, ClassTarget):
        labels = read_classes(y_val, n_rows, estimator_name=estimator_name, name="y_val")
        return in_classes_of(labels, target, name="y_val")
    numbers = read_numbers(y_val, n_rows, estimator_name=estimator_name, name="y_val")
    if numbers.n_outputs != target.n_outputs:
        raise ValueError(f"y_val has {numbers.n_outputs} output(s), but y has {target.n_outputs}.")
    return numbers
