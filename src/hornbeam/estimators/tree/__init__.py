"""Single trees: classes, numbers, densities; pruning."""

from hornbeam.estimators.tree.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor"]
