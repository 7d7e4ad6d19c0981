"""The wisdom of crowds: majorities of voters, and averages of correlated estimates."""

from typing import Literal

import numpy as np
from scipy import special

__all__ = ["crowd", "variance_of_mean"]


def crowd(n: int, p: float, *, ties: Literal["wrong", "half"] = "wrong") -> float:
    """Return the probability that most of `n` independent voters are right, each with probability `p`.

    A tie counts as wrong, or as half right. A hundred voters who are right six times in ten: 0.97.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a whole number >= 1; got {n!r}.")
    if not 0 <= p <= 1:
        raise ValueError(f"p must be a number from 0 to 1; got {p!r}.")
    if ties not in ("wrong", "half"):
        raise ValueError(f"ties must be 'wrong' or 'half'; got {ties!r}.")
    more_than_half = float(special.bdtrc(n // 2, n, p))
    if ties == "wrong" or n % 2:
        return more_than_half
    exactly_half = float(special.bdtr(n // 2, n, p) - special.bdtr(n // 2 - 1, n, p))
    return more_than_half + exactly_half / 2


def variance_of_mean(n: int, variance: float, rho: float = 0.0) -> float:
    """Return the variance of the mean of `n` estimates, any two of them correlated by `rho`.

    rho s^2 + (1 - rho) s^2 / n: averaging removes what they do not have in common.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n must be a whole number >= 1; got {n!r}.")
    if not variance >= 0:
        raise ValueError(f"variance must be a number >= 0; got {variance!r}.")
    if not -1 / max(n - 1, 1) <= rho <= 1:
        raise ValueError(f"rho must be a number from -1 / (n - 1) to 1; got {rho!r}.")
    return rho * variance + (1 - rho) * variance / n
