"""Whatever a user passes as X becomes named, typed columns; what the core can read in place is not copied.

In come arrays, lists of rows, data frames (pandas, polars, Arrow and others, through narwhals) and scipy
sparse matrices; out goes a `Table` of one `Column` per feature. The way of one column:

    source.read(j) -> _Numbers | _Labels | SparseColumn    what it holds, before it is known what that means
    at fit:           its dtype decides the kind           (_column_at_fit)
    at predict:       the schema of the fit decides        (_column_as_fitted)

A numeric column holds numbers; NaN is missing. An ordinal or categorical column holds int32 codes into its
categories: those present at fit, sorted (texts by code point, numbers by size), or, if ordinal, all declared
ones in their declared order. Categories are compared by value: 1 and 1.0 are the same; "a" and "a " are not,
nor are two Unicode spellings of one letter.
"""

import datetime
import decimal
import difflib
import numbers
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import NoneType
from typing import Any, Literal, NoReturn, Protocol

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from hornbeam.warnings import DataWarning

__all__ = [
    "MISSING",
    "UNSEEN",
    "Category",
    "Column",
    "Kind",
    "Schema",
    "SparseColumn",
    "Table",
    "Unseen",
    "labels_of_texts",
    "read_table",
    "read_table_as",
    "shown",
    "unmasked",
    "value_family",
]

Kind = Literal["numeric", "ordinal", "categorical"]
Unseen = Literal["missing", "majority", "error"]
Category = str | int | float | bool
AnyArray = npt.NDArray[Any]
Mask = npt.NDArray[np.bool_]

MISSING = -1  # code of a missing value in an ordinal or categorical column
UNSEEN = -2  # code of a category that the fit has not seen

_FIRST_INEXACT_INTEGER = 2**53  # from here on, float64 no longer tells neighbouring integers apart


# ------------------------------------------------------------------------------------------------------------
# What comes out


@dataclass(frozen=True, eq=False, slots=True)
class SparseColumn:
    """The stored values of a column and their rows, ascending and each at most once; other rows are zero."""

    indices: AnyArray
    data: AnyArray
    n_rows: int

    def to_dense(self) -> AnyArray:
        """Write the zeros out."""
        dense = np.zeros(self.n_rows, dtype=self.data.dtype)
        dense[self.indices] = self.data
        return dense


@dataclass(frozen=True, eq=False, slots=True)
class Column:
    """One feature.

    `values` of a numeric column are numbers of a dtype the core reads (bool, an integer, float32, float64;
    native byte order, aligned, any stride) or a `SparseColumn`; NaN is missing. Otherwise they are int32
    codes into `categories`, or MISSING, or UNSEEN.
    """

    name: str
    kind: Kind
    values: AnyArray | SparseColumn
    categories: tuple[Category, ...] | None = None

    def first_missing_row(self) -> int | None:
        """Find the first row without a value; a category that was not seen is a value."""
        if isinstance(self.values, SparseColumn):
            position = _first_nan(self.values.data)
            return None if position is None else int(self.values.indices[position])
        return _first_nan(self.values) if self.kind == "numeric" else _first_true(self.values == MISSING)


