"""Gradient boosting."""

from hornbeam.estimators.boosting.boosting import GradientBoostingClassifier, GradientBoostingRegressor

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]
