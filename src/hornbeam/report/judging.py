"""Predictions to judge the model by, each made by a model that was not fitted on the row.

If the rows of the fit are known (`X_train`), or the given rows are declared new (`cv=None`), the model itself
predicts. Otherwise the rows may be those of its fit, for which its own predictions say little: then each row
is predicted by a copy of the model that was fitted to the other folds.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold

from hornbeam.data.rows import Rows
from hornbeam.selection.metrics import Answers

__all__ = ["Judgement", "Part", "answers_of", "folds", "judge"]

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Part:
    """A model and the numbers of the rows that it is asked about."""

    model: Any
    rows: IntArray


@dataclass(frozen=True, eq=False)
class Judgement:
    """The parts that judge, the answers to all rows, and how this came about in a sentence."""

    parts: tuple[Part, ...]
    answers: Answers
    is_cross_fitted: bool
    method: str


def judge(
    model: Any, rows: Rows, y: npt.NDArray[Any], *, cv: int | None, are_new: bool, seed: int
) -> Judgement:
    """Have every row answered by a model that has not seen it."""
    direct = Part(model, np.arange(rows.n_rows))
    if are_new or cv is None:
        return _judgement(model, rows, (direct,), "by the model itself, on rows that it was not fitted on")
    try:
        parts = tuple(
            Part(clone(model).fit(rows.take(train).native, y[train]), test)
            for train, test in folds(model, y, cv, seed)
        )
    except (ValueError, TypeError) as error:
        reason = (
            "by the model itself, perhaps on the rows of its fit: it could not be fitted again "
            f"({type(error).__name__})"
        )
        return _judgement(model, rows, (direct,), reason)
    return _judgement(
        model,
        rows,
        parts,
        f"by {len(parts)} copies of the model, each fitted to the other rows (cross-fitting)",
    )


def folds(model: Any, y: npt.NDArray[Any], cv: int, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Deal the rows into folds; classes keep their proportions where each has enough rows."""
    n_folds = min(cv, len(y))
    if n_folds < 2:
        raise ValueError(f"Folds need two rows or more; there are {len(y)}.")
    splitter: Any = KFold(n_folds, shuffle=True, random_state=seed)
    if is_classifier(model) and np.unique(y, return_counts=True)[1].min() >= n_folds:
        splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    yield from splitter.split(np.zeros((len(y), 1)), y)


def _judgement(model: Any, rows: Rows, parts: tuple[Part, ...], method: str) -> Judgement:
    classes = np.asarray(model.classes_) if is_classifier(model) else None
    found = [answers_of(part.model, rows.take(part.rows).native, classes) for part in parts]
    order = np.argsort(np.concatenate([part.rows for part in parts]), kind="stable")
    labels = np.concatenate([each.labels for each in found])[order]
    probabilities = None
    if all(each.probabilities is not None for each in found):
        probabilities = np.concatenate(
            [each.probabilities for each in found if each.probabilities is not None]
        )[order]
    return Judgement(parts, Answers(labels, probabilities), len(parts) > 1, method)


def answers_of(model: Any, X: Any, classes: npt.NDArray[Any] | None) -> Answers:
    """Ask a model; its probabilities are put in the order of `classes`, 0 for those that it does not know."""
    labels = np.asarray(model.predict(X))
    if classes is None or not hasattr(model, "predict_proba"):
        return Answers(labels, None)
    given = np.asarray(model.predict_proba(X), dtype=np.float64)
    probabilities = np.zeros((len(labels), len(classes)))
    probabilities[:, np.searchsorted(classes, model.classes_)] = given
    return Answers(labels, probabilities)
