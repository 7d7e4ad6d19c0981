"""Tests of one column: which ones exist in a node, and which way they send a value.

In:  the values of a column in a node (floats with NaN, or category codes with -1), y and weights.
Out: `Split`s in the order of the tie rule, still without a direction for missing values.
"""

import math
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .criteria import mean

LARGEST = sys.float_info.max
CLOSE_KEYS = 1e-9  # categories whose order another summation could turn round


@dataclass(frozen=True)
class Split:
    """A test; exactly one of `threshold` and `branch_of_code` is set. Branches may be empty."""

    feature: int
    missing_branch: int
    threshold: float | None = None
    branch_of_code: dict[int, int] | None = None
    n_branches: int = 2


def branches_of(split: Split, x: np.ndarray) -> np.ndarray:
    """The branch of every value of a column: the one routing rule, for growing and for prediction."""
    if split.threshold is not None:
        return np.where(np.isnan(x), split.missing_branch, np.where(x <= split.threshold, 0, 1))
    assert split.branch_of_code is not None
    return np.array([split.branch_of_code.get(int(code), split.missing_branch) for code in x], dtype=int)


def is_categorical(column: np.ndarray) -> bool:
    return bool(np.issubdtype(column.dtype, np.integer))


def is_missing(x: np.ndarray) -> np.ndarray:
    return x == -1 if is_categorical(x) else np.isnan(x)


def halfway(lo: float, hi: float) -> float:
    """A threshold t between two values, lo <= t < hi, finite whenever a finite one exists."""
    if lo == -math.inf and hi == math.inf:
        return 0.0
    if lo == -math.inf:
        return -LARGEST if hi > -LARGEST else lo
    if hi == math.inf:
        return LARGEST
    for t in ((lo + hi) / 2, lo / 2 + hi / 2):  # the second where the first overflows
        if lo <= t < hi:
            return t
    return lo


def numeric_tests(feature: int, x: np.ndarray) -> list[Split]:
    values = np.unique(x[~np.isnan(x)] + 0.0).tolist()  # + 0.0 turns -0.0 into 0.0
    return [Split(feature, missing_branch=0, threshold=halfway(lo, hi)) for lo, hi in pairwise(values)]


def group_test(feature: int, first: Iterable[int], present: Iterable[int], missing_branch: int = 0) -> Split:
    """Branch 0 holds the categories of `first`, branch 1 the other present ones."""
    first = set(first)
    return Split(feature, missing_branch, branch_of_code={c: 0 if c in first else 1 for c in present})


def masked(codes: list[int], mask: int) -> list[int]:
    return [code for i, code in enumerate(codes) if mask >> i & 1]


def subset_tests(feature: int, x: np.ndarray, y: np.ndarray, w: np.ndarray, n_classes: int) -> list[Split]:
    """Groups of categories: prefixes of the order by mean, or every group where there are many classes."""
    present = sorted({int(code) for code in x if code != -1})
    if n_classes > 2:
        if len(present) > 8:
            raise NotImplementedError("more than two classes and more than 8 categories in a node")
        # Bit i of a mask puts the i-th present category into branch 0; odd masks always put the first there.
        return [
            group_test(feature, masked(present, mask), present) for mask in range(1, 2 ** len(present) - 1, 2)
        ]
    order = sorted(present, key=lambda c: (mean(y[x == c], w[x == c]), c))
    return [group_test(feature, order[:size], present) for size in range(1, len(order))]


def shadow_tests(feature: int, x: np.ndarray, y: np.ndarray, w: np.ndarray, n_classes: int) -> list[Split]:
    """Groups that would be prefixes if nearly equal means stood in another order.

    Means of integer counts are exact in any implementation, so there the order is beyond doubt.
    """
    if n_classes > 2 or (n_classes == 2 and np.all(w == np.round(w))):
        return []
    present = sorted({int(code) for code in x if code != -1})
    means = {c: mean(y[x == c], w[x == c]) for c in present}
    slack = CLOSE_KEYS * float(np.abs(y).max())
    groups = set()
    for level in means.values():
        before = [c for c in present if means[c] < level - slack]
        alike = [c for c in present if abs(means[c] - level) <= slack]
        for mask in range(1, 2 ** len(alike) - 1):
            groups.add(frozenset(before + masked(alike, mask)))
    return [group_test(feature, group, present) for group in groups]
