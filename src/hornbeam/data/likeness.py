"""Which columns of a table carry nearly the same information: groups whose members predict each other.

Numbers are compared by the correlation of their ranks; categories by Cramér's V, corrected for the number of
categories (Bergsma 2013); a number and categories by the share of the variance of its ranks that lies between
the categories, corrected likewise: its root. Each is between 0 and 1. Columns at least this much alike share
a group, and so do columns that are connected by others: no column outside a group is that much like one
inside.
"""

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components
from scipy.stats import rankdata

from hornbeam.data.table import Column, Table

__all__ = ["LIKE", "alike", "likeness"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Columns at least this much alike are named together.
LIKE = 0.9

# Likeness is judged on this many rows, and only if there are at most this many columns.
MOST_ROWS = 5_000
MOST_COLUMNS = 1_000


def alike(table: Table, limit: float = LIKE) -> tuple[tuple[int, ...], ...]:
    """Return the groups of two or more columns that carry nearly the same information, in order."""
    if table.n_rows < 3 or not 2 <= len(table.given_columns) <= MOST_COLUMNS:
        return ()
    _, group = connected_components(likeness(table) >= limit, directed=False)
    found = [tuple(np.flatnonzero(group == one).tolist()) for one in range(int(group.max()) + 1)]
    return tuple(sorted(one for one in found if len(one) > 1))


def likeness(table: Table) -> FloatArray:
    """Say how much columns are alike: columns x columns, from 0 to 1."""
    if table.n_rows > MOST_ROWS:
        table = table.take(np.linspace(0, table.n_rows - 1, MOST_ROWS).astype(np.int64))
    columns = table.given_columns
    n = len(columns)
    found = np.eye(n)
    numbers = [j for j, column in enumerate(columns) if column.kind != "categorical"]
    ranks = {j: _ranks(columns[j]) for j in numbers}
    if numbers:
        found[np.ix_(numbers, numbers)] = _rank_correlations(np.stack([ranks[j] for j in numbers]))
    codes = {j: _codes(columns[j]) for j in range(n) if j not in ranks}
    for j, own in codes.items():
        for k in range(n):
            if k in ranks:
                found[j, k] = found[k, j] = _share_between(ranks[k], own)
            elif k > j:
                found[j, k] = found[k, j] = _cramers_v(own, codes[k])
    return found


def _rank_correlations(ranks: FloatArray) -> FloatArray:
    centred = ranks - ranks.mean(axis=1, keepdims=True)
    size = np.sqrt(np.square(centred).sum(axis=1))
    scaled = centred / np.where(size > 0, size, 1)[:, np.newaxis]
    found: FloatArray = np.abs(scaled @ scaled.T)
    np.fill_diagonal(found, 1)
    return found


def _ranks(column: Column) -> FloatArray:
    """Rank values; missing ones get the middle rank, which does not affect the correlation."""
    values = column.dense()
    numbers = values.astype(np.float64)
    if column.kind == "ordinal":
        numbers = np.where(numbers < 0, np.nan, numbers)
    known = ~np.isnan(numbers)
    ranks: FloatArray = np.zeros(len(numbers))
    if known.any():
        ranks[known] = rankdata(numbers[known])
        ranks[~known] = ranks[known].mean()
    return ranks


def _codes(column: Column) -> IntArray:
    """Number the categories that occur, with missing as one of them."""
    values = column.dense()
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _share_between(ranks: FloatArray, codes: IntArray) -> float:
    n, k = len(ranks), int(codes.max()) + 1
    total = float(np.square(ranks - ranks.mean()).sum())
    if total == 0 or n <= k:
        return 0.0
    counts = np.bincount(codes)
    means = np.bincount(codes, weights=ranks) / counts
    within = float(np.square(ranks - means[codes]).sum())
    return float(np.sqrt(max(0.0, 1 - (within / (n - k)) / (total / (n - 1)))))


def _cramers_v(first: IntArray, second: IntArray) -> float:
    n, r, c = len(first), int(first.max()) + 1, int(second.max()) + 1
    if r < 2 or c < 2 or n < 3:
        return 0.0
    cells, counts = np.unique(first * c + second, return_counts=True)
    expected = np.bincount(first)[cells // c] * np.bincount(second)[cells % c] / n
    chi2 = float((np.square(counts) / expected).sum()) - n  # empty cells contribute their expected count
    phi2 = max(0.0, chi2 / n - (r - 1) * (c - 1) / (n - 1))
    size = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return float(np.sqrt(min(1.0, phi2 / size))) if size > 0 else 0.0
