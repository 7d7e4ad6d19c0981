"""Nearest neighbours the slow way: every distance by itself, feature after feature, then a stable sort."""

import math
from collections.abc import Callable, Sequence

import numpy as np

Row = Sequence[float]


def sum_of(contribution: Callable[[float, float], float]) -> Callable[[Row, Row], float]:
    """Add up what each feature contributes, in the order of the features."""

    def total(query: Row, point: Row) -> float:
        result = 0.0
        for q, x in zip(query, point, strict=True):
            result += contribution(q, x)
        return result

    return total


SUMS: dict[str, Callable[[Row, Row], float]] = {
    "euclidean": sum_of(lambda q, x: (q - x) * (q - x)),
    "manhattan": sum_of(lambda q, x: abs(q - x)),
    "chebyshev": lambda query, point: max(abs(q - x) for q, x in zip(query, point, strict=True)),
}


def gower(query: Row, point: Row, ranges: Sequence[float]) -> float:
    """Average over the features that both rows have: a share of the range, or whether categories differ."""
    parts = []
    for q, x, width in zip(query, point, ranges, strict=True):
        if math.isnan(q) or math.isnan(x):
            continue
        parts.append(min(1.0, abs(q - x) / width) if width > 0 else float(q != x))
    total = 0.0
    for part in parts:
        total += part
    return total / len(parts) if parts else 1.0


def nearest(
    points: np.ndarray, queries: np.ndarray, k: int, sum_between: Callable[[Row, Row], float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k nearest points of each query and their sums; ties by the number of the point."""
    rows, sums = [], []
    listed = points.astype(np.float64).tolist()
    for query in queries.astype(np.float64).tolist():
        all_sums = [sum_between(query, point) for point in listed]
        order = sorted(range(len(listed)), key=lambda i: (all_sums[i], i))[:k]
        rows.append(order)
        sums.append([all_sums[i] for i in order])
    return np.array(rows), np.array(sums)
