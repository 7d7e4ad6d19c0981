"""Accumulated local effects: what a step of a column changes for the rows near that step, added up.

Partial dependence gives every row every value, even values that it could never have. Here only the rows near
a threshold count: how much the model's score changes when they cross it. The changes are added up from the
lowest value on, and shifted so that their mean over the rows is 0 (Apley and Zhu, 2020). A model of trees
changes at its thresholds and nowhere else, so each threshold is crossed by itself, and the curve has no grid
error. "Near" means in the same of some bins with equally many rows. Categories have no order; they are put in
a line such that neighbours are alike in the other columns, and the rows of both neighbours count.

For two columns, the rows near both thresholds show what crossing both changes beyond crossing each. What the
single columns still contribute to the sum is taken out, so that only the joint effect is left.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.dates import DatePart
from hornbeam.data.wording import shown
from hornbeam.inside.effects import Asking, Explained, Grid, JointEffect, rows_at

__all__ = ["AccumulatedEffect", "accumulated_effect_of", "joint_accumulated_effect_of"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Numbers are divided into this many bins with equally many rows; for two columns, each of them is.
N_BINS = 20
N_BINS_OF_TWO = 8


@dataclass(frozen=True, eq=False, repr=False)
class AccumulatedEffect:
    """The effect of a column on the score, from rows that are near each of its steps: values (x outputs).

    `values` are as in `Effect`, categories in the order they were put in; the mean over the rows is 0.
    `missing` is what losing the value changes in the mean over the rows that have one, None if the model
    refuses that. `n_rows` counts the rows of X at each value. `part` and `of` are as in
    `Effect`.
    """

    column: str
    values: npt.NDArray[Any]
    mean: FloatArray
    missing: Any
    n_rows: IntArray
    is_number: bool
    is_exact: bool
    outputs: tuple[Any, ...] = ()
    part: DatePart | None = None
    of: Explained = "score"

    def __repr__(self) -> str:
        what = "steps" if self.is_number else "categories"
        return f"Accumulated effect of {shown(self.column)}: {len(self.values)} {what}"


def accumulated_effect_of(asking: Asking, grid: Grid) -> AccumulatedEffect:
    """Add up the changes that each step of a column makes for the rows near it."""
    grid = _in_a_line(asking, grid)
    known = _known_rows(grid)
    near = _rows_near_steps(grid, N_BINS)
    rows = np.concatenate([*near, np.zeros(0, dtype=np.int64)])
    step = np.repeat(np.arange(len(near)), [len(some) for some in near])
    jumps = asking.scores(rows, {grid.column: grid.codes[step + 1]})
    jumps -= asking.scores(rows, {grid.column: grid.codes[step]})
    curve = _accumulated(_means(jumps, step, len(near)), len(asking.whole.start))
    curve -= curve[grid.place[known]].mean(axis=0)
    missing = None
    if not asking.refuses_missing:
        without = asking.scores(known, {grid.column: grid.gap}) - asking.scores(known, {})
        missing = without.mean(axis=0).reshape(asking.whole.shape)[()]
    return AccumulatedEffect(
        column=grid.name,
        values=grid.values,
        mean=curve.reshape(len(curve), *asking.whole.shape),
        missing=missing,
        n_rows=np.bincount(grid.place[known], minlength=len(grid.codes)),
        is_number=grid.is_number,
        is_exact=grid.is_exact,
        outputs=asking.whole.outputs,
        part=grid.part,
        of=asking.of,
    )


def joint_accumulated_effect_of(asking: Asking, first: Grid, second: Grid) -> JointEffect:
    """Add up what crossing two steps at once changes beyond crossing each, without the single effects."""
    first, second = _in_a_line(asking, first), _in_a_line(asking, second)
    both = np.intersect1d(_known_rows(first, second), _known_rows(second, first))
    near = [
        [np.intersect1d(some, both) for some in _rows_near_steps(grid, N_BINS_OF_TWO)]
        for grid in (first, second)
    ]
    surface = _mixed_surface(asking, first, second, near)
    places = first.place[both], second.place[both]
    for axis in (0, 1):
        surface = surface - _main_effect(surface, near[axis], first.place, second.place, axis)
    surface = surface - surface[places].mean(axis=0)
    return JointEffect(
        kind="ale",
        columns=(first.name, second.name),
        values=(first.values, second.values),
        mean=surface.reshape(*surface.shape[:2], *asking.whole.shape),
        missing=None,
        n_rows=rows_at(first, second),
        is_number=(first.is_number, second.is_number),
        is_exact=first.is_exact and second.is_exact,
        outputs=asking.whole.outputs,
        parts=(first.part, second.part),
        of=asking.of,
    )


def _known_rows(*grids: Grid) -> IntArray:
    """Return the rows that have a value in all these columns."""
    has_value = np.logical_and.reduce([grid.place >= 0 for grid in grids])
    if not has_value.any():
        names = " and ".join(shown(grid.name) for grid in grids)
        raise ValueError(f"Accumulated effects need rows near each step; no row of X has a value of {names}.")
    return np.flatnonzero(has_value)


def _rows_near_steps(grid: Grid, n_bins: int) -> list[IntArray]:
    """Return the rows near each step from one value to the next: as many lists as steps."""
    known = _known_rows(grid)
    if grid.numbers is None:
        return [
            known[(grid.place[known] == step) | (grid.place[known] == step + 1)]
            for step in range(len(grid.codes) - 1)
        ]
    numbers = grid.numbers[known]
    last_of_bin = -(-len(numbers) * np.arange(1, n_bins) // n_bins) - 1
    inner = np.unique(np.sort(numbers)[last_of_bin])
    inner = inner[inner < numbers.max()]  # every bin has a row
    bin_of_row = np.searchsorted(inner, numbers)  # a bin ends with its edge
    bin_of_step = np.searchsorted(inner, grid.codes[:-1], side="right")  # what lies above an edge comes next
    members = [known[bin_of_row == one] for one in range(len(inner) + 1)]
    return [members[one] for one in bin_of_step.tolist()]


def _means(values: FloatArray, group: IntArray, n_groups: int) -> FloatArray:
    """Average values by group; the mean of no values is 0."""
    total = np.zeros((n_groups, values.shape[1]))
    np.add.at(total, group, values)
    return total / np.maximum(np.bincount(group, minlength=n_groups), 1)[:, np.newaxis]


def _accumulated(jumps: FloatArray, n_scores: int) -> FloatArray:
    """Add up jumps, from 0 on."""
    curve: FloatArray = np.zeros((len(jumps) + 1, n_scores))
    if len(jumps):
        curve[1:] = np.cumsum(jumps, axis=0)
    return curve


def _mixed_surface(asking: Asking, first: Grid, second: Grid, near: list[list[IntArray]]) -> FloatArray:
    """Add up what crossing two steps changes beyond crossing each: values x values x scores."""
    shape = len(near[0]), len(near[1])
    surface = np.zeros((shape[0] + 1, shape[1] + 1, len(asking.whole.start)))
    if not shape[0] or not shape[1]:
        return surface
    rows = _rows_near_both(near)
    row, at = np.concatenate(rows), np.repeat(np.arange(len(rows)), [len(some) for some in rows])
    low, left = at // shape[1], at % shape[1]

    def ask(up: int, over: int) -> FloatArray:
        values = {first.column: first.codes[low + up], second.column: second.codes[left + over]}
        return asking.scores(row, values)

    mixed = _means(ask(1, 1) - ask(1, 0) - ask(0, 1) + ask(0, 0), at, shape[0] * shape[1])
    surface[1:, 1:] = mixed.reshape(*shape, -1).cumsum(axis=0).cumsum(axis=1)
    return surface


def _rows_near_both(near: list[list[IntArray]]) -> list[IntArray]:
    """Return the rows near each pair of steps; where there are none, those near the closest pair with any."""
    found = [np.intersect1d(some, others, assume_unique=True) for some in near[0] for others in near[1]]
    sizes = np.array([len(some) for some in found]).reshape(len(near[0]), len(near[1]))
    filled = np.argwhere(sizes > 0)
    for k, m in np.argwhere(sizes == 0).tolist() if len(filled) else ():
        i, j = filled[np.square(filled - (k, m)).sum(axis=1).argmin()].tolist()
        found[k * len(near[1]) + m] = found[i * len(near[1]) + j]
    return found


def _main_effect(
    surface: FloatArray, near: list[IntArray], first: IntArray, second: IntArray, axis: int
) -> FloatArray:
    """Find the accumulated effect of one column in a surface, in a shape that can be subtracted."""
    other = (second, first)[axis]
    along = np.moveaxis(surface, axis, 0)
    jumps = np.array(
        [
            (along[step + 1][other[rows]] - along[step][other[rows]]).mean(axis=0)
            if len(rows)
            else np.zeros(surface.shape[-1])
            for step, rows in enumerate(near)
        ]
    ).reshape(len(near), surface.shape[-1])
    curve = _accumulated(jumps, surface.shape[-1])
    return np.expand_dims(curve, 1 - axis)


# --- Categories in a line --------------------------------------------------------------------------------


def _in_a_line(asking: Asking, grid: Grid) -> Grid:
    """Order categories so that neighbours are alike in other columns; those without a row are left out."""
    if grid.is_ordered:
        return grid
    present = np.unique(grid.place[grid.place >= 0])
    order = present[_order_of_likeness(_distances(asking, grid, present))]
    new_place = np.full(len(grid.codes) + 1, -1)  # the last entry is for rows without a value
    new_place[order] = np.arange(len(order))
    return replace(
        grid, values=grid.values[order], codes=grid.codes[order], place=new_place[grid.place], is_ordered=True
    )


def _distances(asking: Asking, grid: Grid, present: IntArray) -> FloatArray:
    """Say how much categories differ in the other columns: the largest difference of shares, added up."""
    group_at = np.full(len(grid.codes) + 1, -1)  # the last entry is for rows without a value
    group_at[present] = np.arange(len(present))
    group = group_at[grid.place]
    distances = np.zeros((len(present), len(present)))
    seen = {grid.column}
    for one, table in zip(asking.whole.sums, asking.tables, strict=True):
        for place, column in enumerate(table.columns):
            of_user = place if one.columns is None else int(one.columns[place])
            if of_user in seen:
                continue
            seen.add(of_user)
            unlike = _unlike_categories if column.kind == "categorical" else _unlike_numbers
            distances += unlike(column.dense(), group, len(present))
    return distances


def _unlike_categories(values: IntArray, group: IntArray, n_groups: int) -> FloatArray:
    """Find what two groups' shares of the categories do not have in common: half the sum of the differences.

    A category is in few groups where there are many, so they are gone through one by one: a table of groups x
    groups x categories can be larger than any memory.
    """
    known = (group >= 0) & (values >= 0)
    pairs, counts = np.unique(values[known].astype(np.int64) * n_groups + group[known], return_counts=True)
    category, owner = np.divmod(pairs, n_groups)
    n_rows = np.bincount(group[known], minlength=n_groups)
    shares = counts / n_rows[owner]
    unlike = np.add.outer(n_rows > 0, n_rows > 0, dtype=np.float64) / 2
    ends = np.r_[np.flatnonzero(np.diff(category, prepend=-1)), len(category)]
    for start, end in pairwise(ends.tolist()):
        some = owner[start:end]
        unlike[np.ix_(some, some)] -= np.minimum.outer(shares[start:end], shares[start:end])
    return np.maximum(unlike, 0)


def _unlike_numbers(values: npt.NDArray[Any], group: IntArray, n_groups: int) -> FloatArray:
    """Find the largest difference of two groups' cumulative shares at 21 quantiles of all rows."""
    numbers = values.astype(np.float64)
    known = ~np.isnan(numbers)
    edges = np.quantile(numbers[known], np.linspace(0, 1, 21)) if known.any() else np.zeros(21)
    n_rows = np.maximum(np.bincount(group[known & (group >= 0)], minlength=n_groups), 1)
    unlike = np.zeros((n_groups, n_groups))
    for edge in edges.tolist():
        below = known & (group >= 0) & (numbers <= edge)
        share = np.bincount(group[below], minlength=n_groups) / n_rows
        np.maximum(unlike, np.abs(share[:, np.newaxis] - share), out=unlike)
    return unlike


def _order_of_likeness(distances: FloatArray) -> IntArray:
    """Put things in a line by the first coordinate of classical scaling, the earlier end first."""
    n = len(distances)
    if n < 3:
        return np.arange(n)
    centre = np.eye(n) - 1 / n
    vectors = np.linalg.eigh(-0.5 * centre @ np.square(distances) @ centre)[1]
    line = np.round(vectors[:, -1], 9)
    order = np.argsort(line, kind="stable")
    return order if order[0] <= order[-1] else order[::-1]
