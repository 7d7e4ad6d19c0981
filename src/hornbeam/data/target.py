"""Targets and weights on their way in: y becomes class codes or numbers, weights become one float per row.

Everything is checked here, so that the core never meets a NaN, an infinity or a wrong length: bad values are
refused with the first row that holds one. Targets have one column per output, also where there is only one.
"""

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NoReturn

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from hornbeam.data.content import Rows, labels_of_texts
from hornbeam.data.families import value_family
from hornbeam.data.sources import unmasked
from hornbeam.data.wording import shown
from hornbeam.warnings import DataWarning, warn

__all__ = [
    "ClassTarget",
    "ClassWeight",
    "CodedLabels",
    "RegressionTarget",
    "class_weights",
    "in_classes_of",
    "read_classes",
    "read_groups",
    "read_numbers",
    "read_offset",
    "read_weights",
]

AnyArray = npt.NDArray[Any]
FloatArray = npt.NDArray[np.float64]
CodeArray = npt.NDArray[np.int32]
ClassWeight = Mapping[Any, float] | Literal["balanced"] | Sequence[Mapping[Any, float]]

_LARGEST_FACTOR = 2.0**400  # of a class: products with weights and sums of them are numbers still
_MOST_COUNTED = 1 << 16  # different whole numbers that labels are counted by instead of sorted


@dataclass(frozen=True, eq=False)
class ClassTarget:
    """Labels as codes: row i has label `classes[k][codes[i, k]]` in output k; classes are sorted."""

    codes: CodeArray
    classes: list[AnyArray]
    is_multi_output: bool

    @property
    def n_outputs(self) -> int:
        """Number of targets per row."""
        return len(self.classes)

    def labels(self, output: int) -> AnyArray:
        """Return the labels of one output as they were given."""
        labels: AnyArray = self.classes[output][self.codes[:, output]]
        return labels

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.codes)

    def numbers(self) -> FloatArray:
        """Return the codes of the only output as losses take them."""
        return self.codes[:, 0].astype(np.float64)

    def in_few_bytes(self) -> "ClassTarget":
        """Return the same with codes that take as little memory as they can, for fits that only keep them."""
        most = max(map(len, self.classes)) - 1
        narrow: Any = self.codes.astype(np.min_scalar_type(most))
        return replace(self, codes=narrow)


@dataclass(frozen=True, eq=False)
class CodedLabels:
    """A column of texts that is in codes already: row i has the label `distinct[codes[i]]`."""

    distinct: list[str]
    codes: AnyArray

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.codes)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> AnyArray:
        """Return the texts themselves."""
        return np.array(self.distinct, dtype=object)[self.codes]


@dataclass(frozen=True, eq=False)
class RegressionTarget:
    """Finite numbers, one column per output."""

    values: FloatArray
    is_multi_output: bool

    @property
    def n_outputs(self) -> int:
        """Number of targets per row."""
        return int(self.values.shape[1])

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.values)

    def numbers(self) -> FloatArray:
        """Return the numbers of the only output."""
        numbers: FloatArray = self.values[:, 0]
        return numbers


def read_classes(
    y: Any,
    n_rows: int,
    *,
    rows: Rows | None = None,
    multi_output: bool = True,
    estimator_name: str = "the estimator",
    name: str = "y",
) -> ClassTarget:
    """Read labels of any kind: texts, booleans, whole numbers; one type per output, none missing.

    `n_rows` is what y must have; with `rows` only these are read, and the others may hold anything. `name`
    is what errors call y.
    """
    if isinstance(y, CodedLabels) and rows is None:
        return _read_coded_labels(y, n_rows, name)
    columns = _target_columns(
        y, n_rows, rows, multi_output=multi_output, estimator_name=estimator_name, name=name
    )
    outputs = [_read_labels(column, _output_name(name, k, len(columns))) for k, column in enumerate(columns)]
    codes = np.stack([codes for _, codes in outputs], axis=1)
    if name == "y":
        _warn_of_one_class([classes for classes, _ in outputs], n_rows)
    return ClassTarget(
        codes=codes if rows is None else codes[rows],
        classes=[classes for classes, _ in outputs],
        is_multi_output=len(columns) > 1,
    )


