"""Sums that do not depend on the order of their terms: the order of rows must not change a result.

Floating-point numbers add up to different last bits in different orders. The core adds whole numbers, up to
2^-60 of the largest of them (cpp/base/sums.h).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core

__all__ = ["row_sums", "sum_in_any_order"]

FloatArray = npt.NDArray[np.float64]


def sum_in_any_order(values: FloatArray) -> Any:
    """Sum up along the first axis: a number, or one for each column."""
    if values.ndim == 1:
        return _core.sum_in_any_order(np.ascontiguousarray(values))
    return np.array([_core.sum_in_any_order(np.ascontiguousarray(column)) for column in values.T])


def row_sums(values: FloatArray, *, padded: bool = False) -> FloatArray:
    """Sum up each row such that it gets the same bits alone and among others.

    `padded` rows end in zeros, whose number depends on the other rows: they are added one number after the
    other, since numpy's order of additions depends on the length.
    """
    sums: FloatArray
    sums = np.cumsum(values, axis=1)[:, -1] if padded else np.ascontiguousarray(values).sum(axis=1)
    return sums
