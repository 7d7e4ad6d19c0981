"""Tables from files: from a path or `-` to Arrow tables.

A CSV file is read as text first and given types afterwards, column by column (`column_types.py`); Parquet and
Feather have types, and so have lines of JSON. `read_table` returns everything; `read_batches` goes through a
file of any length in bounded memory.
"""

import io
import itertools
import json
import mmap
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from hornbeam._optional import require
from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.reading.column_types import refuse_nan, typed
from hornbeam.cli.reading.csv_files import (
    LONGEST_LINE,
    blaming,
    csv_batches,
    csv_options,
    line_of_row,
    read_header,
    refuse_open_quote,
    without_unnamed,
)
from hornbeam.cli.reading.opening import STANDARD, opened, refuse_other_files, starts_as
from hornbeam.cli.reading.recoding import as_utf8_lines
from hornbeam.cli.reading.table_format import Data, TableFormat
from hornbeam.declare.kinds import did_you_mean
from hornbeam.inside.words import named, printable

__all__ = ["Data", "TableFormat", "read_batches", "read_table", "separator_of", "take_column"]

_FIRST_ROWS = 2**16  # bytes, from which the types of columns are guessed
_BLOCK = 2**20  # bytes that one core reads at a time, where lines are shorter
_STREAMED = (
    2**22
)  # bytes of a batch, of which Arrow reads many ahead; a line may be so long where rows stream
_INDEX_OF_PANDAS = "__index_level_0__"


def read_table(path: str, form: TableFormat) -> Any:
    """Read a whole table."""
    arrow = require("pyarrow", purpose="Reading tables")
    quickly_read = _read_as_it_begins(path, form)
    if quickly_read is not None:
        return quickly_read
    with opened(path) as stream:
        names, batches = _raw_batches(path, stream, form)
        tables = [arrow.Table.from_batches([batch]) for batch in batches]
    table = arrow.concat_tables(tables) if tables else _empty(names)
    refuse_open_quote(path, table, form)
    return typed(_wanted(path, table, form), form, _places(path, form, 0))


def read_batches(path: str, form: TableFormat) -> Iterator[Any]:
    """Go through a table a few thousand rows at a time; yields at least one table, if only an empty one."""
    arrow = require("pyarrow", purpose="Reading tables")
    with opened(path) as stream:
        names, batches = _raw_batches(path, stream, form, _STREAMED)
        first = next(batches, None)
        if first is None:
            yield _wanted(path, _empty(names), form)
            return
        n_rows = 0
        for batch in itertools.chain([first], batches):
            table = arrow.Table.from_batches([batch])
            yield typed(_wanted(path, table, form), form, _places(path, form, n_rows))
            n_rows += table.num_rows
    refuse_open_quote(path, table, form)


def _places(path: str, form: TableFormat, n_before: int) -> Callable[[int], str]:
    """Return a function that says where in the file a row of a batch is."""

    def where(row: int) -> str:
        shown, number = printable(path, None), n_before + row
        if path != STANDARD:
            with opened(path) as raw:
                if starts_as(raw) == "csv":
                    separator = read_header(path, as_utf8_lines(path, raw, form), form).separator
                    line = line_of_row(path, form, separator, number)
                    return f"{shown}, line {line}" if line is not None else f"{shown}, data row {number + 1}"
        return f"{shown}, data row {number + 1}"

    return where


def _wanted(path: str, table: Any, form: TableFormat) -> Any:
    """Leave out columns of row numbers, and those that the user drops."""
    names = without_unnamed(path, table.column_names)
    gone = [name for name in table.column_names if name not in names]
    if _INDEX_OF_PANDAS in names:
        gone.append(_INDEX_OF_PANDAS)
    there = set(table.column_names)
    for name in form.drop:
        if name not in there:
            raise Mistake(f"There is no column {named(name)} for --drop. {_columns_there(name, table)}")
    dropped = set(gone) | set(form.drop)
    return table.select([name for name in table.column_names if name not in dropped])


def separator_of(path: str, form: TableFormat) -> str | None:
    """Tell what separates the cells of a CSV file; None for other files and for standard input."""
    if form.separator is not None or path == STANDARD or not os.path.isfile(path):
        return form.separator
    with opened(path) as raw:
        if starts_as(raw) != "csv":
            return None
        return read_header(path, as_utf8_lines(path, raw, form), form).separator


def take_column(table: Any, name: str, *, flag: str) -> tuple[Any, Any]:
    """Split a table into all other columns and the one of that name, which `flag` has asked for."""
    if name not in table.column_names:
        raise Mistake(f"There is no column {named(name)} for {flag}. {_columns_there(name, table)}")
    return table.drop_columns([name]), table.column(name).combine_chunks()


def _columns_there(name: str, table: Any) -> str:
    there = [each for each in table.column_names if each.strip()]
    if len(there) == 1:
        return f"The only column is {named(there[0])}. If that should be several, see --separator."
    return did_you_mean(name, there) or f"The columns are: {', '.join(map(named, there[:12]))}" + (
        ", ..." if len(there) > 12 else "."
    )


# --- Formats -----------------------------------------------------------------------------------------------


