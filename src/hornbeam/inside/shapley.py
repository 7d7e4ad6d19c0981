"""What each column adds to the score of each row, exactly: Shapley values of the sum of some trees.

A `TreeSum` defines which trees are added up, and how; `contributions_of` lets the core compute the parts of
all sums and adds them up as `Contributions`, by the columns that the user has given. The two games, by path
and by background, are described in docs/explaining.md.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import _safe_indexing

from hornbeam import _core
from hornbeam._optional import require
from hornbeam.data.table import Table
from hornbeam.inside.medians import TreeMedian
from hornbeam.inside.words import printable
from hornbeam.model import Ensemble

__all__ = ["Contributions", "ScoreSum", "TreeSum", "contributions_of"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TreeSum:
    """Trees over one schema, each with its weight; with `votes` a tree says 1 for its largest class.

    `columns` maps the columns that these trees were given to those that the user knows, where they are
    others: a member may have been fitted on some of them. Several columns may be derived from one, such as a
    date; their parts are added up. `picked` are the user's columns that the trees read, None for all. `onto`
    is the matrix that turns the scores of these trees into those of the whole model, own scores x scores.
    """

    model: Ensemble
    weights: FloatArray
    votes: bool = False
    columns: npt.NDArray[np.int32] | None = None
    picked: npt.NDArray[np.int32] | None = None
    onto: FloatArray | None = None

    @property
    def columns_of_user(self) -> npt.NDArray[np.int32] | None:
        """Which of the user's columns each column of the trees is derived from; None if they are the same."""
        schema = self.model.schema
        if not schema.parts:
            return self.columns
        sources = np.array(schema.sources, dtype=np.int32)
        return sources if self.columns is None else self.columns[sources]

    @cached_property
    def _explainer(self) -> _core.Explainer:
        model = self.model
        return _core.Explainer(
            model.core_trees, self.weights, model.adds_to, self.votes, model.unseen == "majority"
        )

    def read(self, X: Any, *, estimator_name: str) -> Table:
        """Read a table as these trees do."""
        if isinstance(X, Table):  # has been read already
            return X
        X = X if self.picked is None else _safe_indexing(X, self.picked, axis=1)
        return self.model.read(X, estimator_name=estimator_name)

    def days(self, table: Table) -> dict[int, FloatArray]:
        """Return the values of the user's columns of dates, by their place."""
        schema, columns = self.model.schema, self.columns_of_user
        found = {}
        for place, column in enumerate(table.columns):
            part = schema.part(place)
            if part is not None and part.is_first and columns is not None:
                found[int(columns[place])] = column.dense().astype(np.float64)
        return found

    def refuse_paths_without_weights(self, background: Table | None) -> None:
        """Raise if there is no background and the trees do not say how many rows took which branch."""
        if background is None and not self._explainer.has_weights:
            raise ValueError(
                "These trees do not know the weight of the rows they were grown on, which contributions "
                "along the paths need; give a background: contributions(X, background=...)."
            )

    def parts(
        self, table: Table, background: Table | None, *, pairs: bool, n_columns: int, n_threads: int
    ) -> tuple[FloatArray, FloatArray]:
        """Return the parts, rows x columns (x columns) x scores, and the base, rows x scores."""
        model, explainer = self.model, self._explainer
        self.refuse_paths_without_weights(background)
        width = len(table.columns)
        shape = (table.n_rows, width, width) if pairs else (table.n_rows, width)
        parts = np.empty((*shape, explainer.n_scores))
        base = np.empty((table.n_rows, explainer.n_scores))
        others = None if background is None else model.core_columns(background)
        n_others = 0 if background is None else background.n_rows
        explainer.explain(model.core_columns(table), table.n_rows, others, n_others, parts, base, n_threads)
        columns = self.columns_of_user
        if columns is not None:
            parts = _by_user_column(parts, columns, n_columns, pairs=pairs)
        return (parts, base) if self.onto is None else (parts @ self.onto, base @ self.onto)


