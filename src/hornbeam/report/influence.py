"""What predictions depend on: the columns, by shuffling and by changing them, and the number of rows.

Everything is measured by predicting, so it works for every estimator. Nothing here needs
more than a sample of the rows; the constants say how many.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier

from hornbeam.data.content import MISSING
from hornbeam.data.rows import Rows
from hornbeam.data.table import Column
from hornbeam.inside.accumulated import AccumulatedEffect
from hornbeam.inside.effects import Effect
from hornbeam.report.judging import Judgement, answers_of, folds

__all__ = [
    "Dependence",
    "Importances",
    "LearningCurve",
    "accumulated_effects",
    "dependence_of",
    "learning_curve_of",
    "shuffled_importances",
]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

MOST_ROWS_SHUFFLED = 3_000
MOST_COLUMNS_SHUFFLED = 80
N_SHUFFLES = 5
MOST_ROWS_MOVED = 200
N_LINES = 30  # of single rows
N_PLACES = 25
N_EXACT_LINES = 15  # which have more places
MOST_STEPS = 150
MOST_CATEGORIES = 12
MOST_ROWS_LEARNED = 20_000
CURVE_shares = (0.1, 0.2, 0.35, 0.6, 1.0)
N_CURVE_FOLDS = 3


# --- Importances -----------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Importances:
    """How much the score falls when a column is shuffled, the most first; with the standard error."""

    columns: tuple[int, ...]
    mean: FloatArray
    standard_error: FloatArray
    n_left_out: int  # columns that were not tried


def shuffled_importances(judgement: Judgement, rows: Rows, y: npt.NDArray[Any], *, seed: int) -> Importances:
    """Shuffle one column after the other among the rows of each part, and see what its model loses by that.

    The score of classes is minus the Brier score, or accuracy where a model gives no probabilities; that of
    numbers is R². The error bar is over shuffles and parts.
    """
    rng = np.random.default_rng(seed)
    columns = _columns_to_shuffle(judgement, rows.n_columns)
    n_per_part = max(2, MOST_ROWS_SHUFFLED // len(judgement.parts))
    n_shuffles = max(1, -(-N_SHUFFLES // len(judgement.parts)))
    losses = []
    for part in judgement.parts:
        chosen = part.rows
        if len(chosen) > n_per_part:
            chosen = np.sort(rng.choice(chosen, n_per_part, replace=False))
        sample, truth = rows.take(chosen).dense(), y[chosen]
        before = _fine_score(part.model, sample.native, truth)
        for _ in range(n_shuffles):
            order = rng.permutation(len(chosen))
            losses.append(
                [before - _fine_score(part.model, sample.with_column_from(j, order), truth) for j in columns]
            )
    found = np.array(losses).reshape(len(losses), len(columns))
    mean = found.mean(axis=0)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found)) if len(found) > 1 else np.zeros(len(columns))
    order = np.argsort(-mean, kind="stable")
    return Importances(
        tuple(columns[k] for k in order), mean[order], error[order], rows.n_columns - len(columns)
    )


def _columns_to_shuffle(judgement: Judgement, n_columns: int) -> list[int]:
    """Take all columns or, of very many, those that the model says it uses most."""
    if n_columns <= MOST_COLUMNS_SHUFFLED:
        return list(range(n_columns))
    own = np.asarray(getattr(judgement.parts[0].model, "feature_importances_", np.zeros(n_columns)))
    return sorted(np.argsort(-own, kind="stable")[:MOST_COLUMNS_SHUFFLED].tolist())


def _fine_score(model: Any, X: Any, truth: npt.NDArray[Any]) -> float:
    """Score by probabilities where there are any: a column may change how sure a model is but no answer."""
    if not is_classifier(model) or not hasattr(model, "predict_proba"):
        return _score(model, X, truth)
    probabilities = np.asarray(model.predict_proba(X), dtype=np.float64)
    is_true = np.asarray(model.classes_)[np.newaxis, :] == truth[:, np.newaxis]
    return -float(np.mean(np.square(probabilities - is_true).sum(axis=1)))


def _score(model: Any, X: Any, truth: npt.NDArray[Any]) -> float:
    said = np.asarray(model.predict(X))
    if is_classifier(model):
        return float(np.mean(said == truth))
    variation = float(np.sum((truth - truth.mean()) ** 2))
    return 1 - float(np.sum((truth - said) ** 2)) / variation if variation > 0 else 0.0


# --- Partial dependence ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Dependence:
    """The mean answer while one column is set to one value after the other, all else as it is.

    `places` are numbers, or the names of categories. `mean` is places x outputs: the share of each class, of
    the second of two, or the number. `lines` are the answers of single rows, rows x places, for one output.
    With `is_exact`, a place is where a step of a model of trees ends; the last one has no end.
    """

    column: int
    places: FloatArray | list[Any]
    mean: FloatArray
    lines: FloatArray | None
    is_exact: bool = False

    @property
    def shows_lines(self) -> bool:
        """Whether the picture has the lines of single rows: of one output, over numbers."""
        return self.lines is not None and isinstance(self.places, np.ndarray)


def dependence_of(model: Any, rows: Rows, column: Column, number: int, *, seed: int) -> Dependence | None:
    """Move one column of a sample of rows through the values that it has; None if it has but one."""
    sources = _sources(column)
    if len(sources) < 2:
        return None
    rng = np.random.default_rng(seed)
    chosen = np.arange(rows.n_rows)
    if rows.n_rows > MOST_ROWS_MOVED:
        chosen = np.sort(rng.choice(rows.n_rows, MOST_ROWS_MOVED, replace=False))
    exact = _exact_dependence(model, rows.take(chosen), column, number)
    if exact is not None:
        return exact
    # The sample once per value, and the rows that have these values after it: one question to the model.
    n, n_places = len(chosen), len(sources)
    stacked = rows.take(np.concatenate([np.tile(chosen, n_places), sources])).dense()
    values_from = np.concatenate([np.repeat(np.arange(n_places), n), np.arange(n_places)]) + n * n_places
    answers = _outputs(model, stacked.with_column_from(number, values_from))
    said = answers[: n * n_places].reshape(n_places, n, -1)  # places x rows x outputs
    lines = said[:, :N_LINES, 0].T if said.shape[2] == 1 else None
    return Dependence(number, _places(column, sources), said.mean(axis=1), lines)


def _exact_dependence(model: Any, rows: Rows, column: Column, number: int) -> Dependence | None:
    """Ask a model of trees at its own thresholds; None if it has none, or no numbers in the column."""
    if not hasattr(model, "effect") or column.kind != "numeric":
        return None
    try:
        found = model.effect(rows.native, number, of="answer", n_rows=MOST_ROWS_MOVED, n_steps=MOST_STEPS)
    except (ValueError, TypeError, AttributeError):  # members that are no trees, or grew on dates, ...
        return None
    if (
        not isinstance(found, Effect)
        or found.part is not None
        or found.lines.ndim > 3
        or len(found.values) < 2
    ):
        return None
    lines = found.lines if found.lines.ndim == 3 else found.lines[:, :, np.newaxis]
    if is_classifier(model) and lines.shape[2] == 2:
        lines = lines[:, :, 1:]
    own = lines[np.linspace(0, len(lines) - 1, min(N_EXACT_LINES, len(lines))).astype(np.int64), :, 0]
    return Dependence(number, found.values, lines.mean(axis=0), own if lines.shape[2] == 1 else None, True)


def _sources(column: Column) -> IntArray:
    """Choose rows whose values in a column stand for all: each category once, or numbers in even steps."""
    values = column.dense()
    if column.kind == "numeric":
        known = np.flatnonzero(~np.isnan(values.astype(np.float64)))
    else:
        known = np.flatnonzero(values != MISSING)
    if not len(known):
        return known
    distinct, first = np.unique(values[known], return_index=True)
    if column.kind != "numeric":
        counts = np.bincount(np.searchsorted(distinct, values[known]))
        kept = np.sort(np.argsort(-counts, kind="stable")[:MOST_CATEGORIES])
        return known[first[kept]]
    if len(distinct) > N_PLACES:
        # The outermost hundredths are left out: a few far values would squeeze all others together.
        ranks = np.sort(values[known])[[int(0.01 * len(known)), int(0.99 * (len(known) - 1))]]
        wanted = np.linspace(float(ranks[0]), float(ranks[1]), N_PLACES)
        nearest = np.unique(np.clip(np.searchsorted(distinct, wanted), 0, len(distinct) - 1))
        return known[first[nearest]]
    return known[first]


def _places(column: Column, sources: IntArray) -> FloatArray | list[Any]:
    values = column.dense()
    if column.categories is None:
        return values[sources].astype(np.float64)
    return [column.categories[code] for code in values[sources].tolist()]


def _outputs(model: Any, X: Any) -> FloatArray:
    """Return what is drawn: numbers, the share of the second of two classes, or of every class."""
    if not is_classifier(model):
        return np.asarray(model.predict(X), dtype=np.float64).reshape(-1, 1)
    answers = answers_of(model, X, np.asarray(model.classes_))
    probabilities = answers.probabilities
    if probabilities is None:
        probabilities = (answers.labels[:, np.newaxis] == model.classes_).astype(np.float64)
    return probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities


# --- Accumulated effects ---------------------------------------------------------------------------------


def accumulated_effects(model: Any, rows: Rows, columns: Sequence[int]) -> tuple[AccumulatedEffect, ...]:
    """Add up what crossing each threshold of some columns changes; nothing if the model has no such trees."""
    found = []
    for column in columns if hasattr(model, "effect") else ():
        try:
            effect = model.effect(rows.native, column, kind="ale")
        except (ValueError, TypeError):  # members that are no trees, a median of members, a date
            continue
        # A column without a step, such as a date of which only the hour matters, has nothing to draw.
        if isinstance(effect, AccumulatedEffect) and effect.mean.ndim <= 2 and len(effect.values) > 1:
            found.append(effect)
    return tuple(found)


# --- Learning curve --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Scores on training and test rows for several numbers of training rows: sizes x folds."""

    sizes: IntArray
    train: FloatArray
    test: FloatArray


