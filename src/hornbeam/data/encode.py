"""From named columns to integer codes: a `Table` comes in, an `Encoded` data set for every learner goes out.

The encoding holds facts about X only. Bootstrap samples, folds and rounds are lists of its rows, never
copies.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.coded import CodedColumn, code_type
from hornbeam.data.column import warn_of_near_unique
from hornbeam.data.table import Column, Schema, SparseColumn, Table

__all__ = ["Encoded", "core_column", "encode", "own_codes"]

_QUANTILE_SAMPLE_ROWS = 200_000  # as in data/binning.cpp; another number would only cost time


@dataclass(frozen=True, eq=False)
class Encoded:
    """Codes of every column, and the schema that gives them their meaning."""

    codes: _core.Dataset
    schema: Schema
    # Where memory is short: a folder for what a fit keeps of its rows.
    scratch: Path | None = field(default=None, kw_only=True)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.codes.n_rows

    @property
    def n_features(self) -> int:
        """Number of columns."""
        return self.codes.n_features

    def columns_with_gaps(self) -> tuple[bool, ...]:
        """Tell for each column whether some row has no value in it."""
        return tuple(self.codes.has_missing(feature) for feature in range(self.n_features))

    def all_rows(self) -> npt.NDArray[np.uint32]:
        """Return the numbers of all rows."""
        return np.arange(self.n_rows, dtype=np.uint32)


def encode(table: Table, *, max_bins: int | None, n_threads: int) -> Encoded:
    """Encode a table: exactly, by the rank of each distinct value, or into at most `max_bins` bins.

    A table that several fits share is encoded once.
    """
    if table.encodings is None:
        return _encode(table, max_bins, n_threads)
    if max_bins not in table.encodings:
        table.encodings[max_bins] = _encode(table, max_bins, n_threads)
    encoded: Encoded = table.encodings[max_bins]
    return encoded


def _encode(table: Table, max_bins: int | None, n_threads: int) -> Encoded:
    # Of the categorical columns that are left: where means replace categories, an id does no harm.
    warn_of_near_unique(table.columns, table.n_rows)
    if any(isinstance(column.values, CodedColumn) for column in table.columns):
        return _encode_beside_codes(table, max_bins, n_threads)
    origin = table.origin if _ranks_are_worth_it(table, max_bins) else None
    ranks = None if origin is None else origin.whole.ranks(n_threads)
    columns: list[Any] = [_as_it_is(column) for column in table.columns]
    if ranks is not None:
        for place, j in enumerate(table.schema.sources):
            column = table.columns[place]
            if column.kind == "numeric" and column.part is None and j in ranks.places:
                columns[place] = ranks.places[j]
    codes = _core.encode_table(
        table.n_rows,
        columns,
        max_bins or 0,
        n_threads,
        whole=None if ranks is None else ranks.codes,
        rows=None if origin is None else origin.numbers.astype(np.uint32),
    )
    return Encoded(codes, table.schema)


def _encode_beside_codes(table: Table, max_bins: int | None, n_threads: int) -> Encoded:
    """Put columns that are already encoded and others into one data set."""
    columns: list[Any] = []
    for column in table.columns:
        if isinstance(column.values, CodedColumn):
            if column.values.max_bins != max_bins:
                raise ValueError(
                    f"The table was encoded with max_bins={column.values.max_bins}, and its values are not "
                    f"kept: it cannot be encoded again with max_bins={max_bins}. Use the same, or encode it "
                    "again."
                )
            columns.append(column.values.for_core())
        else:
            columns.append(own_codes(column, table.n_rows, max_bins, n_threads))
    return Encoded(_core.dataset_of_codes(table.n_rows, columns), table.schema, scratch=table.scratch)


def own_codes(column: Column, n_rows: int, max_bins: int | None, n_threads: int) -> tuple[Any, ...]:
    """Encode a single column, in the form that `dataset_of_codes` takes."""
    alone = _core.encode_table(n_rows, [_as_it_is(column)], max_bins or 0, n_threads)
    codes = alone.codes(0).astype(code_type(alone.n_codes(0)))
    if column.kind == "categorical":
        return codes, alone.n_codes(0), alone.has_missing(0)
    return codes, alone.values(0), alone.is_binned(0), alone.has_missing(0)


def _ranks_are_worth_it(table: Table, max_bins: int | None) -> bool:
    """Whether to sort all rows of the shared table; bins of many rows sort only a sample of them."""
    return max_bins is None or table.n_rows <= _QUANTILE_SAMPLE_ROWS


def _as_it_is(column: Column) -> tuple[Any, ...]:
    if type(column.values) is np.ndarray and column.kind == "numeric":
        return (column.values,)
    assert not isinstance(column.values, CodedColumn)
    if isinstance(column.values, SparseColumn):
        return column.values.indices, column.values.data, None
    if column.kind == "categorical":
        return column.values, len(column.categories or ())
    return (core_column(column.kind, column.values),)


def core_column(kind: str, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return a dense column as the core compares it: ordered categories as numbers, missing ones as NaN."""
    if kind != "ordinal":
        return values
    numbers = values.astype(np.float64)
    numbers[values < 0] = np.nan
    return numbers
