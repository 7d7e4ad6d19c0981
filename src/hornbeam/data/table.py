"""Turns whatever users pass as X into named, typed columns; what the core can read in place is not copied.

In: arrays, lists of rows, data frames (pandas, polars, Arrow and others, through narwhals) and scipy sparse
matrices. Out: a `Table` of one `Column` per feature, or several for a date. A column passes through:

    sources.py    the container: how many rows, how many columns, one column after the other
    readers.py    what a column holds: Numbers, Labels, Times or a SparseColumn (content.py)
    dates.py      which texts are dates, and which columns of numbers are made of a date
    column.py     what that means: its dtype decides at fit, the schema of the fit at predict
    names.py      what the columns are called, and which ones the user names as categorical
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hornbeam.data.coded import CodedColumn
from hornbeam.data.column import (
    Category,
    Column,
    FoundNumbers,
    Kind,
    codes_as_fitted,
    column_at_fit,
    date_columns_as_fitted,
    date_columns_at_fit,
    values_as_numeric,
    warn_of_merged_integers,
)
from hornbeam.data.content import MISSING, UNSEEN, Rows, SparseColumn, Times, count_merged, labels_of_texts
from hornbeam.data.dates import DatePart, FoundDates
from hornbeam.data.families import value_family
from hornbeam.data.names import check_names_and_width, feature_names_of, forced_columns
from hornbeam.data.shared import Origin, origin_of
from hornbeam.data.sources import CodedSource, OpenSource, Source, labelled, numbers_of, open_source, unmasked
from hornbeam.data.wording import shown

__all__ = [
    "MISSING",
    "UNSEEN",
    "Category",
    "CodedColumn",
    "Column",
    "Kind",
    "Schema",
    "SparseColumn",
    "Table",
    "Unseen",
    "labels_of_texts",
    "read_columns",
    "read_table",
    "read_table_as",
    "shown",
    "unmasked",
    "value_family",
]

Unseen = Literal["missing", "majority", "error"]
CategoricalFeatures = Literal["from_dtype"] | Iterable[str] | Iterable[int] | None

_MOST_ROWS = 2**31 - 1  # the core numbers rows and nodes with 32 bits; columns and cells have no such limit


@dataclass(frozen=True, slots=True)
class Schema:
    """What a model remembers about the columns it was fitted on: plain values, to compare and to save.

    A date of the user's becomes several adjacent columns here, of which the first has the user's name.
    `parts` says what they are, with None for all other columns; it is empty if there are no dates.
    """

    names: tuple[str, ...]
    names_given: bool
    kinds: tuple[Kind, ...]
    categories: tuple[tuple[Category, ...] | None, ...]
    parts: tuple[DatePart | None, ...] = ()

    @property
    def sources(self) -> tuple[int, ...]:
        """The number of the user's column that each column is or is derived from."""
        if not self.parts:
            return tuple(range(len(self.names)))
        number = -1
        sources = []
        for part in self.parts:
            number += part is None or part.is_first
            sources.append(number)
        return tuple(sources)

    @property
    def given_names(self) -> tuple[str, ...]:
        """The names of the user's columns."""
        if not self.parts:
            return self.names
        return tuple(
            name for name, part in zip(self.names, self.parts, strict=True) if part is None or part.is_first
        )

    def part(self, column: int) -> DatePart | None:
        """Say what a column derived from a date holds; None for other columns."""
        return self.parts[column] if self.parts else None

    def folded(self, by_column: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Add up numbers by column, the first axis, over all columns derived from one of the user's."""
        if not self.parts:
            return by_column
        sums = np.zeros((len(self.given_names), *by_column.shape[1:]))
        np.add.at(sums, np.array(self.sources), by_column)
        return sums


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length.

    `feature_names` is None if the user gave no names. `n_unseen` counts, by column name, the rows whose
    category the fit has not seen. `row_numbers` are the rows of X in the table, if not all. If several fits
    share the table, `encodings` keeps its codes by the number of bins. `origin` is the larger shared table
    that its rows come from. `scratch` is a folder for files that replace memory where that is short.
    """

    n_rows: int
    columns: tuple[Column, ...]
    feature_names: list[str] | None
    n_unseen: Mapping[str, int] = field(default_factory=dict)
    row_numbers: Rows | None = None
    encodings: dict[int | None, Any] | None = None
    origin: Origin | None = None
    scratch: Path | None = None

    @cached_property
    def schema(self) -> Schema:
        """The facts about the columns, without the rows."""
        parts = tuple(column.part for column in self.columns)
        return Schema(
            names=tuple(column.name for column in self.columns),
            names_given=self.feature_names is not None,
            kinds=tuple(column.kind for column in self.columns),
            categories=tuple(column.categories for column in self.columns),
            parts=parts if any(parts) else (),
        )

    @property
    def given_columns(self) -> tuple[Column, ...]:
        """The user's columns: for a date, the date itself."""
        return tuple(column for column in self.columns if column.part is None or column.part.is_first)

    def first_missing(self) -> tuple[str, int] | None:
        """Find a missing value: the name of the first column that has one, and its first such row in X."""
        for column in self.columns:
            row = column.first_missing_row()
            if row is not None:
                return column.name, row if self.row_numbers is None else int(self.row_numbers[row])
        return None

    def take(self, rows: Rows) -> "Table":
        """Keep some rows, given in ascending order; the categories stay those of the whole table."""
        columns = tuple(
            replace(
                column,
                values=column.values.take(rows)
                if isinstance(column.values, SparseColumn | CodedColumn)
                else column.values[rows],
            )
            for column in self.columns
        )
        numbers = rows if self.row_numbers is None else self.row_numbers[rows]
        return replace(
            self,
            n_rows=len(rows),
            columns=columns,
            row_numbers=numbers,
            encodings=None,
            origin=None if self.origin is None else self.origin.take(rows),
        )

    def unseen_as_missing(self) -> "Table":
        """Return the table with categories that the fit has not seen turned into missing values."""
        columns = tuple(
            replace(column, values=np.where(column.values == UNSEEN, MISSING, column.values).astype(np.int32))
            if column.name in self.n_unseen and isinstance(column.values, np.ndarray)
            else column
            for column in self.columns
        )
        return replace(self, columns=columns, n_unseen={}, encodings=None)


def read_table(
    X: Any, *, categorical_features: CategoricalFeatures = "from_dtype", estimator_name: str = "the estimator"
) -> Table:
    """Read X for a fit: texts and categories are categorical, ordered categories ordinal, the rest numeric.

    Dates, and texts that are dates in every row, become several numeric columns.

    `categorical_features` names further columns to read as categorical, whatever they hold: by name, by index
    or by a boolean mask. None and "from_dtype" name none.
    """
    return read_columns(open_source(X, estimator_name), categorical_features=categorical_features)


def read_columns(
    source: Source, *, categorical_features: CategoricalFeatures, rows: Rows | None = None
) -> Table:
    """Read a container for a fit as `read_table` does, or some of its rows, in ascending order.

    Rows that are left out leave no trace: their categories are unknown, and no warning mentions them.
    """
    n_rows = source.n_rows if rows is None else len(rows)
    if n_rows > _MOST_ROWS:
        raise ValueError(f"X has {n_rows} rows; a fit takes at most {_MOST_ROWS}. Fit on a sample of them.")
    feature_names = feature_names_of(labelled(source))
    forced = forced_columns(categorical_features, feature_names, source.n_columns)
    if rows is not None or not isinstance(source, OpenSource):
        return _read_some(source, rows, n_rows, feature_names, forced)
    return source.kept(
        forced, lambda: replace(_read_some(source, None, n_rows, feature_names, forced), encodings={})
    )


def _read_some(
    source: Source,
    rows: Rows | None,
    n_rows: int,
    feature_names: list[str] | None,
    forced: frozenset[int],
) -> Table:
    names = feature_names or [f"x{j}" for j in range(source.n_columns)]
    numbers = None if forced else numbers_of(source)
    if numbers is not None:
        values = (numbers if rows is None else numbers[rows]).T
        plain = tuple(Column(name, "numeric", column) for name, column in zip(names, values, strict=True))
        return Table(n_rows, plain, feature_names, row_numbers=rows)
    columns: list[Column] = []
    merged: dict[str, int] = {}
    found, number_texts = FoundDates(), FoundNumbers()
    taken = set(names)
    for j, name in enumerate(names):
        content = source.read(j, name) if rows is None else source.read(j, name).take(rows)
        if j not in forced:
            content = found.in_texts(content, name)
            if isinstance(content, Times):
                columns += date_columns_at_fit(content, name, taken)
                continue
            number_texts.look(content, name)
        column = column_at_fit(content, name, forced=j in forced)
        columns.append(column)
        if column.kind == "numeric" and (count := count_merged(content)):
            merged[name] = count
    origin = origin_of(source)
    if origin is None:  # the table that folds are dealt from has been checked as a whole
        found.say()
        number_texts.say()
    warn_of_merged_integers(merged)
    if origin is not None and rows is not None:
        origin = origin.take(rows)
    return Table(n_rows, tuple(columns), feature_names, row_numbers=rows, origin=origin)


def read_table_as(
    X: Any, schema: Schema, *, unseen: Unseen = "missing", estimator_name: str = "the estimator"
) -> Table:
    """Read X for a prediction: the columns of the fit, in their order, with its categories.

    A category that the fit has not seen becomes UNSEEN, and the tree decides where it goes; `n_unseen` counts
    its rows, and `unseen="error"` refuses it.
    """
    source = open_source(X, estimator_name)
    if isinstance(source, CodedSource):
        coded: Table = source.table_as(schema)
        return coded
    check_names_and_width(
        labelled(source), schema.given_names, names_given=schema.names_given, estimator_name=estimator_name
    )
    columns: list[Column] = []
    n_unseen: dict[str, int] = {}
    sources = schema.sources
    for place, fitted in enumerate(zip(schema.names, schema.kinds, schema.categories, strict=True)):
        name, kind, categories = fitted
        if len(columns) > place:
            continue  # derived from the date before it
        content = source.read(sources[place], name)
        if schema.part(place) is not None:
            own = slice(place, place + sources.count(sources[place]))
            columns += date_columns_as_fitted(
                content, schema.names[own], [part for part in schema.parts[own] if part is not None]
            )
            continue
        if kind == "numeric" or categories is None:
            columns.append(Column(name, "numeric", values_as_numeric(content, name)))
            continue
        codes = codes_as_fitted(content, name, categories, refuse_unseen=unseen == "error")
        columns.append(Column(name, kind, codes, categories))
        if count := int(np.count_nonzero(codes == UNSEEN)):
            n_unseen[name] = count
    feature_names = list(schema.given_names) if schema.names_given else None
    return Table(source.n_rows, tuple(columns), feature_names, n_unseen)
