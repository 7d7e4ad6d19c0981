"""How mixed a set of labels is, and what a test tells about them: textbook formulas.

A set is given by its counts per class, `hb.entropy([9, 5])`, or as it is, `hb.entropy(labels=y)`. A test is
given by the counts in each of its branches, `hb.information_gain([[3, 0], [2, 4]])`, or by the labels and the
answers of the test, `hb.information_gain(labels=y, by=X["weight"] < 2789)`. Weights may stand for counts.
"""

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

__all__ = [
    "chi_square",
    "conditional_entropy",
    "entropy",
    "gain_ratio",
    "gini",
    "information_gain",
    "misclassification",
    "split_impurity",
]

FloatArray = npt.NDArray[np.float64]
Measure = Literal["entropy", "gini", "misclassification"]


# --- A set of labels -------------------------------------------------------------------------------------


def entropy(counts: Any = None, *, labels: Any = None, base: float = 2.0) -> float:
    """Return the entropy of class counts, or of labels: bits with base 2, nats with base e."""
    return _entropy(_shares(_counts(counts, labels)), _log_of(base))


def gini(counts: Any = None, *, labels: Any = None) -> float:
    """Return the Gini impurity: how often a random row would get the label of another random row wrongly."""
    shares = _shares(_counts(counts, labels))
    return float((shares * (1 - shares)).sum())


def misclassification(counts: Any = None, *, labels: Any = None) -> float:
    """Return the share of rows that are not of the most frequent class."""
    return float(1 - _shares(_counts(counts, labels)).max())


# --- A test ----------------------------------------------------------------------------------------------


def conditional_entropy(
    branches: Any = None, *, labels: Any = None, by: Any = None, base: float = 2.0
) -> float:
    """Return the entropy left once a test is answered: that of its branches, averaged by their rows."""
    return split_impurity(branches, labels=labels, by=by, measure="entropy", base=base)


def information_gain(branches: Any = None, *, labels: Any = None, by: Any = None, base: float = 2.0) -> float:
    """Return by how much the answer to a test lowers the entropy of the labels."""
    table = _table(branches, labels, by)
    before = _entropy(_shares(table.sum(axis=0)), _log_of(base))
    return max(before - split_impurity(table, base=base), 0.0)


def gain_ratio(branches: Any = None, *, labels: Any = None, by: Any = None) -> float:
    """Return the information gain per bit of the answer itself, which penalises tests with many branches."""
    table = _table(branches, labels, by)
    of_the_answer = _entropy(_shares(table.sum(axis=1)), math.log(2))
    return information_gain(table) / of_the_answer if of_the_answer > 0 else 0.0


def split_impurity(
    branches: Any = None,
    *,
    labels: Any = None,
    by: Any = None,
    measure: Measure = "entropy",
    base: float = 2.0,
) -> float:
    """Return the impurity of the branches of a test, averaged by their rows."""
    log_of_base = _log_of(base)
    table = _table(branches, labels, by)
    if measure not in ("entropy", "gini", "misclassification"):
        raise ValueError(f"measure must be 'entropy', 'gini' or 'misclassification'; got {measure!r}.")
    impurities = {
        "entropy": lambda branch: _entropy(_shares(branch), log_of_base),
        "gini": gini,
        "misclassification": misclassification,
    }
    present = table[table.sum(axis=1) > 0]
    found = [float(impurities[measure](branch)) for branch in present]
    return float(np.average(found, weights=present.sum(axis=1)))


def chi_square(branches: Any = None, *, labels: Any = None, by: Any = None) -> float:
    """Return Pearson's statistic of branches by classes: how far the counts are from independence."""
    table = _table(branches, labels, by)
    table = table[table.sum(axis=1) > 0][:, table.sum(axis=0) > 0]
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return float(((table - expected) ** 2 / expected).sum())


# --- Reading ---------------------------------------------------------------------------------------------


def _entropy(shares: FloatArray, log_of_base: float) -> float:
    present = shares[shares > 0]
    return float(-(present * np.log(present)).sum() / log_of_base) + 0.0


def _log_of(base: float) -> float:
    if isinstance(base, bool) or not base > 1 or not math.isfinite(base):
        raise ValueError(f"base must be a number above 1, such as 2, 10 or math.e; got {base!r}.")
    return math.log(base)


def _shares(counts: FloatArray) -> FloatArray:
    shares: FloatArray = counts / counts.sum()
    return shares


def _counts(counts: Any, labels: Any) -> FloatArray:
    if (counts is None) == (labels is None):
        raise ValueError("Give the counts of the classes, such as [9, 5], or labels=y; one of the two.")
    if labels is not None:
        return np.unique(_column(labels, "labels"), return_counts=True)[1].astype(np.float64)
    found = np.asarray(list(counts.values()) if isinstance(counts, dict) else counts)
    if found.ndim != 1 or found.dtype.kind not in "buif":
        raise ValueError(
            "counts must be a list of numbers, one per class, such as [9, 5]; for the labels themselves say "
            "labels=y."
        )
    return _checked(found.astype(np.float64), "counts")


def _table(branches: Any, labels: Any, by: Any) -> FloatArray:
    """Return the counts of a test: branches x classes."""
    if branches is not None:
        if labels is not None or by is not None:
            raise ValueError("Give the branches of a test as counts, or labels and by; not both.")
        rows = [list(each.values()) if isinstance(each, dict) else list(each) for each in branches]
        if len({len(row) for row in rows}) != 1:
            raise ValueError(
                "branches must have the same classes: a list of counts for each, such as [[3, 0], [2, 4]]."
            )
        return _checked(np.array(rows, dtype=np.float64), "branches")
    if labels is None or by is None:
        raise ValueError(
            "Give the counts of each branch, such as [[3, 0], [2, 4]], or labels=y and by=the answers of the "
            "test."
        )
    classes, codes = np.unique(_column(labels, "labels"), return_inverse=True)
    answers, groups = np.unique(_column(by, "by"), return_inverse=True)
    if len(codes) != len(groups):
        raise ValueError(f"labels has {len(codes)} entries, but by has {len(groups)}.")
    table = np.zeros((len(answers), len(classes)))
    np.add.at(table, (groups, codes), 1.0)
    return table


def _column(values: Any, name: str) -> npt.NDArray[Any]:
    column = np.asarray(values)
    if column.ndim != 1 or not len(column):
        raise ValueError(f"{name} must be a column of one entry per row; got shape {column.shape}.")
    return column.astype(str) if column.dtype.kind == "O" else column


def _checked(counts: FloatArray, name: str) -> FloatArray:
    if not (np.isfinite(counts).all() and (counts >= 0).all() and counts.sum() > 0):
        raise ValueError(f"{name} must be numbers >= 0 that are not all 0; got {counts.tolist()}.")
    return counts
