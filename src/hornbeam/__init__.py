"""hornbeam: decision trees and everything built from them, in one engine."""

from hornbeam import datasets
from hornbeam._core import version as __version__
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.io import load, save

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor", "__version__", "datasets", "load", "save"]
