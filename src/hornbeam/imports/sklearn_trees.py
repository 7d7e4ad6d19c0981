"""scikit-learn's single trees, random forests and extra trees.

They round each number to single precision before they compare it; `thresholds.py` has what that means.
"""

from typing import Any

import numpy as np

from hornbeam.estimators.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from hornbeam.estimators.tree import DecisionTreeClassifier, DecisionTreeRegressor
from hornbeam.imports.foreign_trees import ForeignTree, grown_model, plain_schema
from hornbeam.imports.thresholds import up_to_single

__all__ = ["SKLEARN_TREES", "columns_of_sklearn", "from_sklearn"]

# Class of scikit-learn -> class of ours.
SKLEARN_TREES: dict[str, Any] = {
    "DecisionTreeClassifier": DecisionTreeClassifier,
    "ExtraTreeClassifier": DecisionTreeClassifier,
    "DecisionTreeRegressor": DecisionTreeRegressor,
    "ExtraTreeRegressor": DecisionTreeRegressor,
    "RandomForestClassifier": RandomForestClassifier,
    "RandomForestRegressor": RandomForestRegressor,
    "ExtraTreesClassifier": ExtraTreesClassifier,
    "ExtraTreesRegressor": ExtraTreesRegressor,
}


def columns_of_sklearn(model: Any) -> tuple[list[str], bool]:
    """Return the names of the columns, and whether the user gave them."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return [f"x{j}" for j in range(model.n_features_in_)], False
    return [str(name) for name in names], True


def from_sklearn(model: Any) -> Any:
    """Make one of our trees or forests of scikit-learn's."""
    names, names_given = columns_of_sklearn(model)
    schema = plain_schema(names, names_given=names_given)
    kind = SKLEARN_TREES[type(model).__name__]
    members = [model] if hasattr(model, "tree_") else model.estimators_
    ours = kind() if hasattr(model, "tree_") else kind(n_estimators=len(members))
    if isinstance(ours, RandomForestClassifier | ExtraTreesClassifier):
        ours.set_params(smoothing=0.0)  # theirs are plain means
    if isinstance(ours, DecisionTreeClassifier | DecisionTreeRegressor):
        ours._pruning = None
    trees = [_tree(member.tree_) for member in members]
    classes = getattr(model, "classes_", None)
    return grown_model(ours, trees, schema, classes=classes)


def _tree(tree: Any) -> ForeignTree:
    is_inner = tree.children_left >= 0
    weight = tree.weighted_n_node_samples
    impure = weight * tree.impurity
    gain = np.zeros(tree.node_count)
    left, right = tree.children_left[is_inner], tree.children_right[is_inner]
    gain[is_inner] = np.maximum(impure[is_inner] - impure[left] - impure[right], 0.0)
    threshold = np.full(tree.node_count, -2.0)
    threshold[is_inner] = up_to_single(tree.threshold[is_inner])
    return ForeignTree(
        left=tree.children_left,
        right=tree.children_right,
        feature=tree.feature,
        threshold=threshold,
        missing_left=np.asarray(tree.missing_go_to_left, dtype=np.bool_),
        value=tree.value,
        rows=tree.n_node_samples,
        weight=weight,
        impurity=tree.impurity,
        gain=gain,
    )
