"""Shapley values by their definition: what a tree says is worked out for every set of known columns.

In:  trees of the core, one row as a list of values (as in prediction.py), a row of a background or None.
Out: the worth of all 2^M sets of columns, sets numbered by their bits; and from it each column's part.

The games: at a test on a known column the row takes its own branches, whatever its policy for missing values
says; at any other it takes all branches in the shares of the rows of the fit, or those of the other row.
A row without an answer at a known column (policy "available") takes all branches there, too.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from hornbeam import _core

from .prediction import branches_taken

Row = Sequence[float]
Values = Callable[[int], np.ndarray]


def _shares(
    tree: _core.Tree, node: int, row: Row | None, categories: Sequence[int], majority: bool
) -> np.ndarray:
    """The share of a row that takes each branch; without a row, of the rows of the fit."""
    first, n = int(tree.first_child[node]), int(tree.n_branches[node])
    taken = [] if row is None else branches_taken(tree, node, row, categories, unseen_to_majority=majority)
    if not taken:
        weights = tree.weighted_n_node_samples[first : first + n]
        return weights / weights.sum() if weights.sum() > 0 else np.full(n, 1 / n)
    shares = np.zeros(n)
    for branch, share in taken:
        shares[branch] += share
    return shares


def worth_of_sets(
    tree: _core.Tree,
    values: Values,
    row: Row,
    other: Row | None,
    categories: Sequence[int],
    *,
    unseen_to_majority: bool = False,
) -> np.ndarray:
    """What the tree says if only some columns of the row are known, for all sets: sets x values."""
    sets = np.arange(2 ** len(categories))
    total: np.ndarray = np.zeros((len(sets), len(values(0))))
    waiting = [(0, np.ones(len(sets)))]
    while waiting:
        node, share = waiting.pop()
        if tree.first_child[node] < 0:
            total += share[:, None] * values(node)
            continue
        known = (sets >> int(tree.feature[node]) & 1).astype(bool)
        inside = _shares(tree, node, row, categories, unseen_to_majority)
        outside = _shares(tree, node, other, categories, unseen_to_majority)
        for branch in range(int(tree.n_branches[node])):
            child = int(tree.first_child[node]) + branch
            waiting.append((child, share * np.where(known, inside[branch], outside[branch])))
    return total


def shapley_values(worth: np.ndarray) -> np.ndarray:
    """The mean of what a column adds over all orders in which columns become known: columns x values."""
    n = int(math.log2(len(worth)))
    sets = np.arange(len(worth))
    size = np.array([bin(s).count("1") for s in sets])
    parts = np.zeros((n, worth.shape[1]))
    for i in range(n):
        without = sets[sets >> i & 1 == 0]
        weight = [math.factorial(s) * math.factorial(n - s - 1) / math.factorial(n) for s in size[without]]
        parts[i] = np.array(weight) @ (worth[without | 1 << i] - worth[without])
    return parts


def shapley_pairs(worth: np.ndarray) -> np.ndarray:
    """Shares of the values of pairs, half for each order, and on the diagonal what is left of each column."""
    n = int(math.log2(len(worth)))
    sets = np.arange(len(worth))
    size = np.array([bin(s).count("1") for s in sets])
    pairs = np.zeros((n, n, worth.shape[1]))
    for i in range(n):
        for j in range(n):
            if i == j:
                continue
            both = 1 << i | 1 << j
            without = sets[sets & both == 0]
            weight = [
                math.factorial(s) * math.factorial(n - s - 2) / (2 * math.factorial(n - 1))
                for s in size[without]
            ]
            delta = worth[without | both] - worth[without | 1 << i] - worth[without | 1 << j] + worth[without]
            pairs[i, j] = np.array(weight) @ delta
    for i, part in enumerate(shapley_values(worth)):
        pairs[i, i] = part - pairs[i].sum(axis=0)
    return pairs
