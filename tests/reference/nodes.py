"""What the slow and obvious growth of trees works on: rules, rows, candidates for a split, nodes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from .criteria import (
    Criterion,
)
from .splits import (
    Split,
)

Order = Literal["depth", "level", "best"]
Missing = Literal["learn", "majority", "surrogate", "fractional", "available"]

NOWHERE = -1
WHOLE = 2**20  # units that a row may be parted into
TIE = 2.0**-44  # scores closer than this, relative to the best so far, are a tie
ROUNDING = 2.2e-16  # what an impurity decrease may fall short of `min_impurity_decrease`


@dataclass(frozen=True)
class Rules:
    """How to grow: names and meanings as in the estimators, `None` for "no limit"."""

    criterion: Criterion = "gini"
    order: Order = "depth"
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_impurity_decrease: float = 0.0
    max_leaf_nodes: int | None = None
    max_nodes: int | None = None
    monotonic_cst: Sequence[int] | None = None
    min_significance: float | None = None
    missing: Missing = "learn"
    max_surrogates: int = 5
    categorical_split: str = "subset"
    merge_level: float = 0.05


@dataclass
class Data:
    """The table, the target as one array per output, and the weight of every row.

    Under `fractional` a part of a row is one more row, with so many `units` of the row it was made from.
    """

    columns: list[np.ndarray]
    outputs: list[np.ndarray]
    scored: list[np.ndarray]  # the outputs as the score sees them: centred for squared error
    n_classes: list[int]  # per output; 1 for a number
    weights: np.ndarray
    units: np.ndarray
    origin: np.ndarray  # the row of the table that each row is, or is a part of

    def part(self, row: int, units: int) -> int:
        """Add a part of a row; return its number."""
        self.columns = [np.append(column, column[row]) for column in self.columns]
        self.outputs = [np.append(y, y[row]) for y in self.outputs]
        self.scored = [np.append(y, y[row]) for y in self.scored]
        self.weights = np.append(self.weights, self.weights[row] / self.units[row] * units)
        self.units = np.append(self.units, units)
        self.origin = np.append(self.origin, self.origin[row])
        return len(self.units) - 1


@dataclass(frozen=True)
class Candidate:
    """A split that was tried in a node."""

    split: Split
    position: int  # of the threshold (or group of categories) among those of its feature
    learned: int | None  # the branch the missing rows of the node took; None if the node has none
    branches: np.ndarray  # the branch of each row of the node; NOWHERE for rows the test says nothing of
    score: float
    margin: float  # how far the monotonic constraint is from refusing it; below 0 it is refused
    shadow: bool = False  # not a candidate at all, only a hint for `near_ties`
    order: int = 0  # which of several orders of the categories the position is in

    @property
    def partition(self) -> tuple[int, ...]:
        """Which rows stay together, whatever the names of the branches."""
        names = {NOWHERE: NOWHERE}
        return tuple(names.setdefault(int(branch), len(names)) for branch in self.branches)


@dataclass(frozen=True)
class Surrogate:
    """A test that stands in for another; exactly one of `threshold` and `branch_of_code` is set."""

    feature: int
    agreement: float  # share of the rows with the other test's feature that both send the same way
    threshold: float | None = None
    low_branch: int = 0
    branch_of_code: dict[int, int] | None = None

    def branch(self, value: float, otherwise: int) -> int | None:
        """The branch of a value; `otherwise` for a category that is new here, None for a missing value."""
        if self.branch_of_code is not None:
            return None if value == -1 else self.branch_of_code.get(int(value), otherwise)
        assert self.threshold is not None
        if math.isnan(value):
            return None
        return self.low_branch if value <= self.threshold else 1 - self.low_branch


@dataclass
class Node:
    """One node. A leaf has no split and no first child."""

    rows: int
    weight: float
    impurity: float
    value: np.ndarray  # [output, class]: class shares, or the mean in class 0
    depth: int
    row_ids: np.ndarray
    origins: np.ndarray  # rows of the table
    split: Split | None = None
    first_child: int = -1
    decrease: float | None = None  # of the best split found, also where it was then refused or not made
    winner: Candidate | None = field(default=None, repr=False)
    candidates: list[Candidate] = field(default_factory=list, repr=False)
    score_scale: float = 0.0  # how large the terms are whose differences the scores of this node show
    surrogates: list[Surrogate] = field(default_factory=list)
    rival_decrease: float | None = None  # largest decrease left waiting when this node was split
    compared: list[Candidate] = field(default_factory=list, repr=False)  # by a criterion's second step,
    close_choice: bool = False  # which could as well have taken another feature
    bounds: tuple[float, float] = (-math.inf, math.inf)  # monotonic limits of the value
    spent: frozenset[int] = frozenset()  # features that had a branch per category above
    doubt: bool = False  # rounding may decide which tests there are
