"""One way to look inside every model made of our trees: rules, frames, importances, explanations.

An estimator provides its trees with their names (`_readings`) and the sum that it predicts by (`_score_sum`);
`explained.py`, `importances.py` and `counterfactuals.py` do the rest for all of them. Single trees override
what they can say in more detail.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.table import Table
from hornbeam.estimators.counterfactuals import counterfactual
from hornbeam.estimators.explained import WhatToExplain, contributions, effect, explanation
from hornbeam.estimators.importances import Importance, WhichGroups, importance
from hornbeam.inside.accumulated import AccumulatedEffect
from hornbeam.inside.counterfactual import Counterfactual, Direction
from hornbeam.inside.effects import Effect, EffectKind, JointEffect
from hornbeam.inside.explain import read_row
from hornbeam.inside.frame import tree_frame
from hornbeam.inside.importance import shares_of_tests
from hornbeam.inside.nodes import TreeReading
from hornbeam.inside.rules import RuleStyle, write_rules
from hornbeam.inside.shapley import Contributions, ScoreSum
from hornbeam.model import Ensemble, refuse_missing
from hornbeam.params import Declared, fitted

__all__ = ["Inspectable"]

FloatArray = npt.NDArray[np.float64]


class Inspectable(Declared):
    """Base of the estimators made of our trees: everything they offer besides predictions."""

    n_features_in_: int = fitted()
    feature_names_in_: npt.NDArray[np.object_] = fitted()

    # --- Trees -------------------------------------------------------------------------------------------

    def _readings(self) -> list[TreeReading]:
        """Return the trees with their names; nothing if members are not trees."""
        raise NotImplementedError

    def _class_labels(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the classes of each output; nothing if the trees predict numbers."""
        return ()

    def _answer_labels(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the classes of the predictions, which may differ from those of the trees."""
        return self._class_labels()

    def _reading_of(self, member: int) -> TreeReading:
        check_is_fitted(self)
        readings = self._readings()
        if not readings:
            raise ValueError(f"The members of this {type(self).__name__} are not trees of hornbeam.")
        if not -len(readings) <= member < len(readings):
            raise IndexError(f"There are {len(readings)} trees; got member={member}.")
        return readings[member]

    def rules(self, style: RuleStyle = "text", member: int | None = None) -> Any:
        """Return the trees as rules: those of one member, or a list with the rules of every member.

        The styles are those of a single tree: "text", "list", "lines", "formula" or "code".
        """
        if member is not None:
            return write_rules(self._reading_of(member), style)
        self._reading_of(0)
        return [write_rules(reading, style) for reading in self._readings()]

    def to_frame(self, member: int = 0) -> Any:
        """Return the tree of a member as a pandas DataFrame, a row per node."""
        return tree_frame(self._reading_of(member))

    def _share_of_tests(self) -> FloatArray:
        self._reading_of(0)
        readings = self._readings()
        return shares_of_tests([reading.tree for reading in readings], readings[0].schema)

    # --- Columns -----------------------------------------------------------------------------------------

    def _score_sum(self) -> ScoreSum:
        """Return the sum that the model predicts by."""
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

        The score is what the model adds up: for trees and forests the predicted number or class
        probabilities, for boosting the score before the link. Base and contributions sum to it. `of="answer"`
        explains what the score stands for instead, such as the probability in boosting.

        Without a `background`, a row with an unknown column is divided at each test as the rows of the fit
        were. With one, a table of any number of rows, the unknown column is drawn from these rows, and the
        explanation starts from the mean prediction for the background. `interactions=True` separates pairs of
        columns: rows x columns x columns.
        """
        return contributions(self, X, background=background, interactions=interactions, of=of)

    def effect(
        self,
        X: Any,
        column: Any,
        *,
        kind: EffectKind = "partial",
        of: WhatToExplain = "score",
        n_rows: int | None = None,
        n_steps: int | None = None,
    ) -> Effect | AccumulatedEffect | JointEffect:
        """Say how the score depends on a column, or on two, in the rows of X.

        `column` is a name or a number, or a pair of them; the parts that a fit has derived from a date have
        names, too, such as "when.weekday". With kind "partial" the other columns stay unchanged: the result
        has the mean over the rows (the partial dependence), the line of each row, and the score without a
        value. With kind "ale" only rows near a threshold are moved across it, and the changes are added up
        (accumulated local effects), so no row gets a value far from its own. For a pair, "partial" is the
        mean score of every pair of values, and "ale" is the joint effect only. `of="answer"` shows what the
        score stands for, such as the probability in boosting.

        For a number the result has every step between thresholds, so nothing is missed between the points of
        a grid. If X has more rows than `n_rows` (500; 200 for a pair), some of them are used; if a column has
        more than `n_steps` steps (300; 50 for a pair), some of these are.
        """
        return effect(self, X, column, kind=kind, of=of, n_rows=n_rows, n_steps=n_steps)

    def importance(
        self,
        kind: Importance = "gain",
        *,
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        groups: WhichGroups = None,
        noise: bool = False,
        n_repeats: int = 5,
        cv: Any = 5,
        scoring: Any = None,
        random_state: int | None = 0,
    ) -> Any:
        """Say how much each column matters.

        "gain" is `feature_importances_`: quick, but biased towards columns with many values. "count" is the
        share of all tests that use the column. "contributions" is the mean size of the column's contributions
        for the rows X. "permutation" is how much the score falls if the column is shuffled in X, `n_repeats`
        times; X should be rows that the fit has not seen. "drop" is how much it falls if copies of the model
        are fitted to X and y without the column, in `cv` folds. These two give `Importances`, with error bars
        and the names of similar columns; the others give one number per column.

        Similar columns hide each other's importance. `groups="alike"` shuffles, drops or adds up columns
        together whose similarity (`hornbeam.data.likeness`) is at least 0.9; a number sets another limit, and
        lists of columns are groups of your own. `noise=True` shows the importance of shuffled copies of
        columns, which carry no information, in copies of the model fitted to X and y: an importance below
        that means nothing. With either, every kind gives `Importances`.
        """
        return importance(
            self,
            kind,
            X=X,
            y=y,
            sample_weight=sample_weight,
            groups=groups,
            noise=noise,
            n_repeats=n_repeats,
            cv=cv,
            scoring=scoring,
            random_state=random_state,
        )

    # --- One row -----------------------------------------------------------------------------------------

    def explain(self, row: Any) -> Any:
        """Explain the prediction for one row: what each column contributes, and what the members predict.

        `row` is a table of one row, a dict or Series by column name, or a sequence in the order of the
        columns. `explain(row).text` says it in two sentences.
        """
        return explanation(self, row)

    def counterfactual(
        self,
        row: Any,
        X: Any,
        *,
        wanted: Any = None,
        columns: Iterable[Any] | None = None,
        fixed: Iterable[Any] = (),
        directions: Mapping[Any, Direction] | None = None,
        max_boxes: int = 5_000,
    ) -> Counterfactual:
        """Find the smallest change of a row that changes the prediction.

        `row` is a table of one row, a dict or Series by column name, or a sequence. `wanted` is the class to
        reach, any other class by default, or for numbers a range: (low, high), with None for no bound.
        `columns` may change (all but dates by default), those in `fixed` may not; `directions={"income":
        "up"}` lets a number change in one direction only. Numbers that are whole in X stay whole.

        The distance is the sum of the changes: for a number in units of the column's spread, the mean
        distance of the rows X from their median; for a category, or a missing value that gets one, 1. The
        search is exact: it examines boxes of leaves, the nearest first, and ends when no nearer one can give
        the answer. After `max_boxes`, for all classes together, it ends with the nearest change so far, and
        `bound` says how much nearer another might be.
        """
        return counterfactual(
            self._on_one_table(),
            row,
            X,
            wanted=wanted,
            columns=columns,
            fixed=fixed,
            directions=directions,
            max_boxes=max_boxes,
        )

    def _on_one_table(self) -> Self:
        """Return the model with all trees over one schema, for methods that need that."""
        return self

    def _trees_to_explain(self) -> Ensemble:
        """Return the trees whose columns a row is read for."""
        model: Any = self
        ensemble: Ensemble = model._model
        return ensemble

    def _exact_score(self, table: Table) -> FloatArray:
        """Return the score of a row as in prediction: one number per class or output."""
        return np.asarray(self._trees_to_explain().mean(table, n_threads=1)[0, 0])

    def _answer_of(self, score: FloatArray) -> tuple[Any, dict[Any, float] | None]:
        """Return the prediction that a score stands for, and the probabilities of the classes."""
        labels = self._class_labels()
        if not labels:
            return float(score[0]), None
        classes = labels[0].tolist()
        return classes[int(np.argmax(score))], dict(zip(classes, score.tolist(), strict=False))

    def _row_to_explain(self, row: Any) -> tuple[Any, Sequence[Any]]:
        """Read one row; return it as a table, and its values as they are shown."""
        trees, name = self._trees_to_explain(), type(self).__name__
        given = read_row(row, trees.schema, unseen=trees.unseen, estimator_name=name)
        if not trees.missing_allowed:
            refuse_missing(given.table, name)
        return given.table, given.shown_values

    def _unit_of_scores(self) -> str:
        """Name the unit of scores, if that differs from the unit of the prediction."""
        return ""

    def _members_say(self, table: Table) -> tuple[Any, ...]:
        """Return the predictions of the members, if they vote or are averaged."""
        trees = self._trees_to_explain().trees
        leaves = self._trees_to_explain().leaves(table, n_threads=1)[0]
        said = np.stack([tree.value[leaf, 0] for tree, leaf in zip(trees, leaves, strict=True)])
        labels = self._class_labels()
        return tuple(labels[0][said.argmax(axis=1)].tolist()) if labels else tuple(said[:, 0].tolist())
