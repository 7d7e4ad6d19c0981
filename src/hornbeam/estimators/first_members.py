"""A model after its first rounds or trees: checks the number, and makes the copy."""

import copy
from typing import Any, TypeVar

import numpy as np

__all__ = ["copy_of", "members_to_keep"]

Model = TypeVar("Model")


def members_to_keep(m: Any, there_are: int, *, what: str) -> int:
    """Check the number of members that the user wants."""
    if isinstance(m, bool) or not isinstance(m, int | np.integer):
        raise TypeError(f"first takes a whole number of {what}; got {m!r}.")
    if not 1 <= m <= there_are:
        raise ValueError(
            f"first({m}): the model has {there_are} {what}; give a number from 1 to {there_are}."
        )
    return int(m)


def copy_of(model: Model, m: int, **changes: Any) -> Model:
    """Return a copy of a fitted model with another `n_estimators` and other attributes."""
    result = copy.copy(model)
    result.__dict__ = {**vars(model), "n_estimators": m, **changes}
    return result
