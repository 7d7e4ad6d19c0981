"""Trees in the two forms that ONNX has for them: the lists that make the attributes of a tree operator.

`TreeEnsemble` (ai.onnx.ml 5) has nodes and leaves apart, and a leaf speaks to one target: a tree that speaks
to several is written once for each. The older `TreeEnsembleRegressor` (ai.onnx.ml 1 and 3) has both in one
list, and its leaves may speak to several targets. Here both only compare numbers. A test on categories
becomes one: its branch was looked up before, so the value is the number of the branch.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hornbeam.exports.c_code import largest_single
from hornbeam.exports.portable import PortableModel, PortableTree

__all__ = ["Comparison", "classic_trees", "modern_trees", "steps_of"]

# The feature that a test reads, by tree and node.
FeatureOf = Callable[[PortableTree, int], int]


@dataclass(frozen=True)
class Comparison:
    """Values up to `threshold` go to `low`, others to `high`: numbers of comparisons, or of leaves if < 0."""

    feature: int
    threshold: float
    low: int
    high: int
    missing_low: bool


def leaf_at(place: int) -> int:
    """Number a leaf, apart from comparisons."""
    return -1 - place


@dataclass
class Steps:
    """A tree as comparisons, the first of which is the root, and the nodes that are its leaves."""

    comparisons: list[Comparison] = field(default_factory=list)
    leaves: list[int] = field(default_factory=list)


def steps_of(tree: PortableTree, feature_of: FeatureOf, *, single: bool) -> Steps:
    """Write a tree as comparisons of two sides; more branches are asked for one by one."""
    begins, count = {}, 0
    for node in range(tree.n_nodes):
        if tree.n_branches[node]:
            begins[node] = count
            count += tree.n_branches[node] - 1
    steps = Steps()

    def place(node: int) -> int:
        if node in begins:
            return begins[node]
        steps.leaves.append(node)
        return leaf_at(len(steps.leaves) - 1)

    for node in range(tree.n_nodes):
        children = list(tree.children(node))
        feature = feature_of(tree, node) if children else 0
        for branch, child in enumerate(children[:-1]):
            is_group = node in tree.branch_of
            threshold = branch + 0.5 if is_group else tree.threshold[node]
            is_last = branch == len(children) - 2
            low = place(child)
            steps.comparisons.append(
                Comparison(
                    feature=feature,
                    threshold=largest_single(threshold) if single else threshold,
                    low=low,
                    high=place(children[-1]) if is_last else begins[node] + branch + 1,
                    missing_low=tree.missing_branch[node] == 0 and not is_group,
                )
            )
    if not steps.comparisons:  # a lone leaf: the operators want a test
        steps.leaves.append(0)
        steps.comparisons.append(Comparison(0, 0.0, leaf_at(0), leaf_at(0), False))
    return steps


def modern_trees(model: PortableModel, feature_of: FeatureOf, dtype: type) -> dict[str, object]:
    """Return the attributes of TreeEnsemble; tensors as arrays."""
    lists: dict[str, list[float]] = {
        name: []
        for name in (
            *("tree_roots", "nodes_featureids", "nodes_splits", "nodes_truenodeids", "nodes_trueleafs"),
            *("nodes_falsenodeids", "nodes_falseleafs", "nodes_missing_value_tracks_true"),
            *("leaf_targetids", "leaf_weights"),
        )
    }
    for number, tree in enumerate(model.trees):
        steps = steps_of(tree, feature_of, single=dtype is np.float32)
        for position in range(tree.values.shape[1]):
            base, leaf_base = len(lists["nodes_splits"]), len(lists["leaf_weights"])
            lists["tree_roots"].append(base)
            for one in steps.comparisons:
                lists["nodes_featureids"].append(one.feature)
                lists["nodes_splits"].append(one.threshold)
                lists["nodes_missing_value_tracks_true"].append(int(one.missing_low))
                for side, way in (("true", one.low), ("false", one.high)):
                    lists[f"nodes_{side}leafs"].append(int(way < 0))
                    lists[f"nodes_{side}nodeids"].append(leaf_base - 1 - way if way < 0 else base + way)
            target = number if model.median_weights is not None else tree.first_score + position
            lists["leaf_targetids"] += [target] * len(steps.leaves)
            lists["leaf_weights"] += tree.values[steps.leaves, position].tolist()
    n_nodes = len(lists["nodes_splits"])
    return {
        **lists,
        "nodes_splits": np.array(lists["nodes_splits"], dtype=dtype),
        "leaf_weights": np.array(lists["leaf_weights"], dtype=dtype),
        "nodes_modes": np.zeros(n_nodes, dtype=np.uint8),  # values up to the split are true
        "aggregate_function": 1,  # sum
        "post_transform": 0,
    }


def classic_trees(model: PortableModel, feature_of: FeatureOf, dtype: type) -> dict[str, object]:
    """Return the attributes of TreeEnsembleRegressor; numbers as arrays."""
    lists: dict[str, list[float]] = {
        name: []
        for name in (
            *("nodes_treeids", "nodes_nodeids", "nodes_featureids", "nodes_values", "nodes_truenodeids"),
            *("nodes_falsenodeids", "nodes_missing_value_tracks_true"),
            *("target_treeids", "target_nodeids", "target_ids", "target_weights"),
        )
    }
    modes: list[str] = []
    for number, tree in enumerate(model.trees):
        steps = steps_of(tree, feature_of, single=dtype is np.float32)
        n_inner, n_nodes = len(steps.comparisons), len(steps.comparisons) + len(steps.leaves)
        lists["nodes_treeids"] += [number] * n_nodes
        lists["nodes_nodeids"] += list(range(n_nodes))
        modes += ["BRANCH_LEQ"] * n_inner + ["LEAF"] * len(steps.leaves)
        for one in steps.comparisons:
            lists["nodes_featureids"].append(one.feature)
            lists["nodes_values"].append(one.threshold)
            lists["nodes_missing_value_tracks_true"].append(int(one.missing_low))
            for side, way in (("true", one.low), ("false", one.high)):
                lists[f"nodes_{side}nodeids"].append(n_inner - 1 - way if way < 0 else way)
        for name in ("featureids", "values", "missing_value_tracks_true", "truenodeids", "falsenodeids"):
            lists[f"nodes_{name}"] += [0] * len(steps.leaves)
        for place, leaf in enumerate(steps.leaves):
            for position, value in enumerate(tree.values[leaf].tolist()):
                target = number if model.median_weights is not None else tree.first_score + position
                lists["target_treeids"].append(number)
                lists["target_nodeids"].append(n_inner + place)
                lists["target_ids"].append(target)
                lists["target_weights"].append(value)
    arrays: dict[str, object] = {
        name: np.array(lists.pop(name), dtype=dtype) for name in ("nodes_values", "target_weights")
    }
    return {**lists, **arrays, "nodes_modes": modes, "aggregate_function": "SUM", "post_transform": "NONE"}
