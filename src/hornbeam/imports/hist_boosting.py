"""scikit-learn's histogram gradient boosting, with its categories and its directions of missing values."""

from typing import Any

import numpy as np

from hornbeam.data.table import Schema
from hornbeam.errors import ImportedModelError
from hornbeam.imports.foreign_trees import ForeignTree, boosting_model, mean_over_leaves
from hornbeam.imports.sklearn_trees import columns_of_sklearn

__all__ = ["from_hist_boosting"]

_LOSSES = ("squared_error", "absolute_error", "gamma", "poisson", "quantile")


def from_hist_boosting(model: Any) -> Any:
    """Make a gradient boosting of ours of one of scikit-learn's."""
    classes = getattr(model, "classes_", None)
    rounds = model._predictors
    n_scores = len(rounds[0])
    if classes is None:
        loss = model.loss
        if loss not in _LOSSES:
            raise ImportedModelError(f"the loss {loss!r} of HistGradientBoostingRegressor is not supported")
    else:
        loss = "log_loss" if n_scores == 1 else "softmax"
    names, names_given = columns_of_sklearn(model)
    schema = _schema(model, names, names_given)
    order = np.array(_order(model))
    trees = [_tree(predictor, schema, order) for one in rounds for predictor in one]
    start = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)
    parameter = float(model.quantile) if loss == "quantile" else 0.0
    return boosting_model(
        trees, schema, loss=loss, start=start.tolist(), classes=classes, parameter=parameter
    )


def _order(model: Any) -> list[int]:
    """Number the columns as the trees do: those with categories come first."""
    is_categorical = model.is_categorical_
    n = model.n_features_in_
    if is_categorical is None or not is_categorical.any():
        return list(range(n))
    return [*np.flatnonzero(is_categorical).tolist(), *np.flatnonzero(~is_categorical).tolist()]


def _schema(model: Any, names: list[str], names_given: bool) -> Schema:
    """Describe the columns: categories are those that the fit has seen, in the order of their codes."""
    n = len(names)
    categories: list[Any] = [None] * n
    if model.is_categorical_ is not None and model.is_categorical_.any():
        known = model._preprocessor.named_transformers_["encoder"].categories_
        for j, values in zip(np.flatnonzero(model.is_categorical_).tolist(), known, strict=True):
            categories[j] = _plain(values, names[j])
    kinds = tuple("categorical" if categories[j] is not None else "numeric" for j in range(n))
    return Schema(tuple(names), names_given, kinds, tuple(categories))  # type: ignore[arg-type]


def _plain(values: Any, name: str) -> tuple[Any, ...]:
    """Return categories as plain values; what is missing comes last and has no code of its own here."""
    plain = [value for value in np.asarray(values).tolist() if value is not None and str(value) != "nan"]
    if len({type(value) for value in plain} & {str, int, float, bool}) != 1:
        raise ImportedModelError(f"column {name!r} has categories that are neither texts nor numbers")
    return tuple(plain)


def _tree(predictor: Any, schema: Schema, order: Any) -> ForeignTree:
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(bool)
    left = np.where(is_leaf, -1, nodes["left"].astype(np.int64))
    right = np.where(is_leaf, -1, nodes["right"].astype(np.int64))
    rows = nodes["count"].astype(np.int64)
    value = mean_over_leaves(left, right, nodes["value"].astype(np.float64), rows.astype(np.float64))
    feature = order[np.where(is_leaf, 0, nodes["feature_idx"].astype(np.int64))]
    goes_left = {}
    for node in np.flatnonzero(nodes["is_categorical"].astype(bool) & ~is_leaf).tolist():
        words = predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]
        bits = np.unpackbits(np.asarray(words).astype("<u4").view(np.uint8), bitorder="little").astype(bool)
        goes_left[node] = bits[: len(schema.categories[feature[node]] or ())]
    gain = np.where(is_leaf, 0.0, np.maximum(nodes["gain"], 0.0))
    return ForeignTree(
        left=left,
        right=right,
        feature=feature,
        threshold=nodes["num_threshold"].astype(np.float64),
        missing_left=nodes["missing_go_to_left"].astype(bool),
        value=value.reshape(-1, 1, 1),
        rows=rows,
        weight=rows.astype(np.float64),
        gain=gain,
        goes_left=goes_left,
    )
