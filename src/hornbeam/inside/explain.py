"""Why a tree gave a row its answer: the path of the row, test by test, in words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from hornbeam.data.table import MISSING, UNSEEN, Schema, SparseColumn, Table, read_table_as, shown
from hornbeam.inside import words
from hornbeam.inside.conditions import Interval
from hornbeam.inside.nodes import TreeReading

__all__ = ["Explanation", "Step", "explain", "read_row"]


@dataclass(frozen=True)
class Step:
    """One test that a row came to.

    `node` tested `feature`; the row's `value` (None if it was missing) sent it down `branch` to `child`, of whose
    training rows there were `rows`. `shares` are the class shares there (None if the tree predicts numbers) and
    `prediction` is what `child` would answer. `str` gives the step in words.
    """

    node: int
    feature: str
    value: Any
    branch: int
    child: int
    rows: int
    prediction: Any
    shares: Any
    words: str = field(repr=False, compare=False)

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Explanation:
    """The way of one row through a tree: where it starts, its steps, and the answer of the leaf it ends in."""

    start: str
    steps: tuple[Step, ...]
    prediction: Any
    shares: Any
    leaf: int
    outcome: str

    def __str__(self) -> str:
        steps = [f"{number}. {step}" for number, step in enumerate(self.steps, start=1)]
        return "\n".join([f"start: {self.start}", *steps, f"answer: {self.outcome}"])

    def __repr__(self) -> str:
        return str(self)


def explain(reading: TreeReading, table: Table) -> Explanation:
    """Follow the only row of a table down a tree."""
    steps = []
    node = 0
    while reading.branches(node):
        step = _step(reading, table, node)
        steps.append(step)
        node = step.child
    return Explanation(
        start=f"{reading.row_words(0)}, {reading.share_words(0)}",
        steps=tuple(steps),
        prediction=reading.prediction(node),
        shares=_shares(reading, node),
        leaf=node,
        outcome=reading.answer_words(node),
    )


def _step(reading: TreeReading, table: Table, node: int) -> Step:
    feature = reading.feature(node)
    value = _cell(table, feature)
    branch, told = _branch_taken(reading, node, value)
    child = reading.child(node, branch)
    side = ("left", "right")[branch] if len(reading.branches(node)) == 2 else f"branch {branch}"
    return Step(
        node=node,
        feature=reading.schema.names[feature],
        value=_user_value(reading, feature, value),
        branch=branch,
        child=child,
        rows=reading.rows(child),
        prediction=reading.prediction(child),
        shares=_shares(reading, child),
        words=f"{told}, so {side}: {reading.row_words(child)}, {reading.share_words(child)}",
    )
