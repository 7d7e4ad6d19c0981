"""The contents of a report as plain data. In: a model and rows. Out: everything that is drawn or written.

`gather` is the whole computation; `charts.py` and `page.py` only show what it found.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from hornbeam._optional import require
from hornbeam.data.content import MISSING
from hornbeam.data.dates import text_of_days
from hornbeam.data.rows import Rows
from hornbeam.data.table import Column, Table, read_table
from hornbeam.inside.accumulated import AccumulatedEffect
from hornbeam.inside.words import brief_number, count, named
from hornbeam.report.influence import (
    Dependence,
    Importances,
    LearningCurve,
    accumulated_effects,
    dependence_of,
    learning_curve_of,
    shuffled_importances,
)
from hornbeam.report.judging import Judgement, answers_of, judge
from hornbeam.report.reasons import Reasons, reasons_of
from hornbeam.report.scores import Contest, Scores, score_classes, score_numbers
from hornbeam.selection.metrics import Answers, Truth

__all__ = ["ColumnFacts", "Facts", "gather"]

FloatArray = npt.NDArray[np.float64]

N_DEPENDENCES = 4
MOST_TOP_VALUES = 3


@dataclass(frozen=True)
class ColumnFacts:
    """One column in a line: what it is called, its kind, its gaps, its values."""

    name: str
    kind: str
    n_missing: int
    n_distinct: int
    values: str


@dataclass(frozen=True, eq=False)
class Given:
    """Rows and their target, checked; `labels` are all classes that occur, those of the model first."""

    rows: Rows
    target: npt.NDArray[Any]
    labels: npt.NDArray[Any] | None = None


@dataclass(frozen=True, eq=False)
class Facts:
    """All that a report is made from.

    For classes, `truth` holds codes into `labels`; the first `n_known` of these are the classes that the
    model knows, in its order.
    """

    model: Any
    target_name: str
    labels: tuple[Any, ...] | None
    n_known: int
    rows: Rows
    columns: tuple[ColumnFacts, ...]
    truth: npt.NDArray[Any]
    n_training_rows: int | None
    judgement: Judgement
    scores: Scores
    importances: Importances
    dependences: tuple[Dependence, ...]
    accumulated: tuple[AccumulatedEffect, ...]
    learning_curve: LearningCurve | None
    own: Answers  # of the model itself
    reasons: Reasons | None = None

    @property
    def is_classification(self) -> bool:
        """Whether the answers are classes."""
        return self.labels is not None

    @property
    def feature_names(self) -> list[str]:
        """The names of the columns."""
        return [column.name for column in self.columns]


def gather(
    model: Any,
    X: Any,
    y: Any,
    *,
    X_train: Any,
    y_train: Any,
    cv: int | None,
    target_name: str | None,
    seed: int,
) -> Facts:
    """Find out everything that the report says."""
    require("matplotlib", purpose="A report")  # which takes minutes to gather: not to be missed at the end
    check_is_fitted(model)
    if not (is_classifier(model) or is_regressor(model)):
        raise TypeError(f"report takes classifiers and regressors; got {type(model).__name__}.")
    if (X_train is None) != (y_train is None):
        raise ValueError("Give both X_train and y_train, or neither.")
    given, training = _given(model, X, y, X_train, y_train)
    rows, target, labels = given.rows, given.target, given.labels
    with warnings.catch_warnings():
        # Copies of a model on parts of its rows may warn of what the user has been told at the fit.
        warnings.simplefilter("ignore")
        table = read_table(X, estimator_name="report")
        judgement = judge(model, rows, target, cv=cv, are_new=training is not None, seed=seed)
        own = answers_of(model, rows.native, None if labels is None else np.asarray(model.classes_))
        scores = _scores(model, given, training, judgement, own, seed=seed)
        importances = shuffled_importances(judgement, rows, target, seed=seed)
        dependences = _dependences(model, rows, table, importances, seed)
        accumulated = accumulated_effects(model, rows, [one.column for one in dependences])
        fitted_on = training or given
        reasons = reasons_of(model, rows, target, own)
        curve = learning_curve_of(model, fitted_on.rows, fitted_on.target, seed=seed)
    return Facts(
        model=model,
        target_name=target_name or str(getattr(y, "name", None) or "target"),
        labels=None if labels is None else tuple(labels.tolist()),
        n_known=0 if labels is None else len(model.classes_),
        rows=rows,
        columns=tuple(_column_facts(column) for column in table.given_columns),
        truth=target if labels is None else _codes(labels, target),
        n_training_rows=None if training is None else training.rows.n_rows,
        judgement=judgement,
        scores=scores,
        importances=importances,
        dependences=dependences,
        accumulated=accumulated,
        learning_curve=curve,
        own=own,
        reasons=reasons,
    )


# --- The target ------------------------------------------------------------------------------------------


def _given(model: Any, X: Any, y: Any, X_train: Any, y_train: Any) -> tuple[Given, Given | None]:
    """Check the rows to judge by and, if there are any, those of the fit."""
    rows, target = Rows(X), _checked_target(y, "y", model)
    _check_length(rows, target, "X", "y")
    if X_train is None:
        return Given(rows, target, _labels(model, target)), None
    fitted_rows, fitted_target = Rows(X_train), _checked_target(y_train, "y_train", model)
    _check_length(fitted_rows, fitted_target, "X_train", "y_train")
    labels = _labels(model, np.concatenate([target, fitted_target]))
    return Given(rows, target, labels), Given(fitted_rows, fitted_target, labels)


def _checked_target(y: Any, name: str, model: Any) -> npt.NDArray[Any]:
    target = np.asarray(y)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim != 1:
        raise ValueError(f"report takes one target; {name} has shape {target.shape}.")
    if not len(target):
        raise ValueError(f"{name} is empty: there is nothing to report on.")
    if is_regressor(model):
        numbers = target.astype(np.float64)
        wrong = np.flatnonzero(~np.isfinite(numbers))
        if len(wrong):
            raise ValueError(
                f"{name}, row {wrong[0]}: the target is {numbers[wrong[0]]}; leave such rows out."
            )
        return numbers
    known = np.asarray(model.classes_)
    if (known.dtype.kind in "biuf") != (target.dtype.kind in "biuf"):
        raise ValueError(
            f"The model predicts classes such as {named(known[0])}, but {name} holds values such as "
            f"{named(target[0])}."
        )
    return target


def _check_length(rows: Rows, target: npt.NDArray[Any], X_name: str, y_name: str) -> None:
    if rows.n_rows != len(target):
        raise ValueError(f"{X_name} has {rows.n_rows} rows, but {y_name} has {len(target)}.")


def _labels(model: Any, target: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    """Return the classes of the model, and after them those that only the rows have; None for numbers."""
    if not is_classifier(model):
        return None
    known = np.asarray(model.classes_).tolist()
    new = [label for label in np.unique(target).tolist() if label not in set(known)]
    labels = np.empty(len(known) + len(new), dtype=object)
    labels[:] = [*known, *new]
    return labels


def _codes(labels: npt.NDArray[Any], values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    numbers = {label: code for code, label in enumerate(labels.tolist())}
    return np.array([numbers[value] for value in values.tolist()], dtype=np.int64)


# --- Scores ----------------------------------------------------------------------------------------------


def _scores(
    model: Any, given: Given, training: Given | None, judgement: Judgement, own: Answers, *, seed: int
) -> Scores:
    """Score the judged answers, the guess, and the model on the rows of its fit as far as these are known."""
    target, labels = given.target, given.labels
    classes = None if labels is None else np.asarray(model.classes_)
    fit: tuple[npt.NDArray[Any], Answers] | None = None
    if training is not None:
        fit = (training.target, answers_of(model, training.rows.native, classes))
    elif judgement.is_cross_fitted:
        fit = (target, own)
    guessed_from = target if training is None else training.target
    if labels is None:
        mean = float(guessed_from.mean())
        guess = Answers(np.full(len(target), mean), None)
        judged_fit = None if fit is None else (Truth(fit[0]), fit[1])
        contest = Contest(Truth(target), judgement.answers, guess, judged_fit)
        words = f"the mean of the target, {brief_number(mean)}, for every row"
        return Scores(score_numbers(contest, seed=seed), words)
    codes, known = _codes(labels, target), np.arange(len(model.classes_))
    counts = np.bincount(_codes(labels, guessed_from), minlength=len(labels))
    probabilities = np.broadcast_to(counts / counts.sum(), (len(codes), len(labels)))[:, : len(known)]
    guess = Answers(np.full(len(codes), int(counts.argmax())), probabilities)
    coded_fit = None if fit is None else (Truth(_codes(labels, fit[0]), known), _coded(labels, fit[1]))
    contest = Contest(Truth(codes, known), _coded(labels, judgement.answers), guess, coded_fit)
    words = f"always {named(labels[counts.argmax()])}, the most frequent class"
    return Scores(score_classes(contest, seed=seed), words)


def _coded(labels: npt.NDArray[Any], answers: Answers) -> Answers:
    return Answers(_codes(labels, answers.labels), answers.probabilities)


def _dependences(
    model: Any, rows: Rows, table: Table, importances: Importances, seed: int
) -> tuple[Dependence, ...]:
    """Look at the columns that matter most, leaving out those that do not matter at all."""
    found: list[Dependence] = []
    for column, mean in zip(importances.columns, importances.mean.tolist(), strict=True):
        if len(found) == N_DEPENDENCES or mean <= 0:
            break
        dependence = dependence_of(model, rows, table.given_columns[column], column, seed=seed)
        if dependence is not None:
            found.append(dependence)
    return tuple(found)


# --- Columns ---------------------------------------------------------------------------------------------


def _column_facts(column: Column) -> ColumnFacts:
    values = column.dense()
    if column.kind == "numeric":
        numbers = values.astype(np.float64)
        known = numbers[~np.isnan(numbers)]
        words = "no value at all"
        in_words = brief_number if column.part is None else text_of_days
        if len(known):
            low, middle, high = (
                in_words(float(q)) for q in np.quantile(known, [0, 0.5, 1], method="nearest")
            )
            words = f"{low} to {high}, median {middle}" if low != high else f"always {low}"
        kind = "numeric" if column.part is None else "date"
        return ColumnFacts(column.name, kind, len(numbers) - len(known), len(np.unique(known)), words)
    known = values[values != MISSING]
    counts = np.bincount(known, minlength=len(column.categories or ()))
    top = np.argsort(-counts, kind="stable")[:MOST_TOP_VALUES]
    categories = column.categories or ()
    words = ", ".join(f"{named(categories[k])} ({counts[k]:,})" for k in top.tolist() if counts[k])
    n_more = int(np.count_nonzero(counts)) - sum(1 for k in top.tolist() if counts[k])
    words += f", and {count(n_more, 'other')}" if n_more else ""
    return ColumnFacts(
        column.name,
        column.kind,
        int(len(values) - len(known)),
        int(np.count_nonzero(counts)),
        words or "no value at all",
    )
