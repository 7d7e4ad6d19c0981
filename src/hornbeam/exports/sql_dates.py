"""The parts of a date in SQL: of dates and timestamps, in SQLite of texts such as 2024-03-31 10:30.

What counts is the clock as it is written: where the column has a time zone, that of the session.
"""

from typing import Literal

from hornbeam.data.dates import PartName
from hornbeam.data.wording import shown
from hornbeam.errors import ExportError

__all__ = ["date_part", "date_type", "refuse_dates_of_standard"]

_MICROSECONDS = "86400000000.0e0"  # of a day
_FIELDS = {"month": "MONTH", "day": "DAY", "day_of_year": "DOY", "weekday": "ISODOW"}
_MARKS = {"month": "%m", "day": "%d", "day_of_year": "%j", "weekday": "%w"}

Database = Literal["standard", "duckdb", "sqlite", "postgres"]


def refuse_dates_of_standard(name: str) -> None:
    """Say that databases agree on dates no further than on their names."""
    raise ExportError(
        f"Column {shown(name)} is a date, and every database computes with dates in its own way. Name one: "
        "dialect='duckdb', 'sqlite' or 'postgres'."
    )


def date_type(dialect: Database) -> str:
    """Say as what a date is read."""
    return "TEXT" if dialect == "sqlite" else "TIMESTAMP"


def date_part(column: str, part: PartName, dialect: Database) -> str:
    """Write one part of the date in a column as a number; NULL where there is none."""
    compute = _in_sqlite if dialect == "sqlite" else _in_others
    return f"CAST({compute(f'CAST({column} AS {date_type(dialect)})', part)} AS DOUBLE PRECISION)"


def _in_others(date: str, part: PartName) -> str:
    if part in _FIELDS:
        return f"EXTRACT({_FIELDS[part]} FROM {date}){' - 1' if part == 'weekday' else ''}"
    days = f"CAST(CAST({date} AS DATE) - DATE '1970-01-01' AS DOUBLE PRECISION)"
    passed = (
        f"CAST(EXTRACT(HOUR FROM {date}) * 3600000000 + EXTRACT(MINUTE FROM {date}) * 60000000 "
        f"+ EXTRACT(MICROSECONDS FROM {date}) AS DOUBLE PRECISION)"
    )
    return _of_time(days, passed, part)


def _in_sqlite(date: str, part: PartName) -> str:
    day = f"SUBSTR({date}, 1, 10)"
    if part in _MARKS:
        field = f"CAST(STRFTIME('{_MARKS[part]}', {day}) AS INTEGER)"
        return f"({field} + 6) % 7" if part == "weekday" else field
    days = f"(JULIANDAY({day}) - 2440587.5)"
    passed = (
        f"CAST(CAST(SUBSTR({date}, 12, 2) AS INTEGER) * 3600000000 "
        f"+ CAST(SUBSTR({date}, 15, 2) AS INTEGER) * 60000000 "
        f"+ CAST(ROUND(CAST(SUBSTR({date}, 18) AS REAL) * 1000000) AS INTEGER) AS DOUBLE PRECISION)"
    )
    return _of_time(days, passed, part)


def _of_time(days: str, passed: str, part: PartName) -> str:
    """Write the days, with the share that has passed of the last; or the hour, in whole milliseconds."""
    if part == "date":
        return days
    time = f"({days} + {passed} / {_MICROSECONDS})"
    return time if part == "time" else f"ROUND(({time} - {days}) * 86400000.0e0) / 3600000.0e0"
