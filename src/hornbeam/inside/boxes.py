"""The leaves of trees as boxes, and the nearest point to a row at which the sum of the trees is large enough.

Each column is divided into cells, within which all values take the same branch of every test: `Steps` for
numbers that can move up and down, `Choices` for categories and missing values. A leaf is a box: a range of
cells of each `Steps`, a set of cells of each `Choices`. Every cell has a cost, 0 for the row's own.

`nearest` is a best-first search over boxes of cells (branch and bound). A box costs at least the sum of its
cheapest cells, and the sum of the trees in it is at most that of the largest leaves that overlap it. The
cheapest box is examined first: if the sum is large enough at its cheapest point, no cheaper point exists. If
the bound of the box is too small, it is dropped; else it is cut where a better leaf begins.
"""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.inside.routes import branches_at
from hornbeam.model import Ensemble

__all__ = ["Choices", "Found", "LeafBoxes", "Steps", "leaf_boxes", "nearest"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]


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
    """The leaves that the row can come to: `worth` is what each adds to the margins, leaves x margins."""

    tree: IntArray  # ascending
    low: npt.NDArray[np.int32]  # leaves x steps
    high: npt.NDArray[np.int32]
    allowed: tuple[BoolArray, ...]  # for each of the choices, leaves x cells
    worth: FloatArray


@dataclass(frozen=True, eq=False)
class Found:
    """The cheapest point that was found, as a cell of each of the steps and of each of the choices.

    `cells` is None if there is none. No point that costs less than `bound` reaches the sum that is needed.
    """

    cells: tuple[int, ...] | None
    cost: float
    bound: float
    n_boxes: int


# --- Leaves ----------------------------------------------------------------------------------------------


def leaf_boxes(
    model: Ensemble,
    worth_of: Callable[[int, FloatArray], FloatArray],
    steps: Sequence[Steps],
    choices: Sequence[Choices],
) -> LeafBoxes:
    """Find the box of every leaf. `worth_of` turns the values of a tree's nodes into margins."""
    parts = []
    for number, tree in enumerate(model.trees):
        low, high, allowed = _boxes_of_nodes(model, tree, steps, choices)
        is_leaf = tree.first_child < 0
        is_met = is_leaf & (low <= high).all(axis=1)
        for mask in allowed:
            is_met &= mask.any(axis=1)
        kept = np.flatnonzero(is_met)
        worth = worth_of(number, tree.value[kept].reshape(len(kept), -1))
        parts.append(
            (np.full(len(kept), number), low[kept], high[kept], [mask[kept] for mask in allowed], worth)
        )
    return LeafBoxes(
        tree=np.concatenate([part[0] for part in parts]),
        low=np.concatenate([part[1] for part in parts]),
        high=np.concatenate([part[2] for part in parts]),
        allowed=tuple(np.concatenate([part[3][k] for part in parts]) for k in range(len(choices))),
        worth=np.concatenate([part[4] for part in parts]),
    )


def _boxes_of_nodes(
    model: Ensemble, tree: _core.Tree, steps: Sequence[Steps], choices: Sequence[Choices]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], list[BoolArray]]:
    """Find the box of every node, level by level: that of its parent, and what the test leaves of it."""
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
        for place, step in enumerate(steps):
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


@dataclass(eq=False)
class _Box:
    low: npt.NDArray[np.int32]
    high: npt.NDArray[np.int32]
    sets: tuple[BoolArray, ...]
    leaves: IntArray  # those that meet the box
    point: tuple[int, ...] = ()  # its cheapest


