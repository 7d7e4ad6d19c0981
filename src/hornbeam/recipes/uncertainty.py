"""How certain a bag is: intervals, sets, standard errors and quantiles from its members' predictions.

In: predictions as an array of rows x members, and which member has seen which training row as an array of
members x training rows.

* Intervals: jackknife+-after-bootstrap (Kim, Xu, Barber 2020). Row i's own error and the answer to x both
  come from the members that have not seen i.
* Sets: the same idea for classes, whose error is 1 minus their share (Romano, Sesia, Candes 2020).
* Standard errors: the infinitesimal jackknife (Wager, Hastie, Efron 2014), corrected for few members.
* Quantiles: training targets, weighted by how often they share a leaf with x (Meinshausen 2006).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.units import unit_of

__all__ = ["LeafRows", "conformal_sets", "jackknife_intervals", "jackknife_std", "leaf_quantiles"]

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

_CELLS_AT_A_TIME = 2**22  # of tables that hold something per row and training row
_ROUNDING = 1e-9  # sums of the same shares in another order


def _stretches(n_rows: int, cells_per_row: int) -> Iterator[slice]:
    step = max(1, _CELLS_AT_A_TIME // max(1, cells_per_row))
    for begin in range(0, n_rows, step):
        yield slice(begin, min(begin + step, n_rows))


@dataclass(frozen=True, eq=False)
class _LeftOut:
    """The members that have not seen training row i: those from `begin[i]` to `begin[i + 1]`."""

    begin: npt.NDArray[np.int64]
    members: npt.NDArray[np.uint32]

    @staticmethod
    def of(left_out: BoolArray) -> "_LeftOut":
        """List them, from an array of members x training rows."""
        begin = np.concatenate([[0], np.cumsum(left_out.sum(axis=0))])
        return _LeftOut(begin.astype(np.int64), np.nonzero(left_out.T)[1].astype(np.uint32))


def jackknife_intervals(
    said: FloatArray, left_out: BoolArray, errors: FloatArray, alpha: float, n_threads: int = 1
) -> FloatArray:
    """Return intervals, rows x 2; `errors` are the out-of-bag errors of the training rows, not negative."""
    n = len(errors)
    low_rank, high_rank = int(np.floor(alpha * (n + 1))), int(np.ceil((1 - alpha) * (n + 1)))
    intervals = np.full((len(said), 2), [-np.inf, np.inf])
    if low_rank < 1 and high_rank > n:
        return intervals
    ranks = {"low_rank": max(low_rank, 1), "high_rank": min(high_rank, n)}
    without = _LeftOut.of(left_out)
    unit = unit_of(np.array([np.abs(said).max(initial=0.0), errors.max()]))  # in which sums are finite
    found = _core.bounds_without(
        np.ascontiguousarray(said / unit),
        without.begin,
        without.members,
        errors / unit,
        **ranks,
        n_threads=n_threads,
    )
    # A rank beyond the ends means that the interval is unbounded there.
    if low_rank >= 1:
        intervals[:, 0] = found[:, 0] * unit
    if high_rank <= n:
        intervals[:, 1] = found[:, 1] * unit
    return intervals


def conformal_sets(
    said: Sequence[FloatArray], left_out: BoolArray, errors: FloatArray, alpha: float, n_threads: int = 1
) -> BoolArray:
    """Tell which classes belong to each row's set: rows x classes; `said` has shares class by class."""
    n = len(errors)
    if n == 0:  # no row has been predicted by trees that have not seen it, so no class can be excluded
        return np.ones((len(said[0]), len(said)), dtype=np.bool_)
    without = _LeftOut.of(left_out)
    sets = np.empty((len(said[0]), len(said)), dtype=np.bool_)
    for label, shares in enumerate(said):
        n_better = _core.smaller_errors_without(
            np.ascontiguousarray(shares), without.begin, without.members, errors, _ROUNDING, n_threads
        )
        sets[:, label] = n_better < (1 - alpha) * (n + 1)
    return sets


def jackknife_std(
    said: FloatArray, times: npt.NDArray[np.uint32], *, n_draws: int, with_replacement: bool
) -> FloatArray:
    """Return the standard error of the mean answer to each row; `times` is members x units drawn.

    The variance due to the finite number of members is subtracted; the rest is at least 0.
    """
    n_members, n_units = times.shape
    unit = unit_of(said)
    centred = said / unit - (said / unit).mean(axis=1, keepdims=True)
    drawn = (times - times.mean(axis=0)) / n_members
    variance = _squared_lengths(centred, drawn)
    spread = np.square(centred).mean(axis=1)
    if with_replacement:
        by_chance = n_draws * (1 - 1 / n_units) * spread / n_members
    else:  # draws without replacement vary less
        share = n_draws / n_units
        by_chance = n_units * share * (1 - share) * spread / n_members
        scale = (n_units - 1) / n_units * (1 / (1 - share)) ** 2
        variance, by_chance = variance * scale, by_chance * scale
    deviation: FloatArray = np.sqrt(np.maximum(variance - by_chance, 0.0))
    return deviation * unit


