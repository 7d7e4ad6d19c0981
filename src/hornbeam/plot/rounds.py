"""Boosting round by round: error against rounds, and AdaBoost's members with the weights of the rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from hornbeam._optional import require
from hornbeam.plot.boundary import boundary
from hornbeam.plot.canvas import axes_for, draw_course

__all__ = ["reweighting", "rounds"]

FloatArray = npt.NDArray[np.float64]

# The area of a point, in square points, that has the mean weight, and the largest there is.
MEAN_AREA, LARGEST_AREA = 60.0, 600.0


def rounds(model: Any, X: Any, y: Any, *, X_test: Any = None, y_test: Any = None, ax: Any = None) -> Any:
    """Draw the error on training rows, and on test rows if there are any, after each round; return the axes.

    Takes any fitted model with `staged_predict`. The error is the share of wrong answers, or the root of
    the mean squared error. A line marks the round at which early stopping saw the best score.
    """
    check_is_fitted(model)
    if (X_test is None) != (y_test is None):
        raise ValueError("Give both X_test and y_test, or neither.")
    if not hasattr(model, "staged_predict"):
        raise TypeError(f"rounds draws models that grow by rounds; {type(model).__name__} has none.")
    ax = axes_for(ax, size=(6, 4), purpose="Drawing rounds")
    parts = [("training rows", X, y)] + ([] if X_test is None else [("test rows", X_test, y_test)])
    for name, rows, truth in parts:
        errors = _errors_by_round(model, rows, np.asarray(truth))
        draw_course(ax, np.arange(1, len(errors) + 1), errors, name)
    best = getattr(model, "best_iteration_", None)
    if best:
        ax.axvline(best, color="#444444", linewidth=0.8, linestyle=":", label=f"best: round {best}")
    ax.set_xlabel("rounds")
    ax.set_ylabel("share of wrong answers" if is_classifier(model) else "root mean squared error")
    ax.set_ylim(bottom=0)
    ax.legend(frameon=False)
    return ax


def _errors_by_round(model: Any, X: Any, truth: npt.NDArray[Any]) -> list[float]:
    if is_classifier(model):
        return [float(np.mean(np.asarray(said) != truth)) for said in model.staged_predict(X)]
    return [float(np.sqrt(np.mean((np.asarray(said) - truth) ** 2))) for said in model.staged_predict(X)]


def reweighting(
    model: Any,
    X: Any,
    y: Any,
    *,
    shown: Sequence[int] = (1, 2, 3),
    resolution: int = 200,
    axes: Any = None,
) -> npt.NDArray[Any]:
    """Draw what AdaBoost did in some rounds, and the vote of all; return one axes per picture.

    A round's picture shows the predictions of its member and the rows, with areas proportional to the weights
    it was fitted to: rows that earlier members got wrong have grown. `shown` counts rounds from 1. The model
    must have been fitted to X, which has two columns, with keep_weights=True. `axes`: one more than the
    rounds shown.
    """
    check_is_fitted(model)
    weights = getattr(model, "sample_weights_", None)
    if weights is None:
        raise ValueError("reweighting draws the weights of the rows: fit the model with keep_weights=True.")
    n_rounds = len(model.estimators_)
    wanted = [number for number in shown if number <= n_rounds]
    if not wanted or min(wanted) < 1:
        raise ValueError(f"shown counts rounds from 1 to {n_rounds}; got {tuple(shown)}.")
    row = _axes_in_a_row(axes, len(wanted) + 1)
    members = model.estimators_
    for number, ax in zip(wanted, row, strict=False):
        areas = _areas(np.asarray(weights)[number - 1])
        boundary(members[number - 1], X, y, sizes=areas, resolution=resolution, ax=ax)
        error, beta = model.estimator_errors_[number - 1], model.estimator_weights_[number - 1]
        ax.set_title(f"round {number}: error {error:.3f}, weight {beta:.3f}", size="medium")
    boundary(model, X, y, resolution=resolution, ax=row[-1])
    row[-1].set_title(f"the vote of {n_rounds}", size="medium")
    for ax in row[1:]:
        ax.get_legend().remove()  # the first says it for all
        ax.set_ylabel("")
    return row


def _areas(weights: FloatArray) -> FloatArray:
    areas: FloatArray = np.minimum(MEAN_AREA * weights / weights.mean(), LARGEST_AREA)
    return areas


def _axes_in_a_row(axes: Any, n: int) -> npt.NDArray[Any]:
    pyplot = require("matplotlib.pyplot", purpose="Drawing rounds")
    if axes is None:
        axes = pyplot.subplots(1, n, figsize=(3.6 * n, 3.4), layout="constrained", squeeze=False)[1][0]
    row = np.asarray(axes, dtype=object).ravel()
    if len(row) != n:
        raise ValueError(f"axes must be {n}: one per round and one for the vote; got {len(row)}.")
    return row
