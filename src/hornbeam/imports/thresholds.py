"""Comparisons of numbers that were rounded to single precision, as comparisons of the numbers themselves.

Many libraries round a number to float32 before they compare it. Rounding keeps the order, so for each such
test there is a float64 that parts all numbers in the same way: the largest that is rounded to `threshold` or
less. It lies halfway to the next float32, where ties are rounded to the even one of the two.
"""

import numpy as np
import numpy.typing as npt

__all__ = ["below_single", "up_to_single"]

FloatArray = npt.NDArray[np.float64]


def up_to_single(thresholds: npt.ArrayLike) -> FloatArray:
    """Return t' with: x <= t' if and only if float32(x) <= t, for every number x."""
    wanted = np.asarray(thresholds, dtype=np.float64)
    with np.errstate(over="ignore"):
        near = wanted.astype(np.float32)
        low = np.where(near.astype(np.float64) <= wanted, near, np.nextafter(near, np.float32(-np.inf)))
        low = low.astype(np.float32)
        high = np.nextafter(low, np.float32(np.inf))
    step = np.float64(2.0**104)  # between the two largest float32
    largest = float(np.finfo(np.float32).max)
    low64 = np.where(np.isneginf(low), -largest - step, low.astype(np.float64))
    high64 = np.where(np.isposinf(high), largest + step, high.astype(np.float64))
    middle = low64 / 2 + high64 / 2
    # Half of the smallest numbers would be lost by halving them first; their sum is exact.
    small = np.abs(low64) < 1
    middle = np.where(small, (np.where(small, low64, 0) + np.where(small, high64, 0)) / 2, middle)
    is_even = (low.view(np.uint32) & 1) == 0
    bounds = np.where(is_even, middle, np.nextafter(middle, -np.inf))
    return np.where(np.isposinf(low), np.inf, bounds)


def below_single(thresholds: npt.ArrayLike) -> FloatArray:
    """Return t' with: x <= t' if and only if float32(x) < float32(t), for every number x."""
    single = np.asarray(thresholds, dtype=np.float32)
    with np.errstate(over="ignore"):
        return up_to_single(np.nextafter(single, np.float32(-np.inf)).astype(np.float64))
