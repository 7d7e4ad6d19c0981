"""Texts that are dates: which forms are read, and what they mean. Texts in, days since 1970-01-01 out.

    2024-03-01   2024/3/1   2024-03        the year first; without a day from 1800 to 2199
    1.3.2024   1.3.24                      with points: the day, the month, the year
    1/3/2024   3-1-2024   3/1/24           the day or the month first, as all texts of a column together say
    1 Mar 2024   01-Mar-2024   March 1, 2024   with the English name of the month

Each may be followed by a time, such as `T10:30`, ` 10:30:05.25` or ` 3:45 pm`, and that by `Z` or an offset.
The time counts as it is written: an offset changes nothing. Years of two digits are 1969 to 2068. A column
holds dates only if every text in it is a date. If no day above 12 tells the day from the month, it does not.
"""

import re
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["ORDERS", "DateTexts", "Order", "days_of_texts", "read_texts"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# What comes first where the year comes last: unknown, the day, or the month.
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
_NAMED = re.compile(
    r"""\s*(?:
        (?P<day>[0-9]{1,2}) [-\ ] (?P<name>[A-Za-z]{3,9}) [-\ ]
      | (?P<name_first>[A-Za-z]{3,9}) \.?\ +(?P<day_next>[0-9]{1,2}),?\ +
    )(?P<year>[0-9]{4}) (?P<rest>[T\ ].*)? \s*""",
    re.VERBOSE,
)
_MONTHS = (
    *("january", "february", "march", "april", "may", "june", "july"),
    *("august", "september", "october", "november", "december"),
)
_MONTHS_NAMED = {name: number for number, month in enumerate(_MONTHS, start=1) for name in (month, month[:3])}
_TIME = re.compile(
    r"""[T\ ]\s* (?P<hour>[0-9]{1,2}) : (?P<minute>[0-9]{2}) (?: : (?P<second>[0-9]{2}(?:[.,][0-9]+)?) )?
        \s* (?P<half>[aApP][mM])? \s* (?:Z|UTC|[+-][0-9]{2}(?::?[0-9]{2})?)? \s*""",
    re.VERBOSE,
)
_FIRST_OF_TWO_DIGITS = 69  # 69 is 1969 and 68 is 2068, as in POSIX
_NO_DATE = (0, 0, 0, False, 0.0)  # there is no month 0


class DateTexts(NamedTuple):
    """Texts read as dates: days since 1970-01-01; `clear` is False if day and month cannot be told apart."""

    days: FloatArray
    order: Order
    clear: bool = True


class _Written(NamedTuple):
    """Texts taken apart: their numbers, and the share of the day that has passed.

    The numbers are year, month and day or, where `by_order`, in the order written, with the year last.
    """

    numbers: IntArray  # texts x 3
    by_order: npt.NDArray[np.bool_]
    passed: FloatArray


def read_texts(texts: Sequence[Any]) -> DateTexts | None:
    """Read all texts as dates; None if one of them is not a date, or if they contradict each other."""
    if not texts or _taken_apart(texts[0]) == _NO_DATE:
        return None  # the first text decides for most columns
    written = _all_taken_apart(texts)
    order: Order = "unknown"
    if written.by_order.any():
        first, second = written.numbers[written.by_order, :2].max(axis=0)
        order = "day_first" if first > 12 else "month_first" if second > 12 else "unknown"
    clear = order != "unknown" or not written.by_order.any()
    days = _days(written, order if clear else "day_first")
    return None if np.isnan(days).any() else DateTexts(days, order, clear)


def days_of_texts(texts: Sequence[Any], order: Order) -> FloatArray:
    """Read texts in a known order of day and month; NaN for texts that are not dates."""
    return _days(_all_taken_apart(texts), order) if texts else np.zeros(0)


def _days(written: _Written, order: Order) -> FloatArray:
    """Turn numbers into days since 1970-01-01; NaN where there is no such day, or the order is unknown."""
    year, month, day = written.numbers.T
    if written.by_order.any():
        first, second, third = written.numbers.T
        is_day = order == "day_first"
        year = np.where(written.by_order, third, year)
        month = np.where(written.by_order, second if is_day else first, month)
        day = np.where(written.by_order, first if is_day else second, day)
    is_month = (year >= 1) & (month >= 1) & (month <= 12)
    months = np.where(is_month, (year - 1970) * 12 + month - 1, 0)
    begin = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    end = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    is_day = is_month & (day >= 1) & (day <= end - begin)
    if order == "unknown":
        is_day = is_day & ~written.by_order
    return np.where(is_day, begin + day - 1 + written.passed, np.nan)


# ------------------------------------------------------------------------------------------------------------
# Taking texts apart


def _all_taken_apart(texts: Sequence[Any]) -> _Written:
    alike = _alike(texts)
    if alike is not None:
        return alike
    parts = [_taken_apart(text) for text in texts]
    return _Written(
        np.array([part[:3] for part in parts], dtype=np.int64),
        np.array([part[3] for part in parts], dtype=np.bool_),
        np.array([part[4] for part in parts], dtype=np.float64),
    )


def _taken_apart(text: Any) -> tuple[int, int, int, bool, float]:
    found = _FORM.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return _with_a_named_month(text)
    passed = _share_of_day(found["rest"] or found["after"])
    if passed is None:
        return _NO_DATE
    if found["lone_year"]:
        return int(found["lone_year"]), int(found["lone_month"]), 1, False, 0.0
    if found["year"]:
        return int(found["year"]), int(found["month"]), int(found["day"]), False, passed
    first, second, year = int(found["first"]), int(found["second"]), int(found["last"])
    if len(found["last"]) == 2:
        year += 1900 if year >= _FIRST_OF_TWO_DIGITS else 2000
    if found["mark"] == ".":
        return year, second, first, False, passed
    return first, second, year, True, passed


def _with_a_named_month(text: Any) -> tuple[int, int, int, bool, float]:
    found = _NAMED.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return _NO_DATE
    month = _MONTHS_NAMED.get((found["name"] or found["name_first"]).lower(), 0)
    passed = _share_of_day(found["rest"])
    if passed is None:
        return _NO_DATE
    return int(found["year"]), month, int(found["day"] or found["day_next"]), False, passed


def _share_of_day(text: str | None) -> float | None:
    """Read a time as the share of the day that has passed; None if it is not a time."""
    if not text or not text.strip():
        return 0.0
    found = _TIME.fullmatch(text)
    if found is None:
        return None
    hour, minute = int(found["hour"]), int(found["minute"])
    second = float((found["second"] or "0").replace(",", "."))
    if found["half"]:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if found["half"][0] in "pP" else 0)
    if hour > 23 or minute > 59 or second >= 60:
        return None
    return (hour * 3600 + minute * 60 + second) / 86_400


