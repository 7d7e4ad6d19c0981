"""Kinds of values: a type annotation comes in, the kinds of values it allows go out.

`Annotated[int, Bounds(low=1)] | Literal["sqrt"] | None` is read into three kinds, one per alternative. A
value is judged by the first kind that claims it, so a wrong number is measured against the bounds and a
misspelt text against the choices, and each gets the answer that helps.
"""

import difflib
import math
import numbers
import reprlib
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Protocol

import numpy as np

__all__ = ["Bounds", "Check", "Choice", "Flag", "Instance", "Kind", "NoneKind", "RealNumber", "WholeNumber"]

LARGEST_WHOLE_NUMBER = 2**63 - 1  # whole numbers cross into C++ as 64-bit integers


class Kind(Protocol):
    """One alternative of an option's type."""

    @property
    def phrases(self) -> tuple[str, ...]:
        """What is allowed, as it reads after "must be": one phrase, or several to be joined by "or"."""

    def claims(self, value: object, /) -> bool:
        """Tell whether `value` is of this kind, be it right or wrong in detail."""

    def fault(self, value: Any, /) -> str | None:
        """Return None for a good value; else what `phrases` do not say already, possibly nothing ("")."""


@dataclass(frozen=True)
class Bounds:
    """The interval in which a number must lie; None leaves that side open-ended. Goes inside `Annotated`."""

    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False

    def contain(self, number: float) -> bool:
        """Tell whether `number` lies inside."""
        above = self.low is None or (number > self.low if self.low_open else number >= self.low)
        below = self.high is None or (number < self.high if self.high_open else number <= self.high)
        return above and below

    def describe(self, noun: str) -> str:
        """Put the bounds in words, as in "a whole number >= 1"."""
        if self.low is None and self.high is None:
            return f"a {noun}"
        if self.high is None:
            return f"a {noun} {'>' if self.low_open else '>='} {self.low}"
        if self.low is None:
            return f"a {noun} {'<' if self.high_open else '<='} {self.high}"
        opening, closing = "(" if self.low_open else "[", ")" if self.high_open else "]"
        return f"a {noun} in {opening}{self.low}, {self.high}{closing}"


UNBOUNDED = Bounds()


@dataclass(frozen=True)
class Check:
    """What a value with structure must look like, with the members of a `Kind`. Goes inside `Annotated`."""

    phrases: tuple[str, ...]
    claims: Callable[[object], bool]
    fault: Callable[[Any], str | None]


@dataclass(frozen=True)
class NoneKind:
    """The value None."""

    phrases: ClassVar[tuple[str, ...]] = ("None",)

    def claims(self, value: object, /) -> bool:
        """Claim None."""
        return value is None

    def fault(self, value: Any, /) -> str | None:
        """Find no fault: there is only one None."""
        return None


@dataclass(frozen=True)
class Choice:
    """One of a few texts."""

    choices: tuple[str, ...]

    @property
    def phrases(self) -> tuple[str, ...]:
        """The choices, quoted."""
        return tuple(map(repr, self.choices))

    def claims(self, value: object, /) -> bool:
        """Claim every text, so that a misspelt choice is answered as such."""
        return isinstance(value, str)

    def fault(self, value: str, /) -> str | None:
        """Suggest the nearest choice for an unknown one."""
        return None if value in self.choices else did_you_mean(value, self.choices)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    phrases: ClassVar[tuple[str, ...]] = ("True", "False")

    def claims(self, value: object, /) -> bool:
        """Claim Python's and numpy's truth values."""
        return isinstance(value, bool | np.bool_)

    def fault(self, value: Any, /) -> str | None:
        """Find no fault: both values are good."""
        return None


@dataclass(frozen=True)
class WholeNumber:
    """An integer within bounds; numpy's integers count, truth values do not."""

    bounds: Bounds = UNBOUNDED

    @property
    def phrases(self) -> tuple[str, ...]:
        """The bounds in words."""
        return (self.bounds.describe("whole number"),)

    def claims(self, value: object, /) -> bool:
        """Claim integers."""
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)

    def fault(self, value: Any, /) -> str | None:
        """Compare with the bounds, and with what the engine can count."""
        number = int(value)
        if abs(number) > LARGEST_WHOLE_NUMBER and (self.bounds.high is None or self.bounds.high < number):
            return "That does not fit into a 64-bit integer."
        return None if self.bounds.contain(number) else ""


