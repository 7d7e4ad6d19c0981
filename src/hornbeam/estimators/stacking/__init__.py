"""Stacking: models on the answers of models."""

from hornbeam.estimators.stacking.stacking import StackingClassifier, StackingRegressor

__all__ = ["StackingClassifier", "StackingRegressor"]