# Reads all texts at once that differ only in their digits, as those of most date columns do.
_PLAIN = re.compile(
    r"(?:(?P<year>[0-9]{4})[-/.](?P<month>[0-9]{2})[-/.](?P<day>[0-9]{2})"
    r"|(?P<first>[0-9]{2})(?P<mark>[-/.])(?P<next>[0-9]{2})(?P=mark)(?P<last>[0-9]{4}))"
    r"(?:[T ](?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<part>[0-9]{1,9}))?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?"
)
_FEWEST_ALIKE = 100


def _alike(texts: Sequence[Any]) -> _Written | None:
    """Take texts apart that have the same length and differ only in digits; None for others."""
    if len(texts) < _FEWEST_ALIKE or set(map(type, texts)) != {str} or len(set(map(len, texts))) != 1:
        return None
    found = _PLAIN.fullmatch(texts[0])
    if found is None or _FORM.fullmatch(texts[0]) is None:
        return None
    signs = np.array(texts, dtype=np.str_).view(np.uint32).reshape(len(texts), -1)
    is_digit = np.array([character.isdigit() for character in texts[0]])
    digits = signs[:, is_digit] - np.uint32(
        ord("0")
    )  # characters below "0" wrap around, and so are no digits either
    if (digits > 9).any() or (signs[:, ~is_digit] != signs[0, ~is_digit]).any():
        return None

    def number(group: str) -> Any:
        begin, end = found.span(group)
        if begin < 0:
            return 0
        powers = 10 ** np.arange(end - begin - 1, -1, -1)
        return (signs[:, begin:end] - np.uint32(ord("0"))).astype(np.int64) @ powers

    hour, minute, second = number("hour"), number("minute"), number("second")
    fraction = number("part") / 10.0 ** len(found["part"] or "")
    places = ("year", "month", "day")
    if found["mark"]:
        places = ("last", "next", "first") if found["mark"] == "." else ("first", "next", "last")
    numbers = np.stack([number(place) for place in places], axis=1)
    numbers[np.broadcast_to((hour > 23) | (minute > 59) | (second > 59), len(texts))] = _NO_DATE[:3]
    passed = np.broadcast_to((hour * 3600 + minute * 60 + second + fraction) / 86_400, len(texts))
    return _Written(numbers, np.full(len(texts), places[0] == "first"), passed)
