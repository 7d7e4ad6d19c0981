"""XGBoost's models, from the JSON that `save_model` writes, read as plain values.

XGBoost rounds numbers to single precision and sends those below a split to the left. Its scores are sums in
single precision, so that ours differ from them in the last digits. It refuses categories that the fit has not
seen; here they go the way of missing values, as everywhere.
"""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from hornbeam.data.table import Category, Kind, Schema
from hornbeam.errors import ImportedModelError
from hornbeam.imports.foreign_trees import ForeignTree, boosting_model, mean_over_leaves, plain_schema
from hornbeam.imports.thresholds import below_single

__all__ = ["from_xgboost"]

# Objective -> loss of ours, and how its base score becomes a score.
_LOSSES: dict[str, tuple[str, str]] = {
    "reg:squarederror": ("squared_error", "identity"),
    "reg:squaredlogerror": ("squared_error", "identity"),
    "reg:pseudohubererror": ("squared_error", "identity"),
    "reg:absoluteerror": ("absolute_error", "identity"),
    "reg:quantileerror": ("squared_error", "identity"),
    "reg:gamma": ("gamma", "log"),
    "reg:tweedie": ("tweedie", "log"),
    "count:poisson": ("poisson", "log"),
    "binary:logistic": ("log_loss", "logit"),
    "multi:softprob": ("softmax", "identity"),
    "multi:softmax": ("softmax", "identity"),
}


_WHOLE_NAMES = (3, 4)  # the first version that writes names of categories as they are


def from_xgboost(
    document: Any, *, classes: Any = None, missing: float | None = None, as_estimator: bool = False
) -> Any:
    """Make a gradient boosting of ours of XGBoost's document.

    `missing` is the estimator's own word for a missing value, `as_estimator` whether it is that of a fitted
    estimator, which answers by the rounds up to its best; a `Booster` answers by all. Of a document that an
    estimator has written, the document says so.
    """
    if missing is not None and not math.isnan(missing):
        raise ImportedModelError(
            f"missing={missing!r} of XGBoost, a number that stands for a missing value, is not supported. "
            "Replace it by NaN in the table and fit again without it"
        )
    try:
        learner = document["learner"]
        booster = learner["gradient_booster"]
        name = booster.get("name", "gbtree")
        if name not in ("gbtree", "dart"):
            raise ImportedModelError(f"booster={name!r} of XGBoost is not supported; 'gbtree' and 'dart' are")
        whole = booster["model"] if name == "gbtree" else _dart(booster)
        model = _rounds_that_count(learner, whole, as_estimator)
        return _boosting(learner, model, classes, version=tuple(map(int, document.get("version", ()))))
    except (KeyError, TypeError, IndexError) as error:
        raise ImportedModelError(f"the document is not that of an XGBoost model: it lacks {error}") from None


def _dart(booster: Any) -> Any:
    """Return a dart model as 3.4 writes it: trees, and what each of them counts."""
    return {**booster["gbtree"]["model"], "weight_drop": booster["weight_drop"]}


def _rounds_that_count(learner: Any, model: Any, as_estimator: bool) -> Any:
    """Leave out the rounds after the best one, where early stopping found one and an estimator answers."""
    attributes = learner.get("attributes", {})
    if "best_iteration" not in attributes or not (as_estimator or "scikit_learn" in attributes):
        return model
    n_rounds = int(attributes["best_iteration"]) + 1
    n_trees = int(model["iteration_indptr"][n_rounds])
    return {**model, "trees": model["trees"][:n_trees], "tree_info": model["tree_info"][:n_trees]}


def _boosting(learner: Any, model: Any, classes: Any, *, version: tuple[int, ...]) -> Any:
    objective = learner["objective"]["name"]
    if objective not in _LOSSES:
        raise ImportedModelError(f"the objective {objective!r} of XGBoost is not supported")
    loss, link = _LOSSES[objective]
    facts = learner["learner_model_param"]
    if int(facts.get("num_target", "1")) > 1:
        raise ImportedModelError("several targets of XGBoost are not supported")
    n_classes = int(facts["num_class"])
    n_scores = max(n_classes, 1)
    if int(model["gbtree_model_param"].get("num_parallel_tree", "1")) > 1 and n_scores > 1:
        raise ImportedModelError("num_parallel_tree above 1 with several classes is not supported")
    n_features = int(facts["num_feature"])
    names = list(learner.get("feature_names") or [])
    schema = plain_schema(names or [f"x{j}" for j in range(n_features)], names_given=bool(names))
    schema = _with_categories(schema, learner, model, version)
    weights = model.get("weight_drop") or [1.0] * len(model["trees"])
    trees = [_tree(tree, schema, float(weights[k])) for k, tree in enumerate(model["trees"])]
    if [int(turn) for turn in model["tree_info"]] != [k % n_scores for k in range(len(trees))]:
        raise ImportedModelError("the trees of the model do not take turns at the classes")
    if loss in ("log_loss", "softmax") and classes is None:
        classes = np.arange(max(n_classes, 2))
    base = str(facts["base_score"]).strip("[]").split(",")
    start = [_linked(float(text), link) for text in (base if len(base) == n_scores else base[:1] * n_scores)]
    return boosting_model(
        trees,
        schema,
        loss=loss,
        start=start,
        classes=classes if loss in ("log_loss", "softmax") else None,
        parameter=1.5 if loss == "tweedie" else 0.0,
    )


