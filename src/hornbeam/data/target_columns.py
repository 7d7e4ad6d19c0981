"""Targets, weights and groups of any container, taken apart into columns of labels or numbers.

In: lists, arrays, series and frames. Out: columns as codes with their sorted labels, or as finite numbers. An
error names the first row that cannot be read.
"""

from collections.abc import Sequence
from typing import Any, NoReturn

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from hornbeam.data.content import Rows, labels_of_texts
from hornbeam.data.families import value_family
from hornbeam.data.sources import unmasked
from hornbeam.data.wording import listed, shown

__all__ = ["check_discrete", "columns_of", "read_floats", "read_labels", "table_and_target", "target_columns"]

AnyArray = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]
CodeArray = npt.NDArray[np.int32]

_MOST_COUNTED = 1 << 16  # up to this many different whole numbers are counted instead of sorted


# ------------------------------------------------------------------------------------------------------------
# The container


def table_and_target(X: Any, y: Any) -> tuple[Any, Any]:
    """If y names a column of the frame X, split X into table and target; otherwise return both unchanged."""
    if not isinstance(y, str):
        return X, y
    frame: Any = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return X, y
    if y not in frame.columns:
        raise ValueError(
            f"y is {shown(y)}, but X has no such column. Its columns are: {listed(frame.columns)}."
        )
    return frame.drop(y).to_native(), frame.get_column(y).to_native()


def target_columns(
    y: Any, n_rows: int, rows: Rows | None, *, multi_output: bool, estimator_name: str, name: str
) -> list[AnyArray]:
    """Return the columns of a target of `n_rows` rows, one per output; with `rows` only these are read."""
    if y is None:
        raise ValueError(f"{estimator_name} requires y to be passed, but the target {name} is None.")
    columns, is_one_dimensional = columns_of(y, name)
    if not columns:
        raise ValueError(f"{name} has 0 columns; give one value per row.")
    if len(columns) > 1 and not multi_output:
        raise ValueError(
            f"{name} should be a 1d array, got an array of shape ({len(columns[0])}, {len(columns)}) "
            f"instead. {estimator_name} learns one output "
            "at a time: fit one for each, for example with sklearn.multioutput.MultiOutputRegressor."
        )
    if len(columns) == 1 and not is_one_dimensional:
        columns = [column_or_1d(columns[0].reshape(-1, 1), warn=True)]
    check_consistent_length(range(n_rows), columns[0])
    return columns if rows is None else [_with_stand_ins(column, rows) for column in columns]


def _with_stand_ins(column: AnyArray, rows: Rows) -> AnyArray:
    """Give rows that do not count the value of one that does: no error for them, row numbers unchanged."""
    taken_from = np.full(len(column), rows[0])
    taken_from[rows] = rows
    result: AnyArray = column[taken_from]
    return result


def columns_of(y: Any, what: str) -> tuple[list[AnyArray], bool]:
    """Split a container of one or two dimensions into columns; also say whether it had one dimension."""
    if sparse.issparse(y):
        raise TypeError(f"{what} is sparse; make it dense with {what}.toarray().")
    if isinstance(y, str | bytes):
        raise TypeError(
            f"{what} is the text {shown(y)}; it must hold one value per row. If that is a column of X, give "
            f"the column, X[{shown(y)}], and leave it out of X."
        )
    frame: Any = nw.from_native(y, allow_series=True, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            f"{what} is a lazy {type(y).__name__}; compute it first, for example with .collect()."
        )
    if isinstance(frame, nw.Series):
        return [_series_values(frame)], True
    if isinstance(frame, nw.DataFrame):
        return [_series_values(frame.get_column(label)) for label in frame.columns], False
    array = _as_array(y, what)
    if array.ndim == 1:
        return [array], True
    if array.ndim == 2:
        return [array[:, k] for k in range(array.shape[1])], False
    raise ValueError(
        f"{what} should be a 1d array, got an array of shape {array.shape} instead. Give one value per row."
    )


def _as_array(y: Any, what: str) -> AnyArray:
    if isinstance(y, np.ma.MaskedArray):
        return unmasked(y)
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise ValueError(
            f"{what} is ragged: its rows have different lengths. Give one value per row."
        ) from error
    if array.dtype.kind in "US" and not isinstance(y, np.ndarray):
        # If a list holds a text, numpy turns its numbers into texts, too: "1" and 1 would be one class.
        objects = np.asarray(y, dtype=object)
        return array if all(isinstance(cell, str) for cell in objects.flat) else objects
    return array


def _series_values(series: Any) -> AnyArray:
    """Return a series as an array in which a null is NaN, None or pandas.NA."""
    if type(series.dtype).__name__ in ("Categorical", "Enum", "Int128", "UInt128"):
        # Not every library converts these to arrays, or correctly.
        values = np.empty(len(series), dtype=object)
        values[:] = series.to_list()
        return values
    return np.asarray(series.to_numpy())


# ------------------------------------------------------------------------------------------------------------
# One column


def read_labels(values: AnyArray, what: str, *, few: bool = True) -> tuple[AnyArray, CodeArray]:
    """Return the sorted distinct labels and a code per row; `few` says that they should be classes."""
    kind = values.dtype.kind
    if kind in "OT":
        return _read_label_objects(values.astype(object), what, few=few)
    if kind == "c":
        raise ValueError(f"Complex data not supported: {what} has dtype {values.dtype}.")
    if kind not in "biufU":
        raise ValueError(f"Unknown label type: {what} has dtype {values.dtype}. Use texts or whole numbers.")
    if kind == "f":
        _refuse_not_finite(values, what)
    classes, codes = _number_labels(values.astype(values.dtype.newbyteorder("="), copy=False))
    # Only floats can be continuous; for others scikit-learn only checks whether there are too many classes.
    if few and (kind == "f" or 2 * len(classes) >= len(values)):
        check_discrete(values if kind == "f" else codes, what)
    return classes, codes