def _read_coded_labels(y: CodedLabels, n_rows: int, name: str) -> ClassTarget:
    """Read labels that are in codes already, all of which occur."""
    check_consistent_length(range(n_rows), y.codes)
    classes, places = _read_labels(np.array(y.distinct, dtype=object), name, few=False)
    _check_discrete(y.codes, name)
    _warn_of_one_class([classes], n_rows)
    return ClassTarget(places[y.codes][:, np.newaxis], [classes], is_multi_output=False)


def _warn_of_one_class(outputs: Sequence[AnyArray], n_rows: int) -> None:
    """Warn of labels that leave nothing to tell apart; of a single row that is no news."""
    if n_rows > 1 and all(len(classes) == 1 for classes in outputs):
        warn(
            f"y holds one class only, {shown(outputs[0].tolist()[0])}: every row will get that answer.",
            DataWarning,
        )


def read_numbers(
    y: Any,
    n_rows: int,
    *,
    rows: Rows | None = None,
    multi_output: bool = True,
    estimator_name: str = "the estimator",
    name: str = "y",
) -> RegressionTarget:
    """Read finite numbers, however large; `n_rows`, `rows` and `name` as in `read_classes`."""
    columns = _target_columns(
        y, n_rows, rows, multi_output=multi_output, estimator_name=estimator_name, name=name
    )
    outputs = [_read_floats(column, _output_name(name, k, len(columns))) for k, column in enumerate(columns)]
    values = np.stack(outputs, axis=1)
    return RegressionTarget(values if rows is None else values[rows], is_multi_output=len(columns) > 1)


def in_classes_of(given: ClassTarget, fit: ClassTarget, *, name: str) -> ClassTarget:
    """Number the labels of further rows as the fit does; a class that the fit does not know is refused."""
    if given.n_outputs != fit.n_outputs:
        raise ValueError(f"{name} has {given.n_outputs} output(s), but y has {fit.n_outputs}.")
    codes = np.empty_like(given.codes)
    for k, (theirs, ours) in enumerate(zip(given.classes, fit.classes, strict=True)):
        position = {label: code for code, label in enumerate(ours.tolist())}
        new = [label for label in theirs.tolist() if label not in position]
        if new:
            row = int(np.argmax(given.codes[:, k] == theirs.tolist().index(new[0])))
            raise ValueError(
                f"{name}, row {row}: the class {shown(new[0])} is not among the classes of y, so no model "
                "can predict it. Drop such rows, or let the fit see the class."
            )
        codes[:, k] = np.array([position[label] for label in theirs.tolist()], dtype=np.int32)[
            given.codes[:, k]
        ]
    return ClassTarget(codes, fit.classes, fit.is_multi_output)


def read_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Read one finite weight >= 0 per row, or one number for all rows; None stays None."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n_rows, sample_weight)
    columns, is_one_dimensional = _columns_of(sample_weight, "sample_weight")
    if not is_one_dimensional:
        raise ValueError(
            "Sample weights must be 1D array or scalar, one weight per row; "
            f"got two dimensions, shape ({len(columns[0]) if columns else 0}, {len(columns)})."
        )
    if len(columns[0]) != n_rows:
        raise ValueError(f"sample_weight has {len(columns[0])} entries, but X has {n_rows} rows.")
    weights = _read_floats(columns[0], "sample_weight")
    negative = weights < 0
    if negative.any():
        row = int(np.argmax(negative))
        raise ValueError(
            f"Negative values in sample_weight: row {row} holds {weights[row]}. "
            "Weights count rows; give a row weight 0 to leave it out."
        )
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number; all of them are 0.")
    return weights


def read_offset(
    offset: Any, n_rows: int, n_scores: int, *, rows: Rows | None = None, name: str = "offset"
) -> FloatArray | None:
    """Read what is known of each row's score beforehand: rows x scores, finite; None stays None."""
    if offset is None:
        return None
    columns, _ = _columns_of(offset, name)
    if len(columns) != n_scores or len(columns[0]) != n_rows:
        wanted = f"{n_rows} number(s)" if n_scores == 1 else f"{n_rows} rows and {n_scores} columns"
        found = f"{len(columns[0]) if columns else 0} row(s) and {len(columns)} column(s)"
        raise ValueError(f"{name} must have {wanted}, one per row of X and score; got {found}.")
    numbers = np.stack([_read_floats(column, name) for column in columns], axis=1)
    return numbers if rows is None else numbers[rows]


