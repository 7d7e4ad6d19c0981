"""The members of an ensemble that AdaBoost has fitted: trees of ours, or estimators of any kind.

Both kinds give the same: votes for classes, or a prediction per member. Trees live in one `Ensemble`, so that
they predict together and are saved as one.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils.validation import _num_samples

from hornbeam import _core
from hornbeam.data.names import check_names_and_width
from hornbeam.data.sources import open_source
from hornbeam.data.table import Table
from hornbeam.estimators.together import GrownApart, put_together
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.inside.importance import shares_of_gain
from hornbeam.inside.nodes import TreeReading
from hornbeam.model import Ensemble
from hornbeam.params import resolve_max_features

__all__ = ["Members", "OtherMembers", "TreeMembers", "one_answer_per_row"]

FloatArray = npt.NDArray[np.float64]
AnyArray = npt.NDArray[Any]


class Members(Protocol):
    """Fitted members, in the order of the rounds."""

    def read(self, X: Any, *, estimator_name: str) -> Any:
        """Check a table to predict, and return it in the form that the other methods take."""

    def votes(
        self, rows: Any, weights: FloatArray, classes: AnyArray, *, members: range, n_threads: int
    ) -> FloatArray:
        """For each row, add up the weights of members by the class they predict: rows x classes."""

    def predictions(self, rows: Any, *, n_threads: int) -> FloatArray:
        """Return the number that each member predicts: rows x members."""

    def estimators(self) -> list[Any]:
        """Return the members as fitted estimators."""

    def importances(self) -> list[FloatArray]:
        """Return the importances of the user's columns in each member."""

    def first(self, m: int) -> "Members":
        """Return the first members."""


@dataclass(frozen=True, eq=False)
class TreeMembers:
    """Trees of ours. `tree` has the parameters they were grown with; `classes` is empty for numbers.

    `seeds` are those of each tree's draws; there are none after loading, when they are no longer known.
    """

    model: Ensemble
    tree: Any
    classes: AnyArray | None
    missing_seen: tuple[bool, ...]
    seeds: tuple[int, ...] = ()

    def read(self, X: Any, *, estimator_name: str) -> Table:
        """Read a table as the trees do."""
        return self.model.read(X, estimator_name=estimator_name)

    def votes(
        self, rows: Table, weights: FloatArray, classes: AnyArray, *, members: range, n_threads: int
    ) -> FloatArray:
        """For each row, add up the weights of members by the class they predict: rows x classes."""
        total = self.model.total(
            rows,
            n_threads=n_threads,
            begin=members.start,
            end=members.stop,
            weights=weights,
            hard_votes=True,
        )
        return total[:, 0, :]

    def predictions(self, rows: Table, *, n_threads: int) -> FloatArray:
        """Return the number that each member predicts: rows x members."""
        leaves = self.model.leaves(rows, n_threads=n_threads)
        said = [tree.value[:, 0, 0][leaves[:, t]] for t, tree in enumerate(self.model.trees)]
        return np.stack(said, axis=1)

    def estimators(self) -> list[Any]:
        """Return the members as fitted decision trees, made anew each time."""
        members = [self._estimator(tree) for tree in self.model.trees]
        for member, seed in zip(members, self.seeds, strict=False):
            member.random_state = seed
        return members

    def reading(self, tree: _core.Tree) -> TreeReading:
        """Combine a tree with the names that make it readable."""
        return TreeReading(
            tree=tree,
            schema=self.model.schema,
            classes=() if self.classes is None else (self.classes,),
            unseen=self.model.unseen,
            missing_seen=self.missing_seen,
        )

    def _estimator(self, tree: _core.Tree) -> Any:
        member: Any = clone(self.tree)
        schema = self.model.schema
        member._model = replace(self.model, trees=(tree,))
        member._pruning = None
        member._missing_seen = self.missing_seen
        member.n_outputs_ = 1
        member.n_features_in_ = len(schema.given_names)
        member.max_features_ = resolve_max_features(member.max_features, len(schema.names))
        if schema.names_given:
            member.feature_names_in_ = np.array(schema.given_names, dtype=object)
        if self.classes is not None:
            member.classes_, member.n_classes_ = self.classes, len(self.classes)
        return member

    def first(self, m: int) -> "TreeMembers":
        """Return the first trees."""
        return replace(self, model=replace(self.model, trees=self.model.trees[:m]), seeds=self.seeds[:m])

    def importances(self) -> list[FloatArray]:
        """Return the shares of the columns in the impurity decrease of each tree."""
        return [shares_of_gain([tree], self.model.schema) for tree in self.model.trees]


