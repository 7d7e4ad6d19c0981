"""Stacking: models that learn from the predictions of models."""

from hornbeam.estimators.stacking.stacking import StackingClassifier, StackingRegressor

__all__ = ["StackingClassifier", "StackingRegressor"]