def read_groups(groups: Any, n_rows: int, *, rows: Rows | None = None) -> CodeArray:
    """Read which group each row belongs to, as codes from 0; labels of any kind, none missing."""
    columns, is_one_dimensional = _columns_of(groups, "groups")
    if not is_one_dimensional:
        raise ValueError(f"groups must have one dimension, one label per row; got {len(columns)} columns.")
    if len(columns[0]) != n_rows:
        raise ValueError(f"groups has {len(columns[0])} entries, but X has {n_rows} rows.")
    column = columns[0] if rows is None else columns[0][rows]
    _, codes = _read_labels(column, "groups", few=False)
    return codes


def class_weights(
    class_weight: ClassWeight | None, target: ClassTarget, sample_weight: FloatArray | None = None
) -> FloatArray | None:
    """Return the factor by which `class_weight` multiplies each row's weight; None if it is None.

    "balanced" gives every class the same total. With `sample_weight` the totals are those of the weights, so
    a row of weight 0 counts as if it were not there and a row of weight 2 as if it were there twice.
    """
    if class_weight is None:
        return None
    n_outputs = len(target.classes)
    _check_class_weight(class_weight, n_outputs)
    factors = np.ones(len(target.codes))
    for k in range(n_outputs):
        if isinstance(class_weight, str):
            factors *= _balancing_factors(target.codes[:, k], len(target.classes[k]), sample_weight)
        else:
            chosen = class_weight if isinstance(class_weight, Mapping) else class_weight[k]
            factors *= _chosen_factors(chosen, target.labels(k))
    return factors


def _check_class_weight(class_weight: Any, n_outputs: int) -> None:
    if isinstance(class_weight, str):
        if class_weight != "balanced":
            raise ValueError(f'class_weight must be a dict, "balanced" or None; got {shown(class_weight)}.')
    elif isinstance(class_weight, Mapping):
        if n_outputs > 1:
            raise ValueError(
                'For multi-output, class_weight should be a list of dicts, or the string "balanced"; '
                f"got one dict for {n_outputs} outputs."
            )
    elif not isinstance(class_weight, Sequence) or not all(isinstance(w, Mapping) for w in class_weight):
        raise ValueError(
            f'class_weight must be a dict, a list of dicts, "balanced" or None; got {shown(class_weight)}.'
        )
    elif len(class_weight) != n_outputs:
        raise ValueError(f"class_weight has {len(class_weight)} dicts, but y has {n_outputs} outputs.")


def _balancing_factors(codes: CodeArray, n_classes: int, sample_weight: FloatArray | None) -> FloatArray:
    if sample_weight is None:
        balanced: FloatArray = compute_sample_weight("balanced", codes)
        return balanced
    totals = np.bincount(codes, weights=sample_weight, minlength=n_classes)
    has_weight = totals > 0
    per_class = np.zeros(n_classes)
    with np.errstate(over="ignore"):  # a class may weigh next to nothing
        factors = totals.sum() / (np.count_nonzero(has_weight) * totals[has_weight])
    per_class[has_weight] = np.minimum(factors, _LARGEST_FACTOR)
    return per_class[codes]


def _chosen_factors(chosen: Mapping[Any, float], labels: AnyArray) -> FloatArray:
    for label, factor in chosen.items():
        if not isinstance(factor, numbers.Real) or not 0 <= factor < np.inf:
            raise ValueError(
                f"class_weight of the class {shown(label)} must be a finite number >= 0; got {shown(factor)}."
            )
    factors: FloatArray = compute_sample_weight(dict(chosen), labels)
    return factors


# ------------------------------------------------------------------------------------------------------------
# The container


def _output_name(name: str, output: int, n_outputs: int) -> str:
    return name if n_outputs == 1 else f"{name}[:, {output}]"


