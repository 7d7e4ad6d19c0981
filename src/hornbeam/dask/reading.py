"""Partitions of a table become codes, where they are: what a worker does, and how answers are put together.

Three visits: `look` says what a partition holds, from which one schema is made of all; `sample` reads it by
that schema, and says which values there are; `encode` gives every row its codes. Bins depend on the values
and the number of rows only (`cpp/data/bins.h`), so they are those of a single machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.column import Column
from hornbeam.data.content import MISSING, Rows
from hornbeam.data.encode import Encoded, core_column
from hornbeam.data.families import value_family
from hornbeam.data.sources import open_source
from hornbeam.data.table import Schema, SparseColumn, Table, read_columns, read_table_as
from hornbeam.data.wording import shown
from hornbeam.model import refuse_missing
from hornbeam.recipes.boost_part import CoreColumn

__all__ = [
    "EncodedElsewhere",
    "Look",
    "TableElsewhere",
    "Way",
    "categories_of",
    "core_columns",
    "encode",
    "header_of",
    "look",
    "put_together",
    "read",
    "sample",
]

Codes = tuple[npt.NDArray[Any], ...]


@dataclass(frozen=True, eq=False)
class TableElsewhere(Table):
    """What is known of a table whose rows are on workers: columns without values."""

    def take(self, rows: Rows) -> "TableElsewhere":
        """Keep some rows."""
        return replace(
            self, n_rows=len(rows), row_numbers=rows if self.row_numbers is None else self.row_numbers[rows]
        )


@dataclass(frozen=True, eq=False)
class EncodedElsewhere(Encoded):
    """What is known of codes that are on workers."""

    n_rows_elsewhere: int = 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.n_rows_elsewhere


@dataclass(frozen=True, eq=False)
class Look:
    """What a partition holds: its rows and columns, and which columns have no value at all."""

    n_rows: int
    schema: Schema | None
    all_missing: tuple[bool, ...] = ()


@dataclass(frozen=True, eq=False)
class Way:
    """How all partitions are read; `wanted` numbers the columns that are asked for."""

    schema: Schema
    max_bins: int
    missing_allowed: bool
    estimator_name: str
    wanted: tuple[int, ...] = ()


class _Known(NamedTuple):
    number: int
    schema: Schema
    all_missing: tuple[bool, ...]


def look(
    partition: Any, number: int, kept: Rows | None, categorical_features: Any, estimator_name: str
) -> Look:
    """Look at a partition; one without rows, or without rows that count, says nothing of its columns."""
    n_rows = len(partition)
    if not n_rows or (kept is not None and not len(kept)):
        return Look(n_rows, None)
    with _named(number):
        source = open_source(partition, estimator_name)
        table = read_columns(source, categorical_features=categorical_features, rows=kept)
    return Look(n_rows, table.schema, tuple(column.is_all_missing() for column in table.columns))


def header_of(looks: Sequence[Look]) -> TableElsewhere:
    """Make one schema of those of all partitions; refuse what does not go together, naming the partition."""
    known = [
        _Known(number, own.schema, own.all_missing)
        for number, own in enumerate(looks)
        if own.schema is not None
    ]
    if not known:
        raise ValueError("X has no rows: all its partitions are empty.")
    first = known[0].schema
    for number, schema, _ in known:
        if schema.names != first.names:
            _refuse_other_columns(number, schema, known[0].number, first)
        if schema.parts:
            raise ValueError(
                f"Partition {number}: column {shown(schema.names[_first_date(schema)])} holds dates, which a "
                "fit on a cluster does not take yet. Turn it into numbers, or name it in "
                "categorical_features."
            )
    columns = tuple(_merged_column(j, name, known) for j, name in enumerate(first.names))
    n_rows = sum(own.n_rows for own in looks)
    return TableElsewhere(n_rows, columns, list(first.names) if first.names_given else None)


def _first_date(schema: Schema) -> int:
    return next(j for j, part in enumerate(schema.parts) if part is not None)


def _refuse_other_columns(number: int, schema: Schema, reference: int, first: Schema) -> None:
    more = [name for name in schema.names if name not in first.names]
    fewer = [name for name in first.names if name not in schema.names]
    what = (
        f"has a column {shown(more[0])} that partition {reference} has not"
        if more
        else f"lacks the column {shown(fewer[0])} of partition {reference}"
        if fewer
        else f"has its columns in another order than partition {reference}"
    )
    raise ValueError(f"Partition {number} {what}. All partitions must have the same columns.")


def _merged_column(j: int, name: str, known: Sequence[_Known]) -> Column:
    """Find the kind of a column, and its categories; partitions where it has no value have no say."""
    saying = [(number, schema) for number, schema, all_missing in known if not all_missing[j]]
    if not saying:
        saying = [(number, schema) for number, schema, _ in known]
    reference, first = saying[0]
    kind = first.kinds[j]
    for number, schema in saying:
        if schema.kinds[j] != kind:
            raise ValueError(
                f"Column {shown(name)} is {schema.kinds[j]} in partition {number} and {kind} in partition "
                f"{reference}. Give all partitions the same dtypes, or name the column in "
                "categorical_features."
            )
    empty = np.empty(0, dtype=np.float64 if kind == "numeric" else np.int32)
    if kind == "numeric":
        return Column(name, kind, empty)
    if kind == "ordinal":
        for number, schema in saying:
            if schema.categories[j] != first.categories[j]:
                raise ValueError(
                    f"Column {shown(name)} has other ordered categories in partition {number} than in "
                    f"partition {reference}. Declare the same in all, for example with .cat.set_categories."
                )
        return Column(name, kind, empty, first.categories[j])
    return Column(name, kind, empty, _union(j, name, saying))


def _union(j: int, name: str, saying: Sequence[tuple[int, Schema]]) -> tuple[Any, ...]:
    family, reference = None, 0
    union: set[Any] = set()
    for number, schema in saying:
        for category in (schema.categories[j] or ())[:1]:
            own = value_family(type(category))
            family, reference = (own, number) if family is None else (family, reference)
            if own != family:
                raise ValueError(
                    f"Column {shown(name)} has categories of type {own} in partition {number} and of type "
                    f"{family} in partition {reference}. Make them all text, for example with .astype(str)."
                )
        union.update(schema.categories[j] or ())
    return tuple(sorted(union))


# --- Values ----------------------------------------------------------------------------------------------


class _named:  # noqa: N801 - reads as a statement
    """Name the partition in errors about its rows."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Raise the error again, with the number of the partition before it."""
        if isinstance(error, ValueError | TypeError):
            raise type(error)(f"Partition {self._number}: {error}") from error


