"""Bags of trees: each member grows on rows of its own, drawn from one encoded table.

A `BagPlan` says what is drawn: rows, or groups of rows that stay together, from all rows or class by class. A
member's sample follows from the plan and the member's number alone, so samples are never stored but drawn
again where they are needed. A `TreeBag` grows any range of members; the order in which ranges are grown does
not matter.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import isfinite
from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.encode import Encoded
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.model import EncodedRows, Ensemble
from hornbeam.params import resolve_max_samples
from hornbeam.recipes.clock import Clock
from hornbeam.recipes.footprint import refuse_tree_beyond_memory
from hornbeam.recipes.listen import Listener
from hornbeam.recipes.out_of_bag import OutOfBag
from hornbeam.recipes.single import GrowthSettings, warn_of_refused_thread, warn_of_weightless_rows

__all__ = [
    "Bag",
    "BagPlan",
    "GivenPlan",
    "MemberFeatures",
    "TreeBag",
    "fill",
    "fill_until_settled",
    "plan_draws",
]

UIntArray = npt.NDArray[np.uint32]
OffsetArray = npt.NDArray[np.uint64]

Member = TypeVar("Member")

_SECONDS_BETWEEN_REPORTS = 0.5

# n_estimators="auto": how many members are added between two checks of the out-of-bag error, the share by
# which it must fall from one check to the next, and the most members.
_MEMBERS_BETWEEN_LOOKS = 50
_LEAST_PROGRESS = 0.005
_MOST_MEMBERS = 1000


@dataclass(frozen=True, eq=False)
class BagPlan:
    """What the rows of the members of a bag are drawn from.

    `rows` lists the rows of all units, unit after unit; None means all rows of the table in order. Unit u has
    the rows from `unit_begin[u]` on; if that is None, each row is a unit. Stratum s has the units from
    `stratum_begin[s]` on, of which `draws_per_stratum[s]` are drawn, in proportion to `unit_weights` if there
    are any. The table has `n_rows` rows.
    """

    key: int
    with_replacement: bool
    n_rows: int
    rows: UIntArray | None
    unit_begin: OffsetArray | None
    stratum_begin: OffsetArray
    draws_per_stratum: OffsetArray
    unit_weights: npt.NDArray[np.float64] | None = None

    @cached_property
    def n_draws(self) -> int:
        """Number of units drawn for each member, repetitions counted."""
        return int(self.draws_per_stratum.sum())

    @property
    def n_units(self) -> int:
        """Number of units to draw from."""
        return int(self.stratum_begin[-1])

    @cached_property
    def leaves_rows_out(self) -> bool:
        """Whether samples usually leave out some rows."""
        return self.with_replacement or self.n_draws < self.n_units

    @cached_property
    def draws(self) -> _core.BagDraws:
        """The plan as the core takes it."""
        return _core.BagDraws(**{field.name: getattr(self, field.name) for field in fields(self)})

    def times(self, member: int) -> UIntArray:
        """Tell how often each row of the table is in the sample of a member."""
        return self.draws.times(member)

    def unit_times(self, member: int) -> UIntArray:
        """Tell how often each unit is in the sample of a member."""
        return self.draws.unit_times(member)

    def rows_left_out(self, member: int) -> UIntArray:
        """List the rows that could have been drawn for a member and were not, in ascending order."""
        left_out = self.times(member) == 0
        if self.rows is not None:
            left_out &= self._is_drawable
        return np.flatnonzero(left_out).astype(np.uint32)

    @cached_property
    def _is_drawable(self) -> npt.NDArray[np.bool_]:
        drawable = np.zeros(self.n_rows, dtype=np.bool_)
        drawable[self.rows] = True
        return drawable

    @property
    def n_drawable(self) -> int:
        """Number of rows to draw from."""
        return self.n_rows if self.rows is None else len(self.rows)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle the fields: the rest follows from them."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, eq=False)
class GivenPlan(BagPlan):
    """Samples that the user has given: `given`, members x rows, is how often each sample has each row."""

    given: UIntArray = field(kw_only=True)

    @classmethod
    def of(cls, samples: Any, n_rows: int, key: int) -> "GivenPlan":
        """Read a list of samples, each a list of row numbers."""
        counts = []
        for number, sample in enumerate(samples):
            rows = np.asarray(sample)
            if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows):
                raise ValueError(f"samples[{number}] must be a list of row numbers, from 0 to {n_rows - 1}.")
            if rows.min() < 0 or rows.max() >= n_rows:
                beyond = rows[(rows < 0) | (rows >= n_rows)][0]
                raise ValueError(
                    f"samples[{number}] has row {beyond}; rows of X are numbered from 0 to {n_rows - 1}."
                )
            counts.append(np.bincount(rows, minlength=n_rows))
        if not counts:
            raise ValueError("samples is empty: give a list of row numbers for each member.")
        return cls.of_counts(np.stack(counts).astype(np.uint32), key)

    @classmethod
    def of_counts(cls, counts: UIntArray, key: int) -> "GivenPlan":
        """Plan members from the number of times that each sample has each row: members x rows."""
        n_rows = counts.shape[1]
        return cls(
            key=key,
            with_replacement=True,
            n_rows=n_rows,
            rows=None,
            unit_begin=None,
            stratum_begin=np.array([0, n_rows], dtype=np.uint64),
            draws_per_stratum=np.array([n_rows], dtype=np.uint64),
            given=counts,
        )

    @cached_property
    def leaves_rows_out(self) -> bool:
        """Whether some sample lacks a row."""
        return bool((self.given == 0).any())

    def times(self, member: int) -> UIntArray:
        """Tell how often each row of the table is in the sample of a member."""
        counts: UIntArray = self.given[member]
        return counts

    def unit_times(self, member: int) -> UIntArray:
        """Return the same: rows are drawn one by one."""
        counts: UIntArray = self.given[member]
        return counts


def plan_draws(
    rows: UIntArray,
    n_rows: int,
    *,
    key: int,
    with_replacement: bool,
    max_samples: float | None,
    groups: npt.NDArray[np.int32] | None = None,
    strata: npt.NDArray[np.int32] | None = None,
    weights: npt.NDArray[np.float64] | None = None,
) -> BagPlan:
    """Plan draws from `rows`, which are rows of a table of `n_rows`.

    For each row of the table, `groups` is the number of the group that it is drawn with, `strata` the class
    that it is drawn from, and `weights`, if given, how likely it is to be drawn.
    """
    if groups is None:
        unit_begin = np.arange(len(rows))
    else:
        rows = rows[np.argsort(groups[rows], kind="stable")]
        unit_begin = np.flatnonzero(np.diff(groups[rows], prepend=-1))
    units = "rows" if groups is None else "groups"
    n_draws = resolve_max_samples(
        max_samples, len(unit_begin), with_replacement=with_replacement, units=units
    )
    sizes = np.array([len(unit_begin)])
    if strata is not None:
        if groups is not None:
            _refuse_mixed_groups(rows, groups, strata)
        stratum_of_unit = strata[rows[unit_begin]]
        sizes = np.bincount(stratum_of_unit)
        rows, unit_begin = _reordered(rows, unit_begin, np.argsort(stratum_of_unit, kind="stable"))
    sizes = sizes[sizes > 0]
    in_order = np.array_equal(rows, np.arange(n_rows, dtype=rows.dtype))
    unit_weights = None if weights is None else np.add.reduceat(weights[rows], unit_begin)
    return BagPlan(
        key=key,
        with_replacement=with_replacement,
        n_rows=n_rows,
        rows=None if in_order else np.ascontiguousarray(rows, dtype=np.uint32),
        unit_begin=None if groups is None else np.append(unit_begin, len(rows)).astype(np.uint64),
        stratum_begin=np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint64),
        draws_per_stratum=_shared_out(n_draws, sizes).astype(np.uint64),
        unit_weights=unit_weights,
    )


def _refuse_mixed_groups(
    rows: UIntArray, groups: npt.NDArray[np.int32], strata: npt.NDArray[np.int32]
) -> None:
    """Raise if a group has rows of several classes: it could not be drawn from any one of them."""
    same_group = groups[rows[1:]] == groups[rows[:-1]]
    mixed = same_group & (strata[rows[1:]] != strata[rows[:-1]])
    if mixed.any():
        first = int(np.argmax(mixed))
        raise ValueError(
            f"stratify=True draws whole groups class by class, but rows {rows[first]} and {rows[first + 1]} "
            "are of one group and of different classes. Use groups or stratify, not both."
        )


def _reordered(
    rows: UIntArray, unit_begin: npt.NDArray[np.int64], order: npt.NDArray[np.int64]
) -> tuple[UIntArray, npt.NDArray[np.int64]]:
    """Reorder units; return their rows and where each unit begins."""
    sizes = np.diff(unit_begin, append=len(rows))[order]
    ends = np.cumsum(sizes)
    places = np.repeat(unit_begin[order] - (ends - sizes), sizes) + np.arange(len(rows))
    return rows[places], ends - sizes


def _shared_out(n_draws: int, sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Distribute draws over strata by size, rounded down; the largest remainders get the rest."""
    exact = n_draws * sizes / sizes.sum()
    shares: npt.NDArray[np.int64] = np.floor(exact).astype(np.int64)
    largest_rests_first = np.argsort(shares - exact, kind="stable")
    shares[largest_rests_first[: n_draws - int(shares.sum())]] += 1
    return shares


