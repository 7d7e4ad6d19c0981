"""Which estimators take rows of a shared table (`hornbeam.data.shared`) as X: those that read it as we do."""

from typing import Any

from hornbeam.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
from hornbeam.estimators.base import TreeModel
from hornbeam.estimators.forest.bagging import BaggingClassifier, BaggingRegressor
from hornbeam.estimators.neighbors import KNeighborsClassifier, KNeighborsRegressor
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["shares_reading"]


def shares_reading(estimator: Any) -> bool:
    """Whether an estimator reads tables as hornbeam does, and so takes rows that are read already.

    Classes that are no models of ours say so by an attribute `reads_tables`.
    """
    if isinstance(estimator, BaggingClassifier | BaggingRegressor):
        return estimator.estimator is None
    if isinstance(estimator, AdaBoostClassifier | AdaBoostRegressor):
        return estimator.estimator is None or (
            type(estimator.estimator) in (DecisionTreeClassifier, DecisionTreeRegressor)
            and estimator.estimator.prune is None
        )
    if hasattr(estimator, "steps"):  # a pipeline is what its first step is
        return bool(estimator.steps) and shares_reading(estimator.steps[0][1])
    ours = isinstance(estimator, TreeModel | KNeighborsClassifier | KNeighborsRegressor)
    return ours or bool(getattr(type(estimator), "reads_tables", False))
