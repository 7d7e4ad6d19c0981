"""Steps of a loss of the user's own, kept from going far beyond the minimum.

A leaf takes Newton's step, which ends where a parabola has its minimum. Where the loss bends less and less,
that is far too long: the next round has to come back from farther away, and the scores run away. The losses
of this library know where their minimum is (cpp/boost/losses.cpp); of a loss of the user's own only its slope
can be asked for. A step is at most about twice the way to the minimum if half of it does not pass it, so a
step is halved until the slope at its half has the sign it has at its start.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Schema
from hornbeam.model import tree_from_arrays, tree_to_arrays
from hornbeam.recipes.boosting.losses import OwnLoss, OwnLossError

__all__ = ["refuse_endless_steps", "ways_to_go", "with_leaves_times"]

FloatArray = npt.NDArray[np.float64]
LeafArray = npt.NDArray[np.int32]

# A step of 2^100 is beyond what float32 can tell from the next one; nothing is left of it after so many.
_MOST_HALVINGS = 100


def refuse_endless_steps(trees: Sequence[_core.Tree]) -> None:
    """Raise if a step is not finite."""
    for tree in trees:
        endless = tree.value[~np.isfinite(tree.value)]
        if endless.size:
            raise OwnLossError(
                "loss: the step of a leaf, which is learning_rate times the sum of its gradients over that "
                f"of its hessians, is {endless[0]}, beyond all numbers of float32. Let gradient_hessian "
                "return larger hessians or smaller gradients, lower learning_rate, or raise "
                "l2_regularization."
            )


def ways_to_go(
    loss: OwnLoss,
    y: FloatArray,
    *,
    scores: FloatArray,
    steps: FloatArray,
    slopes: FloatArray,
    leaves: LeafArray,
    weights: FloatArray,
) -> list[FloatArray]:
    """Say which part of its step each node of each tree should go: an array per tree.

    `scores` and `steps` are rows x trees: where rows are, and the whole of Newton's steps; `slopes` are the
    derivatives there, times the weights. `weights` are 0 for rows that the trees have not seen.
    """
    n_trees = leaves.shape[1]
    parts = [np.ones(int(leaves[:, k].max()) + 1) for k in range(n_trees)]
    before = [_sums(leaves[:, k], slopes[:, k] * (weights > 0)) for k in range(n_trees)]
    for _ in range(_MOST_HALVINGS):
        taken = np.stack([parts[k][leaves[:, k]] for k in range(n_trees)], axis=1)
        with np.errstate(all="ignore"):  # far away a loss may be larger than any number
            there = loss.slopes(y, scores + 0.5 * taken * steps) * weights[:, np.newaxis]
        passed = False
        for k in range(n_trees):
            after = _sums(leaves[:, k], np.where(weights > 0, there[:, k], 0.0))
            beyond = ~(before[k] * after >= 0) | ~np.isfinite(after)
            parts[k][beyond] /= 2
            passed = passed or bool(beyond.any())
        if not passed:
            break
    return parts


def _sums(leaves: LeafArray, values: FloatArray) -> FloatArray:
    sums: FloatArray = np.bincount(leaves, weights=values).astype(np.float64)
    return sums


def with_leaves_times(tree: _core.Tree, parts: FloatArray, schema: Schema) -> _core.Tree:
    """Return a tree whose leaves say a part of what they said; inner nodes say the mean of their rows."""
    arrays = tree_to_arrays(tree)
    value = arrays["value"].copy()
    value[: len(parts)] *= parts[:, np.newaxis, np.newaxis]
    weight = arrays["weighted_n_node_samples"]
    for node in np.flatnonzero(arrays["first_child"] >= 0)[::-1]:
        first = int(arrays["first_child"][node])
        children = slice(first, first + int(arrays["n_branches"][node]))
        value[node] = np.average(value[children], axis=0, weights=weight[children])
    return tree_from_arrays({**arrays, "value": value}, schema)
