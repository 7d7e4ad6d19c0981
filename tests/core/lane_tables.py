"""Tables for the lanes of growth, drawn at random, with limits and weights."""

import numpy as np
from hypothesis import strategies as st

from core.growing import grow, same_bits


@st.composite
def wide_tables(draw: st.DrawFn):
    """Enough features that a forest draws few of them, and rows for groups of several values."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([2, 30, 65, 120, 400, 1500]))
    columns = []
    for _ in range(draw(st.integers(3, 9))):
        column = rng.normal(size=n) ** draw(st.sampled_from([1, 3]))
        digits = draw(st.sampled_from([0, 1, 2, 9]))
        column = np.round(column, digits)
        if draw(st.booleans()):
            column[rng.random(n) < draw(st.sampled_from([0.1, 0.9]))] = -2.0
        columns.append(column)
    signal = columns[0] + columns[1] * columns[2] + draw(st.sampled_from([0.1, 3.0])) * rng.normal(size=n)
    y = (signal > np.quantile(signal, draw(st.sampled_from([0.02, 0.5, 0.8])))).astype(int)
    times = 1 + rng.poisson(0.6, size=n) if draw(st.booleans()) else None
    return columns, y, times, draw(st.integers(1, len(columns) // 3))


# How large a branch must be: rows, each once, and their weight.
least_branches = st.fixed_dictionaries(
    {
        "min_samples_leaf": st.sampled_from([1, 1, 2, 5, 40]),
        "min_weight_leaf": st.sampled_from([0.0, 0.0, 1.7, 9.0]),
    }
)


def blocks_change_nothing(data, y, weights, **options):
    with_blocks, without = (
        grow(data, y, weights, n_classes=2, grows_blocks=grows, **options) for grows in (True, False)
    )
    return same_bits(with_blocks, without)


def of_more_classes(rng: np.random.Generator, y: np.ndarray, n_classes: int) -> np.ndarray:
    """The two classes become the first and the last, with rows of all of them in between."""
    return np.where(rng.random(len(y)) < 0.7, y * (n_classes - 1), rng.integers(0, n_classes, len(y)))


def weights_of(rng: np.random.Generator, y: np.ndarray, kind: str) -> np.ndarray:
    if kind == "by class":
        apart = rng.choice([0.4, 2.7, 1e3, 3e6])  # blocks count the rows of classes up to a million apart
        return np.geomspace(1.0, apart, y.max() + 1)[y]
    if kind == "few":
        return rng.integers(1, 4, size=len(y)).astype(float)
    return np.exp(rng.normal(size=len(y)) * (3 if kind == "far apart" else 1))


kinds_of_weights = st.sampled_from(["by class", "few", "any", "far apart"])


@st.composite
def narrow_tables(draw: st.DrawFn) -> tuple[list[np.ndarray], np.ndarray, np.ndarray | None, int]:
    """Columns of float32 with ties, constants, infinities and zeros of either sign, for two classes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.sampled_from([1, 2, 3, 15, 16, 17, 33, 100, 700]))
    columns = []
    for _ in range(draw(st.sampled_from([1, 2, 3, 5, 9, 70]))):
        column = rng.normal(size=n) * draw(st.sampled_from([1.0, 1e-40, 1e38]))
        column = np.round(column, draw(st.sampled_from([0, 1, 45]))).clip(-3e38, 3e38).astype(np.float32)
        special = draw(st.sampled_from([np.nan, -0.0, np.inf, -np.inf, 2.0]))
        if not np.isnan(special):
            column[rng.random(n) < draw(st.sampled_from([0.1, 0.9, 1.0]))] = special
        columns.append(column)
    y = (rng.random(n) < draw(st.sampled_from([0.02, 0.5]))).astype(int)
    weights = np.full(n, draw(st.sampled_from([0.1, 3.0]))) if draw(st.booleans()) else None
    return columns, y, weights, draw(st.integers(1, len(columns)))
