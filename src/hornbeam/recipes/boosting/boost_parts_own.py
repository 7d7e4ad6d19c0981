"""A loss of the user's own on rows in several parts: the driver has the scores, and asks for the derivatives.

Such a loss sees all rows at once, in their order. So the scores of all rows stay where the loss is, the parts
are given derivatives, and say which leaf each row has come to. Otherwise a round is one of `boost_parts.py`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.model import tree_to_arrays
from hornbeam.recipes.boosting.boost import refuse_runaway_scores
from hornbeam.recipes.boosting.boost_part import Derivatives, News
from hornbeam.recipes.boosting.boost_parts import PartsBoosting
from hornbeam.recipes.boosting.losses import OwnLoss
from hornbeam.recipes.boosting.own_steps import counted_weights, shortened, weighted_derivatives

__all__ = ["OwnLossPartsBoosting"]

FloatArray = npt.NDArray[np.float64]
RowArray = npt.NDArray[np.uint32]


class OwnLossPartsBoosting(PartsBoosting):
    """A boosting fit with a loss of the user's own on parts at work."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self._weights = self.target.core_weights()
        self._scores: FloatArray = np.array(self.target.start, order="C") / self.target.unit
        self._gradients = np.empty((self._scores.shape[1], 0), dtype=np.float32)

    def go_on_after(self, trees: Sequence[_core.Tree]) -> None:
        """Take up the trees of rounds that another process has run: rows get the scores they had then."""
        self.trees = list(trees)
        start = np.array(self.target.start, order="C")
        every_row = np.arange(self._parts.n_rows, dtype=np.uint32)
        self._scores = self.scores_from(trees, every_row, start) / self.target.unit

    def scores(self, rows: slice | RowArray = slice(None)) -> FloatArray:
        """Return the scores of rows of the fit: rows x scores."""
        found: FloatArray = self._scores[rows] * self.target.unit
        return found

    def _news(self) -> News:
        """Return no trees: parts that are given derivatives need no scores."""
        return News(0, [])

    def _deltas(self, delta: float) -> Sequence[Derivatives]:
        """Ask the loss for derivatives, and cut them between the parts."""
        loss = self.target.loss
        assert isinstance(loss, OwnLoss)
        gradients, hessians = weighted_derivatives(loss, self.target.y, self.scores(), self._weights)
        if not (np.isfinite(gradients).all() and np.isfinite(hessians).all()):
            refuse_runaway_scores()
        self._gradients = gradients
        return list(zip(self._by_part(gradients), self._by_part(hessians), strict=True))

    def _checked_steps(self, trees: list[_core.Tree], rows: RowArray | None) -> list[_core.Tree]:
        """Add the trees of a round to the scores, with steps that do not go far beyond the minimum."""
        loss = self.target.loss
        assert isinstance(loss, OwnLoss)
        leaves = np.concatenate(self._ask_all("leaves", [tree_to_arrays(tree) for tree in trees]))
        after = self._scores.copy()
        for score, tree in enumerate(trees):
            after[:, score] += tree.value[leaves[:, score], 0, 0]
        trees, self._scores = shortened(
            trees,
            loss,
            self.target.y,
            before=self._scores,
            after=after,
            slopes=self._gradients.T.astype(np.float64),
            leaves=leaves,
            weights=counted_weights(len(after), rows, self._weights),
            learning_rate=self._settings.learning_rate,
            is_monotonic=bool(self._settings.monotonic),
            schema=self._schema,
        )
        return trees
