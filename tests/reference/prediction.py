"""Answers of trees the slow and obvious way: one row, one tree, one test at a time, in plain Python.

In:  trees of the core, rows as columns (floats with NaN for missing; category codes with -1 for missing and
     -2 for categories the model has not seen).
Out: leaves [row, tree], and scores [row, output, value].
"""

import math
from collections.abc import Sequence

import numpy as np

from hornbeam import _core

MISSING, UNSEEN = -1, -2


def branch(tree: _core.Tree, node: int, value: float, n_categories: int, *, unseen_to_majority: bool) -> int:
    """The branch that a value takes; `n_categories` is 0 for a numeric column."""
    missing = int(tree.missing_branch[node])
    if n_categories == 0:
        return missing if math.isnan(value) else int(value > tree.threshold[node])
    if value == UNSEEN and unseen_to_majority:
        first, n = int(tree.first_child[node]), int(tree.n_branches[node])
        return int(np.argmax(tree.weighted_n_node_samples[first : first + n]))
    return missing if value < 0 else int(tree.branches_of_categories(node, n_categories)[int(value)])


def leaf(
    tree: _core.Tree, row: Sequence[float], categories: Sequence[int], *, unseen_to_majority: bool
) -> int:
    """The leaf of one row."""
    node = 0
    while tree.first_child[node] >= 0:
        feature = int(tree.feature[node])
        node = int(tree.first_child[node]) + branch(
            tree, node, row[feature], categories[feature], unseen_to_majority=unseen_to_majority
        )
    return node


def branches_taken(
    tree: _core.Tree, node: int, row: Sequence[float], categories: Sequence[int], *, unseen_to_majority: bool
) -> list[tuple[int, float]]:
    """The branches that a row takes, with the share of it that takes each."""
    feature = int(tree.feature[node])
    value, n_categories = row[feature], categories[feature]
    is_known = value >= 0 if n_categories else not math.isnan(value)
    if is_known or (n_categories and value == UNSEEN and unseen_to_majority):
        return [(branch(tree, node, value, n_categories, unseen_to_majority=unseen_to_majority), 1.0)]
    if tree.gaps == "available":
        return []
    if tree.gaps == "fractional":
        first, n = int(tree.first_child[node]), int(tree.n_branches[node])
        weights = tree.weighted_n_node_samples[first : first + n]
        return [(b, float(w / weights.sum())) for b, w in enumerate(weights)]
    for s in range(*tree.surrogate_begin[node : node + 2]) if len(tree.surrogate_begin) else ():
        other = int(tree.surrogate_feature[s])
        if categories[other]:
            if row[other] >= 0:
                return [(int(tree.surrogate_branches(s, categories[other])[int(row[other])]), 1.0)]
        elif not math.isnan(row[other]):
            low = int(tree.surrogate_low_branch[s])
            return [(low if row[other] <= tree.surrogate_threshold[s] else 1 - low, 1.0)]
    return [(int(tree.missing_branch[node]), 1.0)]


def shares_of_leaves(
    tree: _core.Tree, row: Sequence[float], categories: Sequence[int], *, unseen_to_majority: bool = False
) -> dict[int, float]:
    """The leaves that a row reaches, with the share of it that does."""
    shares: dict[int, float] = {}
    waiting = [(0, 1.0)]
    while waiting:
        node, share = waiting.pop()
        if tree.first_child[node] < 0:
            shares[node] = share
            continue
        taken = branches_taken(tree, node, row, categories, unseen_to_majority=unseen_to_majority)
        waiting += [(int(tree.first_child[node]) + b, share * s) for b, s in taken]
    return shares


def leaves(
    trees: Sequence[_core.Tree],
    columns: Sequence[np.ndarray],
    categories: Sequence[int],
    *,
    unseen_to_majority: bool = False,
) -> np.ndarray:
    """The leaf of every row in every tree."""
    rows = [tuple(float(column[i]) for column in columns) for i in range(len(columns[0]))]
    found = [
        [leaf(tree, row, categories, unseen_to_majority=unseen_to_majority) for tree in trees] for row in rows
    ]
    return np.array(found, dtype=np.int64).reshape(len(rows), len(trees))


def total(
    trees: Sequence[_core.Tree],
    found: np.ndarray,
    *,
    weights: np.ndarray | None = None,
    hard_votes: bool = False,
    adds_to: np.ndarray | None = None,
) -> np.ndarray:
    """The sum over the trees, in their order, of what the leaves `found` say."""
    n_outputs, n_values = trees[0].value.shape[1:]
    if adds_to is not None:
        n_values = int(adds_to.max()) + 1
    scores = np.zeros((len(found), n_outputs, n_values))
    for t, tree in enumerate(trees):
        says = np.array(tree.value[found[:, t]])
        if hard_votes:
            winner = says.argmax(axis=2)
            says = np.zeros_like(says)
            np.put_along_axis(says, winner[:, :, None], 1.0, axis=2)
        if weights is not None:
            says = says * weights[t]
        if adds_to is None:
            scores += says
        else:
            scores[:, :, adds_to[t]] += says[:, :, 0]
    return scores
