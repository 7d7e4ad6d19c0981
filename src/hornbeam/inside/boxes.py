"""The leaves of trees as boxes, and the nearest point to a row at which the sum of the trees is large enough.

Each column is divided into cells, within which all values take the same branch of every test: `Steps` for
numbers that can move up and down, `Choices` for categories and missing values. A leaf is a box: a range of
cells of each `Steps`, a set of cells of each `Choices`. Every cell has a cost, 0 for the row's own.

`nearest` is a best-first search over boxes of cells (branch and bound). A box costs at least the sum of its
cheapest cells, and the sum of the trees in it is at most that of the largest leaves that overlap it. The
cheapest box is examined first: if the sum is large enough at its cheapest point, no cheaper point exists. If
the bound of the box is too small, it is dropped; else it is cut where a better leaf begins. Several answers
may be aimed at in one search: each has boxes of its own, and those of all wait in one queue.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.inside.routes import branches_at
from hornbeam.model import Ensemble

__all__ = ["Aim", "Choices", "Found", "LeafBoxes", "Steps", "leaf_boxes", "nearest", "with_equal_tests"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]

# The arrays of a tree that determine the leaf of a row.
_TESTS = (
    "first_child",
    "feature",
    "threshold",
    "n_branches",
    "missing_branch",
    "category_begin",
    "category_words",
)


@dataclass(frozen=True, eq=False)
class Steps:
    """A number between thresholds: cell c is above `ends[c - 1]` and up to `ends[c]`; `own` is the row's."""

    feature: int
    ends: FloatArray
    own: int
    cost: FloatArray  # infinite where the row may not go


@dataclass(frozen=True, eq=False)
class Choices:
    """Cells without order: `codes` as trees read them, the row's own first."""

    feature: int
    codes: FloatArray
    cost: FloatArray


@dataclass(frozen=True, eq=False)
class LeafBoxes:
    """The leaves that the row can reach, tree by tree."""

    tree: IntArray  # ascending
    low: npt.NDArray[np.int32]  # leaves x steps
    high: npt.NDArray[np.int32]
    allowed: tuple[BoolArray, ...]  # for each of the choices, leaves x cells
    nodes: tuple[IntArray, ...]  # the numbers of these leaves in each tree


@dataclass(frozen=True, eq=False)
class Aim:
    """An answer to reach: what each leaf adds to the margins, and how large their sums must be."""

    worth: FloatArray  # leaves x margins
    needed: FloatArray
    is_enough: Callable[[tuple[int, ...]], bool]  # whether a point has the answer despite rounding


@dataclass(frozen=True, eq=False)
class Found:
    """The cheapest point that was found, as a cell of each of the steps and of each of the choices.

    `cells` is None if there is none. No point that costs less than `bound` reaches the sum that is needed.
    `aim` is the place of the aim that the point is for.
    """

    cells: tuple[int, ...] | None
    cost: float
    bound: float
    aim: int = 0


# --- Leaves ----------------------------------------------------------------------------------------------


def leaf_boxes(
    model: Ensemble, steps: Sequence[Steps], choices: Sequence[Choices], numbers: Sequence[int]
) -> LeafBoxes:
    """Find the box of every leaf of the trees with these numbers."""
    parts = []
    for place, number in enumerate(numbers):
        tree = model.trees[number]
        low, high, allowed = _boxes_of_nodes(model, tree, steps, choices)
        is_leaf = tree.first_child < 0
        is_met = is_leaf & (low <= high).all(axis=1)
        for mask in allowed:
            is_met &= mask.any(axis=1)
        kept = np.flatnonzero(is_met)
        parts.append(
            (np.full(len(kept), place), low[kept], high[kept], [mask[kept] for mask in allowed], kept)
        )
    return LeafBoxes(
        tree=np.concatenate([part[0] for part in parts]),
        low=np.concatenate([part[1] for part in parts]),
        high=np.concatenate([part[2] for part in parts]),
        allowed=tuple(np.concatenate([part[3][k] for part in parts]) for k in range(len(choices))),
        nodes=tuple(part[4] for part in parts),
    )


def with_equal_tests(model: Ensemble) -> list[list[int]]:
    """Group trees, by their numbers, that follow each other and have the same tests.

    Such are the trees of a round of boosting, one per class, that share their tests.
    """
    groups: list[list[int]] = []
    before: list[npt.NDArray[Any]] = []
    names = (*_TESTS, "weighted_n_node_samples") if model.unseen == "majority" else _TESTS
    for number, tree in enumerate(model.trees):
        tests = [getattr(tree, name) for name in names]
        if groups and all(np.array_equal(*pair) for pair in zip(before, tests, strict=True)):
            groups[-1].append(number)
        else:
            groups.append([number])
            before = tests
    return groups


