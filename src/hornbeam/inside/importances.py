"""How much columns matter, and how reliable that is: error bars, similar columns, a level of noise.

The model is a black box here. A column may be shuffled (`shuffled`), or left out of a new fit (`left_out`).
Columns with much the same information hide each other in both methods, so they are named (`data/likeness.py`)
and can be shuffled or left out together. Shuffled copies of columns carry no information about the target:
the importance that a fit gives them (`noise_of_shuffling`, `noise_of_leaving_out`) is the level below which
an importance means nothing.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from hornbeam._optional import require
from hornbeam.data.rows import Rows
from hornbeam.inside.words import brief_number, named

__all__ = [
    "Importances",
    "Judged",
    "left_out",
    "noise_of_leaving_out",
    "noise_of_shuffling",
    "shuffled",
    "with_noise",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Groups = Sequence[Sequence[int]]

# This many columns are copied and shuffled to measure the importance of noise.
N_COPIES = 5


@dataclass(frozen=True, eq=False, repr=False)
class Importances:
    """How much columns, or groups of them, matter.

    `columns` names the columns of each entry; `importances` are entries x repeats (or folds, or trees),
    `mean` and `error` their mean and its standard error. `noise` holds the importances of shuffled copies of
    columns, None if they were not wanted; `noise_level` is the largest. `alike` names columns of X with
    nearly the same information: shuffled or left out one by one, each of them seems to matter less than it
    does. scikit-learn's names, `importances_mean` and `importances_std`, work, too.
    """

    kind: str
    columns: tuple[tuple[str, ...], ...]
    importances: FloatArray
    importances_std: FloatArray
    alike: tuple[tuple[str, ...], ...] = ()
    noise: FloatArray | None = None
    unit: str = field(default="", compare=False)

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each entry; those of a group are joined."""
        return tuple(" + ".join(group) for group in self.columns)

    @property
    def mean(self) -> FloatArray:
        """The mean of each entry."""
        mean: FloatArray = self.importances.mean(axis=1)
        return mean

    @property
    def importances_mean(self) -> FloatArray:
        """The same, by scikit-learn's name."""
        return self.mean

    @property
    def error(self) -> FloatArray:
        """The standard error of each mean, over repeats, folds or trees; 0 where there is but one."""
        n = self.importances.shape[1]
        if n < 2:
            return np.zeros(len(self.importances))
        error: FloatArray = self.importances.std(axis=1, ddof=1) / np.sqrt(n)
        return error

    @property
    def noise_level(self) -> float | None:
        """The largest importance that a shuffled copy of a column reached."""
        return None if self.noise is None else float(self.noise.max(initial=0.0))

    def __getitem__(self, name: str) -> Any:
        """Return a part by its name, as scikit-learn's results do."""
        return getattr(self, name)

    def to_frame(self) -> Any:
        """Return a pandas DataFrame, the most important first."""
        pandas = require("pandas", purpose="Importances as a data frame")
        frame = pandas.DataFrame({"columns": self.names, "importance": self.mean, "error": self.error})
        if self.noise_level is not None:
            frame["above_noise"] = frame["importance"] > self.noise_level
        return frame.sort_values("importance", ascending=False, kind="stable", ignore_index=True)

    def __str__(self) -> str:
        mean, error = self.mean, self.error
        lines = [
            f"{named(self.names[k])}: {brief_number(float(mean[k]))} +- {brief_number(float(error[k]))}"
            for k in np.argsort(-mean, kind="stable").tolist()
        ]
        if self.noise_level is not None:
            lines.append(f"shuffled copies of columns reach {brief_number(self.noise_level)}")
        entries = {frozenset(group) for group in self.columns}
        lines += [
            f"much alike, so each hides the others: {', '.join(map(named, group))}"
            for group in self.alike
            if frozenset(group) not in entries
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)


