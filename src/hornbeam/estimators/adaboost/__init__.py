"""AdaBoost over trees of ours or any estimator."""

from hornbeam.estimators.adaboost.adaboost import AdaBoostClassifier, AdaBoostRegressor

__all__ = ["AdaBoostClassifier", "AdaBoostRegressor"]