def _boxes_of_nodes(
    model: Ensemble, tree: _core.Tree, steps: Sequence[Steps], choices: Sequence[Choices]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], list[BoolArray]]:
    """Find the box of every node, level by level: the part of its parent's box that the test allows."""
    n = tree.node_count
    low = np.zeros((n, len(steps)), dtype=np.int32)
    high = np.zeros((n, len(steps)), dtype=np.int32)
    high[0] = [len(one.cost) - 1 for one in steps]
    allowed = [np.ones((n, len(one.codes)), dtype=np.bool_) for one in choices]
    parent, depth, feature = tree.parent, tree.depth, tree.feature
    for level in range(1, int(depth.max()) + 1):
        nodes = np.flatnonzero(depth == level)
        above = parent[nodes]
        low[nodes], high[nodes] = low[above], high[above]
        for mask in allowed:
            mask[nodes] = mask[above]
        branch = nodes - tree.first_child[above]
        tested = set(feature[above].tolist())
        for place, step in enumerate(steps):
            if step.feature not in tested:
                continue
            at = feature[above] == step.feature
            some, cut = nodes[at], np.searchsorted(step.ends, tree.threshold[above[at]])
            is_low = branch[at] == 0
            high[some[is_low], place] = np.minimum(high[some[is_low], place], cut[is_low])
            low[some[~is_low], place] = np.maximum(low[some[~is_low], place], cut[~is_low] + 1)
        for place, choice in enumerate(choices):
            at = feature[above] == choice.feature
            for node, test, own in zip(nodes[at], above[at], branch[at], strict=True):
                allowed[place][node] &= branches_at(model, tree, int(test), choice.codes) == own
    return low, high, allowed


# --- Search ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Box:
    """Cells of every column; `point` is the cheapest of them, `costs` is what each of its cells costs.

    `leaves` are those that meet the box; `elsewhere` counts the columns in which each is not at the point.
    """

    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    sets: tuple[BoolArray, ...]
    point: tuple[int, ...]
    costs: tuple[float, ...]
    leaves: IntArray
    elsewhere: npt.NDArray[np.int32]

    def cost(self) -> float:
        """Add up the cost of the cheapest point; infinity if the row cannot reach the box."""
        total = 0.0
        for one in self.costs:
            total += one
        return total


class _Search:
    def __init__(self, boxes: LeafBoxes, steps: Sequence[Steps], choices: Sequence[Choices]) -> None:
        self.boxes, self.steps, self.choices = boxes, steps, choices

    def root(self) -> _Box:
        low = np.zeros(len(self.steps), dtype=np.int32)
        high = np.array([len(one.cost) - 1 for one in self.steps], dtype=np.int32)
        sets = tuple(np.isfinite(one.cost) for one in self.choices)
        ends = zip(self.steps, low.tolist(), high.tolist(), strict=True)
        found = [_cheapest_step(step, first, last) for step, first, last in ends]
        found += [_cheapest_choice(*one) for one in zip(self.choices, sets, strict=True)]
        point, costs = tuple(cell for cell, _ in found), tuple(cost for _, cost in found)
        leaves = np.arange(len(self.boxes.tree))
        elsewhere = np.zeros(len(leaves), dtype=np.int32)
        for place, cell in enumerate(point):
            elsewhere += self._is_elsewhere(leaves, place, cell)
        return _Box(low, high, sets, point, costs, leaves, elsewhere)

    def _is_elsewhere(self, leaves: IntArray, place: int, cell: int) -> BoolArray:
        """Mark leaves that do not contain a cell of one column."""
        boxes, choice = self.boxes, place - len(self.steps)
        is_there: BoolArray
        if choice >= 0:
            is_there = boxes.allowed[choice][leaves, cell]
        else:
            is_there = (boxes.low[leaves, place] <= cell) & (cell <= boxes.high[leaves, place])
        return ~is_there

    def begins(self, leaves: IntArray) -> IntArray:
        """Return where each tree's leaves begin."""
        tree = self.boxes.tree[leaves]
        return np.flatnonzero(np.r_[True, tree[1:] != tree[:-1]])

    def cut(self, box: _Box, leaf: int) -> list[_Box]:
        """Cut a box at the border of a leaf that does not contain its cheapest point."""
        n = len(self.steps)
        for place in range(n):
            cell, low, high = box.point[place], self.boxes.low[leaf, place], self.boxes.high[leaf, place]
            if cell < low:
                return self._cut_steps(box, place, int(low))
            if cell > high:
                return self._cut_steps(box, place, int(high) + 1)
        for place, mask in enumerate(self.boxes.allowed):
            if not mask[leaf, box.point[n + place]]:
                return self._cut_choices(box, place, mask[leaf])
        raise AssertionError("a leaf that is larger is elsewhere")

    def _cut_steps(self, box: _Box, place: int, first: int) -> list[_Box]:
        below, above = box.high.copy(), box.low.copy()
        below[place], above[place] = first - 1, first
        step = self.steps[place]
        lower = _cheapest_step(step, int(box.low[place]), first - 1)
        upper = _cheapest_step(step, first, int(box.high[place]))
        starts, ends = self.boxes.low[box.leaves, place], self.boxes.high[box.leaves, place]
        return [
            replace(self._part(box, place, lower, starts < first), high=below),
            replace(self._part(box, place, upper, ends >= first), low=above),
        ]

    def _cut_choices(self, box: _Box, place: int, inside: BoolArray) -> list[_Box]:
        parts = []
        for wanted in (box.sets[place] & ~inside, box.sets[place] & inside):
            if wanted.any():
                sets = (*box.sets[:place], wanted, *box.sets[place + 1 :])
                met: BoolArray = np.any(self.boxes.allowed[place][box.leaves] & wanted, axis=1)
                at = _cheapest_choice(self.choices[place], wanted)
                parts.append(replace(self._part(box, len(self.steps) + place, at, met), sets=sets))
        return parts

    def _part(self, box: _Box, place: int, at: tuple[int, float], is_met: BoolArray) -> _Box:
        """Keep some leaves of a box, with another cheapest cell of one column: a cell and its cost."""
        point = (*box.point[:place], at[0], *box.point[place + 1 :])
        costs = (*box.costs[:place], at[1], *box.costs[place + 1 :])
        leaves, elsewhere = box.leaves[is_met], box.elsewhere[is_met]
        if at[0] != box.point[place]:
            elsewhere = elsewhere - self._is_elsewhere(leaves, place, box.point[place])
            elsewhere += self._is_elsewhere(leaves, place, at[0])
        return _Box(box.low, box.high, box.sets, point, costs, leaves, elsewhere)


