"""One way to look inside every model made of our trees: rules, frames, importances, explanations.

An estimator says which trees it has and with which names (`_readings`), and what it adds up (`_score_sum`);
the answers come from `explained.py`, `importances.py` and `counterfactuals.py`, which are the same for all.
Single trees have more to say and do so themselves.
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
    """Base of the estimators made of our trees: what can be asked about them besides predictions."""

    n_features_in_: int = fitted()
    feature_names_in_: npt.NDArray[np.object_] = fitted()

    # --- Trees -------------------------------------------------------------------------------------------

    def _readings(self) -> list[TreeReading]:
        """Return the trees with their names; nothing if members are something else."""
        raise NotImplementedError

    def _class_labels(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the classes of each output; nothing if the trees predict numbers."""
        return ()

    def _answer_labels(self) -> tuple[npt.NDArray[Any], ...]:
        """Return the classes that answers are given in, which may be others than those of the trees."""
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

        `column` is a name or a number, or a pair of them; of a date, the parts that the fit has made of it
        have names, too, such as "when.weekday". With kind "partial" the other columns stay what
        they are: the result has the mean over the rows (the partial dependence), the line of each row, and
        the score without a value. With kind "ale" only rows near a threshold are asked what crossing it
        changes, and the changes are added up (accumulated local effects): no row is given a value that is far
        from its own. Of a pair, "partial" is the mean score of every pair of values, "ale" what the two do
        only together. `of="answer"` tells what the score stands for, such as the probability of boosting.

        Of a number the result is given for every step between thresholds, so nothing is missed between
        points of a grid. More rows of X than `n_rows` (500; 200 of a pair) are thinned out; a column with
        more than `n_steps` steps (300; 50 of a pair) is asked about at some of them.
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

        "gain" is `feature_importances_`: quick, but it flatters columns with many values; "count" the share
        of all tests that ask for the column; "contributions" the mean size of the column's contributions to
        the rows X. "permutation" is how much the score falls if the column is shuffled in X, at best rows
        that the fit has not seen, `n_repeats` times; "drop" how much it falls if copies of the model are
        fitted to X and y without the column, in `cv` folds. These two give `Importances`, with error bars and
        the names of columns that are much alike; the others give one number per column.

        Columns that are alike hide each other: `groups="alike"` shuffles, drops or adds up those together
        whose likeness (`hornbeam.data.likeness`) is at least 0.9, a number sets another limit, and lists of
        columns are groups of your own. `noise=True` shows what shuffled copies of columns, which say nothing,
        reach in copies of the model that are fitted to X and y: less than that means nothing. With either,
        every kind gives `Importances`.
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
        """Say why one row gets its answer: what each column contributes, and what the members say.

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
        """Find the smallest change of a row that changes the answer.

        `row` is a table of one row, a dict or Series by column name, or a sequence. `wanted` is the class to
        come to, any other by default, or for numbers a range: (low, high), with None for no bound.
        `columns` may change (all but dates by default), those in `fixed` may not; `directions={"income":
        "up"}` lets a number go one way only. Numbers that are whole in X stay whole.

        The distance is the sum of the changes: of a number in units of the column's spread, the mean distance
        of the rows X from their median; of a category, or of a missing value that gets one, 1. The search is
        exact: it opens boxes of leaves, the nearest first, and ends when none nearer can give the answer.
        After `max_boxes`, of all classes together, it ends with the nearest change it knows, and `bound`
        says how much nearer another might be.
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
        """Return the model with all trees over one schema, for what needs that."""
        return self

    def _trees_to_explain(self) -> Ensemble:
        """Return the trees that a row is read for."""
        model: Any = self
        ensemble: Ensemble = model._model
        return ensemble

    def _exact_score(self, table: Table) -> FloatArray:
        """Return the score of a row, as predicting has it: one number per class or output."""
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
        """Say in words what a score counts, where that is something else than the answer."""
        return ""

    def _members_say(self, table: Table) -> tuple[Any, ...]:
        """Return the answers of the members, where they vote or are averaged."""
        trees = self._trees_to_explain().trees
        leaves = self._trees_to_explain().leaves(table, n_threads=1)[0]
        said = np.stack([tree.value[leaf, 0] for tree, leaf in zip(trees, leaves, strict=True)])
        labels = self._class_labels()
        return tuple(labels[0][said.argmax(axis=1)].tolist()) if labels else tuple(said[:, 0].tolist())