@dataclass(frozen=True, eq=False)
class Judged:
    """A model, rows to judge it on, and how: `score(model, X, y, sample_weight)`, larger is better."""

    model: Any
    rows: Rows
    y: npt.NDArray[Any]
    weight: npt.NDArray[Any] | None
    score: Callable[..., float]
    seed: int | None
    cv: Any = 5

    def score_of(self, model: Any, rows: Rows, chosen: IntArray | None = None) -> float:
        """Score a model on rows, which are the `chosen` ones of all."""
        y, weight = self._of(chosen)
        more = {} if weight is None else {"sample_weight": weight}
        return float(self.score(model, rows.native, y, **more))

    def fit(self, rows: Rows, chosen: IntArray | None = None) -> Any:
        """Fit a copy of the model to rows, which are the `chosen` ones of all."""
        y, weight = self._of(chosen)
        more = {} if weight is None else {"sample_weight": weight}
        return clone(self.model).fit(rows.native, y, **more)

    def _of(self, chosen: IntArray | None) -> tuple[Any, Any]:
        if chosen is None:
            return self.y, self.weight
        return self.y[chosen], None if self.weight is None else self.weight[chosen]

    def folds(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield rows to fit and rows to judge, fold by fold."""
        cv = self.cv
        if isinstance(cv, int):
            deal = StratifiedKFold if is_classifier(self.model) and self.y.ndim == 1 else KFold
            cv = deal(cv, shuffle=True, random_state=0 if self.seed is None else self.seed)
        nothing = np.zeros(self.rows.n_rows)
        yield from check_cv(cv, self.y, classifier=is_classifier(self.model)).split(nothing, self.y)


def shuffled(judged: Judged, groups: Groups, n_repeats: int) -> FloatArray:
    """Measure how much the score falls if the columns of a group are shuffled: groups x repeats."""
    random = np.random.default_rng(judged.seed)
    rows = judged.rows.dense()
    before = judged.score_of(judged.model, rows)
    found = np.zeros((len(groups), n_repeats))
    for number, group in enumerate(groups):
        for repeat in range(n_repeats):
            changed = rows.with_columns_from(group, random.permutation(rows.n_rows))
            found[number, repeat] = before - judged.score_of(judged.model, changed)
    return found


def left_out(judged: Judged, groups: Groups) -> FloatArray:
    """Measure how much the score falls if copies of the model are fitted without a group: groups x folds."""
    found = []
    for train, test in judged.folds():
        whole = _fold_score(judged, judged.rows, train, test)
        found.append(
            [
                whole - _fold_score(judged, judged.rows.without_columns(group), train, test)
                if len(group) < judged.rows.n_columns
                else np.nan
                for group in groups
            ]
        )
    return np.array(found).T


def _fold_score(judged: Judged, rows: Rows, train: IntArray, test: IntArray) -> float:
    return judged.score_of(judged.fit(rows.take(train), train), rows.take(test), test)


# --- What noise is worth ---------------------------------------------------------------------------------


def with_noise(rows: Rows, seed: int | None) -> tuple[Rows, list[int]]:
    """Add shuffled copies of some columns; return their numbers, too."""
    random = np.random.default_rng(seed)
    n = rows.n_columns
    copied = np.sort(random.choice(n, min(N_COPIES, n), replace=False)).tolist()
    sources = [random.permutation(rows.n_rows) for _ in copied]
    return rows.with_copies(copied, sources), list(range(n, n + len(copied)))


def noise_of_shuffling(judged: Judged, n_repeats: int) -> FloatArray:
    """Fit copies of the model to rows with noise, fold by fold, and shuffle the noise in those left out."""
    rows, copies = with_noise(judged.rows, judged.seed)
    found = []
    for train, test in judged.folds():
        fitted = judged.fit(rows.take(train), train)
        weight = None if judged.weight is None else judged.weight[test]
        part = Judged(fitted, rows.take(test), judged.y[test], weight, judged.score, judged.seed)
        found.append(shuffled(part, [[copy] for copy in copies], n_repeats).mean(axis=1))
    means: FloatArray = np.mean(found, axis=0)
    return means


def noise_of_leaving_out(judged: Judged) -> FloatArray:
    """Measure how much the score falls, averaged over folds, if a column of noise is left out of the fit."""
    rows, copies = with_noise(judged.rows, judged.seed)
    found = []
    for train, test in judged.folds():
        without = _fold_score(judged, judged.rows, train, test)
        found.append(
            [
                _fold_score(judged, rows.without_columns([c for c in copies if c != copy]), train, test)
                - without
                for copy in copies
            ]
        )
    means: FloatArray = np.mean(found, axis=0)
    return means