def _squared_lengths(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """Return the squared length of each row times the matrix, avoiding that product if it would be large."""
    n_members, n_units = matrix.shape
    if n_members <= n_units:
        lengths: FloatArray = np.einsum("rm,rm->r", rows @ (matrix @ matrix.T), rows)
        return lengths
    lengths = np.empty(len(rows))
    for stretch in _stretches(len(rows), n_units):
        lengths[stretch] = np.square(rows[stretch] @ matrix).sum(axis=1)
    return lengths


@dataclass(frozen=True, eq=False)
class LeafRows:
    """The training rows of every leaf of every tree, and their targets.

    Those of tree t lie in `rows` from `tree_begin[t]` on, ordered by leaf. Those of its node k begin
    `node_begin[m + k]` further on, where m counts the nodes of the trees before it and one more for each.
    `weights` are those of the rows, None if all are equal.
    """

    rows: npt.NDArray[np.uint32]
    tree_begin: npt.NDArray[np.int64]
    node_begin: npt.NDArray[np.int64]
    targets: FloatArray
    weights: FloatArray | None

    @staticmethod
    def gathered(
        members: Sequence[tuple[_core.Tree, npt.NDArray[np.uint32], npt.NDArray[np.int32]]],
        targets: FloatArray,
        weights: FloatArray | None,
    ) -> "LeafRows":
        """Gather the rows of each tree's sample, given with the leaf that each falls into."""
        by_leaf = [rows[np.argsort(leaves, kind="stable")] for _, rows, leaves in members]
        begins = [
            np.searchsorted(np.sort(leaves), np.arange(tree.node_count + 1)) for tree, _, leaves in members
        ]
        return LeafRows(
            rows=np.concatenate(by_leaf),
            tree_begin=np.cumsum([0, *map(len, by_leaf)]),
            node_begin=np.concatenate(begins).astype(np.int64),
            targets=targets,
            weights=weights,
        )


def leaf_quantiles(
    kept: LeafRows,
    leaves: npt.NDArray[np.int32],
    node_counts: Sequence[int],
    times: Sequence[npt.NDArray[np.uint32]],
    quantiles: FloatArray,
) -> FloatArray:
    """Return quantiles of the targets that share leaves with each row: rows x outputs x quantiles.

    `leaves` are those of the rows, rows x trees; `times` tells how often each tree saw each training row.
    """
    result = np.empty((len(leaves), kept.targets.shape[1], len(quantiles)))
    per_row = max(1, len(kept.rows) // max(1, sum(node_counts) // 2))
    for stretch in _stretches(len(leaves), per_row * 8):
        owners, rows, weights = _neighbours(kept, leaves[stretch], node_counts, times)
        for output in range(kept.targets.shape[1]):
            values = kept.targets[rows, output]
            result[stretch, output] = _weighted_quantiles(owners, values, weights, quantiles)
    return result


def _neighbours(
    kept: LeafRows,
    leaves: npt.NDArray[np.int32],
    node_counts: Sequence[int],
    times: Sequence[npt.NDArray[np.uint32]],
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.uint32], FloatArray]:
    """List pairs that share a leaf: rows to predict, training rows, and weights that sum to 1 per tree."""
    owners, neighbours, weights = [], [], []
    node = 0
    for tree, n_nodes in enumerate(node_counts):
        begin = kept.node_begin[node + leaves[:, tree]]
        sizes = kept.node_begin[node + leaves[:, tree] + 1] - begin
        ends = np.cumsum(sizes)
        places = np.repeat(begin - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
        rows = kept.rows[kept.tree_begin[tree] + places]
        weight = times[tree][rows].astype(np.float64)
        if kept.weights is not None:
            weight *= kept.weights[rows]
        owner = np.repeat(np.arange(len(leaves)), sizes)
        weights.append(weight / np.bincount(owner, weight, minlength=len(leaves))[owner])
        owners.append(owner)
        neighbours.append(rows)
        node += n_nodes + 1
    return np.concatenate(owners), np.concatenate(neighbours), np.concatenate(weights)


def _weighted_quantiles(
    owners: npt.NDArray[np.int64], values: FloatArray, weights: FloatArray, quantiles: FloatArray
) -> FloatArray:
    """Return, for each owner, the smallest value up to which the given share of its weight lies."""
    order = np.lexsort((values, owners))
    owners, values = owners[order], values[order]
    cumulated = np.cumsum(weights[order])
    last = np.flatnonzero(np.diff(owners, append=owners[-1] + 1))
    first = np.concatenate([[0], last[:-1] + 1])
    before = np.concatenate([[0.0], cumulated[last[:-1]]])
    total = cumulated[last] - before
    found = np.empty((len(last), len(quantiles)))
    for position, quantile in enumerate(quantiles):
        # Slightly less, so that a share that is equal on paper is reached.
        wanted = before + total * quantile * (1 - _ROUNDING)
        places = np.clip(np.searchsorted(cumulated, wanted), first, last)
        found[:, position] = values[places]
    return found
