"""Tables from CSV and Parquet files: a path or `-` comes in, Arrow tables go out.

A CSV file is read as text first and given types afterwards, column by column: a column in which every cell
that is not empty is a number becomes numeric, all others stay text as they are. Only the empty cell is
missing; "None", "NA" and "nan" are values of a text column unless `--na` says otherwise. Rows with too few or
too many cells are refused rather than filled up.

`read_table` returns everything; `read_batches` goes through a file of any length in bounded memory.
"""

import csv
import gzip
import io
import itertools
import mmap
import os
import sys
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any

import typer

from hornbeam._optional import require
from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.outputs import STANDARD
from hornbeam.cli.pipes import endable
from hornbeam.declare.kinds import did_you_mean
from hornbeam.inside.words import named, printable
from hornbeam.warnings import DataWarning

__all__ = ["Data", "Missing", "Separator", "TableFormat", "read_batches", "read_table", "take_column"]

Data = Annotated[str, typer.Argument(metavar="DATA", help="A CSV or Parquet file; - reads standard input.")]
Separator = Annotated[str, typer.Option("--separator", metavar="CHAR", help="What separates CSV cells.")]
Missing = Annotated[
    list[str] | None,
    typer.Option("--na", metavar="TEXT", help="A text that means missing, as the empty cell does."),
]

FIRST_ROWS = 2**16  # bytes, from which the types of columns are guessed
LONGEST_LINE = 2**24  # bytes; more is no table, and would have to be held in memory
BLOCK = 2**20  # bytes that one core reads at a time, where lines are shorter
STREAMED = 2**22  # bytes of a batch, of which Arrow reads many ahead; a line may be so long where rows stream
PARQUET_MARK = b"PAR1"
NUMBER = r"^\s*[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?\s*$"
DECIMAL_COMMA = r"^\s*[+-]?[0-9]+,[0-9]+\s*$"
SEPARATORS = {",": "','", ";": "';'", "\t": "a tab", "|": "'|'"}


@dataclass(frozen=True)
class TableFormat:
    """How a table is to be read: what separates cells, what is missing, and which columns stay text."""

    separator: str = ","
    missing: Sequence[str] = ()
    text_columns: Collection[str] = field(default_factory=frozenset)

    def __post_init__(self) -> None:
        if len(self.separator) != 1 or not self.separator.isascii() or self.separator in '"\r\n':
            raise typer.BadParameter(
                f"--separator must be one character, such as ';'; got {printable(self.separator)!r}. "
                "For a tab write $'\\t'."
            )


def read_table(path: str, form: TableFormat) -> Any:
    """Read a whole table."""
    arrow = require("pyarrow", purpose="Reading tables")
    quickly_read = _read_as_it_begins(path, form)
    if quickly_read is not None:
        return quickly_read
    with _opened(path) as stream:
        names, batches = _raw_batches(path, stream, form)
        tables = [arrow.Table.from_batches([batch]) for batch in batches]
    table = arrow.concat_tables(tables) if tables else _empty(names)
    _refuse_open_quote(path, table, form)
    return _typed(table, form)


def read_batches(path: str, form: TableFormat) -> Iterator[Any]:
    """Go through a table a few thousand rows at a time; at least one table comes, be it empty."""
    arrow = require("pyarrow", purpose="Reading tables")
    with _opened(path) as stream:
        names, batches = _raw_batches(path, stream, form, STREAMED)
        first = next(batches, None)
        if first is None:
            yield _empty(names)
            return
        for batch in itertools.chain([first], batches):
            table = arrow.Table.from_batches([batch])
            yield _typed(table, form)
    _refuse_open_quote(path, table, form)


def take_column(table: Any, name: str, *, flag: str) -> tuple[Any, Any]:
    """Split a table into all other columns and the one of that name, which `flag` has asked for."""
    if name not in table.column_names:
        raise Mistake(f"There is no column {named(name)} for {flag}. {_columns_there(name, table)}")
    return table.drop_columns([name]), table.column(name).combine_chunks()


