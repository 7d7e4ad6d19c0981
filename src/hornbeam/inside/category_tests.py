"""The tests on the categories of one node, listed one by one, for every `categorical_split` except subsets.

From the sums of each category over the node and over all rows, this makes for each test the branch of every
category of the node. The engine finds the best test without such a list.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hornbeam import _core

__all__ = ["CategoryCells", "category_tests", "n_orders"]

FloatArray = npt.NDArray[np.float64]
Test = dict[int, int]


@dataclass(frozen=True, eq=False)
class CategoryCells:
    """The sums over the rows of each category: class weights; or weight, sum and sum of squares.

    `by_code` has a row per category; `present` lists those that have rows.
    """

    by_code: FloatArray
    present: list[int]
    of_classes: bool

    def means(self, target_class: int = 1) -> FloatArray:
        """Return the mean target of every category, or the share of a class; 0 where there are no rows."""
        weights = self.by_code.sum(axis=1) if self.of_classes else self.by_code[:, 0]
        last = self.by_code.shape[1] - 1  # with a single class all shares are 1
        sums = self.by_code[:, min(target_class, last) if self.of_classes else 1]
        means: FloatArray = np.divide(sums, weights, out=np.zeros_like(sums), where=weights > 0)
        return means


def category_tests(split: str, node: CategoryCells, fit: CategoryCells, merge_level: float) -> list[Test]:
    """List the tests of a node in the order of the tie rule; some may divide its categories alike."""
    return _TESTS[split](node, fit, merge_level)


def n_orders(split: str, n_classes: int) -> int:
    """Return how many orders of the categories are cut; `n_classes` is 0 for numbers."""
    return n_classes if split == "target_mean" and n_classes > 2 else 1


def _one_vs_rest(node: CategoryCells, fit: CategoryCells, merge_level: float) -> list[Test]:
    return _parting(node, [{code} for code in node.present])


def _ordinal(node: CategoryCells, fit: CategoryCells, merge_level: float) -> list[Test]:
    return _cuts(node, node.present)


def _target_mean(node: CategoryCells, fit: CategoryCells, merge_level: float) -> list[Test]:
    n_classes = fit.by_code.shape[1] if fit.of_classes else 0
    tests = []
    orders = n_orders("target_mean", n_classes)
    for target_class in range(orders) if orders > 1 else (1,):
        means = fit.means(target_class)
        tests += _cuts(node, sorted(node.present, key=lambda code: (float(means[code]), code)))
    return tests


def _binary(node: CategoryCells, fit: CategoryCells, merge_level: float) -> list[Test]:
    place = {code: number for number, code in enumerate(fit.present)}
    digits = reversed(range((len(fit.present) - 1).bit_length()))
    return _parting(node, [{c for c in node.present if not place[c] >> digit & 1} for digit in digits])


def _multiway(node: CategoryCells, fit: CategoryCells, merge_level: float) -> list[Test]:
    return [{code: branch for branch, code in enumerate(node.present)}]


def _merge(node: CategoryCells, fit: CategoryCells, merge_level: float) -> list[Test]:
    if len(node.present) > _core.MOST_COMPARED_PAIRWISE:
        raise ValueError(
            f"A column has {len(node.present)} categories in this node; merged ones can be listed for at "
            f"most {_core.MOST_COMPARED_PAIRWISE}."
        )
    cells = node.by_code[node.present]
    if not node.of_classes:
        means = node.means()[node.present]
        within = np.maximum(cells[:, 2] - cells[:, 1] * means, 0)
        cells = np.stack([cells[:, 0], means, within], axis=1)
    n_classes = cells.shape[1] if node.of_classes else 0
    groups = _core.merge_categories(np.ascontiguousarray(cells).ravel(), n_classes, merge_level)
    return [dict(zip(node.present, groups, strict=True))]


def _cuts(node: CategoryCells, order: list[int]) -> list[Test]:
    return _parting(node, [set(order[: place + 1]) for place, _ in pairwise(range(len(order)))])


def _parting(node: CategoryCells, firsts: list[set[int]]) -> list[Test]:
    """Make tests of sets for the first branch, unless a set is empty or everything."""
    return [
        {code: 0 if code in first else 1 for code in node.present}
        for first in firsts
        if 0 < len(first & set(node.present)) < len(node.present)
    ]


_TESTS: Mapping[str, Callable[[CategoryCells, CategoryCells, float], list[Test]]] = {
    "one_vs_rest": _one_vs_rest,
    "ordinal": _ordinal,
    "target_mean": _target_mean,
    "binary": _binary,
    "multiway": _multiway,
    "merge": _merge,
}