def read(partition: Any, number: int, way: Way, kept: Rows | None) -> Table:
    """Read the rows of a partition that are kept, as the schema of all says."""
    with _named(number):
        table = read_table_as(partition, way.schema, estimator_name=way.estimator_name)
        table = table if kept is None else table.take(kept)
        if not way.missing_allowed:
            refuse_missing(table, way.estimator_name)
    return table


def _dense(column: Column) -> npt.NDArray[Any]:
    values = column.values.to_dense() if isinstance(column.values, SparseColumn) else column.values
    assert isinstance(values, np.ndarray)  # codes in files belong to streams
    return core_column(column.kind, values)


def categories_of(partition: Any, number: int, way: Way, kept: Rows | None) -> list[npt.NDArray[np.int32]]:
    """Return the numbers of the categories of some columns, as the schema of all has them."""
    if not len(partition):
        return [np.empty(0, dtype=np.int32) for _ in way.wanted]
    table = read(partition, number, way, kept)
    return [np.asarray(_dense(table.columns[j]), dtype=np.int32) for j in way.wanted]


def sample(partition: Any, number: int, way: Way, kept: Rows | None, sampled: Rows) -> list[tuple[Any, ...]]:
    """Say of some columns what bins are made of: distinct values if few, those of sampled rows, gaps."""
    if not len(partition):
        return []
    table = read(partition, number, way, kept)
    found: list[tuple[Any, ...]] = []
    for column in (table.columns[j] for j in way.wanted):
        values = _dense(column)
        if column.kind == "categorical":
            present = np.unique(values[values >= 0]).astype(np.uint32)
            found.append((present, None, bool((values == MISSING).any())))
            continue
        distinct = _core.DistinctNumbers(way.max_bins)
        distinct.add(values)
        chosen = np.asarray(values[sampled], dtype=np.float64)
        found.append((distinct.values(), chosen[~np.isnan(chosen)], distinct.has_missing))
    return found


def core_columns(way: Way, samples: Sequence[list[tuple[Any, ...]]]) -> list[CoreColumn]:
    """Make the bins of some columns from what all partitions say of them."""
    saying = [own for own in samples if own]
    return [
        _categories(place, len(way.schema.categories[j] or ()), saying)
        if way.schema.kinds[j] == "categorical"
        else _bins(place, saying, way.max_bins)
        for place, j in enumerate(way.wanted)
    ]


def _categories(j: int, n_categories: int, samples: Sequence[list[tuple[Any, ...]]]) -> CoreColumn:
    return CoreColumn(
        has_missing=any(own[j][2] for own in samples),
        n_categories=n_categories,
        present=np.unique(np.concatenate([own[j][0] for own in samples])).astype(np.uint32),
    )


def _bins(j: int, samples: Sequence[list[tuple[Any, ...]]], max_bins: int) -> CoreColumn:
    distinct = _core.DistinctNumbers(max_bins)
    few = all(own[j][0] is not None for own in samples)
    for own in samples:
        if few:
            distinct.add(own[j][0])
    chosen = np.concatenate([own[j][1] for own in samples])
    values, binned = _core.make_bins(chosen, distinct.values() if few else None, max_bins)
    return CoreColumn(any(own[j][2] for own in samples), np.array(values), binned)


def encode(
    partition: Any, number: int, way: Way, kept: Rows | None, columns: Sequence[CoreColumn]
) -> Codes | None:
    """Return the codes of a partition, column by column."""
    if not len(partition):
        return None
    table = read(partition, number, way, kept)
    codes: list[npt.NDArray[Any]] = []
    for column, coding in zip((table.columns[j] for j in way.wanted), columns, strict=True):
        values = _dense(column)
        if coding.values is not None:
            codes.append(np.asarray(_core.codes_in_bins(values, coding.values, coding.binned)))
            continue
        missing = coding.n_categories
        width: Any = np.uint8 if missing <= 0xFF else np.uint16 if missing <= 0xFFFF else np.uint32
        own: npt.NDArray[Any] = np.where(values < 0, missing, values).astype(width)
        codes.append(own)
    return tuple(codes)


def put_together(
    stretches: Sequence[tuple[int, int]], pieces: Sequence[Codes], made_elsewhere: Sequence[npt.NDArray[Any]]
) -> Codes:
    """Make the codes of a part: rows [begin, end) of each of some partitions, one after the other.

    Columns that the driver has made come last.
    """
    cut = [
        tuple(codes[begin:end] for codes in piece)
        for (begin, end), piece in zip(stretches, pieces, strict=True)
    ]
    return (*(np.concatenate(columns) for columns in zip(*cut, strict=True)), *made_elsewhere)
