"""Tests on categories other than subsets: a branch each, merged branches, and encodings fixed per fit.

In:  the categories of a node, and of the whole fit with their targets.
Out: `Split`s in the order of the tie rule, without a direction for missing values. Encodings say where every
     category of the fit goes, whether the node has it or not; a list of orders holds a list of tests each.
"""

import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy import stats

from .criteria import mean
from .splits import Split, group_test

ENCODINGS = ("one_vs_rest", "ordinal", "target_mean", "binary")
NEARLY = 1e-9


@dataclass(frozen=True)
class Fit:
    """One categorical column of all rows with a weight, and their targets; `n_classes` is 1 for numbers."""

    x: np.ndarray
    y: np.ndarray
    w: np.ndarray
    n_classes: int

    @property
    def codes(self) -> list[int]:
        return sorted({int(code) for code in self.x if code != -1})

    def keys(self) -> list[dict[int, float]]:
        """What target_mean orders by: the mean, or the share of each of more than two classes."""
        targets = [self.y == k for k in range(self.n_classes)] if self.n_classes > 2 else [self.y]
        return [
            {c: mean(target[self.x == c].astype(float), self.w[self.x == c]) for c in self.codes}
            for target in targets
        ]

    def orders(self) -> list[list[int]]:
        return [sorted(self.codes, key=lambda c: (key[c], c)) for key in self.keys()]

    def has_doubtful_order(self) -> bool:
        """Whether another way of adding up could put two categories in another order."""
        if self.n_classes > 1 and np.all(self.w == np.round(self.w)):
            return False  # whole numbers: means are exact
        slack = NEARLY * max(1.0, float(np.abs(self.y).max()))
        return any(
            abs(a - b) <= slack for key in self.keys() for a, b in itertools.combinations(key.values(), 2)
        )


def encoded_tests(policy: str, feature: int, present: list[int], fit: Fit) -> list[list[Split]]:
    """The two-way tests of an encoding that part the node's categories; one list for each order."""

    def parting(firsts: list[list[int]]) -> list[Split]:
        chosen = [first for first in firsts if 0 < len(set(first) & set(present)) < len(present)]
        return [group_test(feature, first, fit.codes) for first in chosen]

    if policy == "one_vs_rest":
        return [parting([[code] for code in present])]
    if policy == "binary":
        place = {code: i for i, code in enumerate(fit.codes)}
        digits = reversed(range(max(1, (len(fit.codes) - 1).bit_length())))
        return [parting([[c for c in fit.codes if not place[c] >> digit & 1] for digit in digits])]
    orders = [fit.codes] if policy == "ordinal" else fit.orders()
    return [parting(_cuts(order, present)) for order in orders]


def _cuts(order: list[int], present: list[int]) -> list[list[int]]:
    """What goes left, up to halfway between neighbours of the node."""
    places = [i for i, code in enumerate(order) if code in present]
    return [order[: (low + high) // 2 + 1] for low, high in itertools.pairwise(places)]


def many_way_test(feature: int, groups: list[list[int]]) -> Split:
    """A branch for each group of categories."""
    branch_of_code = {code: branch for branch, group in enumerate(groups) for code in group}
    return Split(feature, 0, branch_of_code=branch_of_code, n_branches=len(groups))


def with_empty_branch(split: Split, fit: Fit) -> Split:
    """Give the categories of the fit that the node lacks a branch of their own, if there are any."""
    assert split.branch_of_code is not None
    absent = [code for code in fit.codes if code not in split.branch_of_code]
    if not absent:
        return split
    branch_of_code = split.branch_of_code | dict.fromkeys(absent, split.n_branches)
    return Split(
        split.feature, split.missing_branch, branch_of_code=branch_of_code, n_branches=split.n_branches + 1
    )


def log_p_of_difference(a: Fit, b: Fit) -> float:
    """How likely two groups are to differ as much by chance: chi-square of classes, F of numbers."""
    if a.n_classes > 1:
        table = np.array([[math.fsum(g.w[g.y == k]) for k in range(a.n_classes)] for g in (a, b)])
        table = table[:, table.sum(axis=0) > 0]
        if table.shape[1] < 2:
            return 0.0
        expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
        statistic = float(((table - expected) ** 2 / expected).sum())
        return float(stats.chi2.logsf(statistic, table.shape[1] - 1))
    n = math.fsum(a.w) + math.fsum(b.w)
    centre = mean(np.concatenate([a.y, b.y]), np.concatenate([a.w, b.w]))
    means = [mean(g.y, g.w) for g in (a, b)]
    between = sum(math.fsum(g.w) * (m - centre) ** 2 for g, m in zip((a, b), means, strict=True))
    within = sum(math.fsum(g.w * (g.y - m) ** 2) for g, m in zip((a, b), means, strict=True))
    size = NEARLY**2 * (1 + float(np.abs(np.concatenate([a.y, b.y])).max())) ** 2 * n
    if n <= 2 or between <= size:
        return 0.0
    return float(stats.f.logsf(between / within * (n - 2), 1, n - 2)) if within > size else -math.inf


def merged_groups(node: Fit, level: float) -> tuple[list[list[int]], bool]:
    """Merge, while any two do not differ, the two that differ least; also tell if rounding could matter."""
    groups = [[code] for code in node.codes]
    doubt = False

    def rows_of(group: list[int]) -> Fit:
        chosen = np.isin(node.x, group)
        return Fit(node.x[chosen], node.y[chosen], node.w[chosen], node.n_classes)

    while len(groups) > 1:
        pairs = list(itertools.combinations(range(len(groups)), 2))
        log_p = [log_p_of_difference(rows_of(groups[a]), rows_of(groups[b])) for a, b in pairs]
        doubt |= any(abs(p - math.log(level)) < NEARLY for p in log_p)
        best = int(np.argmax(log_p))
        if not log_p[best] > math.log(level):
            break
        doubt |= any(abs(p - log_p[best]) < NEARLY for i, p in enumerate(log_p) if i != best)
        a, b = pairs[best]
        groups[a] = sorted(groups[a] + groups[b])
        del groups[b]
    return groups, doubt


def ways_to_group(n_categories: int, n_groups: int) -> float:
    """In how many ways categories can be put into groups, of which none is empty."""
    terms = [(-1) ** i * math.comb(n_groups, i) * (n_groups - i) ** n_categories for i in range(n_groups + 1)]
    return sum(terms) / math.factorial(n_groups)