@dataclass(frozen=True, slots=True)
class Schema:
    """What a model remembers about the columns it was fitted on: plain values, to compare and to save."""

    names: tuple[str, ...]
    names_given: bool
    kinds: tuple[Kind, ...]
    categories: tuple[tuple[Category, ...] | None, ...]


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length.

    `feature_names` is None where the user gave no names. `n_unseen` counts, by column name, the rows whose
    category the fit has not seen.
    """

    n_rows: int
    columns: tuple[Column, ...]
    feature_names: list[str] | None
    n_unseen: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def schema(self) -> Schema:
        """The facts about the columns, without the rows."""
        return Schema(
            names=tuple(column.name for column in self.columns),
            names_given=self.feature_names is not None,
            kinds=tuple(column.kind for column in self.columns),
            categories=tuple(column.categories for column in self.columns),
        )

    def first_missing(self) -> tuple[str, int] | None:
        """Find a missing value: the name of the first column that has one, and its first such row."""
        for column in self.columns:
            row = column.first_missing_row()
            if row is not None:
                return column.name, row
        return None


def read_table(
    X: Any,
    *,
    categorical_features: Literal["from_dtype"] | Iterable[str] | Iterable[int] | None = "from_dtype",
    estimator_name: str = "the estimator",
) -> Table:
    """Read X for a fit: texts and categories are categorical, ordered categories ordinal, the rest numeric.

    `categorical_features` names further columns to read as categorical, whatever they hold: by name, by index
    or by a boolean mask. None and "from_dtype" name none.
    """
    source = _open(X, estimator_name)
    feature_names = _feature_names(source)
    forced = _forced_columns(categorical_features, feature_names, source.n_columns)
    columns = []
    merged: dict[str, int] = {}
    for j, name in enumerate(feature_names or [f"x{j}" for j in range(source.n_columns)]):
        content = source.read(j, name)
        column = _column_at_fit(content, name, forced=j in forced)
        columns.append(column)
        if column.kind == "numeric" and (count := _count_merged(content)):
            merged[name] = count
    _warn_of_merged_integers(merged)
    _warn_of_near_unique(columns, source.n_rows)
    return Table(source.n_rows, tuple(columns), feature_names)


def read_table_as(
    X: Any, schema: Schema, *, unseen: Unseen = "missing", estimator_name: str = "the estimator"
) -> Table:
    """Read X for a prediction: the columns of the fit, in their order, with its categories.

    A category that the fit has not seen becomes UNSEEN, to be sent its way by the tree, and is counted in
    `n_unseen`; `unseen="error"` refuses it.
    """
    source = _open(X, estimator_name)
    _check_names_and_width(source, schema, estimator_name)
    columns = []
    n_unseen: dict[str, int] = {}
    for j, fitted in enumerate(zip(schema.names, schema.kinds, schema.categories, strict=True)):
        name, kind, categories = fitted
        content = source.read(j, name)
        if kind == "numeric" or categories is None:
            columns.append(Column(name, "numeric", _values_as_numeric(content, name)))
            continue
        codes = _codes_as_fitted(content, name, categories, refuse_unseen=unseen == "error")
        columns.append(Column(name, kind, codes, categories))
        if count := int(np.count_nonzero(codes == UNSEEN)):
            n_unseen[name] = count
    feature_names = list(schema.names) if schema.names_given else None
    return Table(source.n_rows, tuple(columns), feature_names, n_unseen)


# ------------------------------------------------------------------------------------------------------------
# Names and numbers of columns


def _feature_names(source: "_Source") -> list[str] | None:
    """Ask scikit-learn, so that `feature_names_in_` and the table agree on what counts as a name."""
    probe = BaseEstimator()
    validate_data(probe, source.container, reset=True, skip_check_array=True)
    names = getattr(probe, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _check_names_and_width(source: "_Source", schema: Schema, estimator_name: str) -> None:
    """Let scikit-learn compare names and width with the fit's, in the words users and tools know.

    It reads the class name of an estimator and two of its fitted attributes, so it is given just these.
    """
    fitted = type(estimator_name, (BaseEstimator,), {})()
    fitted.n_features_in_ = len(schema.names)
    if schema.names_given:
        fitted.feature_names_in_ = np.array(schema.names, dtype=object)
    validate_data(fitted, source.container, reset=False, skip_check_array=True)


def _refuse_duplicate_names(frame: Any) -> None:
    labels: Any = getattr(frame, "column_names", None)  # Arrow, whose `columns` are the data
    if labels is None:
        labels = getattr(frame, "columns", ())
    repeated = [label for label, count in Counter(labels).items() if count > 1]
    if repeated:
        raise ValueError(
            f"Column names must be unique; X has more than one column named {_listed(repeated)}. "
            "Rename or drop the repeated columns."
        )


def _forced_columns(wanted: Any, feature_names: Sequence[str] | None, n_columns: int) -> frozenset[int]:
    """Turn `categorical_features` into column numbers."""
    if wanted is None or (isinstance(wanted, str) and wanted == "from_dtype"):
        return frozenset()
    if isinstance(wanted, str | bytes) or not isinstance(wanted, Iterable):
        raise ValueError(
            'categorical_features must be "from_dtype", None, a list of column names, a list of column '
            f"indices or a boolean mask; got {shown(wanted)}."
        )
    entries = list(wanted)
    if all(isinstance(entry, bool | np.bool_) for entry in entries):
        return _forced_by_mask(entries, n_columns)
    if all(isinstance(entry, str) for entry in entries):
        return _forced_by_name(entries, feature_names)
    if all(isinstance(entry, numbers.Integral) and not isinstance(entry, bool) for entry in entries):
        return _forced_by_index(entries, n_columns)
    raise ValueError(
        f"categorical_features must hold only names, only indices or only booleans; got {_listed(entries)}."
    )


def _forced_by_mask(mask: Sequence[bool], n_columns: int) -> frozenset[int]:
    if mask and len(mask) != n_columns:
        raise ValueError(
            f"categorical_features is a mask of {len(mask)} entries, but X has {n_columns} columns; "
            "give one entry per column, or a list of names or indices."
        )
    return frozenset(j for j, chosen in enumerate(mask) if chosen)


def _forced_by_name(wanted: Sequence[str], feature_names: Sequence[str] | None) -> frozenset[int]:
    if feature_names is None:
        raise ValueError(
            f"categorical_features names {_listed(wanted)}, but X has no column names; give column indices."
        )
    position = {name: j for j, name in enumerate(feature_names)}
    unknown = [name for name in wanted if name not in position]
    if unknown:
        near = difflib.get_close_matches(unknown[0], feature_names, n=1)
        hint = f" Did you mean {shown(near[0])}?" if near else ""
        raise ValueError(f"categorical_features names {_listed(unknown)}, which X does not have.{hint}")
    return frozenset(position[name] for name in wanted)


def _forced_by_index(wanted: Sequence[int], n_columns: int) -> frozenset[int]:
    outside = [int(j) for j in wanted if not 0 <= j < n_columns]
    if outside:
        raise ValueError(
            f"categorical_features has {_listed(outside)}, but X has {n_columns} columns; "
            f"indices go from 0 to {n_columns - 1}."
        )
    return frozenset(int(j) for j in wanted)


# ------------------------------------------------------------------------------------------------------------
# What a column holds, before its kind is known


@dataclass(frozen=True, eq=False, slots=True)
class _Numbers:
    """Numbers as they came; of dtype object if they came as Python objects.

    Missing are NaN and the rows of `absent`: integers, booleans and objects have no NaN to rely on.
    """

    values: AnyArray
    absent: Mask | None = None

    def present(self) -> Mask:
        if self.absent is not None:
            return ~self.absent
        if self.values.dtype.kind == "f":
            return ~np.isnan(self.values)
        return np.ones(len(self.values), dtype=np.bool_)


@dataclass(frozen=True, eq=False, slots=True)
class _Labels:
    """Category values and, for each row, the position of its value; MISSING where there is none."""

    distinct: Sequence[Any]
    codes: AnyArray
    ordered: bool = False

    def recoded(self, new_codes: Iterable[int]) -> npt.NDArray[np.int32]:
        """Give position p the code `new_codes[p]`. MISSING is -1: it finds itself at the end of the table."""
        codes: npt.NDArray[np.int32] = np.array([*new_codes, MISSING], dtype=np.int32)[self.codes]
        return codes

    def used(self) -> "_Labels":
        """Drop the values that no row has."""
        counts = np.bincount(self.codes.astype(np.intp) + 1, minlength=len(self.distinct) + 1)[1:]
        keep = np.flatnonzero(counts).tolist()
        if len(keep) == len(self.distinct):
            return self
        new_codes = np.full(len(self.distinct), MISSING)
        new_codes[keep] = np.arange(len(keep))
        return _Labels([self.distinct[p] for p in keep], self.recoded(new_codes.tolist()))


_Content = _Numbers | _Labels | SparseColumn


def _numeric_values(content: _Numbers, name: str) -> AnyArray:
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


def _labels_of_numbers(content: _Numbers | SparseColumn) -> _Labels:
    if isinstance(content, SparseColumn):
        content = _Numbers(content.to_dense())
    present = content.present()
    distinct, inverse = np.unique(content.values[present], return_inverse=True)
    if distinct.dtype.kind == "f":
        # -0.0 becomes 0.0, or the category that is shown would depend on the order of the rows.
        distinct = distinct + 0.0
    codes = np.full(len(present), MISSING, dtype=np.int32)
    codes[present] = inverse
    return _Labels(distinct.tolist(), codes)


def labels_of_texts(cells: Sequence[Any], absent: Mask) -> tuple[list[str], npt.NDArray[np.int32]]:
    """Number texts in the order they come: the distinct ones, and a code per cell, MISSING where absent."""
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


def _count_merged(content: _Content) -> int:
    """Count the distinct integers that coincide with another as float64."""
    if isinstance(content, _Labels):
        return 0
    values = content.data if isinstance(content, SparseColumn) else content.values
    if values.dtype.kind not in "iuO" or values.dtype.itemsize < 8:
        return 0
    if isinstance(content, _Numbers) and content.absent is not None:
        values = values[~content.absent]
    if not values.size or (values.max() < _FIRST_INEXACT_INTEGER and values.min() > -_FIRST_INEXACT_INTEGER):
        return 0
    distinct = np.unique(values)
    return int(distinct.size - np.unique(distinct.astype(np.float64)).size)


# ------------------------------------------------------------------------------------------------------------
# From content to column, at fit


def _column_at_fit(content: _Content, name: str, *, forced: bool) -> Column:
    if isinstance(content, _Labels):
        if content.ordered and not forced:
            return _ordinal_column(content, name)
        return _categorical_column(content, name)
    if forced:
        return _categorical_column(_labels_of_numbers(content), name)
    if isinstance(content, SparseColumn):
        return Column(name, "numeric", content)
    return Column(name, "numeric", _numeric_values(content, name))


def _ordinal_column(labels: _Labels, name: str) -> Column:
    categories = _plain_categories(labels, name)
    _refuse_mixed_categories(categories, labels, name)
    return Column(name, "ordinal", labels.recoded(range(len(categories))), tuple(categories))


def _categorical_column(labels: _Labels, name: str) -> Column:
    labels = labels.used()
    plain = _plain_categories(labels, name)
    _refuse_mixed_categories(plain, labels, name)
    categories: list[Any] = sorted(set(plain))
    position = {category: p for p, category in enumerate(categories)}
    codes = labels.recoded(position[category] for category in plain)
    return Column(name, "categorical", codes, tuple(categories))


def _plain_categories(labels: _Labels, name: str) -> list[Any]:
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
    if type(value).__name__ == "Interval":
        return str(value)  # pandas.cut makes these; two that differ have different texts
    raise TypeError(
        f"Column {shown(name)} has the category {shown(value)} of type {type(value).__name__}; categories "
        "must be texts, numbers or booleans. Rename them, for example with .cat.rename_categories(str)."
    )


def _refuse_mixed_categories(plain: Sequence[Category], labels: _Labels, name: str) -> None:
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


def _warn_of_merged_integers(merged: Mapping[str, int]) -> None:
    if merged:
        warnings.warn(
            "Integers of 2**53 and more are read as float64, which no longer tells neighbours apart: "
            + _joined(f"column {shown(name)} ({count} values merged)" for name, count in merged.items())
            + ". If they are identifiers, drop them or name them in categorical_features.",
            DataWarning,
            stacklevel=3,
        )


def _warn_of_near_unique(columns: Iterable[Column], n_rows: int) -> None:
    if n_rows < 20:
        return
    shares = {c.name: len(c.categories or ()) / n_rows for c in columns if c.kind == "categorical"}
    near_unique = {name: share for name, share in shares.items() if share > 0.5}
    if near_unique:
        warnings.warn(
            "Hardly two rows are alike in "
            + _joined(f"column {shown(name)} ({share:.0%} unique)" for name, share in near_unique.items())
            + ". A row number or an id can win any split and mean nothing; drop it if it is one.",
            DataWarning,
            stacklevel=3,
        )


# ------------------------------------------------------------------------------------------------------------
# From content to column, at predict


def _codes_as_fitted(
    content: _Content, name: str, categories: Sequence[Category], *, refuse_unseen: bool
) -> npt.NDArray[np.int32]:
    labels = content.used() if isinstance(content, _Labels) else _labels_of_numbers(content)
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


def _values_as_numeric(content: _Content, name: str) -> AnyArray | SparseColumn:
    if isinstance(content, SparseColumn):
        return content
    if isinstance(content, _Numbers):
        return _numeric_values(content, name)
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


def _refuse_other_family(plain: Sequence[Category], categories: Sequence[Category], name: str) -> None:
    """1, 1.0 and True are one category; "1" is another, and a column of it says that something went wrong."""
    for value in plain:
        if categories and isinstance(value, str) != isinstance(categories[0], str):
            raise ValueError(
                f"Column {shown(name)} had categories such as {shown(categories[0])} in the fit and holds "
                f"{shown(value)} now. Give it the type it had in the fit."
            )


# ------------------------------------------------------------------------------------------------------------
# Containers


class _Source(Protocol):
    """A container of columns. `container` is what scikit-learn's checks of names and width look at."""

    container: Any
    n_rows: int
    n_columns: int

    def read(self, j: int, name: str) -> _Content: ...


