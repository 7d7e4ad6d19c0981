"""What a target asks for: classes to choose from, or numbers."""

import numbers
from typing import Any, Literal

import numpy as np

__all__ = ["MOST_NUMBERED_CLASSES", "Task", "task_of"]

Task = Literal["classification", "regression"]

# A whole-numbered target with at most this many values is taken as classes.
MOST_NUMBERED_CLASSES = 20


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)


def task_of(y: Any) -> Task:
    """Decide what kind of target this is: texts, truth values and a few whole numbers are classes."""
    if isinstance(y, str | bytes):
        return "classification"  # reading it will raise a clear error
    values = np.asarray(y)
    if values.dtype == object and any(isinstance(value, str) for value in values.ravel()):
        return "classification"
    if values.dtype == object and all(_is_number(value) for value in values.ravel()):
        values = values.astype(np.float64)  # numbers of a nullable dtype, or of Python
    if values.dtype.kind not in "iuf":
        return "classification"
    if values.dtype.kind == "f" and not np.array_equal(values, np.floor(values)):
        return "regression"
    return "classification" if len(np.unique(values)) <= MOST_NUMBERED_CLASSES else "regression"