@dataclass(frozen=True)
class RealNumber:
    """A finite number within bounds; integers count, truth values do not."""

    bounds: Bounds = UNBOUNDED

    @property
    def phrases(self) -> tuple[str, ...]:
        """The bounds in words."""
        bounded = self.bounds.low is not None and self.bounds.high is not None
        return (self.bounds.describe("number" if bounded else "finite number"),)

    def claims(self, value: object, /) -> bool:
        """Claim real numbers."""
        return isinstance(value, numbers.Real) and not isinstance(value, bool)

    def fault(self, value: Any, /) -> str | None:
        """Compare with the bounds; neither NaN nor infinity is a number one can compute with."""
        try:
            number = float(value)
        except OverflowError:  # a Python integer beyond the largest float
            return ""
        return None if math.isfinite(number) and self.bounds.contain(number) else ""


@dataclass(frozen=True)
class Instance:
    """An object of a class."""

    type: type

    @property
    def phrases(self) -> tuple[str, ...]:
        """The class's name."""
        return (f"an instance of {self.type.__name__}",)

    def claims(self, value: object, /) -> bool:
        """Claim instances of the class."""
        return isinstance(value, self.type)

    def fault(self, value: Any, /) -> str | None:
        """Find no fault: any instance is good."""
        return None


# The order in which kinds claim values and are listed in messages; the others follow. In `int | float` an
# integer must be judged by the bounds of `int`, so whole numbers come before real ones, which claim it too.
CLAIM_ORDER = (NoneKind, Choice, Flag, WholeNumber, RealNumber)


def kinds_of(annotation: Any) -> tuple[Kind, ...]:
    """Read a type annotation into kinds, sorted by who may claim a value first."""
    rank = {kind: position for position, kind in enumerate(CLAIM_ORDER)}
    kinds = [_kind_of(alternative) for alternative in _alternatives(annotation)]
    return tuple(sorted(kinds, key=lambda kind: rank.get(type(kind), len(rank))))


def _alternatives(annotation: Any) -> tuple[Any, ...]:
    is_union = typing.get_origin(annotation) in (typing.Union, types.UnionType)
    return typing.get_args(annotation) if is_union else (annotation,)


def _kind_of(annotation: Any) -> Kind:
    base, bounds = annotation, UNBOUNDED
    if typing.get_origin(annotation) is Annotated:
        base, *facts = typing.get_args(annotation)
        for fact in facts:
            if isinstance(fact, Check):
                return fact
            if isinstance(fact, Bounds):
                bounds = fact
    if typing.get_origin(base) is Literal:
        return Choice(typing.get_args(base))
    if base is Any or not isinstance(base, type):  # Any is a class since Python 3.11
        raise TypeError(
            f"{base!r} cannot be checked at run time: use None, bool, int, float, a Literal, a class, "
            "or Annotated[..., Check(...)]"
        )
    built_in: dict[type, Kind] = {
        type(None): NoneKind(),
        bool: Flag(),
        int: WholeNumber(bounds),
        float: RealNumber(bounds),
    }
    return built_in.get(base, Instance(base))


# --- Words that messages are made of ---------------------------------------------------------------------


def joined(words: Iterable[str], conjunction: str) -> str:
    """Join words as a sentence does: "a, b or c"."""
    *most, last = words
    return f"{', '.join(most)} {conjunction} {last}" if most else last


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Ask for the nearest known name; return "" if none is near."""
    by_folded = {candidate.casefold(): candidate for candidate in known}
    nearest = difflib.get_close_matches(name.casefold(), by_folded, n=1)
    return f"Did you mean {by_folded[nearest[0]]!r}?" if nearest else ""


_short_repr = reprlib.Repr()
_short_repr.maxstring = _short_repr.maxother = _short_repr.maxlong = 80


def shown(value: object) -> str:
    """Print a value on one short line, whatever it is."""
    try:
        return " ".join(_short_repr.repr(value).split())
    except Exception:  # an integer of 5,000 digits, or someone else's broken __repr__: no reason to fail here
        return f"<{type(value).__name__}>"
