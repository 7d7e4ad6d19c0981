"""Targets that cannot be squared: numbers beyond 2^400 or below 2^-400 are measured in a power of two.

Sums of squares of such targets would be infinite or 0, so that all comparisons would tie. Dividing by a power
of two changes no digit. Squares that are shown (errors, impurities, gains) are in units of y squared where
float64 can hold them, otherwise in a power of two.
"""

import numpy as np
import numpy.typing as npt

__all__ = ["square_of_unit", "unit_of", "units_of_rows"]

_USUAL_EXPONENT = 400
_LARGEST_TOLD = 2.0**900


def unit_of(values: npt.NDArray[np.float64], usual: int = _USUAL_EXPONENT) -> float:
    """Return 1 or, if the largest of some numbers is too far from 1, the power of two next to it.

    `usual` is the largest exponent that needs no scaling: smaller if squares are squared again.
    """
    largest = float(np.abs(values).max()) if values.size else 0.0
    exponent = int(np.frexp(largest)[1])
    return 1.0 if largest == 0 or abs(exponent) <= usual else float(np.ldexp(1.0, exponent - 1))


def units_of_rows(values: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return the unit of each row of numbers, the rows being the last axis, which is kept with length 1."""
    largest = np.abs(values).max(axis=-1, keepdims=True, initial=0.0)
    exponent = np.frexp(largest)[1]
    is_usual = (largest == 0) | (np.abs(exponent) <= _USUAL_EXPONENT)
    return np.where(is_usual, 1.0, np.ldexp(1.0, exponent - 1))


def square_of_unit(unit: float) -> float:
    """Return the square of a unit, or the nearest number in which sums of squares can be shown."""
    return min(max(float(unit) * float(unit), 1 / _LARGEST_TOLD), _LARGEST_TOLD)
