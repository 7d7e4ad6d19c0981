"""A density tree: grown where the density changes most, pruned by cross-validation (Ram and Gray 2011).

In: numeric columns and their bounding box. Out: a pruned tree. Densities are relative to the uniform one over
the box, so nothing here depends on the units of the columns.

The error of an estimate f is the integrated squared error without the part that is the same for every f: the
integral of f^2, minus twice the mean of f at rows that f did not see.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Table
from hornbeam.data.target import RegressionTarget
from hornbeam.model import Ensemble
from hornbeam.recipes.holdout import GivenRows, folds
from hornbeam.recipes.prune import Judgement, Pruned, leaf_sums, matching_steps, prune_by_table

__all__ = ["BoxedRows", "grow_density", "leaf_boxes", "prune_density"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BoxedRows:
    """Rows of finite numbers, their weights (None: 1 each), and the box they lie in, column by column."""

    table: Table
    columns: list[FloatArray]
    weights: FloatArray | None
    low: FloatArray
    high: FloatArray

    def weights_of(self, rows: npt.NDArray[np.uint32]) -> FloatArray:
        """Return the weights of some rows."""
        return np.ones(len(rows)) if self.weights is None else self.weights[rows]


def grow_density(data: BoxedRows, rows: npt.NDArray[np.uint32], **limits: int) -> _core.Tree:
    """Grow a density tree on some rows."""
    return _core.grow_density_tree(
        data.columns, weights=data.weights, rows=rows, low=data.low, high=data.high, **limits
    )


def prune_density(
    tree: _core.Tree,
    data: BoxedRows,
    rows: npt.NDArray[np.uint32],
    *,
    cv: Any,
    given: GivenRows,
    key: int,
    n_threads: int,
    **limits: int,
) -> Pruned:
    """Choose the nested tree of least cross-validated error."""
    steps_of = matching_steps(_core.cost_complexity_path(tree, False)["alpha"])
    no_target = RegressionTarget(np.zeros((data.table.n_rows, 1)), is_multi_output=False)
    errors = []
    for outside, inside in folds(no_target, rows, cv, key, given=given):
        fold_tree = grow_density(data, outside, **limits)
        path = _core.cost_complexity_path(fold_tree, False)
        held = _weight_per_node(fold_tree, data, inside, n_threads)
        density = fold_tree.value[:, 0, 0]
        share = fold_tree.weighted_n_node_samples / fold_tree.weighted_n_node_samples[0]
        errors.append(
            leaf_sums(fold_tree, path, density * (share - 2 * held / held[0]))[steps_of(path["alpha"])]
        )
    spread = (
        np.std(errors, axis=0, ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.zeros(len(errors[0]))
    )
    return prune_by_table(tree, Judgement(np.mean(errors, axis=0), spread), "cv", by_error=False)


def _weight_per_node(
    tree: _core.Tree, data: BoxedRows, rows: npt.NDArray[np.uint32], n_threads: int
) -> FloatArray:
    """Sum up the weights of rows in every node that they pass."""
    leaves = Ensemble((tree,), data.table.schema).leaves(data.table, n_threads=n_threads)[rows, 0]
    weight = np.bincount(leaves, weights=data.weights_of(rows), minlength=tree.node_count).astype(np.float64)
    parent = tree.parent.tolist()
    for node in range(tree.node_count - 1, 0, -1):  # breadth-first backwards: children before parents
        weight[parent[node]] += weight[node]
    return weight


def leaf_boxes(
    tree: _core.Tree, low: FloatArray, high: FloatArray
) -> tuple[npt.NDArray[np.int64], FloatArray, FloatArray]:
    """Return the leaves of a tree and the lower and upper corner of the box of each."""
    lows, highs = {0: low}, {0: high}
    for node in range(tree.node_count):
        if not tree.n_branches[node]:
            continue
        feature, threshold, first = tree.feature[node], tree.threshold[node], int(tree.first_child[node])
        node_low, node_high = lows.pop(node), highs.pop(node)
        lows[first], highs[first + 1] = node_low, node_high
        highs[first], lows[first + 1] = node_high.copy(), node_low.copy()
        highs[first][feature] = lows[first + 1][feature] = threshold
    leaves = np.array(sorted(lows), dtype=np.int64)
    return leaves, np.stack([lows[leaf] for leaf in leaves]), np.stack([highs[leaf] for leaf in leaves])
