"""How good a model is, in numbers, and what a guess without any model would reach.

Classes: accuracy, balanced accuracy, log loss. Numbers: R^2, root mean squared and mean absolute error.
"""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import (
    accuracy_score,
    mean_absolute_error,
    r2_score,
    root_mean_squared_error,
)

__all__ = ["baseline_for", "scores_of"]


def baseline_for(model: Any, y: Any) -> Any:
    """Fit the guess that needs no columns: the shares of the classes, or the mean."""
    guess = DummyClassifier(strategy="prior") if is_classifier(model) else DummyRegressor()
    return guess.fit(np.zeros((len(y), 1)), y)


def scores_of(model: Any, X: Any, y: Any) -> dict[str, float]:
    """Score a model on rows with known answers; the first score is the one to look at."""
    table = np.zeros((len(y), 1)) if isinstance(model, DummyClassifier | DummyRegressor) else X
    predicted = model.predict(table)
    if not is_classifier(model):
        scores = {
            "RMSE": root_mean_squared_error(y, predicted),
            "MAE": mean_absolute_error(y, predicted),
        }
        return {"R2": r2_score(y, predicted), **scores} if len(y) > 1 else scores
    scores = {"accuracy": accuracy_score(y, predicted)}
    if set(y) <= set(model.classes_):
        scores["balanced accuracy"] = _balanced(y, predicted)
        scores["log loss"] = _log_loss(model, table, y)
    return scores


def _balanced(y: Any, predicted: Any) -> float:
    """Average the accuracy of each class that occurs; scikit-learn warns about predicted ones that do not."""
    return float(np.mean([np.mean(predicted[y == label] == label) for label in np.unique(y)]))


def _log_loss(model: Any, X: Any, y: Any) -> float:
    """Average -ln of the share given to the true class; a share of 0 counts as the smallest above it."""
    shares = model.predict_proba(X)
    given = shares[np.arange(len(y)), np.searchsorted(model.classes_, y)]
    return float(-np.mean(np.log(np.clip(given, np.finfo(np.float64).eps, 1.0))))
