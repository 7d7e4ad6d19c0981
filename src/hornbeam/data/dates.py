"""Columns derived from dates: days since 1970-01-01, and the parts that repeat, each a column of numbers.

Dates are compared by the number of days since 1970-01-01, and by parts that repeat: the month, the day of the
year and of the month, the weekday, the time of day. A part becomes a column if the rows of the fit span more
than one of its cycles, and some of them lie within one cycle. The schema keeps the parts that a fit has
chosen, and a prediction makes the same ones (docs/decisions/38-dates.md).

If a column holds whole days in the fit, a time of day in later rows does not matter, and `when <= 2024-03-01`
means all of that day.
"""

import datetime
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam.data.content import AnyArray, Content, Labels, Mask, Numbers, Times
from hornbeam.data.date_texts import Order, days_of_texts, read_texts
from hornbeam.data.wording import joined, shown
from hornbeam.warnings import DataWarning, warn

__all__ = [
    "PART_NAMES",
    "DatePart",
    "FoundDates",
    "PartName",
    "SeenDays",
    "bound_words",
    "chosen_parts",
    "days_as_fitted",
    "days_of_array",
    "days_of_objects",
    "part_columns_names",
    "part_values",
    "text_of_days",
]

FloatArray = npt.NDArray[np.float64]

# The first two are the date itself: every date has one of them as its first column.
PartName = Literal["date", "time", "month", "day_of_year", "day", "weekday", "hour"]
PART_NAMES: tuple[PartName, ...] = ("date", "time", "month", "day_of_year", "day", "weekday", "hour")

# After how many days a part may repeat.
_CYCLES: Mapping[PartName, float] = {
    "month": 365.0,
    "day_of_year": 365.0,
    "day": 28.0,
    "weekday": 7.0,
    "hour": 1.0,
}

_WEEKDAY_OF_FIRST = 3  # 1970-01-01 was a Thursday; Monday is 0
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)
_NAMES: Mapping[PartName, Mapping[int, str]] = {
    "weekday": dict(enumerate(_WEEKDAYS)),
    "month": dict(enumerate(_MONTHS, start=1)),
}

_MILLISECONDS = 86_400_000  # of a day: a date as a number has no more digits than that for certain
_MOST_YEARS = 200_000  # before or after 1970; days and parts of dates are exact far beyond
_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_PER_DAY = {
    "h": 24,
    "m": 1440,
    "s": 86_400,
    "ms": 86_400 * 10**3,
    "us": 86_400 * 10**6,
    "ns": 86_400 * 10**9,
    "ps": 86_400 * 10**12,
}


class DatePart(NamedTuple):
    """What a column derived from a date holds; `order` is that of day and month in texts."""

    name: PartName
    order: Order

    @property
    def is_first(self) -> bool:
        """Whether this is the date itself, the first of the columns derived from it."""
        return self.name in ("date", "time")


# ------------------------------------------------------------------------------------------------------------
# From values to days


