"""Every test that a node of a tree could have used, with its score.

From the rows of a node as codes, their targets and weights, this makes a pandas DataFrame with a row per
candidate. The engine finds the best test as fast as it can and forgets the others; here all tests are
computed again, from the same rows, by textbook formulas.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam._optional import require
from hornbeam.data.encode import Encoded
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.data.units import unit_of
from hornbeam.inside.category_tests import CategoryCells, category_tests, n_orders
from hornbeam.inside.choices import Measured, Test, best_of_features, measure
from hornbeam.inside.conditions import Group, Interval
from hornbeam.inside.nodes import Passing, TreeReading
from hornbeam.recipes.own_criterion import OwnCriterion

__all__ = ["Growing", "NodeRows", "split_frame"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Up to this many categories, all subsets are counted where cuts of an order may miss the best.
MOST_CATEGORIES_BY_SUBSET = 8


@dataclass(frozen=True, eq=False)
class NodeRows:
    """The rows of one node: their numbers in the encoded table, and all that a criterion adds up.

    `branches` says, per row, which branch of the node takes it; all 0 at a leaf.
    """

    encoded: Encoded
    target: ClassTarget | RegressionTarget
    weights: FloatArray
    rows: npt.NDArray[np.uint32]
    branches: IntArray

    def cells(self) -> FloatArray:
        """Return per row what a branch adds up: class weights; or weight, sum, sum of squares, of y log y."""
        weights = self.weights[self.rows]
        if isinstance(self.target, ClassTarget):
            cells = np.zeros((len(self.rows), len(self.target.classes[0])))
            cells[np.arange(len(self.rows)), self.target.codes[self.rows, 0]] = weights
            return cells
        y = self.target.values[self.rows, 0] / unit_of(self.target.values[:, 0])
        y_log_y = y * np.log(np.where(y > 0, y, 1))
        cells = np.stack([np.ones_like(y), y, y * y, y_log_y], axis=1)
        cells *= weights[:, None]
        return cells


@dataclass(frozen=True)
class Growing:
    """The options of the fit that say which tests a node could have used, and how they compare.

    `known_only` is for every policy of missing values but "learn": tests are scored on the rows that have
    their feature. `min_rows` and `min_weight` are what two branches at least must have.
    """

    criterion: str | OwnCriterion
    categorical_split: str
    merge_level: float
    known_only: bool
    min_rows: int
    min_weight: float


def split_frame(
    reading: TreeReading, node: int, given: NodeRows, growing: Growing, *, best_per_feature: bool
) -> Any:
    """Return a row per candidate test of a node, in the order of the tie rule.

    `score` is the impurity after the split, averaged over the branches by weight, `gain` what it is lower
    than before; `impurities`, `rows` and `counts` are those of the branches; `chosen` marks the test that the
    tree has there. A criterion that compares tests by another number shows that, too (choices.py).
    """
    pandas = require("pandas", purpose="A table of candidate splits")
    cells = given.cells()
    spent = reading.features_above(node) if growing.categorical_split == "multiway" else set()
    listed: list[_Listed] = []
    for feature in range(given.encoded.n_features):
        column = _FeatureCells(reading, given, feature, cells, growing)
        if not (column.is_categorical and feature in spent):
            own = column.own_branches() if reading.feature(node) == feature else None
            listed += _list_tests(column, growing, cells, own)
    if best_per_feature:
        order = best_of_features(
            growing.criterion,
            [one.feature for one in listed],
            [one.measured for one in listed],
            [one.row["gain"] for one in listed],
        )
        listed = [listed[at] for at in order]
    return pandas.DataFrame([one.row for one in listed])


def _partition(branch_of: IntArray) -> bytes:
    """Return which codes are together, whatever the numbers of their branches; -1 is no branch."""
    _, first, inverse = np.unique(branch_of, return_index=True, return_inverse=True)
    by_appearance = np.argsort(np.argsort(first))
    return (by_appearance[inverse] * 2 + (branch_of < 0)).tobytes()


@dataclass(frozen=True)
class _Listed:
    """A row of the table, and how its test compares with others."""

    feature: int
    row: dict[str, Any]
    measured: Measured


def _list_tests(
    column: "_FeatureCells", growing: Growing, cells: FloatArray, own: IntArray | None
) -> list[_Listed]:
    """List the tests of one column."""
    reading = column.reading
    of_classes = bool(reading.classes)
    impurity = _IMPURITIES[_IMPURITY_OF[_shown(growing.criterion)]]
    before = float(impurity(cells.sum(axis=0)))
    node_weight = float(_weights(cells, of_classes).sum())
    n_tests = cache(column.n_tests)
    listed = []
    for branch_of in column.candidates():
        in_branches, rows = column.add_up(branch_of)
        weights = _weights(in_branches, of_classes)
        share = float(weights.sum()) / node_weight  # of the rows that take part
        after = float(np.average(impurity(in_branches), weights=weights))
        gain = share * (float(impurity(in_branches.sum(axis=0))) - after)
        left_out = node_weight - float(weights.sum()) if share < 1 else 0.0
        measured = measure(growing.criterion, Test(in_branches, of_classes, gain, left_out, n_tests))
        words = column.words(branch_of)
        row = {
            "feature": reading.schema.names[column.feature],
            "test": words[0] if len(words) == 2 else reading.name_words[column.feature],
            "threshold": column.threshold(branch_of),
            "score": before - gain,
            "gain": gain,
            **measured.shown,
            "rows": tuple(rows.tolist()),
            "impurities": tuple(np.asarray(impurity(in_branches)).tolist()),
            **_contents(in_branches, reading),
            "branches": tuple(words),
            "chosen": own is not None and np.array_equal(own, branch_of),
        }
        listed.append(_Listed(column.feature, row, measured))
    return listed


def _weights(cells: FloatArray, of_classes: bool) -> FloatArray:
    weights: FloatArray = cells.sum(axis=1) if of_classes else cells[:, 0]
    return weights


def _shown(criterion: str | OwnCriterion) -> str:
    """Return the name of the impurity that nodes show under a criterion."""
    return criterion.shown if isinstance(criterion, OwnCriterion) else criterion


def _contents(cells: FloatArray, reading: TreeReading) -> dict[str, Any]:
    """Tell what the branches hold: class weights, or means."""
    if not reading.classes:
        return {"means": tuple((cells[:, 1] / cells[:, 0]).tolist())}
    labels = reading.labels[0]
    return {"counts": tuple(dict(zip(labels, row, strict=True)) for row in cells.tolist())}


# --- Impurities ------------------------------------------------------------------------------------------


def _shares(cells: FloatArray) -> FloatArray:
    total = cells.sum(axis=-1, keepdims=True)
    shares: FloatArray = cells / np.where(total > 0, total, 1)
    return shares


def _gini(cells: FloatArray) -> FloatArray:
    shares = _shares(cells)
    result: FloatArray = (shares * (1 - shares)).sum(axis=-1)
    return result


def _entropy(cells: FloatArray) -> FloatArray:
    shares = _shares(cells)
    logarithms = np.log2(np.where(shares > 0, shares, 1))
    result: FloatArray = -(shares * logarithms).sum(axis=-1) + 0.0
    return result


def _misclassification(cells: FloatArray) -> FloatArray:
    result: FloatArray = 1 - _shares(cells).max(axis=-1)
    return result


def _variance(cells: FloatArray) -> FloatArray:
    weight = cells[..., 0]
    mean = cells[..., 1] / weight
    return np.maximum(cells[..., 2] / weight - mean * mean, 0)


def _half_deviance(cells: FloatArray) -> FloatArray:
    """Half the mean Poisson deviance: the mean of y log y, minus m log m."""
    mean = cells[..., 1] / cells[..., 0]
    return np.maximum(cells[..., 3] / cells[..., 0] - mean * np.log(np.where(mean > 0, mean, 1)), 0)


_IMPURITIES: Mapping[str, Callable[[FloatArray], FloatArray]] = {
    "gini": _gini,
    "entropy": _entropy,
    "misclassification": _misclassification,
    "variance": _variance,
    "half_deviance": _half_deviance,
}
_IMPURITY_OF = {criterion: impurity for criterion, impurity, *_ in _core.criteria()}


# --- Candidates ------------------------------------------------------------------------------------------


class _FeatureCells:
    """One column in one node: the sums for each of its codes, and the tests on them.

    A test is an array with the branch of every code, the last entry for missing values, -1 for codes that no
    row of the node has.
    """

    def __init__(
        self, reading: TreeReading, given: NodeRows, feature: int, cells: FloatArray, growing: Growing
    ) -> None:
        self.reading = reading
        self.given = given
        self.feature = feature
        self.growing = growing
        self.is_categorical = reading.schema.kinds[feature] == "categorical"
        self.split = growing.categorical_split if self.is_categorical else "threshold"
        self.codes = given.encoded.codes.codes(feature)[given.rows].astype(np.int64)
        n_codes = given.encoded.codes.n_codes(feature)
        self.by_code = np.zeros((n_codes + 1, cells.shape[1]))
        np.add.at(self.by_code, self.codes, cells)
        self.counts = np.bincount(self.codes, minlength=n_codes + 1)
        self.present = np.flatnonzero(self.counts[:-1])
        self.sends_missing = bool(self.counts[-1]) and not growing.known_only

    def candidates(self) -> list[IntArray]:
        """List the tests: from the lowest threshold up, missing values first to the left.

        Two tests that divide the rows in the same way count as one.
        """
        partitions: dict[bytes, IntArray] = {}
        for branch_of in [*self._directed_tests(), *self._known_or_not()]:
            partitions.setdefault(_partition(branch_of), branch_of)
        return list(partitions.values())

    def n_tests(self) -> float:
        """Count the tests that the best one was the best of, as p-values are adjusted for them."""
        present = len(self.present)
        if self.split == "subset":
            ways = (
                2.0 ** min(present - 1, 1000) - 1
            )  # all ways to divide them in two, however the best was found
            return 2 * ways + 1 if self.sends_missing else ways
        directed = [branch_of for branch_of in self._directed_tests() if self._is_allowed(branch_of)]
        known_or_not = [branch_of for branch_of in self._known_or_not() if self._is_allowed(branch_of)]
        if self.split == "merge" and directed:
            return len(directed) * _core.n_ways_to_group(present, int(directed[0][:-1].max()) + 1)
        orders = n_orders(self.split, len(self.reading.labels[0]) if self.reading.classes else 0)
        return float(len(directed) + orders * len(known_or_not))

    def _is_allowed(self, branch_of: IntArray) -> bool:
        """Tell whether two branches have as many rows and as much weight as the limits ask."""
        cells, rows = self.add_up(branch_of)
        weights = _weights(cells, bool(self.reading.classes))
        large = (rows >= self.growing.min_rows) & (weights >= self.growing.min_weight)
        return bool(large.sum() >= 2)

    def _directed_tests(self) -> list[IntArray]:
        """List the tests in the engine's order, with missing values in every branch in turn."""
        directed = []
        for branches in self._tests():
            n_branches = int(branches.max(initial=0)) + 1
            if n_branches > 1:
                missing_branches = range(n_branches) if self.sends_missing else (-1,)
                directed += [self._test(branches, missing) for missing in missing_branches]
        return directed

    def _known_or_not(self) -> list[IntArray]:
        """Return the test that separates known values from missing ones, where that is tested."""
        is_asked = self.sends_missing and len(self.present)
        if not is_asked or (self.split in ("multiway", "merge") and self._directed_tests()):
            return []
        return [self._test(np.zeros(len(self.present), dtype=np.int64), 1)]

    def _tests(self) -> list[IntArray]:
        """Return the branch of every present code in every test."""
        if self.split not in ("threshold", "subset"):
            of_classes = bool(self.reading.classes)
            node = CategoryCells(self.by_code[:-1], self.present.tolist(), of_classes)
            found = category_tests(self.split, node, self._whole_fit(of_classes), self.growing.merge_level)
            return [np.array([branches[code] for code in self.present.tolist()]) for branches in found]
        is_first = np.zeros(len(self.counts), dtype=bool)
        tests = []
        for first in self._first_branches():
            is_first[:] = False
            is_first[first] = True
            tests.append(np.where(is_first[self.present], 0, 1))
        return tests

    def _whole_fit(self, of_classes: bool) -> CategoryCells:
        """Add up the categories over all rows, not only those of the node."""
        rows = np.flatnonzero(self.given.weights > 0).astype(np.uint32)
        codes = self.given.encoded.codes.codes(self.feature)[rows].astype(np.int64)
        by_code = np.zeros_like(self.by_code)
        np.add.at(by_code, codes, replace(self.given, rows=rows).cells())
        present = np.flatnonzero(np.bincount(codes, minlength=len(by_code))[:-1])
        return CategoryCells(by_code[:-1], present.tolist(), of_classes)

    def _first_branches(self) -> list[IntArray]:
        """Return the sets of codes that thresholds or subsets of categories send down the first branch."""
        present = self.present
        if not self.is_categorical:
            return [present[: k + 1] for k in range(len(present) - 1)]
        if len(self.reading.labels[0] if self.reading.classes else ()) > 2:
            return self._all_subsets()
        # With two classes or squared error, some prefix of the order by mean is best (Breiman et al. 1984).
        cells = self.by_code[present]
        weights = cells.sum(axis=1) if self.reading.classes else cells[:, 0]
        second = cells[:, 1] if cells.shape[1] > 1 else weights  # with a single class all means are the same
        order = present[np.lexsort((present, second / weights))]
        return [order[: k + 1] for k in range(len(order) - 1)]

    def _all_subsets(self) -> list[IntArray]:
        present = self.present
        if len(present) > MOST_CATEGORIES_BY_SUBSET:
            raise ValueError(
                f"Column {self.reading.name_words[self.feature]} has {len(present)} categories in this node; "
                f"with more than two classes, subsets of at most {MOST_CATEGORIES_BY_SUBSET} can be listed."
            )
        masks = range(1, 2 ** len(present) - 1, 2)
        return [present[[bool(mask >> i & 1) for i in range(len(present))]] for mask in masks]

    def _test(self, branches: IntArray, missing: int) -> IntArray:
        branch_of = np.full(len(self.counts), -1)
        branch_of[self.present] = branches
        branch_of[-1] = missing
        return branch_of

    def own_branches(self) -> IntArray:
        """Return the test that the tree has, as far as the rows of the node show it."""
        branch_of = np.full(len(self.counts), -1)
        branch_of[self.codes] = self.given.branches
        if not self.sends_missing:
            branch_of[-1] = -1  # the branch of such rows is not part of the test
        return branch_of

    def add_up(self, branch_of: IntArray) -> tuple[FloatArray, IntArray]:
        """Return cells and rows of the branches of a test."""
        known = branch_of >= 0
        branches = branch_of[known]
        shape = (int(branches.max()) + 1, self.by_code.shape[1])
        places = branches[:, np.newaxis] * shape[1] + np.arange(shape[1])
        # One after the other, as np.add.at would add them, but quicker.
        weights, n_cells = self.by_code[known].ravel(), shape[0] * shape[1]
        cells = np.bincount(places.ravel(), weights=weights, minlength=n_cells).astype(np.float64, copy=False)
        rows = np.bincount(branches, weights=self.counts[known]).astype(np.int64)
        return cells.reshape(shape), rows

    def words(self, branch_of: IntArray) -> list[str]:
        """Write which values go down each branch."""
        threshold = self.threshold(branch_of)
        passing: list[Passing]
        if self.is_categorical:
            passing = [
                Group(branch_of[:-1] == branch, branch_of[-1] == branch, unseen=False)
                for branch in range(branch_of.max() + 1)
            ]
        else:
            missing = int(branch_of[-1])
            passing = [Interval(None, threshold, missing == 0), Interval(threshold, None, missing == 1)]
        return [self.reading.condition_words(self.feature, each) for each in passing]

    def threshold(self, branch_of: IntArray) -> float:
        """Return the threshold of a test as the engine sets it; NaN for categories."""
        if self.is_categorical:
            return float("nan")
        left = np.flatnonzero(branch_of[:-1] == 0)
        right = np.flatnonzero(branch_of[:-1] == 1)
        values = self.given.encoded.codes.values(self.feature)
        if not len(right):
            return float("inf")
        if self.given.encoded.codes.is_binned(self.feature):
            return float(values[left[-1]])
        lower, upper = float(values[left[-1]]), float(values[right[0]])
        sum_fits = np.isfinite(lower + upper)
        middle = (lower + upper) / 2 if sum_fits else lower / 2 + upper / 2
        return middle if lower <= middle < upper else lower