def learning_curve_of(model: Any, rows: Rows, y: npt.NDArray[Any], *, seed: int) -> LearningCurve | None:
    """Fit copies of the model to more and more rows; None if it cannot be fitted to these rows."""
    chosen = np.arange(len(y))
    if len(y) > MOST_ROWS_LEARNED:
        chosen = np.random.default_rng(seed).choice(len(y), MOST_ROWS_LEARNED, replace=False)
        chosen.sort()
    table, target = rows.take(chosen), y[chosen]
    train_scores, test_scores = [], []
    try:
        for train, test in folds(model, target, N_CURVE_FOLDS, seed):
            shuffled = np.random.default_rng(seed).permutation(train)
            sizes = _sizes(len(train))
            fits = [_fit_and_score(model, table, target, shuffled[:size], test) for size in sizes]
            train_scores.append([first for first, _ in fits])
            test_scores.append([second for _, second in fits])
    except (ValueError, TypeError):
        return None
    n_sizes = min(map(len, train_scores))
    return LearningCurve(
        np.array(sizes[-n_sizes:]),
        np.array([scores[-n_sizes:] for scores in train_scores]).T,
        np.array([scores[-n_sizes:] for scores in test_scores]).T,
    )


def _sizes(n_rows: int) -> list[int]:
    return sorted({max(2, round(share * n_rows)) for share in CURVE_shares if share * n_rows >= 8} | {n_rows})


def _fit_and_score(
    model: Any, table: Rows, y: npt.NDArray[Any], train: IntArray, test: IntArray
) -> tuple[float, float]:
    rows = table.take(np.sort(train))
    fitted = clone(model).fit(rows.native, y[np.sort(train)])
    return (
        _score(fitted, rows.native, y[np.sort(train)]),
        _score(fitted, table.take(test).native, y[test]),
    )
