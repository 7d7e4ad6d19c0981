"""One feature: from what a column holds to a `Column` of a kind.

    at fit:      its dtype decides the kind           (column_at_fit)
    at predict:  the schema of the fit decides it     (values_as_numeric, codes_as_fitted)

A numeric column holds numbers; NaN is missing. An ordinal or categorical column holds int32 codes into its
categories: those present at fit, sorted (texts by code point, numbers by size), or, if ordinal, all declared
ones in their declared order. Categories are compared by value: 1 and 1.0 are the same; "a" and "a " are not,
nor are two Unicode spellings of one letter.
"""

import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hornbeam.data.coded import CodedColumn
from hornbeam.data.content import (
    MISSING,
    UNSEEN,
    AnyArray,
    Content,
    Labels,
    Numbers,
    SparseColumn,
    Times,
    labels_of_numbers,
    numeric_values,
)
from hornbeam.data.dates import (
    DatePart,
    chosen_parts,
    days_as_fitted,
    days_of_objects,
    part_columns_names,
    part_values,
    text_of_days,
)
from hornbeam.data.families import value_family
from hornbeam.data.wording import joined, listed, shown
from hornbeam.warnings import DataWarning, NumberTextWarning, warn

__all__ = [
    "Category",
    "Column",
    "FoundNumbers",
    "Kind",
    "categories_in",
    "codes_as_fitted",
    "column_at_fit",
    "date_columns_as_fitted",
    "date_columns_at_fit",
    "values_as_numeric",
    "warn_of_all_missing",
    "warn_of_merged_integers",
    "warn_of_near_unique",
]

Kind = Literal["numeric", "ordinal", "categorical"]
Category = str | int | float | bool

# What people write for numbers, with a point or a comma.
_NUMBER = re.compile(r"\s*[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\s*")
_WITH_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
_WHOLE = re.compile(r"\s*[+-]?\d+\s*")
# Of the distinct texts of a column: its numbers, the others, and how many of all are looked at.
_SHARE_OF_NUMBERS, _FEWEST_NUMBERS = 0.75, 5
_MOST_OTHERS = 5
_MOST_TEXTS = 20_000


@dataclass(frozen=True, eq=False, slots=True)
class Column:
    """One feature.

    `values` of a numeric column are numbers of a dtype the core reads (bool, an integer, float32, float64;
    native byte order, aligned, any stride) or a `SparseColumn`; NaN is missing. Otherwise they are int32
    codes into `categories`, or MISSING, or UNSEEN. A column of either kind may be a `CodedColumn`, of whose
    values only the codes are known. For a numeric column derived from a date, `part` says what it holds.
    """

    name: str
    kind: Kind
    values: AnyArray | SparseColumn | CodedColumn
    categories: tuple[Category, ...] | None = None
    part: DatePart | None = None

    def dense(self) -> AnyArray:
        """Return a value per row, whatever form they have."""
        return self.values if isinstance(self.values, np.ndarray) else self.values.to_dense()

    def first_missing_row(self) -> int | None:
        """Find the first row without a value; a category that was not seen is a value."""
        if isinstance(self.values, CodedColumn):
            return _first_true(self.values.missing_rows()) if self.values.has_missing else None
        if isinstance(self.values, SparseColumn):
            position = _first_nan(self.values.data)
            return None if position is None else int(self.values.indices[position])
        return _first_nan(self.values) if self.kind == "numeric" else _first_true(self.values == MISSING)

    def is_all_missing(self) -> bool:
        """Whether no row has a value."""
        if isinstance(self.values, SparseColumn) or not len(self.values):
            return False  # a sparse column nearly always has zeros
        if isinstance(self.values, CodedColumn):
            return self.values.has_missing and bool(self.values.missing_rows().all())
        if self.kind != "numeric":
            return bool(self.values[0] == MISSING and (self.values == MISSING).all())
        first = self.values[0]  # quick, since there may be a million columns and hardly any begins with a gap
        return math.isnan(first) and bool(np.isnan(self.values).all())


def _first_nan(values: AnyArray) -> int | None:
    return _first_true(np.isnan(values)) if values.dtype.kind == "f" else None


def _first_true(mask: AnyArray) -> int | None:
    if not mask.size:
        return None
    first = int(np.argmax(mask))
    return first if mask[first] else None


# ------------------------------------------------------------------------------------------------------------
# At fit


def column_at_fit(content: Content, name: str, *, forced: bool) -> Column:
    """Let the content decide the kind; `forced` columns are categorical whatever they hold, dates too."""
    if isinstance(content, Labels):
        if content.ordered and not forced:
            return _ordinal_column(content, name)
        return _categorical_column(content, name)
    if isinstance(content, Times):
        return _categorical_column(_labels_of_times(content), name)
    if forced:
        return _categorical_column(labels_of_numbers(content), name)
    if isinstance(content, SparseColumn):
        return Column(name, "numeric", content)
    return Column(name, "numeric", numeric_values(content, name))


