"""Arithmetic of scaling: sizes and costs in; fitted exponents, and whether they exceed n log n, out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

TOLERANCE = 0.08  # noise of a fitted exponent that is not yet a reason to look


@dataclass(frozen=True)
class Growth:
    """``overall`` is the exponent fitted to all points, ``tail`` to the larger half, free of fixed costs."""

    overall: float
    tail: float
    beyond_n_log_n: bool

    @property
    def per_doubling(self) -> float:
        """What twice the size costs, by the tail."""
        return float(2**self.tail)

    def words(self) -> str:
        flag = ", ABOVE n log n" if self.beyond_n_log_n else ""
        return f"n^{self.overall:.2f}, tail n^{self.tail:.2f}{flag}"


def fit_growth(sizes: Sequence[float], costs: Sequence[float]) -> Growth | None:
    """Fit cost = c size^exponent; None with fewer than two points or costs that are not positive."""
    if len(sizes) < 2 or min(costs) <= 0:
        return None
    tail = slice(-max(2, math.ceil(len(sizes) / 2)), None)
    # What is left after dividing by log n must not grow faster than n itself.
    without_log = [cost / math.log(max(size, math.e)) for size, cost in zip(sizes, costs, strict=True)]
    beyond = exponent(sizes[tail], without_log[tail]) > 1 + TOLERANCE
    return Growth(exponent(sizes, costs), exponent(sizes[tail], costs[tail]), beyond)


def exponent(sizes: Sequence[float], costs: Sequence[float]) -> float:
    """Slope of the least-squares line through the logarithms."""
    x, y = [math.log(size) for size in sizes], [math.log(cost) for cost in costs]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return covariance / sum((a - mean_x) ** 2 for a in x)
