"""The reasons for predictions, for models made of our trees: contributions of columns, and single rows.

A sample of the rows is enough to see what columns contribute; three rows are explained in words: one that the
model is sure of, one that it is not, and the one with the largest error.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.rows import Rows
from hornbeam.inside.ensembles import EnsembleExplanation
from hornbeam.inside.explain import Explanation
from hornbeam.inside.shapley import Contributions
from hornbeam.inside.words import brief_number
from hornbeam.selection.metrics import Answers

__all__ = ["ExplainedRow", "Reasons", "reasons_of"]

MOST_ROWS = 150  # a dot for each, in every line of the chart


@dataclass(frozen=True)
class ExplainedRow:
    """One row in words: why it was picked, its number from 1, its true target, and the explanation."""

    why: str
    row: int
    truth: Any
    text: str


@dataclass(frozen=True, eq=False)
class Reasons:
    """What columns contribute to a sample of rows, and some rows in words.

    Contributions are to one score; of three classes or more `contributions` are the sizes, added up over the
    classes, and `is_size` is True.
    """

    contributions: Contributions
    is_size: bool
    output: Any
    rows: tuple[ExplainedRow, ...]


def reasons_of(model: Any, rows: Rows, truth: npt.NDArray[Any], own: Answers) -> Reasons | None:
    """Explain a model; None if it is not one of ours, or cannot be explained."""
    if not hasattr(model, "contributions"):
        return None
    chosen = np.linspace(0, rows.n_rows - 1, min(MOST_ROWS, rows.n_rows)).astype(np.int64)
    try:
        found = model.contributions(rows.take(chosen).native)
    except ValueError:  # a median of members, or members that are no trees
        return None
    if not isinstance(found, Contributions) or found.values.ndim > 3:
        return None
    output = None
    classes = getattr(model, "classes_", None)
    if found.values.ndim == 2:
        output = None if classes is None else classes[-1]
    elif len(found.outputs) == 2:
        output = found.outputs[1]
        found = found.of(output)
    is_size = found.values.ndim == 3
    if is_size:
        sizes = np.abs(found.values).sum(axis=2)
        found = Contributions(sizes, 0.0, found.names, (), False, found.X)
    return Reasons(found, is_size, output, _explained_rows(model, rows, truth, own))


def _explained_rows(
    model: Any, rows: Rows, truth: npt.NDArray[Any], own: Answers
) -> tuple[ExplainedRow, ...]:
    explained = []
    for why, row in _picked(truth, own):
        try:
            said = model.explain(rows.take(np.array([row])).dense().native)
        except ValueError:  # several outputs, or members that grew on tables of their own
            return ()
        if isinstance(said, EnsembleExplanation | Explanation):
            right: Any = truth[row] if own.probabilities is not None else brief_number(float(truth[row]))
            explained.append(ExplainedRow(why, row + 1, right, said.text))
    return tuple(explained)


def _picked(truth: npt.NDArray[Any], own: Answers) -> list[tuple[str, int]]:
    """Pick rows to tell about, each once."""
    if own.probabilities is None:
        if truth.dtype.kind != "f":
            return []
        miss = np.abs(np.asarray(own.labels, dtype=np.float64) - truth)
        middle = int(np.argsort(miss, kind="stable")[len(miss) // 2])
        picks = [("judged as well as most", middle), ("misjudged most", int(np.argmax(miss)))]
    else:
        top = np.sort(own.probabilities, axis=1)
        sure = top[:, -1] - (top[:, -2] if top.shape[1] > 1 else 0)
        is_right = np.asarray(own.labels == truth)
        picks = []
        if is_right.any():
            picks.append(("right, and sure of it", int(np.argmax(np.where(is_right, sure, -1)))))
        picks.append(("least sure", int(np.argmin(sure))))
        if not is_right.all():
            picks.append(("wrong, and most sure of it", int(np.argmax(np.where(is_right, -1, sure)))))
    kept: dict[int, str] = {}
    for why, row in picks:
        kept.setdefault(row, why)
    return [(why, row) for row, why in kept.items()]
