"""Explanations that every model made of our trees has: what each column adds to the score of a row.

An estimator says what it adds up (`_score_sum`); the rest is the same for all.
"""

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.wording import shown
from hornbeam.inside.accumulated import (
    AccumulatedEffect,
    accumulated_effect_of,
    joint_accumulated_effect_of,
)
from hornbeam.inside.effects import (
    Asking,
    Effect,
    EffectKind,
    JointEffect,
    effect_names,
    effect_of,
    joint_effect_of,
)
from hornbeam.inside.shapley import Contributions, ScoreSum, TreeSum, contributions_of
from hornbeam.model import Ensemble
from hornbeam.params import Declared, fitted
from hornbeam.threads import resolve_n_jobs

__all__ = ["Explained", "mean_of_trees"]

WhatToExplain = Literal["score", "answer"]


class Explained(Declared):
    """Base of the estimators that can say what each column adds to their scores."""

    n_features_in_: int = fitted()
    feature_names_in_: npt.NDArray[np.object_] = fitted()

    def _score_sum(self) -> ScoreSum:
        """Return what the model adds up."""
        raise NotImplementedError

    def _column_names(self) -> tuple[str, ...]:
        """Name the columns of the fit; x0, x1, ... if they had no names."""
        if hasattr(self, "feature_names_in_"):
            return tuple(self.feature_names_in_.tolist())
        return tuple(f"x{j}" for j in range(self.n_features_in_))

    def contributions(
        self,
        X: Any,
        *,
        background: Any = None,
        interactions: bool = False,
        of: WhatToExplain = "score",
    ) -> Contributions:
        """Say what each column adds to the score of each row: its Shapley value, exactly.

        The score is what the model adds up: the predicted number or the share of each class of trees and
        forests, the score before the link of boosting. Base and contributions sum to it. `of="answer"`
        explains what the score stands for instead, such as the probability of boosting.

        Without a `background`, a column that is not known is split like the rows of the fit were at each
        test. With one, a table of any number of rows, it is drawn from these rows: what the model says of the
        mean row of the background is where the explanation starts. `interactions=True` tells pairs of columns
        apart: rows x columns x columns.
        """
        check_is_fitted(self)
        if of not in get_args(WhatToExplain):
            raise ValueError(f"of must be 'score' or 'answer'; got {shown(of)}.")
        return contributions_of(
            self._score_sum(),
            X,
            background=background,
            pairs=bool(interactions),
            to_answer=of == "answer",
            names=self._column_names(),
            estimator_name=type(self).__name__,
            n_threads=resolve_n_jobs(getattr(self, "n_jobs", None)),
        )

    def effect(
        self,
        X: Any,
        column: Any,
        *,
        kind: EffectKind = "partial",
        n_rows: int | None = None,
        n_steps: int | None = None,
    ) -> Effect | AccumulatedEffect | JointEffect:
        """Say how the score depends on a column, or on two, in the rows of X.

        `column` is a name or a number, or a pair of them; of a date, the parts that the fit has made of it
        have names, too, such as "when.weekday". With kind "partial" the other columns stay what
        they are: the result has the mean over the rows (the partial dependence), the line of each row, and
        the score without a value. With kind "ale" only rows near a threshold are asked what crossing it
        changes, and the changes are added up (accumulated local effects): no row is given a value that is far
        from its own. Of a pair, "partial" is the mean score of every pair of values, "ale" what the two do
        only together.

        Of a number the result is given for every step between thresholds, so nothing is missed between
        points of a grid. More rows of X than `n_rows` (500; 200 of a pair) are thinned out; a column with
        more than `n_steps` steps (300; 50 of a pair) is asked about at some of them.
        """
        check_is_fitted(self)
        if kind not in get_args(EffectKind):
            raise ValueError(f"kind must be 'partial' or 'ale'; got {shown(kind)}.")
        whole = self._score_sum()
        names = effect_names(whole, self._column_names())
        places = self._places_of_columns(column, names)
        n_rows = n_rows if n_rows is not None else (500, 200)[len(places) - 1]
        n_steps = n_steps if n_steps is not None else (300, 50)[len(places) - 1]
        if n_rows < 1 or n_steps < 2:
            raise ValueError(f"n_rows must be at least 1 and n_steps at least 2; got {n_rows} and {n_steps}.")
        if any(one.model.trees[0].gaps == "available" for one in whole.sums):
            raise ValueError(
                "effect does not take missing='available': which trees answer depends on the row."
            )
        asking = Asking(
            whole,
            X,
            most_rows=int(n_rows),
            estimator_name=type(self).__name__,
            n_threads=resolve_n_jobs(getattr(self, "n_jobs", None)),
        )
        grids = [asking.grid(place, names[place], int(n_steps)) for place in places]
        if len(grids) == 2:
            return (joint_effect_of if kind == "partial" else joint_accumulated_effect_of)(asking, *grids)
        return (effect_of if kind == "partial" else accumulated_effect_of)(asking, grids[0])

    def _place_of_column(self, column: Any, names: tuple[str, ...] | None = None) -> int:
        """Return the place of a column among `names`, or of X; it is given by name, or by number in X."""
        of_table = self._column_names()
        names = of_table if names is None else names
        if isinstance(column, str) and column in names:
            return names.index(column)
        if (
            isinstance(column, int | np.integer)
            and not isinstance(column, bool)
            and 0 <= column < len(of_table)
        ):
            return names.index(of_table[int(column)])
        known = ", ".join(shown(name) for name in names[:10])
        raise ValueError(f"X has no column {shown(column)}; columns are {known}.")

    def _places_of_columns(self, column: Any, names: tuple[str, ...]) -> list[int]:
        """Return the places among `names` of one column or of two, given by name, or by number in X."""
        given = [column] if isinstance(column, str) or not isinstance(column, tuple | list) else column
        if not 1 <= len(given) <= 2:
            raise ValueError(f"effect takes one column or two; got {len(given)}.")
        found = [self._place_of_column(one, names) for one in given]
        if len(set(found)) < len(found):
            raise ValueError(f"effect takes two different columns; got {shown(given[0])} twice.")
        return found


def mean_of_trees(
    model: Ensemble, class_labels: tuple[npt.NDArray[Any], ...], *, votes: bool = False
) -> ScoreSum:
    """Describe the mean of what trees say: numbers or class shares, or with `votes` the shares of votes."""
    if votes and model.trees[0].gaps == "fractional":
        raise ValueError(
            "Under missing='fractional' a vote is no sum over leaves; contributions need voting='soft'."
        )
    n_trees = len(model.trees)
    n_outputs, n_values = model.trees[0].value.shape[1:]
    shape: tuple[int, ...] = (n_outputs, n_values)
    outputs: tuple[Any, ...] = ()
    if not class_labels:
        shape = () if n_outputs == 1 else (n_outputs,)
        outputs = () if n_outputs == 1 else tuple(range(n_outputs))
    elif n_outputs == 1:
        shape, outputs = (n_values,), tuple(class_labels[0].tolist())
    weights = np.full(n_trees, 1 / n_trees)
    return ScoreSum((TreeSum(model, weights, votes),), np.zeros(n_outputs * n_values), shape, outputs)
