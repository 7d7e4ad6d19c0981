"""Types of columns: in a table of texts, columns of numbers become numeric, the others stay as written.

A column in which every cell that is not empty is a number becomes numeric. If a model needs numbers, an error
names any other cell by its file, row and column.
"""

import warnings
from collections.abc import Callable
from typing import Any

from hornbeam._optional import require
from hornbeam.cli.mistakes import Mistake
from hornbeam.cli.reading.table_format import TableFormat
from hornbeam.inside.words import named, printable
from hornbeam.warnings import DataWarning, NumberTextWarning

__all__ = ["refuse_nan", "typed"]

_NUMBER = r"^\s*[+-]?(?:[0-9]+[.]?[0-9]*|[.][0-9]+)(?:[eE][+-]?[0-9]+)?\s*$"
# So many values say whether a column that begins with a word is one of numbers all the same.
_FIRST_VALUES = 1000
_DECIMAL_COMMA = r"^\s*[+-]?[0-9]+,[0-9]+\s*$"


def typed(table: Any, form: TableFormat, where: Callable[[int], str]) -> Any:
    """Turn texts into numbers, in columns where that is possible for all of them.

    `where` says in words where a row of the table is in its file.
    """
    arrow = require("pyarrow", purpose="Reading tables")
    for position, name in enumerate(table.column_names):
        column = table.column(position)
        if column.type != arrow.string() or name in form.text_columns:
            continue
        numbers = _as_numbers(column, name, form)
        if name in form.number_columns and numbers.type == arrow.string():
            numbers = _must_be_numbers(column, name, form, where)
        table = table.set_column(position, name, numbers)
    return table


def _with_point(column: Any, form: TableFormat) -> Any:
    """Trim texts and write their decimal mark as a point."""
    compute = require("pyarrow.compute", purpose="Reading tables")
    trimmed = compute.utf8_trim_whitespace(column)
    if form.decimal_mark == ".":
        return trimmed
    # A point among decimal commas groups thousands or is a mistake: no number as it stands.
    swapped = compute.replace_substring(compute.replace_substring(trimmed, ".", "'"), ",", ".")
    return swapped


def _as_numbers(column: Any, name: str, form: TableFormat) -> Any:
    """Return a column of numbers, or the column as it is: then it is one of texts."""
    arrow = require("pyarrow", purpose="Reading tables")
    compute = require("pyarrow.compute", purpose="Reading tables")
    trimmed = _with_point(column, form)
    values = compute.drop_null(trimmed)
    if len(values) == 0:
        return column
    # The first value gives most columns of text away, and "nan", "inf" and "0x1F" with them.
    if not _matching(values.slice(0, 1), f"{_NUMBER}|{_DECIMAL_COMMA}")[0].as_py():
        if name not in form.number_columns and _are_mostly_numbers(values.slice(0, _FIRST_VALUES)):
            _explain_texts_among_numbers(values, compute.drop_null(column), name)
        return column
    for kind in (arrow.int64(), arrow.float64()):
        try:
            numbers = compute.cast(trimmed, kind)
        except arrow.ArrowInvalid:
            continue
        if kind == arrow.float64():
            refuse_nan(numbers, name)
        return numbers
    if name not in form.number_columns:
        _explain_texts_among_numbers(values, compute.drop_null(column), name)
    return column


def refuse_nan(numbers: Any, name: str) -> None:
    """Refuse 'nan' among numbers: the user must say whether it means missing."""
    compute = require("pyarrow.compute", purpose="Reading tables")
    if compute.any(compute.is_nan(numbers)).as_py():
        raise Mistake(f"Column {named(name)} holds 'nan' among numbers; if missing is meant, say --na nan.")


def _must_be_numbers(column: Any, name: str, form: TableFormat, where: Callable[[int], str]) -> Any:
    """Return a column that a model needs as numbers: without any value, or refused by its first text."""
    arrow = require("pyarrow", purpose="Reading tables")
    compute = require("pyarrow.compute", purpose="Reading tables")
    if column.null_count == len(column):
        return compute.cast(column, arrow.float64())
    is_number = compute.fill_null(_matching(_with_point(column, form), _NUMBER), True)
    row = compute.index(is_number, False).as_py()
    if row < 0:  # numbers that even a float cannot hold
        return column
    value = column[row].as_py()
    hint = f"If that means missing, say --na {printable(value)!r}."
    if _matching(column.slice(row, 1), _DECIMAL_COMMA)[0].as_py():
        hint = "If that is a decimal comma, say --decimal ,"
    raise Mistake(
        f"{where(row)}: column {named(name)} holds {printable(value)!r}, but the model was fitted to numbers "
        f"there. {hint}"
    )


def _explain_texts_among_numbers(values: Any, as_written: Any, name: str) -> None:
    """Say why a column that holds numbers is none of numbers."""
    compute = require("pyarrow.compute", purpose="Reading tables")
    if compute.all(_matching(values, _DECIMAL_COMMA)).as_py():
        example = printable(as_written[0].as_py())
        raise Mistake(
            f"Column {named(name)} holds numbers with a decimal comma, such as {example!r}: say --decimal , "
            "or write them with a point."
        )
    if not _are_mostly_numbers(values):
        return
    odd = as_written.filter(compute.invert(_matching(values, _NUMBER)))
    if len(odd):
        warnings.simplefilter(
            "ignore", NumberTextWarning
        )  # the fit would say it again, with Python's way out
        example = printable(odd[0].as_py())
        warnings.warn(
            f"Column {named(name)} is taken as text, because of {example!r} among its numbers. "
            "If that means missing, say so with --na.",
            DataWarning,
            stacklevel=2,
        )


def _are_mostly_numbers(values: Any) -> bool:
    compute = require("pyarrow.compute", purpose="Reading tables")
    return bool(compute.mean(_matching(values, _NUMBER)).as_py() >= 0.5)


def _matching(values: Any, pattern: str) -> Any:
    compute = require("pyarrow.compute", purpose="Reading tables")
    return compute.match_substring_regex(values, pattern)
