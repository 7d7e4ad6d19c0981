"""What all estimators made of our trees share: reading X and weights in fit, X in predict, and inspection."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from hornbeam import _core
from hornbeam.data.column import warn_of_all_missing
from hornbeam.data.content import Rows
from hornbeam.data.sources import CodedSource, Source, open_source
from hornbeam.data.table import Schema, Table, read_columns
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.data.weights import rows_that_count
from hornbeam.estimators.explained import mean_of_trees
from hornbeam.estimators.inspection import Inspectable
from hornbeam.inside.ensembles import path_contributions
from hornbeam.inside.nodes import TreeReading
from hornbeam.inside.shapley import ScoreSum
from hornbeam.model import Ensemble, RowsToPredict, refuse_missing
from hornbeam.params import ColumnOptions, RunOptions, fitted, validate
from hornbeam.pseudo_votes import PseudoVotes
from hornbeam.threads import resolve_n_jobs
from hornbeam.warnings import DataWarning, warn

__all__ = ["Training", "TreeModel", "paths_through", "paths_to", "read_training"]


@dataclass(frozen=True, eq=False)
class Training:
    """The checked input of a fit: a table, and weights that are all positive.

    Both have only the rows of X with a positive weight: those numbered in `rows`, or all `n_rows_given` if
    that is None.
    """

    table: Table
    weights: npt.NDArray[np.float64] | None
    n_rows_given: int
    rows: Rows | None


class TreeModel(Inspectable, ColumnOptions, RunOptions):
    """Base of the estimators whose members are our trees."""

    n_features_in_: int = fitted()
    feature_names_in_: npt.NDArray[np.object_] = fitted()
    _missing_seen: tuple[bool, ...] = fitted()
    _model: Ensemble = fitted()

    def _begin_fit(self, X: Any, sample_weight: Any) -> Training:
        """Check the parameters and X, and leave out rows of weight 0, which must not affect anything.

        Nothing is stored on the estimator yet: a fit that fails or is interrupted leaves it as it was.
        """
        validate(self)
        return read_training(self, X, sample_weight, estimator_name=type(self).__name__)

    def _remember_columns(self, table: Table, missing_seen: tuple[bool, ...]) -> None:
        """Store what scikit-learn's tools ask about the columns, and which of them have missing values."""
        self.n_features_in_ = len(table.schema.given_names)
        if table.feature_names is not None:
            self.feature_names_in_ = np.array(table.feature_names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._missing_seen = missing_seen

    def _reading(self, tree: _core.Tree) -> TreeReading:
        """Combine a tree with the names that make it readable."""
        # Under other policies, missing values do not go to the tree's branch for them, or not at once.
        is_one_branch = tree.gaps == "branch" and len(tree.surrogate_begin) == 0
        return TreeReading(
            tree=tree,
            schema=self._model.schema,
            classes=self._class_labels(),
            unseen=self._model.unseen,
            missing_seen=tuple(seen and is_one_branch for seen in self._missing_seen),
        )

    def _readings(self) -> list[TreeReading]:
        return [self._reading(tree) for tree in self._model.trees]

    def _score_sum(self) -> ScoreSum:
        """Return the sum behind the prediction: the mean of the trees, unless a subclass overrides it."""
        return mean_of_trees(self._model, self._class_labels())

    def _pseudo_votes(self) -> PseudoVotes | None:
        """Return votes that are counted in addition to those of the trees; most models have none."""
        return None

    def _class_labels(self) -> tuple[npt.NDArray[np.generic], ...]:
        """Return the classes of each output; nothing if the trees predict numbers."""
        return ()

    def _rows(self, X: Any) -> tuple[RowsToPredict, int]:
        """Read rows to predict; return them with the number of threads for them."""
        if "_model" not in vars(self):  # scikit-learn's own check takes as long as predicting a row
            check_is_fitted(self)
        rows = self._model.rows_of(X, estimator_name=type(self).__name__)
        return rows, self._model.threads_for(rows, self.n_jobs)

    def _leaves(self, X: Any) -> npt.NDArray[np.int32]:
        """Find the leaf of each row in each tree: one column per tree."""
        rows, n_threads = self._rows(X)
        return self._model.leaves(rows, n_threads=n_threads)

    def _values(self, X: Any) -> npt.NDArray[np.float64]:
        """Return the mean of the trees' values for each row: rows x outputs x classes."""
        rows, n_threads = self._rows(X)
        return self._model.mean(rows, n_threads=n_threads)

    def path_contributions(self, X: Any) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Say how much each prediction changes at the tests on each column, and where it starts.

        On a row's way down a tree the nodes' predictions change; each change is attributed to the column of
        the test. That is quick and easy to follow, but later tests get more than earlier ones of the same
        kind; `contributions` is fair.

        The first array is rows x columns, the second has a number per row; with several classes or outputs
        both have further dimensions. Start and contributions sum to the predicted number, or to the share of
        each class under soft voting.
        """
        if getattr(self, "voting", "soft") == "hard":
            raise ValueError(
                "Hard votes are not sums of contributions; path_contributions need voting='soft'."
            )
        means, pseudo_votes = self._values(X), self._pseudo_votes()
        found, start = path_contributions(
            self._model.trees,
            self._leaves(X),
            self._model.schema,
            means,
            n_more_votes=0.0 if pseudo_votes is None else pseudo_votes.number,
        )
        if means.shape[1] == 1:
            found, start = found[:, :, 0], start[:, 0]
        if not self._class_labels():
            found, start = found[..., 0], start[..., 0]
        return found, start

    def _checked_monotonic(self, schema: Schema, target: ClassTarget | RegressionTarget) -> tuple[int, ...]:
        """Return one direction per feature, empty if nothing is constrained; refuse columns without order."""
        by_column = self._monotonic_directions(schema.given_names)
        if not by_column:
            return ()
        # Parts of a date that repeat, such as the weekday, cannot be constrained.
        directions = tuple(
            0 if part is not None and not part.is_first else by_column[source]
            for source, part in zip(schema.sources, map(schema.part, range(len(schema.names))), strict=True)
        )
        if isinstance(target, ClassTarget) and any(len(classes) > 2 for classes in target.classes):
            raise ValueError("Monotonicity constraints are not supported with multiclass classification.")
        if target.n_outputs > 1:
            raise ValueError("Monotonicity constraints are not supported with multiple outputs.")
        for name, kind, direction in zip(schema.names, schema.kinds, directions, strict=True):
            if direction and kind == "categorical":
                raise ValueError(
                    f"monotonic_cst constrains {name!r}, a categorical column: its categories have no order. "
                    "Use an ordered category, or direction 0."
                )
        return directions

    def _monotonic_directions(self, feature_names: tuple[str, ...]) -> tuple[int, ...]:
        """Turn `monotonic_cst` into one direction per feature; empty if nothing is constrained."""
        given = self.monotonic_cst
        if given is None:
            return ()
        if isinstance(given, dict):
            unknown = [name for name in given if name not in feature_names]
            if unknown:
                raise ValueError(
                    f"monotonic_cst names {unknown[0]!r}, which is not a column of X; columns are "
                    f"{', '.join(map(repr, feature_names[:10]))}."
                )
            directions = tuple(int(given.get(name, 0)) for name in feature_names)
        else:
            directions = tuple(int(direction) for direction in given)
            if len(directions) != len(feature_names):
                raise ValueError(
                    f"monotonic_cst has shape {len(directions)} but the input data X has "
                    f"{len(feature_names)} features: give one direction per feature, or a "
                    "dict from column name to direction."
                )
        return directions if any(directions) else ()

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what X may hold."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "error"
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def read_training(columns: ColumnOptions, X: Any, sample_weight: Any, *, estimator_name: str) -> Training:
    """Read X by the options of `columns`, and the weights; leave out rows without weight.

    `columns` is the estimator itself, or the member that it is made of.
    """
    source = open_source(X, estimator_name)
    rows, weights = rows_that_count(sample_weight, source.n_rows)
    table = _table_of(source, columns.categorical_features, rows)
    if columns.missing == "error":
        refuse_missing(table, estimator_name)
    if table.n_rows == 1:
        warn("X has a single row: the model can only repeat its target.", DataWarning)
    if table.origin is None:  # the table that folds are dealt from has been checked as a whole
        warn_of_all_missing(table.columns, table.n_rows)
    return Training(table, weights, source.n_rows, rows)


def _table_of(source: Source, categorical_features: Any, rows: Rows | None) -> Table:
    """Read the columns of a source, unless they have been read and encoded before."""
    if isinstance(source, CodedSource):
        whole: Table = source.table_for(categorical_features)
        return whole if rows is None else whole.take(rows)
    return read_columns(source, categorical_features=categorical_features, rows=rows)


def paths_through(
    trees: Sequence[_core.Tree], leaves: npt.NDArray[np.int32], n_jobs: int | None
) -> tuple[sparse.csr_matrix, Any]:
    """Mark the nodes that each row passes in all trees, side by side; also return where each tree begins."""
    whole = tuple(getattr(tree, "_tree", tree) for tree in trees)  # models saved to predict wrap theirs
    begins = np.cumsum([0, *(tree.node_count for tree in trees)])
    nodes, ends = _core.paths_to_leaves(whole, np.ascontiguousarray(leaves), resolve_n_jobs(n_jobs))
    ones = np.ones(len(nodes), dtype=np.int64)
    return sparse.csr_matrix((ones, nodes, ends), shape=(len(leaves), int(begins[-1]))), begins


def paths_to(tree: _core.Tree, leaves: npt.NDArray[np.int32], n_jobs: int | None) -> sparse.csr_matrix:
    """Mark, for each row, the nodes on the way from the root to its leaf: rows x nodes, sparse."""
    return paths_through((tree,), leaves.reshape(-1, 1), n_jobs)[0]
