"""One plain reading of a tree model, from which every format is written.

A model answers a row in four steps, and this is all of it:

    1. each tree leads the row to a leaf                                    (`PortableTree`)
    2. the leaves add up: scores = start + values of the leaves, over `divisor`;
       or the weighted median of their values is taken                      (`median_weights`)
    3. scores become numbers or class shares                                (`link`, `scale`)
    4. the class with the largest score is the answer, the first of equals  (`outputs`)

Votes, weights of members and turns at scores are in the values of the leaves already. Pseudo-votes are the
last of the trees, a single leaf: sums are made in the order in which the model makes them. Features are
positions in `columns`, categories positions in the list of their column, whatever table a member was fitted
on. What is made of a date is a column of numbers; which columns are given is in `given`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hornbeam.exports.columns import GivenColumn, InputColumn, given_columns

__all__ = ["Link", "Output", "PortableModel", "PortableTree", "StandIn"]

FloatArray = npt.NDArray[np.float64]
Link = Literal["identity", "exp", "logistic", "softmax"]


@dataclass(frozen=True)
class StandIn:
    """A test that is asked where a row lacks the feature of a node's own; `branch_of` is by category."""

    column: int
    threshold: float | None
    low_branch: int
    branch_of: tuple[int | None, ...] | None


@dataclass(frozen=True, eq=False)
class PortableTree:
    """A tree as plain lists, an entry per node.

    The children of a node are side by side from `first_child` on; a leaf has no branches. A test on numbers
    sends values up to `threshold` to branch 0, others to branch 1. A test on categories has its branches in
    `branch_of`, one per category, by node. `missing_branch` is where a missing value goes, after the
    stand-ins, if there are any; so does an unseen category, unless `unseen_branch` names another.
    `values` are those of all nodes, for the scores from `first_score` on.
    """

    first_child: list[int]
    n_branches: list[int]
    column: list[int]
    threshold: list[float]
    missing_branch: list[int]
    branch_of: dict[int, tuple[int | None, ...]]
    unseen_branch: dict[int, int]
    stand_ins: dict[int, tuple[StandIn, ...]]
    values: FloatArray
    first_score: int

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.first_child)

    def inner_nodes(self) -> Iterator[int]:
        """Visit the nodes that ask something."""
        return (node for node, n in enumerate(self.n_branches) if n)

    def children(self, node: int) -> range:
        """Return the children of a node, in the order of the branches."""
        return range(self.first_child[node], self.first_child[node] + self.n_branches[node])

    def unseen(self, node: int) -> int:
        """Return the branch of an unseen category; without stand-ins."""
        return self.unseen_branch.get(node, self.missing_branch[node])

    def branch_of_category(self, node: int, category: int) -> int:
        """Return the branch of a category; one that the tree's own table lacked is unseen to it."""
        branch = self.branch_of[node][category]
        return self.unseen(node) if branch is None else branch

    @cached_property
    def sizes(self) -> list[int]:
        """The number of nodes from each node on downwards."""
        sizes, parents = [1] * self.n_nodes, self.parents
        for node in range(self.n_nodes - 1, 0, -1):  # children have larger numbers than their parent
            sizes[parents[node]] += sizes[node]
        return sizes

    @cached_property
    def parents(self) -> list[int]:
        """The parent of each node; -1 for the root."""
        parents = [-1] * self.n_nodes
        for node in self.inner_nodes():
            for child in self.children(node):
                parents[child] = node
        return parents


@dataclass(frozen=True)
class Output:
    """One thing that is predicted: the scores from `begin` to `end`; `labels` are None for a number."""

    begin: int
    end: int
    labels: tuple[Any, ...] | None


@dataclass(frozen=True, eq=False)
class PortableModel:
    """Everything that is needed to answer as the model does.

    With the link "logistic" there is one score for two labels: that of the second.
    """

    estimator: str
    columns: tuple[InputColumn, ...]
    trees: tuple[PortableTree, ...]
    start: tuple[float, ...]
    divisor: float
    median_weights: tuple[float, ...] | None
    link: Link
    scale: float
    outputs: tuple[Output, ...]
    refuses_missing: bool
    refuses_unseen: bool
    has_pseudo_votes: bool = False

    @cached_property
    def given(self) -> tuple[GivenColumn, ...]:
        """The columns that a table has to have: those of the model, but for what is made of dates."""
        return given_columns(self.columns)

    @property
    def has_dates(self) -> bool:
        """Whether dates are given."""
        return any(column.is_date for column in self.given)

    @property
    def n_members(self) -> int:
        """Number of trees that the model itself has."""
        return len(self.trees) - self.has_pseudo_votes

    @property
    def n_scores(self) -> int:
        """Number of scores that the leaves add up to."""
        return len(self.start)

    @property
    def has_classes(self) -> bool:
        """Whether classes are predicted."""
        return self.outputs[0].labels is not None

    @cached_property
    def columns_tested(self) -> tuple[int, ...]:
        """The columns that some tree looks at."""
        tested = {tree.column[node] for tree in self.trees for node in tree.inner_nodes()}
        for tree in self.trees:
            for several in tree.stand_ins.values():
                tested |= {one.column for one in several}
        return tuple(sorted(tested))

    @property
    def has_stand_ins(self) -> bool:
        """Whether other columns are asked where a value is missing."""
        return any(tree.stand_ins for tree in self.trees)

    @property
    def n_thresholds(self) -> int:
        """Number of tests on numbers."""
        return sum(1 for tree in self.trees for node in tree.inner_nodes() if node not in tree.branch_of)

    def thresholds(self) -> list[list[float]]:
        """Return the thresholds that each column is compared with, sorted, each once."""
        found: list[set[float]] = [set() for _ in self.columns]
        for tree in self.trees:
            for node in tree.inner_nodes():
                if node not in tree.branch_of:
                    found[tree.column[node]].add(tree.threshold[node])
            for several in tree.stand_ins.values():
                for one in several:
                    if one.threshold is not None:
                        found[one.column].add(one.threshold)
        return [sorted(thresholds) for thresholds in found]
