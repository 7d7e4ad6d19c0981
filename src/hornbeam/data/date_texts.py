"""Texts that are dates: which forms are read, and what they mean. Texts in, days since 1970-01-01 out.

    2024-03-01   2024/3/1   2024-03        the year first; without a day from 1800 to 2199
    1.3.2024   1.3.24                      with points: the day, the month, the year
    1/3/2024   3-1-2024   3/1/24           the day or the month first, as all texts of a column together say

Each may be followed by a time, such as `T10:30`, ` 10:30:05.25` or ` 3:45 pm`, and that by `Z` or an offset.
What counts is the time as it is written: an offset moves nothing. Years of two digits are those from 1969 to
2068. A column is one of dates only if every text in it is; where no day beyond 12 tells the day from the
month, it is not.
"""

import datetime
import re
from collections.abc import Sequence
from typing import Literal, NamedTuple

__all__ = ["ORDERS", "DateTexts", "Order", "days_of_text", "read_texts"]

# What comes first where the year comes last: nobody knows, the day, the month.
Order = Literal["unknown", "day_first", "month_first"]
ORDERS: tuple[Order, ...] = ("unknown", "day_first", "month_first")

_FORM = re.compile(
    r"""\s*(?:
        (?P<year>[0-9]{4}) (?P<bar>[-/.]) (?P<month>[0-9]{1,2})
            (?P=bar) (?P<day>[0-9]{1,2}) (?P<rest>[T\ ].*)?
      | (?P<lone_year>(?:1[89]|2[01])[0-9]{2}) [-/] (?P<lone_month>[0-9]{1,2})
      | (?P<first>[0-9]{1,2}) (?P<mark>[-/.]) (?P<second>[0-9]{1,2}) (?P=mark)
            (?P<last>[0-9]{4}|(?<![-])[0-9]{2}) (?P<after>[T\ ].*)?
    )\s*""",
    re.VERBOSE,
)
_TIME = re.compile(
    r"""[T\ ]\s* (?P<hour>[0-9]{1,2}) : (?P<minute>[0-9]{2}) (?: : (?P<second>[0-9]{2}(?:[.,][0-9]+)?) )?
        \s* (?P<half>[aApP][mM])? \s* (?:Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)? \s*""",
    re.VERBOSE,
)
_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_FIRST_OF_TWO_DIGITS = 69  # 69 is 1969, 68 is 2068, as POSIX has it


class DateTexts(NamedTuple):
    """Texts read as dates: the days of each; `clear` is False where day and month could not be told apart."""

    days: list[float]
    order: Order
    clear: bool = True


class _Written(NamedTuple):
    """A text taken apart: the numbers as they stand, and the share of the day that has passed."""

    numbers: tuple[int, int, int]  # year, month, day; or as written, if `order` has to tell
    by_order: bool
    passed: float


def read_texts(texts: Sequence[object]) -> DateTexts | None:
    """Read all texts as dates; None if one of them is not, or if they contradict each other."""
    written = []
    for text in texts:
        one = _taken_apart(text) if isinstance(text, str) else None
        if one is None:
            return None
        written.append(one)
    firsts = [one.numbers[0] for one in written if one.by_order]
    seconds = [one.numbers[1] for one in written if one.by_order]
    order: Order = "unknown"
    if firsts and max(firsts) > 12:
        order = "day_first"
    elif firsts and max(seconds) > 12:
        order = "month_first"
    clear = not firsts or order != "unknown"
    days = [_days(one, order if clear else "day_first") for one in written]
    known = [day for day in days if day is not None]
    return DateTexts(known, order, clear) if written and len(known) == len(days) else None


def days_of_text(text: object, order: Order) -> float | None:
    """Read one text in the order that a column has; None if it is no date."""
    one = _taken_apart(text) if isinstance(text, str) else None
    if one is None or (one.by_order and order == "unknown"):
        return None
    return _days(one, order)


def _taken_apart(text: str) -> _Written | None:
    found = _FORM.fullmatch(text)
    if found is None:
        return None
    rest = found["rest"] or found["after"]
    passed = _share_of_day(rest) if rest and rest.strip() else 0.0
    if passed is None:
        return None
    if found["lone_year"]:
        return _Written((int(found["lone_year"]), int(found["lone_month"]), 1), False, 0.0)
    if found["year"]:
        return _Written((int(found["year"]), int(found["month"]), int(found["day"])), False, passed)
    first, second, year = int(found["first"]), int(found["second"]), int(found["last"])
    if len(found["last"]) == 2:
        year += 1900 if year >= _FIRST_OF_TWO_DIGITS else 2000
    if found["mark"] == ".":
        return _Written((year, second, first), False, passed)
    return _Written((first, second, year), True, passed)


def _share_of_day(text: str) -> float | None:
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    hour, minute = int(found["hour"]), int(found["minute"])
    second = float((found["second"] or "0").replace(",", "."))
    if found["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found["half"] in ("pm", "PM", "pM", "Pm") else 0)
    if hour > 23 or minute > 59 or second >= 60:
        return None
    return (hour * 3600 + minute * 60 + second) / 86_400


def _days(one: _Written, order: Order) -> float | None:
    first, second, third = one.numbers
    year, month, day = first, second, third
    if one.by_order:
        year = third
        month, day = (second, first) if order == "day_first" else (first, second)
    try:
        return datetime.date(year, month, day).toordinal() - _FIRST_DAY + one.passed
    except ValueError:  # no such day
        return None
