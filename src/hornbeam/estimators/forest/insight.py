"""How much columns matter to a forest: by the gains of splits, and by shuffling rows out of bag."""

from dataclasses import replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.content import Rows
from hornbeam.data.likeness import alike
from hornbeam.data.table import Table
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.estimators.forest.intervals import Sampled, require_draws
from hornbeam.estimators.importances import (
    Weighable,
    WhichGroups,
    groups_of_columns,
    named,
    noise_in_a_new_fit,
)
from hornbeam.inside.importance import shares_of_gain
from hornbeam.inside.importances import Importances
from hornbeam.model import Ensemble
from hornbeam.recipes.shuffle import error_growth
from hornbeam.threads import resolve_n_jobs

__all__ = ["mean_share_of_gain", "out_of_bag_importance"]


class Shuffled(Weighable, Sampled, Protocol):
    """A fitted forest that reads targets as its fit did."""

    _n_rows_given: int
    _rows_given: Rows | None

    def _target_of(self, y: Any, n_rows: int) -> ClassTarget | RegressionTarget: ...


def mean_share_of_gain(model: Ensemble, n_columns: int) -> npt.NDArray[np.float64]:
    """Return the share of each column in the impurity decrease of a tree, averaged over trees that split."""
    splitting = [tree for tree in model.trees if tree.node_count > 1]
    if not splitting:
        return np.zeros(n_columns)
    mean: npt.NDArray[np.float64] = np.mean(
        [shares_of_gain([tree], model.schema) for tree in splitting], axis=0
    )
    return mean / mean.sum() if mean.sum() > 0 else mean


def out_of_bag_importance(
    forest: Shuffled,
    X: Any,
    y: Any,
    *,
    groups: WhichGroups,
    noise: bool,
    n_repeats: int,
    seed: int | None,
) -> Importances:
    """Return how much the error of trees grows on the rows they have not seen if columns are shuffled."""
    check_is_fitted(forest)
    if X is None or y is None:
        raise ValueError("kind='permutation' looks at rows the trees have not seen: give X and y of the fit.")
    require_draws(forest, "importance(kind='permutation')")
    table = forest._model.read(X, estimator_name=type(forest).__name__)
    entries = groups_of_columns(forest, groups, X)
    growth = _growth_of_errors(forest, table, y, entries, n_repeats)
    n_trees = growth.shape[1]
    level = noise_in_a_new_fit(forest, "permutation", X, y, seed, n_repeats=n_repeats) if noise else None
    return Importances(
        kind="permutation",
        columns=named(forest, entries),
        importances=growth,
        importances_std=growth.std(axis=1, ddof=min(1, n_trees - 1)) / np.sqrt(n_trees),
        alike=named(forest, alike(table)),
        noise=level,
    )


def _growth_of_errors(
    forest: Shuffled, table: Table, y: Any, groups: list[list[int]], n_repeats: int
) -> npt.NDArray[np.float64]:
    """Shuffle groups of columns among the rows that each tree has not seen: groups x trees."""
    if table.n_rows != forest._n_rows_given:
        raise ValueError(
            f"X has {table.n_rows} rows, but the fit had {forest._n_rows_given}: give the X of the fit."
        )
    target = forest._target_of(y, table.n_rows)
    rows_given = np.arange(table.n_rows) if forest._rows_given is None else forest._rows_given
    n_threads = resolve_n_jobs(forest.n_jobs)
    growth = np.zeros((len(groups), len(forest._model.trees)))
    for member, tree in enumerate(forest._model.trees):
        rows = rows_given[forest._plan.rows_left_out(member)]
        if len(rows):
            model = replace(forest._model, trees=(tree,))
            growth[:, member] = error_growth(
                model,
                table,
                rows,
                target,
                key=(forest._plan.key, member),
                n_repeats=n_repeats,
                n_threads=n_threads,
                groups=groups,
            )
    return growth
