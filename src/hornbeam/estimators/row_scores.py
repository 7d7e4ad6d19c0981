"""The scores of linear models, row by row: a row gets the same bits alone as among others.

They are final estimators and members of other models, alone or at the end of a pipeline.

scikit-learn multiplies matrices, in an order of additions that depends on the number of rows. Here the
columns are always added one after the other; everything else is scikit-learn's.
"""

import copy
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import validate_data

__all__ = ["scoring_row_by_row"]

_HALF = 540  # after division by 2^540, products of any numbers can be added up


def scoring_row_by_row(final: Any) -> Any:
    """Return a copy of a linear model, or of a pipeline that ends in one, that scores row by row.

    Other estimators are returned as they are.
    """
    kind = type(final)
    if isinstance(final, Pipeline):
        *before, (name, last) = final.steps
        by_row = scoring_row_by_row(last)
        if by_row is last:
            return final
        asked = copy.copy(final)
        asked.steps = [*before, (name, by_row)]
        return asked
    if not kind.__module__.startswith("sklearn.linear_model") or not hasattr(final, "coef_"):
        return final
    overrides = [each for each in (_ClassScores, _NumberScores) if hasattr(kind, each.replaces)]
    if not overrides:
        return final
    asked = copy.copy(final)
    asked.__class__ = type(kind.__name__, (*overrides, kind), {})
    return asked


class _ClassScores:
    """The decision function of a linear classifier, row by row."""

    replaces = "decision_function"

    def decision_function(self, X: Any) -> Any:
        return _scores(self, X, super().decision_function)  # type: ignore[misc]


class _NumberScores:
    """The predictions of a linear regressor, row by row."""

    replaces = "_decision_function"

    def _decision_function(self, X: Any) -> Any:
        return _scores(self, X, super()._decision_function)  # type: ignore[misc]


def _scores(model: Any, X: Any, by_product: Any) -> Any:
    X = validate_data(model, X, accept_sparse=["csr", "csc", "coo"], reset=False)
    weights = np.atleast_2d(model.coef_)
    if sparse.issparse(X) or weights.shape[1] != X.shape[1]:
        return by_product(X)
    total: npt.NDArray[Any] = np.zeros((len(X), len(weights)))
    with np.errstate(over="ignore", invalid="ignore"):
        for column, of_column in zip(X.T, weights.T, strict=True):
            total += column[:, np.newaxis] * of_column
        total += model.intercept_
    beyond = ~np.isfinite(total).all(axis=1)
    if beyond.any():
        total[beyond] = _within_numbers(X[beyond], weights, model.intercept_)
    return total[:, 0] if np.ndim(model.coef_) == 1 or len(weights) == 1 else total


def _within_numbers(X: Any, weights: npt.NDArray[Any], intercept: Any) -> npt.NDArray[Any]:
    """Add up rows whose products or sums overflow; a result that overflows becomes the largest number."""
    total = np.zeros((len(X), len(weights)))
    for column, of_column in zip(X.T, weights.T, strict=True):
        total += np.ldexp(column.astype(np.float64), -_HALF)[:, np.newaxis] * np.ldexp(of_column, -_HALF)
    total += np.ldexp(intercept, -2 * _HALF)
    largest = np.finfo(np.float64).max
    with np.errstate(over="ignore"):
        return np.clip(np.ldexp(total, 2 * _HALF), -largest, largest)
