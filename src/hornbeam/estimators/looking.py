"""One way to look inside every model made of our trees: rules, frames, importances, explanations.

An estimator says which trees it has and with which names (`_readings`), and what it adds up (`_score_sum`);
the rest is the same for all. Single trees have more to say and do so themselves.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.table import Table
from hornbeam.estimators.counterfactuals import HasCounterfactuals
from hornbeam.inside.ensembles import EnsembleExplanation, Told, explain_answer
from hornbeam.inside.explain import read_row
from hornbeam.inside.frame import tree_frame
from hornbeam.inside.importance import shares_of_tests
from hornbeam.inside.nodes import TreeReading
from hornbeam.inside.rules import RuleStyle, write_rules
from hornbeam.inside.shapley import contributions_of
from hornbeam.model import Ensemble, refuse_missing

__all__ = ["LookInside"]

FloatArray = npt.NDArray[np.float64]


class LookInside(HasCounterfactuals):
    """Base of the estimators made of our trees: what can be asked about them besides predictions."""

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

    # --- One row -----------------------------------------------------------------------------------------

    def explain(self, row: Any) -> Any:
        """Say why one row gets its answer: what each column contributes, and what the members say.

        `row` is a table of one row, a dict or Series by column name, or a sequence in the order of the
        columns. `explain(row).text` says it in two sentences.
        """
        return self._explain_answer(row)

    def _explain_answer(self, row: Any) -> EnsembleExplanation:
        check_is_fitted(self)
        whole, labels = self._score_sum(), self._answer_labels()
        if len(whole.shape) > 1 or (whole.shape and not labels):
            raise ValueError("explain takes one output; look at contributions(X) for several.")
        model = self._trees_to_explain()
        name = type(self).__name__
        given = read_row(row, model.schema, unseen=model.unseen, estimator_name=name)
        if not model.missing_allowed:
            refuse_missing(given.table, name)
        told, moved = (
            contributions_of(
                whole,
                given.table,
                background=None,
                pairs=False,
                to_answer=to_answer,
                names=self._column_names(),
                estimator_name=name,
                n_threads=1,
            )
            for to_answer in (False, True)
        )
        score = self._exact_score(given.table)
        prediction, shares = self._answer_of(score)
        usual, parts = np.asarray(moved.base_values), moved.values[0]
        if np.ndim(told.base_values) > len(whole.shape):  # one base per row
            usual = usual[0]
        if labels and parts.ndim == 2:
            place = labels[0].tolist().index(prediction)
            usual, parts = usual[place], parts[:, place]
        elif labels and prediction == labels[0][0]:  # the score speaks for the second class
            usual, parts = 1 - usual, -parts
        single = not whole.shape
        added_up = (
            score if score.size == told.scores[0].size else told.scores[0]
        )  # the same, but for rounding
        start = np.reshape(told.base_values, -1) if single else np.asarray(told.base_values)
        return explain_answer(
            Told(
                names=self._column_names(),
                values=given.shown_values,
                prediction=prediction,
                shares=shares,
                score=float(np.reshape(added_up, -1)[0]) if single else added_up,
                start=float(start[0]) if single else start,
                parts=told.values[0],
                moved=np.asarray(parts, dtype=np.float64),
                usual=float(usual),
                members=self._members_say(given.table),
                unit=self._unit_of_scores(),
            )
        )

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
