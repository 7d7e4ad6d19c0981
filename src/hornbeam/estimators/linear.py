"""The linear model to compare trees with. In: any table. Out: a matrix for a linear model.

`Design` fills gaps with the median and marks them in a column of their own, gives numbers mean 0 and standard
deviation 1, and makes a column of each of the more frequent categories. The models behind it are
scikit-learn's: logistic regression for classes, ridge regression for numbers.
"""

from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from hornbeam.data.encode import core_column
from hornbeam.data.sources import open_source
from hornbeam.data.table import Column, Schema, Table, read_columns, read_table_as
from hornbeam.data.task import Task

__all__ = ["Design", "Scale", "linear_model"]

FloatArray = npt.NDArray[np.float64]

# Categories beyond the most frequent ones have no column of their own.
_MOST_CATEGORIES = 100


def linear_model(task: Task) -> Any:
    """Return a pipeline that fits a linear model to any table."""
    from sklearn.linear_model import LogisticRegression, Ridge  # noqa: PLC0415
    from sklearn.pipeline import make_pipeline  # noqa: PLC0415

    model = LogisticRegression(max_iter=1000) if task == "classification" else Ridge()
    return make_pipeline(Design(), model)


class Design(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turns a table into a matrix for linear models."""

    reads_tables: ClassVar[bool] = True

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn medians, scales and categories."""
        source = open_source(X, type(self).__name__)
        table = read_columns(source, categorical_features="from_dtype")
        scales = [Scale.of(_numbers(column)) for column in table.columns if _is_number(column)]
        kept = [_frequent(column) for column in table.columns if not _is_number(column)]
        self.set_learned(table.schema, scales, kept)
        return self

    def set_learned(
        self, schema: Schema, numbers: "list[Scale]", categories: list[npt.NDArray[np.int64]]
    ) -> None:
        """Set the result of a fit, or of a model file: scales of numbers, codes of frequent categories."""
        self.schema_ = schema
        self.numbers_ = numbers
        self.categories_ = categories
        self.n_features_in_ = len(schema.given_names)
        if schema.names_given:
            self.feature_names_in_ = np.array(schema.given_names, dtype=object)

    @property
    def n_features_out_(self) -> int:
        """Number of columns of the matrix."""
        return sum(1 + scale.has_gaps for scale in self.numbers_) + sum(map(len, self.categories_))

    def columns_out(self) -> list[str]:
        """Say what each column of the matrix stands for."""
        numbers, indicators = [], []
        scales, kept = iter(self.numbers_), iter(self.categories_)
        schema = self.schema_
        for name, kind, categories in zip(schema.names, schema.kinds, schema.categories, strict=True):
            if kind == "categorical":
                indicators += [f"{name} = {(categories or ())[code]}" for code in next(kept)]
            else:
                numbers += [name, f"{name} is missing"][: 1 + next(scales).has_gaps]
        return [*numbers, *indicators]

    def transform(self, X: Any) -> Any:
        """Return the matrix: dense, or sparse where there are categories."""
        check_is_fitted(self)
        table = read_table_as(X, self.schema_, estimator_name=type(self).__name__)
        numeric = [_numbers(column) for column in table.columns if _is_number(column)]
        blocks: list[Any] = [
            scale.apply(values) for scale, values in zip(self.numbers_, numeric, strict=True)
        ]
        dense = np.column_stack(blocks) if blocks else np.zeros((table.n_rows, 0))
        indicators = self._indicators(table)
        return dense if not indicators else sparse.hstack([sparse.csr_array(dense), *indicators]).tocsr()

    def _indicators(self, table: Table) -> list[Any]:
        categorical = [column for column in table.columns if not _is_number(column)]
        return [
            sparse.csr_array((np.asarray(column.values)[:, np.newaxis] == kept).astype(np.float64))
            for column, kept in zip(categorical, self.categories_, strict=True)
        ]

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that any table is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


class Scale:
    """How a numeric column is filled and scaled."""

    def __init__(self, middle: float, mean: float, deviation: float, *, has_gaps: bool) -> None:
        self.middle, self.mean, self.deviation, self.has_gaps = middle, mean, deviation, has_gaps

    @classmethod
    def of(cls, values: FloatArray) -> "Scale":
        """Learn from the numbers of a column."""
        gaps = np.isnan(values)
        known = values[~gaps]
        if not len(known):
            return cls(0.0, 0.0, 1.0, has_gaps=False)
        filled = np.where(gaps, np.median(known), values)
        deviation = float(filled.std())
        return cls(float(np.median(known)), float(filled.mean()), deviation or 1.0, has_gaps=bool(gaps.any()))

    def apply(self, values: FloatArray) -> FloatArray:
        """Fill and scale; a second column marks missing values, if the fit met any."""
        gaps = np.isnan(values)
        scaled = (np.where(gaps, self.middle, values) - self.mean) / self.deviation
        return np.column_stack([scaled, gaps]) if self.has_gaps else scaled[:, np.newaxis]


def _is_number(column: Column) -> bool:
    return column.kind != "categorical"


def _numbers(column: Column) -> FloatArray:
    values = column.dense()
    return core_column(column.kind, values).astype(np.float64)


def _frequent(column: Column) -> npt.NDArray[np.int64]:
    codes = np.asarray(column.values)
    counts = np.bincount(codes[codes >= 0], minlength=len(column.categories or ()))
    return np.sort(np.argsort(-counts, kind="stable")[:_MOST_CATEGORIES])