def _cheapest_step(step: Steps, low: int, high: int) -> tuple[int, float]:
    cell = low + int(step.cost[low : high + 1].argmin())
    return cell, float(step.cost[cell])


def _cheapest_choice(choice: Choices, inside: BoolArray) -> tuple[int, float]:
    cell = int(np.where(inside, choice.cost, np.inf).argmin())
    return cell, float(choice.cost[cell])


def nearest(
    boxes: LeafBoxes,
    steps: Sequence[Steps],
    choices: Sequence[Choices],
    *,
    aims: Sequence[Aim],
    known: Found,
    most_boxes: int,
) -> Found:
    """Find the cheapest point that reaches one of the aims; of equal ones, that of the first aim.

    `known` is a point to begin with. After `most_boxes` the search ends with the best point so far.
    """
    search = _Search(boxes, steps, choices)
    best, n_boxes = known, 0
    root = search.root()
    waiting = [(root.cost(), place, place, root) for place in range(len(aims))]
    n_made = len(aims)
    while waiting and waiting[0][:2] < (best.cost, best.aim):
        if n_boxes >= most_boxes:
            return replace(best, bound=waiting[0][0])
        cost, place, _, box = heapq.heappop(waiting)
        aim = aims[place]
        n_boxes += 1
        begins = search.begins(box.leaves)
        margins = np.maximum.reduceat(aim.worth[box.leaves], begins, axis=0)  # trees x margins
        if (margins.sum(axis=0) < aim.needed).any():
            continue
        at_point = aim.worth[box.leaves[box.elsewhere == 0]]
        lacking = at_point.sum(axis=0) < aim.needed
        if not lacking.any() and aim.is_enough(box.point):
            best = Found(box.point, cost, cost, place)
            break
        gaps = (margins - at_point)[:, lacking if lacking.any() else slice(None)].sum(axis=1)
        tree = int(np.argmax(gaps))
        if gaps[tree] <= 0:
            continue  # all leaves here have the same values
        own = box.leaves[begins[tree] : begins[tree + 1] if tree + 1 < len(begins) else None]
        column = int(np.argmax(margins[tree] - at_point[tree]))
        if lacking.any():
            column = int(np.argmax(np.where(lacking, margins[tree] - at_point[tree], -np.inf)))
        for part in search.cut(box, int(own[np.argmax(aim.worth[own, column])])):
            least = part.cost()
            if np.isfinite(least) and (least, place) < (best.cost, best.aim):
                heapq.heappush(waiting, (least, place, n_made, part))
                n_made += 1
    return replace(best, bound=best.cost)
