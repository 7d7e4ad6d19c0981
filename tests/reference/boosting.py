"""One boosted tree by the book: derivatives of all rows in float64, every candidate test of a node, no bins.

The core adds derivatives up in fixed point. `Precision` says how far that may move a gain, so that a test can
demand the best split up to it and nothing less.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Terms:
    """What the gain of a split and the value of a leaf depend on besides the derivatives."""

    l1: float = 0.0
    l2: float = 0.0
    min_samples_leaf: int = 1
    min_hessian_leaf: float = 0.0
    smoothing: float = 10.0
    one_vs_rest: bool = False

    def of_sets(self, n_categories, hessian):
        """Terms for sets from so many categories of a column: their gains are counted with more l2."""
        if n_categories <= 4 or self.one_vs_rest:
            return self
        return replace(self, l2=self.l2 + min(self.smoothing, 0.3 * hessian))

    def value(self, gradients, hessians):
        """The Newton step of a leaf."""
        total = gradients.sum()
        return -np.sign(total) * max(0.0, abs(total) - self.l1) / (hessians.sum() + self.l2)

    def score(self, gradient, hessian):
        """Twice what a leaf lowers the loss by, to second order."""
        return max(0.0, abs(gradient) - self.l1) ** 2 / (hessian + self.l2)

    def gain(self, gradients, hessians, left):
        """What a split lowers the loss by."""
        parts = [
            self.score(gradients[part].sum(), hessians[part].sum())
            for part in (left, ~left, np.ones_like(left))
        ]
        return (parts[0] + parts[1] - parts[2]) / 2


@dataclass(frozen=True)
class Precision:
    """The step of the fixed-point numbers that stand for gradients and hessians of single rows."""

    gradient: float
    hessian: float

    @classmethod
    def of(cls, gradients, hessians, bits):
        """The powers of two with which the largest of all rows has so many bits."""
        return cls(_step(np.abs(gradients).max(), bits), _step(hessians.max(), bits))

    def rounded(self, gradients, hessians):
        """Derivatives as the core adds them up: a hessian is one step at least."""
        return (
            np.rint(gradients / self.gradient) * self.gradient,
            np.maximum(np.rint(hessians / self.hessian), 1) * self.hessian,
        )

    def bound(self, gradients, hessians, left, terms):
        """Bound the error of a gain: sums are off by at most half a step per row, of hessians a whole one."""
        error = 0.0
        for part in (left, ~left, np.ones_like(left)):
            n = np.count_nonzero(part)
            gradient, hessian = abs(gradients[part].sum()), hessians[part].sum()
            off_gradient, off_hessian = n * self.gradient / 2, n * self.hessian
            most = (gradient + off_gradient) ** 2 / max(hessian - off_hessian + terms.l2, 1e-200)
            least = max(0.0, gradient - off_gradient) ** 2 / (hessian + off_hessian + terms.l2)
            error += most - least
        return error / 2 + 1e-9


def _step(largest, bits):
    exponent = np.frexp(largest)[1] - bits
    return 2.0 ** (exponent + (np.rint(largest / 2.0**exponent) >= 2**bits))


def splits_of_numbers(values) -> Iterator[np.ndarray]:
    """All ways to cut known values in two, with missing ones on either side, or cut off by themselves."""
    missing = np.isnan(values)
    known = np.unique(values[~missing])
    for last in known:
        left = values <= last
        yield left
        if missing.any():
            yield left | missing


def splits_of_categories(codes, gradients, hessians, smoothing) -> Iterator[np.ndarray]:
    """The prefixes of the categories in the order of their smoothed mean gradient; -1 is missing."""
    missing = codes < 0
    present = np.unique(codes[~missing])
    means = [gradients[codes == c].sum() / (hessians[codes == c].sum() + smoothing) for c in present]
    order = present[np.argsort(means, kind="stable")]
    for n in range(1, len(order) + 1):
        left = np.isin(codes, order[:n])
        yield left
        if missing.any():
            yield left | missing


def singled_out(codes) -> Iterator[np.ndarray]:
    """Every category against all others; -1 is missing."""
    missing = codes < 0
    for code in np.unique(codes[~missing]):
        left = codes == code
        yield left
        if missing.any():
            yield left | missing


def allowed_splits(
    columns, kinds, gradients, hessians, terms, precision
) -> Iterator[tuple[np.ndarray, Terms]]:
    """Every split of some rows that leaves enough rows and hessian on both sides, with the terms of its gain.

    `kinds` says how many categories a column has in the whole table, None for numbers. Categories are put in
    order as the core does it: of two that rounding makes equal, either may be first, and the sets between
    them differ by more than rounding.
    """
    rounded = precision.rounded(gradients, hessians)
    for values, n_kinds in zip(columns, kinds, strict=True):
        own_terms = terms if n_kinds is None else terms.of_sets(n_kinds, rounded[1].sum())
        if n_kinds is None:
            candidates = splits_of_numbers(values)
        elif terms.one_vs_rest:
            candidates = singled_out(values.astype(int))
        else:
            candidates = splits_of_categories(values.astype(int), *rounded, terms.smoothing)
        for left in candidates:
            n_left, n = np.count_nonzero(left), len(left)
            enough_rows = min(n_left, n - n_left) >= terms.min_samples_leaf
            if enough_rows and min(hessians[left].sum(), hessians[~left].sum()) > terms.min_hessian_leaf:
                yield left, own_terms


def along(keys, gradients, hessians):
    """Derivatives by a step of all scores at once, each up or, if the top bit of its key is set, down.

    Derivatives are scores x rows. Sums are in float32, score by score, as in the core.
    """
    first, second = np.zeros((2, gradients.shape[1]), dtype=np.float32)
    for key, gradient, hessian in zip(keys, gradients, hessians, strict=True):
        first += gradient * np.float32(-1.0 if int(key) >> 63 else 1.0)
        second += hessian
    return first, second
