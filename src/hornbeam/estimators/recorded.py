"""Answers that are there already, dressed as estimators: lets any scorer of scikit-learn judge them."""

from typing import Any

from hornbeam.sklearn_bases import BaseEstimator, ClassifierMixin, RegressorMixin

__all__ = ["RecordedClasses", "RecordedNumbers"]


class _Recorded(BaseEstimator):
    def __init__(self, predictions: Any) -> None:
        self.predictions = predictions

    def predict(self, X: Any) -> Any:
        """Repeat the predictions."""
        return self.predictions

    def __sklearn_is_fitted__(self) -> bool:
        return True


class RecordedClasses(ClassifierMixin, _Recorded):
    """Predictions and class shares of a classifier."""

    def __init__(self, predictions: Any, shares: Any, classes: Any) -> None:
        super().__init__(predictions)
        self.shares = shares
        self.classes_ = classes

    def predict_proba(self, X: Any) -> Any:
        """Repeat the shares."""
        return self.shares


class RecordedNumbers(RegressorMixin, _Recorded):
    """Predictions of a regressor."""
