"""CSV files: how their cells are separated, what their columns are called, and their rows as texts.

Only the empty cell is missing; "None", "NA" and "nan" are values of a text column unless --na says otherwise.
Rows with too few or too many cells are refused rather than filled up.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hornbeam._optional import require
from hornbeam.cli.mistakes import Mistake, note
from hornbeam.cli.reading.opening import STANDARD, opened, starts_as
from hornbeam.cli.reading.recoding import NOT_UTF8, as_utf8_lines, refusing_other_bytes
from hornbeam.cli.reading.table_format import TableFormat
from hornbeam.inside.words import named, printable

__all__ = [
    "LONGEST_LINE",
    "Header",
    "blaming",
    "csv_batches",
    "csv_options",
    "line_of_row",
    "read_header",
    "refuse_open_quote",
    "without_unnamed",
]

LONGEST_LINE = 2**24  # bytes; more is no table, and would have to be held in memory
_SEPARATORS = {",": "','", ";": "';'", "\t": "tabs", "|": "'|'"}
_LINES_TO_GUESS_FROM = 20
_BYTES_TO_GUESS_FROM = 2**16


@dataclass(frozen=True)
class Header:
    """What the first line says: the names of the columns, and what is between them."""

    names: list[str]
    separator: str


# --- The first line ----------------------------------------------------------------------------------------


def read_header(path: str, stream: Any, form: TableFormat) -> Header:
    """Take the first line, which may go over several where a name in quotes holds a line break."""
    line = stream.readline(LONGEST_LINE)
    while line.count(b'"') % 2 and len(line) < LONGEST_LINE and (more := stream.readline(LONGEST_LINE)):
        line += more
    shown = printable(path, None)
    if line.count(b'"') % 2 and len(line) < LONGEST_LINE:
        raise Mistake(f"{shown}: a quote in the first line is not closed.")
    if len(line) >= LONGEST_LINE:
        raise Mistake(f"{shown}: the first line is longer than {LONGEST_LINE // 2**20} MB; is this CSV?")
    try:
        text = line.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Mistake(NOT_UTF8.format(path=shown)) from None
    if "\0" in text:
        raise Mistake(
            f"{shown}: the first line holds a NUL character. If it is UTF-16, say --encoding utf-16."
        )
    separator = form.separator or _guessed_separator(shown, text, stream, form)
    try:
        names = next(csv.reader([text.rstrip("\r\n")], delimiter=separator), [])
    except csv.Error as error:
        raise Mistake(f"{shown}: the first line cannot be read as names of columns ({error}).") from None
    if not names:
        raise Mistake(
            f"{shown} is empty: a table needs a line of column names and at least one row of values."
        )
    _check_names(shown, names)
    return Header(names, separator)


def _check_names(shown: str, names: list[str]) -> None:
    for position, name in enumerate(names):
        is_index = position == 0 and len(names) > 1
        if not name.strip() and not is_index:
            raise Mistake(f"{shown}: column {position + 1} has no name in the first line.")
        if name in names[:position]:
            raise Mistake(f"{shown}: two columns are called {named(name)}; give each a name of its own.")


def without_unnamed(path: str, names: Sequence[str]) -> list[str]:
    """Leave out a first column without a name: pandas, R and others write the numbers of rows there."""
    if names and not names[0].strip():
        note(
            f"{printable(path, None)}: the first column has no name, so it is taken for row numbers and left "
            "out."
        )
        return list(names[1:])
    return list(names)


def _guessed_separator(shown: str, first_line: str, stream: Any, form: TableFormat) -> str:
    """Find the separator that divides all of the first lines into the same number of cells, and into most."""
    begin = stream.peek(_BYTES_TO_GUESS_FROM)[:_BYTES_TO_GUESS_FROM].decode("utf-8", "replace")
    following = begin.splitlines()
    if len(begin) >= _BYTES_TO_GUESS_FROM // 2 or not begin.endswith(("\n", "\r")):
        following = following[:-1]  # which may have been cut
    lines = [first_line.rstrip("\r\n"), *following[:_LINES_TO_GUESS_FROM]]
    best, width = form.usual_separator, 1
    for mark in (form.usual_separator, *_SEPARATORS):
        try:
            widths = {len(cells) for cells in csv.reader(lines, delimiter=mark) if cells}
        except csv.Error:
            continue
        if len(widths) == 1 and max(widths) > width:
            best, width = mark, max(widths)
    if best != form.usual_separator:
        note(f"{shown}: taking {_SEPARATORS[best]} to separate the cells; --separator says otherwise.")
    return best


# --- The rows ----------------------------------------------------------------------------------------------


def csv_batches(path: str, stream: Any, form: TableFormat, block: int) -> tuple[list[str], Iterator[Any]]:
    """Read the names of the columns, and go through the rows in batches of texts."""
    arrow_csv = require("pyarrow.csv", purpose="Reading CSV")
    stream = as_utf8_lines(path, stream, form)
    header = read_header(path, stream, form)
    if not stream.peek(1):
        return header.names, iter(())
    stream = refusing_other_bytes(path, stream)
    ragged: list[Any] = []

    def remember(row: Any) -> str:
        ragged.append(row)
        return "error"

    # One thread: only then does a ragged row know its number.
    options = csv_options(header, form, use_threads=False)
    options["parse_options"].invalid_row_handler = remember
    options["read_options"].block_size = block

    def batches() -> Iterator[Any]:
        with blaming(path, form, header.separator, ragged, longest=block):
            yield from arrow_csv.open_csv(stream, **options)

    return header.names, batches()


def csv_options(header: Header, form: TableFormat, **reading: Any) -> dict[str, Any]:
    """Say how Arrow is to read what follows the header: cells as texts."""
    arrow_csv = require("pyarrow.csv", purpose="Reading CSV")
    arrow = require("pyarrow", purpose="Reading CSV")
    names = header.names
    return {
        "read_options": arrow_csv.ReadOptions(column_names=names, block_size=LONGEST_LINE, **reading),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=header.separator,
            newlines_in_values=True,
            ignore_empty_lines=len(names) > 1,  # else an empty line is a row with a missing value
        ),
        "convert_options": arrow_csv.ConvertOptions(
            column_types={name: arrow.string() for name in names},
            strings_can_be_null=True,
            null_values=["", *(form.missing or ())],
            decimal_point=form.decimal_mark,
        ),
    }


@contextmanager
def blaming(
    path: str,
    form: TableFormat,
    separator: str = ",",
    ragged: Sequence[Any] = (),
    *,
    longest: int = LONGEST_LINE,
) -> Iterator[None]:
    """Turn Arrow's errors into messages for users, with the name of the file."""
    arrow = require("pyarrow", purpose="Reading tables")
    shown = printable(path, None)
    try:
        yield
    except arrow.ArrowInvalid as error:
        if ragged:
            row = ragged[0]
            line = _first_ragged_line(path, form, separator, row.expected_columns)
            place = f"data row {row.number}" if line is None else f"line {line}"
            hint = " Is a quote not closed?" if row.text.count('"') % 2 else ""
            raise Mistake(
                f"{shown}: {place} has {row.actual_columns} cell(s), but there are "
                f"{row.expected_columns} columns: {printable(row.text)!r}.{hint}"
            ) from None
        text = str(error)
        if "invalid UTF8" in text:
            raise Mistake(NOT_UTF8.format(path=shown)) from None
        if "straddling" in text:
            raise Mistake(
                f"{shown}: a line is longer than {longest // 2**20} MB; is a quote not closed?"
            ) from None
        raise Mistake(f"{shown}: {printable(text, 200)}") from None


