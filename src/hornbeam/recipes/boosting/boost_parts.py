"""Gradient boosting on rows that are in several parts, wherever those are: the same trees, bit for bit.

`PartsBoosting` runs the rounds, and grows the trees from what all parts (`boost_part.py`) answer. It sees
sums only, never rows (but for losses whose leaves are quantiles, whose residuals it must see). Sums of cells
are integers, which need no order. Sums of floating-point numbers are made in the same pieces as on one
machine: a piece that lies in two parts is begun by the one and ended by the next. `Parts` is how calls get
there.
"""

from collections import Counter, deque
from collections.abc import Collection, Iterator, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Schema
from hornbeam.data.units import square_of_unit
from hornbeam.model import tree_to_arrays, with_values_times
from hornbeam.recipes.boosting.boost import (
    BoostSettings,
    BoostTarget,
    RoundDraws,
    core_name,
    in_units_of_y,
    refuse_runaway_scores,
)
from hornbeam.recipes.boosting.boost_part import (
    CoreColumn,
    DeltaOrDerivatives,
    LeafNodes,
    News,
    Part,
    PartSpec,
    TreeArrays,
)
from hornbeam.recipes.boosting.boost_sums import added_counts
from hornbeam.recipes.boosting.rounds import Watch

__all__ = ["LocalParts", "Parts", "PartsBoosting"]

FloatArray = npt.NDArray[np.float64]
RowArray = npt.NDArray[np.uint32]

# Nodes that the parts divide at a time, most of them ahead of their turn: with more, a tree takes hardly
# fewer calls, since none can be divided before its test is known, and more are divided in vain.
_NODES_AT_ONCE = 8


