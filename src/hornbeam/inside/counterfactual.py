"""Counterfactuals: the smallest change of a row that changes the answer.

From a row, the wanted answer, and rows that show how much values differ, this makes a `Counterfactual`. The
distance is a sum over the changed columns: for a number, the change divided by the column's spread (the mean
distance of the rows of X from their median); for a category or a missing value, 1. `boxes.py` searches.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf, isfinite, isnan, nan, nextafter
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hornbeam.data.table import MISSING, UNSEEN, Column, Table
from hornbeam.data.wording import shown
from hornbeam.inside import words
from hornbeam.inside.boxes import Choices, Found, Steps
from hornbeam.inside.html import preformatted

__all__ = [
    "Counterfactual",
    "Direction",
    "Margins",
    "Terrain",
    "describe",
    "read_range",
    "terrain_of",
    "wanted_words",
]

FloatArray = npt.NDArray[np.float64]
Direction = Literal["up", "down"]

# A new number may lie beyond a threshold by this share of the spread, if that makes it shorter to write.
_ROUNDING = 1e-3


@dataclass(frozen=True)
class Counterfactual:
    """The nearest row with another answer.

    `changes` has, for every column that changes, the old and the new value; None if no change was found.
    `prediction` and `shares` are those of the changed row, `before` is the answer to the row as it is.
    `distance` adds up the changes in units of the columns' spread. No change of these columns that is smaller
    than `bound` gives the wanted answer: where `is_exact`, that is the distance itself.
    """

    changes: dict[str, tuple[Any, Any]] | None
    before: Any
    prediction: Any
    shares: dict[Any, float] | None
    distance: float
    bound: float
    row: dict[str, Any] | None
    text: str = field(repr=False, compare=False)

    @property
    def is_exact(self) -> bool:
        """Whether no smaller change has the same effect."""
        return self.bound >= self.distance

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """Show the sentences in a notebook."""
        return preformatted(self.text)


@dataclass(frozen=True, eq=False)
class Margins:
    """What is wanted, as sums that must be large enough: scores @ `of_scores` at least `needed`."""

    of_scores: FloatArray  # scores x margins
    needed: FloatArray


@dataclass(frozen=True, eq=False)
class Terrain:
    """The cells of all columns that trees test, with the cost and a representative value of each."""

    steps: tuple[Steps, ...]
    choices: tuple[Choices, ...]
    values: Mapping[int, FloatArray]  # by feature: what trees read in each cell

    @property
    def parts(self) -> tuple[Steps | Choices, ...]:
        """Both kinds of columns, in the order that points have."""
        return (*self.steps, *self.choices)

    def changed(self, cells: Sequence[int]) -> dict[int, float]:
        """Return the columns that a point changes, with what trees read there."""
        found = {}
        for one, cell in zip(self.parts, cells, strict=True):
            own = one.own if isinstance(one, Steps) else 0
            if cell != own:
                found[one.feature] = float(self.values[one.feature][cell])
        return found


def terrain_of(
    row: Table,
    X: Table,
    *,
    thresholds: Callable[[int], FloatArray],
    tested: Sequence[int],
    free: Sequence[int],
    directions: Mapping[int, Direction],
) -> Terrain:
    """Divide the columns that trees test into cells; the row may move in the `free` ones."""
    steps, choices, values = [], [], {}
    for feature in tested:
        given, others = row.columns[feature], _dense(X.columns[feature])
        own = float(_dense(given)[0])
        is_known = not isnan(own) and (given.kind == "numeric" or own not in (MISSING, UNSEEN))
        if given.kind != "categorical" and is_known:
            ends = np.unique(thresholds(feature))
            cells, codes = _steps(
                feature, given, others, ends=ends[np.isfinite(ends)], direction=directions.get(feature)
            )
            steps.append(cells if feature in free else _fixed(cells))
        else:
            ends = np.unique(thresholds(feature)) if given.kind == "numeric" else np.zeros(0)
            codes = _choices_of(given, own, others, ends)
            cost = np.r_[0.0, np.full(len(codes) - 1, 1.0 if feature in free else inf)]
            choices.append(Choices(feature, codes, cost))
        values[feature] = codes
    return Terrain(tuple(steps), tuple(choices), values)


def _dense(column: Column) -> npt.NDArray[Any]:
    return column.dense()


def _fixed(cells: Steps) -> Steps:
    cost = np.full(len(cells.cost), inf)
    cost[cells.own] = 0.0
    return Steps(cells.feature, cells.ends, cells.own, cost)


def _choices_of(given: Column, own: float, others: npt.NDArray[Any], ends: FloatArray) -> FloatArray:
    """List what a category or a missing value may become; the row's own comes first."""
    if given.kind == "numeric":
        seen = others.astype(np.float64)
        seen = seen[~np.isnan(seen)]
        bounds = np.r_[-inf, ends[np.isfinite(ends)], inf]
        cells = [seen[(seen > low) & (seen <= high)] for low, high in pairwise(bounds)]
        # The middle of the rows in a cell stands for it.
        middles = [float(np.sort(some)[len(some) // 2]) for some in cells if len(some)]
        return np.array([own, *middles])
    codes = np.arange(len(given.categories or ()), dtype=np.float64)
    all_codes: FloatArray = np.concatenate([[own], codes[codes != own]])
    return all_codes


def _steps(
    feature: int,
    given: Column,
    others: npt.NDArray[Any],
    *,
    ends: FloatArray,
    direction: Direction | None,
) -> tuple[Steps, FloatArray]:
    """Divide a number at its thresholds; every cell has the value that is nearest to the row's own."""
    own = float(_dense(given)[0])
    seen = others.astype(np.float64)
    seen = seen[~np.isnan(seen)] if given.kind == "numeric" else seen[seen >= 0]
    spread = _spread(seen)
    is_whole = isfinite(own) and own == round(own) and bool((seen == np.round(seen)).all())
    most = float(len(given.categories) - 1) if given.categories is not None else inf
    bounds = np.r_[-inf, ends, inf]
    place = int(np.searchsorted(ends, own))
    values = np.full(len(ends) + 1, nan)
    for cell in range(len(values)):
        low, high = float(bounds[cell]), min(float(bounds[cell + 1]), most)
        if cell == place:
            values[cell] = own
        elif cell > place and direction != "down":
            values[cell] = _first_above(low, high, _ROUNDING * spread, is_whole=is_whole)
        elif cell < place and direction != "up":
            values[cell] = _last_up_to(low, high, _ROUNDING * spread, is_whole=is_whole)
    with np.errstate(over="ignore", invalid="ignore"):
        cost = np.abs(values - own) / spread
    cost[np.isnan(cost)] = inf  # there is no such value, or the row's own is infinite
    cost[place] = 0.0
    return Steps(feature, ends, place, cost), values


def _spread(values: FloatArray) -> float:
    """Return the mean distance from the median; 1 if all are the same."""
    known = values[np.isfinite(values)]
    largest = float(np.abs(known).max(initial=0.0))
    if largest == 0:
        return 1.0
    shares = known / largest  # sums of the largest numbers would overflow
    return float(np.mean(np.abs(shares - np.median(shares)))) * largest or 1.0


def _first_above(low: float, high: float, room: float, *, is_whole: bool) -> float:
    """Return a number just above `low` and at most `high`: a whole one, or the shortest; NaN if none."""
    if is_whole:
        first = np.floor(low) + 1
        return float(first) if first <= high else nan
    return _shortest(nextafter(low, inf), min(high, low + room), otherwise=nextafter(low, inf))


def _last_up_to(low: float, high: float, room: float, *, is_whole: bool) -> float:
    """Return a number at most `high`, or just below it, and above `low`."""
    if is_whole:
        last = float(np.floor(high))
        return last if last > low else nan
    return _shortest(max(nextafter(low, inf), high - room), high, otherwise=high)


def _shortest(low: float, high: float, *, otherwise: float) -> float:
    """Return the number from low to high with the fewest digits."""
    for digits in range(1, 17):
        for near in (low, high):
            value = float(f"{near:.{digits}g}")
            if low <= value <= high:
                return value
    return otherwise


# --- Words -----------------------------------------------------------------------------------------------


def describe(
    found: Found,
    changes: dict[str, tuple[Any, Any]] | None,
    *,
    before: Any,
    prediction: Any,
    shares: dict[Any, float] | None,
    row: dict[str, Any] | None,
    wanted: str,
    columns: Sequence[str],
) -> Counterfactual:
    """Put a result into two sentences."""
    among = "of any column" if not columns else f"of {_and([words.named(name) for name in columns])}"
    if changes is None:
        first = f"The model predicts {_answer(before)}; no change {among} was found that makes it {wanted}."
        second = (
            "There is none."
            if found.bound == inf
            else f"The search was stopped; none is smaller than {words.brief_number(found.bound)} spreads."
        )
    else:
        parts = [
            f"{words.named(name)} were {_value(new)} instead of {_value(old)}"
            for name, (old, new) in changes.items()
        ]
        sure = "" if shares is None else f", probability {words.percent(shares[prediction])},"
        first = (
            f"The model would predict {_answer(prediction)}{sure} instead of {_answer(before)} "
            f"if {_and(parts)}."
        )
        size = f"{words.brief_number(found.cost)} spreads"
        second = (
            f"No smaller change {among} does it: these add up to {size}."
            if found.bound >= found.cost
            else f"These changes add up to {size}; a smaller one may exist, but none below "
            f"{words.brief_number(found.bound)}."
        )
    return Counterfactual(
        changes, before, prediction, shares, found.cost, found.bound, row, f"{first} {second}"
    )


def _and(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _answer(value: Any) -> str:
    return words.brief_number(value) if isinstance(value, float) else words.named(value)


def _value(value: Any) -> str:
    if value is None or (isinstance(value, float) and isnan(value)):
        return "missing"
    is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
    return words.number(float(value), all_digits=True) if is_number else words.named(value)


def wanted_words(wanted: Any) -> str:
    """Describe what is wanted: a class, or a range of numbers."""
    if isinstance(wanted, tuple) and len(wanted) == 2:
        low, high = wanted
        if low is None or low == -inf:
            return f"at most {words.brief_number(float(high))}"
        if high is None or high == inf:
            return f"at least {words.brief_number(float(low))}"
        return f"between {words.brief_number(float(low))} and {words.brief_number(float(high))}"
    return words.named(wanted) if wanted is not None else "another class"


def read_range(wanted: Any) -> tuple[float, float]:
    """Read the wanted range of a number: (low, high), with None for no bound."""
    ends = wanted if isinstance(wanted, tuple | list) and len(wanted) == 2 else None
    numbers = [None if end is None else float(end) for end in ends] if ends is not None else [None, None]
    low, high = (
        (numbers[0] if numbers[0] is not None else -inf),
        (numbers[1] if numbers[1] is not None else inf),
    )
    if ends is None or low > high or (low == -inf and high == inf):
        raise ValueError(
            "A model of numbers needs to know what is wanted: wanted=(low, high), with None for no bound; "
            f"got {shown(wanted)}."
        )
    return low, high
