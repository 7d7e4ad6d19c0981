"""The scores of a model, and of a guess without any model.

Classes: accuracy, balanced accuracy, the area under the ROC curve (of more than two classes the mean over
them, each against the rest), log loss. Numbers: R^2, root mean squared and mean absolute error. The first
score is the main one.
"""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.metrics import mean_absolute_error, r2_score, roc_auc_score, root_mean_squared_error

from hornbeam.baseline import Baseline
from hornbeam.data.units import unit_of

__all__ = [
    "baseline_scores",
    "own_baseline_scores",
    "scores_of",
    "scores_of_numbers",
    "scores_of_probabilities",
]

_ROWS_AT_ONCE = 1 << 20


def scores_of(model: Any, X: Any, y: Any) -> dict[str, float]:
    """Score a model on rows with known targets."""
    if not is_classifier(model):
        return scores_of_numbers(model.predict(X), y)
    # A large forest is slow, so it predicts only once.
    return scores_of_probabilities(model.classes_, model.predict_proba(X), y)


def scores_of_probabilities(classes: Any, probabilities: Any, y: Any) -> dict[str, float]:
    """Score class probabilities; the answer is the first class with the largest, as in `predict`."""
    return _class_scores(classes[np.argmax(probabilities, axis=1)], y, _codes(classes, y), probabilities)


def baseline_scores(guess: Baseline, y: Any) -> dict[str, float]:
    """Score the guess that needs no columns on the same rows."""
    predicted = np.broadcast_to(np.asarray(guess.answer), len(y))
    if guess.classes is None or guess.shares is None:
        return scores_of_numbers(predicted, y)
    probabilities = np.broadcast_to(guess.shares, (len(y), len(guess.shares)))
    return _class_scores(predicted, y, _codes(guess.classes, y), probabilities)


def own_baseline_scores(guess: Baseline, y: Any) -> dict[str, float]:
    """Score the guess on the rows that it was made from, which may be many: in little memory."""
    if guess.classes is None or guess.shares is None:
        blocks = range(0, len(y), _ROWS_AT_ONCE)
        errors = (np.abs(y[begin : begin + _ROWS_AT_ONCE] - guess.answer).sum() for begin in blocks)
        scores = {"RMSE": guess.score, "MAE": float(sum(errors) / len(y))}
        return {"R2": 0.0 if guess.score > 0 else 1.0, **scores} if len(y) > 1 else scores
    scores = {"accuracy": guess.score, "balanced accuracy": 1.0 / len(guess.shares)}
    if len(guess.shares) > 1:
        scores["AUC"] = 0.5
    scores["log loss"] = float(-(guess.shares * np.log(guess.shares)).sum()) + 0.0
    return scores


def scores_of_numbers(predicted: Any, y: Any) -> dict[str, float]:
    """Score predicted numbers."""
    unit = unit_of(np.asarray(y, dtype=np.float64))  # in which squares are finite
    y, predicted = y / unit, predicted / unit
    scores = {
        "RMSE": float(root_mean_squared_error(y, predicted)) * unit,
        "MAE": float(mean_absolute_error(y, predicted)) * unit,
    }
    return {"R2": float(r2_score(y, predicted)), **scores} if len(y) > 1 else scores


def _codes(classes: Any, y: Any) -> Any:
    """Number the answers as the classes are numbered; None if one of them is no class."""
    codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    return codes if np.array_equal(classes[codes], y) else None


def _class_scores(predicted: Any, y: Any, codes: Any, probabilities: Any) -> dict[str, float]:
    """Score answers; what needs the probabilities of the classes is left out where a class is unknown."""
    right = predicted == y
    scores = {"accuracy": float(np.mean(right))}
    if codes is not None:
        there, within = np.unique(codes, return_inverse=True)
        hits = np.bincount(within, weights=right, minlength=len(there)) / np.bincount(within)
        given = probabilities[np.arange(len(y)), codes]
        # A share of 0 counts as the smallest above it.
        loss = (
            np.mean(-np.log(np.clip(given, np.finfo(np.float64).eps, 1.0))) + 0.0
        )  # and no loss is 0, not -0
        scores["balanced accuracy"] = float(np.mean(hits))
        if len(there) == probabilities.shape[1] > 1:
            scores["AUC"] = _area(codes, probabilities)
        scores["log loss"] = float(loss)
    return scores


def _area(codes: Any, probabilities: Any) -> float:
    """Return the share of pairs, one row of a class and one of another, that are in the right order."""
    areas = [
        roc_auc_score(codes == k, probabilities[:, k])
        for k in ([1] if probabilities.shape[1] == 2 else range(probabilities.shape[1]))
    ]
    return float(np.mean(areas))
