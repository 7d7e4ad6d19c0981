"""How much rows count. In: weights as they were given. Out: the weights that a fit computes with.

Three laws are enforced here for all estimators: a row of weight 0 is absent, weights that are all 1 are the
same as no weights, and weights may be as large as float64 allows. Sums and products of weights beyond 2^400
would overflow, so all of them are then divided by a power of two.
"""

import numpy as np
import numpy.typing as npt

from hornbeam.data.target import read_weights

__all__ = ["multiplied", "rows_that_count", "unequal", "weights_of_rows"]

FloatArray = npt.NDArray[np.float64]

_LARGEST_EXPONENT = 400  # of a weight: 2^400 times 2^400, and sums of many such products, are finite


def rows_that_count(
    sample_weight: object, n_rows: int
) -> tuple[npt.NDArray[np.int64] | None, FloatArray | None]:
    """Read sample weights; return the rows that have one, None being all, and their weights, None being 1."""
    weights = weights_of_rows(sample_weight, n_rows)
    rows = None
    if weights is not None and not weights.all():
        rows = np.flatnonzero(weights)
        weights = _unless_ones(weights[rows])
    return rows, weights


def weights_of_rows(sample_weight: object, n_rows: int) -> FloatArray | None:
    """Read the weight of each row, 0 included; None if all are 1."""
    weights = read_weights(sample_weight, n_rows)
    return None if weights is None else _unless_ones(_in_range(weights))


def multiplied(weights: FloatArray | None, factors: FloatArray | None) -> FloatArray | None:
    """Multiply weights by factors per row, those of classes; None is 1 for all rows."""
    if factors is None:
        return weights
    product = _in_range(factors) if weights is None else _in_range(_in_range(factors) * weights)
    if len(product) and not product.any():
        raise ValueError(
            "class_weight leaves no row with a weight above 0: give at least one class that occurs in y a "
            "factor above 0."
        )
    return product


def unequal(weights: FloatArray | None) -> FloatArray | None:
    """Return the weights, or None if all are equal: then no row counts more than another."""
    return None if weights is None or np.all(weights == weights[0]) else weights


def _unless_ones(weights: FloatArray) -> FloatArray | None:
    return None if np.all(weights == 1.0) else weights


def _in_range(weights: FloatArray) -> FloatArray:
    """Divide weights by a power of two if they are too large to be added up; no weight becomes 0."""
    exponent = int(np.frexp(weights.max())[1])
    if exponent <= _LARGEST_EXPONENT:
        return weights
    scaled: FloatArray = np.ldexp(weights, _LARGEST_EXPONENT - exponent)
    return np.where(weights > 0, np.maximum(scaled, np.finfo(np.float64).smallest_subnormal), 0.0)
