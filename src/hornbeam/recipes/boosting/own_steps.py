"""Limits the steps of a user-defined loss, which may go far beyond the minimum.

A leaf takes Newton's step, which ends at the minimum of a parabola. Where the curvature of the loss
decreases, that is far too long: the next round must come back from even farther away, and the scores diverge.
For the losses of this library the minimum is known (cpp/boost/losses.cpp); a user-defined loss can only be
asked for its slope. A step is at most about twice the way to the minimum if its first half does not pass it,
so a step is halved until the slope halfway has the same sign as at the start.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Schema
from hornbeam.model import tree_from_arrays, tree_to_arrays
from hornbeam.recipes.boosting.losses import OwnLoss, OwnLossError
from hornbeam.recipes.boosting.rounds import users_code

__all__ = [
    "counted_weights",
    "refuse_endless_steps",
    "shortened",
    "ways_to_go",
    "weighted_derivatives",
    "with_leaves_times",
]

FloatArray = npt.NDArray[np.float64]
Float32Array = npt.NDArray[np.float32]
LeafArray = npt.NDArray[np.int32]

# After this many halvings nothing is left of the longest step.
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


def shortened(
    trees: Sequence[_core.Tree],
    loss: OwnLoss,
    y: FloatArray,
    *,
    before: FloatArray,
    after: FloatArray,
    slopes: FloatArray,
    leaves: LeafArray,
    weights: FloatArray,
    learning_rate: float,
    is_monotonic: bool,
    schema: Schema,
) -> tuple[list[_core.Tree], FloatArray]:
    """Shorten steps that go more than twice as far as their minimum; return the trees, and scores after them.

    `before` and `after` are the scores of all rows, rows x trees, before and after the trees as they are.
    """
    refuse_endless_steps(trees)
    taken = after - before
    with users_code():
        parts = ways_to_go(
            loss,
            y,
            scores=before,
            steps=taken / learning_rate,
            slopes=slopes,
            leaves=leaves,
            weights=weights,
        )
    if all((part == 1).all() for part in parts):
        return list(trees), after
    if is_monotonic:  # leaves that are shortened by one factor keep their order
        parts = [np.full(len(part), part.min()) for part in parts]
    by_row = np.stack([part[leaves[:, k]] for k, part in enumerate(parts)], axis=1)
    shorter = [with_leaves_times(tree, part, schema) for tree, part in zip(trees, parts, strict=True)]
    return shorter, before + taken * by_row


def counted_weights(
    n_rows: int, rows: npt.NDArray[np.uint32] | None, weights: npt.NDArray[np.float32] | None
) -> FloatArray:
    """Return the weights of rows, 0 for those that trees have not grown on.

    No rows stand for all rows, no weights for weights of 1.
    """
    counted = np.ones(n_rows) if rows is None else np.zeros(n_rows)
    if rows is not None:
        counted[rows] = 1.0
    return counted if weights is None else counted * weights


def weighted_derivatives(
    loss: OwnLoss, y: FloatArray, scores: FloatArray, weights: npt.NDArray[np.float32] | None
) -> tuple[Float32Array, Float32Array]:
    """Ask a loss for its derivatives, times the weights: both scores x rows, as the core takes them."""
    with users_code():
        pair = loss.derivatives(y, scores)
    factors = 1.0 if weights is None else weights[:, np.newaxis]
    with np.errstate(over="ignore"):  # the core counts in float32
        gradients, hessians = ((own * factors).T.astype(np.float32) for own in pair)
    return gradients, hessians


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
    """Say what part of its step each node of each tree should take: an array per tree.

    `scores` and `steps` are rows x trees: where rows are, and the whole of Newton's steps; `slopes` are the
    derivatives there, times the weights. `weights` are 0 for rows that the trees have not seen.
    """
    n_trees = leaves.shape[1]
    parts = [np.ones(int(leaves[:, k].max()) + 1) for k in range(n_trees)]
    before = [_sums(leaves[:, k], slopes[:, k] * (weights > 0)) for k in range(n_trees)]
    for _ in range(_MOST_HALVINGS):
        taken = np.stack([parts[k][leaves[:, k]] for k in range(n_trees)], axis=1)
        with np.errstate(all="ignore"):  # far away a loss may overflow
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
    """Return a tree with the values of its leaves scaled; inner nodes get the mean of their rows."""
    arrays = tree_to_arrays(tree)
    value = arrays["value"].copy()
    value[: len(parts)] *= parts[:, np.newaxis, np.newaxis]
    weight = arrays["weighted_n_node_samples"]
    for node in np.flatnonzero(arrays["first_child"] >= 0)[::-1]:
        first = int(arrays["first_child"][node])
        children = slice(first, first + int(arrays["n_branches"][node]))
        value[node] = np.average(value[children], axis=0, weights=weight[children])
    return tree_from_arrays({**arrays, "value": value}, schema)
