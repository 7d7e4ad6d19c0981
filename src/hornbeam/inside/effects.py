"""Predictions as one or two columns change and all others stay: partial dependence, lines of rows.

A sum of trees is a step function of each number, with steps at the thresholds of its tests. So it is
evaluated once per step, at the thresholds themselves, and nothing between them is missed; for categories once
per category. `Asking` evaluates the model, `Grid` holds the values of one column; `accumulated.py` uses both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hornbeam.data.dates import DatePart
from hornbeam.data.table import MISSING, UNSEEN, Category, Column, Table
from hornbeam.data.wording import shown
from hornbeam.inside.medians import median_of
from hornbeam.inside.shapley import ScoreSum, TreeSum

__all__ = [
    "Asking",
    "Effect",
    "EffectKind",
    "Explained",
    "Grid",
    "JointEffect",
    "effect_names",
    "effect_of",
    "joint_effect_of",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
EffectKind = Literal["partial", "ale"]
Explained = Literal["score", "answer"]

# This many rows are predicted at a time: tables of changed rows may be large.
_ROWS_AT_ONCE = 1 << 17


@dataclass(frozen=True, eq=False, repr=False)
class Effect:
    """How the score, or the answer it stands for, depends on one column, the others as they are.

    For a number, `values` are the upper ends of the steps, the last one infinite: the score is the same for
    all values above one end and up to the next. For categories they are the categories. `lines` are the
    scores of each row with each of these values: rows x values (x classes or outputs); `mean` is their mean,
    the partial dependence. `missing` is the mean score without a value, None if the model refuses that.
    `is_exact` is False if there are more steps than `n_steps`: then `values` are some of them. For a column
    derived from a date, `part` says what its numbers are; those of the date itself are days since 1970-01-01.
    `of` says whether these are scores or the answers they stand for.
    """

    column: str
    values: npt.NDArray[Any]
    lines: FloatArray
    missing: Any
    is_number: bool
    is_exact: bool
    outputs: tuple[Any, ...] = ()
    part: DatePart | None = None
    of: Explained = "score"

    @property
    def mean(self) -> FloatArray:
        """The mean over the rows: values (x classes or outputs)."""
        mean: FloatArray = self.lines.mean(axis=0)
        return mean

    def __repr__(self) -> str:
        what = "steps" if self.is_number else "categories"
        return f"Effect of {shown(self.column)}: {len(self.values)} {what}, {len(self.lines)} row(s)"


@dataclass(frozen=True, eq=False, repr=False)
class JointEffect:
    """How the score depends on two columns together.

    `values` are those of each column, as in `Effect`; `mean` is values x values (x classes or outputs). With
    kind "partial" it is the mean score of the rows with these two values, and `missing` has the same without
    a value: of the first column (per value of the second), of the second (per value of the first) and of
    both; None if the model refuses that. With kind "ale" it is the joint effect, without the effects of each
    column alone; its mean over the rows is 0, and `missing` is None. `n_rows` counts the rows of X at each
    pair of values: where there are none, the model extrapolates. `parts` has `part`, as in `Effect`, for each
    column.
    """

    kind: EffectKind
    columns: tuple[str, str]
    values: tuple[npt.NDArray[Any], npt.NDArray[Any]]
    mean: FloatArray
    missing: tuple[FloatArray, FloatArray, Any] | None
    n_rows: IntArray
    is_number: tuple[bool, bool]
    is_exact: bool
    outputs: tuple[Any, ...] = ()
    parts: tuple[DatePart | None, DatePart | None] = (None, None)
    of: Explained = "score"

    def __repr__(self) -> str:
        first, second = map(shown, self.columns)
        rows, columns = map(len, self.values)
        return f"Effect of {first} and {second} together: {rows} x {columns} values"


# --- What a column is asked at ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Grid:
    """Values of a column at which a model is evaluated: `codes` as trees read them, `values` as people do.

    `place` gives the place of every row's own value, -1 for a row without a value. `numbers` are
    the rows' own numbers, None if the column has categories. `is_ordered` says that neighbours in `codes`
    are neighbours.
    """

    column: int
    name: str
    values: npt.NDArray[Any]
    codes: FloatArray
    place: IntArray
    numbers: FloatArray | None
    is_ordered: bool
    is_exact: bool
    part: DatePart | None = None

    @property
    def is_number(self) -> bool:
        """Whether the column has numbers."""
        return self.numbers is not None

    @property
    def gap(self) -> float:
        """What the trees read where there is no value."""
        return np.nan if self.is_number else float(MISSING)


class Asking:
    """Evaluates a model on some rows, with other values in some columns."""

    def __init__(
        self,
        whole: ScoreSum,
        X: Any,
        *,
        most_rows: int,
        estimator_name: str,
        n_threads: int,
        of: Explained = "score",
    ) -> None:
        self.whole, self.of = whole, of
        self._answers = whole.answers if of == "answer" else None
        self.tables = [_thinned(one.read(X, estimator_name=estimator_name), most_rows) for one in whole.sums]
        self.n_rows = self.tables[0].n_rows
        self.refuses_missing = any(not one.model.missing_allowed for one in whole.sums)
        self._n_threads = n_threads
        self._categories: dict[int, tuple[Category, ...]] = {}  # by column: what codes stand for

    def grid(self, column: int, name: str, most_steps: int) -> Grid:
        """Find all values of a column that the model distinguishes, or some of them if there are too many."""
        seen = [(one, table, place) for one, table, place in self._places(column) if place is not None]
        if not seen:
            raise ValueError(f"No tree of the model has seen the column {shown(name)}.")
        _, table, own = seen[0]
        given = table.columns[own]
        if given.kind != "numeric":
            columns = [table.columns[place] for _, table, place in seen]
            self._categories[column] = names = _all_categories(columns)
            return Grid(
                column=column,
                name=name,
                values=np.array(names, dtype=object),
                codes=np.arange(len(names), dtype=np.float64),
                place=_places_in(names, columns),
                numbers=None,
                is_ordered=given.kind == "ordinal",
                is_exact=True,
            )
        values = given.dense()
        steps = np.unique(np.concatenate([_thresholds(one, place) for one, _, place in seen]))
        steps = steps[np.isfinite(steps)]  # an infinite threshold tests whether there is a value at all
        is_exact = len(steps) < most_steps
        if not is_exact:
            steps = steps[np.linspace(0, len(steps) - 1, most_steps - 1).astype(np.int64)]
        codes: FloatArray = np.r_[steps, np.inf]
        numbers = values.astype(np.float64)
        return Grid(
            column=column,
            name=name,
            values=codes,
            codes=codes,
            place=np.where(np.isnan(numbers), -1, np.searchsorted(codes, numbers)),
            numbers=numbers,
            is_ordered=True,
            is_exact=is_exact,
            part=given.part,
        )

    def scores(self, rows: IntArray, changes: Mapping[int, Any]) -> FloatArray:
        """Return the scores of rows, with other values in some of the user's columns: rows x scores.

        A change is one value per row, or one for all. If answers are wanted, scores are turned into these.
        """
        n = len(rows)
        if not n:
            return np.zeros((0, len(self.whole.start)))
        changed = {column: np.broadcast_to(codes, n) for column, codes in changes.items()}
        parts = [
            self._scores_of(
                rows[begin : begin + _ROWS_AT_ONCE],
                {column: codes[begin : begin + _ROWS_AT_ONCE] for column, codes in changed.items()},
            )
            for begin in range(0, n, _ROWS_AT_ONCE)
        ]
        scores = np.concatenate(parts)
        return scores if self._answers is None else self._answers(scores)

    def _scores_of(self, rows: IntArray, changes: Mapping[int, FloatArray]) -> FloatArray:
        total: Any = self.whole.start
        for one, table in zip(self.whole.sums, self.tables, strict=True):
            columns = [
                _taken(column, rows, is_read=place in one.model.features_tested)
                for place, column in enumerate(table.columns)
            ]
            for column, codes in changes.items():
                for place in _places_of(one, column):
                    columns[place] = self._with_codes(columns[place], column, codes)
            changed = Table(len(rows), tuple(columns), table.feature_names)
            if self.whole.is_median:
                return median_of(one.model, one.weights, changed, n_threads=self._n_threads)[:, np.newaxis]
            said = one.model.total(
                changed, n_threads=self._n_threads, weights=one.weights, hard_votes=one.votes
            )
            own = said.reshape(len(rows), -1)
            total = total + (own if one.onto is None else own @ one.onto)
        return np.asarray(total)

    def _with_codes(self, given: Column, column: int, codes: FloatArray) -> Column:
        """Fill a column with values; categories have the numbers that these trees give them."""
        if given.kind == "numeric":
            return replace(given, values=codes.astype(np.float64))
        names = self._categories.get(column, given.categories)
        own = codes.astype(np.int32)
        if names is not None and names != given.categories:
            number = {name: code for code, name in enumerate(given.categories or ())}
            of_name = np.array([number.get(name, UNSEEN) for name in names], dtype=np.int32)
            own = np.where(own >= 0, of_name[own], own).astype(np.int32)
        return replace(given, values=own)

    def _places(self, column: int) -> list[tuple[TreeSum, Table, int | None]]:
        """Find the user's column among those of each sum; None where it is not there."""
        found: list[tuple[TreeSum, Table, int | None]] = []
        for one, table in zip(self.whole.sums, self.tables, strict=True):
            found += [(one, table, place) for place in _places_of(one, column)] or [(one, table, None)]
        return found


