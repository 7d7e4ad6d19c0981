"""How much a tree's error grows if a column is shuffled among the rows it has not seen (Breiman 2001)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hornbeam.data.table import Column, Table
from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.model import Ensemble

__all__ = ["error_growth"]


def error_growth(
    model: Ensemble,
    table: Table,
    rows: npt.NDArray[np.int64],
    target: ClassTarget | RegressionTarget,
    *,
    key: tuple[int, int],
    n_repeats: int,
    n_threads: int,
    groups: Sequence[Sequence[int]] | None = None,
) -> npt.NDArray[np.float64]:
    """Return, for each column of the user's, the growth of the error of a model of one tree on some rows.

    With `groups`, for each of them: its columns are shuffled together, in the same order of rows.

    The error is the share of wrong classes or the mean squared error, averaged over the outputs. Shuffles
    follow from the key and the column's number; columns derived from the same one are shuffled together.
    """
    sources = table.schema.sources
    columns = tuple(_some_rows(column, rows) for column in table.columns)
    seen = Table(len(rows), columns, table.feature_names)
    before = _error(model, seen, target, rows, n_threads)
    groups = [[given] for given in range(sources[-1] + 1)] if groups is None else groups
    growth = np.zeros(len(groups))
    tested = {sources[feature] for feature in set(model.trees[0].feature.tolist()) - {-2}}
    for number, group in enumerate(groups):
        if not tested.intersection(group):
            continue
        generator = np.random.default_rng((*key, group[0]))
        for _ in range(n_repeats):
            order = generator.permutation(len(rows))
            other = tuple(
                _some_rows(column, order) if source in group else column
                for source, column in zip(sources, columns, strict=True)
            )
            shuffled = Table(len(rows), other, table.feature_names)
            growth[number] += _error(model, shuffled, target, rows, n_threads) - before
    return growth / n_repeats


def _some_rows(column: Column, rows: npt.NDArray[np.int64]) -> Column:
    return replace(column, values=column.dense()[rows])


def _error(
    model: Ensemble,
    table: Table,
    target: ClassTarget | RegressionTarget,
    rows: npt.NDArray[np.int64],
    n_threads: int,
) -> float:
    values = model.total(table, n_threads=n_threads)
    if isinstance(target, ClassTarget):
        return float(np.mean(values.argmax(axis=2) != target.codes[rows]))
    return float(np.mean((values[:, :, 0] - target.values[rows]) ** 2))