@dataclass(frozen=True)
class MemberFeatures:
    """How many features each member may test, and whether they are drawn with replacement; 0 means all."""

    n_wanted: int = 0
    with_replacement: bool = False

    def of(self, plan: BagPlan, member: int, n_features: int) -> npt.NDArray[np.int32]:
        """List the features of a member, in ascending order."""
        if not self.n_wanted:
            return np.arange(n_features, dtype=np.int32)
        return _core.draw_features(plan.key, member, n_features, self.n_wanted, self.with_replacement)


@dataclass(frozen=True, eq=False)
class TreeBag:
    """A bag of trees on one encoded table; members differ only in their number and the key of their draws."""

    encoded: Encoded
    target: ClassTarget | RegressionTarget
    weights: npt.NDArray[np.float64] | None
    settings: GrowthSettings
    plan: BagPlan
    keys_of: Callable[[range], OffsetArray]
    features: MemberFeatures
    min_weight_fraction: float
    balance_classes: bool
    ccp_alpha: float
    hard_votes: bool
    n_threads: int

    def grow(self, members: range, listener: Listener) -> list[_core.Tree]:
        """Grow the trees of some members, one per core."""
        self.refuse_trees_beyond_memory()
        trees: list[_core.Tree] = []
        n_weightless = 0
        for batch in _batches(members, self.n_threads, listener):
            grown, weightless = self.grow_batch(batch)
            trees += grown
            n_weightless = max(n_weightless, weightless)
            listener.done(batch.stop)
        warn_of_weightless_rows(n_weightless)
        warn_of_refused_thread("the trees were grown")
        return trees

    @property
    def trees_are_alike(self) -> bool:
        """Whether nothing is drawn, so that every member is the same tree."""
        settings = self.settings
        draws_tests = settings.random_splits or settings.max_features < self.encoded.n_features
        return not (self.plan.leaves_rows_out or self.features.n_wanted or draws_tests)

    def refuse_trees_beyond_memory(self) -> None:
        """Refuse trees that cannot fit into memory."""
        settings = self.settings
        # Under these two limits the number of leaves is known only after growing.
        if settings.min_impurity_decrease == 0 and settings.min_significance == 1:
            most_leaves = self.settings.most_leaves(self.plan.n_drawable)
            refuse_tree_beyond_memory(self.encoded, self.target, most_leaves=most_leaves)

    def grow_batch(self, members: range) -> tuple[list[_core.Tree], int]:
        """Grow the trees of some members; return them, and how many rows weigh too little to count."""
        target = self.target
        trees, n_weightless = _core.grow_forest(
            self.encoded.codes,
            n_classes=[len(classes) for classes in target.classes] if isinstance(target, ClassTarget) else [],
            n_outputs=target.n_outputs,
            classes=target.codes.ravel() if isinstance(target, ClassTarget) else None,
            reals=target.values.ravel() if isinstance(target, RegressionTarget) else None,
            weights=self.weights,
            draws=self.plan.draws,
            first_member=members.start,
            member_keys=self.keys_of(members),
            features_per_member=self.features.n_wanted,
            features_with_replacement=self.features.with_replacement,
            min_weight_fraction=self.min_weight_fraction,
            balance_classes=self.balance_classes,
            n_threads=self.n_threads,
            **vars(self.settings),
        )
        if self.ccp_alpha > 0:
            trees = [_core.prune_cost_complexity(tree, self.ccp_alpha) for tree in trees]
        return trees, n_weightless

    def answer(self, members: range, trees: Sequence[_core.Tree], out_of_bag: OutOfBag) -> None:
        """Let members predict the rows that their samples lack."""
        for rows, values in self.answers(members, trees):
            out_of_bag.add(rows, values)

    def answers(
        self, members: range, trees: Sequence[_core.Tree]
    ) -> Iterator[tuple[UIntArray, npt.NDArray[np.float64]]]:
        """Yield, member by member, the rows that its sample lacks and its predictions for them."""
        model = Ensemble(tuple(trees), self.encoded.schema)
        for position, member in enumerate(members):
            rows = self.plan.rows_left_out(member)
            if self.settings.missing == "available":
                alone = Ensemble((trees[position],), self.encoded.schema)
                left_out = EncodedRows(self.encoded.codes, rows)
                rows = rows[alone.n_answers(left_out, n_threads=self.n_threads) > 0]
            values = model.total(
                EncodedRows(self.encoded.codes, rows),
                n_threads=self.n_threads,
                begin=position,
                end=position + 1,
                hard_votes=self.hard_votes,
            )
            yield rows, values


