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

__all__ = ["Contributions", "contributions_of"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Contributions:
    """Parts of the score of one row.

    `start` is what the model says of the average row, `by_feature` what each feature added to it, `score` the
    sum, and `prediction` what the score stands for. With three classes or more, start and score have an entry
    per class and `by_feature` has an array of such entries. `str` lists the parts, the largest first.
    """

    start: Any
    by_feature: dict[str, Any]
    score: Any
    prediction: Any

    def __str__(self) -> str:
        largest_first = sorted(self.by_feature.items(), key=lambda part: -np.abs(part[1]).max())
        lines = [f"start: {_numbers(self.start)}"]
        lines += [
            f"{words.printable(feature)}: {_numbers(part, signed=True)}"
            for feature, part in largest_first
            if np.any(part)
        ]
        return "\n".join([*lines, f"score: {_numbers(self.score)}", f"answer: {self.prediction}"])

    def __repr__(self) -> str:
        return str(self)


def _numbers(part: Any, *, signed: bool = False) -> str:
    texts = [f"{number:+.6g}" if signed else f"{number:.6g}" for number in np.atleast_1d(part)]
    return ", ".join(texts)


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
