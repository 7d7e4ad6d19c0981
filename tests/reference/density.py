"""Density trees the slow and obvious way.

In:  rows of numbers with weights, a bounding box and the limits of growth.
Out: boxes, each with its share of the weight and its volume; split until no split lowers the error.
"""

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .splits import halfway

SLACK = 1e-12


@dataclass(frozen=True)
class Leaf:
    """A box with the rows in it."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    weight: float
    rows: int

    @property
    def volume(self) -> float:
        return math.prod(top - bottom for bottom, top in zip(self.low, self.high, strict=True))


def error(weight: float, volume: float, total: float) -> float:
    """What a box adds to the integrated squared error, up to a constant."""
    return -((weight / total) ** 2) / volume


def leaves_of(
    X: np.ndarray, w: np.ndarray, low: tuple[float, ...], high: tuple[float, ...], limits: dict[str, int]
) -> list[Leaf]:
    """All leaves, from left to right."""
    total = math.fsum(w)

    def grow(rows: np.ndarray, low: tuple[float, ...], high: tuple[float, ...], depth: int) -> list[Leaf]:
        leaf = Leaf(low, high, math.fsum(w[rows]), len(rows))
        best = None
        own = error(leaf.weight, leaf.volume, total)
        stop = limits["max_depth"] and depth >= limits["max_depth"]
        if not stop and len(rows) >= limits["min_samples_split"]:
            for j in range(X.shape[1]):
                values = np.unique(X[rows, j])
                for lower, upper in pairwise(values):
                    t = halfway(lower, upper)
                    left, right = rows[X[rows, j] <= t], rows[X[rows, j] > t]
                    if min(len(left), len(right)) < limits["min_samples_leaf"]:
                        continue
                    boxes = (replaced(high, j, t), replaced(low, j, t))
                    after = error(math.fsum(w[left]), volume(low, boxes[0]), total)
                    after += error(math.fsum(w[right]), volume(boxes[1], high), total)
                    if best is None or after < best[0] - SLACK * abs(best[0]):
                        best = (after, left, right, boxes)
        if best is None or best[0] >= own - SLACK * abs(own):
            return [leaf]
        _, left, right, (new_high, new_low) = best
        return grow(left, low, new_high, depth + 1) + grow(right, new_low, high, depth + 1)

    return grow(np.arange(len(X)), low, high, 0)


def replaced(values: tuple[float, ...], position: int, value: float) -> tuple[float, ...]:
    return (*values[:position], float(value), *values[position + 1 :])


def volume(low: tuple[float, ...], high: tuple[float, ...]) -> float:
    return math.prod(top - bottom for bottom, top in zip(low, high, strict=True))