def _open(X: Any, estimator_name: str) -> _Source:
    source = _source_of(X, estimator_name)
    # scikit-learn's words, which its estimator checks look for; for arrays it has said them itself.
    for count, thing in ((source.n_rows, "sample"), (source.n_columns, "feature")):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {thing}(s) (shape=({source.n_rows}, {source.n_columns})) while a "
                f"minimum of 1 is required by {estimator_name}."
            )
    return source


def _source_of(X: Any, estimator_name: str) -> _Source:
    if sparse.issparse(X):
        return _SparseSource(X)
    try:
        frame: Any = nw.from_native(X, allow_series=True, pass_through=True)
    except ValueError:
        _refuse_duplicate_names(X)  # narwhals refuses most of them, too, without a way out
        raise
    if isinstance(frame, nw.DataFrame):
        return _FrameSource(frame)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(f"X is a lazy {type(X).__name__}; compute it first, for example with X.collect().")
    if isinstance(frame, nw.Series):
        raise ValueError(
            f"Expected a table, got a {type(X).__name__} of shape ({len(frame)},). Reshape your data: pass a "
            "data frame, for example X.to_frame() for a single column."
        )
    return _ArraySource(X, estimator_name)


class _ArraySource:
    """The columns of a numpy array are views of it."""

    def __init__(self, X: Any, estimator_name: str) -> None:
        array = _as_array(X)
        if array.ndim >= 3:
            raise ValueError(
                f"Found array with dim {array.ndim} (shape={array.shape}), expected rows and columns. "
                "Reshape your data to two dimensions, for example X.reshape(len(X), -1)."
            )
        if array.dtype.kind == "c" and array.ndim == 2:
            _refuse_complex_array(array)
        self.container = check_array(array, dtype=None, ensure_all_finite=False, estimator=estimator_name)
        self.n_rows, self.n_columns = self.container.shape

    def read(self, j: int, name: str) -> _Content:
        return _read_array(self.container[:, j], name)


