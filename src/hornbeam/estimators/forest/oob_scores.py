"""The score of out-of-bag predictions, by any metric of scikit-learn."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hornbeam.data.target import ClassTarget, RegressionTarget
from hornbeam.data.units import unit_of
from hornbeam.estimators.recorded import RecordedClasses, RecordedNumbers, scorer_by_name
from hornbeam.recipes.out_of_bag import OutOfBag

__all__ = ["score_of_classes", "score_of_numbers"]

FloatArray = npt.NDArray[np.float64]
Metric = bool | str | Callable[..., float]


def score_of_classes(metric: Metric, target: ClassTarget, shares: FloatArray) -> float:
    """Score out-of-bag predictions, NaN for rows that have none: accuracy, unless a metric is given."""
    rows = ~np.isnan(shares[:, 0, 0])
    if not rows.any():
        return float("nan")
    sums = shares[rows]
    labels = [target.labels(k)[rows] for k in range(target.n_outputs)]
    found = [target.classes[k][sums[:, k].argmax(axis=1)] for k in range(target.n_outputs)]
    if isinstance(metric, bool):
        # With several outputs all must be right, as in scikit-learn's accuracy.
        right = [truth == answer for truth, answer in zip(labels, found, strict=True)]
        return float(np.mean(np.all(right, axis=0)))
    if target.n_outputs > 1:
        truth, answers = np.stack(labels, axis=1), np.stack(found, axis=1)
        if callable(metric):
            return float(metric(truth, answers))
        raise ValueError("oob_score takes a function or True for several outputs, not the name of a metric.")
    if callable(metric):
        return float(metric(labels[0], found[0]))
    classes = target.classes[0]
    recorded = RecordedClasses(found[0], sums[:, 0, : len(classes)], classes)
    scorer = scorer_by_name("oob_score", metric, labels[0], classes)
    return scorer(recorded, labels[0].reshape(-1, 1), labels[0])


def score_of_numbers(metric: Metric, target: RegressionTarget, out_of_bag: OutOfBag) -> float:
    """Score the out-of-bag predictions of the rows that have one: R^2, unless a metric is given."""
    from sklearn import metrics  # noqa: PLC0415 - slow to import, and seldom needed

    rows = out_of_bag.answered
    if np.count_nonzero(rows) < 2:
        return float("nan")
    truth, found = target.values[rows], out_of_bag.answers()[rows, :, 0]
    if target.n_outputs == 1:
        truth, found = truth[:, 0], found[:, 0]
    if isinstance(metric, bool):
        unit = unit_of(target.values)
        return float(metrics.r2_score(truth / unit, found / unit))
    if callable(metric):
        return float(metric(truth, found))
    scorer = scorer_by_name("oob_score", metric, truth)
    return scorer(RecordedNumbers(found), truth.reshape(len(truth), -1), truth)