@dataclass(frozen=True, eq=False)
class OtherMembers:
    """Fitted estimators of any kind, and the columns they were fitted on."""

    fitted: tuple[Any, ...]
    names: tuple[str, ...]
    names_given: bool

    def read(self, X: Any, *, estimator_name: str) -> Any:
        """Check the names and the number of columns; the members check the contents."""
        container = open_source(X, estimator_name, any_dimensions=True).container
        check_names_and_width(
            container, self.names, names_given=self.names_given, estimator_name=estimator_name
        )
        return container

    def votes(
        self, rows: Any, weights: FloatArray, classes: AnyArray, *, members: range, n_threads: int
    ) -> FloatArray:
        """For each row, add up the weights of members by the class they predict: rows x classes."""
        n_rows = _num_samples(rows)
        total = np.zeros((n_rows, len(classes)))
        for number in members:
            answers = one_answer_per_row(self.fitted[number], rows, n_rows)
            total[np.arange(n_rows), np.searchsorted(classes, answers)] += weights[number]
        return total

    def predictions(self, rows: Any, *, n_threads: int) -> FloatArray:
        """Return the number that each member predicts: rows x members."""
        n_rows = _num_samples(rows)
        return np.stack([one_answer_per_row(member, rows, n_rows) for member in self.fitted], axis=1).astype(
            np.float64
        )

    def estimators(self) -> list[Any]:
        """Return the members."""
        return list(self.fitted)

    @property
    def are_trees(self) -> bool:
        """Whether the members are single trees of ours."""
        return all(type(one) in (DecisionTreeClassifier, DecisionTreeRegressor) for one in self.fitted)

    def as_trees(self, classes: AnyArray | None) -> TreeMembers:
        """Put members that are trees together, once; ValueError if their votes are not sums over leaves."""
        found: TreeMembers | None = vars(self).get("_together")
        if found is None:
            found = vars(self)["_together"] = self._put_together(classes)
        return found

    def _put_together(self, classes: AnyArray | None) -> TreeMembers:
        columns = np.arange(len(self.names))
        apart = []
        for one in self.fitted:
            known, n_classes = None, 1
            if classes is not None:
                known, n_classes = np.searchsorted(classes, one.classes_), len(classes)
            apart.append(GrownApart(one._model, columns, known, n_classes))
            if apart[-1].tree.gaps != "branch":
                raise ValueError(
                    f"Under missing={apart[-1].tree.gaps!r} the vote of a tree is not a sum over its leaves; "
                    "ask a member, such as estimators_[0]."
                )
        together = put_together(apart, self.names, names_given=self.names_given)
        seen = np.any([one._missing_seen for one in self.fitted], axis=0)
        return TreeMembers(together, self.fitted[0], classes, tuple(seen.tolist()))

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields: trees that were put together follow from them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def first(self, m: int) -> "OtherMembers":
        """Return the first members."""
        return replace(self, fitted=self.fitted[:m])

    def importances(self) -> list[FloatArray]:
        """Return the importances of the columns in each member."""
        for number, member in enumerate(self.fitted):
            if not hasattr(type(member), "feature_importances_"):
                raise AttributeError(
                    f"member {number}, a {type(member).__name__}, has no feature_importances_"
                )
        return [np.asarray(member.feature_importances_) for member in self.fitted]


def one_answer_per_row(member: Any, X: Any, n_rows: int) -> AnyArray:
    """Let a fitted estimator of any kind predict; check that there is one answer per row."""
    answers = np.asarray(member.predict(X))
    if answers.shape != (n_rows,):
        raise ValueError(
            f"The predictions of {type(member).__name__} have shape {answers.shape}; AdaBoost needs one for "
            f"each of the {n_rows} rows."
        )
    return answers
