"""Every test that a node of a tree could have asked, with what it would have scored.

In come the rows of a node as codes, their targets and weights; out goes a pandas DataFrame with a row per
candidate. The engine looks for the best test as fast as it can and forgets the others; here all are counted
again, from the same rows, by the formulas as they are written in textbooks.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam._optional import require
from hornbeam.data.encode import Encoded
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.inside.category_tests import CategoryCells, category_tests
from hornbeam.inside.conditions import Group, Interval
from hornbeam.inside.nodes import Passing, TreeReading

__all__ = ["NodeRows", "split_frame"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

# Subsets of categories are counted one by one up to here where no order of them is known to be enough.
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
        y = self.target.values[self.rows, 0]
        y_log_y = y * np.log(np.where(y > 0, y, 1))
        cells = np.stack([np.ones_like(y), y, y * y, y_log_y], axis=1)
        cells *= weights[:, None]
        return cells


def split_frame(
    reading: TreeReading,
    node: int,
    given: NodeRows,
    *,
    criterion: str,
    categorical_split: str,
    merge_level: float,
    best_per_feature: bool,
) -> Any:
    """Return a row per candidate test of a node, in the order of the tie rule.

    `score` is the impurity after the split, averaged over the branches by weight, `gain` what it is lower
    than before; `chosen` marks the test that the tree has there.
    """
    pandas = require("pandas", purpose="A table of candidate splits")
    impurity = _IMPURITIES[criterion]
    cells = given.cells()
    before = float(impurity(cells.sum(axis=0)))
    table: list[dict[str, Any]] = []
    spent = reading.features_above(node) if categorical_split == "multiway" else set()
    for feature in range(given.encoded.n_features):
        column = _FeatureCells(reading, given, feature, cells)
        if column.is_categorical and feature in spent:
            continue
        own = column.own_branches() if reading.feature(node) == feature else None
        for branch_of in column.candidates(categorical_split, merge_level):
            in_branches, rows = column.add_up(branch_of)
            if criterion == "poisson" and not np.all(in_branches[:, 1] > 0):
                continue  # a Poisson mean is never 0, so such a test is never asked
            weights = in_branches.sum(axis=1) if reading.classes else in_branches[:, 0]
            after = float(np.average(impurity(in_branches), weights=weights))
            words = column.words(branch_of)
            table.append(
                {
                    "feature": reading.schema.names[feature],
                    "test": words[0] if len(words) == 2 else reading.name_words[feature],
                    "threshold": column.threshold(branch_of),
                    "score": after,
                    "gain": before - after,
                    "rows": tuple(rows.tolist()),
                    **_contents(in_branches, reading),
                    "branches": tuple(words),
                    "chosen": own is not None and np.array_equal(own, branch_of),
                }
            )
    frame = pandas.DataFrame(table)
    if best_per_feature and len(frame):
        best = frame.groupby("feature", sort=False)["score"].idxmin()
        frame = frame.loc[best].sort_values("score", kind="stable").reset_index(drop=True)
    return frame


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
    "accuracy": _misclassification,
    "gain_ratio": _entropy,
    "chi2": _gini,
    "squared_error": _variance,
    "poisson": _half_deviance,
    "f_test": _variance,
}


# --- Candidates ------------------------------------------------------------------------------------------


class _FeatureCells:
    """One column in one node: what each of its codes adds up to, and the tests that can be made of them.

    A test is an array with the branch of every code, the last entry for missing values, -1 for codes that no
    row of the node has.
    """

    def __init__(self, reading: TreeReading, given: NodeRows, feature: int, cells: FloatArray) -> None:
        self.reading = reading
        self.given = given
        self.feature = feature
        self.is_categorical = reading.schema.kinds[feature] == "categorical"
        self.codes = given.encoded.codes.codes(feature)[given.rows].astype(np.int64)
        n_codes = given.encoded.codes.n_codes(feature)
        self.by_code = np.zeros((n_codes + 1, cells.shape[1]))
        np.add.at(self.by_code, self.codes, cells)
        self.counts = np.bincount(self.codes, minlength=n_codes + 1)
        self.present = np.flatnonzero(self.counts[:-1])
        self.has_missing = bool(self.counts[-1])

    def candidates(self, categorical_split: str, merge_level: float) -> Iterator[IntArray]:
        """List the tests: from the lowest threshold up, missing values first to the left."""
        has_many_branches = self.is_categorical and categorical_split in ("multiway", "merge")
        for branches in self._tests(categorical_split, merge_level):
            n_branches = max(branches.values(), default=0) + 1
            if n_branches > 1:
                for missing in range(n_branches) if self.has_missing else (None,):
                    yield self._test(branches, missing)
                if has_many_branches:
                    return
        if self.has_missing and len(self.present):
            yield self._test(dict.fromkeys(self.present, 0), 1)  # known or not

    def _tests(self, categorical_split: str, merge_level: float) -> list[dict[int, int]]:
        """Return the branch of every present code in every test."""
        if self.is_categorical and categorical_split != "subset":
            of_classes = bool(self.reading.classes)
            node = CategoryCells(self.by_code[:-1], self.present.tolist(), of_classes)
            return category_tests(categorical_split, node, self._whole_fit(of_classes), merge_level)
        codes = self.present.tolist()
        firsts = [set(first.tolist()) for first in self._first_branches()]
        return [{code: 0 if code in first else 1 for code in codes} for first in firsts]

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
        order = present[np.lexsort((present, cells[:, 1] / weights))]
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

    def _test(self, branches: Mapping[Any, int], missing: int | None) -> IntArray:
        branch_of = np.full(len(self.counts), -1)
        for code, branch in branches.items():
            branch_of[code] = branch
        if missing is not None:
            branch_of[-1] = missing
        elif self.has_missing:
            raise AssertionError("rows with missing values need a branch")
        return branch_of

    def own_branches(self) -> IntArray:
        """Return the test that the tree has, as far as the rows of the node show it."""
        branch_of = np.full(len(self.counts), -1)
        branch_of[self.codes] = self.given.branches
        return branch_of

    def add_up(self, branch_of: IntArray) -> tuple[FloatArray, IntArray]:
        """Return cells and rows of the branches of a test."""
        known = branch_of >= 0
        cells = np.zeros((branch_of.max() + 1, self.by_code.shape[1]))
        np.add.at(cells, branch_of[known], self.by_code[known])
        rows = np.bincount(branch_of[known], weights=self.counts[known]).astype(np.int64)
        return cells, rows

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
