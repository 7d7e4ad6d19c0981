"""Rows held out of a fit to judge it: a validation part, or folds.

In: the target and the rows that count. Out: row numbers. Classes keep their shares in every part, as nearly
as whole rows allow. All draws follow from the key of the fit.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.encode import Encoded
from hornbeam.data.table import Table
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.model import EncodedRows

__all__ = ["GivenRows", "GrowingData", "HeldOut", "folds", "hold_out", "refuse_one_class", "taken"]

RowArray = npt.NDArray[np.uint32]
GroupArray = npt.NDArray[np.int32]  # for all rows of a table: which of them belong together
Target = ClassTarget | RegressionTarget


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows to judge a model by, their targets and their weights (None: 1 each)."""

    rows: Table | EncodedRows
    target: Target
    weights: npt.NDArray[np.float64] | None

    def targets(self) -> dict[str, Any]:
        """Return targets and weights as the core takes them."""
        target = self.target
        return {
            "classes": target.codes.ravel() if isinstance(target, ClassTarget) else None,
            "reals": target.values.ravel() if isinstance(target, RegressionTarget) else None,
            "weights": self.weights,
        }


@dataclass(frozen=True, eq=False)
class GivenRows:
    """How the user numbers rows: X has `n_rows`, of which a table has those in `kept` (None: all)."""

    n_rows: int
    kept: npt.NDArray[np.intp] | None = None

    def places(self, rows: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Find rows of the table by their positions in X: for each row of X its place, or -1."""
        found = np.full(self.n_rows, -1, dtype=np.int64)
        found[rows if self.kept is None else self.kept[rows]] = rows
        return found


@dataclass(frozen=True, eq=False)
class GrowingData:
    """What trees are grown and judged on: an encoded table, targets, weights, and the rows that count.

    `grow` makes a tree of some of the rows.
    """

    encoded: Encoded
    target: Target
    weights: npt.NDArray[np.float64] | None
    rows: RowArray
    key: int
    grow: Callable[[RowArray], _core.Tree]
    given: GivenRows
    groups: GroupArray | None = None

    def held_out(self, rows: RowArray) -> HeldOut:
        """Return some of the rows, to judge a tree that has not seen them."""
        return HeldOut(
            EncodedRows(self.encoded.codes, rows),
            taken(self.target, rows),
            None if self.weights is None else self.weights[rows],
        )

    def fold_trees(self, cv: Any) -> Iterator[tuple[_core.Tree, HeldOut]]:
        """Grow a tree outside every fold; yield it with the rows inside."""
        for outside, inside in folds(
            self.target, self.rows, cv, self.key, given=self.given, groups=self.groups
        ):
            yield self.grow(outside), self.held_out(inside)


def taken(target: Target, rows: npt.NDArray[Any]) -> Target:
    """Keep the targets of some rows."""
    if isinstance(target, ClassTarget):
        return replace(target, codes=target.codes[rows])
    return replace(target, values=target.values[rows])


def hold_out(
    target: Target, rows: RowArray, fraction: float, key: int, groups: GroupArray | None = None
) -> tuple[RowArray, RowArray]:
    """Draw a share of the rows for validation; return the rows to fit on and those to validate on.

    Rows of one group are drawn together, which makes the share an approximate one.
    """
    n_held = round(fraction * len(rows))
    if not 0 < n_held < len(rows):
        raise ValueError(
            f"validation_fraction={fraction} of {len(rows)} row(s) leaves {n_held} to validate on and "
            f"{len(rows) - n_held} to fit on. Give more rows, another fraction, or X_val and y_val."
        )
    if groups is not None:
        order = _shuffled_groups(groups[rows], key)
        is_held_group = np.cumsum(np.bincount(groups[rows])[order]) <= n_held
        is_held_group[0] = True  # a group that is too large is better than none
        is_held = np.isin(groups[rows], order[is_held_group])
        if is_held.all():
            raise ValueError("A validation part needs at least two groups; all rows belong to one.")
        return rows[~is_held], rows[is_held]
    shuffled = _shuffled_by_class(target, rows, key)
    # Every (1 / fraction)-th of the rows sorted by class, so that each class contributes its share.
    chosen = (np.arange(n_held) + 0.5) * len(rows) // n_held
    is_held = np.zeros(len(rows), dtype=np.bool_)
    is_held[chosen.astype(np.int64)] = True
    return np.sort(shuffled[~is_held]), np.sort(shuffled[is_held])


def folds(
    target: Target,
    rows: RowArray,
    cv: Any,
    key: int,
    *,
    given: GivenRows,
    groups: GroupArray | None = None,
) -> Iterator[tuple[RowArray, RowArray]]:
    """Yield the rows to fit on and those to validate on, fold by fold.

    `cv` is a number of folds, a splitter of scikit-learn or an iterable of pairs of positions in X as it was
    given; positions of rows without weight are ignored. Rows of one group are in one fold; a splitter is
    given the groups and may use them as it likes.
    """
    of_rows = None if groups is None else groups[rows]
    if isinstance(cv, int | np.integer):
        if of_rows is None:
            yield from _random_folds(target, rows, int(cv), key)
        else:
            yield from _group_folds(rows, of_rows, int(cv), key)
        return
    if hasattr(cv, "split"):
        pairs = cv.split(np.zeros((len(rows), 1)), _labels(target)[rows], of_rows)
        places = rows.astype(np.int64)
    else:
        pairs, places = cv, given.places(rows)
    for number, (fit, held) in enumerate(pairs):
        fit_rows, held_rows = (_at(places, positions, number) for positions in (fit, held))
        if not (len(fit_rows) and len(held_rows)):
            raise ValueError(
                f"cv: fold {number} has {len(fit_rows)} row(s) with weight to fit and {len(held_rows)} to "
                "judge."
            )
        yield np.sort(fit_rows), held_rows


def _at(places: npt.NDArray[np.int64], positions: Any, fold: int) -> RowArray:
    """Find the rows at some positions, leaving out those that are not there."""
    try:
        found = places[np.asarray(positions)]
    except IndexError:
        raise ValueError(
            f"cv: fold {fold} has positions beyond the {len(places)} rows of X. Positions count from "
            "0, in X as it is given to fit."
        ) from None
    rows: RowArray = found[found >= 0].astype(np.uint32)
    return rows


def _random_folds(
    target: Target, rows: RowArray, n_folds: int, key: int
) -> Iterator[tuple[RowArray, RowArray]]:
    if n_folds > len(rows):
        raise ValueError(f"cv={n_folds} folds need at least as many rows; there are {len(rows)}.")
    shuffled = _shuffled_by_class(target, rows, key)
    fold_of = np.arange(len(rows)) % n_folds
    for fold in range(n_folds):
        yield np.sort(shuffled[fold_of != fold]), np.sort(shuffled[fold_of == fold])


def _group_folds(
    rows: RowArray, groups: GroupArray, n_folds: int, key: int
) -> Iterator[tuple[RowArray, RowArray]]:
    order = _shuffled_groups(groups, key)
    if n_folds > len(order):
        raise ValueError(f"cv={n_folds} folds need at least as many groups; there are {len(order)}.")
    for fold in range(n_folds):
        inside = np.isin(groups, order[fold::n_folds])
        yield rows[~inside], rows[inside]


def _shuffled_groups(groups: GroupArray, key: int) -> GroupArray:
    shuffled: GroupArray = np.random.default_rng(key).permutation(np.unique(groups))
    return shuffled


def refuse_one_class(held: HeldOut, *, what: str, way_out: str) -> None:
    """Raise if the rows hold a single class of an output that has more: they could not judge a model."""
    if not isinstance(held.target, ClassTarget):
        return
    counted = held.target.codes if held.weights is None else held.target.codes[held.weights > 0]
    for labels, codes in zip(held.target.classes, counted.T, strict=True):
        if len(labels) > 1 and len(np.unique(codes)) == 1:
            (label,) = labels[codes[:1]].tolist()
            raise ValueError(
                f"{what} holds {len(codes)} row(s), all of class {label!r}: errors on it say "
                f"nothing about the other class(es). {way_out}"
            )


def _shuffled_by_class(target: Target, rows: RowArray, key: int) -> RowArray:
    """Put rows in random order, those of one class together."""
    shuffled = np.random.default_rng(key).permutation(rows)
    if not isinstance(target, ClassTarget):
        return shuffled
    by_class: RowArray = shuffled[np.lexsort(target.codes[shuffled].T[::-1])]
    return by_class


def _labels(target: Target) -> npt.NDArray[Any]:
    """Return y as splitters take it."""
    values: npt.NDArray[Any] = target.codes if isinstance(target, ClassTarget) else target.values
    return values if target.is_multi_output else values[:, 0]