class Bag(Protocol[Member]):
    """Makes members and lets them predict rows that they have not seen."""

    def grow(self, members: range, listener: Listener) -> list[Member]:
        """Make some members."""

    def answer(self, members: range, made: Sequence[Member], out_of_bag: OutOfBag) -> None:
        """Let members predict the rows that their samples lack."""


def fill(
    bag: Bag[Member],
    members: range,
    former: Sequence[Member],
    out_of_bag: OutOfBag | None,
    listener: Listener,
    *,
    clock: Clock,
) -> list[Member]:
    """Make members in addition to earlier ones; with `out_of_bag`, all predict the rows they have not seen.

    When the time is up, those that are finished are returned, at least one.
    """
    listener.expect(members.stop)
    made = [*former]
    for some in _while_there_is_time(members, clock):
        made += bag.grow(some, listener)
    if out_of_bag is not None:
        bag.answer(range(len(made)), made, out_of_bag)
    return made


def fill_until_settled(
    bag: Bag[Member], out_of_bag: OutOfBag, listener: Listener, clock: Clock
) -> list[Member]:
    """Make members until the out-of-bag error stops falling, or the time is up."""
    made: list[Member] = []
    while len(made) < _MOST_MEMBERS and not _has_settled(out_of_bag.curve):
        if made and clock.left <= 0:
            break
        members = range(len(made), len(made) + _MEMBERS_BETWEEN_LOOKS)
        listener.expect(members.stop)
        more = bag.grow(members, listener)
        bag.answer(members, more, out_of_bag)
        made += more
    return made


