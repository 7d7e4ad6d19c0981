"""The criteria, each as a plain function of the rows of one branch.

In:  the targets y (class codes or numbers) and the weights w of the rows that reach a branch.
Out: what the branch adds to the score of a split (larger is better), and its impurity (smaller is better).

`math.fsum` rounds a sum once, whatever the order of its terms, so the same rows give the same bits.
"""

import math
from typing import Literal

import numpy as np

Criterion = Literal["gini", "entropy", "accuracy", "squared_error", "poisson"]

CLASS_CRITERIA = ("gini", "entropy", "accuracy")


def class_weights(y: np.ndarray, w: np.ndarray) -> list[float]:
    """The weight of every class that is present."""
    return [math.fsum(w[y == k]) for k in range(int(y.max()) + 1) if np.any(y == k)]


def xlog2(x: float) -> float:
    return x * math.log2(x) if x > 0 else 0.0


def mean(y: np.ndarray, w: np.ndarray) -> float:
    """The weighted mean; for class codes 0 and 1 this is the share of class 1."""
    return math.fsum(w * y) / math.fsum(w)


def branch_score(criterion: Criterion, y: np.ndarray, w: np.ndarray) -> float:
    """What one branch adds to the score of a split: larger is better; constants of the node are left out."""
    weight = math.fsum(w)
    if criterion == "gini":
        return math.fsum(wk * wk for wk in class_weights(y, w)) / weight
    if criterion == "entropy":
        return math.fsum(xlog2(wk) for wk in class_weights(y, w)) - xlog2(weight)
    if criterion == "accuracy":
        return max(class_weights(y, w))
    total = math.fsum(w * y)
    if criterion == "squared_error":
        return total * total / weight
    return total * math.log(total / weight) if total > 0 else -math.inf  # poisson: a mean of 0 is refused


def impurity(criterion: Criterion, y: np.ndarray, w: np.ndarray) -> float:
    """The impurity of one node for one output, as scikit-learn shows it (entropy in bits)."""
    weight = math.fsum(w)
    if criterion in CLASS_CRITERIA:
        shares = [wk / weight for wk in class_weights(y, w)]
        if criterion == "gini":
            return math.fsum(p * (1 - p) for p in shares)
        if criterion == "entropy":
            return abs(math.fsum(xlog2(p) for p in shares))
        return 1 - max(shares)
    centre = mean(y, w)
    if criterion == "squared_error":
        return math.fsum(w * (y - centre) ** 2) / weight
    # Half the mean Poisson deviance; y - mean sums to 0, and 0 log 0 = 0.
    return math.fsum(wi * yi * math.log(yi / centre) for wi, yi in zip(w, y, strict=True) if yi > 0) / weight