def _linked(base: float, link: str) -> float:
    if link == "logit":
        return math.log(base / (1 - base))
    return math.log(base) if link == "log" else base


def _with_categories(schema: Schema, learner: Any, model: Any, version: tuple[int, ...]) -> Schema:
    """Add the categories that the document names, which versions from 3.1 on do for those of frames."""
    is_category = [kind == "c" for kind in learner.get("feature_types") or []]
    if not any(is_category):
        return schema
    known = (model.get("cats") or {}).get("enc") or []
    categories: list[tuple[Category, ...] | None] = [None] * len(schema.names)
    for j in np.flatnonzero(is_category).tolist():
        categories[j] = _categories(known[j], schema.names[j], version) if j < len(known) else ()
        if not categories[j]:
            raise ImportedModelError(
                f"tests on categories of XGBoost need their names: the model does not say which ones column "
                f"{schema.names[j]!r} has. Fit it with XGBoost 3.1 or newer on a data frame"
            )
    kinds = tuple[Kind, ...]("numeric" if one is None else "categorical" for one in categories)
    return Schema(schema.names, schema.names_given, kinds, tuple(categories))


def _categories(encoded: Any, column: str, version: tuple[int, ...]) -> tuple[Category, ...]:
    """Read the categories of a column: numbers, or texts as bytes, one after the other.

    Before 3.4, XGBoost counted characters where it should count bytes, so texts beyond ASCII are cut in its
    file; what is left may still look like a text.
    """
    values = np.asarray(encoded["values"])
    if "offsets" not in encoded:
        return tuple(values.tolist())
    data, ends = values.astype(np.uint8).tobytes(), np.asarray(encoded["offsets"], dtype=np.int64).tolist()
    if not data.isascii() and version < _WHOLE_NAMES:
        raise ImportedModelError(
            f"column {column!r} has categories with letters beyond ASCII, whose names XGBoost before 3.4 "
            "cuts when it saves a model. Fit it with a newer one, or rename them and fit again"
        )
    try:
        return tuple(data[begin:end].decode("utf-8") for begin, end in pairwise(ends))
    except UnicodeDecodeError:
        raise ImportedModelError(f"column {column!r} has categories that are not valid texts") from None


def _goes_left(tree: Any, schema: Schema) -> dict[int, Any]:
    """Say, for each test on categories, which go left: XGBoost has the sets of those that go right."""
    found = {}
    codes = np.asarray(tree.get("categories", ()), dtype=np.int64)
    for node, begin, size in zip(
        tree.get("categories_nodes", ()),
        tree.get("categories_segments", ()),
        tree.get("categories_sizes", ()),
        strict=True,
    ):
        feature = int(tree["split_indices"][int(node)])
        names = schema.categories[feature]
        if names is None:
            raise ImportedModelError(
                f"a test asks for categories of {schema.names[feature]!r}, which has none"
            )
        stays = np.ones(len(names), dtype=np.bool_)
        stays[codes[int(begin) : int(begin) + int(size)]] = False
        found[int(node)] = stays
    return found


def _tree(tree: Any, schema: Schema, factor: float) -> ForeignTree:
    if int(tree["tree_param"].get("size_leaf_vector", "1")) > 1:
        raise ImportedModelError("leaves of XGBoost with several values are not supported")
    left = np.array(tree["left_children"], dtype=np.int64)
    right = np.array(tree["right_children"], dtype=np.int64)
    is_leaf = left < 0
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    weight = np.maximum(np.array(tree["sum_hessian"], dtype=np.float64), 0.0)
    values = np.where(is_leaf, factor * conditions.astype(np.float64), 0.0)
    threshold = np.where(is_leaf, -2.0, below_single(np.where(is_leaf, 0, conditions)))
    return ForeignTree(
        left=left,
        right=right,
        feature=np.array(tree["split_indices"], dtype=np.int64),
        threshold=threshold,
        missing_left=np.array(tree["default_left"], dtype=np.float64) != 0,
        value=mean_over_leaves(left, right, values, weight).reshape(-1, 1, 1),
        rows=np.maximum(np.rint(weight), 1),
        weight=weight,
        gain=np.where(is_leaf, 0.0, np.maximum(np.array(tree["loss_changes"], dtype=np.float64), 0.0)),
        goes_left=_goes_left(tree, schema),
    )
