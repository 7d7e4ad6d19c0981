"""Sums that do not depend on the order of what is added: the order of rows must not change a result.

Floating-point numbers add up to different last bits in different orders. Here each is written as two whole
numbers of 30 bits, counted in units of the largest; whole numbers add up exactly. What is lost is below
2^-60 of the largest number, for each of them.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["row_sums", "sum_in_any_order"]

_BITS = 30


def sum_in_any_order(values: npt.NDArray[np.float64]) -> Any:
    """Sum up along the first axis: a number, or one for each column."""
    largest = np.abs(values).max(axis=0, initial=0.0)
    if not np.isfinite(largest).all():
        return values.sum(axis=0)
    exponent = np.frexp(largest)[1]
    up = _BITS - exponent
    scaled = np.ldexp(values, up) if np.any(up > 1000) else values * np.ldexp(1.0, up)  # the quick way
    high = np.rint(scaled)
    scaled -= high
    scaled *= 2.0**_BITS
    sums = [_whole_sum(part) for part in (high, np.rint(scaled, out=scaled))]
    return np.ldexp(sums[0] + np.ldexp(sums[1], -_BITS), exponent - _BITS)


def row_sums(values: npt.NDArray[np.float64], *, padded: bool = False) -> npt.NDArray[np.float64]:
    """Sum up each row to the bits that it has alone.

    `padded` rows end in zeros, more or fewer as the others need room: they are added one number after the
    other, for numpy puts numbers together by how many there are.
    """
    sums: npt.NDArray[np.float64]
    sums = np.cumsum(values, axis=1)[:, -1] if padded else np.ascontiguousarray(values).sum(axis=1)
    return sums


def _whole_sum(values: npt.NDArray[np.float64]) -> Any:
    """Sum up whole numbers of at most 30 bits: exact in 53 bits while there are not too many."""
    if len(values) <= 2 ** (53 - _BITS):
        return values.sum(axis=0)
    return values.astype(np.int64).sum(axis=0).astype(np.float64)