def _by_user_column(
    parts: FloatArray, columns: npt.NDArray[np.int32], n_columns: int, *, pairs: bool
) -> FloatArray:
    """Add up the parts of columns derived from the same one of the user's."""
    summed: FloatArray = np.zeros((len(parts), n_columns, *parts.shape[2:]))
    for place, column in enumerate(columns):
        summed[:, column] += parts[:, place]
    if not pairs:
        return summed
    both: FloatArray = np.zeros((len(parts), n_columns, n_columns, parts.shape[-1]))
    for place, column in enumerate(columns):
        both[:, :, column] += summed[:, :, place]
    return both


@dataclass(frozen=True, eq=False)
class ScoreSum:
    """All that a model adds up, on top of `start`: one number per score.

    `shape` is that of a row's scores as users see them, () for a single number; `outputs` names the entries
    of its last dimension, if it has any. `answers` turns scores into what the model predicts of them, rows x
    scores, where that is something else; None where scores are the answer. Answers of several scores are
    their softmax, after multiplication by `sharpness`. `is_median` says that the score is no sum, but the
    median of what the trees of one `TreeSum` say, by their weights.
    """

    sums: tuple[TreeSum, ...]
    start: FloatArray
    shape: tuple[int, ...] = ()
    outputs: tuple[Any, ...] = ()
    answers: Callable[[FloatArray], FloatArray] | None = None
    sharpness: float = 1.0
    is_median: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Contributions:
    """What each column adds to the score of each row.

    `values` are rows x columns, with a further dimension for classes or outputs; of pairs they are rows x
    columns x columns, with what a pair does together halved between its two orders, and what a column does by
    itself on the diagonal. `base_values` is the score of a row of which nothing is known: a number, or one
    per class or output; with missing="available" a row of these for each row of X. Base and parts sum to the
    score. `names` are those of the columns, `outputs` the classes or outputs. `days` has the values of the
    columns of dates, by their place, as days since 1970-01-01. Arrays take it as `values`.
    """

    values: FloatArray
    base_values: Any
    names: tuple[str, ...]
    outputs: tuple[Any, ...] = ()
    pairs: bool = False
    X: Any = field(default=None)
    days: Mapping[int, FloatArray] = field(default_factory=dict)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `values`."""
        return self.values.shape

    @property
    def scores(self) -> FloatArray:
        """Base and parts added up: the score of each row."""
        total: FloatArray = self.base_values + self.values.sum(axis=(1, 2) if self.pairs else 1)
        return total

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        """Give numpy the values."""
        return np.array(self.values, dtype=dtype, copy=copy) if copy else np.asarray(self.values, dtype=dtype)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, key: Any) -> Any:
        return self.values[key]

    def __repr__(self) -> str:
        what = "pairs of columns" if self.pairs else "columns"
        return f"Contributions of {len(self.names)} {what} to {len(self)} row(s), shape {self.shape}"

    def of(self, output: Any) -> "Contributions":
        """Return the contributions to one class or output, given by its label."""
        if output not in self.outputs:
            known = ", ".join(map(repr, self.outputs)) or "there is one score only"
            raise ValueError(f"No output {output!r}; outputs are: {known}.")
        place = self.outputs.index(output)
        values, base = self.values[..., place], self.base_values[..., place]
        return Contributions(values, base, self.names, (), self.pairs, self.X, self.days)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame: a row per row, a column per column and one, "base", for the base.

        With several classes or outputs the titles have two levels: the output and the column.
        """
        pandas = require("pandas", purpose="Contributions as a data frame")
        if self.pairs:
            raise ValueError(
                "Interactions do not fit into a flat table; look at `values`, rows x columns x columns."
            )
        if self.values.ndim > 3:
            raise ValueError("Several outputs of classes do not fit into a flat table; look at `values`.")
        names = [printable(name, limit=None) for name in self.names]
        if self.values.ndim == 2:
            frame = pandas.DataFrame(self.values, columns=names)
            frame.insert(0, "base", self.base_values)
            return frame
        tables = {output: self.of(output).to_frame() for output in self.outputs}
        return pandas.concat(tables, axis=1)


