"""Containers X may come in: arrays and lists of rows, data frames, sparse matrices.

`open_source` makes any of them a `Source` whose columns are read one by one; what the core can read in place
is not copied, and the user's data are never written to.
"""

import os
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Protocol, TypeVar

import narwhals as nw
import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from hornbeam.data.content import AnyArray, Content, SparseColumn
from hornbeam.data.families import refuse_complex
from hornbeam.data.names import refuse_duplicate_names
from hornbeam.data.readers import read_array, read_series, readable
from hornbeam.data.wording import shown

__all__ = [
    "CodedSource",
    "OpenSource",
    "Source",
    "labelled",
    "numbers_of",
    "open_source",
    "refuse_corrupt_sparse",
    "refuse_no_table",
    "unmasked",
]


Kept = TypeVar("Kept")


class Source(Protocol):
    """A container of columns. `container` is what scikit-learn's checks of names and width look at."""

    container: Any
    n_rows: int
    n_columns: int

    def read(self, j: int, name: str) -> Content:
        """Read column j; `name` is what messages call it."""


class OpenSource:
    """A source that is given to estimators as X; it keeps what fits have computed from it.

    `labelled` has its names and width at no cost, while `container` may have to be made first.
    """

    labelled: Any
    container: Any
    n_rows: int
    n_columns: int

    def read(self, j: int, name: str) -> Content:
        """Read column j; `name` is what messages call it."""
        raise NotImplementedError

    def kept(self, key: Any, make: Callable[[], Kept]) -> Kept:
        """Return what was made under this key, or make it."""
        raise NotImplementedError


class CodedSource(OpenSource):
    """A source whose columns are already encoded and whose values are not kept."""

    def table_for(self, categorical_features: Any) -> Any:
        """Return the table; refuse if its columns should be read in another way."""
        raise NotImplementedError

    def table_as(self, schema: Any) -> Any:
        """Return the rows for predictions of a model that was fitted on codes of the same bins."""
        return self.read(0, "")  # which usually refuses


def labelled(source: Source) -> Any:
    """Return an object with the names and the width of a source."""
    return source.labelled if isinstance(source, OpenSource) else source.container


def open_source(X: Any, estimator_name: str, *, any_dimensions: bool = False) -> Source:
    """Open any container of at least one row and one column.

    `any_dimensions` accepts arrays of three and more dimensions, for estimators that pass X on unread.
    """
    source = _source_of(X, estimator_name, any_dimensions=any_dimensions)
    # scikit-learn's wording, which its estimator checks look for; for arrays it has raised this itself.
    for count, thing in ((source.n_rows, "sample"), (source.n_columns, "feature")):
        if count == 0:
            raise ValueError(
                f"Found array with 0 {thing}(s) (shape=({source.n_rows}, {source.n_columns})) while a "
                f"minimum of 1 is required by {estimator_name}."
            )
    return source


def refuse_no_table(X: Any, name: str = "X") -> None:
    """Refuse what describes a table but is not one: the path of a file, a dict of columns."""
    if isinstance(X, str | bytes | os.PathLike):
        raise TypeError(
            f"{name} is {shown(X)}, a text. Read the table first, for example with pandas.read_csv, and give "
            "its columns."
        )
    if isinstance(X, Mapping) and not sparse.issparse(X):
        raise TypeError(
            f"{name} is a dict. Make it a table first, for example with pandas.DataFrame({name})."
        )


def _source_of(X: Any, estimator_name: str, *, any_dimensions: bool) -> Source:
    if isinstance(X, OpenSource):
        return X
    if sparse.issparse(X):  # one kind of which is a dict
        return _SparseSource(X)
    refuse_no_table(X)
    try:
        frame: Any = nw.from_native(X, allow_series=True, pass_through=True)
    except ValueError:
        refuse_duplicate_names(X)  # narwhals refuses most of them, too, but does not say what to do
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
    return _ArraySource(X, estimator_name, any_dimensions=any_dimensions)


# ------------------------------------------------------------------------------------------------------------
# Arrays and lists of rows


