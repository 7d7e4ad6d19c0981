"""The answers of a stack's members as columns: put side by side, named, and compared with each other."""

from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import numpy.typing as npt
from scipy import sparse

from hornbeam._optional import require
from hornbeam.data.pass_on import is_frame
from hornbeam.data.units import unit_of
from hornbeam.recipes.stack import Member, Method, Stacked

__all__ = [
    "among",
    "answers_by_name",
    "column_names",
    "columns_of_levels",
    "correlations",
    "in_units",
    "side_by_side",
]

FloatArray = npt.NDArray[np.float64]
RowArray = npt.NDArray[np.intp]


def side_by_side(
    X: Any,
    members: Sequence[Member],
    answers: Sequence[FloatArray],
    *,
    classes: npt.NDArray[Any] | None,
    passthrough: bool,
) -> Any:
    """Put answers side by side, and X with `passthrough`: what the next level sees.

    For two classes the second probability is enough.
    """
    columns = [_informative(member.method, found) for member, found in zip(members, answers, strict=True)]
    stacked = np.hstack(columns)
    if not passthrough:
        return stacked
    if sparse.issparse(X):
        return sparse.hstack([stacked, X], format="csr")
    if is_frame(X):
        names = [
            name
            for member, found in zip(members, columns, strict=True)
            for name in column_names(member.name, found.shape[1], classes)
        ]
        return _before_columns(names, stacked, X)
    return np.hstack([stacked, np.asarray(X)])


def _before_columns(names: Sequence[str], stacked: FloatArray, X: Any) -> Any:
    """Put answers before the columns of a data frame, in a frame of the same library."""
    frame: Any = nw.from_native(X, eager_only=True)
    taken = [name for name in names if name in frame.columns]
    if taken:
        raise ValueError(
            f"passthrough=True puts the answers of {taken[0]!r} beside a column of X of that name. Rename "
            "the member or the column."
        )
    if hasattr(X, "iloc"):  # since pandas aligns by the index
        pandas = require("pandas", purpose="Passing a data frame through")
        return pandas.concat([pandas.DataFrame(stacked, columns=list(names), index=X.index), X], axis=1)
    answers = [
        nw.new_series(name, np.ascontiguousarray(values), backend=frame.implementation)
        for name, values in zip(names, stacked.T, strict=True)
    ]
    return frame.with_columns(*answers).select(*names, *frame.columns).to_native()


def _informative(method: Method, answers: FloatArray) -> FloatArray:
    return answers[:, 1:] if method == "predict_proba" and answers.shape[1] == 2 else answers


def in_units(features: Any, unit: float) -> Any:
    """Divide the result of `side_by_side` by a unit; None if columns of X would then be too far from 1."""
    with np.errstate(over="ignore", under="ignore"):
        if isinstance(features, np.ndarray) or sparse.issparse(features):
            counted = features / unit
            values = [counted.data if sparse.issparse(features) else counted]
        else:
            frame: Any = nw.from_native(features, eager_only=True)
            divided = frame.with_columns(nw.selectors.numeric() / unit)
            values = [column.to_numpy() for column in divided.select(nw.selectors.numeric()).iter_columns()]
            counted = divided.to_native()
    numbers = [one.astype(np.float64) for one in values]
    is_far = any(not np.isfinite(one).all() or unit_of(one) > 1.0 for one in numbers)
    return None if is_far else counted


def columns_of_levels(stack: Any, classes: npt.NDArray[Any] | None) -> list[list[str]]:
    """Name the columns that each level sees, and finally the final estimator."""
    of_table = list(getattr(stack, "feature_names_in_", [f"x{j}" for j in range(stack.n_features_in_)]))
    columns, methods = [of_table], iter(stack.stack_method_.items())
    for level in stack.estimators_:
        answers: list[str] = []
        for name, method in [next(methods) for _ in level]:
            several = classes is not None and len(classes) > 2 and method != "predict"
            answers += column_names(name, len(classes) if several and classes is not None else 1, classes)
        columns.append(answers + (of_table if stack.passthrough else []))
    return columns


def column_names(name: str, n_columns: int, classes: npt.NDArray[Any] | None) -> list[str]:
    """Name the columns of one member: after itself, or after itself and each class."""
    if n_columns == 1 or classes is None:
        return [name]
    return [f"{name}_{label}" for label in classes]


def answers_by_name(levels: Sequence[Sequence[Member]], stacked: Stacked) -> dict[str, FloatArray]:
    """Find the answers of all levels by the names of the members."""
    return {
        member.name: answers
        for members, level in zip(levels, stacked.levels, strict=True)
        for member, answers in zip(members, level.answers, strict=True)
    }


def among(answers: FloatArray, n_given: int, rows: RowArray | None) -> FloatArray:
    """Put the answers to some rows among all rows given."""
    if rows is None:
        return answers
    result = np.full((n_given, answers.shape[1]), np.nan)
    result[rows] = answers
    return result


def correlations(answers: Mapping[str, FloatArray], classes: npt.NDArray[Any] | None) -> FloatArray:
    """Correlate the answers of members with each other: over the rows that both have answered."""
    by_member = [_for_correlation(found, classes) for found in answers.values()]
    table = np.eye(len(by_member))
    for i, one in enumerate(by_member):
        for j, other in enumerate(by_member):
            if i != j:
                table[i, j] = _correlation(one, other)
    return table


def _for_correlation(answers: FloatArray, classes: npt.NDArray[Any] | None) -> FloatArray:
    """Give every member the same columns: one, or one per class."""
    if classes is None or answers.shape[1] > 1:
        return answers[:, 1:] if answers.shape[1] == 2 else answers
    if len(classes) == 2:
        return answers
    votes: FloatArray = np.where(np.isnan(answers), np.nan, answers == np.arange(len(classes)))
    return votes


def _correlation(one: FloatArray, other: FloatArray) -> float:
    both = ~np.isnan(one).any(axis=1) & ~np.isnan(other).any(axis=1)
    if not both.any():
        return float("nan")
    counted = (values[both] / unit_of(values[both]) for values in (one, other))
    a, b = (values - values.mean(axis=0) for values in counted)
    size = float(np.sqrt((a * a).sum() * (b * b).sum()))
    return float((a * b).sum() / size) if size > 0 else float("nan")
