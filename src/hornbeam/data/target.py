"""Reads targets and weights: y becomes class codes or numbers, weights become one float per row.

Everything is checked here, so that the core never gets a NaN, an infinity or a wrong length. An error names
the first row with a bad value. Targets have one column per output, even if there is only one.
"""

import numbers
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_consistent_length

from hornbeam.data.content import Rows
from hornbeam.data.target_columns import check_discrete, columns_of, read_floats, read_labels, target_columns
from hornbeam.data.wording import shown
from hornbeam.warnings import DataWarning, warn

__all__ = [
    "ClassTarget",
    "CodedLabels",
    "RegressionTarget",
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
        """Return the same with the narrowest codes, for fits that only keep them."""
        most = max(map(len, self.classes)) - 1
        narrow: Any = self.codes.astype(np.min_scalar_type(most))
        return replace(self, codes=narrow)


@dataclass(frozen=True, eq=False)
class CodedLabels:
    """A column of texts that is already encoded: row i has the label `distinct[codes[i]]`."""

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
    columns = target_columns(
        y, n_rows, rows, multi_output=multi_output, estimator_name=estimator_name, name=name
    )
    outputs = [read_labels(column, _output_name(name, k, len(columns))) for k, column in enumerate(columns)]
    codes = np.stack([codes for _, codes in outputs], axis=1)
    if name == "y":
        _warn_of_one_class([classes for classes, _ in outputs], n_rows)
    return ClassTarget(
        codes=codes if rows is None else codes[rows],
        classes=[classes for classes, _ in outputs],
        is_multi_output=len(columns) > 1,
    )


def _read_coded_labels(y: CodedLabels, n_rows: int, name: str) -> ClassTarget:
    """Read labels that are already encoded, all of which occur."""
    check_consistent_length(range(n_rows), y.codes)
    classes, places = read_labels(np.array(y.distinct, dtype=object), name, few=False)
    check_discrete(y.codes, name)
    _warn_of_one_class([classes], n_rows)
    return ClassTarget(places[y.codes][:, np.newaxis], [classes], is_multi_output=False)


def _warn_of_one_class(outputs: Sequence[AnyArray], n_rows: int) -> None:
    """Warn if there is only one class; for a single row that goes without saying."""
    if n_rows > 1 and all(len(classes) == 1 for classes in outputs):
        warn(
            f"y holds one class only, {shown(outputs[0].tolist()[0])}: every row will be predicted as that "
            "class.",
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
    columns = target_columns(
        y, n_rows, rows, multi_output=multi_output, estimator_name=estimator_name, name=name
    )
    outputs = [read_floats(column, _output_name(name, k, len(columns))) for k, column in enumerate(columns)]
    values = np.stack(outputs, axis=1)
    return RegressionTarget(values if rows is None else values[rows], is_multi_output=len(columns) > 1)


def in_classes_of(given: ClassTarget, fit: ClassTarget, *, name: str) -> ClassTarget:
    """Number the labels of further rows as the fit does; refuse a class that the fit does not know."""
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
    columns, is_one_dimensional = columns_of(sample_weight, "sample_weight")
    if not is_one_dimensional:
        raise ValueError(
            "Sample weights must be 1D array or scalar, one weight per row; "
            f"got two dimensions, shape ({len(columns[0]) if columns else 0}, {len(columns)})."
        )
    if len(columns[0]) != n_rows:
        raise ValueError(
            f"sample_weight.shape == ({len(columns[0])},), expected ({n_rows},): one weight per row of X."
        )
    weights = read_floats(columns[0], "sample_weight")
    negative = weights < 0
    if negative.any():
        row = int(np.argmax(negative))
        raise ValueError(
            f"Negative values in data passed to `sample_weight`: row {row} holds {weights[row]}. "
            "Weights count rows; give a row weight 0 to leave it out."
        )
    if not weights.any():
        raise ValueError("Sample weights must contain at least one non-zero number; all of them are 0.")
    return weights


def read_offset(
    offset: Any, n_rows: int, n_scores: int, *, rows: Rows | None = None, name: str = "offset"
) -> FloatArray | None:
    """Read offsets, the known part of each row's score: rows x scores, finite; None stays None."""
    if offset is None:
        return None
    columns, _ = columns_of(offset, name)
    if len(columns) != n_scores or len(columns[0]) != n_rows:
        wanted = f"{n_rows} number(s)" if n_scores == 1 else f"{n_rows} rows and {n_scores} columns"
        found = f"{len(columns[0]) if columns else 0} row(s) and {len(columns)} column(s)"
        raise ValueError(f"{name} must have {wanted}, one per row of X and score; got {found}.")
    numbers = np.stack([read_floats(column, name) for column in columns], axis=1)
    return numbers if rows is None else numbers[rows]


def read_groups(groups: Any, n_rows: int, *, rows: Rows | None = None) -> CodeArray:
    """Read which group each row belongs to, as codes from 0; labels of any kind, none missing."""
    columns, is_one_dimensional = columns_of(groups, "groups")
    if not is_one_dimensional:
        raise ValueError(f"groups must have one dimension, one label per row; got {len(columns)} columns.")
    if len(columns[0]) != n_rows:
        raise ValueError(f"groups has {len(columns[0])} entries, but X has {n_rows} rows.")
    column = columns[0] if rows is None else columns[0][rows]
    _, codes = read_labels(column, "groups", few=False)
    return codes


def _output_name(name: str, output: int, n_outputs: int) -> str:
    return name if n_outputs == 1 else f"{name}[:, {output}]"
