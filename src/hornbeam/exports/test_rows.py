"""Rows that can tell a right export from a wrong one.

A wrong sign of a comparison, a rounded threshold, a lost direction of missing values: each shows only in rows
that come to the very node, with a value at the very edge. So rows are made for each test: they satisfy every
test on the way to it and have its threshold, and the next numbers above and below, or each category, an
unseen one, or nothing. Further rows are drawn at random. All of it follows from the model alone: the same
model is tested on the same rows.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.dates import PartName
from hornbeam.exports.columns import InputColumn
from hornbeam.exports.date_rows import DatePool, Interval, Resolution
from hornbeam.exports.portable import PortableModel, PortableTree

__all__ = ["TestRows", "missing_and_unseen", "rows_for", "texts_of_dates"]

AnyArray = npt.NDArray[Any]

N_RANDOM = 10_000
# So many tests of a model are each given rows of their own: all up to this number, else so many, at even
# steps. Likewise the values of a column that come up in rows of their own.
MOST_TESTS = 8_000
MOST_VALUES = 30_000
# Of a test on many categories, so many are tried at the node; all of them come up in rows of their own.
_MOST_CATEGORIES = 64


@dataclass(frozen=True, eq=False)
class TestRows:
    """Columns of equal length: numbers, NaN being missing; categories, None being missing; or dates.

    `words` says what the rows are, for people.
    """

    __test__ = False  # no test itself, whatever its name says to pytest

    columns: tuple[AnyArray, ...]
    words: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.columns[0])

    def as_array(self) -> AnyArray:
        """Return the rows as our own estimators take them: numbers, or an array of objects."""
        if all(column.dtype.kind == "f" for column in self.columns):
            return np.stack(self.columns, axis=1)
        together = np.empty((self.n_rows, len(self.columns)), dtype=object)
        for j, column in enumerate(self.columns):
            together[:, j] = list(column) if column.dtype.kind == "M" else column
        return together

    def take(self, rows: AnyArray) -> "TestRows":
        """Keep some rows."""
        return TestRows(tuple(column[rows] for column in self.columns), self.words)


def texts_of_dates(dates: AnyArray) -> list[str | None]:
    """Write dates as 2024-03-31T10:30:00.000000; None for NaT."""
    return [None if text == "NaT" else text for text in np.datetime_as_string(dates).tolist()]


def unseen_category(column: InputColumn) -> Any:
    """Make up a category that a column does not have; None if there can be none."""
    categories = column.categories or ()
    if column.category_type is bool:
        return next((value for value in (False, True) if value not in categories), None)
    if column.category_type is str:
        text = "never seen"
        while text in categories:
            text += "!"
        return text
    numbers = [float(value) for value in categories if math.isfinite(float(value))]
    return max([0, *map(math.floor, numbers)]) + 1


def missing_and_unseen(model: PortableModel, rows: TestRows) -> tuple[AnyArray, AnyArray]:
    """Mark the rows that lack a value, and those with a category that the model does not know."""
    missing, unseen = np.zeros(rows.n_rows, dtype=np.bool_), np.zeros(rows.n_rows, dtype=np.bool_)
    for given, values in zip(model.given, rows.columns, strict=True):
        column = given.column
        if column.categories is None:
            missing |= np.isnat(values) if given.is_date else np.isnan(values.astype(np.float64))
            continue
        known = set(column.categories)
        missing |= np.array([value is None for value in values], dtype=np.bool_)
        unseen |= np.array([value is not None and value not in known for value in values], dtype=np.bool_)
    return missing, unseen


def rows_for(
    model: PortableModel,
    *,
    single: bool = False,
    n_random: int = N_RANDOM,
    resolution: Resolution = "us",
) -> TestRows:
    """Make rows to test an export of a model; with `single`, all numbers are float32."""
    maker = _Maker(model, single=single, resolution=resolution)
    n_tests = sum(int(np.count_nonzero(tree.n_branches)) for tree in model.trees)
    edges = list(maker.edges(n_tests))
    packed = maker.every_value_once()
    columns = maker.base(n_random + len(edges))
    for place, changes in enumerate(edges, start=n_random):
        for column, value in changes.items():
            columns[column][place] = value
    columns = [np.concatenate(pair) for pair in zip(packed, columns, strict=True)]
    some = f"all {n_tests:,} tests" if n_tests <= MOST_TESTS else f"{MOST_TESTS:,} of {n_tests:,} tests"
    n_values = maker.n_values()
    every = (
        "every threshold and category"
        if n_values <= MOST_VALUES
        else f"{MOST_VALUES:,} of up to {n_values:,} thresholds and categories per column"
    )
    return TestRows(
        tuple(columns),
        f"{len(edges):,} rows at the edges of {some} (the threshold, the next numbers above and below, "
        f"categories, an unseen one, nothing), {len(packed[0]):,} rows with {every}, "
        f"{n_random:,} random rows",
    )


def _at_even_steps(values: Sequence[Any], most: int) -> Sequence[Any]:
    """Keep so many values, the first and the last among them."""
    if len(values) <= most:
        return values
    return [values[k] for k in np.linspace(0, len(values) - 1, most).astype(np.int64).tolist()]


class _Maker:
    """Draws values for the columns of a model."""

    def __init__(self, model: PortableModel, *, single: bool, resolution: Resolution) -> None:
        self.model = model
        self.single = single
        self.generator = np.random.default_rng(20_231)
        self.thresholds = [
            sorted({self.rounded(value) for value in some if math.isfinite(value)})
            for some in model.thresholds()
        ]
        self.unseen = [
            None if column.categories is None else unseen_category(column) for column in model.columns
        ]

        self.given_by = {place: j for j, given in enumerate(model.given) for place in given.places}
        self.dates = {
            j: DatePool(
                {model.columns[place].part or "date": self.thresholds[place] for place in given.places},
                self.generator,
                resolution,
            )
            for j, given in enumerate(model.given)
            if given.is_date
        }

    # --- Numbers -----------------------------------------------------------------------------------------

    def rounded(self, value: float) -> float:
        """Round down to a number that the export is asked about."""
        if not self.single or not math.isfinite(value):
            return value
        with np.errstate(over="ignore"):
            near = np.float32(value)
        return float(near if float(near) <= value else np.nextafter(near, np.float32(-np.inf)))

    def above(self, value: float) -> float:
        """Return the next number above."""
        return self._next(value, np.inf)

    def below(self, value: float) -> float:
        """Return the next number below."""
        return self._next(value, -np.inf)

    def _next(self, value: float, towards: float) -> float:
        kind = np.float32 if self.single else np.float64
        with np.errstate(all="ignore"):
            return float(np.nextafter(kind(value), kind(towards)))

    def inside(self, low: float, high: float) -> float | None:
        """Return a number above `low` and up to `high`; None if there is none."""
        if math.isinf(low) and math.isinf(high):
            return 0.0 if low < high else None
        if math.isinf(high):
            guess = low + max(1.0, abs(low))
        elif math.isinf(low):
            guess = high - max(1.0, abs(high))
        else:
            guess = low / 2 + high / 2
        for value in (self.rounded(guess), self.rounded(high)):
            if low < value <= high:
                return value
        return None

    # --- Rows --------------------------------------------------------------------------------------------

    def base(self, n_rows: int) -> list[AnyArray]:
        """Draw rows: numbers around the thresholds, some exactly there, some infinite or missing."""
        return [
            self._random_dates(j, n_rows) if given.is_date else self._random_column(given.places[0], n_rows)
            for j, given in enumerate(self.model.given)
        ]

    def _random_dates(self, j: int, n_rows: int) -> AnyArray:
        dates = self.dates[j].draw(self.generator, n_rows)
        if not self.model.refuses_missing:
            dates[self.generator.random(n_rows) < 0.1] = np.datetime64("NaT")
        return dates

    def _random_column(self, j: int, n_rows: int) -> AnyArray:
        draw, column = self.generator, self.model.columns[j]
        missing = np.zeros(n_rows) > 0 if self.model.refuses_missing else draw.random(n_rows) < 0.1
        if column.categories is not None:
            choices: list[Any] = [*column.categories]
            values = np.empty(n_rows, dtype=object)
            values[:] = [choices[k] for k in draw.integers(0, len(choices), n_rows)] if choices else None
            if self.unseen[j] is not None and not self.model.refuses_unseen:
                values[draw.random(n_rows) < 0.05] = self.unseen[j]
            values[missing] = None
            return values
        known = np.array(self.thresholds[j] or [0.0])
        with np.errstate(over="ignore", invalid="ignore"):
            margin = max(1.0, min(float(known[-1] / 8 - known[0] / 8), 1e300))
            low, high = max(known[0] - margin, -1e308), min(known[-1] + margin, 1e308)
            spread = low + draw.random(n_rows) * (high / 2 - low / 2) * 2
        numbers = np.where(draw.random(n_rows) < 0.3, draw.choice(known, n_rows), spread)
        if self.single:
            with np.errstate(over="ignore"):
                numbers = numbers.astype(np.float32).astype(np.float64)
        numbers[draw.random(n_rows) < 0.01] = np.inf
        numbers[draw.random(n_rows) < 0.01] = -np.inf
        numbers[missing] = np.nan
        return numbers

    def every_value_once(self) -> list[AnyArray]:
        """Make rows that together have every threshold, its neighbours and every category of each column."""
        candidates = [
            [*self.dates[j].near_every_threshold(MOST_VALUES // 3), np.datetime64("NaT")]
            if given.is_date
            else self._candidates(given.places[0])
            for j, given in enumerate(self.model.given)
        ]
        n_rows = max(len(one) for one in candidates)
        rows = self.base(n_rows)
        for column, one in zip(rows, candidates, strict=True):
            places = self.generator.permutation(n_rows)[: len(one)]
            for place, value in zip(places.tolist(), one, strict=True):
                column[place] = value
        return rows

    def n_values(self) -> int:
        """Count the thresholds, their neighbours, and the categories of the column with most."""
        return max(
            3 * len(thresholds) if column.categories is None else len(column.categories)
            for column, thresholds in zip(self.model.columns, self.thresholds, strict=True)
        )

    def _candidates(self, j: int) -> list[Any]:
        column = self.model.columns[j]
        if column.categories is not None:
            unseen = [] if self.unseen[j] is None else [self.unseen[j]]
            return [*_at_even_steps(column.categories, MOST_VALUES), *unseen, None]
        some = _at_even_steps(self.thresholds[j], MOST_VALUES // 3)
        around = [near for value in some for near in (self.below(value), value, self.above(value))]
        return [*around, np.inf, -np.inf, np.nan, 0.0, -0.0]

    def edges(self, n_tests: int) -> Iterator[dict[int, Any]]:
        """Visit the tests of all trees: what a row needs to come there, and a value at its edge."""
        wanted = np.linspace(0, n_tests - 1, min(n_tests, MOST_TESTS)).astype(np.int64)
        begin = 0
        for tree in self.model.trees:
            tests = np.flatnonzero(tree.n_branches)
            inside = wanted[(wanted >= begin) & (wanted < begin + len(tests))] - begin
            begin += len(tests)
            if len(inside):
                yield from self._edges_of(tree, tests[inside].tolist())

    def _edges_of(self, tree: PortableTree, tests: Sequence[int]) -> Iterator[dict[int, Any]]:
        above = {
            child: (node, branch)
            for node in np.flatnonzero(tree.n_branches).tolist()
            for branch, child in enumerate(tree.children(node))
        }
        for node in tests:
            way = []  # from the node up to the root
            at = node
            while at in above:
                way.append(above[at])
                at = above[at][0]
            path: dict[int, Any] = {}
            for test, branch in reversed(way):
                path[tree.column[test]] = self._narrowed(path, tree, test, branch)
            column = tree.column[node]
            asked = self.given_by[column]
            ways: dict[int, dict[int, Any]] = {}
            for c, passing in path.items():
                ways.setdefault(self.given_by[c], {})[c] = passing
            reached = {j: self._value_of(j, way) for j, way in ways.items() if j != asked}
            values = (
                self._edge_dates(asked, ways.get(asked, {}), column, tree.threshold[node])
                if asked in self.dates
                else self._edge_values(tree, node)
            )
            for value in values:
                yield {**reached, asked: value}

    def _value_of(self, j: int, way: dict[int, Any]) -> Any:
        if j not in self.dates:
            ((c, passing),) = way.items()
            return self._value_on(passing, c)
        return self.dates[j].one(self._by_part(way))

    def _by_part(self, way: dict[int, Any]) -> dict[PartName, Interval]:
        return {self.model.columns[c].part or "date": passing for c, passing in way.items()}

    def _edge_dates(self, j: int, way: dict[int, Any], column: int, threshold: float) -> list[Any]:
        part = self.model.columns[column].part or "date"
        found = self.dates[j].around(self._by_part(way), part, threshold)
        return found if self.model.refuses_missing else [*found, np.datetime64("NaT")]

    def _edge_values(self, tree: PortableTree, node: int) -> list[Any]:
        column = tree.column[node]
        ranks = self.model.columns[column].categories
        if node not in tree.branch_of and ranks is not None:  # ordered categories, compared by position
            place = math.floor(min(max(tree.threshold[node], 0.0), len(ranks) - 1.0)) if ranks else 0
            unseen = [] if self.model.refuses_unseen else [self.unseen[column]]
            missing = [] if self.model.refuses_missing else [None]
            return [*ranks[place : place + 2], *unseen, *missing]
        if node not in tree.branch_of:
            edge = self.rounded(tree.threshold[node])
            around = [edge, self.above(edge), self.below(edge)]
            return around if self.model.refuses_missing else [*around, np.nan]
        categories: list[Any] = list(self.model.columns[column].categories or ())
        if len(categories) > _MOST_CATEGORIES:
            categories = [
                categories[k] for k in range(0, len(categories), len(categories) // _MOST_CATEGORIES)
            ]
        if self.unseen[column] is not None and not self.model.refuses_unseen:
            categories.append(self.unseen[column])
        return categories if self.model.refuses_missing else [*categories, None]

    def _narrowed(self, path: dict[int, Any], tree: PortableTree, node: int, branch: int) -> Any:
        """Say what of a column passes a test: an interval or categories; and whether missing does."""
        column = tree.column[node]
        missing = tree.missing_branch[node] == branch and node not in tree.stand_ins
        if node in tree.branch_of:
            goes = {k for k in range(len(tree.branch_of[node])) if tree.branch_of_category(node, k) == branch}
            former = path.get(column)
            return (goes, missing) if former is None else (goes & former[0], missing and former[1])
        low, high, also = path.get(column, (-np.inf, np.inf, True))
        threshold = tree.threshold[node]
        if branch == 0:
            return low, min(high, threshold), missing and also
        return max(low, threshold), high, missing and also

    def _value_on(self, passing: Any, column: int) -> Any:
        categories = self.model.columns[column].categories
        if len(passing) == 2:
            goes, missing = passing
            if goes or not missing:
                return (categories or ("",))[min(goes)] if goes else self.unseen[column]
            return None
        low, high, missing = passing
        if categories is not None:  # ordered categories are compared by their position
            place = self.inside(low, min(high, len(categories) - 1.0))
            place = None if place is None else math.ceil(place)
            return categories[place] if place is not None and low < place <= high and place >= 0 else None
        value = self.inside(low, high)
        return np.nan if value is None or (missing and value is None) else value
