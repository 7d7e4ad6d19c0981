"""Partitions of a table become codes, where they are: what a worker does, and how answers are put together.

Three visits: `summarize` (`partition_summaries.py`) says what a partition holds, and one schema is made of
all summaries; `sample` reads a partition by that schema, and says which values there are; `encode` gives
every row its codes. Bins depend on the values and the number of rows only (`cpp/data/bins.h`), so they are
those of a single machine.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.dask.partition_summaries import named
from hornbeam.data.column import Column
from hornbeam.data.content import MISSING, Content, Rows
from hornbeam.data.encode import Encoded, core_column
from hornbeam.data.sources import OpenSource, Source, labelled, open_source
from hornbeam.data.table import Schema, SparseColumn, Table, read_table_as
from hornbeam.model import refuse_missing
from hornbeam.recipes.boosting.boost_part import CoreColumn

__all__ = [
    "EncodedElsewhere",
    "Way",
    "categories_of",
    "core_columns",
    "encode",
    "no_codes",
    "put_together",
    "read",
    "sample",
]

Codes = tuple[npt.NDArray[Any], ...]


@dataclass(frozen=True, eq=False)
class EncodedElsewhere(Encoded):
    """What is known of codes that are on workers."""

    n_rows_elsewhere: int = 0

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.n_rows_elsewhere


@dataclass(frozen=True, eq=False)
class Way:
    """How all partitions are read; `wanted` numbers the columns that are asked for.

    With `all_rows` the rows that do not count have codes, too.
    """

    schema: Schema
    max_bins: int
    missing_allowed: bool
    estimator_name: str
    wanted: tuple[int, ...] = ()
    all_rows: bool = False


# --- Values ----------------------------------------------------------------------------------------------


class _SomeRows(OpenSource):
    """Some rows of a source: what the others hold does not matter."""

    def __init__(self, source: Source, rows: Rows) -> None:
        self._source, self._rows = source, rows
        self.labelled = self.container = labelled(source)
        self.n_rows, self.n_columns = len(rows), source.n_columns

    def read(self, j: int, name: str) -> Content:
        """Read column j."""
        return self._source.read(j, name).take(self._rows)


def _has_no_rows(partition: Any, kept: Rows | None) -> bool:
    return not len(partition if kept is None else kept)


def read(partition: Any, number: int, way: Way, kept: Rows | None) -> Table:
    """Read the rows of a partition that are kept, as the schema of all says."""
    with named(number):
        rows = partition if kept is None else _SomeRows(open_source(partition, way.estimator_name), kept)
        table = read_table_as(rows, way.schema, estimator_name=way.estimator_name)
        table = table if kept is None else replace(table, row_numbers=kept)
        if not way.missing_allowed:
            refuse_missing(table, way.estimator_name)
    return table


def _dense(column: Column) -> npt.NDArray[Any]:
    values = column.values.to_dense() if isinstance(column.values, SparseColumn) else column.values
    assert isinstance(values, np.ndarray)  # codes in files belong to streams
    return core_column(column.kind, values)


def categories_of(partition: Any, number: int, way: Way, kept: Rows | None) -> list[npt.NDArray[np.int32]]:
    """Return the numbers of the categories of some columns, as the schema of all has them."""
    if _has_no_rows(partition, kept):
        return [np.empty(0, dtype=np.int32) for _ in way.wanted]
    table = read(partition, number, way, kept)
    return [np.asarray(_dense(table.columns[j]), dtype=np.int32) for j in way.wanted]


def sample(partition: Any, number: int, way: Way, kept: Rows | None, sampled: Rows) -> list[tuple[Any, ...]]:
    """Say of some columns what bins are made of: distinct values if few, those of sampled rows, gaps."""
    if _has_no_rows(partition, kept):
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
    if kept is not None and way.all_rows:
        own = _codes(partition, number, way, kept, columns) or tuple(map(no_codes, columns))
        return tuple(_among(len(partition), kept, codes) for codes in own)
    return _codes(partition, number, way, kept, columns)


def _among(n_rows: int, kept: Rows, codes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Give rows that do not count a code, too."""
    there = np.zeros(n_rows, dtype=codes.dtype)
    there[kept] = codes
    return there


def _codes(
    partition: Any, number: int, way: Way, kept: Rows | None, columns: Sequence[CoreColumn]
) -> Codes | None:
    if _has_no_rows(partition, kept):
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


def no_codes(column: CoreColumn) -> npt.NDArray[Any]:
    """Return the codes of no rows, which say how wide codes are."""
    n = column.n_categories if column.values is None else len(column.values) + int(column.binned)
    return np.empty(0, dtype=np.uint8 if n <= 0xFF else np.uint16 if n <= 0xFFFF else np.uint32)


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