def date_columns_at_fit(content: Times, name: str, taken: set[str]) -> list[Column]:
    """Make those columns of a date that are worth having, under names that are not `taken`."""
    parts = chosen_parts(content)
    names = part_columns_names(name, parts, taken)
    return [
        Column(own, "numeric", part_values(content.days, part.name), part=part)
        for own, part in zip(names, parts, strict=True)
    ]


def _labels_of_times(content: Times) -> Labels:
    """Take distinct points in time as categories, by their texts."""
    numbers = labels_of_numbers(Numbers(content.days))
    return Labels([text_of_days(days) for days in numbers.distinct], numbers.codes)


def _ordinal_column(labels: Labels, name: str) -> Column:
    categories = _plain_categories(labels, name)
    _refuse_mixed_categories(categories, labels, name)
    return Column(name, "ordinal", labels.recoded(range(len(categories))), tuple(categories))


def _categorical_column(labels: Labels, name: str) -> Column:
    labels = labels.used()
    plain = _plain_categories(labels, name)
    _refuse_mixed_categories(plain, labels, name)
    categories: list[Any] = sorted(set(plain))
    position = {category: p for p, category in enumerate(categories)}
    codes = labels.recoded(position[category] for category in plain)
    return Column(name, "categorical", codes, tuple(categories))


def _plain_categories(labels: Labels, name: str) -> list[Any]:
    """Turn category values into plain Python values, which compare by value and fit into a model file."""
    if set(map(type, labels.distinct)) <= {str, int, float, bool}:
        return list(labels.distinct)
    return [_plain_category(value, name) for value in labels.distinct]


def _plain_category(value: Any, name: str) -> Category:
    family = value_family(type(value))
    if family == "text":
        return str.__str__(value)
    if family == "bool":
        return bool(value)
    if family == "number":
        return int(value) if isinstance(value, numbers.Integral) else float(value)
    if family == "Datetime":
        return text_of_days(float(days_of_objects([value], np.zeros(1, dtype=np.bool_), name)[0]))
    if type(value).__name__ == "Interval":
        return str(value)  # pandas.cut makes these; different ones have different texts
    raise TypeError(
        f"Column {shown(name)} has the category {shown(value)} of type {type(value).__name__}; categories "
        "must be texts, numbers or booleans. Rename them, for example with .cat.rename_categories(str)."
    )


def _refuse_mixed_categories(plain: Sequence[Category], labels: Labels, name: str) -> None:
    family_of = {kind: value_family(kind) for kind in set(map(type, plain))}
    if len(set(family_of.values())) <= 1:
        return
    families = [family_of[type(value)] for value in plain]
    other = next(position for position, family in enumerate(families) if family != families[0])
    row = _first_true(labels.codes == other)
    where = "" if row is None else f" (first in row {row})"
    raise ValueError(
        f"Column {shown(name)} mixes categories of different types: {families[0]} {shown(plain[0])} and "
        f"{families[other]} {shown(plain[other])}{where}. Make them all text, for example with .astype(str)."
    )


def categories_in(content: Content, name: str) -> tuple[list[Category], AnyArray]:
    """Return the categories that some rows of a categorical column have, and which of them each row has."""
    if isinstance(content, Times):
        content = _labels_of_times(content)
    labels = (content if isinstance(content, Labels) else labels_of_numbers(content)).used()
    return _plain_categories(labels, name), labels.codes


def warn_of_merged_integers(merged: Mapping[str, int]) -> None:
    """Warn of integers so large that neighbours become equal; `merged` counts them by column."""
    if merged:
        warn(
            "Integers of 2**53 and more are read as float64, which no longer tells neighbours apart: "
            + joined(f"column {shown(name)} ({count} values merged)" for name, count in merged.items())
            + ". If they are identifiers, drop them or name them in categorical_features.",
            DataWarning,
        )


def warn_of_all_missing(columns: Iterable[Column], n_rows: int) -> None:
    """Warn of columns without any value."""
    empty = [column.name for column in columns if n_rows > 1 and column.is_all_missing()]
    if empty:
        warn(
            f"{'Columns' if len(empty) > 1 else 'Column'} {listed(empty)} "
            f"{'have' if len(empty) > 1 else 'has'} no value in any row: nothing can be learned from that.",
            DataWarning,
        )


def warn_of_near_unique(columns: Iterable[Column], n_rows: int) -> None:
    """Warn of categorical columns that look like identifiers and are used in tests or distances."""
    if n_rows < 20:
        return
    shares = {c.name: len(c.categories or ()) / n_rows for c in columns if c.kind == "categorical"}
    near_unique = {name: share for name, share in shares.items() if share > 0.5}
    if near_unique:
        warn(
            "Nearly every row has a value of its own in "
            + joined(f"column {shown(name)} ({share:.0%} unique)" for name, share in near_unique.items())
            + ". An id tells rows apart but says nothing about new ones; drop the column if it is one.",
            DataWarning,
        )


