"""Small adversarial data sets for property tests, as hypothesis strategies.

In:  which kinds of column, target and weights a test can use.
Out: a `Table`: what `naive.grow` takes, with columns chosen to hurt: ties, constants, copies and mirror
     images of other columns, all-missing columns, huge and denormal numbers, infinities, neighbouring
     floats, negative zeros. Targets and weights stay moderate: the oracle's plain floats must not overflow.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from hypothesis import strategies as st

Target = Literal["classes", "numbers", "counts"]
WeightKind = Literal["none", "integers", "with_zeros", "powers_of_two", "floats"]

TARGETS: tuple[Target, ...] = ("classes", "numbers", "counts")
WEIGHT_KINDS: tuple[WeightKind, ...] = ("none", "integers", "with_zeros", "powers_of_two", "floats")
NUMERIC_KINDS = ("few", "many", "constant", "huge", "tiny", "infinite", "ulps", "zeros", "all_missing")
MAX_CATEGORIES = 8  # beyond this the oracle has no rule for more than two classes


@dataclass(frozen=True)
class Table:
    """Columns, target and weights of one data set; `n_classes` is None for numbers."""

    columns: list[np.ndarray]
    y: np.ndarray
    weights: np.ndarray | None
    n_classes: int | None


def neighbours(value: float) -> list[float]:
    """A value and the two floats next to it."""
    return [math.nextafter(value, -math.inf), value, math.nextafter(value, math.inf)]


def known_values(kind: str) -> st.SearchStrategy[float]:
    """Values of one numeric column of the given kind."""
    tiny = 5e-324
    fixed: dict[str, Sequence[float]] = {
        "few": [-1.0, 0.0, 0.5, 2.0],
        "constant": [3.25],
        "huge": [-1.7976931348623157e308, -1e300, -1.0, 1e300, 1.5e308, 1.7976931348623157e308],
        "tiny": [-tiny, 0.0, tiny, 2 * tiny, 3 * tiny, 2.2250738585072014e-308],
        "infinite": [-math.inf, -1.7976931348623157e308, 0.0, 1.0, 1.7976931348623157e308, math.inf],
        "ulps": [*neighbours(1.0), *neighbours(0.1), *neighbours(-16777216.0)],
        "zeros": [-0.0, 0.0, 1.0],
        "all_missing": [math.nan],
    }
    if kind in fixed:
        return st.sampled_from(list(fixed[kind]))
    return st.floats(allow_nan=False)


@st.composite
def numeric_columns(draw: st.DrawFn, rows: int, missing: bool) -> np.ndarray:
    kinds = [kind for kind in NUMERIC_KINDS if missing or kind != "all_missing"]
    values = known_values(draw(st.sampled_from(kinds)))
    if missing and draw(st.booleans()):
        values = st.one_of(values, values, values, st.just(math.nan))
    return np.array(draw(st.lists(values, min_size=rows, max_size=rows)), dtype=float)


@st.composite
def categorical_columns(draw: st.DrawFn, rows: int, missing: bool, max_categories: int) -> np.ndarray:
    lowest = -1 if missing and draw(st.booleans()) else 0
    highest = draw(st.integers(0, max_categories - 1))
    return np.array(
        draw(st.lists(st.integers(lowest, highest), min_size=rows, max_size=rows)), dtype=np.int64
    )


@st.composite
def derived_columns(draw: st.DrawFn, earlier: list[np.ndarray]) -> np.ndarray:
    """A copy of an earlier column, or its mirror image: the same partitions under another name."""
    source = draw(st.sampled_from(earlier))
    if draw(st.booleans()):
        return source.copy()
    if np.issubdtype(source.dtype, np.integer):
        return np.where(source == -1, -1, source.max() - source)
    return -source


@st.composite
def targets(draw: st.DrawFn, rows: int, kind: Target, n_classes: int) -> np.ndarray:
    """Class codes, numbers, or counts (not negative, at least one positive)."""
    elements: st.SearchStrategy[Any]
    if kind == "classes":
        elements = st.integers(0, n_classes - 1)
    elif kind == "counts":
        elements = st.integers(0, 5)
    else:
        elements = draw(
            st.sampled_from(
                [
                    st.sampled_from([-1.0, 0.0, 2.5]),
                    st.integers(-(10**6), 10**6).map(lambda i: i / 1000),
                    st.just(0.7),
                ]
            )
        )
    y = np.array(draw(st.lists(elements, min_size=rows, max_size=rows)))
    if kind == "classes":
        return y.astype(np.int64)
    if kind == "counts" and not y.any():
        y[0] = 1
    return y.astype(float)


@st.composite
def weight_vectors(draw: st.DrawFn, rows: int, kinds: Sequence[WeightKind]) -> np.ndarray | None:
    """None, or weights of which at least one (the first) is positive."""
    kind = draw(st.sampled_from(list(kinds)))
    elements: dict[str, st.SearchStrategy[float]] = {
        "integers": st.integers(1, 5).map(float),
        "with_zeros": st.integers(0, 2).map(float),
        "powers_of_two": st.integers(-8, 8).map(lambda i: 2.0**i),
        "floats": st.floats(1e-3, 1e3),
    }
    if kind == "none":
        return None
    weights = np.array(draw(st.lists(elements[kind], min_size=rows, max_size=rows)))
    weights[0] = weights[0] or 1.0
    return weights


@st.composite
def tables(
    draw: st.DrawFn,
    target: Target | None = None,
    *,
    max_rows: int = 40,
    max_columns: int = 5,
    max_classes: int = 4,
    numeric: bool = True,
    categorical: bool = True,
    missing: bool = True,
    weights: Sequence[WeightKind] = WEIGHT_KINDS,
) -> Table:
    """One data set of 1 to `max_rows` rows and 1 to `max_columns` columns; any target unless one is named."""
    rows = draw(st.integers(1, max_rows))
    kind = target if target is not None else draw(st.sampled_from(TARGETS))
    n_classes = draw(st.integers(2, max_classes)) if kind == "classes" else None
    columns: list[np.ndarray] = []
    for _ in range(draw(st.integers(1, max_columns))):
        sources: list[st.SearchStrategy[np.ndarray]] = []
        if numeric:
            sources.append(numeric_columns(rows, missing))
        if categorical:
            sources.append(categorical_columns(rows, missing, MAX_CATEGORIES))
        if columns:
            sources.append(derived_columns(columns))
        columns.append(draw(st.one_of(sources)))
    y = draw(targets(rows, kind, n_classes or 0))
    weight = draw(weight_vectors(rows, weights))
    if kind == "counts" and weight is not None and not np.any(y * weight):
        weight[np.flatnonzero(y)[0]] = 1.0  # the mean of counts must be positive
    return Table(columns, y, weight, n_classes)
