"""The guess that needs no columns, with which every result is compared: the majority class, or the mean."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.target import read_classes, read_numbers
from hornbeam.data.task import Task, task_of
from hornbeam.inside.words import named

__all__ = ["Baseline", "baseline"]


@dataclass(frozen=True, eq=False)
class Baseline:
    """The best constant prediction, from the targets of other rows.

    `answer` is the most frequent class (the first of equals) or the mean; `score` is its accuracy on all
    rows, or the root mean squared error. Classes come with their `shares`; numbers have none.
    """

    task: Task
    answer: Any
    score: float
    classes: npt.NDArray[Any] | None = field(default=None, repr=False)
    shares: npt.NDArray[np.float64] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        metric = "accuracy" if self.task == "classification" else "RMSE"
        shown = named(self.answer) if self.task == "classification" else f"{self.answer:.4g}"
        return f"always {shown}: {metric} {self.score:.4g}"


def baseline(y: Any, *, task: Task | None = None) -> Baseline:
    """Return the guess that needs no columns; `task` is decided by y if left out."""
    n_rows = len(y)
    if n_rows == 0:
        raise ValueError("y has no rows: there is nothing to guess from.")
    if (task or task_of(y)) == "classification":
        target = read_classes(y, n_rows, multi_output=False, estimator_name="baseline")
        (classes,) = target.classes
        shares = np.bincount(target.codes[:, 0], minlength=len(classes)) / n_rows
        best = int(np.argmax(shares))
        return Baseline("classification", classes[best], float(shares[best]), classes, shares)
    values = read_numbers(y, n_rows, multi_output=False, estimator_name="baseline").values[:, 0]
    return Baseline("regression", float(values.mean()), float(values.std()))