class Parts(Protocol):
    """The parts of a fit, in the order of their rows."""

    first_rows: list[int]
    n_rows: int
    adds_on_the_way: bool  # answers of so many parts are better not sent one by one

    def ask(self, call: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Make a call to every part, each with arguments of its own; return what they answer."""

    @property
    def calls_at_once(self) -> int:
        """How many calls for sums may be on their way, so that parts need not wait for the next one."""

    def send_for_sums(self, call: str, arguments: tuple[Any, ...]) -> None:
        """Send one call to all parts. No other call may be made before `next_sums` has returned the sums."""

    def next_sums(self) -> list[Any]:
        """Return what parts answer to the oldest call that was sent, or sums of what some of them do."""

    def ask_one(self, part: int, call: str, arguments: tuple[Any, ...]) -> Any:
        """Make a call to one part."""


class LocalParts:
    """Parts in this process, which answer at once; for tests, several calls may wait to be looked at."""

    def __init__(self, specs: Sequence[PartSpec], *, calls_at_once: int = 1) -> None:
        self.first_rows = [spec.first_row for spec in specs]
        self.n_rows = specs[0].n_rows_of_all
        self.adds_on_the_way = False
        self.calls_at_once = calls_at_once
        self._parts = [Part(spec) for spec in specs]
        self._answers: deque[list[Any]] = deque()

    def ask(self, call: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Make a call to every part."""
        return [getattr(part, call)(*own) for part, own in zip(self._parts, arguments, strict=True)]

    def send_for_sums(self, call: str, arguments: tuple[Any, ...]) -> None:
        """Make one call to all parts."""
        self._answers.append(self.ask(call, [arguments] * len(self._parts)))

    def next_sums(self) -> list[Any]:
        """Return what they have answered to the oldest call."""
        return self._answers.popleft()

    def ask_one(self, part: int, call: str, arguments: tuple[Any, ...]) -> Any:
        """Make a call to one part."""
        return getattr(self._parts[part], call)(*arguments)


class PartsBoosting:
    """A boosting fit on parts at work; `trees` are those so far, in units of the target."""

    def __init__(
        self,
        parts: Parts,
        columns: Sequence[CoreColumn],
        target: BoostTarget,
        settings: BoostSettings,
        draws: RoundDraws,
        *,
        schema: Schema,
        shares_tests: bool = False,
        n_threads: int = 1,
    ) -> None:
        self.trees: list[_core.Tree] = []
        self.target = target
        self._shares_tests = shares_tests and target.loss.n_scores > 1
        self._parts = parts
        self._schema = schema
        self._draws = draws
        self._settings = settings
        self._is_weighted = target.weights is not None
        self._core_weights = target.core_weights() if target.loss.name == "huber" else None
        self._core_trees: list[TreeArrays] = []
        self._n_told = 0  # trees that the parts know
        self._leaf_values: list[FloatArray] | None = None  # of the last trees, if they have just grown
        self._scales: list[Any] | None = None
        self._growing = [
            _core.TreeOfParts(
                parts.n_rows,
                [column.without_rows() for column in columns],
                [_categories(column) for column in columns],
                core_name(target.loss),
                target.loss.parameter,
                n_threads=n_threads,
                **asdict(settings.in_units(target.unit)),
            )
            for _ in range(1 if self._shares_tests else target.loss.n_scores)
        ]

    def run(self, rounds: range, watch: Watch) -> None:
        """Add trees, round by round, until there are enough or somebody says so."""
        for number in rounds:
            if watch.before_round(number):
                break
            self.trees += self.add_round(number)
            if watch.after_round(number, self.trees):
                break

    def go_on_after(self, trees: Sequence[_core.Tree]) -> None:
        """Take up the trees of rounds that another process has run: rows get the scores they had then."""
        self.trees = list(trees)
        self._core_trees = [tree_to_arrays(tree) for tree in trees]
        for arrays in self._core_trees:
            arrays["value"] = arrays["value"] / self.target.unit
        self._n_told, self._leaf_values = 0, None

    def add_round(self, number: int) -> list[_core.Tree]:
        """Grow the trees of a round, one per score."""
        delta = self._huber_delta()
        n_scores = self.target.loss.n_scores
        keys = _core.member_keys(self._draws.key, number * n_scores, n_scores)
        n_rows, roots = self._begin(number, delta, keys)
        self._grow(number, n_rows, keys, roots)
        trees = self._checked_steps(self._finish(delta), self._draws.rows_of(number))
        return self._taken(trees, square_of_unit(self.target.unit))

    def _taken(self, trees: list[_core.Tree], unit_of_gain: float, share: float = 1.0) -> list[_core.Tree]:
        """Note the trees of a round for the parts; return `share` times what they say, in units of y."""
        self._core_trees += [tree_to_arrays(tree) for tree in trees]
        if share < 1.0:
            trees = [with_values_times(tree, share, self._schema) for tree in trees]
        if not all(np.isfinite(tree.value).all() for tree in trees):
            refuse_runaway_scores()
        unit = self.target.unit
        if unit == 1.0:
            return trees
        return [in_units_of_y(tree, unit, unit_of_gain, self._schema) for tree in trees]

    def scores(self, rows: RowArray) -> FloatArray:
        """Return the scores of some rows of the fit, ascending: rows x scores."""
        news = self._news()
        first_rows = self._parts.first_rows
        places = np.searchsorted(rows, [*first_rows, self._parts.n_rows])
        arguments = [
            (news, rows[begin:end] - np.uint32(first))
            for first, begin, end in zip(first_rows, places[:-1], places[1:], strict=True)
        ]
        counted = np.concatenate(self._parts.ask("scores", arguments)) * self.target.unit
        shift = self.target.shift
        return counted + (shift if isinstance(shift, float) else shift[rows])

    # --- Derivatives -------------------------------------------------------------------------------------

    def _news(self) -> News:
        """Return the trees that the parts do not know yet."""
        first, self._n_told = self._n_told, len(self._core_trees)
        values, self._leaf_values = self._leaf_values, None
        return News(first, self._core_trees[first:], values)

    def _ask_all(self, call: str, *arguments: Any) -> list[Any]:
        return self._parts.ask(call, [arguments] * len(self._parts.first_rows))

    def _deltas(self, delta: float) -> Sequence[DeltaOrDerivatives]:
        """Return what each part needs for its derivatives."""
        return [delta] * len(self._parts.first_rows)

    def _by_part(self, of_rows: npt.NDArray[Any]) -> list[npt.NDArray[Any]]:
        """Cut what there is for each row, along the last axis, between the parts."""
        return np.split(of_rows, self._parts.first_rows[1:], axis=-1)

    def _huber_delta(self) -> float:
        if self.target.loss.name != "huber":
            return 0.0
        sizes = np.concatenate(self._ask_all("sizes", self._news()))
        weights = np.empty(0) if self._core_weights is None else self._core_weights.astype(np.float64)
        return _core.boosting_quantile(sizes, weights, self.target.loss.parameter)

    def _begin(self, number: int, delta: float, keys: npt.NDArray[np.uint64]) -> tuple[int, list[list[Any]]]:
        """Begin the trees of a round; return how many rows they grow on, and what parts say of their roots.

        Scales seldom change from one round to the next: then trees have begun with the call that finds them.
        """
        rows = self._draws.rows_of(number)
        chosen, places, n_rows = self._chosen(rows)
        news, shared = self._news(), keys if self._shares_tests else None
        guess = None if self._parts.adds_on_the_way else self._scales
        replies = self._parts.ask(
            "begin_round",
            [
                (news, (own, place), own_delta, shared, guess)
                for own, place, own_delta in zip(chosen, places, self._deltas(delta), strict=True)
            ],
        )
        if self.target.loss.is_steep and not all(reply[0] for reply in replies):
            refuse_runaway_scores()
        listed = rows is not None
        scales: list[Any] = []
        for score in range(len(self._growing)):
            gradients = _core.spread_of_parts([reply[1][score] for reply in replies], listed)
            hessians = None
            if replies[0][2]:
                hessians = _core.spread_of_parts([reply[2][score] for reply in replies], listed)
            scales.append(_core.scale_of_parts(gradients, hessians, n_rows, self._is_weighted))
        self._scales = scales
        if guess is not None and all(map(_same_in_parts, guess, scales)):
            return n_rows, [reply[3] for reply in replies]
        self._parts.send_for_sums("begin_trees", (scales,))
        return n_rows, self._parts.next_sums()

    def _chosen(self, rows: RowArray | None) -> tuple[list[Any], list[int], int]:
        """Tell each part which rows are chosen, as bits, and how many of them are in the parts before it."""
        ends = [*self._parts.first_rows[1:], self._parts.n_rows]
        if rows is None:
            return [None] * len(ends), list(self._parts.first_rows), self._parts.n_rows
        bits = np.zeros(self._parts.n_rows, dtype=np.bool_)
        bits[rows] = True
        chosen = [
            np.packbits(bits[begin:end]) for begin, end in zip(self._parts.first_rows, ends, strict=True)
        ]
        places = np.searchsorted(rows, self._parts.first_rows)
        return chosen, [int(place) for place in places], len(rows)

    # --- Growing -----------------------------------------------------------------------------------------

    def _grow(self, number: int, n_rows: int, keys: npt.NDArray[np.uint64], roots: list[list[Any]]) -> None:
        features = self._draws.features_of(number)
        assert self._scales is not None
        for score, (tree, scale) in enumerate(zip(self._growing, self._scales, strict=True)):
            tree.begin(scale, n_rows, roots, score, features, int(keys[score]))
        waiting: deque[_Division] = deque()
        while True:
            if len(waiting) < self._parts.calls_at_once:
                waiting.extend(self._send_divisions(waiting))
            if not waiting:
                return
            self._take_sums(waiting.popleft())

    def _send_divisions(self, waiting: Collection["_Division"]) -> list["_Division"]:
        """Have nodes divided, in as many calls as may be on their way.

        The sums of one are looked at while the parts work on another. Where sums do not prove that branches
        have enough rows, these are counted, with the next call.
        """
        questions = [tree.questions() for tree in self._growing]
        n_waiting = Counter(score for division in waiting for score in division.tasks)
        tasks = _numbered(
            [tree.tasks(_NODES_AT_ONCE - n_waiting[score]) for score, tree in enumerate(self._growing)]
        )
        n_calls = min(self._parts.calls_at_once - len(waiting), max(1, len(tasks)))
        if not tasks and not any(questions):
            return []
        sent = []
        for k in range(n_calls):
            own = tasks[len(tasks) * k // n_calls : len(tasks) * (k + 1) // n_calls]
            asked = _numbered(questions) if k == 0 else []
            self._parts.send_for_sums("divide", (own, asked))
            sent.append(_Division([task[0] for task in own], [question[0] for question in asked]))
        return sent

    def _take_sums(self, division: "_Division") -> None:
        replies = self._parts.next_sums()
        counts = iter(added_counts(replies))
        first = 0
        for score, tree in enumerate(self._growing):
            for _ in range(division.questions.count(score)):
                tree.answer_question(next(counts))
            n_tasks = division.tasks.count(score)
            tree.answer(replies, first, n_tasks)
            first += n_tasks

    # --- Leaves ------------------------------------------------------------------------------------------

    def _finish(self, delta: float) -> list[_core.Tree]:
        growing = self._growing * (self.target.loss.n_scores // len(self._growing))
        leaves: list[LeafNodes] = [tree.leaves() for tree in growing]
        replies = self._ask_all("sum_leaves", leaves)
        trees, values = [], []
        for score, tree in enumerate(growing):
            answers = [reply[score] for reply in replies]
            blocks = self._blocks_in_order(score, leaves[score][2], answers)
            sizes = np.stack([answer[2] for answer in answers]).sum(axis=0, dtype=np.int64)
            if answers[0][3]:
                residuals, weights = _by_leaf(answers)
                trees.append(
                    tree.finish_residuals(blocks, sizes, self._is_weighted, residuals, weights, delta)
                )
            else:
                trees.append(tree.finish(blocks, sizes, self._is_weighted))
            values.append(tree.leaf_values())
        self._leaf_values = values
        return trees

    def _blocks_in_order(self, score: int, n_leaves: int, answers: Sequence[tuple[Any, ...]]) -> FloatArray:
        """List the sums of all blocks; parts in which one goes on end it, one after the other."""
        rows_per_block = _core.rows_per_leaf_block(self._parts.n_rows, n_leaves)
        ends = [*self._parts.first_rows[1:], self._parts.n_rows]
        blocks: list[FloatArray] = []
        lanes: FloatArray | None = None
        for part, (first, end, answer) in enumerate(zip(self._parts.first_rows, ends, answers, strict=True)):
            if first % rows_per_block:
                lanes = self._parts.ask_one(part, "end_block", (score, n_leaves, lanes))
                end_of_block = min((first // rows_per_block + 1) * rows_per_block, self._parts.n_rows)
                if end < end_of_block:
                    continue
                blocks.append(_core.sum_of_lanes(lanes))
            blocks.append(answer[0])
            lanes = answer[1]
        return np.concatenate(blocks)

    # --- Values from other rows --------------------------------------------------------------------------

    def scores_from(self, trees: Sequence[_core.Tree], rows: RowArray, onto: FloatArray) -> FloatArray:
        """Add what trees say to scores of some rows of the fit, ascending; nothing else changes."""
        first_rows = self._parts.first_rows
        places = np.searchsorted(rows, [*first_rows, self._parts.n_rows])
        arrays = [tree_to_arrays(tree) for tree in trees]
        arguments = [
            (arrays, rows[begin:end] - np.uint32(first), onto[begin:end])
            for first, begin, end in zip(first_rows, places[:-1], places[1:], strict=True)
        ]
        return np.concatenate(self._parts.ask("scores_from", arguments))

    def refit_round(self, trees: Sequence[_core.Tree], share: float) -> list[_core.Tree]:
        """Give the trees of a round values from all rows, times `share`, and add them to the scores."""
        delta = self._huber_delta()
        tests = [tree_to_arrays(tree) for tree in (trees[:1] if self._shares_tests else trees)]
        news = self._news()
        replies = self._parts.ask("refit", [(news, own, tests) for own in self._deltas(delta)])
        if self.target.loss.is_steep and not all(reply[0] for reply in replies):
            refuse_runaway_scores()
        refitted = []
        for score, tree in enumerate(trees):
            answers = [reply[1][score] for reply in replies]
            sums = np.zeros((tree.node_count, 3))
            for block in self._refit_blocks(score, answers):
                sums += block
            sizes = np.stack([answer[2] for answer in answers]).sum(axis=0, dtype=np.int64)
            residuals, weights = np.empty(0), np.empty(0)
            if answers[0][3]:
                residuals, weights = _by_leaf([(None, None, answer[2], answer[3]) for answer in answers])
            core_tree: _core.Tree = self._growing[0].refit(
                tree, sums.ravel(), sizes, residuals, weights, delta
            )
            refitted.append(core_tree)
        return self._taken(self._checked_steps(refitted, None), 1.0, share)

    def _checked_steps(self, trees: list[_core.Tree], rows: RowArray | None) -> list[_core.Tree]:
        """Return the trees of a round as they are to be; `rows` are those that they have grown on."""
        return trees

    def _refit_blocks(self, score: int, answers: Sequence[tuple[Any, ...]]) -> Iterator[FloatArray]:
        """Yield the sums of all blocks; parts in which one goes on end it, one after the other."""
        ends = [*self._parts.first_rows[1:], self._parts.n_rows]
        begun: FloatArray | None = None
        for part, (first, end, answer) in enumerate(zip(self._parts.first_rows, ends, answers, strict=True)):
            if begun is not None:
                begun = self._parts.ask_one(part, "end_refit_block", (score, begun))
                if end < first + -first % _core.rows_per_refit_block and end < self._parts.n_rows:
                    continue
                yield begun
            yield from answer[0]
            begun = answer[1]


class _Division(NamedTuple):
    """A call to divide nodes: the scores of its tasks and of its questions, in order."""

    tasks: list[int]
    questions: list[int]


def _numbered(by_score: Sequence[Sequence[Any]]) -> list[tuple[Any, ...]]:
    """Put the score before each node that is asked about."""
    return [
        (score, *own) if isinstance(own, tuple) else (score, own)
        for score, all_own in enumerate(by_score)
        for own in all_own
    ]


def _same_in_parts(a: tuple[Any, ...], b: tuple[Any, ...]) -> bool:
    """Tell whether two scales are the same for parts: the largest hessian matters to the tree alone."""
    return a[:4] + a[5:] == b[:4] + b[5:]


def _categories(column: CoreColumn) -> list[int]:
    return [] if column.present is None else column.present.tolist()


def _by_leaf(answers: Sequence[tuple[Any, ...]]) -> tuple[FloatArray, FloatArray]:
    """Put the residuals of all parts together, leaf after leaf, with their weights."""
    sizes = [np.cumsum(answer[2])[:-1] for answer in answers]
    together = []
    for which in (0, 1):
        pieces = [
            np.split(answer[3][which], cuts if len(answer[3][which]) else [])
            for answer, cuts in zip(answers, sizes, strict=True)
        ]
        n_leaves = max(len(of_part) for of_part in pieces)
        together.append(
            np.concatenate(
                [of_part[leaf] for leaf in range(n_leaves) for of_part in pieces if leaf < len(of_part)]
            )
        )
    return together[0], together[1]