def _columns_there(name: str, table: Any) -> str:
    there = table.column_names
    if len(there) == 1:
        other = next((shown for mark, shown in SEPARATORS.items() if mark in there[0]), None)
        hint = f" If {other} separates the columns, say so with --separator." if other else ""
        return f"The only column is {named(there[0])}.{hint}"
    return did_you_mean(name, there) or f"The columns are: {', '.join(map(named, there[:12]))}" + (
        ", ..." if len(there) > 12 else "."
    )


# --- Files ------------------------------------------------------------------------------------------------


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """Open a file to read, decompressed; standard input is not ours to close."""
    if path == STANDARD:
        with endable(sys.stdin.buffer) as standard:
            yield standard if hasattr(standard, "peek") else io.BufferedReader(standard)
        return
    with open(path, "rb") as opened, endable(opened) as file:
        if path.endswith(".gz"):
            with gzip.open(file) as unpacked, io.BufferedReader(unpacked) as stream:
                yield stream
        else:
            yield file


def _raw_batches(
    path: str, stream: Any, form: TableFormat, block: int = LONGEST_LINE
) -> tuple[list[str], Iterator[Any]]:
    """Read either format: the column names, and the batches, in which CSV cells are still text."""
    # A look at the first bytes tells the formats apart; standard input cannot be rewound.
    if stream.peek(len(PARQUET_MARK))[: len(PARQUET_MARK)] == PARQUET_MARK:
        return _parquet(path, stream)
    return _csv(path, stream, form, block)


def _parquet(path: str, stream: Any) -> tuple[list[str], Iterator[Any]]:
    parquet = require("pyarrow.parquet", purpose="Reading Parquet")
    with _blaming(path, TableFormat()):
        file = parquet.ParquetFile(stream if stream.seekable() else io.BytesIO(stream.read()))
    return file.schema_arrow.names, _guarded(path, file.iter_batches())


def _csv(path: str, stream: Any, form: TableFormat, block: int) -> tuple[list[str], Iterator[Any]]:
    arrow_csv = require("pyarrow.csv", purpose="Reading CSV")
    names = _header(path, stream, form)
    if not stream.peek(1):
        return names, iter(())
    ragged: list[Any] = []

    def remember(row: Any) -> str:
        ragged.append(row)
        return "error"

    # One thread: only then does a ragged row know its number.
    options = _csv_options(names, form, use_threads=False)
    options["parse_options"].invalid_row_handler = remember
    options["read_options"].block_size = block

    def batches() -> Iterator[Any]:
        with _blaming(path, form, ragged, longest=block):
            yield from arrow_csv.open_csv(stream, **options)

    return names, batches()


def _read_as_it_begins(path: str, form: TableFormat) -> Any:
    """Read a CSV file on all cores, columns being what their first rows say; None if that does not go well.

    Whatever is unusual is left to the slow way, which takes all cells as texts first and knows what to say:
    standard input, a column that begins with numbers and goes on with texts, rows that are ragged.
    """
    arrow_csv = require("pyarrow.csv", purpose="Reading CSV")
    arrow = require("pyarrow", purpose="Reading CSV")
    if path == STANDARD or not os.path.isfile(path):
        return None
    with _opened(path) as stream:
        if stream.peek(len(PARQUET_MARK))[: len(PARQUET_MARK)] == PARQUET_MARK:
            return None
        names = _header(path, stream, form)
        options = _csv_options(names, form)
        try:
            begin = arrow_csv.read_csv(io.BytesIO(b"".join(stream.readlines(FIRST_ROWS))), **options)
        except arrow.ArrowInvalid:
            return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # said later, if it is still so when all rows are read
        try:
            types = {field.name: field.type for field in _typed(begin, form).schema}
        except Mistake:
            return None
    with _opened(path) as stream:
        _header(path, stream, form)
        options["convert_options"].column_types = types
        options["parse_options"].newlines_in_values = _may_have_long_cells(path)
        options["read_options"].block_size = BLOCK
        try:
            table = arrow_csv.read_csv(stream, **options)
        except arrow.ArrowInvalid:
            return None
    _refuse_open_quote(path, table, form)
    for name in names:
        if types[name] == arrow.float64():
            _refuse_nan(table.column(name), name)
    return _typed(table, form)