class _FrameSource:
    """The columns of a data frame have a dtype each."""

    def __init__(self, frame: Any) -> None:
        self.container = frame.to_native()
        _refuse_duplicate_names(self.container)
        self.n_rows, self.n_columns = frame.shape
        self._series = [frame.get_column(label) for label in frame.columns]

    def read(self, j: int, name: str) -> _Content:
        return _read_series(self._series[j], name)


class _SparseSource:
    """The columns of a sparse matrix in canonical form: rows ascending, no duplicates, no stored zeros."""

    def __init__(self, X: Any) -> None:
        if X.ndim != 2:
            raise ValueError(
                f"Expected a sparse matrix, got shape {X.shape}. Reshape your data to rows and columns."
            )
        self.container = X
        self.n_rows, self.n_columns = X.shape
        self._columns = _canonical_columns(X)

    def read(self, j: int, name: str) -> _Content:
        start, stop = self._columns.indptr[j : j + 2]
        return SparseColumn(self._columns.indices[start:stop], self._columns.data[start:stop], self.n_rows)


def _as_array(X: Any) -> AnyArray:
    if isinstance(X, np.ma.MaskedArray):
        return unmasked(X)
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(_describe_ragged(X)) from error
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        # Beside a text, numpy makes the numbers of a list texts, too. Ask for the values as they are.
        return np.asarray(X, dtype=object)
    return array


