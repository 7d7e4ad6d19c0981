"""How the rounds of gradient boosting are judged: scores of rows, higher is better.

Rows are those that trees grow on, those that members leave out, or those that the user gives; `scoring`
judges them.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.target import ClassTarget
from hornbeam.data.units import unit_of
from hornbeam.estimators.boosting.rows import BoostingRows, labels_of
from hornbeam.estimators.boosting.scores import BoostingScores
from hornbeam.estimators.recorded import scorer_by_name
from hornbeam.model import Ensemble
from hornbeam.recipes.boosting.boost import Boosting, BoostTarget, turns
from hornbeam.recipes.boosting.boost_members import MemberBoosting
from hornbeam.recipes.boosting.losses import Loss

__all__ = ["BoostingJudge"]

FloatArray = npt.NDArray[np.float64]

_MOST_JUDGED_ROWS = 100_000  # of the training rows; judging all of them would take longer than learning


class BoostingJudge(BoostingScores):
    """Makes the functions that judge a round."""

    def _judge_training(
        self, boosting: Boosting, rows: BoostingRows, grown_on: npt.NDArray[np.uint32] | None = None
    ) -> Callable[[], float]:
        """Return a function that judges the rows that trees grow on, or some of them if there are many."""
        n_rows = rows.table.n_rows if grown_on is None else len(grown_on)
        step = -(-n_rows // _MOST_JUDGED_ROWS)
        some = np.arange(0, n_rows, step, dtype=np.uint32)
        if grown_on is not None:
            some = grown_on[some]
        judge = self._judge(boosting.target, rows if len(some) == rows.table.n_rows else rows.take(some))
        return lambda: judge(boosting.scores(some))

    def _judge_unseen(
        self, boosting: MemberBoosting, rows: BoostingRows
    ) -> Callable[[Sequence[_core.Tree]], float]:
        """Return a function that judges rows by members that have not seen them."""
        some = boosting.judged_rows
        judge = self._judge(boosting.target, rows if len(some) == rows.table.n_rows else rows.take(some))
        return lambda new: judge(boosting.unseen_scores())

    def _judge_validation(
        self,
        rows: BoostingRows,
        target: BoostTarget,
        restored: Callable[[Sequence[_core.Tree]], list[_core.Tree]],
        n_threads: int,
    ) -> Callable[[Sequence[_core.Tree]], float]:
        """Return a function that adds new trees to the scores of the rows and judges these."""
        judge = self._judge(target, rows)
        start = BoostTarget(target.loss, rows.target, None, target.baseline, rows.offset).start
        scores = np.array(start, order="C")[:, np.newaxis, :]

        def judge_with(new: Sequence[_core.Tree]) -> float:
            trees = tuple(restored(new))
            adds_to = turns(len(trees), target.loss.n_scores)
            model = Ensemble(trees, rows.table.schema, self.unseen, adds_to=adds_to)
            model.total(rows.table, n_threads=n_threads, onto=scores)
            return judge(scores[:, 0, :])

        return judge_with

    def _judge(self, fit: BoostTarget, rows: BoostingRows) -> Callable[[FloatArray], float]:
        """Return a function from scores to how good they are, higher is better."""
        y, weights, scoring, loss = rows.y, rows.weights, self.scoring, fit.loss
        if scoring == "loss":
            unit = _unit_of_differences(fit, rows) if loss.is_of_differences else 1.0
            return lambda scores: -loss.mean(y / unit, scores / unit, weights)
        truth = labels_of(rows.target)
        if callable(scoring):
            own, X = scoring, rows.in_own_container()
            return lambda scores: float(own(self._recorded(loss, scores, rows.target), X, truth))
        classes = rows.target.classes[0] if isinstance(rows.target, ClassTarget) else None
        scorer = scorer_by_name("scoring", scoring, truth, classes)
        options = {} if weights is None else {"sample_weight": weights}
        stand_in = np.zeros((len(y), 1))  # a scorer by name only uses predictions
        return lambda scores: scorer(self._recorded(loss, scores, rows.target), stand_in, truth, **options)

    def _recorded(self, loss: Loss, scores: FloatArray, target: Any) -> Any:
        raise NotImplementedError


def _unit_of_differences(fit: BoostTarget, rows: BoostingRows) -> float:
    """Return the unit in which squares of y - score are finite; scores are like what the fit learns from."""
    parts = (rows.y, rows.offset, fit.y, fit.offset)
    return unit_of(np.array([np.abs(part).max() for part in parts if part is not None and part.size]))
