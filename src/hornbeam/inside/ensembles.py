"""Why many trees gave a row their joint answer: what each member said, and what each feature contributed.

On its way down a tree, a row's answer changes from node to node; each change is put down to the feature that
the node asks for. Over all trees these contributions, and the mean answer at the roots, add up to the
prediction.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.units import unit_of
from hornbeam.inside import words
from hornbeam.inside.html import preformatted

__all__ = ["EnsembleExplanation", "explain_members", "path_contributions"]

FloatArray = npt.NDArray[np.float64]


def path_contributions(
    trees: Sequence[_core.Tree], leaves: npt.NDArray[np.int32], n_features: int, total: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return what each feature contributes to each row's mean answer, and where the answer starts.

    Contributions are rows x features x outputs x values; starts are rows x outputs x values, and take up the
    rounding: both together sum to `total`, the mean answer.
    """
    shape = trees[0].value.shape[1:]
    contributions = np.zeros((len(leaves), n_features, *shape))
    unit = unit_of(total)
    for position, tree in enumerate(trees):
        parent, feature, value = tree.parent, tree.feature, tree.value / unit
        rows, at = np.arange(len(leaves)), leaves[:, position]
        above = parent[at]
        while len(rows):  # walk all rows up at once, until each is at the root
            rows, at, above = rows[above >= 0], at[above >= 0], above[above >= 0]
            contributions[rows, feature[above]] += value[at] - value[above]
            at, above = above, parent[above]
    contributions /= len(trees)
    contributions *= unit
    return contributions, total - contributions.sum(axis=1)


@dataclass(frozen=True)
class EnsembleExplanation:
    """The joint answer of many trees about one row.

    `start` is the answer before any test, `contributions` what each column adds to it, by name; both are
    numbers, or one number per class. `members` are the answers of the members. `str` gives all in words,
    the columns that matter most first.
    """

    prediction: Any
    shares: Any
    start: Any
    contributions: dict[str, Any]
    members: tuple[Any, ...]
    text: str = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """Show the answer in a notebook."""
        return preformatted(self.text)


def explain_members(
    names: Sequence[str],
    classes: npt.NDArray[Any] | None,
    *,
    contributions: FloatArray,
    start: FloatArray,
    mean: FloatArray,
    said: FloatArray,
) -> EnsembleExplanation:
    """Put the answer to one row together; arrays are features x values, values, values, members x values."""
    if classes is None:
        best, prediction, what = 0, float(mean[0]), "mean"
        members: tuple[Any, ...] = tuple(said[:, 0].tolist())
        answer = words.brief_number(prediction)
        votes = f"from {words.brief_number(min(members))} to {words.brief_number(max(members))}"
    else:
        best = int(np.argmax(mean))
        prediction = classes[best].item() if hasattr(classes[best], "item") else classes[best]
        members = tuple(classes[said.argmax(axis=1)].tolist())
        what = f"share of {words.named(prediction)}"
        answer = f"{words.named(prediction)}, share {words.percent(float(mean[best]))}"
        n_agreeing = int(np.count_nonzero(said.argmax(axis=1) == best))
        votes = f"{n_agreeing} of {words.count(len(said), 'member')} say {words.named(prediction)}"
    order = np.argsort(-np.abs(contributions[:, best]), kind="stable")
    lines = [
        f"answer: {answer} ({votes})",
        f"{what} before any test: {words.brief_number(float(start[best]))}",
    ]
    lines += [
        f"  {words.printable(names[j])}: {float(contributions[j, best]):+.4g}"
        for j in order.tolist()
        if contributions[j, best] != 0
    ]
    per_class = classes is not None
    return EnsembleExplanation(
        prediction=prediction,
        shares=dict(zip(classes.tolist(), mean.tolist(), strict=True)) if classes is not None else None,
        start=start if per_class else float(start[0]),
        contributions={
            name: contributions[j] if per_class else float(contributions[j, 0])
            for j, name in enumerate(names)
        },
        members=members,
        text="\n".join(lines),
    )