class _Search:
    def __init__(self, boxes: LeafBoxes, steps: Sequence[Steps], choices: Sequence[Choices]) -> None:
        self.boxes, self.steps, self.choices = boxes, steps, choices

    def root(self) -> _Box:
        return _Box(
            np.zeros(len(self.steps), dtype=np.int32),
            np.array([len(one.cost) - 1 for one in self.steps], dtype=np.int32),
            tuple(np.isfinite(one.cost) for one in self.choices),
            np.arange(len(self.boxes.tree)),
        )

    def cheapest(self, box: _Box) -> float:
        """Set the cheapest point of a box; return what it costs, infinity if the row may go nowhere there."""
        total, point = 0.0, []
        for step, low, high in zip(self.steps, box.low.tolist(), box.high.tolist(), strict=True):
            cell = low + int(np.argmin(step.cost[low : high + 1]))
            point.append(cell)
            total += float(step.cost[cell])
        for choice, inside in zip(self.choices, box.sets, strict=True):
            cell = int(np.argmin(np.where(inside, choice.cost, np.inf)))
            point.append(cell)
            total += float(choice.cost[cell])
        box.point = tuple(point)
        return total

    def largest(self, leaves: IntArray) -> tuple[FloatArray, IntArray]:
        """Return the largest margins of each tree, trees x margins, and where each tree's leaves begin."""
        tree = self.boxes.tree[leaves]
        begins = np.flatnonzero(np.r_[True, tree[1:] != tree[:-1]])
        return np.maximum.reduceat(self.boxes.worth[leaves], begins, axis=0), begins

    def leaves_at(self, box: _Box) -> IntArray:
        """Return the leaf of each tree at the cheapest point of a box."""
        leaves = box.leaves
        n = len(self.steps)
        if n:
            at = np.array(box.point[:n])
            inside = (self.boxes.low[leaves] <= at) & (at <= self.boxes.high[leaves])
            leaves = leaves[inside.all(axis=1)]
        for mask, cell in zip(self.boxes.allowed, box.point[n:], strict=True):
            leaves = leaves[mask[leaves, cell]]
        return leaves

    def cut(self, box: _Box, leaf: int) -> list[_Box]:
        """Cut a box where a leaf begins that its cheapest point is not in."""
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
        starts, ends = self.boxes.low[box.leaves, place], self.boxes.high[box.leaves, place]
        return [
            _Box(box.low, below, box.sets, box.leaves[starts < first]),
            _Box(above, box.high, box.sets, box.leaves[ends >= first]),
        ]

    def _cut_choices(self, box: _Box, place: int, inside: BoolArray) -> list[_Box]:
        parts = []
        for wanted in (box.sets[place] & ~inside, box.sets[place] & inside):
            if wanted.any():
                sets = (*box.sets[:place], wanted, *box.sets[place + 1 :])
                met = (self.boxes.allowed[place][box.leaves] & wanted).any(axis=1)
                parts.append(_Box(box.low, box.high, sets, box.leaves[met]))
        return parts


def nearest(
    boxes: LeafBoxes,
    steps: Sequence[Steps],
    choices: Sequence[Choices],
    *,
    needed: FloatArray,
    is_enough: Callable[[tuple[int, ...]], bool],
    known: Found,
    most_boxes: int,
) -> Found:
    """Find the cheapest point whose margins are at least `needed`, and that `is_enough`.

    `known` is a point to begin with. After `most_boxes` the search ends with what it has.
    """
    search = _Search(boxes, steps, choices)
    best, n_boxes = known, 0
    root = search.root()
    waiting: list[tuple[float, int, _Box]] = [(search.cheapest(root), 0, root)]
    while waiting and waiting[0][0] < best.cost:
        if n_boxes >= most_boxes:
            return Found(best.cells, best.cost, waiting[0][0], n_boxes)
        cost, _, box = heapq.heappop(waiting)
        n_boxes += 1
        margins, begins = search.largest(box.leaves)
        if (margins.sum(axis=0) < needed).any():
            continue
        at_point = boxes.worth[search.leaves_at(box)]
        lacking = at_point.sum(axis=0) < needed
        if not lacking.any() and is_enough(box.point):
            best = Found(box.point, cost, cost, n_boxes)
            break
        gaps = (margins - at_point)[:, lacking if lacking.any() else slice(None)].sum(axis=1)
        tree = int(np.argmax(gaps))
        if gaps[tree] <= 0:
            continue  # all leaves here say the same
        own = box.leaves[begins[tree] : begins[tree + 1] if tree + 1 < len(begins) else None]
        column = int(np.argmax(margins[tree] - at_point[tree]))
        if lacking.any():
            column = int(np.argmax(np.where(lacking, margins[tree] - at_point[tree], -np.inf)))
        for part in search.cut(box, int(own[np.argmax(boxes.worth[own, column])])):
            least = search.cheapest(part)
            if np.isfinite(least) and least < best.cost:
                heapq.heappush(waiting, (least, len(waiting) + n_boxes * 2, part))
    return Found(best.cells, best.cost, best.cost, n_boxes)