def contributions_of(
    whole: ScoreSum,
    X: Any,
    *,
    background: Any,
    pairs: bool,
    to_answer: bool,
    names: Sequence[str],
    estimator_name: str,
    n_threads: int,
) -> Contributions:
    """Explain the rows of X: see `Contributions`; with `to_answer`, what the score stands for."""
    parts: Any = 0.0
    base: Any = whole.start
    days: dict[int, FloatArray] = {}
    for one in whole.sums:
        table = one.read(X, estimator_name=estimator_name)
        days.update(one.days(table))
        others = None if background is None else _read_background(one, background, estimator_name)
        asked: TreeSum | TreeMedian = one
        if whole.is_median:
            one.refuse_paths_without_weights(others)
            asked = TreeMedian.of(one.model, one.weights, one.columns_of_user, estimator_name=estimator_name)
        found, start = asked.parts(table, others, pairs=pairs, n_columns=len(names), n_threads=n_threads)
        found += parts  # in place: parts are as large as the result
        parts, base = found, base + start
    if to_answer and whole.answers is not None:
        parts, base = _parts_of_answers(whole, parts, base, pairs=pairs)
    base = base.reshape(len(base), *whole.shape)
    if all(one.model.trees[0].gaps != "available" for one in whole.sums):
        base = base[0] if whole.shape else float(base[0])
    return Contributions(
        values=parts.reshape(*parts.shape[:-1], *whole.shape),
        base_values=base,
        names=tuple(names),
        outputs=whole.outputs,
        pairs=pairs,
        X=X,
        days=days,
    )


def _read_background(one: TreeSum, background: Any, estimator_name: str) -> Table:
    try:
        return one.read(background, estimator_name=estimator_name)
    except (ValueError, TypeError) as error:
        raise type(error)(f"background: {error}") from error


# The mean slope of an answer between base and score is integrated with so many points, in so many pieces.
_POINTS, _PIECES = 16, 8


def _parts_of_answers(
    whole: ScoreSum, parts: FloatArray, base: FloatArray, *, pairs: bool
) -> tuple[FloatArray, FloatArray]:
    """Turn parts of scores into parts of answers, which sum to the answer.

    On the straight way from the base to the score, every part of the score moves the answer by the slope
    there: each is multiplied by the mean slope on the way. With one score that is the change of the answer
    divided by the change of the score.
    """
    scores = base + parts.sum(axis=(1, 2) if pairs else 1)
    assert whole.answers is not None
    start, end = whole.answers(base), whole.answers(scores)
    if base.shape[1] == 1:
        moved = scores - base
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = np.where(moved == 0, 0.0, (end - start) / moved)
        return parts * slope.reshape(-1, *[1] * (parts.ndim - 1)), start
    slopes = whole.sharpness * _mean_slopes(whole.answers, base, scores)  # rows x scores x answers
    return np.einsum("r...s,rsa->r...a", parts, slopes), start


def _mean_slopes(
    answers: Callable[[FloatArray], FloatArray], base: FloatArray, scores: FloatArray
) -> FloatArray:
    """Average the slopes of softmax answers on the way from base to scores: rows x scores x answers."""
    at, weight = np.polynomial.legendre.leggauss(_POINTS)
    n = base.shape[1]
    total = np.zeros((len(scores), n, n))
    for piece in range(_PIECES):
        for t, w in zip((at + 1) / 2, weight / 2, strict=True):
            shares = answers(base + (piece + t) / _PIECES * (scores - base))
            total += w / _PIECES * (np.eye(n) - shares[:, np.newaxis, :]) * shares[:, :, np.newaxis]
    return total
