"""hornbeam: decision trees and everything built from them, in one engine."""

from hornbeam import datasets
from hornbeam._core import version as __version__
from hornbeam.estimators.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.io import load, save

__all__ = [
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "__version__",
    "datasets",
    "load",
    "save",
]
