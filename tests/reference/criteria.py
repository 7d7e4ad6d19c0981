"""The criteria, each as a plain function of the rows of one branch.

In:  the targets y (class codes or numbers) and the weights w of the rows that reach a branch.
Out: what the branch adds to the score of a split (larger is better), and its impurity (smaller is better).

`math.fsum` rounds a sum once, whatever the order of its terms, so the same rows give the same bits.
"""

import math
from typing import Literal

import numpy as np
from scipy import stats

Criterion = Literal[
    "gini",
    "entropy",
    "accuracy",
    "gain_ratio",
    "chi2",
    "squared_error",
    "poisson",
    "f_test",
    "absolute_error",
]

CLASS_CRITERIA = ("gini", "entropy", "accuracy", "gain_ratio", "chi2")

# What a criterion with a second step shows; gain_ratio and f_test also compare the tests of a feature by it.
SHOWN: dict[Criterion, Criterion] = {"gain_ratio": "entropy", "chi2": "gini", "f_test": "squared_error"}


def class_weights(y: np.ndarray, w: np.ndarray) -> list[float]:
    """The weight of every class that is present."""
    return [math.fsum(w[y == k]) for k in range(int(y.max()) + 1) if np.any(y == k)]


def xlog2(x: float) -> float:
    return x * math.log2(x) if x > 0 else 0.0


def mean(y: np.ndarray, w: np.ndarray) -> float:
    """The weighted mean; for class codes 0 and 1 this is the share of class 1."""
    return math.fsum(w * y) / math.fsum(w)


def median(y: np.ndarray, w: np.ndarray) -> float:
    """The least number with half of the weight up to it; if it is exactly half, halfway to the next."""
    order = np.argsort(y, kind="stable")
    up_to = 0.0
    for i, place in enumerate(order):
        up_to += w[place]
        half = math.fsum(w) / 2
        if math.isclose(up_to, half, rel_tol=1e-12):
            return (y[place] + y[order[i + 1]]) / 2
        if up_to > half:
            return float(y[place])
    raise AssertionError("no weight")


def absolute_error(y: np.ndarray, w: np.ndarray) -> float:
    """The sum of the weighted distances from the median."""
    return math.fsum(w * np.abs(y - median(y, w)))


def branch_score(criterion: Criterion, y: np.ndarray, w: np.ndarray) -> float:
    """What one branch adds to the score of a split: larger is better; constants of the node are left out.

    Not for chi2, whose score needs the whole table (`chi2_score`).
    """
    criterion = SHOWN.get(criterion, criterion)
    weight = math.fsum(w)
    if criterion == "gini":
        return math.fsum(wk * wk for wk in class_weights(y, w)) / weight
    if criterion == "entropy":
        return math.fsum(xlog2(wk) for wk in class_weights(y, w)) - xlog2(weight)
    if criterion == "accuracy":
        return max(class_weights(y, w))
    if criterion == "absolute_error":
        return -absolute_error(y, w)
    total = math.fsum(w * y)
    if criterion == "squared_error":
        return total * total / weight
    return total * math.log(total / weight) if total > 0 else 0.0  # poisson


def impurity(criterion: Criterion, y: np.ndarray, w: np.ndarray) -> float:
    """The impurity of one node for one output, as scikit-learn shows it (entropy in bits)."""
    criterion = SHOWN.get(criterion, criterion)
    weight = math.fsum(w)
    if criterion in CLASS_CRITERIA:
        shares = [wk / weight for wk in class_weights(y, w)]
        if criterion == "gini":
            return math.fsum(p * (1 - p) for p in shares)
        if criterion == "entropy":
            return abs(math.fsum(xlog2(p) for p in shares))
        return 1 - max(shares)
    if criterion == "absolute_error":
        return absolute_error(y, w) / weight
    centre = mean(y, w)
    if criterion == "squared_error":
        return math.fsum(w * (y - centre) ** 2) / weight
    # Half the mean Poisson deviance; y - mean sums to 0, and 0 log 0 = 0.
    return math.fsum(wi * yi * math.log(yi / centre) for wi, yi in zip(w, y, strict=True) if yi > 0) / weight


# Second steps --------------------------------------------------------------------------------------


def chi2_score(branches: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """Pearson's statistic of the table of classes by branches, plus the weight of the node.

    A branch of weight b with n_bk of class k adds n_bk^2 n / (n_k b); of a single branch the sum is n.
    """
    y = np.concatenate([y for y, _ in branches])
    w = np.concatenate([w for _, w in branches])
    total = math.fsum(w)
    terms = []
    for k in sorted(set(y.tolist())):
        in_class = math.fsum(w[y == k])
        for yb, wb in branches:
            terms.append(math.fsum(wb[yb == k]) ** 2 * total / in_class / math.fsum(wb))
    return math.fsum(terms)


def chi2_log_p(statistic: float, n_branches: int, n_classes: int) -> float:
    """ln P of a statistic as large by chance."""
    return float(stats.chi2.logsf(max(statistic, 0.0), (n_branches - 1) * (n_classes - 1)))


def f_log_p(explained: float, total: float, n_branches: int, weight: float) -> float:
    """ln P of the F statistic of the means of the branches; weights are counts."""
    within = weight - n_branches
    if within <= 0:
        return 0.0
    unexplained = min(max(1 - explained / total, 2.0**-40), 1.0)
    f = (1 - unexplained) / unexplained * within / (n_branches - 1)
    return float(stats.f.logsf(f, n_branches - 1, within))


def split_information(weights: list[float]) -> float:
    """Weight times the entropy, in bits, of the branch sizes."""
    total = math.fsum(weights)
    return math.fsum(w * math.log2(total / w) for w in weights)
