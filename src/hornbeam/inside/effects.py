"""What the model says as one column changes and all others stay: partial dependence, and the lines of rows.

A sum of trees is a step function of each number, with steps at the thresholds of its tests. So it is asked
once per step, at the thresholds themselves, and between them nothing is missed; of categories once per
category.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.data.table import MISSING, Table
from hornbeam.data.wording import shown
from hornbeam.inside.shapley import ScoreSum, TreeSum

__all__ = ["Effect", "effect_of"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Effect:
    """How the score depends on one column, the others as they are.

    Of a number, `values` are the upper ends of the steps, the last one infinite: the score is the same for
    all values above one end and up to the next. Of categories they are the categories. `lines` are the scores
    of each row with each of these values: rows x values (x classes or outputs); `mean` is their mean, the
    partial dependence. `missing` is the mean score without a value, None if the model refuses that.
    `is_exact` is False where there are more steps than were asked for: then `values` are some of them.
    """

    column: str
    values: npt.NDArray[Any]
    lines: FloatArray
    missing: Any
    is_number: bool
    is_exact: bool
    outputs: tuple[Any, ...] = ()

    @property
    def mean(self) -> FloatArray:
        """The mean over the rows: values (x classes or outputs)."""
        mean: FloatArray = self.lines.mean(axis=0)
        return mean

    def __repr__(self) -> str:
        what = "steps" if self.is_number else "categories"
        return f"Effect of {shown(self.column)}: {len(self.values)} {what}, {len(self.lines)} row(s)"


def effect_of(
    whole: ScoreSum,
    X: Any,
    column: int,
    *,
    name: str,
    most_rows: int,
    most_steps: int,
    estimator_name: str,
    n_threads: int,
) -> Effect:
    """Ask the model about rows of X with every value of a column."""
    tables = [_thinned(one.read(X, estimator_name=estimator_name), most_rows) for one in whole.sums]
    given = next(
        (table.columns[place] for one, table, place in _places(whole, tables, column) if place is not None),
        None,
    )
    if given is None:
        raise ValueError(f"No tree of the model has seen the column {shown(name)}.")
    is_number = given.kind == "numeric"
    codes: FloatArray
    is_exact = True
    if is_number:
        steps = np.unique(
            np.concatenate([_thresholds(one, place) for one, _, place in _places(whole, tables, column)])
        )
        is_exact = len(steps) < most_steps
        if not is_exact:
            steps = steps[np.linspace(0, len(steps) - 1, most_steps - 1).astype(np.int64)]
        codes = np.r_[steps, np.inf]
        values: npt.NDArray[Any] = codes
    else:
        values = np.array(given.categories, dtype=object)
        codes = np.arange(len(values), dtype=np.float64)
    lines = np.stack([_scores(whole, tables, column, code, n_threads) for code in codes], axis=1)
    refuses = any(not one.model.missing_allowed for one in whole.sums)
    gap = np.nan if is_number else float(MISSING)
    without = None if refuses else _scores(whole, tables, column, gap, n_threads).mean(axis=0)
    shaped = lines.reshape(*lines.shape[:2], *whole.shape)
    return Effect(
        column=name,
        values=values,
        lines=shaped,
        missing=None if without is None else without.reshape(whole.shape)[()],
        is_number=is_number,
        is_exact=is_exact,
        outputs=whole.outputs,
    )


def _thinned(table: Table, most_rows: int) -> Table:
    """Keep rows at equal distances, if there are more than enough."""
    if table.n_rows <= most_rows:
        return table
    return table.take(np.linspace(0, table.n_rows - 1, most_rows).astype(np.int64))


def _places(whole: ScoreSum, tables: list[Table], column: int) -> list[tuple[TreeSum, Table, int | None]]:
    """Find the column of the user's among those of each sum; None where it has not got it."""
    found: list[tuple[TreeSum, Table, int | None]] = []
    for one, table in zip(whole.sums, tables, strict=True):
        places = [column] if one.columns is None else np.flatnonzero(one.columns == column).tolist()
        found += [(one, table, place) for place in places] or [(one, table, None)]
    return found


def _thresholds(one: TreeSum, place: int | None) -> FloatArray:
    tested = [tree.threshold[tree.feature == place] for tree in one.model.trees if place is not None]
    return np.concatenate([np.zeros(0), *tested])


def _scores(whole: ScoreSum, tables: list[Table], column: int, code: float, n_threads: int) -> FloatArray:
    """Return the scores of all rows with one value in the column: rows x scores."""
    total: Any = whole.start
    for one, table in zip(whole.sums, tables, strict=True):
        columns = list(table.columns)
        places = [column] if one.columns is None else np.flatnonzero(one.columns == column).tolist()
        for place in places:
            old = columns[place]
            kind = np.float64 if old.kind == "numeric" else np.int32
            columns[place] = replace(old, values=np.full(table.n_rows, code, dtype=kind))
        changed = Table(table.n_rows, tuple(columns), table.feature_names)
        said = one.model.total(changed, n_threads=n_threads, weights=one.weights, hard_votes=one.votes)
        own = said.reshape(table.n_rows, -1)
        total = total + (own if one.onto is None else own @ one.onto)
    return np.asarray(total)