def _taken(column: Column, rows: IntArray, *, is_read: bool) -> Column:
    """Take rows of a column, in any order; zeros for a column that no tree reads."""
    if not is_read:
        return replace(column, values=np.broadcast_to(np.float64(0), len(rows)))
    values = column.dense()
    return replace(column, values=values[rows])


def effect_names(whole: ScoreSum, given: tuple[str, ...]) -> tuple[str, ...]:
    """Name the columns that effects can be computed for: the user's, and those derived from dates."""
    if all(one.columns is None for one in whole.sums) and len({one.model.schema for one in whole.sums}) == 1:
        return whole.sums[0].model.schema.names
    made = [part for one in whole.sums for part in one.model.schema.parts]
    if any(made):
        raise ValueError(
            "effect takes no model whose members were fitted on dates one by one, as they may have made "
            "different columns of them; ask a member, such as estimators_[0].effect(X, column)."
        )
    return given


def _all_categories(columns: Sequence[Column]) -> tuple[Category, ...]:
    """Return the categories that any member has seen: each member numbers those of its own rows."""
    first = columns[0].categories or ()
    if all(column.categories == first for column in columns):
        return first
    return tuple(sorted({name for column in columns for name in column.categories or ()}))


def _places_in(names: tuple[Category, ...], columns: Sequence[Column]) -> IntArray:
    """Return which category each row has, -1 for none: some members may know more than others."""
    number = {name: code for code, name in enumerate(names)}
    codes = [column.dense() for column in columns]
    found = np.full(len(codes[0]), -1, dtype=np.int64)
    for column, values in zip(columns, codes, strict=True):
        of_own = np.array([number[name] for name in column.categories or ()], dtype=np.int64)
        known = (values >= 0) & (found < 0)
        found[known] = of_own[values[known]]
    return found


