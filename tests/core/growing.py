"""Calling the core directly, for tests: columns as the oracle takes them, trees out."""

from typing import Any

import numpy as np

from hornbeam import _core
from hornbeam.model import SURROGATE_ARRAYS, TREE_ARRAYS

DEFAULTS: dict[str, Any] = {
    "growth": "depth_first",
    "random_splits": False,
    "max_surrogates": 5,
    "merge_level": 0.05,
    "max_depth": 0,
    "min_samples_split": 2,
    "min_samples_leaf": 1,
    "min_weight_leaf": 0.0,
    "max_leaf_nodes": 0,
    "max_nodes": 0,
    "max_features": 0,
    "min_impurity_decrease": 0.0,
    "min_significance": 1.0,
    "monotonic": [],
    "key": 0,
    "n_threads": 1,
}


def n_categories(column: np.ndarray) -> int:
    """Number of category codes of an integer column; at least one, as the oracle needs none."""
    return max(1, int(column.max()) + 1)


def encode(columns: list[np.ndarray], *, max_bins: int = 0) -> _core.Dataset:
    """Floats are numeric columns, integers are category codes."""
    parts = [
        (column.astype(np.int32), n_categories(column))
        if np.issubdtype(column.dtype, np.integer)
        else (column,)
        for column in columns
    ]
    return _core.encode_table(len(columns[0]), parts, max_bins, 1)


def grow(
    columns: list[np.ndarray] | _core.Dataset,
    y: np.ndarray,
    weights: np.ndarray | None = None,
    *,
    n_classes: int | None = None,
    rows: np.ndarray | None = None,
    multiplicity: np.ndarray | None = None,
    **settings: Any,
) -> _core.Tree:
    """Grow one tree; classes if `n_classes` is given, numbers otherwise."""
    data = columns if isinstance(columns, _core.Dataset) else encode(columns)
    target = np.asarray(y).reshape(len(y), -1)
    n_outputs = target.shape[1]
    if rows is None:
        rows = np.arange(len(y)) if weights is None else np.flatnonzero(weights)
    tree, _ = _core.grow_tree(
        data,
        n_classes=[] if n_classes is None else [n_classes] * n_outputs,
        n_outputs=n_outputs,
        classes=None if n_classes is None else target.astype(np.int32).ravel(),
        reals=target.astype(float).ravel() if n_classes is None else None,
        weights=weights,
        rows=np.asarray(rows, dtype=np.uint32),
        multiplicity=None if multiplicity is None else multiplicity.astype(np.uint32),
        **{"criterion": "squared_error" if n_classes is None else "gini", **DEFAULTS, **settings},
    )
    return tree


def same_bits(a: _core.Tree, b: _core.Tree, fields: tuple[str, ...] = TREE_ARRAYS + SURROGATE_ARRAYS) -> bool:
    """Whether two trees agree in every bit of the named arrays; of scikit-learn's kind, in those of ours."""
    a, b = getattr(a, "_ours", a), getattr(b, "_ours", b)
    return all(np.array(getattr(a, f)).tobytes() == np.array(getattr(b, f)).tobytes() for f in fields)