def _may_have_long_cells(path: str) -> bool:
    """Whether a cell might go over several lines: else a block of the file may end with any line."""
    if path.endswith(".gz"):
        return True
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(b'"') >= 0


def _csv_options(names: Sequence[str], form: TableFormat, **reading: Any) -> dict[str, Any]:
    """Say how Arrow is to read what follows the header: cells as texts."""
    arrow_csv = require("pyarrow.csv", purpose="Reading CSV")
    arrow = require("pyarrow", purpose="Reading CSV")
    return {
        "read_options": arrow_csv.ReadOptions(column_names=names, block_size=LONGEST_LINE, **reading),
        "parse_options": arrow_csv.ParseOptions(
            delimiter=form.separator,
            newlines_in_values=True,
            ignore_empty_lines=len(names) > 1,  # else an empty line is a row with a missing value
        ),
        "convert_options": arrow_csv.ConvertOptions(
            column_types={name: arrow.string() for name in names},
            strings_can_be_null=True,
            null_values=["", *form.missing],
        ),
    }


def _header(path: str, stream: Any, form: TableFormat) -> list[str]:
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
        raise Mistake(f"{shown} is not in UTF-8: save it as UTF-8 CSV.") from None
    if "\0" in text:
        raise Mistake(f"{shown}: the first line holds a NUL character; save the file as UTF-8 CSV.")
    names = next(csv.reader([text.rstrip("\r\n")], delimiter=form.separator), [])
    if not names:
        raise Mistake(f"{shown} is empty: a line of column names and a row of values are the least.")
    for position, name in enumerate(names):
        if not name.strip():
            raise Mistake(f"{shown}: column {position + 1} has no name in the first line.")
        if name in names[:position]:
            raise Mistake(f"{shown}: two columns are called {named(name)}; give each a name of its own.")
    return names


def _guarded(path: str, batches: Iterator[Any]) -> Iterator[Any]:
    with _blaming(path, TableFormat()):
        yield from batches


@contextmanager
def _blaming(
    path: str, form: TableFormat, ragged: Sequence[Any] = (), *, longest: int = LONGEST_LINE
) -> Iterator[None]:
    """Put Arrow's complaints into words of a user, with the name of the file."""
    arrow = require("pyarrow", purpose="Reading tables")
    shown = printable(path, None)
    try:
        yield
    except arrow.ArrowInvalid as error:
        if ragged:
            row = ragged[0]
            line = _first_ragged_line(path, form, row.expected_columns)
            place = f"data row {row.number}" if line is None else f"line {line}"
            hint = " Is a quote not closed?" if row.text.count('"') % 2 else ""
            raise Mistake(
                f"{shown}: {place} has {row.actual_columns} cell(s), but there are "
                f"{row.expected_columns} columns: {printable(row.text)!r}.{hint}"
            ) from None
        text = str(error)
        if "invalid UTF8" in text:
            raise Mistake(f"{shown} is not in UTF-8: save it as UTF-8 CSV.") from None
        if "straddling" in text:
            raise Mistake(
                f"{shown}: a line is longer than {longest // 2**20} MB; is a quote not closed?"
            ) from None
        raise Mistake(f"{shown}: {printable(text, 200)}") from None


def _refuse_open_quote(path: str, table: Any, form: TableFormat) -> None:
    """Refuse a last cell that has swallowed all lines after a quote that nobody closed.

    In any other column such a quote leaves a row with too few cells. Of standard input, which cannot be read
    again, a last cell that ends with a line break is taken for one.
    """
    if table.num_rows == 0:
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
    with _opened(path) as stream:
        if stream.peek(len(PARQUET_MARK))[: len(PARQUET_MARK)] == PARQUET_MARK:
            return False
        with io.TextIOWrapper(stream, "utf-8-sig", "replace", newline="") as text:
            try:
                for _ in csv.reader(text, delimiter=form.separator, strict=True):
                    pass
            except csv.Error as error:
                return "end of data" in str(error)
    return False