def _raw_batches(
    path: str, stream: Any, form: TableFormat, block: int = LONGEST_LINE
) -> tuple[list[str], Iterator[Any]]:
    """Read any format: the column names, and the batches, in which CSV cells are still text."""
    kind = starts_as(stream)
    if kind == "csv":
        refuse_other_files(path, stream)
        return csv_batches(path, stream, form, block)
    if kind == "json":
        return _json_lines(path, as_utf8_lines(path, stream, form))
    with blaming(path, form):
        seekable = stream if stream.seekable() else io.BytesIO(stream.read())
        if kind == "feather":
            table = require("pyarrow.feather", purpose="Reading Feather").read_table(seekable)
            return table.column_names, iter(table.to_batches())
        file = require("pyarrow.parquet", purpose="Reading Parquet").ParquetFile(seekable)
    return file.schema_arrow.names, _guarded(path, form, file.iter_batches())


def _guarded(path: str, form: TableFormat, batches: Iterator[Any]) -> Iterator[Any]:
    with blaming(path, form):
        yield from batches


def _json_lines(path: str, stream: Any) -> tuple[list[str], Iterator[Any]]:
    """Read a JSON object per line, or a list of objects: a column for every name that occurs."""
    arrow = require("pyarrow", purpose="Reading JSON")
    shown = printable(path, None)
    rows: list[Any] = []
    try:
        if stream.peek(1)[:1].isspace() or stream.peek(1)[:1] == b"[":
            rows = _objects(json.loads(stream.read()))
        else:
            for line in filter(bytes.strip, stream):
                rows += _objects(json.loads(line))
    except RecursionError:
        raise Mistake(f"{shown}: JSON is nested too deeply to be a table.") from None
    except ValueError as error:
        place = f", after row {len(rows)}," if rows else ""
        raise Mistake(f"{shown}{place} is not JSON, an object per line: {error}.") from None
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        raise Mistake(f"{shown} holds no columns: write one JSON object per row.")
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        nested = next((i for i, value in enumerate(values) if isinstance(value, dict | list)), None)
        if nested is not None:
            raise Mistake(
                f"{shown}, row {nested + 1}: {named(name)} holds {printable(values[nested])}, no value."
            )
        try:
            columns[name] = arrow.array(values)
        except (arrow.ArrowException, OverflowError, UnicodeEncodeError):
            raise Mistake(
                f"{shown}: {named(name)} holds values of several kinds, or too large ones."
            ) from None
    return names, iter(arrow.table(columns).to_batches())


def _objects(document: Any) -> list[Any]:
    rows = document if isinstance(document, list) else [document]
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError('a row must be an object, as in {"age": 31}')
    return rows


# --- CSV on all cores --------------------------------------------------------------------------------------


def _read_as_it_begins(path: str, form: TableFormat) -> Any:
    """Read a CSV file on all cores, with column types from the first rows; None if that fails.

    Anything unusual is left to the slow way, which reads all cells as texts first and has clear errors:
    standard input, a column that begins with numbers and goes on with texts, rows that are ragged.
    """
    arrow_csv = require("pyarrow.csv", purpose="Reading CSV")
    arrow = require("pyarrow", purpose="Reading CSV")
    types = _types_as_it_begins(path, form) if path != STANDARD and os.path.isfile(path) else None
    if not types:
        return None
    with opened(path) as raw:
        stream = as_utf8_lines(path, raw, form)
        options = csv_options(read_header(path, stream, form), form)
        options["convert_options"].column_types = types
        options["convert_options"].include_columns = list(types)
        options["parse_options"].newlines_in_values = not form.is_utf8 or _may_have_long_cells(path)
        options["read_options"].block_size = _BLOCK
        try:
            table = arrow_csv.read_csv(stream, **options)
        except arrow.ArrowInvalid:
            return None
    refuse_open_quote(path, table, form)
    for name, kind in types.items():
        if kind == arrow.float64():
            refuse_nan(table.column(name), name)
    return typed(table, form, _places(path, form, 0))


def _types_as_it_begins(path: str, form: TableFormat) -> dict[str, Any] | None:
    """Read the types of its columns off the first rows of a CSV file; None where that goes wrong."""
    arrow_csv = require("pyarrow.csv", purpose="Reading CSV")
    arrow = require("pyarrow", purpose="Reading CSV")
    with opened(path) as raw:
        if starts_as(raw) != "csv":
            return None
        refuse_other_files(path, raw)
        stream = as_utf8_lines(path, raw, form)
        options = csv_options(read_header(path, stream, form), form)
        rows = b"".join(stream.readlines(_FIRST_ROWS))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said later, if it is still so when all rows are read
        try:
            begin = _wanted(path, arrow_csv.read_csv(io.BytesIO(rows), **options), form)
            return {field.name: field.type for field in typed(begin, form, str).schema}
        except (arrow.ArrowInvalid, Mistake):
            return None


def _may_have_long_cells(path: str) -> bool:
    """Whether a cell might go over several lines: else a block of the file may end with any line."""
    if path.endswith(".gz"):
        return True
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b'"') >= 0


def _empty(names: Sequence[str]) -> Any:
    arrow = require("pyarrow", purpose="Reading tables")
    return arrow.table({name: arrow.array([], arrow.string()) for name in names})
