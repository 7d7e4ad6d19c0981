"""Pruning a grown tree: by validation error, by cost complexity, or by C4.5's pessimistic estimate.

In: a tree and, for the first two, rows to judge it. Out: a `Pruned`, which is the smaller tree, a log of
every cut and, for cost complexity, the table of the nested sequence from which one tree was chosen. The cuts
are found in C++ (see prune/prune.h); this file supplies the errors that they are based on.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.data.units import square_of_unit, unit_of
from hornbeam.model import Ensemble, tree_from_arrays, tree_to_arrays
from hornbeam.recipes.holdout import HeldOut

__all__ = [
    "AsIfLeaves",
    "Judge",
    "Judgement",
    "PruneSelect",
    "Pruned",
    "PruningLog",
    "PruningRecord",
    "PruningTable",
    "as_if_leaves",
    "cut_at_alpha",
    "cut_to_leaves",
    "leaf_sums",
    "matching_steps",
    "prune_by_pessimism",
    "prune_by_table",
    "prune_by_validation",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
PruneSelect = Literal["cv", "cv_1se", "validation"]

# Numbers that differ by less, relative to their size, count as equal; the core has the same slack.
_SLACK = 2.0**-40
_LARGEST_EXPONENT = 1000  # of a sum of errors: those of nodes are added up and compared


@dataclass(frozen=True, eq=False)
class PruningLog:
    """Cuts in their order, as parallel arrays; nodes are numbered as in the tree before pruning.

    The errors are those of the whole tree: a share of wrong answers, or a mean squared error.
    """

    node: IntArray
    nodes_removed: IntArray
    error_before: FloatArray
    error_after: FloatArray

    @classmethod
    def of(cls, log: dict[str, npt.NDArray[np.generic]], *, unit: float) -> "PruningLog":
        """Convert a log of the core, whose errors are in units of `unit`."""
        return cls(
            node=log["node"].astype(np.int64),
            nodes_removed=log["nodes_removed"].astype(np.int64),
            error_before=log["error_before"].astype(np.float64) / unit,
            error_after=log["error_after"].astype(np.float64) / unit,
        )

    def some(self, which: npt.NDArray[np.bool_]) -> "PruningLog":
        """Keep some of the cuts."""
        return PruningLog(**{name: array[which] for name, array in vars(self).items()})


@dataclass(frozen=True, eq=False)
class PruningTable:
    """The nested trees of cost-complexity pruning, the whole tree first, and the one that was chosen.

    `error` and `standard_error` come from rows that the judged trees did not see.
    """

    alpha: FloatArray
    leaves: IntArray
    cost: FloatArray
    error: FloatArray
    standard_error: FloatArray
    chosen: int


@dataclass(frozen=True, eq=False)
class Pruned:
    """A smaller tree, what was cut, and what it was chosen from."""

    tree: _core.Tree
    log: PruningLog
    table: PruningTable | None = None


@dataclass(frozen=True, eq=False)
class PruningRecord:
    """What a fitted tree keeps of its pruning; `tests` are those of the nodes that were cut, in words."""

    log: PruningLog
    tests: tuple[str, ...]
    table: PruningTable | None


# --- Reduced error ---------------------------------------------------------------------------------------


def prune_by_validation(tree: _core.Tree, held: HeldOut, judge: "Judge") -> Pruned:
    """Cut, one by one, the node whose removal lowers the validation error most, until none does."""
    errors, total = _errors_and_weight(tree, held, judge)
    pruned, log = _core.prune_reduced_error(tree, errors)
    return Pruned(pruned, PruningLog.of(log, unit=total))


def _errors_and_weight(tree: _core.Tree, held: HeldOut, judge: "Judge") -> tuple[FloatArray, float]:
    """Return each node's error as a leaf, summed up over rows, and the weight of all rows.

    If sums over extreme targets of great weight would overflow, weights are divided by a power of two.
    """
    errors, square = judge.sums(tree, held)["error"], square_of_unit(judge.unit)
    total = _Weight.of(held).total
    exponent = int(np.frexp(errors.max())[1] + np.frexp(square)[1])
    down = max(0, exponent - _LARGEST_EXPONENT)
    return np.ldexp(errors, -down) * square, float(np.ldexp(total, -down))


@dataclass(frozen=True, eq=False)
class AsIfLeaves:
    """Nodes with tests, and their validation errors as they are and as leaves; costs are sums over rows."""

    node: IntArray
    weight: FloatArray
    cost_as_branch: FloatArray
    cost_as_leaf: FloatArray
    error: float
    error_if_leaf: FloatArray


def as_if_leaves(tree: _core.Tree, held: HeldOut, judge: "Judge") -> AsIfLeaves:
    """Judge every node with a test as it is, and as if it were a leaf."""
    as_leaf, total = _errors_and_weight(tree, held, judge)
    inner = np.flatnonzero(tree.first_child >= 0)
    as_branch = np.where(tree.first_child < 0, as_leaf, 0.0)
    for node in inner[::-1]:  # children come after their parents
        first = int(tree.first_child[node])
        as_branch[node] = as_branch[first : first + int(tree.n_branches[node])].sum()
    change = (as_leaf - as_branch)[inner]
    leaves = judge.leaves_of(tree, held)
    reached = np.bincount(leaves, weights=held.weights, minlength=tree.node_count).astype(np.float64)
    for node in inner[::-1]:
        first = int(tree.first_child[node])
        reached[node] = reached[first : first + int(tree.n_branches[node])].sum()
    return AsIfLeaves(
        node=inner.astype(np.int64),
        weight=reached[inner],
        cost_as_branch=as_branch[inner],
        cost_as_leaf=as_leaf[inner],
        error=float(as_branch[0] / total),
        error_if_leaf=(as_branch[0] + change) / total,
    )


# --- Pessimistic -----------------------------------------------------------------------------------------


def prune_by_pessimism(tree: _core.Tree, confidence: float) -> Pruned:
    """Cut where a leaf is expected to make no more errors than the subtree, judged by training rows alone."""
    pruned, log = _core.prune_pessimistic(tree, confidence)
    return Pruned(pruned, PruningLog.of(log, unit=float(tree.weighted_n_node_samples[0])))


# --- Cost complexity -------------------------------------------------------------------------------------


def cut_at_alpha(tree: _core.Tree, alpha: float, *, by_error: bool) -> Pruned:
    """Return the smallest tree of the sequence that is best at a given cost per leaf."""
    path = _core.cost_complexity_path(tree, by_error)
    step = int(np.searchsorted(path["alpha"], alpha * (1 + _SLACK), side="right")) - 1 if alpha > 0 else 0
    return _cut_at_step(tree, path, step, None)


def cut_to_leaves(tree: _core.Tree, leaves: int, *, by_error: bool) -> Pruned:
    """Return the largest tree of the sequence with at most this many leaves."""
    path = _core.cost_complexity_path(tree, by_error)
    step = int(np.argmax(path["n_leaves"] <= leaves))  # the number falls, down to the root alone
    return _cut_at_step(tree, path, step, None)


def prune_by_table(tree: _core.Tree, judged: "Judgement", select: PruneSelect, *, by_error: bool) -> Pruned:
    """Choose the tree of least error, or with "cv_1se" the smallest within one standard error of it.

    Of trees with equal errors the smallest is taken.
    """
    path = _core.cost_complexity_path(tree, by_error)
    least = float(judged.error.min())
    limit = least + _SLACK * abs(least)
    if select == "cv_1se":
        limit += judged.standard_error[np.flatnonzero(judged.error <= limit)[-1]]
    chosen = int(np.flatnonzero(judged.error <= limit)[-1])
    table = PruningTable(
        alpha=path["alpha"],
        leaves=path["n_leaves"],
        cost=path["cost"],
        error=judged.error,
        standard_error=judged.standard_error,
        chosen=chosen,
    )
    return _cut_at_step(tree, path, chosen, table)


def _cut_at_step(tree: _core.Tree, path: dict[str, Any], step: int, table: PruningTable | None) -> Pruned:
    cut = np.flatnonzero(path["removed_at"] <= step).astype(np.int32)
    log = PruningLog.of(path["log"], unit=1.0)
    happened = path["removed_at"][log.node] <= step
    return Pruned(_core.collapse(tree, cut), log.some(happened), table)


# --- The evidence ----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Judgement:
    """The error of every tree of a sequence on rows it did not see, and its standard error."""

    error: FloatArray
    standard_error: FloatArray

    def rescaled(self, square: float) -> "Judgement":
        """Return the same in units of the targets squared."""
        return self if square == 1.0 else Judgement(self.error * square, self.standard_error * square)


@dataclass(frozen=True)
class _Weight:
    """The weight of some rows, and the sum of its squares."""

    total: float
    squares: float

    @classmethod
    def of(cls, held: HeldOut) -> "_Weight":
        if held.weights is None:
            return cls(float(held.rows.n_rows), float(held.rows.n_rows))
        return cls(float(held.weights.sum()), float((held.weights**2).sum()))


def _judgement(sums: list[dict[str, FloatArray]], weights: list[_Weight]) -> Judgement:
    """Pool the rows of all folds: their mean error, and the standard error of a weighted mean."""
    total = sum(weight.total for weight in weights)
    squares = sum(weight.squares for weight in weights)
    pooled = {name: np.sum([each[name] for each in sums], axis=0) for name in sums[0]}
    error = pooled["error"] / total
    # The sum of w^2 (e - mean)^2, multiplied out.
    spread = pooled["squared_weight_square"] - 2 * error * pooled["squared_weight_error"] + error**2 * squares
    return Judgement(error, np.sqrt(np.maximum(spread, 0)) / total)


@dataclass(frozen=True, eq=False)
class Judge:
    """Judges trees on rows they did not see; `model` says how these are read and sent down a tree.

    `unit` is the unit of the targets while errors are squared, and squared again.
    """

    model: Ensemble
    n_threads: int
    by_error: bool = False
    unit: float = 1.0

    @staticmethod
    def unit_for(target: ClassTarget | RegressionTarget) -> float:
        """Return the unit in which fourth powers of all the targets of a fit can be added up."""
        return 1.0 if isinstance(target, ClassTarget) else unit_of(target.values, 200)

    def by_validation(self, tree: _core.Tree, held: HeldOut) -> Judgement:
        """Judge every tree of the sequence on validation rows."""
        n_steps = len(_core.cost_complexity_path(tree, self.by_error)["alpha"])
        sums = self._sums_at(tree, held, lambda _: np.arange(n_steps))
        return _judgement([sums], [_Weight.of(held)]).rescaled(square_of_unit(self.unit))

    def by_folds(self, tree: _core.Tree, fold_trees: Iterator[tuple[_core.Tree, HeldOut]]) -> Judgement:
        """Judge every tree of the sequence by cross-validation (Breiman et al. 1984, section 3.4).

        The tree that is best for alphas from a to b is judged by the trees that the folds prefer at the
        geometric mean of a and b, each on the rows it did not see.
        """
        steps_of = matching_steps(_core.cost_complexity_path(tree, self.by_error)["alpha"])
        sums, weights = [], []
        for fold_tree, held in fold_trees:
            sums.append(self._sums_at(fold_tree, held, steps_of))
            weights.append(_Weight.of(held))
        return _judgement(sums, weights).rescaled(square_of_unit(self.unit))

    def _sums_at(
        self, tree: _core.Tree, held: HeldOut, steps_of: Callable[[FloatArray], IntArray]
    ) -> dict[str, FloatArray]:
        """Sum errors over the leaves that a tree has at some steps, which `steps_of` finds by its alphas."""
        path = _core.cost_complexity_path(tree, self.by_error)
        steps = steps_of(path["alpha"])
        return {
            name: leaf_sums(tree, path, per_node)[steps] for name, per_node in self.sums(tree, held).items()
        }

    def leaves_of(self, tree: _core.Tree, held: HeldOut) -> npt.NDArray[np.int32]:
        """Find the leaf of each row."""
        model = replace(self.model, trees=(tree,))
        return model.leaves(held.rows, n_threads=self.n_threads)[:, 0]

    def sums(self, tree: _core.Tree, held: HeldOut) -> dict[str, FloatArray]:
        """Sum up, per node, what it would cost as a leaf on the rows that reach it, the unit being 1."""
        leaves = self.leaves_of(tree, held)
        targets = held.targets()
        if self.unit != 1.0:
            arrays = tree_to_arrays(tree)
            tree = tree_from_arrays({**arrays, "value": arrays["value"] / self.unit}, self.model.schema)
            targets["reals"] = targets["reals"] / self.unit
        sums: dict[str, FloatArray] = _core.validation_sums(tree, np.ascontiguousarray(leaves), **targets)
        return sums


def matching_steps(alphas: FloatArray) -> Callable[[FloatArray], IntArray]:
    """Return a function from the alphas of another tree to its steps that match those of a tree.

    A step that is best from one alpha to the next is matched by what the other tree prefers at their
    geometric mean.
    """
    unit = unit_of(alphas)
    counted = alphas / unit
    between = np.sqrt(counted * np.append(counted[1:], np.inf)) * unit if len(alphas) > 1 else alphas

    def steps_of(other_alphas: FloatArray) -> IntArray:
        steps: IntArray = np.searchsorted(other_alphas, between * (1 + _SLACK), side="right") - 1
        steps[0] = 0  # at alpha 0 nothing is cut, not even a split that gains nothing
        return steps

    return steps_of


def leaf_sums(tree: _core.Tree, path: dict[str, Any], per_node: FloatArray) -> FloatArray:
    """Sum numbers of nodes over the leaves that a tree has at each step of its path.

    A node is a leaf from the step that cuts it until the step that cuts its parent.
    """
    n_steps = len(path["alpha"])
    begin = path["removed_at"]
    end = np.where(tree.parent >= 0, begin[tree.parent], n_steps)
    change = np.zeros(n_steps + 1)
    np.add.at(change, begin, per_node)
    np.add.at(change, end, -per_node)
    return np.cumsum(change)[:-1]