def unmasked(X: Any) -> AnyArray:
    """Return a masked array as a plain one: what is masked is missing, for integers as None among objects."""
    data, mask = np.ma.getdata(X), np.ma.getmaskarray(X)
    if not mask.any():
        return data
    data = data.astype(data.dtype if data.dtype.kind == "f" else object)
    data[mask] = None
    return data


def _describe_ragged(X: Any) -> str:
    try:
        lengths = [len(row) for row in X]
        row = next(r for r, length in enumerate(lengths) if length != lengths[0])
    except (TypeError, StopIteration):
        return "X cannot be read as rows and columns. Reshape your data so that each cell holds one value."
    return (
        f"X is ragged: row 0 has {lengths[0]} values, row {row} has {lengths[row]}. "
        "Reshape your data so that all rows have the same length."
    )


def _canonical_columns(X: Any) -> Any:
    """Return X by columns in canonical form, sharing the user's arrays if they have that form already."""
    if X.dtype.kind == "c":
        _refuse_complex("x0")
    if X.dtype.kind not in "biuf":
        raise TypeError(
            f"A sparse X must hold numbers or booleans, got dtype {X.dtype}. Convert its values first."
        )
    columns = sparse.csc_array(_checked_sparse(X))
    if not columns.has_canonical_format:
        columns = columns.copy()  # summing duplicates works in place
        columns.sum_duplicates()
    if not np.all(columns.data):
        columns = columns.copy()  # and so does dropping zeros
        columns.eliminate_zeros()
    return columns


