"""What a Python value is: a text, a number, a truth value, a date, missing, or something no tree can use.

Errors about the last kind say what to do instead. They name the column and, where they are known, the row and
the value.
"""

import datetime
import decimal
import numbers
from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, NoReturn

import numpy as np

from hornbeam.data.content import Mask
from hornbeam.data.wording import shown

__all__ = [
    "READ_FAMILIES",
    "UNREADABLE_HINTS",
    "refuse_complex",
    "refuse_dtype",
    "refuse_mixture",
    "refuse_object",
    "value_family",
]

# The order matters: to Python a boolean is a number, and so is a duration of numpy's.
_FAMILIES: tuple[tuple[str, tuple[type, ...]], ...] = (
    ("text", (str,)),
    ("bool", (bool, np.bool_)),
    ("Duration", (datetime.timedelta, np.timedelta64)),
    ("number", (numbers.Real,)),
    ("complex", (numbers.Complex,)),
    ("Datetime", (datetime.date, np.datetime64)),
    ("Time", (datetime.time,)),
    ("Decimal", (decimal.Decimal,)),
    ("Binary", (bytes, bytearray, memoryview)),
    ("List", (list, tuple, set, frozenset, np.ndarray)),
    ("Struct", (dict,)),
)
READ_FAMILIES = frozenset({"missing", "text", "bool", "number", "Datetime"})

# Types that no tree can use, by narwhals' names, and what to do instead.
UNREADABLE_HINTS = {
    "Time": "make it a number, such as the hour",
    "Duration": "make it a number, for example of seconds with .dt.total_seconds()",
    "Decimal": "convert it to a float type",
    "Binary": 'decode it to text, for example with .str.decode("utf-8")',
    "List": "give every element a column of its own",
    "Array": "give every element a column of its own",
    "Struct": "give every field a column of its own",
}
_GENERAL_HINT = "convert it to numbers or text"


def value_family(kind: type) -> str:
    """Classify a type: "missing", "text", "bool", "number", "Datetime", or a family that cannot be read."""
    if kind is NoneType or kind.__name__ == "NAType":  # pandas.NA, by name: pandas may not be installed
        return "missing"
    return next((family for family, members in _FAMILIES if issubclass(kind, members)), "")


def refuse_dtype(name: str, dtype: Any, family: str) -> NoReturn:
    """Refuse a column for its type."""
    hint = UNREADABLE_HINTS.get(family, _GENERAL_HINT)
    raise TypeError(
        f"Column {shown(name)} has dtype {dtype}, which no tree can split; {hint}, or drop the column."
    )


def refuse_complex(name: str, *, row: int | None = None) -> NoReturn:
    """Refuse complex numbers, in the words scikit-learn's estimator checks look for."""
    where = "" if row is None else f", row {row}"
    raise ValueError(
        f"Complex data not supported: column {shown(name)}{where}. "
        "Give the real and the imaginary part a column each."
    )


def refuse_object(cells: Sequence[Any], family_of: Mapping[type, str], name: str) -> NoReturn:
    """Refuse a column for its first cell that is neither text nor number nor date nor missing."""
    row = next(r for r, cell in enumerate(cells) if family_of[type(cell)] not in READ_FAMILIES)
    family = family_of[type(cells[row])]
    if family == "complex":
        refuse_complex(name, row=row)
    # "argument must be a string or a number" is what scikit-learn's estimator checks look for.
    raise TypeError(
        f"Column {shown(name)}, row {row}: the argument must be a string or a number or missing, got "
        f"{type(cells[row]).__name__} {shown(cells[row])}; {UNREADABLE_HINTS.get(family, _GENERAL_HINT)}, "
        "or drop the column."
    )


def refuse_mixture(cells: Sequence[Any], absent: Mask, family_of: Mapping[type, str], name: str) -> NoReturn:
    """Refuse a column whose cells are of several families, showing the first two that differ."""
    rows = np.flatnonzero(~absent).tolist()
    first = rows[0]
    family = family_of[type(cells[first])]
    other = next(r for r in rows if family_of[type(cells[r])] != family)
    raise TypeError(
        f"Column {shown(name)} mixes types: row {first} holds the {_in_words(family)} "
        f"{shown(cells[first])}, row {other} the {_in_words(family_of[type(cells[other])])} "
        f"{shown(cells[other])}. Make it all {'dates' if 'Datetime' in family_of.values() else 'numbers'} or "
        "all text, for example with .astype(str)."
    )


def _in_words(family: str) -> str:
    return "date" if family == "Datetime" else family
