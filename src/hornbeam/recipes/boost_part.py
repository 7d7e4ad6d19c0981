"""One part of a boosting fit on rows in several places: what makes it, and the calls that it answers.

A part has the codes, targets and scores of some of the rows, in the order of the whole table. What it
remembers within a round follows from the calls of the round, and before it from the trees so far: whoever has
the rows can take the place of a part that is lost.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam import _core
from hornbeam.data.table import Schema
from hornbeam.model import EncodedRows, Ensemble, tree_from_arrays
from hornbeam.recipes.boost import BoostSettings, BoostTarget, core_name

__all__ = ["CoreColumn", "Part", "PartSpec", "TreeArrays", "specs_of_parts"]

FloatArray = npt.NDArray[np.float64]
RowArray = npt.NDArray[np.uint32]
TreeArrays = dict[str, npt.NDArray[Any]]

_MOST_NARROW = 2**31 - 1


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
    n_threads: int = 1

    @property
    def n_rows(self) -> int:
        """Number of rows of the part."""
        return len(self.y)


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
        self.n_trees = 0

    def add_trees(self, first: int, trees: Sequence[TreeArrays]) -> None:
        """Add what trees say to the scores; those before `first` have been added."""
        new = [tree_from_arrays(arrays, self._spec.schema) for arrays in trees[self.n_trees - first :]]
        if new:
            every_row = EncodedRows(self._codes, np.arange(self._spec.n_rows, dtype=np.uint32))
            model = Ensemble(tuple(new), self._spec.schema)
            leaves = model.leaves(every_row, n_threads=self._spec.n_threads)
            scores = self._rows.scores()
            for number, tree in enumerate(new, start=self.n_trees):
                scores[number % self._spec.n_scores] += tree.value[leaves[:, number - self.n_trees], 0, 0]
            self.n_trees += len(new)

    def sizes(self, first: int, trees: Sequence[TreeArrays]) -> FloatArray:
        """Add trees; return |y - score| of all rows."""
        self.add_trees(first, trees)
        return self._rows.sizes()

    def scores(self, first: int, trees: Sequence[TreeArrays], rows: RowArray) -> FloatArray:
        """Add trees; return the scores of some rows: rows x scores."""
        self.add_trees(first, trees)
        return self._rows.scores().T[rows]

    def begin_round(
        self,
        first: int,
        trees: Sequence[TreeArrays],
        chosen: npt.NDArray[np.uint8] | None,
        first_place: int,
        delta: float,
    ) -> tuple[bool, list[Any], list[Any]]:
        """Add trees, find derivatives; return whether they are finite, and how far they spread, by score."""
        self.add_trees(first, trees)
        self._rows.compute_derivatives(delta)
        rows = None
        if chosen is not None:
            rows = np.flatnonzero(np.unpackbits(chosen, count=self._spec.n_rows)).astype(np.uint32)
        self._rows.choose_rows(rows, first_place)
        n_scores = range(self._spec.n_scores)
        return (
            bool(np.isfinite(self._rows.gradients()).all()),
            [self._rows.spread(score, False) for score in n_scores],
            [self._rows.spread(score, True) for score in n_scores] if self._spec.has_hessians else [],
        )

    def begin_trees(self, scales: Sequence[Any]) -> list[Any]:
        """Begin a tree per score; return the sums of their roots."""
        return [_narrow(self._rows.begin_tree(score, scale, scale[-1])) for score, scale in enumerate(scales)]

    def divide(self, tasks: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Divide nodes; return what is wanted of each: a task names its score, then node and test."""
        return [_narrow(self._rows.divide(*task)) for task in tasks]

    def count(self, questions: Sequence[tuple[int, int]]) -> list[npt.NDArray[np.uint32]]:
        """Count the rows of nodes by code, column after column."""
        return [self._rows.rows_by_code(score, node) for score, node in questions]

    def sum_leaves(self, leaves: Sequence[npt.NDArray[np.uint64]]) -> list[tuple[Any, ...]]:
        """Add up the leaves of each score: whole blocks, an open one, sizes, residuals."""
        replies = []
        for score, nodes in enumerate(leaves):
            residuals = self._rows.residuals(score, nodes) if self._spec.refits_leaves else ()
            sums = self._rows.sum_leaves(score, nodes)
            replies.append((*sums, self._rows.leaf_sizes(score, nodes), residuals))
        return replies

    def end_block(self, score: int, leaves: npt.NDArray[np.uint64], lanes: FloatArray) -> FloatArray:
        """Go on with a block of rows that the part before has begun."""
        return self._rows.end_block(score, leaves, lanes)


def _narrow(sums: Any) -> Any:
    """Halve what is sent: most sums fit 32 bits."""
    n_left, total, cells, categories = sums
    if len(cells) and max(int(cells.max()), -int(cells.min())) <= _MOST_NARROW:
        cells = cells.astype(np.int32)
    return n_left, total, cells, categories


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
                n_threads=n_threads,
            )
        )
    return specs
