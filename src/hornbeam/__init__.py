"""hornbeam: decision trees and everything built from them, in one engine."""

import importlib
from typing import TYPE_CHECKING, Any

from hornbeam import datasets
from hornbeam._core import version as __version__
from hornbeam.baseline import Baseline, baseline
from hornbeam.bootstrap import (
    BiasVariance,
    Bootstrap,
    MemberAgreement,
    bias_variance,
    bootstrap,
    member_agreement,
    member_correlation,
)
from hornbeam.crowds import crowd, variance_of_mean
from hornbeam.distill import Distilled, distill
from hornbeam.estimators.adaboost import AdaBoostClassifier, AdaBoostRegressor
from hornbeam.estimators.blend import BlendClassifier, BlendRegressor
from hornbeam.estimators.boosting import GradientBoostingClassifier, GradientBoostingRegressor
from hornbeam.estimators.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hornbeam.estimators.forest.bagging import BaggingClassifier, BaggingRegressor
from hornbeam.estimators.neighbors import KNeighborsClassifier, KNeighborsRegressor
from hornbeam.estimators.stacking import StackingClassifier, StackingRegressor
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.estimators.tree.density import DensityTree
from hornbeam.impurity import (
    chi_square,
    conditional_entropy,
    entropy,
    gain_ratio,
    gini,
    information_gain,
    misclassification,
    split_impurity,
)
from hornbeam.line_search import BoostedByLineSearch, boost_by_line_search
from hornbeam.report import report
from hornbeam.small_trees import small_tree
from hornbeam.story import story
from hornbeam.training_sets import EnsembleVariance, ensemble_variance

if TYPE_CHECKING:
    from hornbeam import plot
    from hornbeam.data.streams.encoded_table import EncodedTable
    from hornbeam.exports.front import export
    from hornbeam.imports.front import from_model
    from hornbeam.io.native import load, save
    from hornbeam.selection.best import best
    from hornbeam.selection.compare import Comparison, compare
    from hornbeam.selection.tune import Tuned, tune

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "BaggingClassifier",
    "BaggingRegressor",
    "Baseline",
    "BiasVariance",
    "BlendClassifier",
    "BlendRegressor",
    "BoostedByLineSearch",
    "Bootstrap",
    "Comparison",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "DensityTree",
    "Distilled",
    "EncodedTable",
    "EnsembleVariance",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "KNeighborsClassifier",
    "KNeighborsRegressor",
    "MemberAgreement",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "Tuned",
    "__version__",
    "baseline",
    "best",
    "bias_variance",
    "boost_by_line_search",
    "bootstrap",
    "chi_square",
    "compare",
    "conditional_entropy",
    "crowd",
    "datasets",
    "distill",
    "ensemble_variance",
    "entropy",
    "export",
    "from_model",
    "gain_ratio",
    "gini",
    "information_gain",
    "load",
    "member_agreement",
    "member_correlation",
    "misclassification",
    "plot",
    "report",
    "save",
    "small_tree",
    "split_impurity",
    "story",
    "tune",
    "variance_of_mean",
]

# Names that a fit does not need, and the modules they are in.
_LATER = {
    "EncodedTable": "hornbeam.data.streams.encoded_table",
    "best": "hornbeam.selection.best",
    "Comparison": "hornbeam.selection.compare",
    "Tuned": "hornbeam.selection.tune",
    "compare": "hornbeam.selection.compare",
    "export": "hornbeam.exports.front",
    "from_model": "hornbeam.imports.front",
    "load": "hornbeam.io.native",
    "save": "hornbeam.io.native",
    "tune": "hornbeam.selection.tune",
}


def __dir__() -> list[str]:
    """List the public names."""
    return sorted(__all__)


def __getattr__(name: str) -> Any:
    """Import names that a fit does not need on first use, so that `import hornbeam` stays fast."""
    if name == "plot":
        return importlib.import_module("hornbeam.plot")
    if name in _LATER:
        return getattr(importlib.import_module(_LATER[name]), name)
    raise AttributeError(f"module 'hornbeam' has no attribute {name!r}")