def _checked_sparse(X: Any) -> Any:
    """Refuse indices that point outside X: scipy's conversions trust them and would write anywhere.

    What is checked and converted is a container of our own, because scipy sets flags on the one it works on.
    """
    try:
        if X.format in ("csr", "csc", "bsr"):
            ours = type(X)((_readable(X.data), X.indices, X.indptr), shape=X.shape, copy=False)
            ours.check_format(full_check=True)
            return ours
        triples = X.tocoo()
        # The constructor compares every index with the shape.
        return sparse.coo_array((_readable(triples.data), (triples.row, triples.col)), shape=X.shape)
    except (ValueError, IndexError) as error:
        raise ValueError(f"The sparse X is corrupt ({error}). Rebuild it from its values.") from error


# ------------------------------------------------------------------------------------------------------------
# One column of an array or of a frame

_REFUSED_NUMPY_KINDS = {"M": "Datetime", "m": "Duration", "S": "Binary", "V": "Struct"}

# Types nobody can split on, by the names narwhals gives them, and what to do instead.
_HINTS = {
    "Date": "make it numbers, such as the year, the weekday or the days since a fixed date",
    "Datetime": "make it numbers, such as the year, the weekday or the days since a fixed date",
    "Time": "make it a number, such as the hour",
    "Duration": "make it a number, for example of seconds with .dt.total_seconds()",
    "Decimal": "convert it to a float type",
    "Binary": 'decode it to text, for example with .str.decode("utf-8")',
    "List": "give every element a column of its own",
    "Array": "give every element a column of its own",
    "Struct": "give every field a column of its own",
}
_GENERAL_HINT = "convert it to numbers or text"


