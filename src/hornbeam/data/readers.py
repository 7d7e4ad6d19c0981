"""Reads one column at a time, from an array, a data frame or Python objects, into its content."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np

from hornbeam.data.content import (
    MISSING,
    AnyArray,
    Labels,
    Numbers,
    Times,
    labels_of_numbers,
    labels_of_texts,
)
from hornbeam.data.dates import days_of_array, days_of_objects
from hornbeam.data.families import (
    READ_FAMILIES,
    UNREADABLE_HINTS,
    refuse_complex,
    refuse_dtype,
    refuse_mixture,
    refuse_object,
    value_family,
)

__all__ = ["read_array", "read_objects", "read_series", "readable"]

_REFUSED_NUMPY_KINDS = {"m": "Duration", "S": "Binary", "V": "Struct"}


def readable(values: AnyArray) -> AnyArray:
    """Return numbers of a dtype the core reads: the array itself wherever possible."""
    if values.dtype.kind == "f" and values.dtype.itemsize == 2:
        return values.astype(np.float32)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # values beyond float64 become infinite, and keep their order
            return values.astype(np.float64)
    if not values.dtype.isnative or not values.flags.aligned:
        return values.astype(values.dtype.newbyteorder("="))
    return values


def read_array(values: AnyArray, name: str) -> Numbers | Labels | Times:
    """Read one column of an array."""
    kind = values.dtype.kind
    if kind in "biuf":
        return Numbers(readable(values))
    if kind in "OUT":
        return read_objects(values.astype(object, copy=False), name)
    if kind == "M":
        return Times(days_of_array(values, name))
    if kind == "c":
        refuse_complex(name)
    refuse_dtype(name, values.dtype, _REFUSED_NUMPY_KINDS.get(kind, ""))


def read_series(series: Any, name: str) -> Numbers | Labels | Times:
    """Read one column of a data frame, as narwhals shows it."""
    native_dtype = getattr(series.to_native(), "dtype", None)
    if isinstance(native_dtype, np.dtype) and native_dtype.kind == "O":
        return read_objects(series.to_numpy(), name)
    dtype = series.dtype
    # Compared by name, because not every version of narwhals has every type.
    family = type(dtype).__name__
    if family in UNREADABLE_HINTS:
        refuse_dtype(name, dtype, family)
    if family == "String":
        return _labels_of_text_series(series)
    if family == "Datetime" and dtype.time_zone is not None:
        series = series.dt.replace_time_zone(None)  # local time in that zone
    if family in ("Categorical", "Enum"):
        return _labels_of_category_series(series, name)
    if family in ("Int128", "UInt128"):
        return read_objects(_objects(series.to_list()), name)
    if family.startswith(("Boolean", "Int", "UInt")) and series.null_count():
        filled = series.fill_null(False if family == "Boolean" else 0)
        return Numbers(readable(filled.to_numpy()), absent=series.is_null().to_numpy())
    return read_array(series.to_numpy(), name)


def _labels_of_text_series(series: Any) -> Labels:
    """Number the distinct texts with the library's own function, which makes no Python object per row."""
    native = series.to_native()
    if series.implementation.is_pandas_like():
        codes, distinct = native.factorize()
        return Labels(list(distinct), np.asarray(codes))
    if series.implementation.is_pyarrow():
        return _labels_of_arrow(native)
    distinct = series.drop_nulls().unique().to_list()
    if not distinct:
        return Labels([], np.full(len(series), MISSING, dtype=np.int32))
    codes = series.replace_strict(distinct, list(range(len(distinct))), return_dtype=nw.Int32)
    return Labels(distinct, codes.fill_null(MISSING).to_numpy())


def _labels_of_category_series(series: Any, name: str) -> Labels | Times:
    native = series.to_native()
    if series.implementation.is_pandas_like() and hasattr(native, "cat"):
        categories = native.cat
        return Labels(
            list(categories.categories),
            categories.codes.to_numpy(),
            ordered=bool(categories.ordered),
            declared=True,
        )
    if series.implementation.is_pyarrow():
        return replace(_labels_of_arrow(native.cast(native.type.value_type)), declared=True)
    if series.implementation.is_polars():
        return replace(_labels_of_text_series(series.cast(nw.String)), declared=True)
    content = read_objects(_objects(series.to_list()), name)
    labels = labels_of_numbers(content) if isinstance(content, Numbers) else content
    return replace(labels, declared=True) if isinstance(labels, Labels) else labels


def _labels_of_arrow(chunks: Any) -> Labels:
    encoded = chunks.dictionary_encode().unify_dictionaries().combine_chunks()
    return Labels(encoded.dictionary.to_pylist(), encoded.indices.fill_null(MISSING).to_numpy())


def read_objects(values: AnyArray, name: str) -> Numbers | Labels | Times:
    """Read a column of Python objects: all texts, numbers, booleans or dates, and missing ones between."""
    cells = values.tolist()
    family_of = {kind: value_family(kind) for kind in set(map(type, cells))}
    if not READ_FAMILIES.issuperset(family_of.values()):
        refuse_object(cells, family_of, name)
    absent = np.fromiter(
        # NaN is the only number that differs from itself; pandas.NA would raise.
        (family_of[type(cell)] == "missing" or cell != cell for cell in cells),  # noqa: PLR0124
        dtype=np.bool_,
        count=len(cells),
    )
    present = [cell for cell, gone in zip(cells, absent.tolist(), strict=True) if not gone]
    families = {family_of[kind] for kind in set(map(type, present))}
    if len(families) > 1:
        refuse_mixture(cells, absent, family_of, name)
    if families == {"Datetime"}:
        return Times(days_of_objects(cells, absent, name))
    if families == {"text"}:
        return Labels(*labels_of_texts(cells, absent))
    if families == {"bool"} and not absent.any():
        return Numbers(values.astype(np.bool_))
    return Numbers(values, absent)


def _objects(cells: Sequence[Any]) -> AnyArray:
    """Put objects into an array unchanged: `np.array` would unpack those that have a length."""
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array