def _first_ragged_line(path: str, form: TableFormat, n_columns: int) -> int | None:
    """Find the line on which the first row with too few or too many cells begins; standard input has gone.

    Rows are no lines: a cell in quotes may go over several, and empty lines are no rows.
    """
    if path == STANDARD:
        return None
    with _opened(path) as stream, io.TextIOWrapper(stream, "utf-8-sig", "replace", newline="") as text:
        rows = csv.reader(text, delimiter=form.separator)
        begin = 1
        try:
            for cells in rows:
                if cells and len(cells) != n_columns:
                    return begin
                begin = rows.line_num + 1
        except csv.Error:  # a cell beyond all bounds: Arrow has counted the rows at least
            return None
    return None


# --- Types of columns --------------------------------------------------------------------------------------


def _empty(names: Sequence[str]) -> Any:
    arrow = require("pyarrow", purpose="Reading tables")
    return arrow.table({name: arrow.array([], arrow.string()) for name in names})


def _typed(table: Any, form: TableFormat) -> Any:
    """Turn texts into numbers, in columns where that is possible for all of them."""
    arrow = require("pyarrow", purpose="Reading tables")
    for position, name in enumerate(table.column_names):
        column = table.column(position)
        if column.type == arrow.string() and name not in form.text_columns:
            table = table.set_column(position, name, _as_numbers(column, name))
    return table


def _as_numbers(column: Any, name: str) -> Any:
    """Return a column of numbers, or the column as it is: then it is one of texts."""
    arrow = require("pyarrow", purpose="Reading tables")
    compute = require("pyarrow.compute", purpose="Reading tables")
    values = compute.drop_null(column)
    # The first value gives most columns of text away, and "nan", "inf" and "0x1F" with them.
    if len(values) == 0 or not _matching(values.slice(0, 1), f"{NUMBER}|{DECIMAL_COMMA}")[0].as_py():
        return column
    trimmed = compute.utf8_trim_whitespace(column)
    for kind in (arrow.int64(), arrow.float64()):
        try:
            numbers = compute.cast(trimmed, kind)
        except arrow.ArrowInvalid:
            continue
        if kind == arrow.float64():
            _refuse_nan(numbers, name)
        return numbers
    _explain_texts_among_numbers(values, name)
    return column


def _refuse_nan(numbers: Any, name: str) -> None:
    compute = require("pyarrow.compute", purpose="Reading tables")
    if compute.any(compute.is_nan(numbers)).as_py():
        raise Mistake(f"Column {named(name)} holds 'nan' among numbers; if missing is meant, say --na nan.")


def _explain_texts_among_numbers(values: Any, name: str) -> None:
    """Say why a column that begins with a number is none of numbers."""
    compute = require("pyarrow.compute", purpose="Reading tables")
    if compute.all(_matching(values, DECIMAL_COMMA)).as_py():
        example = printable(values[0].as_py())
        raise Mistake(
            f"Column {named(name)} holds numbers with a decimal comma, such as {example!r}: "
            "write them with a point."
        )
    is_number = _matching(values, NUMBER)
    if compute.mean(is_number).as_py() < 0.5:
        return
    odd = values.filter(compute.invert(is_number))
    if len(odd):
        example = printable(odd[0].as_py())
        warnings.warn(
            f"Column {named(name)} is taken as text, because of {example!r} among its numbers. "
            "If that means missing, say so with --na.",
            DataWarning,
            stacklevel=2,
        )


def _matching(values: Any, pattern: str) -> Any:
    compute = require("pyarrow.compute", purpose="Reading tables")
    return compute.match_substring_regex(values, pattern)