def _target_columns(
    y: Any, n_rows: int, rows: Rows | None, *, multi_output: bool, estimator_name: str, name: str
) -> list[AnyArray]:
    if y is None:
        raise ValueError(f"{estimator_name} requires y to be passed, but the target {name} is None.")
    columns, is_one_dimensional = _columns_of(y, name)
    if not columns:
        raise ValueError(f"{name} has 0 columns; give one value per row.")
    if len(columns) > 1 and not multi_output:
        raise ValueError(
            f"{name} should be a 1d array, got an array of shape ({len(columns[0])}, {len(columns)}) "
            f"instead. {estimator_name} learns one output at a time."
        )
    if len(columns) == 1 and not is_one_dimensional:
        columns = [column_or_1d(columns[0].reshape(-1, 1), warn=True)]
    check_consistent_length(range(n_rows), columns[0])
    return columns if rows is None else [_with_stand_ins(column, rows) for column in columns]


def _with_stand_ins(column: AnyArray, rows: Rows) -> AnyArray:
    """Give the other rows the value of one that counts: no refusal for them, and row numbers stay true."""
    taken_from = np.full(len(column), rows[0])
    taken_from[rows] = rows
    result: AnyArray = column[taken_from]
    return result


def _columns_of(y: Any, what: str) -> tuple[list[AnyArray], bool]:
    """Take a container of one or two dimensions apart: its columns, and whether it had one dimension."""
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
        # Beside a text, numpy makes the numbers of a list texts, too: "1" and 1 would be one class.
        objects = np.asarray(y, dtype=object)
        return array if all(isinstance(cell, str) for cell in objects.flat) else objects
    return array


def _series_values(series: Any) -> AnyArray:
    """Return a series as an array in which a null is NaN, None or pandas.NA."""
    if type(series.dtype).__name__ in ("Categorical", "Enum", "Int128", "UInt128"):
        # Not every library turns these into arrays, or into the right ones.
        values = np.empty(len(series), dtype=object)
        values[:] = series.to_list()
        return values
    return np.asarray(series.to_numpy())


# ------------------------------------------------------------------------------------------------------------
# One column


def _read_labels(values: AnyArray, what: str, *, few: bool = True) -> tuple[AnyArray, CodeArray]:
    """Return the sorted distinct labels and a code per row; `few` expects them to be classes."""
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
    # Only floats can be continuous; of the others scikit-learn only asks whether there are too many classes.
    if few and (kind == "f" or 2 * len(classes) >= len(values)):
        _check_discrete(values if kind == "f" else codes, what)
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
            _check_discrete(codes, what)
        return np.array([distinct[p] for p in order], dtype=object), ranks[codes]
    if family not in ("number", "bool"):
        raise ValueError(
            f"Unknown label type: {what}, row 0 holds {shown(cells[0])} of type {type(cells[0]).__name__}. "
            "Labels must be texts, whole numbers or booleans."
        )
    typed = np.array(cells)
    if typed.dtype.kind == "O":
        raise ValueError(f"{what} holds whole numbers beyond 64 bits; make the labels texts.")
    return _read_labels(typed, what, few=few)


def _read_floats(values: AnyArray, what: str) -> FloatArray:
    kind = values.dtype.kind
    if kind in "OT":
        values = _number_objects(values.astype(object), what)
    elif kind == "c":
        raise ValueError(f"Complex data not supported: {what} has dtype {values.dtype}.")
    elif kind == "U":
        raise ValueError(_text_for_number(what, 0, values[0]))
    elif kind not in "biuf":
        raise ValueError(f"{what} must hold numbers, got dtype {values.dtype}. Convert it first.")
    with np.errstate(over="ignore"):  # what is too large for float64 becomes infinite and is refused as that
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
    """Return what all cells are ("text", "number", "bool", ...); refuse missing ones and mixtures."""
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


def _check_discrete(values: AnyArray, what: str) -> None:
    with np.errstate(invalid="ignore"):  # beyond the integers there are no whole numbers to compare with
        try:
            check_classification_targets(values)
        except ValueError as error:
            row = int(np.argmax(values != values.astype(np.int64)))
            raise ValueError(
                f"{error} {what}, row {row} holds {values[row]}. Use a regressor, or make the labels whole "
                "numbers."
            ) from error