# --- Places in a file --------------------------------------------------------------------------------------


@contextmanager
def _rows_of(path: str, form: TableFormat, separator: str, **options: Any) -> Iterator[Any]:
    with opened(path) as raw:
        stream = as_utf8_lines(path, raw, form)
        with io.TextIOWrapper(stream, "utf-8-sig", "replace", newline="") as text:
            yield csv.reader(text, delimiter=separator, **options)


def line_of_row(path: str, form: TableFormat, separator: str, row: int) -> int | None:
    """Find the line on which a row of data begins, counted from 0; standard input has gone.

    Rows are not lines: a cell in quotes may span several lines, and empty lines are not rows.
    """
    if path == STANDARD:
        return None
    with _rows_of(path, form, separator) as rows:
        begin, number = 1, -1  # the header is no row
        try:
            for cells in rows:
                if cells:
                    if number == row:
                        return begin
                    number += 1
                begin = rows.line_num + 1
        except csv.Error:
            return None
    return None


def _first_ragged_line(path: str, form: TableFormat, separator: str, n_columns: int) -> int | None:
    """Find the line on which the first row with too few or too many cells begins; standard input has gone."""
    if path == STANDARD:
        return None
    with _rows_of(path, form, separator) as rows:
        begin = 1
        try:
            for cells in rows:
                if cells and len(cells) != n_columns:
                    return begin
                begin = rows.line_num + 1
        except csv.Error:  # a cell beyond all bounds: Arrow has counted the rows at least
            return None
    return None


def refuse_open_quote(path: str, table: Any, form: TableFormat) -> None:
    """Refuse a last cell that has swallowed all lines after a quote that nobody closed.

    In any other column such a quote leaves a row with too few cells. Of standard input, which cannot be read
    again, a last cell that ends with a line break is taken for one.
    """
    if table.num_rows == 0 or table.num_columns == 0:
        return
    last = table.column(table.num_columns - 1)[-1].as_py()
    if not isinstance(last, str) or "\n" not in last:
        return
    if last.endswith("\n") if path == STANDARD else _ends_within_quotes(path, form):
        begin = printable(last.partition("\n")[0])
        raise Mistake(
            f"{printable(path, None)}: a quote is not closed; the cell that begins with {begin!r} goes on to "
            "the end of the file."
        )


def _ends_within_quotes(path: str, form: TableFormat) -> bool:
    with opened(path) as raw:
        if starts_as(raw) != "csv":
            return False
        separator = read_header(path, as_utf8_lines(path, raw, form), form).separator
    with _rows_of(path, form, separator, strict=True) as rows:
        try:
            for _ in rows:
                pass
        except csv.Error as error:
            return "end of data" in str(error)
    return False
