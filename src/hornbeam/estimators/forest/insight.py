"""Looking inside a forest: importances, paths, rules of each tree, and why a row gets its answer."""

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.likeness import alike
from hornbeam.data.table import Table
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.estimators.base import paths_through
from hornbeam.estimators.explained import mean_of_trees
from hornbeam.estimators.forest.intervals import ErrorBars
from hornbeam.estimators.importances import (
    Importance,
    WhichGroups,
    groups_of_columns,
    named,
    noise_in_a_new_fit,
)
from hornbeam.inside.importance import shares_of_gain
from hornbeam.inside.importances import Importances
from hornbeam.inside.shapley import ScoreSum
from hornbeam.recipes.shuffle import error_growth
from hornbeam.threads import resolve_n_jobs

__all__ = ["Insight"]


class Insight(ErrorBars):
    """What can be asked about a fitted forest besides predictions."""

    @property
    def feature_importances_(self) -> npt.NDArray[np.float64]:
        """The share of each feature in the impurity decrease of a tree, averaged over trees that split."""
        check_is_fitted(self)
        splitting = [tree for tree in self._model.trees if tree.node_count > 1]
        if not splitting:
            return np.zeros(self.n_features_in_)
        mean: npt.NDArray[np.float64] = np.mean(
            [shares_of_gain([tree], self._model.schema) for tree in splitting], axis=0
        )
        return mean / mean.sum() if mean.sum() > 0 else mean

    def apply(self, X: Any) -> npt.NDArray[np.int32]:
        """Return the leaf that each row falls into in each tree: rows x trees."""
        return self._leaves(X)

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, npt.NDArray[np.int64]]:
        """Return the nodes each row passes, rows x nodes of all trees, sparse; and where each tree begins."""
        return paths_through(self._model.trees, self.apply(X), self.n_jobs)

    def _score_sum(self) -> ScoreSum:
        return mean_of_trees(self._model, self._class_labels(), votes=self._votes_are_hard())

    def _exact_score(self, table: Table) -> npt.NDArray[np.float64]:
        mean = self._model.mean(table, n_threads=1, hard_votes=self._votes_are_hard())
        return np.asarray(mean[0, 0])

    def importance(
        self,
        kind: Importance = "gain",
        *,
        X: Any = None,
        y: Any = None,
        groups: WhichGroups = None,
        noise: bool = False,
        n_repeats: int | None = None,
        **more: Any,
    ) -> Any:
        """Say how much each column matters.

        "gain" is `feature_importances_`: quick, but it flatters columns with many values; "count" the share
        of all tests that ask for the column; "contributions" the mean size of the column's contributions to
        the rows X; "permutation" how much the error of the trees grows on rows they have not seen if the
        column is shuffled there. That needs the X and y of the fit, and `importances` are columns x trees,
        `importances_std` the standard error of their mean. Of other rows, which no tree has seen, say so:
        `unseen=True` (and, if you like, `scoring`, `sample_weight`, `random_state`) shuffles columns of X.
        "drop" is how much the score falls if forests are fitted without the column, in `cv` folds.

        `groups` and `noise` are those of every model: columns that are much alike as one, and what shuffled
        copies of columns reach.
        """
        unseen = more.pop("unseen", False)
        if kind != "permutation" or unseen:
            repeats = 5 if n_repeats is None else n_repeats
            return super().importance(kind, X=X, y=y, groups=groups, noise=noise, n_repeats=repeats, **more)
        check_is_fitted(self)
        if X is None or y is None:
            raise ValueError(
                "kind='permutation' looks at rows the trees have not seen: give X and y of the fit."
            )
        self._require_draws("importance(kind='permutation')")
        seed = more.pop("random_state", 0)
        if more:
            raise TypeError(f"{next(iter(more))} is for rows that no tree has seen: unseen=True.")
        repeats = 1 if n_repeats is None else n_repeats
        table = self._model.read(X, estimator_name=type(self).__name__)
        entries = groups_of_columns(self, groups, X)
        growth = self._growth_of_errors(table, y, entries, repeats)
        n_trees = growth.shape[1]
        return Importances(
            kind=kind,
            columns=named(self, entries),
            importances=growth,
            importances_std=growth.std(axis=1, ddof=min(1, n_trees - 1)) / np.sqrt(n_trees),
            alike=named(self, alike(table)),
            noise=noise_in_a_new_fit(self, kind, X, y, seed, n_repeats=repeats) if noise else None,
        )

    def _growth_of_errors(
        self, table: Table, y: Any, groups: list[list[int]], n_repeats: int
    ) -> npt.NDArray[np.float64]:
        """Shuffle groups of columns among the rows that each tree has not seen: groups x trees."""
        if table.n_rows != self._n_rows_given:
            raise ValueError(
                f"X has {table.n_rows} rows, but the fit had {self._n_rows_given}: give the X of the fit."
            )
        target = self._target_of(y, table.n_rows)
        rows_given = np.arange(table.n_rows) if self._rows_given is None else self._rows_given
        n_threads = resolve_n_jobs(self.n_jobs)
        growth = np.zeros((len(groups), len(self._model.trees)))
        for member, tree in enumerate(self._model.trees):
            rows = rows_given[self._plan.rows_left_out(member)]
            if len(rows):
                model = replace(self._model, trees=(tree,))
                growth[:, member] = error_growth(
                    model,
                    table,
                    rows,
                    target,
                    key=(self._plan.key, member),
                    n_repeats=n_repeats,
                    n_threads=n_threads,
                    groups=groups,
                )
        return growth

    def _target_of(self, y: Any, n_rows: int) -> ClassTarget | RegressionTarget:
        raise NotImplementedError
