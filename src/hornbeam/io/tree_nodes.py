"""Nodes of many trees, end to end: what writing and reading them share."""

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from hornbeam.data.table import Schema
from hornbeam.errors import ModelFormatError

__all__ = [
    "NO_CHILD",
    "NO_FEATURE",
    "NO_TABLE",
    "NO_THRESHOLD",
    "STATISTICS",
    "WEIGHTS",
    "AnyArray",
    "Arrays",
    "Nodes",
    "numbers_of_categories",
    "shares_of",
    "sums_of",
    "table_sizes",
]

AnyArray = npt.NDArray[Any]
Arrays = dict[str, AnyArray]

# What the fit saw in each node. Predictions need none of it, except for the weights if unseen="majority".
WEIGHTS = "weighted_n_node_samples"
STATISTICS = frozenset({"n_node_samples", "impurity", "gain", WEIGHTS})

NO_CHILD = -1
NO_FEATURE = -2
NO_THRESHOLD = -2.0
NO_TABLE = -1


class Nodes:
    """Which nodes, end to end, belong to which tree."""

    def __init__(self, counts: AnyArray, first_tree: int = 0) -> None:
        self.counts = counts
        self.ends = np.cumsum(counts)
        self.starts = self.ends - counts
        self._first_tree = first_tree

    def running_totals(self, values: AnyArray) -> AnyArray:
        """Add up, for each node, the values of the nodes before it in its tree."""
        before: AnyArray = np.cumsum(values, dtype=np.int64)
        before -= values
        if len(self.counts) > 1:
            before -= np.repeat(before[self.starts], self.counts)
        return before

    def totals(self, values: AnyArray) -> AnyArray:
        """Add up the values of each tree."""
        return np.add.reduceat(values, self.starts, dtype=np.int64)

    def refuse(self, wrong: AnyArray, what: str) -> None:
        """Raise if a node is wrong, naming the first."""
        if wrong.any():
            self.refuse_node(int(np.argmax(wrong)), what)

    def refuse_node(self, position: int, what: str) -> NoReturn:
        """Raise, naming a node."""
        tree = int(np.searchsorted(self.ends, position, side="right"))
        self.refuse_tree(tree, f"node {position - int(self.starts[tree])}: {what}")

    def refuse_tree(self, tree: int, what: str) -> NoReturn:
        """Raise, naming a tree."""
        raise ModelFormatError(f"tree {self._first_tree + tree}: {what}")


def numbers_of_categories(schema: Schema) -> AnyArray:
    """Return the number of categories of each feature, 0 for those that are not categorical."""
    return np.array(
        [
            len(categories or ()) if kind == "categorical" else 0
            for kind, categories in zip(schema.kinds, schema.categories, strict=True)
        ],
        dtype=np.int64,
    )


def table_sizes(feature: AnyArray, n_branches: AnyArray, n_categories: AnyArray) -> AnyArray:
    """Return how many words the table of categories of each node has: none at a leaf and for a threshold.

    Entries are branch numbers, of 1 bit each if there are two branches, else of 8, 16 or 32.
    """
    sizes = np.zeros(len(feature), dtype=np.int64)
    if n_categories.any():
        inner = n_branches > 0
        n = n_branches[inner]
        bits = np.select([n <= 2, n <= 2**8, n <= 2**16], [1, 8, 16], 32)
        # take(), as NumPy crashes where memory ends while it widens short integers in brackets
        sizes[inner] = (n_categories.take(feature[inner]) * bits + 31) // 32
    return sizes


def sums_of(counts: AnyArray) -> AnyArray:
    """Add up the counts of each node and output, as float64, which is exact.

    Class by class: numpy takes long for many sums of a few numbers each.
    """
    sums: AnyArray = counts[:, :, 0].astype(np.int64)
    for k in range(1, counts.shape[2]):
        sums += counts[:, :, k]
    return sums.astype(np.float64)


def shares_of(counts: AnyArray, sums: AnyArray) -> AnyArray:
    """Divide the counts of classes by their sums."""
    shares = np.empty(counts.shape)
    for k in range(counts.shape[2]):
        np.divide(counts[:, :, k], sums, out=shares[:, :, k])
    return shares
