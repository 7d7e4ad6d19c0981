"""What the partitions of a table hold, and the one schema that is made of all of them.

`summarize` says what a partition has in each column of the user's; `header_of` makes one schema of these
summaries, and refuses partitions whose columns do not match. Whether texts are dates, and which columns a
date becomes, is known only once all partitions are summarized.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np

from hornbeam.data.column import Column, Kind, column_at_fit
from hornbeam.data.content import Content, Labels, Rows, Times
from hornbeam.data.dates import DatePart, FoundDates, SeenDays, part_columns_names
from hornbeam.data.families import value_family
from hornbeam.data.names import feature_names_of, forced_columns
from hornbeam.data.sources import labelled, open_source
from hornbeam.data.table import Table
from hornbeam.data.wording import shown

__all__ = ["ColumnSummary", "PartitionSummary", "TableElsewhere", "header_of", "named", "summarize"]


@dataclass(frozen=True, eq=False)
class TableElsewhere(Table):
    """What is known of a table whose rows are on workers: columns without values."""

    def take(self, rows: Rows) -> "TableElsewhere":
        """Keep some rows."""
        return replace(
            self, n_rows=len(rows), row_numbers=rows if self.row_numbers is None else self.row_numbers[rows]
        )


@dataclass(frozen=True, eq=False)
class ColumnSummary:
    """What a partition holds of a column of the user's.

    `categories` are those that it has; `texts` says that they are texts which nobody has declared to be
    categories, so they may be dates; `days` are the dates of a column of dates.
    """

    kind: Kind | Literal["date"]
    all_missing: bool
    categories: tuple[Any, ...] | None = None
    texts: bool = False
    days: SeenDays | None = None


@dataclass(frozen=True, eq=False)
class PartitionSummary:
    """What a partition holds: its rows and columns; no columns where it has no rows that count."""

    n_rows: int
    names: tuple[str, ...] = ()
    names_given: bool = False
    columns: tuple[ColumnSummary, ...] = ()


class _Known(NamedTuple):
    number: int
    columns: tuple[ColumnSummary, ...]


class named:  # noqa: N801 - reads as a statement
    """Name the partition in errors about its rows."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Raise the error again, with the number of the partition before it."""
        if isinstance(error, ValueError | TypeError | MemoryError):
            raise type(error)(f"Partition {self._number}: {error}") from error


# --- On a worker -----------------------------------------------------------------------------------------


def summarize(
    partition: Any, number: int, kept: Rows | None, categorical_features: Any, estimator_name: str
) -> PartitionSummary:
    """Summarize a partition; one without rows, or without rows that count, says nothing of its columns."""
    n_rows = len(partition)
    if not n_rows or (kept is not None and not len(kept)):
        return PartitionSummary(n_rows)
    with named(number):
        source = open_source(partition, estimator_name)
        given = feature_names_of(labelled(source))
        forced = forced_columns(categorical_features, given, source.n_columns)
        names = given or [f"x{j}" for j in range(source.n_columns)]
        columns = []
        for j, name in enumerate(names):
            content = source.read(j, name)
            columns.append(
                _summarize_column(content if kept is None else content.take(kept), name, forced=j in forced)
            )
    return PartitionSummary(n_rows, tuple(names), given is not None, tuple(columns))


def _summarize_column(content: Content, name: str, *, forced: bool) -> ColumnSummary:
    if isinstance(content, Times) and not forced:
        seen = SeenDays()
        seen.add(content.days)
        return ColumnSummary("date", bool(np.isnan(content.days).all()), days=seen)
    column = column_at_fit(content, name, forced=forced)
    texts = isinstance(content, Labels) and not (content.declared or forced)
    return ColumnSummary(column.kind, column.is_all_missing(), column.categories, texts)


# --- On the driver ---------------------------------------------------------------------------------------


