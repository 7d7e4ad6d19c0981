"""Which estimators accept rows of a shared table (`hornbeam.data.shared`): those that read as we do."""

from typing import Any

from hornbeam.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
from hornbeam.estimators.base import TreeModel
from hornbeam.estimators.forest.bagging import BaggingClassifier, BaggingRegressor
from hornbeam.estimators.neighbors import KNeighborsClassifier, KNeighborsRegressor
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["shares_reading"]


def shares_reading(estimator: Any) -> bool:
    """Whether an estimator reads tables as hornbeam does, and so accepts rows that have been read.

    Classes that are not models of ours declare it by an attribute `reads_tables`.
    """
    if isinstance(estimator, BaggingClassifier | BaggingRegressor):
        return estimator.estimator is None
    if isinstance(estimator, AdaBoostClassifier | AdaBoostRegressor):
        return estimator.estimator is None or (
            type(estimator.estimator) in (DecisionTreeClassifier, DecisionTreeRegressor)
            and estimator.estimator.prune is None
        )
    if hasattr(estimator, "steps"):  # for a pipeline its first step decides
        return bool(estimator.steps) and shares_reading(estimator.steps[0][1])
    ours = isinstance(estimator, TreeModel | KNeighborsClassifier | KNeighborsRegressor)
    return ours or bool(getattr(type(estimator), "reads_tables", False))