def _has_settled(curve: Sequence[float]) -> bool:
    """Whether the average error of the last members is hardly lower than that of as many before."""
    n = _MEMBERS_BETWEEN_LOOKS
    if len(curve) < 2 * n:
        return False
    before, now = np.mean(curve[-2 * n : -n]), np.mean(curve[-n:])
    return bool(now >= before * (1 - _LEAST_PROGRESS))


def _while_there_is_time(members: range, clock: Clock) -> Iterator[range]:
    """Yield all members at once or, under a time limit, some at a time until it is reached."""
    if not isfinite(clock.left):
        yield from (members,) if members else ()
        return
    begin, size = members.start, 2
    while begin < members.stop:
        some = range(begin, min(begin + size, members.stop))
        before = clock.spent
        yield some
        begin = some.stop
        if clock.left <= 0:
            return
        seconds = max(clock.spent - before, 1e-6)
        # As many as take a third of the time left: then little is lost at the end, and there are few batches.
        size = max(1, int(len(some) * clock.left / seconds / 3))


def _batches(members: range, n_threads: int, listener: Listener) -> Iterator[range]:
    """Divide members into batches: a single one, or if progress is reported, one for each report.

    Cores wait for each other at the end of a batch, so batches should not be small.
    """
    begin, size = members.start, n_threads if listener.listens else len(members)
    while begin < members.stop:
        batch = range(begin, min(begin + size, members.stop))
        started = time.monotonic()
        yield batch
        seconds = max(time.monotonic() - started, 1e-6)
        size = n_threads * max(1, int(len(batch) / n_threads * _SECONDS_BETWEEN_REPORTS / seconds))
        begin = batch.stop