class FoundNumbers:
    """Finds columns whose texts are numbers, and warns of all of them at once.

    A column of numbers with a '?' among them is read as texts, so it is categorical, which few people want.
    Columns of whole numbers only are left out, since somebody chose texts for them, as for postcodes; so are
    those with many other texts, such as ticket numbers.
    """

    def __init__(self) -> None:
        self._found: list[str] = []
        self._with_comma = False

    def look(self, content: Content, name: str) -> None:
        """Remember a column if its texts look like numbers."""
        if not isinstance(content, Labels) or content.declared:
            return
        distinct = content.used().distinct
        texts = sorted(str(text) for text in distinct[:: 1 + len(distinct) // _MOST_TEXTS])
        with_comma = {text for text in texts if _WITH_COMMA.fullmatch(text)}
        numbers = with_comma.union(text for text in texts if _NUMBER.fullmatch(text))
        if len(numbers) < max(_FEWEST_NUMBERS, _SHARE_OF_NUMBERS * len(texts)):
            return
        fraction = min((text for text in numbers if not _WHOLE.fullmatch(text)), default=None)
        other = next((text for text in texts if text not in numbers), None)
        if (fraction is None and other is None) or len(set(texts)) - len(numbers) > _MOST_OTHERS:
            return
        odd = "" if other is None else f", with {shown(other)} among them"
        self._found.append(f"column {shown(name)}, such as {shown(fraction or min(numbers))}{odd}")
        self._with_comma |= bool(with_comma)

    def say(self) -> None:
        """Warn of the columns found, and say what to do."""
        if self._found:
            how = ".str.replace(',', '.')" if self._with_comma else ""
            warn(
                f"Texts that are numbers are taken as categories: {joined(self._found)}. Make them numbers, "
                f"for example with pandas.to_numeric(column{how}, errors='coerce'), or name the column in "
                "categorical_features if categories are meant.",
                NumberTextWarning,
            )


# ------------------------------------------------------------------------------------------------------------
# At predict


def codes_as_fitted(
    content: Content, name: str, categories: Sequence[Category], *, refuse_unseen: bool
) -> npt.NDArray[np.int32]:
    """Code the rows by the categories of the fit; others are UNSEEN, or an error."""
    if isinstance(content, Times):
        content = _labels_of_times(content)
    labels = content.used() if isinstance(content, Labels) else labels_of_numbers(content)
    plain = _plain_categories(labels, name)
    _refuse_other_family(plain, categories, name)
    position = {category: p for p, category in enumerate(categories)}
    codes = labels.recoded(position.get(category, UNSEEN) for category in plain)
    row = _first_true(codes == UNSEEN) if refuse_unseen else None
    if row is not None:
        raise ValueError(
            f"Column {shown(name)}, row {row}: the fit has not seen the category "
            f'{shown(plain[int(labels.codes[row])])}. Correct it, or choose unseen="missing" or "majority".'
        )
    return codes


def values_as_numeric(content: Content, name: str) -> AnyArray | SparseColumn:
    """Return the numbers of a column that was numeric in the fit, even if they come as categories now."""
    if isinstance(content, SparseColumn):
        return content
    if isinstance(content, Numbers):
        return numeric_values(content, name)
    if isinstance(content, Times):
        raise ValueError(
            f"Column {shown(name)} was numeric in the fit and holds dates now. Give it the numbers that it "
            "had, or fit the model on dates."
        )
    labels = content.used()
    plain = _plain_categories(labels, name)
    for value in plain:
        if isinstance(value, str):
            raise ValueError(
                f"Column {shown(name)} was numeric in the fit and holds text now, such as {shown(value)}. "
                "Convert it to numbers, for example with .astype(float)."
            )
    numeric: AnyArray = np.array([*plain, np.nan], dtype=np.float64)[labels.codes]
    return numeric


def date_columns_as_fitted(content: Content, names: Sequence[str], parts: Sequence[DatePart]) -> list[Column]:
    """Derive the columns of a date as the fit did; the first of `names` is that of the user's column."""
    days = days_as_fitted(content, names[0], parts[0].order)
    return [
        Column(name, "numeric", part_values(days, part.name), part=part)
        for name, part in zip(names, parts, strict=True)
    ]


def _refuse_other_family(plain: Sequence[Category], categories: Sequence[Category], name: str) -> None:
    """1, 1.0 and True are one category; "1" is another, and a column of such texts is a mistake."""
    for value in plain:
        if categories and isinstance(value, str) != isinstance(categories[0], str):
            raise ValueError(
                f"Column {shown(name)} had categories such as {shown(categories[0])} in the fit and holds "
                f"{shown(value)} now. Give it the type it had in the fit."
            )