def _places_of(one: TreeSum, column: int) -> list[int]:
    return [column] if one.columns is None else np.flatnonzero(one.columns == column).tolist()


def _thinned(table: Table, most_rows: int) -> Table:
    """Keep rows at equal distances, if there are more than enough."""
    if table.n_rows <= most_rows:
        return table
    return table.take(np.linspace(0, table.n_rows - 1, most_rows).astype(np.int64))


def _thresholds(one: TreeSum, place: int | None) -> FloatArray:
    tested = [tree.threshold[tree.feature == place] for tree in one.model.trees if place is not None]
    return np.concatenate([np.zeros(0), *tested])


# --- Partial dependence ----------------------------------------------------------------------------------


def effect_of(asking: Asking, grid: Grid) -> Effect:
    """Evaluate the model on its rows with every value of a column."""
    rows, whole = np.arange(asking.n_rows), asking.whole
    lines = np.stack([asking.scores(rows, {grid.column: code}) for code in grid.codes], axis=1)
    missing = None
    if not asking.refuses_missing:
        missing = asking.scores(rows, {grid.column: grid.gap}).mean(axis=0).reshape(whole.shape)[()]
    return Effect(
        column=grid.name,
        values=grid.values,
        lines=lines.reshape(*lines.shape[:2], *whole.shape),
        missing=missing,
        is_number=grid.is_number,
        is_exact=grid.is_exact,
        outputs=whole.outputs,
        part=grid.part,
        of=asking.of,
    )


def joint_effect_of(asking: Asking, first: Grid, second: Grid) -> JointEffect:
    """Evaluate the model on its rows with every pair of values of two columns."""
    codes = [first.codes, second.codes]
    if not asking.refuses_missing:
        codes = [np.r_[first.codes, first.gap], np.r_[second.codes, second.gap]]
    n_rows = asking.n_rows
    means = []
    for code in codes[0]:  # one evaluation per value of the first: all rows with all values of the second
        said = asking.scores(
            np.tile(np.arange(n_rows), len(codes[1])),
            {first.column: code, second.column: np.repeat(codes[1], n_rows)},
        )
        means.append(said.reshape(len(codes[1]), n_rows, -1).mean(axis=1))
    shape = asking.whole.shape
    found = np.stack(means).reshape(len(codes[0]), len(codes[1]), *shape)
    missing = None
    if not asking.refuses_missing:
        missing = found[-1, :-1], found[:-1, -1], found[-1, -1]
        found = found[:-1, :-1]
    return JointEffect(
        kind="partial",
        columns=(first.name, second.name),
        values=(first.values, second.values),
        mean=found,
        missing=missing,
        n_rows=rows_at(first, second),
        is_number=(first.is_number, second.is_number),
        is_exact=first.is_exact and second.is_exact,
        outputs=asking.whole.outputs,
        parts=(first.part, second.part),
        of=asking.of,
    )


def rows_at(first: Grid, second: Grid) -> IntArray:
    """Count the rows at each pair of values."""
    counts = np.zeros((len(first.codes), len(second.codes)), dtype=np.int64)
    known = (first.place >= 0) & (second.place >= 0)
    np.add.at(counts, (first.place[known], second.place[known]), 1)
    return counts
