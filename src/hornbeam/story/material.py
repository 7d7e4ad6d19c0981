"""What a story is made from: a model, its rows, and what of them goes onto the page.

In come a fitted model and the rows of its fit; out goes a `Material` with the columns as numbers, the target
as codes or numbers, the rows that the page shows, and the two columns that its pictures show.
"""

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.content import MISSING
from hornbeam.data.rows import Rows
from hornbeam.data.table import Column, Table, read_table
from hornbeam.data.wording import shown as in_words
from hornbeam.inside.words import named, printable

__all__ = ["Axis", "Material", "collect", "rounded"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

LONGEST_CATEGORY = 24
MOST_CATEGORIES = 40  # that an axis can name


@dataclass(frozen=True)
class Axis:
    """A column as a picture shows it: its name, where it begins and ends, and the names of its categories."""

    name: str
    low: float
    high: float
    categories: tuple[str, ...] | None

    def plain(self) -> dict[str, Any]:
        """Return it for the page."""
        return {"name": self.name, "low": self.low, "high": self.high, "categories": self.categories}


@dataclass(frozen=True, eq=False)
class Material:
    """A model and its rows.

    `values` has a column of numbers per column of the table: categories by their codes, NaN where a value is
    missing. `truth` holds codes into `labels`, or numbers where `labels` is None. `shown` are the rows that
    the page holds, `plane` the two columns of its pictures; there is one if the table has only one.
    """

    model: Any
    rows: Rows
    table: Table
    values: FloatArray
    truth: npt.NDArray[Any]
    labels: tuple[Any, ...] | None
    shown: IntArray
    plane: tuple[int, ...]
    validation: tuple[Any, Any]
    target_name: str
    seed: int

    @property
    def names(self) -> list[str]:
        """The names of the columns, fit to print."""
        return [named(column.name) for column in self.table.columns]

    def axis(self, column: int) -> Axis:
        """Say how a column is drawn."""
        known = self.values[:, column][~np.isnan(self.values[:, column])]
        categories = self.table.columns[column].categories
        if categories is not None:
            words = tuple(printable(each, LONGEST_CATEGORY) for each in categories[:MOST_CATEGORIES])
            return Axis(self.names[column], 0, max(len(categories) - 1, 1), words)
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
        return Axis(self.names[column], rounded(low), rounded(high if high > low else low + 1), None)

    def points(self, columns: Sequence[int]) -> list[list[float | None]]:
        """Return the values of the rows shown, a list per column; None where one is missing."""
        return [[rounded_or_none(value) for value in self.values[self.shown, j].tolist()] for j in columns]

    def target(self) -> list[Any]:
        """Return the targets of the rows shown: codes of classes, or numbers."""
        if self.labels is not None:
            return [int(code) for code in self.truth[self.shown]]
        return [rounded(value) for value in self.truth[self.shown].tolist()]

    def plain_labels(self) -> list[str] | None:
        """Name the classes."""
        return None if self.labels is None else [named(label) for label in self.labels]


def rounded(value: float, digits: int = 6) -> float:
    """Return a number as the page holds it."""
    return float(f"{value:.{digits}g}")


def rounded_or_none(value: float) -> float | None:
    """Return a number as the page holds it; None if it is none."""
    return rounded(value) if np.isfinite(value) else None


def collect(
    model: Any,
    X: Any,
    y: Any,
    *,
    columns: Sequence[Any] | None,
    validation: tuple[Any, Any],
    max_rows: int,
    target_name: str | None,
    seed: int,
) -> Material:
    """Check what is given and choose what is shown."""
    check_is_fitted(model)
    if isinstance(max_rows, bool) or not isinstance(max_rows, numbers.Integral) or max_rows < 10:
        raise ValueError(f"max_rows must be a whole number >= 10; got {max_rows!r}.")
    if (validation[0] is None) != (validation[1] is None):
        raise ValueError("Give both X_val and y_val, or neither.")
    rows = Rows(X)
    truth, labels = _target_of(model, y)
    if rows.n_rows != len(truth):
        raise ValueError(f"X has {rows.n_rows} rows, but y has {len(truth)}.")
    table = read_table(rows.dense().native, estimator_name="story")
    for column in table.columns:
        if column.part is not None:
            raise ValueError(
                f"Column {in_words(column.name)} is a date, which a story cannot show. Fit the model on "
                "numbers made of it, such as the month, or leave it out."
            )
    expected = getattr(model, "n_features_in_", len(table.columns))
    if len(table.columns) != expected:
        raise ValueError(f"X has {len(table.columns)} columns, but the model was fitted on {expected}.")
    values = np.column_stack([_numbers_of(column) for column in table.columns])
    generator = np.random.default_rng(seed)
    n = min(rows.n_rows, int(max_rows))
    return Material(
        model=model,
        rows=rows,
        table=table,
        values=values,
        truth=truth,
        labels=labels,
        shown=np.sort(generator.permutation(rows.n_rows)[:n]),
        plane=_plane(table, _importances(model, values, truth, labels), columns),
        validation=validation,
        target_name=target_name or str(getattr(y, "name", None) or "target"),
        seed=seed,
    )


def _target_of(model: Any, y: Any) -> tuple[npt.NDArray[Any], tuple[Any, ...] | None]:
    target = np.asarray(y)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim != 1:
        raise ValueError(f"story takes one target; y has shape {target.shape}.")
    if not len(target):
        raise ValueError("y is empty: there is nothing to tell.")
    if is_classifier(model):
        labels = tuple(np.asarray(model.classes_).tolist())
        codes = {label: code for code, label in enumerate(labels)}
        wrong = [row for row, label in enumerate(target.tolist()) if label not in codes]
        if wrong:
            raise ValueError(
                f"y, row {wrong[0]}: the model does not know the class "
                f"{in_words(target.tolist()[wrong[0]])}; "
                f"its classes are {', '.join(named(label) for label in labels[:8])}."
            )
        return np.array([codes[label] for label in target.tolist()], dtype=np.int64), labels
    if not is_regressor(model):
        raise TypeError(f"story takes classifiers and regressors; got {type(model).__name__}.")
    values = target.astype(np.float64)
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise ValueError(f"y, row {bad[0]}: the target is {values[bad[0]]}; leave such rows out.")
    return values, None


def _numbers_of(column: Column) -> FloatArray:
    values = column.dense()
    numbers_ = np.asarray(values, dtype=np.float64)
    if column.categories is None:
        return np.where(np.isfinite(numbers_), numbers_, np.nan)
    return np.where(np.asarray(values) == MISSING, np.nan, numbers_)


# --- Which two columns pictures show ---------------------------------------------------------------------


def _plane(table: Table, importances: FloatArray, columns: Sequence[Any] | None) -> tuple[int, ...]:
    if columns is not None:
        return _chosen(table, columns)
    if len(table.columns) <= 2:
        return tuple(range(len(table.columns)))
    order = np.argsort(-importances, kind="stable")[:2]
    return tuple(int(j) for j in order)


def _chosen(table: Table, columns: Sequence[Any]) -> tuple[int, ...]:
    names = [column.name for column in table.columns]
    if isinstance(columns, str) or len(columns) != 2:
        raise ValueError(f"columns must be two columns, by name or number; got {columns!r}.")
    found = []
    for each in columns:
        if isinstance(each, str) and each in names:
            found.append(names.index(each))
        elif isinstance(each, int | np.integer) and 0 <= each < len(names):
            found.append(int(each))
        else:
            raise ValueError(f"columns: X has no column {each!r}; it has {', '.join(map(repr, names[:12]))}.")
    if found[0] == found[1]:
        raise ValueError(f"columns must be two different columns; got {columns!r}.")
    return tuple(found)


def _importances(
    model: Any, values: FloatArray, truth: npt.NDArray[Any], labels: tuple[Any, ...] | None
) -> FloatArray:
    """Return what the model says of its columns or, if it says nothing, how much each tells of the target."""
    try:
        own = np.asarray(model.feature_importances_, dtype=np.float64)
    except (AttributeError, ValueError, TypeError):
        own = np.zeros(0)
    if len(own) == values.shape[1] and np.isfinite(own).all() and own.any():
        return own
    return np.array([_explained_share(values[:, j], truth, labels) for j in range(values.shape[1])])


def _explained_share(column: FloatArray, truth: npt.NDArray[Any], labels: tuple[Any, ...] | None) -> float:
    """Return the share of a column's variance between classes, or its squared correlation with numbers."""
    known = ~np.isnan(column)
    if known.sum() < 2:
        return 0.0
    x, y = column[known], truth[known]
    total = float(((x - x.mean()) ** 2).sum())
    if not total > 0:
        return 0.0
    if labels is None:
        spread = float(((y - y.mean()) ** 2).sum())
        return float(((x - x.mean()) * (y - y.mean())).sum() ** 2 / (total * spread)) if spread > 0 else 0.0
    between = sum(
        float((y == k).sum()) * float(x[y == k].mean() - x.mean()) ** 2 for k in np.unique(y).tolist()
    )
    return between / total
