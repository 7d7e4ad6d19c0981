"""The second chapter of a single tree: from the grown-out tree to its root, by cost-complexity pruning.

The tree is grown once more without pruning, on the rows given; the error of each smaller tree comes from
validation rows where there are any, else from cross-validation.
"""

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone

from hornbeam import _core
from hornbeam.recipes.prune import leaf_sums
from hornbeam.report.viewer import way_of
from hornbeam.story.growing import node_facts, rows_by_node
from hornbeam.story.impurity import cells_of, impurity_named
from hornbeam.story.material import Material, rounded

__all__ = ["pruning_chapter"]

MOST_LEAVES = 60


def pruning_chapter(material: Material) -> dict[str, Any]:
    """Lay out the nested trees, and what each of them gets wrong."""
    whole, table = _grown_and_judged(material)
    tree = whole._model.trees[0]
    reading = whole._reading(tree)
    path = _core.cost_complexity_path(tree, whole.prune_cost == "error")
    inside = rows_by_node(whole, material.rows.native)
    of_classes = material.labels is not None
    impurity = impurity_named(whole.get_params(deep=False)["criterion"], of_classes=of_classes)
    cells = cells_of(material.truth, len(material.labels or ()))
    order = [place.node for place in reading.walk()]
    places = {node: place for place, node in enumerate(order)}
    nodes = []
    for node in order:
        facts = node_facts(reading, node, cells[inside[node]], impurity, material)
        facts["children"] = [places[reading.child(node, b)] for b in reading.branches(node)]
        facts["removed_at"] = int(path["removed_at"][node])
        nodes.append(facts)
    for node in order:
        for branch in reading.branches(node):
            nodes[places[reading.child(node, branch)]].update(
                parent=places[node], way=way_of(reading, node, branch)
            )
    errors = np.array([_error_as_leaf(material, tree, node, inside[node]) for node in range(len(inside))])
    training = leaf_sums(tree, path, errors) / material.rows.n_rows
    return {
        "kind": "pruning",
        "nodes": nodes,
        "leaves": [int(n) for n in table.leaves],
        "alpha": [rounded(float(alpha), 4) for alpha in table.alpha],
        "error": [rounded(float(error), 5) for error in table.error],
        "standard_error": [rounded(float(error), 3) for error in table.standard_error],
        "training": [rounded(max(float(error), 0.0), 5) for error in training],
        "judged_by": "validation rows" if material.validation[0] is not None else "cross-validation",
        "own_leaves": int(material.model.get_n_leaves()),
        "limited": whole.max_leaf_nodes == MOST_LEAVES and material.model.max_leaf_nodes != MOST_LEAVES,
    }


def _grown_and_judged(material: Material) -> tuple[Any, Any]:
    """Grow the tree again without pruning, and judge its nested trees."""
    model, X = material.model, material.rows.native
    y = _target(material)
    limit = model.max_leaf_nodes if model.max_leaf_nodes and model.max_leaf_nodes < MOST_LEAVES else None
    seed = material.seed if model.random_state is None else model.random_state
    options = {"prune": None, "ccp_alpha": 0.0, "random_state": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the user has been told at the fit
        whole = clone(model).set_params(**options).fit(X, y)
        if whole.get_n_leaves() > MOST_LEAVES:
            limit = MOST_LEAVES
            whole.set_params(max_leaf_nodes=limit).fit(X, y)
        judged = clone(whole).set_params(prune="cost_complexity")
        X_val, y_val = material.validation
        if X_val is not None:
            judged.set_params(prune_select="validation").fit(X, y, X_val=X_val, y_val=y_val)
        else:
            judged.set_params(prune_select="cv", cv=_folds(material)).fit(X, y)
    return whole, judged._pruning_record().table


def _target(material: Material) -> Any:
    if material.labels is None:
        return material.truth
    return np.asarray(material.model.classes_)[material.truth]


def _folds(material: Material) -> int:
    """Return as many folds as the rarest class has rows, from two to five."""
    if material.labels is None:
        return min(5, material.rows.n_rows)
    counts = np.bincount(material.truth)
    return int(np.clip(counts[counts > 0].min(), 2, 5))


def _error_as_leaf(material: Material, tree: Any, node: int, rows: Any) -> float:
    """Sum up what a node would get wrong if it were a leaf: rows, or squared differences."""
    value, truth = tree.value[node, 0], material.truth[rows]
    if material.labels is None:
        return float(((truth - value[0]) ** 2).sum())
    return float((truth != int(np.argmax(value[: len(material.labels)]))).sum())
