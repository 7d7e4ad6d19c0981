"""One part of a boosting fit on rows in several places: what makes it, and the calls that it answers.

A part has the codes, targets and scores of some of the rows, in the order of the whole table. What it
remembers within a round follows from the calls of the round, and before it from the trees so far: whoever has
the rows can take the place of a part that is lost.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Schema
from hornbeam.model import EncodedRows, Ensemble, tree_from_arrays
from hornbeam.recipes.boosting.boost import BoostSettings, BoostTarget, core_name, turns

__all__ = [
    "CoreColumn",
    "Derivatives",
    "LeafNodes",
    "News",
    "Part",
    "PartSpec",
    "TreeArrays",
    "specs_of_parts",
]

FloatArray = npt.NDArray[np.float64]
RowArray = npt.NDArray[np.uint32]
TreeArrays = dict[str, npt.NDArray[Any]]
# The leaves of a tree in the parts: nodes, the leaf of each, how many leaves.
LeafNodes = tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint32], int]
# Gradients and hessians of a part's rows, both scores x rows.
Derivatives = tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]
# What a part needs for its derivatives: the delta of huber (0 for other losses), or, for a loss of the user's
# own, the derivatives themselves.
DeltaOrDerivatives = float | Derivatives

_ROWS_PER_REFIT_BLOCK: int = _core.rows_per_refit_block


@dataclass(frozen=True, eq=False)
class CoreColumn:
    """How a column is coded, without the codes: as numbers in bins or one by one, or as categories."""

    has_missing: bool
    values: FloatArray | None = None
    binned: bool = False
    n_categories: int = 0
    present: npt.NDArray[np.uint32] | None = None  # the categories that occur

    def without_rows(self) -> tuple[Any, ...]:
        """Return the column as a tree of parts takes it."""
        if self.values is None:
            return (self.n_categories, self.has_missing)
        return (self.values, self.binned, self.has_missing)

    def with_codes(self, codes: npt.NDArray[Any]) -> tuple[Any, ...]:
        """Return the column as a data set takes it."""
        if self.values is None:
            return (codes, self.n_categories, self.has_missing)
        return (codes, self.values, self.binned, self.has_missing)


@dataclass(frozen=True, eq=False)
class PartSpec:
    """Everything that makes a part; `start` are the scores before the first round, of all rows or of each."""

    columns: tuple[CoreColumn, ...]
    codes: tuple[npt.NDArray[Any], ...]
    schema: Schema
    y: npt.NDArray[np.float32]
    weights: npt.NDArray[np.float32] | None
    start: FloatArray
    first_row: int
    n_rows_of_all: int
    n_scores: int
    loss: str
    loss_parameter: float
    settings: dict[str, Any]
    has_hessians: bool
    refits_leaves: bool
    may_run_away: bool  # derivatives that are not finite are to be told
    n_threads: int = 1

    @property
    def n_rows(self) -> int:
        """Number of rows of the part."""
        return len(self.y)

    def with_settings(self, settings: BoostSettings, target: BoostTarget) -> "PartSpec":
        """Return the same part for trees that grow otherwise."""
        return replace(self, settings=asdict(settings.in_units(target.unit)))


class News(NamedTuple):
    """Trees that parts may not know yet, after `first` others; values of leaves if they have just grown."""

    first: int
    trees: Sequence[TreeArrays]
    values: Sequence[FloatArray] | None = None


class Part:
    """Some of the rows of a fit at work. Calls are made in order; each returns plain arrays."""

    def __init__(self, spec: PartSpec) -> None:
        self._spec = spec
        self._codes = _core.dataset_of_codes(
            spec.n_rows,
            [column.with_codes(codes) for column, codes in zip(spec.columns, spec.codes, strict=True)],
        )
        self._rows = _core.PartRows(
            self._codes,
            y=spec.y,
            weights=spec.weights,
            n_scores=spec.n_scores,
            loss=spec.loss,
            loss_parameter=spec.loss_parameter,
            first_row=spec.first_row,
            n_rows_of_all=spec.n_rows_of_all,
            n_threads=spec.n_threads,
            **spec.settings,
        )
        self._rows.scores()[:] = spec.start.T
        self._grown_on: list[int] = []
        self._left_out: RowArray | None = None  # rows that trees do not grow on
        self._knows_leaves = False  # of the trees that have grown last
        self._leaves: npt.NDArray[np.int32] = np.empty((spec.n_rows, 0), dtype=np.int32)
        self.n_trees = 0

    def add_trees(self, news: News) -> None:
        """Add what trees say to the scores; those before the first of them have been added."""
        new = news.trees[self.n_trees - news.first :]
        if not new:
            return
        if news.values is None or not self._knows_leaves:
            self._add_answers(new, None)
        else:
            for score, own in enumerate(news.values):
                self._rows.add_values(score, own)
            if self._left_out is not None:
                self._add_answers(new, self._left_out)
        self._knows_leaves = False
        self.n_trees += len(new)

    def _add_answers(self, new: Sequence[TreeArrays], rows: RowArray | None) -> None:
        """Add what trees say to the scores of some rows, None for all."""
        own = np.arange(self._spec.n_rows, dtype=np.uint32) if rows is None else rows
        trees = tuple(tree_from_arrays(arrays, self._spec.schema) for arrays in new)
        model = Ensemble(trees, self._spec.schema)
        leaves = model.leaves(EncodedRows(self._codes, own), n_threads=self._spec.n_threads)
        scores = self._rows.scores()
        for number, tree in enumerate(trees):
            to = scores[(self.n_trees + number) % self._spec.n_scores]
            to[slice(None) if rows is None else rows] += tree.value[leaves[:, number], 0, 0]

    def sizes(self, news: News) -> FloatArray:
        """Add trees; return |y - score| of all rows."""
        self.add_trees(news)
        return self._rows.sizes()

    def scores(self, news: News, rows: RowArray) -> FloatArray:
        """Add trees; return the scores of some rows: rows x scores."""
        self.add_trees(news)
        return self._rows.scores().T[rows]

    def begin_round(
        self,
        news: News,
        grown_on: tuple[npt.NDArray[np.uint8] | None, int],
        delta: DeltaOrDerivatives,
        shared: npt.NDArray[np.uint64] | None,
        scales: Sequence[Any] | None,
    ) -> tuple[bool, list[Any], list[Any], Any]:
        """Add trees, find derivatives; return whether they are finite, and how far they spread, by tree.

        There is a tree per score, or with the keys `shared` one for all. `grown_on` marks the rows that trees
        grow on, None for all, and tells the place of the first among those of all parts. If `scales` are the
        ones that the trees will probably have, they are begun at once, and the sums of their roots come last.
        """
        self.add_trees(news)
        self._find_derivatives(delta)
        rows, (chosen, first_place) = None, grown_on
        self._left_out = None
        if chosen is not None:
            is_chosen = np.unpackbits(chosen, count=self._spec.n_rows)
            rows = np.flatnonzero(is_chosen).astype(np.uint32)
            self._left_out = np.flatnonzero(is_chosen == 0).astype(np.uint32)
        self._rows.choose_rows(rows, first_place)
        n_scores = self._spec.n_scores
        self._grown_on = list(range(n_scores))
        if shared is not None:
            self._rows.share_tests(shared)
            self._grown_on = [n_scores]  # the number of their sum
        return (
            not self._spec.may_run_away or bool(np.isfinite(self._rows.gradients()).all()),
            [self._rows.spread(score, False) for score in self._grown_on],
            [self._rows.spread(score, True) for score in self._grown_on] if self._spec.has_hessians else [],
            None if scales is None else self.begin_trees(scales),
        )

    def _find_derivatives(self, delta: DeltaOrDerivatives) -> None:
        if isinstance(delta, tuple):
            self._rows.gradients()[:], self._rows.hessians()[:] = delta
        else:
            self._rows.compute_derivatives(delta)

    def begin_trees(self, scales: Sequence[Any]) -> tuple[Any, ...]:
        """Begin the trees; return the sums of their roots."""
        roots = zip(self._grown_on, scales, strict=True)
        return (*self._rows.begin_trees([(score, scale, scale[-1]) for score, scale in roots]), [])

    def divide(self, tasks: list[tuple[Any, ...]], questions: Sequence[tuple[int, int]]) -> tuple[Any, ...]:
        """Divide nodes; return what is wanted of each, and the numbers of rows by code of other nodes.

        A task names its score, then node and test; a question score and node.
        """
        return (
            *self._rows.divide(tasks),
            [self._rows.rows_by_code(score, node) for score, node in questions],
        )

    def sum_leaves(self, leaves: Sequence[LeafNodes]) -> list[tuple[Any, ...]]:
        """Add up the leaves of each score: whole blocks, an open one, sizes, residuals."""
        replies = []
        for score, nodes in enumerate(leaves):
            residuals = self._rows.residuals(score, nodes) if self._spec.refits_leaves else ()
            sums = self._rows.sum_leaves(score, nodes)
            replies.append((*sums, self._rows.leaf_sizes(score, nodes), residuals))
        self._knows_leaves = True
        return replies

    def end_block(self, score: int, n_leaves: int, lanes: FloatArray) -> FloatArray:
        """Go on with a block of rows that the part before has begun."""
        return self._rows.end_block(score, n_leaves, lanes)

    # --- Trees that are there already --------------------------------------------------------------------

    def leaves(self, trees: Sequence[TreeArrays]) -> npt.NDArray[np.int32]:
        """Return the leaves of trees that rows are in: rows x trees."""
        return self._leaves_of(trees)

    def _leaves_of(self, trees: Sequence[TreeArrays]) -> npt.NDArray[np.int32]:
        model = Ensemble(
            tuple(tree_from_arrays(arrays, self._spec.schema) for arrays in trees), self._spec.schema
        )
        every_row = EncodedRows(self._codes, np.arange(self._spec.n_rows, dtype=np.uint32))
        return model.leaves(every_row, n_threads=self._spec.n_threads)

    def scores_from(self, trees: Sequence[TreeArrays], rows: RowArray, onto: FloatArray) -> FloatArray:
        """Add what trees say to scores of some rows."""
        there = tuple(tree_from_arrays(arrays, self._spec.schema) for arrays in trees)
        model = Ensemble(there, self._spec.schema, adds_to=turns(len(there), self._spec.n_scores))
        found = np.array(onto[:, np.newaxis, :], order="C")
        model.total(EncodedRows(self._codes, rows), n_threads=self._spec.n_threads, onto=found)
        return found[:, 0, :]

    def refit(
        self, news: News, delta: DeltaOrDerivatives, tests: Sequence[TreeArrays]
    ) -> tuple[bool, list[tuple[Any, ...]]]:
        """Add trees, find derivatives; add these up by the leaves of `tests`: a tree per score, or one.

        Per score: sums of whole blocks, of an open one, rows by node, residuals and their weights.
        """
        self.add_trees(news)
        self._find_derivatives(delta)
        leaves = self._leaves_of(tests)
        self._leaves = np.broadcast_to(leaves, (self._spec.n_rows, self._spec.n_scores))
        n_nodes = [len(arrays["first_child"]) for arrays in tests] * (self._spec.n_scores // len(tests))
        replies = []
        for score, n in enumerate(n_nodes):
            sizes = np.bincount(self._leaves[:, score], minlength=n)
            blocks, open_block = self._refit_sums(score, n)
            residuals = self._residuals_by_node(score) if self._spec.refits_leaves else ()
            replies.append((blocks, open_block, sizes, residuals))
        return bool(np.isfinite(self._rows.gradients()).all()), replies

    def end_refit_block(self, score: int, begun: FloatArray) -> FloatArray:
        """Go on with a block of rows that the part before has begun: node x 3."""
        rows = slice(0, -self._spec.first_row % _ROWS_PER_REFIT_BLOCK)
        return self._sums(score, rows, self._leaves[rows, score], begun)

    def _refit_sums(self, score: int, n_nodes: int) -> tuple[FloatArray, FloatArray | None]:
        """Add up the blocks that begin here: whole ones, and one that ends in a later part."""
        end, n_rows = self._spec.first_row + self._spec.n_rows, self._spec.n_rows
        begin = min(-self._spec.first_row % _ROWS_PER_REFIT_BLOCK, n_rows)
        blocks = np.arange(n_rows - begin) // _ROWS_PER_REFIT_BLOCK
        n_blocks = -(-(n_rows - begin) // _ROWS_PER_REFIT_BLOCK)
        rows = slice(begin, n_rows)
        places = self._leaves[rows, score] + blocks * n_nodes
        sums = self._sums(score, rows, places, np.zeros((n_blocks * n_nodes, 3)))
        sums = sums.reshape(n_blocks, n_nodes, 3)
        if not n_blocks or end == self._spec.n_rows_of_all or end % _ROWS_PER_REFIT_BLOCK == 0:
            return sums, None
        return sums[:-1], sums[-1]

    def _sums(self, score: int, rows: slice, places: npt.NDArray[Any], onto: FloatArray) -> FloatArray:
        """Add gradients, hessians and weights of rows, one after the other, to what is in their places."""
        spec, ones = self._spec, np.ones(len(places))
        values = (
            self._rows.gradients()[score, rows],
            self._rows.hessians()[score, rows] if spec.has_hessians else ones,
            ones if spec.weights is None else spec.weights[rows],
        )
        places = np.concatenate([np.arange(len(onto)), places])  # what is there comes first
        sums = [
            np.bincount(places, weights=np.concatenate([there, own]), minlength=len(onto))
            for there, own in zip(onto.T, values, strict=True)
        ]
        return np.stack(sums, axis=1)

    def _residuals_by_node(self, score: int) -> tuple[FloatArray, ...]:
        order = np.argsort(self._leaves[:, score], kind="stable")
        residuals = self._spec.y.astype(np.float64) - self._rows.scores()[score]
        weights = np.empty(0) if self._spec.weights is None else self._spec.weights.astype(np.float64)[order]
        return residuals[order], weights


def specs_of_parts(
    columns: Sequence[CoreColumn],
    schema: Schema,
    target: BoostTarget,
    settings: BoostSettings,
    first_rows: Sequence[int],
    *,
    n_threads: int,
) -> list[PartSpec]:
    """Say what makes each part, all but the codes of its rows, which begin at `first_rows`."""
    loss, y, weights = target.loss, target.core_y(), target.core_weights()
    hessian_is_one, refits_leaves = _core.facts_of_loss(core_name(loss))
    specs = []
    for begin, end in zip(first_rows, [*first_rows[1:], len(y)], strict=True):
        start = np.zeros((1, loss.n_scores))
        if not loss.is_of_differences:
            start = target.baseline[np.newaxis]
            start = (start if target.offset is None else start + target.offset[begin:end]) / target.unit
        specs.append(
            PartSpec(
                columns=tuple(columns),
                codes=(),
                schema=schema,
                y=y[begin:end],
                weights=None if weights is None else weights[begin:end],
                start=start,
                first_row=begin,
                n_rows_of_all=len(y),
                n_scores=loss.n_scores,
                loss=core_name(loss),
                loss_parameter=loss.parameter,
                settings=asdict(settings.in_units(target.unit)),
                has_hessians=not (hessian_is_one and weights is None),
                refits_leaves=refits_leaves,
                may_run_away=loss.is_steep,
                n_threads=n_threads,
            )
        )
    return specs
