"""Tables that nobody would make by hand: few rows, odd columns, odd targets, odd weights."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

ROW_COUNTS = [1, 2, 3, 4, 5, 6, 8, 10, 16, 17, 25, 31, 40, 63, 64, 65, 90, 130, 255, 256, 300, 1000, 3000]
FULL_RANGE = [-np.inf, -1.7e308, -1e155, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1e-310, 1.0, 1e155, 1e300, np.inf]


@dataclass(frozen=True)
class Table:
    """Rows to fit and rows to predict; `is_numeric` if the table holds no categories."""

    X: Any
    new: Any
    y: Any
    weights: Any
    groups: Any
    n_rows: int
    names: list[str]
    is_numeric: bool

    def rows(self, n: int) -> Any:
        """Return the first rows to predict."""
        return self.new.iloc[:n] if hasattr(self.new, "iloc") else self.new[:n]


def odd(array: np.ndarray) -> np.ndarray:
    """Copy an array to an address that one byte is too high, where its numbers may not be read."""
    if array.dtype.hasobject or array.dtype.itemsize == 1:
        return array
    order: Any = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    moved: np.ndarray = np.ndarray(
        array.shape, array.dtype, np.empty(array.nbytes + 1, np.uint8), offset=1, order=order
    )
    moved[...] = array
    return moved


def at_odd_addresses(table: Table) -> Table:
    """Move the arrays of a table; data frames stay as they are."""
    parts = {name: getattr(table, name) for name in ("X", "new", "y", "weights", "groups")}
    return replace(table, **{k: odd(v) for k, v in parts.items() if isinstance(v, np.ndarray)})


def random_numbers(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw one numeric column."""
    draws: dict[str, Callable[[], np.ndarray]] = {
        "normal": lambda: rng.normal(size=n),
        "constant": lambda: np.full(n, rng.choice([0.0, -3.5, 1e300, 5e-324])),
        "few": lambda: rng.choice([-1.0, 0.0, 2.0], size=n),
        "counts": lambda: rng.poisson(3, size=n).astype(float),
        "distinct": lambda: rng.permutation(n).astype(float),
        "edges": lambda: rng.choice(FULL_RANGE, size=n),
        "gaps": lambda: np.where(rng.random(n) < rng.random(), np.nan, rng.normal(size=n).round(1)),
        "single": lambda: rng.normal(size=n).astype(np.float32).astype(float),
        "huge": lambda: rng.normal(size=n) * 1e307,
        "tiny": lambda: rng.normal(size=n) * 1e-310,
        "lacking": lambda: np.full(n, np.nan),
    }
    values = draws[str(rng.choice(list(draws)))]()
    if rng.random() < 0.1:
        values[rng.random(n) < 0.2] = np.nan
    if rng.random() < 0.05:
        values[rng.random(n) < 0.2] = rng.choice([np.inf, -np.inf])
    return values


def random_categories(rng: np.random.Generator, n: int) -> Any:
    """Draw one column of categories, as pandas holds them."""
    n_kinds = int(rng.choice([1, 2, 3, 5, 12, 33, 64, 65, 70, 300]))
    kinds = [f"kind {k}" for k in range(n_kinds)]
    drawn = pd.Series(rng.choice(kinds, size=n), dtype=object)
    drawn[rng.random(n) < rng.choice([0.0, 0.0, 0.3])] = None
    return drawn.astype("category") if rng.random() < 0.6 else drawn


def random_table(rng: np.random.Generator, task: str, most_rows: int) -> Table:
    """Draw a table for a task: "classes", "numbers" or "none"."""
    n_rows = int(rng.choice([n for n in ROW_COUNTS if n <= most_rows]))
    n_new = int(rng.choice([1, 2, 5, 8, 9, 20, 47, 48, 49, 70]))
    n_columns = int(
        rng.choice([1, 1, 2, 3, 4, 6, 9, 33, 70], p=[0.15, 0.1, 0.2, 0.2, 0.15, 0.1, 0.05, 0.03, 0.02])
    )
    is_numeric = task == "none" or rng.random() < 0.6
    names = [f"column {j}" for j in range(n_columns)]
    columns = {
        name: random_numbers(rng, n_rows + n_new)
        if is_numeric or rng.random() < 0.6
        else random_categories(rng, n_rows + n_new)
        for name in names
    }
    if is_numeric:
        whole: Any = np.column_stack(list(columns.values()))
        if rng.random() < 0.2:
            with np.errstate(over="ignore"):
                whole = whole.astype(np.float32)
        if rng.random() < 0.2:
            whole = np.asfortranarray(whole)
        X, new = whole[:n_rows], whole[n_rows:]
    else:
        whole = pd.DataFrame(columns)
        X, new = whole.iloc[:n_rows], whole.iloc[n_rows:]
    draw = {"classes": random_classes, "numbers": random_targets}.get(task)
    y = draw(rng, n_rows) if draw else None
    return Table(
        X, new, y, random_weights(rng, n_rows), random_groups(rng, n_rows), n_rows, names, is_numeric
    )


def random_classes(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw labels: numbers, texts or truth values, of few kinds or many, now and then of several outputs."""
    n_classes = int(rng.choice([1, 2, 2, 2, 3, 3, 5, 12, 40]))
    codes = rng.integers(0, n_classes, size=n)
    if rng.random() < 0.1:
        codes = np.column_stack([codes, rng.integers(0, 2, size=n)])
    kind = rng.choice(["numbers", "texts", "truths"])
    if kind == "texts":
        return np.array([f"class {k}" for k in range(n_classes + 2)], dtype=object)[codes]
    return codes > 0 if kind == "truths" else codes


def random_targets(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw numbers: ordinary ones, counts, constants, huge and tiny ones."""
    signal = rng.normal(size=n)
    draws: dict[str, Callable[[], np.ndarray]] = {
        "normal": lambda: signal,
        "positive": lambda: np.exp(signal),
        "counts": lambda: rng.poisson(2, size=n).astype(float),
        "constant": lambda: np.full(n, rng.choice([0.0, 7.0, 1e-300])),
        "huge": lambda: signal * rng.choice([1e150, 1e155, 1e300, 1e307]),
        "tiny": lambda: signal * rng.choice([1e-150, 1e-200, 1e-310]),
        "outlier": lambda: np.where(np.arange(n) == n // 2, 1e12, signal),
        "far": lambda: signal + 1e9,
    }
    y = draws[str(rng.choice(list(draws)))]()
    return np.column_stack([y, rng.normal(size=n)]) if rng.random() < 0.1 else y


def random_weights(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """Draw weights of all sizes, or none."""
    if rng.random() < 0.3:
        return None
    draws: dict[str, Callable[[], np.ndarray]] = {
        "ones": lambda: np.ones(n),
        "whole": lambda: rng.integers(1, 4, size=n).astype(float),
        "real": lambda: rng.exponential(size=n),
        "zeros": lambda: rng.integers(0, 2, size=n).astype(float),
        "tiny": lambda: rng.random(n) * rng.choice([1e-300, 1e-320]),
        "huge": lambda: rng.random(n) * 1e300,
        "wide": lambda: 10.0 ** rng.uniform(-300, 300, size=n),
        "largest": lambda: np.full(n, 1.7e308) * rng.choice([1.0, 0.5], size=n),
    }
    return draws[str(rng.choice(list(draws)))]()


def random_groups(rng: np.random.Generator, n: int) -> np.ndarray | None:
    """Draw groups of rows, or none."""
    if rng.random() < 0.7:
        return None
    return rng.integers(0, int(rng.choice([1, 2, 3, 6, 20])), size=n)
