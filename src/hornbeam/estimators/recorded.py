"""Existing predictions in the form of estimators, so that any scorer of scikit-learn can judge them."""

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from hornbeam.sklearn_bases import BaseEstimator, ClassifierMixin, RegressorMixin

__all__ = ["RecordedClasses", "RecordedNumbers", "scorer_by_name"]

# Metrics that can be given classes absent from the rows to judge, and whether higher is better.
_OF_SHARES = {
    "neg_log_loss": ("log_loss", False),
    "neg_brier_score": ("brier_score_loss", False),
    "d2_log_loss_score": ("d2_log_loss_score", True),
    "d2_brier_score": ("d2_brier_score", True),
    "top_k_accuracy": ("top_k_accuracy_score", True),
}


class _Recorded(BaseEstimator):
    def __init__(self, predictions: Any) -> None:
        self.predictions = predictions

    def predict(self, X: Any) -> Any:
        """Repeat the predictions."""
        return self.predictions

    def __sklearn_is_fitted__(self) -> bool:
        return True


class RecordedClasses(ClassifierMixin, _Recorded):
    """Predictions and class probabilities of a classifier."""

    def __init__(self, predictions: Any, shares: Any, classes: Any) -> None:
        super().__init__(predictions)
        self.shares = shares
        self.classes_ = classes

    def predict_proba(self, X: Any) -> Any:
        """Repeat the probabilities."""
        return self.shares


class RecordedNumbers(RegressorMixin, _Recorded):
    """Predictions of a regressor."""


def scorer_by_name(
    option: str, name: str, truth: npt.NDArray[Any], classes: npt.NDArray[Any] | None = None
) -> Callable[..., float]:
    """Return a scorer of scikit-learn for rows with the targets `truth`, which may lack some of `classes`.

    What it cannot judge is refused, naming the option.
    """
    from sklearn import metrics  # noqa: PLC0415 - slow to import, and seldom needed

    scorer = metrics.get_scorer(name)
    n_classes = 0 if classes is None else len(classes)
    lacks = max(0, n_classes - len(np.unique(truth)))
    if lacks and name in _OF_SHARES:
        function, more_is_better = _OF_SHARES[name]
        measure = getattr(metrics, function)
        if "labels" in inspect.signature(measure).parameters:
            scorer = metrics.make_scorer(
                measure, greater_is_better=more_is_better, response_method="predict_proba", labels=classes
            )

    def judge(recorded: Any, X: Any, y: Any, **options: Any) -> float:
        try:
            return float(scorer(recorded, X, y, **options))
        except ValueError as error:
            said = " ".join(str(error).split())
            of_classes = f", of {n_classes - lacks} of the {n_classes} classes" if lacks else ""
            raise ValueError(
                f"{option}={name!r} cannot judge the {len(truth)} rows it is asked for{of_classes}: {said} "
                "Give another metric, or more rows."
            ) from error

    return judge
