"""How good a fit is on rows that it has not seen: out of bag, or by a copy fitted to most of the rows.

Samples of a forest or a bag leave rows out, and the members that have not seen a row predict it at no cost.
For other methods a copy is fitted to four fifths of the rows and judged on the rest.
"""

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from hornbeam.baseline import baseline
from hornbeam.cli.scores import baseline_scores, scores_of, scores_of_numbers, scores_of_probabilities
from hornbeam.data.shared import rows_of
from hornbeam.data.task import Task
from hornbeam.warnings import OutOfBagWarning

__all__ = ["Judged", "fit_and_judge"]

_HELD_OUT = 0.2
_FEWEST_ROWS = 20  # of which a fifth says little, and of fewer nothing


@dataclass(frozen=True)
class Judged:
    """Scores of a model on rows it has not seen, those of a guess there, and how they came about."""

    how: Literal["out of bag", "held out"]
    rows: int
    model: dict[str, float]
    baseline: dict[str, float]


def fit_and_judge(estimator: Any, X: Any, y: Any, task: Task, *, judge: bool) -> Judged | None:
    """Fit an estimator to all rows and say how good it is; None if there are too few rows to tell."""
    if not judge:
        estimator.fit(X, y)
        return None
    options = estimator.get_params(deep=False)
    if options.get("bootstrap") and options.get("oob_score") is False:
        return _out_of_bag(estimator, X, y, task)
    estimator.fit(X, y)
    return _held_out(estimator, X, y, task)


def _out_of_bag(estimator: Any, X: Any, y: Any, task: Task) -> Judged | None:
    """Fit with out-of-bag predictions, judge by them, and then remove them from the model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutOfBagWarning)  # that few members leave some rows without answer
        estimator.set_params(oob_score=True).fit(X, y)
    answers = estimator.oob_decision_function_ if task == "classification" else estimator.oob_prediction_
    estimator._forget_out_of_bag()
    known = ~np.isnan(answers.reshape(len(y), -1)).any(axis=1)
    if not known.any():
        return None
    truth = y[known]
    scores = (
        scores_of_probabilities(estimator.classes_, answers[known], truth)
        if task == "classification"
        else scores_of_numbers(answers[known], truth)
    )
    return Judged("out of bag", len(truth), scores, baseline_scores(baseline(y, task=task), truth))


def _held_out(estimator: Any, X: Any, y: Any, task: Task) -> Judged | None:
    from sklearn.model_selection import train_test_split  # noqa: PLC0415 - slow to import

    if len(y) < _FEWEST_ROWS:
        return None
    strata = y if task == "classification" and np.unique(y, return_counts=True)[1].min() >= 2 else None
    try:
        fit, held = train_test_split(range(len(y)), test_size=_HELD_OUT, random_state=0, stratify=strata)
        copy = clone(estimator)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the fit to all rows has said it
            copy.fit(rows_of(X, fit), y[fit])
            scores = scores_of(copy, rows_of(X, held), y[held])
    except ValueError:  # the part is too small for this method, or lacks a class; the model itself was fitted
        return None
    return Judged("held out", len(held), scores, baseline_scores(baseline(y[fit], task=task), y[held]))
