"""How good an answer is, so that no time stands alone. True values and predictions in, one number out."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import Dataset

Score = Literal["test AUC", "test accuracy", "test R2"]


def usual_score(task: str) -> Score:
    """The score a task is judged by unless the job says otherwise."""
    names: dict[str, Score] = {"binary": "test AUC", "multiclass": "test accuracy", "regression": "test R2"}
    return names[task]


def score_predictions(data: Dataset, predictions: Any, score: Score) -> float:
    """Judge predictions for the test part: probabilities (one or more columns), or values for numbers."""
    from sklearn import metrics

    predictions = np.asarray(predictions)
    if score == "test R2":
        return float(metrics.r2_score(data.y_test, predictions.reshape(-1)))
    if score == "test AUC":
        return float(metrics.roc_auc_score(data.y_test, second_class(predictions)))
    return float(np.mean(chosen_class(predictions) == data.y_test))


def second_class(predictions: NDArray[Any]) -> NDArray[Any]:
    """The column of the second class, whether a library returns one column or two."""
    return predictions.reshape(len(predictions), -1)[:, -1]


def chosen_class(predictions: NDArray[Any]) -> NDArray[Any]:
    if predictions.ndim == 2 and predictions.shape[1] > 1:
        return np.asarray(np.argmax(predictions, axis=1))
    return (second_class(predictions) > 0.5).astype(np.int64)


def share_of_exact_neighbours(data: Dataset, indices: Any, checked: int = 500) -> float:
    """Share of the queries whose neighbours are as near as float64 brute force says, on the first queries.

    Distances are compared, not row numbers: any of several equally distant rows is right.
    """
    found = np.asarray(indices)[:checked]
    rows, queries = data.X.astype(np.float64), data.X_test[:checked].astype(np.float64)
    right = 0
    for query, neighbours in zip(queries, found, strict=True):
        distances = ((rows - query) ** 2).sum(axis=1)
        nearest = np.partition(distances, len(neighbours) - 1)[: len(neighbours)]
        right += bool(np.array_equal(np.sort(distances[neighbours]), np.sort(nearest)))
    return right / len(queries)
