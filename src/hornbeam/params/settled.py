"""Values that are settled only once the data are known: shares become counts, seeds become keys."""

import math
import numbers
from typing import Literal

import numpy as np
from sklearn.utils import check_random_state


def resolve_count(value: float, n_rows: int, *, at_least: int = 1) -> int:
    """Turn "a number of rows or a fraction of them" into a number of rows.

    A fraction is rounded up, and up to `at_least`. A whole number is returned as it is, even above `n_rows`:
    a limit that no node can meet is a legal way to ask for a single leaf.
    """
    if isinstance(value, numbers.Integral):
        return int(value)
    return max(at_least, math.ceil(value * n_rows))


def resolve_max_features(value: float | Literal["sqrt", "log2"] | None, n_features: int) -> int:
    """Turn `max_features` into a number of features, at least 1; shares, roots and logarithms round down."""
    if value is None:
        return n_features
    if isinstance(value, str):
        root_or_logarithm = {"sqrt": math.isqrt(n_features), "log2": n_features.bit_length() - 1}
        return max(1, root_or_logarithm[value])
    if not isinstance(value, numbers.Integral):
        return max(1, int(value * n_features))
    if value > n_features:
        raise ValueError(
            f"max_features is {value}, but X has only {n_features} feature(s). "
            "Give a smaller number, a fraction, 'sqrt', 'log2', or None for all."
        )
    return int(value)


# How many times as many draws as rows a sample may have: more would hardly differ from all rows, and a model
# file could ask for any number of them.
MOST_DRAWS_PER_UNIT = 100


def resolve_max_samples(value: float | None, n_units: int, *, with_replacement: bool, units: str) -> int:
    """Turn `max_samples` into a number of draws, at least 1; a share is rounded."""
    if value is None:
        return n_units
    if not isinstance(value, numbers.Integral):
        return max(1, round(value * n_units))
    most = n_units * MOST_DRAWS_PER_UNIT if with_replacement else n_units
    if value > most:
        raise ValueError(
            f"max_samples is {value}, but there are only {n_units} {units} to draw from, and a sample has at "
            f"most {most} drawn {'with' if with_replacement else 'without'} replacement. Give a smaller "
            "number, a fraction, or None for as many as there are."
        )
    return int(value)


def resolve_random_key(random_state: int | np.random.RandomState | None) -> int:
    """Draw the one 64-bit key from which all random numbers of a fit follow.

    A whole number gives the same key every time, and from 2^32 on, where numpy's seeds end, it is the key; a
    RandomState moves on, so the next fit differs; None draws from numpy's global state, as scikit-learn does.
    """
    if isinstance(random_state, numbers.Integral) and random_state >= 2**32:
        return int(random_state)
    generator: np.random.RandomState = check_random_state(random_state)
    return int.from_bytes(generator.bytes(8), "little")
