"""The preparation for a linear model into a record and back: how each column is filled and scaled.

A `Design` has no parameters; its fit learns column statistics and codes of categories, so a file holds only
arrays. Reading checks that every code has a category and that nothing is divided by zero.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.errors import ModelFormatError
from hornbeam.io.record import RecordReader, RecordWriter
from hornbeam.io.schema import read_schema, write_schema

__all__ = ["read_design", "write_design"]

_NUMBERS = ("middle", "mean", "deviation")
_LARGEST = 1e100  # as for the coefficients: products of larger numbers overflow


def write_design(design: Any, writer: RecordWriter) -> None:
    """Put in the columns, the scales of numeric ones, and the categories with a column of their own."""
    write_schema(design.schema_, writer)
    for name in _NUMBERS:
        values = np.array([getattr(scale, name) for scale in design.numbers_], dtype=np.float64)
        if not _is_reasonable(values):
            raise ValueError(
                f"The {name} of a column is beyond {_LARGEST:.0e}: no model file can hold this linear model."
            )
        writer.put(f"numbers.{name}", values)
    gaps = [scale.has_gaps for scale in design.numbers_]
    writer.put("numbers.has_gaps", np.array(gaps, dtype=np.bool_))
    counts = [len(kept) for kept in design.categories_]
    writer.put("marks.counts", np.array(counts, dtype=np.int64))
    writer.put("marks.codes", np.concatenate([np.zeros(0, dtype=np.int64), *design.categories_]))


def read_design(design: Any, reader: RecordReader) -> None:
    """Take out a preparation; check that it can prepare any table with its columns."""
    from hornbeam.estimators.linear import Scale  # noqa: PLC0415 - not with `import hornbeam`

    schema = read_schema(reader)
    n_numbers = sum(kind != "categorical" for kind in schema.kinds)
    middle, mean, deviation = (reader.take(f"numbers.{name}", np.float64, (n_numbers,)) for name in _NUMBERS)
    gaps = reader.take("numbers.has_gaps", np.bool_, (n_numbers,))
    if not all(map(_is_reasonable, (middle, mean, deviation))) or not (deviation > 1 / _LARGEST).all():
        raise ModelFormatError(f"columns are not scaled by finite numbers up to {_LARGEST:.0e}")
    rows = zip(middle.tolist(), mean.tolist(), deviation.tolist(), gaps.tolist(), strict=True)
    scales = [Scale(fill, center, spread, has_gaps=holed) for fill, center, spread, holed in rows]
    sizes = [
        len(categories or ())
        for kind, categories in zip(schema.kinds, schema.categories, strict=True)
        if kind == "categorical"
    ]
    design.set_learned(schema, scales, _read_marks(sizes, reader))


def _read_marks(n_categories: list[int], reader: RecordReader) -> list[npt.NDArray[np.int64]]:
    """Take out which categories of each column have a column of their own: codes in ascending order."""
    counts = reader.take("marks.counts", np.int64, (len(n_categories),))
    codes = reader.take("marks.codes", np.int64, (None,))
    if (counts < 0).any() or int(counts.sum()) != len(codes):
        raise ModelFormatError("the numbers of marked categories do not add up")
    parts = np.split(codes, np.cumsum(counts)[:-1]) if len(counts) else []
    for part, limit in zip(parts, n_categories, strict=True):
        if np.any(part[1:] <= part[:-1]) or np.any(part < 0) or np.any(part >= limit):
            raise ModelFormatError("a marked category is not one of its column, or not in order")
    return parts


def _is_reasonable(values: npt.NDArray[np.float64]) -> bool:
    return bool((np.abs(values) <= _LARGEST).all())
