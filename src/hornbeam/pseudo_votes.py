"""Votes that no tree has cast, so that no class of a forest has probability 0.

A forest averages the class shares of its trees. A class that no tree has seen among the rows of its leaf
would be impossible, and a single row of it would make the log loss infinite. So part of a vote is divided
evenly among the classes beforehand, which is additive (Lidstone) smoothing:

    share of a class = (sum over the trees + number / classes) / (trees + number)

All classes of an output get the same, so the order of the classes, and with it every prediction, stays.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["PseudoVotes"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class PseudoVotes:
    """`number` of votes, of which a class gets `per_class`: for several outputs, outputs x classes."""

    number: float
    per_class: float | FloatArray

    @classmethod
    def shared_out(cls, number: float, n_classes: Sequence[int]) -> "PseudoVotes | None":
        """Divide votes among the classes of each output; None if there are none."""
        if number == 0:
            return None
        if (
            len(n_classes) == 1
        ):  # a plain number is faster to add, which matters when a single row is predicted
            return cls(number, number / n_classes[0])
        per_class = np.zeros((len(n_classes), max(n_classes)))
        for own, n in zip(per_class, n_classes, strict=True):
            own[:n] = number / n
        return cls(number, per_class)

    def with_trees(self, total: FloatArray, n_trees: int) -> FloatArray:
        """Turn sums over trees into probabilities: rows x outputs x classes, changed in place."""
        total += self.per_class
        total /= n_trees + self.number
        return total
