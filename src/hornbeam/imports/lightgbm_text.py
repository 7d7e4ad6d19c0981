"""LightGBM's models, from the text that `save_model` writes: numbers, categories, missing values."""

import json
import re
from typing import Any

import numpy as np

from hornbeam.data.table import Schema
from hornbeam.errors import ImportedModelError
from hornbeam.imports.foreign_trees import ForeignTree, boosting_model, mean_over_leaves, sums_over_leaves

__all__ = ["from_lightgbm"]

# Objective -> loss of ours; what is not here is refused.
_LOSSES = {
    "regression": "squared_error",
    "regression_l1": "absolute_error",
    "huber": "squared_error",
    "fair": "squared_error",
    "quantile": "squared_error",
    "mape": "squared_error",
    "poisson": "poisson",
    "gamma": "gamma",
    "tweedie": "tweedie",
    "binary": "log_loss",
    "cross_entropy": "log_loss",
    "multiclass": "softmax",
}
_CATEGORY, _DEFAULT_LEFT = 1, 2
_MISSING_AS_ZERO, _MISSING_IS_NAN = 1, 2
_ZERO = float(np.float32(1e-35))  # what is no further from 0 is 0 to LightGBM


def from_lightgbm(text: str, *, classes: Any = None) -> Any:
    """Make a gradient boosting of ours of LightGBM's text."""
    head, *parts = re.split(r"^Tree=\d+\n", text.split("\nend of trees", maxsplit=1)[0], flags=re.MULTILINE)
    facts = _facts(head)
    if "average_output" in head.split("\n"):
        raise ImportedModelError("boosting='rf' of LightGBM, which averages its trees, is not supported")
    words = facts.get("objective", "").split()
    name = words[0] if words else "none"
    if name not in _LOSSES or "sqrt" in words:
        raise ImportedModelError(f"the objective {' '.join(words) or 'none'!r} of LightGBM is not supported")
    loss = _LOSSES[name]
    n_scores = int(facts.get("num_tree_per_iteration", "1"))
    schema, numbered = _schema(facts, text)
    sigmoid = next((float(word.partition(":")[2]) for word in words if word.startswith("sigmoid:")), 1.0)
    factor = sigmoid if loss == "log_loss" else 1.0
    trees = [_tree(_facts(part), schema, numbered, factor) for part in parts]
    if loss in ("log_loss", "softmax") and classes is None:
        classes = np.arange(max(n_scores, 2))
    return boosting_model(
        trees,
        schema,
        loss=loss,
        start=[0.0] * n_scores,
        classes=classes if loss in ("log_loss", "softmax") else None,
        parameter=1.5 if loss == "tweedie" else 0.0,
    )


def _facts(text: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in text.split("\n") if "=" in line)


def _schema(facts: dict[str, str], text: str) -> tuple[Schema, bool]:
    """Describe the columns; and say whether categories are numbered by position, as those of pandas are."""
    names = facts["feature_names"].split(" ")
    infos = facts["feature_infos"].split(" ")
    if len(names) != len(infos):
        raise ImportedModelError("the text has a different number of names than of columns")
    found = re.search(r"^pandas_categorical:(.*)$", text, re.MULTILINE)
    tables = json.loads(found[1]) if found else None
    given = iter(tables or [])
    categories: list[Any] = []
    for name, info in zip(names, infos, strict=True):
        if info.startswith("[") or info == "none":
            categories.append(None)
            continue
        codes = sorted(int(code) for code in info.split(":") if int(code) >= 0)
        known = next(given, None)
        if known is None:
            categories.append(tuple(codes))
        elif {type(value) for value in known} <= {str} or {type(value) for value in known} <= {int, float}:
            categories.append(tuple(known))
        else:
            raise ImportedModelError(f"column {name!r} has categories that are neither texts nor numbers")
    kinds = tuple("numeric" if one is None else "categorical" for one in categories)
    names_given = names != [f"Column_{j}" for j in range(len(names))]
    if not names_given:
        names = [f"x{j}" for j in range(len(names))]
    schema = Schema(tuple(names), names_given, kinds, tuple(categories))  # type: ignore[arg-type]
    return schema, bool(tables)