def days_of_array(values: AnyArray, name: str) -> FloatArray:
    """Turn numpy's dates into days since 1970-01-01; NaT becomes NaN."""
    unit, _ = np.datetime_data(values.dtype)
    gone = np.isnat(values)
    if unit == "generic":  # then it holds nothing but NaT
        return np.full(len(values), np.nan)
    if unit in ("Y", "M", "W", "D"):
        years = values.astype("datetime64[Y]").astype(np.int64)
        _refuse_far_years(np.where(gone, 0, years + 1970), name)
        days = values.astype("datetime64[D]").astype(np.int64).astype(np.float64)
    else:
        counts = np.where(gone, 0, values.astype(f"datetime64[{unit}]").astype(np.int64))
        per_day = _PER_DAY.get(unit)
        if per_day is None:  # finer units: all values lie within hours of 1970-01-01
            days = counts / (86_400 * 10.0 ** (15 if unit == "fs" else 18))
        else:  # computing whole days and the rest separately keeps all digits
            days = (counts // per_day) + (counts % per_day) / per_day
            _refuse_far_years(days // 365.25, name)
    days[gone] = np.nan
    return days


def _refuse_far_years(years: AnyArray, name: str) -> None:
    far = np.abs(years) > _MOST_YEARS
    if far.any():
        raise ValueError(
            f"Column {shown(name)}, row {int(np.argmax(far))}: the date is more than {_MOST_YEARS:,} years "
            "from 1970. Correct it, or make the column one of numbers."
        )


def days_of_objects(cells: Sequence[Any], absent: Mask, name: str) -> FloatArray:
    """Turn Python's dates and times, and numpy's, into days since 1970-01-01; NaN where absent."""
    days = np.full(len(cells), np.nan)
    for row in np.flatnonzero(~absent).tolist():
        days[row] = _days_of_object(cells[row], name)
    return days


def _days_of_object(cell: Any, name: str) -> float:
    if isinstance(cell, np.datetime64):
        return float(days_of_array(np.array([cell]), name)[0])
    days = float(cell.toordinal() - _FIRST_DAY)
    if isinstance(cell, datetime.datetime):
        seconds = cell.hour * 3600 + cell.minute * 60 + cell.second + cell.microsecond / 1e6
        days += seconds / 86_400
    return days


class FoundDates:
    """Texts that turned out to be dates, and those that almost did: collected, and reported once."""

    def __init__(self) -> None:
        self._found: dict[str, str] = {}
        self._unclear: dict[str, str] = {}

    def in_texts(self, content: Content, name: str) -> Content:
        """Return the dates that a column of texts holds, or else the texts unchanged."""
        if not isinstance(content, Labels) or content.declared:
            return content
        labels = content.used()
        read = read_texts(labels.distinct)
        if read is None:
            return content
        if not read.clear:
            self._unclear[name] = str(labels.distinct[0])
            return content
        self._found[name] = str(labels.distinct[0])
        return Times(np.append(read.days, np.nan)[labels.codes], read.order)

    def say(self) -> None:
        """Report which texts are treated as dates, and which are not although they look like dates."""
        if self._found:
            warn(
                f"Every text is a date in {_examples(self._found)}: split as time. Name the column in "
                "categorical_features to have its texts as categories.",
                DataWarning,
            )
        if self._unclear:
            warn(
                f"Every text looks like a date in {_examples(self._unclear)}, but which number is the day "
                "cannot be told, so these are categories. Write them as 2024-03-31, or make the column one "
                "of dates, for example with pandas.to_datetime(..., dayfirst=True).",
                DataWarning,
            )


def _examples(columns: Mapping[str, str]) -> str:
    return joined(f"column {shown(name)}, such as {shown(text)}" for name, text in columns.items())


def days_as_fitted(content: Content, name: str, order: Order) -> FloatArray:
    """Return the days of a column that held dates in the fit; refuse anything else."""
    if isinstance(content, Times):
        return content.days
    if isinstance(content, Labels):
        return _days_of_labels(content.used(), name, order)
    if isinstance(content, Numbers) and not content.present().any():
        return np.full(len(content.values), np.nan)
    raise ValueError(
        f"Column {shown(name)} was one of dates in the fit and holds numbers now. Give it dates, or texts "
        "such as '2024-03-31'."
    )


def _days_of_labels(labels: Labels, name: str, order: Order) -> FloatArray:
    days = np.append(days_of_texts(labels.distinct, order), np.nan)[labels.codes]
    no_date = np.isnan(days) & (labels.codes >= 0)
    if no_date.any():
        row = int(np.argmax(no_date))
        text = labels.distinct[int(labels.codes[row])]
        raise ValueError(
            f"Column {shown(name)}, row {row}: {shown(text)} is not a date, as all values of the fit are. "
            "Correct it, or leave it missing; 2024-03-31 and 2024-03-31 10:30 are read."
        )
    return days


# ------------------------------------------------------------------------------------------------------------
# From days to columns


def chosen_parts(times: Times) -> list[DatePart]:
    """Choose the columns that a fit derives from a date: first, and always, the date itself."""
    seen = SeenDays()
    seen.add(times.days)
    return seen.chosen(times.order)


class SeenDays:
    """Collects what decides which columns a date gets; rows may come in parts and in any order."""

    def __init__(self) -> None:
        self._whole = True
        self._ends = [np.inf, -np.inf]
        self._ranges = {part: [np.inf, -np.inf] for part in _CYCLES}
        # The distinct dates, ascending, until two of them lie within the shortest cycle, and so within all.
        self._distinct: FloatArray | None = np.empty(0)

    def add(self, days: FloatArray) -> None:
        """Add some rows; NaN where there is no date."""
        days = np.unique(days[~np.isnan(days)])
        if not len(days):
            return
        self._whole = self._whole and np.array_equal(days, np.floor(days))
        _widen(self._ends, days)
        for part, ends in self._ranges.items():
            _widen(ends, part_values(days, part))
        if self._distinct is not None:
            self._add_distinct(days)

    def join(self, others: "SeenDays") -> None:
        """Add what another collector has seen."""
        if others._ends[0] > others._ends[1]:  # there were none
            return
        self._whole = self._whole and others._whole
        _widen(self._ends, np.array(others._ends))
        for part, ends in self._ranges.items():
            _widen(ends, np.array(others._ranges[part]))
        if self._distinct is not None and others._distinct is not None:
            self._add_distinct(others._distinct)
        else:
            self._distinct = None

    def _add_distinct(self, days: FloatArray) -> None:
        assert self._distinct is not None
        self._distinct = np.union1d(self._distinct, days)
        if self._nearest() < min(_CYCLES.values()):
            self._distinct = None

    def chosen(self, order: Order) -> list[DatePart]:
        """Choose the columns."""
        names: list[PartName] = ["date" if self._whole else "time"]
        span, nearest = self._ends[1] - self._ends[0], self._nearest()
        if span > 0:
            names += [
                part
                for part, cycle in _CYCLES.items()
                if span > cycle > nearest and self._ranges[part][0] < self._ranges[part][1]
            ]
        return [DatePart(name, order) for name in names]

    def _nearest(self) -> float:
        """Return the smallest distance of two dates; 0 stands for anything within the shortest cycle."""
        if self._distinct is None:
            return 0.0
        return float(np.diff(self._distinct).min()) if len(self._distinct) > 1 else np.inf


def _widen(ends: list[float], values: FloatArray) -> None:
    ends[0], ends[1] = min(ends[0], float(values.min())), max(ends[1], float(values.max()))


def part_values(days: FloatArray, part: PartName) -> FloatArray:
    """Compute one part of each date; NaN where there is none."""
    if part == "time":
        return days
    whole = np.floor(days)
    if part == "date":
        return whole
    if part == "weekday":
        return (whole + _WEEKDAY_OF_FIRST) % 7
    if part == "hour":
        return np.round((days - whole) * _MILLISECONDS) / 3_600_000
    gone = np.isnan(days)
    dates = np.where(gone, 0, whole).astype(np.int64).astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    if part == "month":
        values = months.astype(np.int64) % 12 + 1
    elif part == "day":
        values = (dates - months.astype("datetime64[D]")).astype(np.int64) + 1
    else:
        years = dates.astype("datetime64[Y]").astype("datetime64[D]")
        values = (dates - years).astype(np.int64) + 1
    return np.where(gone, np.nan, values.astype(np.float64))


def part_columns_names(name: str, parts: Iterable[DatePart], taken: set[str]) -> list[str]:
    """Name the columns of a date after the user's column, avoiding names that are `taken`."""
    names = []
    for part in parts:
        own = name
        if not part.is_first:
            own = f"{name}.{part.name}"
            while own in taken:
                own += "_"
            taken.add(own)
        names.append(own)
    return names


# ------------------------------------------------------------------------------------------------------------
# In words


def text_of_days(days: float) -> str:
    """Write a point in time: 2024-03-01, or 2024-03-01 10:30 if it is not the beginning of a day."""
    milliseconds = round((days - np.floor(days)) * _MILLISECONDS)
    date = str(np.datetime64(int(np.floor(days)) + milliseconds // _MILLISECONDS, "D"))
    seconds, fraction = divmod(milliseconds % _MILLISECONDS, 1000)
    if not seconds and not fraction:
        return date
    time = f"{seconds // 3600:02}:{seconds // 60 % 60:02}"
    if seconds % 60 or fraction:
        time += f":{seconds % 60:02}"
    return f"{date} {time}{f'.{fraction:03}'.rstrip('0') if fraction else ''}"


def bound_words(part: PartName, threshold: float) -> str | None:
    """Write a threshold between values of a part; None if a plain number is best.

    A threshold between two whole numbers divides the rows like the lower one.
    """
    if not np.isfinite(threshold):
        return None
    if part in ("date", "time"):
        return text_of_days(np.floor(threshold) if part == "date" else threshold)
    if part == "hour":
        return text_of_days(threshold / 24).partition(" ")[2] or "00:00"
    whole = int(np.floor(threshold))
    return _NAMES.get(part, {}).get(whole, str(whole))