def _readable(values: AnyArray) -> AnyArray:
    """Return numbers of a dtype the core reads: the array itself wherever possible."""
    if values.dtype.kind == "f" and values.dtype.itemsize == 2:
        return values.astype(np.float32)
    if values.dtype.kind == "f" and values.dtype.itemsize > 8:
        with np.errstate(over="ignore"):  # beyond float64 lies infinity, which is in order like any number
            return values.astype(np.float64)
    if not values.dtype.isnative or not values.flags.aligned:
        return values.astype(values.dtype.newbyteorder("="))
    return values


def _read_array(values: AnyArray, name: str) -> _Numbers | _Labels:
    kind = values.dtype.kind
    if kind in "biuf":
        return _Numbers(_readable(values))
    if kind in "OUT":
        return _read_objects(values.astype(object, copy=False), name)
    if kind == "c":
        _refuse_complex(name)
    _refuse_dtype(name, values.dtype, _REFUSED_NUMPY_KINDS.get(kind, ""))


def _read_series(series: Any, name: str) -> _Numbers | _Labels:
    native_dtype = getattr(series.to_native(), "dtype", None)
    if isinstance(native_dtype, np.dtype) and native_dtype.kind == "O":
        return _read_objects(series.to_numpy(), name)
    dtype = series.dtype
    # By name, because not every version of narwhals has every type.
    family = type(dtype).__name__
    if family in _HINTS:
        _refuse_dtype(name, dtype, family)
    if family == "String":
        return _labels_of_text_series(series)
    if family in ("Categorical", "Enum"):
        return _labels_of_category_series(series, name)
    if family in ("Int128", "UInt128"):
        return _read_objects(_objects(series.to_list()), name)
    if family.startswith(("Boolean", "Int", "UInt")) and series.null_count():
        filled = series.fill_null(False if family == "Boolean" else 0)
        return _Numbers(_readable(filled.to_numpy()), absent=series.is_null().to_numpy())
    return _read_array(series.to_numpy(), name)


def _labels_of_text_series(series: Any) -> _Labels:
    """Number the distinct texts with each library's own tool, which makes no Python object per row."""
    native = series.to_native()
    if series.implementation.is_pandas_like():
        codes, distinct = native.factorize()
        return _Labels(list(distinct), np.asarray(codes))
    if series.implementation.is_pyarrow():
        return _labels_of_arrow(native)
    distinct = series.drop_nulls().unique().to_list()
    if not distinct:
        return _Labels([], np.full(len(series), MISSING, dtype=np.int32))
    codes = series.replace_strict(distinct, list(range(len(distinct))), return_dtype=nw.Int32)
    return _Labels(distinct, codes.fill_null(MISSING).to_numpy())


def _labels_of_category_series(series: Any, name: str) -> _Labels:
    native = series.to_native()
    if series.implementation.is_pandas_like() and hasattr(native, "cat"):
        categories = native.cat
        return _Labels(
            list(categories.categories), categories.codes.to_numpy(), ordered=bool(categories.ordered)
        )
    if series.implementation.is_pyarrow():
        return _labels_of_arrow(native.cast(native.type.value_type))
    if series.implementation.is_polars():
        return _labels_of_text_series(series.cast(nw.String))
    content = _read_objects(_objects(series.to_list()), name)
    return _labels_of_numbers(content) if isinstance(content, _Numbers) else content


def _labels_of_arrow(chunks: Any) -> _Labels:
    encoded = chunks.dictionary_encode().unify_dictionaries().combine_chunks()
    return _Labels(encoded.dictionary.to_pylist(), encoded.indices.fill_null(MISSING).to_numpy())


# ------------------------------------------------------------------------------------------------------------
# One column of Python objects

# In this order: to Python a boolean is a number, and so is one of numpy's durations.
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
_READ_FAMILIES = frozenset({"missing", "text", "bool", "number"})


def value_family(kind: type) -> str:
    """Say what objects of a type are: "missing", "text", "bool", "number", or else what no model reads."""
    if kind is NoneType or kind.__name__ == "NAType":  # pandas.NA, by name: pandas may not be installed
        return "missing"
    return next((family for family, members in _FAMILIES if issubclass(kind, members)), "")