class _ArraySource:
    """The columns of a numpy array are views of it."""

    def __init__(self, X: Any, estimator_name: str, *, any_dimensions: bool) -> None:
        array = _as_array(X)
        if array.dtype.kind in "biuf" and not array.flags.aligned:  # such as arrays that came over a network
            array = readable(array)  # once, instead of column by column
        if array.ndim >= 3 and not any_dimensions:
            raise ValueError(
                f"Found array with dim {array.ndim} (shape={array.shape}), expected rows and columns. "
                "Reshape your data to two dimensions, for example X.reshape(len(X), -1)."
            )
        if array.dtype.kind == "c" and array.ndim == 2:
            _refuse_complex_array(array)
        self.container = check_array(
            array, dtype=None, ensure_all_finite=False, estimator=estimator_name, allow_nd=any_dimensions
        )
        self.n_rows, self.n_columns = self.container.shape[:2]

    def read(self, j: int, name: str) -> Content:
        return read_array(self.container[:, j], name)

    def numbers(self) -> AnyArray | None:
        """Return the whole array if all columns are plain numbers that the core can read in place."""
        kind, size = self.container.dtype.kind, self.container.dtype.itemsize
        if kind not in "bf" and not (kind in "iu" and size < 8):  # of larger integers some may be merged
            return None
        return readable(self.container)


def numbers_of(source: Source) -> AnyArray | None:
    """Return the columns of a source as one array of numbers, if possible: quick for a million columns."""
    return source.numbers() if isinstance(source, _ArraySource) else None


def _as_array(X: Any) -> AnyArray:
    if isinstance(X, np.ma.MaskedArray):
        return unmasked(X)
    try:
        array = np.asarray(X)
    except ValueError as error:
        raise ValueError(_describe_ragged(X)) from error
    if array.dtype.kind in "US" and not isinstance(X, np.ndarray):
        # If a list holds a text, numpy turns its numbers into texts, too. Ask for the values unchanged.
        return np.asarray(X, dtype=object)
    return array


def unmasked(X: Any) -> AnyArray:
    """Return a masked array as a plain one. Masked values are missing; integers become objects with None."""
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


def _refuse_complex_array(array: AnyArray) -> NoReturn:
    rows, columns = np.nonzero(array.imag)
    refuse_complex(f"x{columns[0]}" if len(columns) else "x0", row=int(rows[0]) if len(rows) else None)


# ------------------------------------------------------------------------------------------------------------
# Data frames


class _FrameSource:
    """The columns of a data frame have a dtype each."""

    def __init__(self, frame: Any) -> None:
        self.container = frame.to_native()
        refuse_duplicate_names(self.container)
        self.n_rows, self.n_columns = frame.shape
        self._series = [frame.get_column(label) for label in frame.columns]

    def read(self, j: int, name: str) -> Content:
        return read_series(self._series[j], name)


# ------------------------------------------------------------------------------------------------------------
# Sparse matrices


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

    def read(self, j: int, name: str) -> Content:
        start, stop = self._columns.indptr[j : j + 2]
        return SparseColumn(self._columns.indices[start:stop], self._columns.data[start:stop], self.n_rows)


def _canonical_columns(X: Any) -> Any:
    """Return X by columns in canonical form, sharing the user's arrays if they have that form already."""
    if X.dtype.kind == "c":
        refuse_complex("x0")
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


def refuse_corrupt_sparse(X: Any) -> None:
    """Raise if X is a sparse matrix with indices outside its shape; call this before scipy works on it."""
    if sparse.issparse(X):
        _checked_sparse(X)


def _checked_sparse(X: Any) -> Any:
    """Refuse indices that point outside X: scipy's conversions trust them and would write anywhere.

    What is checked and converted is a container of our own, because scipy sets flags on the one it works on.
    """
    try:
        if X.format in ("csr", "csc", "bsr"):
            places = (np.require(one, requirements=["ALIGNED"]) for one in (X.indices, X.indptr))
            ours = type(X)((readable(X.data), *places), shape=X.shape, copy=False)
            ours.check_format(full_check=True)
            return ours
        triples = X.tocoo()
        # The constructor compares every index with the shape.
        return sparse.coo_array((readable(triples.data), (triples.row, triples.col)), shape=X.shape)
    except (ValueError, IndexError) as error:
        raise ValueError(f"The sparse X is corrupt ({error}). Rebuild it from its values.") from error
