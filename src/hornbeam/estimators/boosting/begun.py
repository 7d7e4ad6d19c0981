"""A fit of gradient boosting: its input, and the running fit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.encode import Encoded
from hornbeam.data.table import Table
from hornbeam.estimators.boosting.rows import BoostingRows, Target
from hornbeam.estimators.boosting.settings import BoostingPlan
from hornbeam.estimators.validation import Validation
from hornbeam.model import with_values_times
from hornbeam.recipes.boosting.boost import Boosting, BoostSettings, BoostTarget
from hornbeam.recipes.boosting.boost_members import MemberBoosting
from hornbeam.recipes.boosting.losses import Loss
from hornbeam.recipes.boosting.rounds import Watch
from hornbeam.recipes.category_means import CategoryMeans

__all__ = ["BoostingData", "BoostingFit"]

FloatArray = npt.NDArray[np.float64]
RowArray = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class BoostingData:
    """The input of a fit, read and checked: rows, the loss, and validation rows if the user gave some."""

    rows: BoostingRows
    loss: Loss
    validation: Validation
    offset_val: Any
    n_rows_given: int

    @property
    def n_columns(self) -> int:
        """How many columns the user gave."""
        return len(self.rows.table.columns)


@dataclass(frozen=True, eq=False)
class BoostingFit:
    """A fit that has begun: what is kept of it besides its trees, and how its rounds are run.

    `rows_given` are the rows of X that count, to grow trees on or to judge them; None for all.
    """

    table: Table
    given: Target
    target: BoostTarget
    settings: BoostSettings
    rows_given: RowArray | None
    n_rows_given: int
    missing_seen: tuple[bool, ...]
    key: int
    plan: BoostingPlan
    encoded: Encoded
    means: CategoryMeans | None
    monotonic: bool
    goes_on: bool
    boosting: Boosting | MemberBoosting
    score_training: Callable[[], float] | None = None
    score_validation: Callable[[Sequence[_core.Tree]], float] | None = None

    @property
    def trees_per_round(self) -> int:
        """The number of trees that a round adds."""
        return self.plan.n_members * self.target.loss.n_scores

    def restored(self, trees: Sequence[_core.Tree]) -> list[_core.Tree]:
        """Write trees in the user's columns."""
        return list(trees) if self.means is None else [self.means.restored(tree) for tree in trees]

    def averaged(self, trees: Sequence[_core.Tree]) -> list[_core.Tree]:
        """Divide the trees' values by the number of members, and write the trees in the user's columns."""
        share = 1.0 / self.plan.n_members
        if share < 1:
            trees = [with_values_times(tree, share, self.encoded.schema) for tree in trees]
        return self.restored(trees)

    def finished(self, watch: Watch) -> list[_core.Tree]:
        """Return the trees that the model keeps: up to the best round, with values from all rows."""
        n_rounds = self._rounds_kept(watch)
        if isinstance(self.boosting, MemberBoosting) and not self.monotonic:
            return self.restored(self.boosting.refitted(n_rounds))
        # Values found from all rows may violate the constraints.
        return self.averaged(self.boosting.trees[: n_rounds * self.trees_per_round])

    def left_out_answers(self, watch: Watch) -> FloatArray | None:
        """Predict rows of X by members that have not seen them, NaN for others; None without members."""
        if not isinstance(self.boosting, MemberBoosting):
            return None
        scores = self.boosting.unseen_scores_after(self._rounds_kept(watch))
        judged = self.boosting.judged_rows
        answers = self.target.loss.answers(scores[judged])
        among_all = np.full((self.n_rows_given, *answers.shape[1:]), np.nan)
        among_all[judged if self.rows_given is None else self.rows_given[judged]] = answers
        return among_all

    def _rounds_kept(self, watch: Watch) -> int:
        return watch.best_round if self.plan.early_stopping else watch.n_done
