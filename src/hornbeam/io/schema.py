"""Column names, categories and class labels: the texts and values of a model that are the user's own.

All of them are stored as tensors, not in the header, so that a million categories or a name of a megabyte are
nothing special. A category is a text beside its type, so that 1, 1.0, True and "1" come back as what they
were. For columns derived from a date the file says what they hold; their names follow from the user's.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.date_texts import ORDERS
from hornbeam.data.dates import PART_NAMES, DatePart, part_columns_names
from hornbeam.data.table import Category, Kind, Schema, shown
from hornbeam.errors import ModelFormatError
from hornbeam.io.container import STORED_DTYPES
from hornbeam.io.record import RecordReader, RecordWriter

__all__ = ["read_classes", "read_feature_names", "read_schema", "write_classes", "write_schema"]

AnyArray = npt.NDArray[Any]

# A kind is stored as its position here. The file depends on it, so it is spelled out.
_KINDS: tuple[Kind, ...] = ("numeric", "ordinal", "categorical")

# ------------------------------------------------------------------------------------------------------------
# Columns


def write_schema(schema: Schema, writer: RecordWriter) -> None:
    """Put in what a model knows about its columns."""
    fault = _schema_fault(schema)
    if fault is not None:
        raise ValueError(f"The model cannot be saved: {fault}.")
    writer.put("schema.kinds", np.array([_KINDS.index(kind) for kind in schema.kinds], dtype=np.uint8))
    if schema.names_given:
        writer.put_texts("schema.names", schema.given_names)
    if schema.parts:
        parts = [0 if part is None else 1 + PART_NAMES.index(part.name) for part in schema.parts]
        orders = [0 if part is None else ORDERS.index(part.order) for part in schema.parts]
        writer.put("schema.date_parts", np.array(parts, dtype=np.uint8))
        writer.put("schema.date_orders", np.array(orders, dtype=np.uint8))
    lists = [categories for categories in schema.categories if categories is not None]
    if lists:
        everything = [category for categories in lists for category in categories]
        types = [_TYPES.index(type(category)) for category in everything]
        writer.put(
            "schema.category_counts", np.array([len(categories) for categories in lists], dtype=np.int64)
        )
        writer.put("schema.category_types", np.array(types, dtype=np.uint8))
        writer.put_texts("schema.categories", [_text_of(category) for category in everything])


def read_schema(reader: RecordReader) -> Schema:
    """Take out what a model knows about its columns, checked."""
    codes = reader.take("schema.kinds", np.uint8, (None,))
    if not codes.size or codes.max() >= len(_KINDS):
        raise ModelFormatError("there are no columns, or one of an unknown kind")
    kinds = tuple(_KINDS[code] for code in codes.tolist())
    parts = _read_parts(kinds, reader) if reader.has("schema.date_parts") else ()
    n_given = sum(part is None or part.is_first for part in parts) if parts else len(kinds)
    names_given = reader.has("schema.names.ends")
    names = reader.take_texts("schema.names") if names_given else [f"x{j}" for j in range(n_given)]
    if len(names) != n_given:
        raise ModelFormatError(f"{n_given} columns have {len(names)} names")
    if parts:
        names = _names_of_parts(names, parts)
    schema = Schema(tuple(names), names_given, kinds, _read_categories(kinds, reader), parts)
    fault = _schema_fault(schema)
    if fault is not None:
        raise ModelFormatError(fault)
    return schema


def _read_parts(kinds: Sequence[Kind], reader: RecordReader) -> tuple[DatePart | None, ...]:
    """Take out which columns are derived from dates: each date begins with the date itself."""
    names = reader.take("schema.date_parts", np.uint8, (len(kinds),)).tolist()
    orders = reader.take("schema.date_orders", np.uint8, (len(kinds),)).tolist()
    if max(names) > len(PART_NAMES) or max(orders) >= len(ORDERS) or not max(names):
        raise ModelFormatError("a column is an unknown part of a date, or none is one")
    parts: list[DatePart | None] = []
    for kind, name, order in zip(kinds, names, orders, strict=True):
        part = DatePart(PART_NAMES[name - 1], ORDERS[order]) if name else None
        before = parts[-1] if parts else None
        follows = before is not None and part is not None and before.order == part.order
        if part is not None and (kind != "numeric" or not (part.is_first or follows)):
            raise ModelFormatError("a part of a date does not hold numbers, or has no date before it")
        if part is None and order:
            raise ModelFormatError("a column that is no date has an order of day and month")
        parts.append(part)
    return tuple(parts)


def _names_of_parts(given: Sequence[str], parts: Sequence[DatePart | None]) -> list[str]:
    """Name all columns as a fit does."""
    if len(set(given)) < len(given):
        raise ModelFormatError("two columns have the same name")
    taken, names, source = set(given), list[str](), iter(given)
    name = ""
    for part in parts:
        if part is None or part.is_first:
            name = next(source)
        names += [name] if part is None else part_columns_names(name, [part], taken)
    return names


def read_feature_names(reader: RecordReader, n_features: int) -> list[str]:
    """Take out the column names of a model without a schema; none if X had none."""
    names = reader.take_texts("feature_names")
    if names and len(names) != n_features:
        raise ModelFormatError(f"there are {len(names)} names for {n_features} features")
    if len(set(names)) < len(names):
        raise ModelFormatError("two columns have the same name")
    return names


def _read_categories(kinds: Sequence[Kind], reader: RecordReader) -> tuple[tuple[Category, ...] | None, ...]:
    n_lists = sum(kind != "numeric" for kind in kinds)
    if not n_lists:
        return (None,) * len(kinds)
    counts = reader.take("schema.category_counts", np.int64, (n_lists,)).tolist()
    texts = reader.take_texts("schema.categories")
    types = reader.take("schema.category_types", np.uint8, (len(texts),)).tolist()
    if min(counts) < 0 or sum(counts) != len(texts):
        raise ModelFormatError("the numbers of categories do not add up")
    everything = iter([_category_of(*pair) for pair in zip(types, texts, strict=True)])
    lists = iter([tuple(next(everything) for _ in range(count)) for count in counts])
    return tuple(None if kind == "numeric" else next(lists) for kind in kinds)


def _schema_fault(schema: Schema) -> str | None:
    """Say what is wrong with a schema, if anything: the same check when saving and when loading."""
    if len(set(schema.names)) < len(schema.names):
        return "two columns have the same name"
    for name, kind, categories in zip(schema.names, schema.kinds, schema.categories, strict=True):
        if (kind == "numeric") != (categories is None):
            return (
                f"column {shown(name)} is {kind} and has {'no' if categories is None else 'its'} categories"
            )
        if categories is not None and len(set(categories)) < len(categories):
            return f"column {shown(name)} has a category twice"
        families = {_FAMILIES[type(category)] for category in categories or ()}
        if len(families) > 1:
            return f"column {shown(name)} mixes categories of different types"
    return None


# ------------------------------------------------------------------------------------------------------------
# One category

_TYPES: tuple[type, ...] = (str, int, float, bool)  # a type is stored as its position
_FAMILIES: Mapping[type, str] = {str: "text", int: "number", float: "number", bool: "bool"}


def _text_of(category: Category) -> str:
    return category if isinstance(category, str) else repr(category)


_PARSERS: Mapping[type, Callable[[str], Category]] = {
    int: int,
    float: float,
    bool: {"True": True, "False": False}.__getitem__,
}


def _category_of(position: int, text: str) -> Category:
    if position >= len(_TYPES):
        raise ModelFormatError(f"the category {shown(text)} has an unknown type")
    kind = _TYPES[position]
    if kind is str:
        return text
    try:
        category = _PARSERS[kind](text)
    except (ValueError, KeyError):
        category = None
    # Only as Python itself writes them: without spaces, underscores, other digits or leading zeros.
    if category is None or repr(category) != text or text == "nan":
        raise ModelFormatError(f"the category {shown(text)} is not what a {kind.__name__} looks like")
    return category


# ------------------------------------------------------------------------------------------------------------
# Class labels

# Every label of fixed width takes the width of the longest one, so the width is limited by the file's size.
_FREE_LABEL_CHARACTERS = 2**20
_LABEL_CHARACTERS_PER_BYTE = 16


def write_classes(classes: Sequence[AnyArray], writer: RecordWriter) -> None:
    """Put in the class labels of each output, including their dtype."""
    writer.facts["classes"] = [
        _put_labels(f"classes.{k}", labels, writer) for k, labels in enumerate(classes)
    ]


def _put_labels(name: str, labels: AnyArray, writer: RecordWriter) -> str:
    if labels.dtype.kind in "OU":
        texts = labels.tolist()
        writer.put_texts(name, texts)
        if labels.dtype.kind == "O":
            return "object"
        width = labels.dtype.itemsize // np.dtype("U1").itemsize
        if not _width_allowed(width, texts):
            raise ValueError(
                f"The class labels have dtype {labels.dtype}, far wider than the labels are; to save the "
                "model, fit it with labels of dtype object, y.astype(object)."
            )
        return f"U{width}"
    if labels.dtype.newbyteorder("<") not in STORED_DTYPES:
        raise ValueError(
            f"A model file cannot hold class labels of dtype {labels.dtype}; to save the model, fit it with "
            "labels of a common dtype, for example y.astype(float)."
        )
    writer.put_as_is(name, labels)
    return "number"


def read_classes(reader: RecordReader) -> list[AnyArray]:
    """Take out the class labels of each output: at least one output and one class, labels ascending."""
    forms = reader.fact("classes", list)
    if not forms:
        raise ModelFormatError("there is no output")
    return [_take_labels(f"classes.{k}", form, reader) for k, form in enumerate(forms)]


def _take_labels(name: str, form: Any, reader: RecordReader) -> AnyArray:
    if form == "number":
        labels = reader.take_as_is(name)
        labels = labels.astype(labels.dtype.newbyteorder("="))
        if labels.ndim != 1 or (labels.dtype.kind == "f" and not np.isfinite(labels).all()):
            raise ModelFormatError(f"{name}: the labels are not a list of finite numbers")
    else:
        texts = reader.take_texts(name)
        labels = np.array(texts, dtype=_dtype_of_labels(name, form, texts))
        if labels.tolist() != texts:  # numpy drops what exceeds the width, and NUL characters at the end
            raise ModelFormatError(f"{name}: the labels do not fit their width")
    if not labels.size or not np.all(labels[1:] > labels[:-1]):
        raise ModelFormatError(f"{name}: there are no labels, or they are not in ascending order")
    return labels


def _dtype_of_labels(name: str, form: Any, texts: Sequence[str]) -> np.dtype[Any]:
    if form == "object":
        return np.dtype(object)
    match = re.fullmatch(r"U([1-9][0-9]{0,8})", form) if isinstance(form, str) else None
    if match is None or not _width_allowed(int(match[1]), texts):
        raise ModelFormatError(f"{name}: the labels are of an unknown type or of excessive width")
    return np.dtype(match[0])


def _width_allowed(width: int, texts: Sequence[str]) -> bool:
    n_characters = math.fsum(map(len, texts))
    return width * len(texts) <= _FREE_LABEL_CHARACTERS + _LABEL_CHARACTERS_PER_BYTE * n_characters