def header_of(summaries: Sequence[PartitionSummary], found: FoundDates) -> TableElsewhere:
    """Make one schema of those of all partitions; refuse what does not go together, naming the partition.

    Texts that are dates are `found`.
    """
    known = [(number, own) for number, own in enumerate(summaries) if own.columns]
    if not known:
        raise ValueError("X has no rows: all its partitions are empty.")
    reference, first = known[0]
    for number, own in known:
        if own.names != first.names:
            _refuse_other_columns(number, own.names, reference, first.names)
    taken = set(first.names)
    columns: list[Column] = []
    for j, name in enumerate(first.names):
        saying = [_Known(number, own.columns) for number, own in known if not own.columns[j].all_missing]
        if not saying:  # partitions where a column has no value have a say if there are no others
            saying = [_Known(number, own.columns) for number, own in known]
        columns += _merged(j, name, saying, found, taken)
    n_rows = sum(own.n_rows for own in summaries)
    return TableElsewhere(n_rows, tuple(columns), list(first.names) if first.names_given else None)


def _refuse_other_columns(
    number: int, names: Sequence[str], reference: int, first_names: Sequence[str]
) -> None:
    more = [name for name in names if name not in first_names]
    fewer = [name for name in first_names if name not in names]
    what = (
        f"has a column {shown(more[0])} that partition {reference} has not"
        if more
        else f"lacks the column {shown(fewer[0])} of partition {reference}"
        if fewer
        else f"has its columns in another order than partition {reference}"
    )
    raise ValueError(f"Partition {number} {what}. All partitions must have the same columns.")


def _merged(
    j: int, name: str, saying: Sequence[_Known], found: FoundDates, taken: set[str]
) -> Sequence[Column]:
    """Find the kind of a column, and its categories; of a date, the columns that are made of it."""
    reference, first = saying[0].number, saying[0].columns[j]
    kind = first.kind
    for number, columns in saying:
        if columns[j].kind != kind:
            raise ValueError(
                f"Column {shown(name)} is {_in_words(columns[j])} in partition {number} and "
                f"{_in_words(first)} in partition {reference}. Give all partitions the same dtypes, or name "
                "the column in categorical_features."
            )
    if kind == "date":
        seen = SeenDays()
        for _, columns in saying:
            days = columns[j].days
            if days is not None:
                seen.join(days)
        return _columns_of_date(name, seen.chosen("unknown"), taken)
    if kind == "numeric":
        return [Column(name, kind, np.empty(0))]
    empty = np.empty(0, dtype=np.int32)
    if kind == "ordinal":
        for number, columns in saying:
            if columns[j].categories != first.categories:
                raise ValueError(
                    f"Column {shown(name)} has other ordered categories in partition {number} than in "
                    f"partition {reference}. Declare the same in all, for example with .cat.set_categories."
                )
        return [Column(name, kind, empty, first.categories)]
    union = _union(j, name, saying)
    if all(columns[j].texts for _, columns in saying):
        times = found.in_texts(Labels(union, np.arange(len(union))), name)
        if isinstance(times, Times):
            seen = SeenDays()
            seen.add(times.days)
            return _columns_of_date(name, seen.chosen(times.order), taken)
    return [Column(name, kind, empty, union)]


def _in_words(column: ColumnSummary) -> str:
    return "one of dates" if column.kind == "date" else column.kind


def _columns_of_date(name: str, parts: Sequence[DatePart], taken: set[str]) -> Sequence[Column]:
    names = part_columns_names(name, parts, taken)
    return [Column(own, "numeric", np.empty(0), part=part) for own, part in zip(names, parts, strict=True)]


def _union(j: int, name: str, saying: Sequence[_Known]) -> tuple[Any, ...]:
    family, reference = None, 0
    union: set[Any] = set()
    for number, columns in saying:
        categories = columns[j].categories or ()
        for category in categories[:1]:
            own = value_family(type(category))
            family, reference = (own, number) if family is None else (family, reference)
            if own != family:
                raise ValueError(
                    f"Column {shown(name)} has categories of type {own} in partition {number} and of type "
                    f"{family} in partition {reference}. Make them all text, for example with .astype(str)."
                )
        union.update(categories)
    return tuple(sorted(union))