def _numbers(facts: dict[str, str], name: str, dtype: Any) -> Any:
    text = facts.get(name, "").split()
    try:
        return np.array([float(word) for word in text], dtype=np.float64).astype(dtype)
    except ValueError:
        raise ImportedModelError(f"{name} of a tree is not a list of numbers") from None


def _tree(facts: dict[str, str], schema: Schema, numbered: bool, factor: float) -> ForeignTree:
    if facts.get("is_linear", "0").strip() != "0":
        raise ImportedModelError("linear_tree=True of LightGBM, a linear model per leaf, is not supported")
    n_leaves = int(facts["num_leaves"])
    n_inner = n_leaves - 1
    leaf_value = _numbers(facts, "leaf_value", np.float64) * factor
    n = n_inner + n_leaves
    left, right = (np.full(n, -1, dtype=np.int64) for _ in range(2))
    if n_inner:
        for side, name in ((left, "left_child"), (right, "right_child")):
            children = _numbers(facts, name, np.int64)
            side[:n_inner] = np.where(children < 0, n_inner + ~children, children)
    rows = np.zeros(n)
    counts = _numbers(facts, "leaf_count", np.float64)
    rows[n_inner:] = counts if len(counts) == n_leaves else 1.0
    rows = sums_over_leaves(left, right, rows)
    at_leaves = np.zeros(n)
    at_leaves[n_inner:] = leaf_value
    gain, threshold, feature = np.zeros(n), np.zeros(n), np.zeros(n, dtype=np.int64)
    missing_left = np.zeros(n, dtype=bool)
    goes_left: dict[int, Any] = {}
    if n_inner:
        feature[:n_inner] = _numbers(facts, "split_feature", np.int64)
        threshold[:n_inner] = _beside_zero(_numbers(facts, "threshold", np.float64))
        gain[:n_inner] = np.maximum(_numbers(facts, "split_gain", np.float64), 0.0)
        decisions = _numbers(facts, "decision_type", np.int64)
        for node, decision in enumerate(decisions.tolist()):
            if decision & _CATEGORY:
                codes = _codes(schema, int(feature[node]), numbered)
                goes_left[node] = _categories(facts, int(threshold[node]), codes)
            else:
                missing_left[node] = _missing_goes_left(decision, float(threshold[node]))
    return ForeignTree(
        left=left,
        right=right,
        feature=feature,
        threshold=threshold,
        missing_left=missing_left,
        value=mean_over_leaves(left, right, at_leaves, rows).reshape(-1, 1, 1),
        rows=rows,
        weight=rows,
        gain=gain,
        goes_left=goes_left,
    )


def _beside_zero(thresholds: Any) -> Any:
    """Part numbers as LightGBM does, which takes those next to 0 for 0."""
    low = np.nextafter(-_ZERO, -np.inf)
    next_to = np.abs(thresholds) <= _ZERO
    return np.where(next_to, np.where(thresholds < 0, low, _ZERO), thresholds)


def _missing_goes_left(decision: int, threshold: float) -> bool:
    """Say where a missing value goes: the default way or, where the fit met none, where 0 goes."""
    default_left = bool(decision & _DEFAULT_LEFT)
    kind = (decision >> 2) & 3
    if kind == _MISSING_IS_NAN:
        return default_left
    zero_left = threshold >= 0
    if kind == _MISSING_AS_ZERO and default_left != zero_left:
        raise ImportedModelError(
            "zero_as_missing=True of LightGBM, which gives zeros a branch of their own, is not supported"
        )
    return zero_left


def _codes(schema: Schema, feature: int, numbered: bool) -> list[int]:
    categories = schema.categories[feature]
    if categories is None:
        raise ImportedModelError(
            f"a test asks for categories of column {schema.names[feature]!r}, which has none"
        )
    return list(range(len(categories))) if numbered else [int(value) for value in categories]


def _categories(facts: dict[str, str], number: int, codes: list[int]) -> Any:
    """Say which categories go left, by position; LightGBM has sets of codes."""
    begins = _numbers(facts, "cat_boundaries", np.int64)
    words = _numbers(facts, "cat_threshold", np.int64)[begins[number] : begins[number + 1]]
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little").astype(bool)
    return np.array([code < len(bits) and bool(bits[code]) for code in codes])
