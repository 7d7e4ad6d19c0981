"""hornbeam: decision trees and everything built from them, in one engine."""

from hornbeam._core import __version__
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor", "__version__"]
