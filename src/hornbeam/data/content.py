"""What one column holds, before its kind is decided: `Numbers`, `Labels`, `Times`, a `SparseColumn`.

The readers make these out of arrays, frames and lists; `column.py` turns them into columns of a kind. Labels
are category values and a code per row. Numbers become labels if their column is categorical.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.date_texts import Order
from hornbeam.data.wording import shown

__all__ = [
    "MISSING",
    "UNSEEN",
    "AnyArray",
    "Content",
    "Labels",
    "Mask",
    "Numbers",
    "Rows",
    "SparseColumn",
    "Times",
    "count_merged",
    "labels_of_numbers",
    "labels_of_texts",
    "numeric_values",
]

AnyArray = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]

MISSING = -1  # code of a missing value in an ordinal or categorical column
UNSEEN = -2  # code of a category that the fit has not seen

_FIRST_INEXACT_INTEGER = 2**53  # from here on, float64 cannot tell neighbouring integers apart


@dataclass(frozen=True, eq=False, slots=True)
class SparseColumn:
    """The stored values of a column and their rows, ascending and each at most once; other rows are zero."""

    indices: AnyArray
    data: AnyArray
    n_rows: int

    def to_dense(self) -> AnyArray:
        """Return the column with its zeros."""
        dense = np.zeros(self.n_rows, dtype=self.data.dtype)
        dense[self.indices] = self.data
        return dense

    def take(self, rows: Rows) -> "SparseColumn":
        """Keep some rows, given in ascending order."""
        place = np.searchsorted(rows, self.indices)
        kept = np.append(rows, -1)[place] == self.indices
        return SparseColumn(place[kept], self.data[kept], len(rows))


@dataclass(frozen=True, eq=False, slots=True)
class Numbers:
    """Numbers as they came; of dtype object if they came as Python objects.

    NaN is missing, and so are the rows of `absent`: integers, booleans and objects have no NaN.
    """

    values: AnyArray
    absent: Mask | None = None

    def present(self) -> Mask:
        """Mark the rows that have a value."""
        if self.absent is not None:
            return ~self.absent
        if self.values.dtype.kind == "f":
            return ~np.isnan(self.values)
        return np.ones(len(self.values), dtype=np.bool_)

    def take(self, rows: Rows) -> "Numbers":
        """Keep some rows."""
        return Numbers(self.values[rows], None if self.absent is None else self.absent[rows])


@dataclass(frozen=True, eq=False, slots=True)
class Labels:
    """Category values and, for each row, the position of its value; MISSING where there is none.

    `declared` ones come from a categorical dtype: the user has listed them.
    """

    distinct: Sequence[Any]
    codes: AnyArray
    ordered: bool = False
    declared: bool = False

    def recoded(self, new_codes: Iterable[int]) -> npt.NDArray[np.int32]:
        """Give position p the code `new_codes[p]`. MISSING, -1, finds itself at the end of it."""
        codes: npt.NDArray[np.int32] = np.array([*new_codes, MISSING], dtype=np.int32)[self.codes]
        return codes

    def used(self) -> "Labels":
        """Drop the values that no row has."""
        counts = np.bincount(self.codes.astype(np.intp) + 1, minlength=len(self.distinct) + 1)[1:]
        keep = np.flatnonzero(counts).tolist()
        if len(keep) == len(self.distinct):
            return self
        new_codes = np.full(len(self.distinct), MISSING)
        new_codes[keep] = np.arange(len(keep))
        codes = self.recoded(new_codes.tolist())
        return Labels([self.distinct[p] for p in keep], codes, declared=self.declared)

    def take(self, rows: Rows) -> "Labels":
        """Keep some rows; the values stay."""
        return Labels(self.distinct, self.codes[rows], self.ordered, self.declared)


@dataclass(frozen=True, eq=False, slots=True)
class Times:
    """Points in time, as days since 1970-01-01 by their own clock; NaN is missing.

    `order` is the order of day and month, if they came as texts with the year last.
    """

    days: npt.NDArray[np.float64]
    order: Order = "unknown"

    def take(self, rows: Rows) -> "Times":
        """Keep some rows."""
        return Times(self.days[rows], self.order)


Content = Numbers | Labels | SparseColumn | Times


def numeric_values(content: Numbers, name: str) -> AnyArray:
    """Return the numbers, with NaN for missing ones: the array itself if nothing is absent."""
    if content.absent is None:
        return content.values
    present = ~content.absent
    result = np.full(len(present), np.nan)
    try:
        result[present] = content.values[present]
    except OverflowError:
        largest = float(np.finfo(np.float64).max)
        row = next(r for r in np.flatnonzero(present).tolist() if abs(content.values[r]) > largest)
        raise ValueError(
            f"Column {shown(name)}, row {row}: {shown(content.values[row])} is too large for a float64. "
            "Rescale the column, or name it in categorical_features."
        ) from None
    return result


def labels_of_numbers(content: Numbers | SparseColumn) -> Labels:
    """Take distinct numbers as categories, in ascending order."""
    if isinstance(content, SparseColumn):
        content = Numbers(content.to_dense())
    present = content.present()
    distinct, inverse = np.unique(content.values[present], return_inverse=True)
    if distinct.dtype.kind == "f":
        # -0.0 becomes 0.0; otherwise the category that is shown would depend on the order of the rows.
        distinct = distinct + 0.0
    codes = np.full(len(present), MISSING, dtype=np.int32)
    codes[present] = inverse
    return Labels(distinct.tolist(), codes)


def labels_of_texts(cells: Sequence[Any], absent: Mask) -> tuple[list[str], npt.NDArray[np.int32]]:
    """Number texts in the order they occur: the distinct ones, and a code per cell, MISSING where absent."""
    positions: dict[str, int] = {}
    codes = np.fromiter(
        (
            MISSING if gone else positions.setdefault(cell, len(positions))
            for cell, gone in zip(cells, absent.tolist(), strict=True)
        ),
        dtype=np.int32,
        count=len(cells),
    )
    # Subclasses of str (numpy's, enumerations) become plain texts, which a model file can hold.
    return [str.__str__(text) for text in positions], codes


def count_merged(content: Content) -> int:
    """Count the distinct integers that coincide with another as float64."""
    if isinstance(content, Labels | Times):
        return 0
    values = content.data if isinstance(content, SparseColumn) else content.values
    if values.dtype.kind not in "iuO" or values.dtype.itemsize < 8:
        return 0
    if isinstance(content, Numbers) and content.absent is not None:
        values = values[~content.absent]
    if not values.size or (values.max() < _FIRST_INEXACT_INTEGER and values.min() > -_FIRST_INEXACT_INTEGER):
        return 0
    distinct = np.unique(values)
    return int(distinct.size - np.unique(distinct.astype(np.float64)).size)
