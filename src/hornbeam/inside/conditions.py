"""The condition that all tests of a path together set for one feature.

Along a path, the tests of a feature are joined into an `Interval` (numbers, and ordered categories by their
codes) or a `Group` (categories). At its end they become `Condition`s: plain values with names, which can be
read, compared with a row, and printed.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from math import inf
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.dates import DatePart, bound_words
from hornbeam.data.table import Category, Kind, value_family
from hornbeam.inside.words import listed, named, number

__all__ = ["Condition", "Group", "Interval", "condition_words", "is_missing", "threshold_words"]

# A set of categories longer than this is described by the categories outside it, if they are fewer.
LONGEST_OWN_SET = 5


@dataclass(frozen=True, slots=True)
class Interval:
    """Values with `above < value <= up_to`, and perhaps missing ones; None is no bound."""

    above: float | None
    up_to: float | None
    missing: bool

    def also(self, other: "Interval") -> "Interval":
        """Return what passes this test and another."""
        return Interval(
            above=_tighter(max, self.above, other.above),
            up_to=_tighter(min, self.up_to, other.up_to),
            missing=self.missing and other.missing,
        )

    def holds(self, value: float) -> bool:
        """Whether a known value passes."""
        return (self.above is None or value > self.above) and (self.up_to is None or value <= self.up_to)

    def codes(self, n_categories: int) -> list[int]:
        """Return the codes that pass, of ordered categories."""
        return [code for code in range(n_categories) if self.holds(code)]

    @property
    def is_empty(self) -> bool:
        """Whether no known value passes."""
        return self.above is not None and self.above >= (inf if self.up_to is None else self.up_to)

    @property
    def is_whole(self) -> bool:
        """Whether every known value passes."""
        return self.above is None and self.up_to in (None, inf)


def _tighter(
    choose: Callable[[Iterable[float]], float], one: float | None, other: float | None
) -> float | None:
    bounds = [bound for bound in (one, other) if bound is not None]
    return choose(bounds) if bounds else None


@dataclass(frozen=True, eq=False, slots=True)
class Group:
    """Categories that pass, marked among all of the fit; whether missing and never seen ones pass, too."""

    allowed: npt.NDArray[np.bool_]
    missing: bool
    unseen: bool

    def also(self, other: "Group") -> "Group":
        """Return what passes this test and another."""
        return Group(
            allowed=self.allowed & other.allowed,
            missing=self.missing and other.missing,
            unseen=self.unseen and other.unseen,
        )

    def codes(self) -> list[int]:
        """Return the codes that pass."""
        return np.flatnonzero(self.allowed).tolist()

    def other_codes(self) -> list[int]:
        """Return the codes that do not pass."""
        return np.flatnonzero(~self.allowed).tolist()


@dataclass(frozen=True)
class Condition:
    """What a rule asks of one feature.

    A number meets it if `above < number <= up_to` (None is no bound; dates are days since 1970-01-01), a
    category if it is one of `categories`. `missing` says whether a missing value meets it, `unseen` whether a
    category does that the fit has not seen. `str` gives the condition in words.
    """

    feature: str
    kind: Kind
    above: float | None
    up_to: float | None
    categories: tuple[Category, ...] | None
    missing: bool
    unseen: bool
    words: str = field(repr=False, compare=False)
    known_categories: tuple[Category, ...] | None = field(repr=False, compare=False)

    @classmethod
    def of(
        cls,
        passing: Interval | Group,
        *,
        feature: str,
        kind: Kind,
        known_categories: tuple[Category, ...] | None,
        words: str,
    ) -> "Condition":
        """Name what passes the tests on a feature."""
        bounds: tuple[float | None, float | None] = (None, None)
        categories = None
        if isinstance(passing, Group):
            categories = tuple((known_categories or ())[code] for code in passing.codes())
            unseen = passing.unseen
        elif known_categories is not None:
            categories = tuple(known_categories[code] for code in passing.codes(len(known_categories)))
            unseen = passing.missing  # in ordered columns a new category is a missing value
        else:
            bounds = (passing.above, passing.up_to)
            unseen = False
        return cls(feature, kind, *bounds, categories, passing.missing, unseen, words, known_categories)

    def holds(self, value: Any) -> bool:
        """Whether a value meets the condition."""
        if is_missing(value):
            return self.missing
        if self.categories is None or self.known_categories is None:
            return Interval(self.above, self.up_to, self.missing).holds(float(value))
        return value in self.categories or (self.unseen and value not in self.known_categories)

    def __str__(self) -> str:
        return self.words


def is_missing(value: Any) -> bool:
    """Recognise None, NaN and the mark that pandas uses for a gap."""
    if isinstance(value, float | np.floating):
        return bool(np.isnan(value))
    return value_family(type(value)) == "missing"


# --- In words --------------------------------------------------------------------------------------------


def condition_words(
    passing: Interval | Group,
    *,
    name: str,
    known_categories: tuple[Category, ...] | None,
    tell_missing: bool,
    all_digits: bool = False,
    part: DatePart | None = None,
) -> str:
    """Write what passes, such as `2.45 < petal length <= 4.75` or `colour in {blue, red} or missing`.

    `name` is that of the feature, already in words. `tell_missing=False` is for columns in which the fit met
    no missing value; `all_digits` for those whose thresholds would look alike without them; `part` says what
    a column holds that is made of a date.
    """
    if isinstance(passing, Group):
        nothing, everything = not passing.allowed.any(), bool(passing.allowed.all())
    else:
        nothing, everything = passing.is_empty, passing.is_whole
    if nothing or everything:
        return _words_of_an_end(name, nothing=nothing, missing=passing.missing)
    if isinstance(passing, Group):
        text = _group_words(name, passing, known_categories or ())
    elif known_categories is not None:
        text = _ordinal_words(name, passing, known_categories)
    else:
        text = _numeric_words(name, passing, all_digits=all_digits, part=part)
    return f"{text} or missing" if passing.missing and tell_missing else text


def _words_of_an_end(name: str, *, nothing: bool, missing: bool) -> str:
    """Write a test of known values against missing ones; the other two cases come only from damaged trees."""
    if nothing:
        return f"{name} is missing" if missing else f"no {name}"
    return f"any {name}" if missing else f"{name} is known"


def _group_words(name: str, group: Group, categories: tuple[Category, ...]) -> str:
    passing = [categories[code] for code in group.codes()]
    others = [categories[code] for code in group.other_codes()]
    if len(passing) == 1:
        return f"{name} = {named(passing[0])}"
    if len(passing) > LONGEST_OWN_SET and len(others) < len(passing):
        return f"{name} not in {listed(others)}"
    return f"{name} in {listed(passing)}"


def _ordinal_words(name: str, interval: Interval, categories: tuple[Category, ...]) -> str:
    """Write bounds between codes as the categories beside them."""
    codes = interval.codes(len(categories))
    if not codes or len(codes) == len(categories):
        return _words_of_an_end(name, nothing=not codes, missing=interval.missing)
    first, last = codes[0], codes[-1]
    if first == last:
        return f"{name} = {named(categories[first])}"
    lower = named(categories[first - 1]) if first > 0 else None
    upper = named(categories[last]) if last < len(categories) - 1 else None
    return _between(name, lower, upper)


def _numeric_words(name: str, interval: Interval, *, all_digits: bool, part: DatePart | None) -> str:
    lower, upper = (
        None if bound in (None, inf) else threshold_words(bound, all_digits=all_digits, part=part)
        for bound in (interval.above, interval.up_to)
    )
    return _between(name, lower, upper)


def threshold_words(threshold: Any, *, all_digits: bool = False, part: DatePart | None = None) -> str:
    """Write a threshold: a number, or what a number stands for in a column that is made of a date."""
    words = None if part is None else bound_words(part.name, threshold)
    return number(threshold, all_digits=all_digits) if words is None else words


def _between(name: str, lower: str | None, upper: str | None) -> str:
    if lower is None:
        return f"{name} <= {upper}"
    return f"{name} > {lower}" if upper is None else f"{lower} < {name} <= {upper}"
