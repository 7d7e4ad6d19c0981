"""Rows of requests: JSON or Arrow comes in, a table for the model goes out, or an error that names the field.

One row is an object by column name; many are a list of such objects, or of lists in the order of the columns,
alone or under the key "rows". null is missing.
"""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hornbeam._optional import require
from hornbeam.data.date_texts import days_of_texts
from hornbeam.data.table import Kind, Schema
from hornbeam.estimators.columns_known import schema_known
from hornbeam.inside.words import printable

__all__ = ["ARROW", "BadRequest", "RowReader", "Rows", "schema_of"]

ARROW = "application/vnd.apache.arrow.stream"


class BadRequest(Exception):  # noqa: N818 - what a client is told, not what went wrong here
    """What is wrong with a request: a sentence and, where there is one, the field, the row and the value."""

    def __init__(self, message: str, *, status: int = 422, **where: Any) -> None:
        super().__init__(message)
        self.status = status
        self.where = where


@dataclass(frozen=True, eq=False)
class Rows:
    """A table to predict; `is_single` if one row was asked for by itself."""

    table: Any
    n_rows: int
    is_single: bool


def schema_of(model: Any) -> Schema:
    """Return what a model knows about its columns; numbers where it knows nothing but their names."""
    found = schema_known(model)
    if found is not None:
        return found
    names = getattr(model, "feature_names_in_", None)
    n = int(model.n_features_in_)
    given = tuple(f"x{j}" for j in range(n)) if names is None else tuple(map(str, names))
    return Schema(given, names is not None, tuple[Kind, ...]("numeric" for _ in given), (None,) * n)


class RowReader:
    """Reads the rows of requests for one model."""

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.names = schema.given_names
        self._places = {name: j for j, name in enumerate(self.names)}
        self._columns = [j for j, name in enumerate(schema.names) if name in self._places]  # of the schema

    # --- JSON --------------------------------------------------------------------------------------------

    def from_json(self, body: bytes) -> Rows:
        """Read one row or many."""
        try:
            document = json.loads(body, parse_constant=_refuse_constant)
        except (ValueError, RecursionError) as error:
            raise BadRequest(f"The body is not JSON: {error}.", status=400) from None
        if isinstance(document, dict) and set(document) == {"rows"} and "rows" not in self._places:
            document = document["rows"]
        is_single = isinstance(document, dict)
        rows = [document] if is_single else document
        if not isinstance(rows, list) or not rows:
            raise BadRequest("Give one row, an object by column name, or a list of rows that is not empty.")
        columns: list[list[Any]] = [[] for _ in self.names]
        for number, row in enumerate(rows):
            for column, value in zip(columns, self._values(row, number), strict=True):
                column.append(value)
        checked = [self._checked(j, column) for j, column in enumerate(columns)]
        return Rows(self._table(checked), len(rows), is_single)

    def _values(self, row: Any, number: int) -> list[Any]:
        names = self.names
        if isinstance(row, list):
            if len(row) != len(names):
                raise BadRequest(
                    f"Row {number} has {len(row)} values; the model has {len(names)} columns.", row=number
                )
            return row
        if not isinstance(row, dict):
            raise BadRequest(f"Row {number} is neither an object nor a list.", row=number)
        if row.keys() != self._places.keys():
            for name in names:
                if name not in row:
                    raise BadRequest(
                        f"Row {number} lacks the field {printable(name)}; a value that is missing is null.",
                        row=number,
                        field=name,
                    )
            extra = next(name for name in row if name not in self._places)
            raise BadRequest(
                f"Row {number} has the field {printable(extra)}, which the model does not know.",
                row=number,
                field=extra,
            )
        return [row[name] for name in names]

    def _checked(self, j: int, values: list[Any]) -> Any:
        """Check the values of a column against what the fit has seen there."""
        name, categories = self.names[j], self.schema.categories[self._columns[j]]
        wanted, words = self._kind_of(j)
        for row, value in enumerate(values):
            if value is None or (isinstance(value, wanted) and (wanted is bool or type(value) is not bool)):
                continue
            if categories is None and type(value) is bool:  # a number of the fit that came as a truth value
                continue
            written = printable(json.dumps(value))
            raise BadRequest(
                f"Row {row}, field {printable(name)}: {written} is not {words} or null.",
                row=row,
                field=name,
                value=value if isinstance(value, str | int | float) else None,
            )
        if wanted is str:
            self._refuse_no_dates(j, values)
        if wanted in (str, bool):
            return values
        try:
            numbers = [math.nan if value is None else float(value) for value in values]
        except OverflowError:
            raise BadRequest(f"Field {printable(name)}: a number is too large.", field=name) from None
        if categories is None:
            return np.array(numbers)
        return [None if value is None else float(value) for value in values]

    def _refuse_no_dates(self, j: int, values: list[Any]) -> None:
        part = self.schema.part(self._columns[j])
        if part is None:
            return
        days = days_of_texts(values, part.order)
        for row, value in enumerate(values):
            if value is not None and math.isnan(days[row]):
                name = self.names[j]
                raise BadRequest(
                    f"Row {row}, field {printable(name)}: {printable(json.dumps(value))} is not a date; "
                    'write it as "2024-03-31" or "2024-03-31T10:30:00".',
                    row=row,
                    field=name,
                    value=value,
                )

    def _kind_of(self, j: int) -> tuple[Any, str]:
        part = self.schema.part(self._columns[j])
        if part is not None:
            return str, 'a date such as "2024-03-31"'
        categories = self.schema.categories[self._columns[j]]
        if categories and isinstance(categories[0], str):
            return str, "a text"
        if categories and isinstance(categories[0], bool):
            return bool, "true, false"
        return int | float, "a number"

    def _table(self, columns: list[Any]) -> Any:
        """Put columns together: by name where the fit had names, else as an array."""
        schema = self.schema
        if not schema.names_given and not schema.parts and all(kind == "numeric" for kind in schema.kinds):
            return np.stack(columns, axis=1)
        if not schema.names_given:
            together = np.empty((len(columns[0]), len(columns)), dtype=object)
            for j, column in enumerate(columns):
                together[:, j] = column
            return together
        arrow = require("pyarrow", purpose="Serving a model whose columns have names")
        types = {str: arrow.string(), bool: arrow.bool_()}
        arrays = [
            arrow.array(column, type=types.get(self._kind_of(j)[0], arrow.float64()))
            for j, column in enumerate(columns)
        ]
        return arrow.table(arrays, names=list(self.names))

    # --- Arrow -------------------------------------------------------------------------------------------

    def from_arrow(self, body: bytes) -> Rows:
        """Read a stream of Arrow's format."""
        arrow = require("pyarrow", purpose="Reading Arrow")
        ipc = require("pyarrow.ipc", purpose="Reading Arrow")
        try:
            table = ipc.open_stream(body).read_all()
            table.validate(full=True)
        except (arrow.ArrowInvalid, arrow.ArrowTypeError, OSError, EOFError) as error:
            raise BadRequest(f"The body is not a stream of Arrow: {error}.", status=400) from None
        if not table.num_rows:
            raise BadRequest("The table has no rows.")
        for name in self.names:
            if name not in table.column_names:
                raise BadRequest(f"The table lacks the field {printable(name)}.", field=name)
        chosen = table.select(list(self.names))
        if not self.schema.names_given:
            return Rows(self._unnamed(chosen), table.num_rows, is_single=False)
        return Rows(chosen, table.num_rows, is_single=False)

    def _unnamed(self, table: Any) -> Any:
        return self._table([self._checked(j, column.to_pylist()) for j, column in enumerate(table.columns)])


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number; null is a missing value")
