"""What each feature has added to the score of one row, over all trees of an additive model.

In come the trees, the leaf of the row in each, and what the score starts from; out goes a `Contributions`.
Every node of a boosted tree knows the mean step of the rows in it. On its way down a row moves from mean to
mean; each move is put down to the feature that was tested. What the root says is put down to no feature: it
joins the start. So the parts sum to the score.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.inside import words
from hornbeam.inside.html import html_table

__all__ = ["Contributions", "contributions_of"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Contributions:
    """Parts of the score of one row.

    `start` is what the model says of the average row, `by_feature` what each feature added to it, `score` the
    sum, and `prediction` what the score stands for. With three classes or more, start and score have an entry
    per class, in the order of `classes`, and `by_feature` has an array of such entries. `unit` says in words
    what a score counts. `str` lists the parts, the largest first.
    """

    start: Any
    by_feature: dict[str, Any]
    score: Any
    prediction: Any
    classes: tuple[Any, ...] = ()
    unit: str = ""

    def __str__(self) -> str:
        lines = [f"scores are {self.unit}"] if self.unit else []
        rows = self._rows()
        if np.ndim(self.score):
            rows.insert(0, ["", *(words.named(label) for label in self.classes)])
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            lines += [
                "  ".join(
                    [first.ljust(widths[0]), *(t.rjust(w) for t, w in zip(others, widths[1:], strict=True))]
                )
                for first, *others in rows
            ]
        else:
            lines += [f"{what}: {number}" for what, number in rows]
        return "\n".join([*(line.rstrip() for line in lines), f"answer: {self.prediction}"])

    def _rows(self) -> list[list[str]]:
        """Name each part and write its numbers: the start, the features with the largest first, the sum."""
        largest_first = sorted(self.by_feature.items(), key=lambda part: -np.abs(part[1]).max())
        parts = [
            [words.printable(name), *_numbers(part, "+.6g")] for name, part in largest_first if np.any(part)
        ]
        return [["start", *_numbers(self.start)], *parts, ["score", *_numbers(self.score)]]

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Show the parts in a notebook."""
        titles = (
            ["", *(words.named(label) for label in self.classes)] if np.ndim(self.score) else ["", "score"]
        )
        told = f"Answer: {self.prediction}."
        return html_table(titles, self._rows(), f"Scores are {self.unit}. {told}" if self.unit else told)


def _numbers(part: Any, form: str = ".6g") -> list[str]:
    return [f"{number:{form}}" for number in np.atleast_1d(part)]


def contributions_of(
    trees: Sequence[_core.Tree],
    adds_to: npt.NDArray[np.int32] | None,
    leaves: npt.NDArray[np.int32],
    *,
    start: FloatArray,
    n_features: int,
) -> tuple[FloatArray, FloatArray]:
    """Return the start, roots included, one per score; and the parts, features x scores."""
    start = start.copy()
    parts = np.zeros((n_features, len(start)))
    for position, tree in enumerate(trees):
        column = 0 if adds_to is None else int(adds_to[position])
        value, parent, feature = tree.value[:, 0, 0], tree.parent, tree.feature
        node = int(leaves[position])
        while parent[node] >= 0:
            above = int(parent[node])
            parts[feature[above], column] += value[node] - value[above]
            node = above
        start[column] += value[node]
    return start, parts
