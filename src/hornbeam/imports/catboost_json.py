"""CatBoost's models, from the JSON that `save_model(..., format="json")` writes: tests on numbers.

A symmetric tree asks the same question in all nodes of a level: bit k of a leaf's number says whether the
value of split k is above its border. Numbers are rounded to single precision.
"""

from typing import Any

import numpy as np

from hornbeam.errors import ImportedModelError
from hornbeam.imports.foreign_trees import (
    ForeignTree,
    boosting_model,
    mean_over_leaves,
    plain_schema,
    sums_over_leaves,
)
from hornbeam.imports.thresholds import up_to_single

__all__ = ["from_catboost"]

_LOSSES = {
    **dict.fromkeys(
        ("RMSE", "MAE", "Quantile", "Huber", "MAPE", "LogLinQuantile", "Expectile"), "squared_error"
    ),
    **dict.fromkeys(("Logloss", "CrossEntropy"), "log_loss"),
    "MultiClass": "softmax",
    "Poisson": "poisson",
    "Tweedie": "tweedie",
}


def from_catboost(document: Any) -> Any:
    """Make a gradient boosting of ours of CatBoost's document."""
    try:
        return _boosting(document)
    except (KeyError, TypeError, IndexError) as error:
        raise ImportedModelError(f"the document is not that of a CatBoost model: it lacks {error}") from None


def _boosting(document: Any) -> Any:
    info = document["features_info"]
    for kind in ("categorical_features", "text_features", "embedding_features"):
        if info.get(kind):
            raise ImportedModelError(
                f"{kind.replace('_', ' ')} of CatBoost are not supported: it keeps hashes and statistics of "
                "them in place of their values"
            )
    name = document["model_info"]["params"]["loss_function"]["type"]
    if name not in _LOSSES:
        raise ImportedModelError(f"the loss {name!r} of CatBoost is not supported")
    loss = _LOSSES[name]
    features = sorted(info["float_features"], key=lambda one: one["flat_feature_index"])
    names = [str(one.get("feature_id") or "") for one in features]
    names_given = all(names) and names != [str(j) for j in range(len(names))]
    schema = plain_schema(
        names if names_given else [f"x{j}" for j in range(len(names))], names_given=names_given
    )
    scale, bias = document["scale_and_bias"]
    bias = [float(one) for one in (bias if isinstance(bias, list) else [bias])]
    classes = _classes(document) if loss in ("log_loss", "softmax") else None
    n_scores = len(classes) if loss == "softmax" and classes is not None else 1
    missing_left = [one.get("nan_value_treatment", "AsIs") != "AsTrue" for one in features]
    trees = [
        tree
        for one in document.get("oblivious_trees") or document["trees"]
        for tree in _trees(one, n_scores, float(scale), missing_left)
    ]
    start = bias if len(bias) == n_scores else bias[:1] * n_scores
    return boosting_model(
        trees, schema, loss=loss, start=start, classes=classes, parameter=1.5 if loss == "tweedie" else 0.0
    )


def _classes(document: Any) -> Any:
    facts = document["model_info"].get("class_params") or {}
    names = facts.get("class_names") or [0, 1]
    classes = np.array(names)
    if not np.array_equal(np.sort(classes), classes):
        raise ImportedModelError(
            "the classes of the model are not in ascending order, which is not supported"
        )
    return classes


def _trees(tree: Any, n_scores: int, scale: float, missing_left: list[bool]) -> list[ForeignTree]:
    """Make a tree per score of one of CatBoost's."""
    nodes = _Nodes()
    if "splits" in tree:
        values = np.array(tree["leaf_values"], dtype=np.float64).reshape(-1, n_scores)
        weights = np.array(tree.get("leaf_weights") or np.ones(len(values)), dtype=np.float64)
        nodes.symmetric(tree["splits"] or [], values, weights)
    else:
        nodes.grown(tree)
    return nodes.trees(n_scores, scale, missing_left)


class _Nodes:
    """Collects nodes, the root first."""

    def __init__(self) -> None:
        self.left: list[int] = []
        self.right: list[int] = []
        self.feature: list[int] = []
        self.border: list[float] = []
        self.value: list[Any] = []
        self.weight: list[float] = []

    def add(self, split: Any = None, value: Any = 0.0, weight: float = 0.0) -> int:
        if split is not None and split.get("split_type", "FloatFeature") != "FloatFeature":
            raise ImportedModelError(
                f"tests of the kind {split['split_type']!r} of CatBoost are not supported"
            )
        self.left.append(-1)
        self.right.append(-1)
        self.feature.append(0 if split is None else int(split["float_feature_index"]))
        self.border.append(0.0 if split is None else float(split["border"]))
        self.value.append(value)
        self.weight.append(weight)
        return len(self.left) - 1

    def symmetric(self, splits: list[Any], values: Any, weights: Any) -> None:
        """Write a symmetric tree out; the last split is asked first, its bit being the highest."""
        waiting = [(len(splits), 0, -1, False)]
        while waiting:
            level, number, parent, is_right = waiting.pop()
            node = (
                self.add(splits[level - 1])
                if level
                else self.add(value=values[number], weight=float(weights[number]))
            )
            if parent >= 0:
                (self.right if is_right else self.left)[parent] = node
            if level:
                waiting.append((level - 1, number, node, False))
                waiting.append((level - 1, number + 2 ** (level - 1), node, True))

    def grown(self, tree: Any) -> None:
        """Write a tree of any shape out."""
        waiting = [(tree, -1, False)]
        while waiting:
            one, parent, is_right = waiting.pop()
            is_leaf = "split" not in one
            value = np.atleast_1d(np.asarray(one["value"], dtype=np.float64)) if is_leaf else 0.0
            node = self.add(
                None if is_leaf else one["split"], value, float(one.get("weight", 1.0)) if is_leaf else 0.0
            )
            if parent >= 0:
                (self.right if is_right else self.left)[parent] = node
            if not is_leaf:
                waiting += [(one["left"], node, False), (one["right"], node, True)]

    def trees(self, n_scores: int, scale: float, missing_left: list[bool]) -> list[ForeignTree]:
        left, right = np.array(self.left), np.array(self.right)
        weight = sums_over_leaves(left, right, np.array(self.weight))
        feature = np.array(self.feature)
        made = []
        for k in range(n_scores):
            values = np.array(
                [0.0 if left[i] >= 0 else float(v[k]) * scale for i, v in enumerate(self.value)]
            )
            made.append(
                ForeignTree(
                    left=left,
                    right=right,
                    feature=feature,
                    threshold=np.where(left < 0, -2.0, up_to_single(np.array(self.border, dtype=np.float32))),
                    missing_left=np.array([missing_left[j] for j in self.feature], dtype=bool),
                    value=mean_over_leaves(left, right, values, weight).reshape(-1, 1, 1),
                    rows=np.rint(weight),
                    weight=weight,
                )
            )
        return made
