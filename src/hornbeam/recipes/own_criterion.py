"""A criterion of the user's own: an object that scores tests by the cells of their branches.

The core walks through the candidates of a feature as for any criterion and then passes all of them on as one
array. In: that array, [test, branch, cell]. Out: a score per test, larger is better. A cell has the weight of
each class or, for numbers, the weight, the sum of y and the sum of y^2. What the object returns is checked
here, so that a mistake in it ends the fit with a message instead of a strange tree.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.wording import shown as in_words

__all__ = ["OwnCriterion", "OwnCriterionError", "own_criterion"]

FloatArray = npt.NDArray[np.float64]

_SHOWN = {True: ("gini", "entropy", "accuracy"), False: ("squared_error",)}


class OwnCriterionError(ValueError):
    """A criterion of the user's own returned something that cannot be used."""


@dataclass(frozen=True, eq=False)
class OwnCriterion:
    """Asks an object of the user for scores; `shown` names the impurity that nodes show."""

    given: Any
    shown: str

    def __call__(self, cells: FloatArray) -> FloatArray:
        """Return one score per test, checked."""
        answer = self.given.score(cells)
        name = f"{type(self.given).__name__}.score"
        try:
            scores = np.asarray(answer, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise OwnCriterionError(
                f"criterion: {name} returned {in_words(answer)}, which is not an array of numbers."
            ) from error
        if scores.shape != (len(cells),):
            raise OwnCriterionError(
                f"criterion: {name} was given {len(cells)} test(s), cells of shape {cells.shape}, and "
                f"returned shape {scores.shape}. It must return one score per test: {(len(cells),)}."
            )
        bad = np.isnan(scores) | np.isposinf(scores)
        if bad.any():
            first = int(np.argmax(bad))
            raise OwnCriterionError(
                f"criterion: {name} returned {scores[first]} for the branches {cells[first].tolist()}. A "
                "score is a finite number, or -inf for a test that must not be made."
            )
        return np.ascontiguousarray(scores)


def own_criterion(given: Any, *, of_classes: bool) -> OwnCriterion:
    """Wrap an object of the user; its attribute `impurity`, if it has one, names what nodes show."""
    choices = _SHOWN[of_classes]
    shown = getattr(given, "impurity", choices[0])
    if shown not in choices:
        raise ValueError(
            f"criterion: {type(given).__name__}.impurity must be {' or '.join(map(repr, choices))}, the "
            f"impurity that nodes show; got {in_words(shown)}."
        )
    return OwnCriterion(given, shown)