def _number_labels(values: AnyArray) -> tuple[AnyArray, CodeArray]:
    """Return the sorted distinct values and the place of each row's among them."""
    if values.dtype.kind in "biu" and len(values) > 0:
        least, most = int(values.min()), int(values.max())
        if most - least < _MOST_COUNTED and most < 2**62:  # counting takes a fifth of the time of sorting
            steps = values.astype(np.int64) - least
            present = np.flatnonzero(np.bincount(steps))
            places = np.zeros(most - least + 1, dtype=np.int32)
            places[present] = np.arange(len(present))
            return (present + least).astype(values.dtype), places[steps]
    classes, codes = np.unique(values, return_inverse=True)
    return classes, codes.astype(np.int32)


def _read_label_objects(values: AnyArray, what: str, *, few: bool) -> tuple[AnyArray, CodeArray]:
    cells = values.tolist()
    family = _only_family(cells, what)
    if family == "text":
        distinct, codes = labels_of_texts(cells, np.zeros(len(cells), dtype=np.bool_))
        order = sorted(range(len(distinct)), key=distinct.__getitem__)
        ranks = np.empty(len(order), dtype=np.int32)
        ranks[order] = np.arange(len(order))
        if few:
            check_discrete(codes, what)
        return np.array([distinct[p] for p in order], dtype=object), ranks[codes]
    if family not in ("number", "bool"):
        raise ValueError(
            f"Unknown label type: {what}, row 0 holds {shown(cells[0])} of type {type(cells[0]).__name__}. "
            "Labels must be texts, whole numbers or booleans."
        )
    typed = np.array(cells)
    if typed.dtype.kind == "O":
        raise ValueError(f"{what} holds whole numbers beyond 64 bits; make the labels texts.")
    return read_labels(typed, what, few=few)


def read_floats(values: AnyArray, what: str) -> FloatArray:
    """Return a column's numbers, all of them finite; `what` is what errors call it."""
    kind = values.dtype.kind
    if kind in "OT":
        values = _number_objects(values.astype(object), what)
    elif kind == "c":
        raise ValueError(f"Complex data not supported: {what} has dtype {values.dtype}.")
    elif kind == "U":
        raise ValueError(_text_for_number(what, 0, values[0]))
    elif kind not in "biuf":
        raise ValueError(f"{what} must hold numbers, got dtype {values.dtype}. Convert it first.")
    with np.errstate(over="ignore"):  # values too large for float64 become infinite, and are refused as such
        floats = values.astype(np.float64, copy=False)
    _refuse_not_finite(floats, what)
    return np.ascontiguousarray(floats)


def _number_objects(values: AnyArray, what: str) -> AnyArray:
    cells = values.tolist()
    family = _only_family(cells, what)
    if family == "text":
        raise ValueError(_text_for_number(what, 0, cells[0]))
    if family not in ("number", "bool"):
        raise ValueError(
            f"{what} must hold numbers: row 0 holds {shown(cells[0])} of type {type(cells[0]).__name__}. "
            "Convert it first."
        )
    try:
        return values.astype(np.float64)
    except OverflowError as error:
        raise ValueError(f"{what} holds whole numbers too large for a float64. Rescale it.") from error


def _only_family(cells: Sequence[Any], what: str) -> str:
    """Return the family of all cells ("text", "number", "bool", ...); refuse missing values and mixtures."""
    family_of = {kind: value_family(kind) for kind in set(map(type, cells))}
    if len(set(family_of.values())) > 1 or "missing" in family_of.values():
        families = [family_of[type(cell)] for cell in cells]
        for row, (cell, family) in enumerate(zip(cells, families, strict=True)):
            if family == "missing" or (isinstance(cell, float | np.floating) and np.isnan(cell)):
                _refuse_missing(what, row)
        row = next(r for r, family in enumerate(families) if family != families[0])
        raise ValueError(
            f"{what} mixes types: row 0 holds {shown(cells[0])} ({type(cells[0]).__name__}), row {row} holds "
            f"{shown(cells[row])} ({type(cells[row]).__name__}). Make them all of one type."
        )
    return next(iter(family_of.values()))


def _text_for_number(what: str, row: int, value: object) -> str:
    way_out = (
        "use a classifier for labels, or convert the texts" if what.startswith("y") else "convert the texts"
    )
    return (
        f"{what} must hold numbers: row {row} holds the text {shown(str(value))}; {way_out}, .astype(float)."
    )


def _refuse_missing(what: str, row: int) -> NoReturn:
    raise ValueError(f"Input {what} contains NaN: row {row} has no value. Drop such rows or fill them in.")


def _refuse_not_finite(values: AnyArray, what: str) -> None:
    not_finite = ~np.isfinite(values)
    if not not_finite.any():
        return
    row = int(np.argmax(not_finite))
    if np.isnan(values[row]):
        _refuse_missing(what, row)
    raise ValueError(
        f"Input {what} contains infinity or a value too large for dtype('float64'): row {row} holds "
        f"{values[row]}. Drop such rows or rescale."
    )


def check_discrete(values: AnyArray, what: str) -> None:
    """Refuse labels that are measurements, as scikit-learn does."""
    with np.errstate(invalid="ignore"):  # floats beyond the integers cannot be compared with them
        try:
            check_classification_targets(values)
        except ValueError as error:
            row = int(np.argmax(values != values.astype(np.int64)))
            raise ValueError(
                f"{error} {what}, row {row} holds {values[row]}. Use a regressor, or make the labels whole "
                "numbers."
            ) from error
