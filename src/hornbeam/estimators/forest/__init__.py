"""Forests, and bagging of any estimator: members on samples of the rows, and out-of-bag estimates."""

from hornbeam.estimators.forest.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

__all__ = ["ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier", "RandomForestRegressor"]