def _read_objects(values: AnyArray, name: str) -> _Numbers | _Labels:
    """Read a column of Python objects: all texts, all numbers or all booleans, and missing ones between."""
    cells = values.tolist()
    family_of = {kind: value_family(kind) for kind in set(map(type, cells))}
    if not _READ_FAMILIES.issuperset(family_of.values()):
        _refuse_object(cells, family_of, name)
    absent = np.fromiter(
        # NaN is the one number that differs from itself; pandas.NA would not even answer.
        (family_of[type(cell)] == "missing" or cell != cell for cell in cells),  # noqa: PLR0124
        dtype=np.bool_,
        count=len(cells),
    )
    present = [cell for cell, gone in zip(cells, absent.tolist(), strict=True) if not gone]
    families = {family_of[kind] for kind in set(map(type, present))}
    if len(families) > 1:
        _refuse_mixture(cells, absent, family_of, name)
    if families == {"text"}:
        return _Labels(*labels_of_texts(cells, absent))
    if families == {"bool"} and not absent.any():
        return _Numbers(values.astype(np.bool_))
    return _Numbers(values, absent)


def _objects(cells: Sequence[Any]) -> AnyArray:
    """Put objects into an array as they are: `np.array` would look into those that have a length."""
    array = np.empty(len(cells), dtype=object)
    array[:] = cells
    return array


# ------------------------------------------------------------------------------------------------------------
# Refusals, and how things are shown in them


def _refuse_dtype(name: str, dtype: Any, family: str) -> NoReturn:
    hint = _HINTS.get(family, _GENERAL_HINT)
    raise TypeError(
        f"Column {shown(name)} has dtype {dtype}, which no tree can split; {hint}, or drop the column."
    )


def _refuse_complex_array(array: AnyArray) -> NoReturn:
    rows, columns = np.nonzero(array.imag)
    _refuse_complex(f"x{columns[0]}" if len(columns) else "x0", row=int(rows[0]) if len(rows) else None)


def _refuse_complex(name: str, *, row: int | None = None) -> NoReturn:
    where = "" if row is None else f", row {row}"
    raise ValueError(
        f"Complex data not supported: column {shown(name)}{where}. "
        "Give the real and the imaginary part a column each."
    )


def _refuse_object(cells: Sequence[Any], family_of: Mapping[type, str], name: str) -> NoReturn:
    row = next(r for r, cell in enumerate(cells) if family_of[type(cell)] not in _READ_FAMILIES)
    family = family_of[type(cells[row])]
    if family == "complex":
        _refuse_complex(name, row=row)
    # "argument must be a string or a number" is what scikit-learn's estimator checks look for.
    raise TypeError(
        f"Column {shown(name)}, row {row}: the argument must be a string or a number or missing, got "
        f"{type(cells[row]).__name__} {shown(cells[row])}; {_HINTS.get(family, _GENERAL_HINT)}, "
        "or drop the column."
    )


def _refuse_mixture(cells: Sequence[Any], absent: Mask, family_of: Mapping[type, str], name: str) -> NoReturn:
    rows = np.flatnonzero(~absent).tolist()
    first = rows[0]
    family = family_of[type(cells[first])]
    other = next(r for r in rows if family_of[type(cells[r])] != family)
    raise TypeError(
        f"Column {shown(name)} mixes types: row {first} holds the {family} {shown(cells[first])}, row "
        f"{other} the {family_of[type(cells[other])]} {shown(cells[other])}. Make it all numbers or all "
        "text, for example with .astype(str)."
    )


def _first_nan(values: AnyArray) -> int | None:
    return _first_true(np.isnan(values)) if values.dtype.kind == "f" else None


def _first_true(mask: AnyArray) -> int | None:
    if not mask.size:
        return None
    first = int(np.argmax(mask))
    return first if mask[first] else None


def shown(value: object, limit: int = 80) -> str:
    """Represent a value in a message, cut: names and texts may be a megabyte long."""
    text = repr(value[: limit + 1] if isinstance(value, str) else value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _listed(values: Iterable[Any]) -> str:
    return _joined(shown(value) for value in values)


def _joined(texts: Iterable[str], limit: int = 5) -> str:
    texts = list(texts)
    more = f" and {len(texts) - limit} more" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more
