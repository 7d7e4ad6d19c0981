"""How good a model is, in numbers, and what a guess without any model would reach.

Classes: accuracy, balanced accuracy, log loss. Numbers: R^2, root mean squared and mean absolute error. The
first score is the one to look at.
"""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from hornbeam.baseline import Baseline

__all__ = ["baseline_scores", "scores_of"]


def scores_of(model: Any, X: Any, y: Any) -> dict[str, float]:
    """Score a model on rows with known answers."""
    if not is_classifier(model):
        return _number_scores(model.predict(X), y)
    # A large forest takes its time: it is asked once. The answer is the class of the largest share, the first
    # of equals, as in `predict`.
    shares = model.predict_proba(X)
    predicted = model.classes_[np.argmax(shares, axis=1)]
    return _class_scores(predicted, y, _codes(model.classes_, y), shares)


def baseline_scores(guess: Baseline, y: Any) -> dict[str, float]:
    """Score the guess that needs no columns on the same rows."""
    predicted = np.broadcast_to(np.asarray(guess.answer), len(y))
    if guess.classes is None or guess.shares is None:
        return _number_scores(predicted, y)
    shares = np.broadcast_to(guess.shares, (len(y), len(guess.shares)))
    return _class_scores(predicted, y, _codes(guess.classes, y), shares)


def _number_scores(predicted: Any, y: Any) -> dict[str, float]:
    scores = {
        "RMSE": float(root_mean_squared_error(y, predicted)),
        "MAE": float(mean_absolute_error(y, predicted)),
    }
    return {"R2": float(r2_score(y, predicted)), **scores} if len(y) > 1 else scores


def _codes(classes: Any, y: Any) -> Any:
    """Number the answers as the classes are numbered; None if one of them is no class."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return codes if np.array_equal(classes[codes], y) else None


def _class_scores(predicted: Any, y: Any, codes: Any, shares: Any) -> dict[str, float]:
    """Score answers; what needs the shares of the classes is left out where a class is unknown."""
    right = predicted == y
    scores = {"accuracy": float(np.mean(right))}
    if codes is not None:
        there, within = np.unique(codes, return_inverse=True)
        hits = np.bincount(within, weights=right, minlength=len(there)) / np.bincount(within)
        given = shares[np.arange(len(y)), codes]
        # A share of 0 counts as the smallest above it.
        loss = -np.mean(np.log(np.clip(given, np.finfo(np.float64).eps, 1.0)))
        scores |= {"balanced accuracy": float(np.mean(hits)), "log loss": float(loss)}
    return scores
