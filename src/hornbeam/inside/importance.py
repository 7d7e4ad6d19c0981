"""How much the features matter to trees: by what their splits have gained, or by how often they are asked."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Schema

__all__ = ["gain_per_row", "shares_of_gain", "shares_of_tests"]

FloatArray = npt.NDArray[np.float64]


def gain_per_row(tree: _core.Tree, node: int) -> float:
    """Return by how much a split lowers the mean impurity, or loss, of its rows: the gain that tables show.

    The tree stores the same times the weight of the node, which adds up over nodes.
    """
    weight = float(tree.weighted_n_node_samples[node])
    return float(tree.gain[node]) / weight if weight > 0 else 0.0


def shares_of_gain(trees: Sequence[_core.Tree], schema: Schema) -> FloatArray:
    """Attribute the gains of all splits to the user's columns, as shares that sum to 1, or are all 0."""
    gains = np.zeros(len(schema.names))
    for tree in trees:
        inner = tree.feature >= 0
        np.add.at(gains, tree.feature[inner], tree.gain[inner])
    return _shares(schema.folded(gains))


def shares_of_tests(trees: Sequence[_core.Tree], schema: Schema) -> FloatArray:
    """Attribute the tests of all trees to the user's columns, as shares."""
    tests = [tree.feature[tree.feature >= 0] for tree in trees]
    counts = np.bincount(np.concatenate(tests), minlength=len(schema.names)).astype(np.float64)
    return _shares(schema.folded(counts))


def _shares(parts: FloatArray) -> FloatArray:
    total = parts.sum()
    return parts / total if total > 0 else parts
