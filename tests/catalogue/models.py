"""What the tests of the catalogue share: the two trees, a small problem, and how models are compared."""

from typing import Any

import numpy as np
from core.growing import same_bits

from hornbeam import DecisionTreeClassifier, DecisionTreeRegressor

Tree = DecisionTreeClassifier | DecisionTreeRegressor
TREES: tuple[type[Tree], ...] = (DecisionTreeClassifier, DecisionTreeRegressor)


def problem(n_rows: int = 200, n_columns: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Make a table of small whole numbers, which every dtype holds exactly, and a target of three classes."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 100, size=(n_rows, n_columns)).astype(np.float64)
    y = (X[:, 0] > 50).astype(np.int64) + (X[:, 1] + X[:, 2] > 120)
    return X, y


def same_model(a: Tree, b: Tree) -> bool:
    """Whether two trees agree in every bit."""
    return same_bits(a.tree_, b.tree_)


def fit_both(X: Any, y: Any, **parameters: Any) -> list[Tree]:
    """Fit a classifier and a regressor."""
    return [tree(**parameters).fit(X, y) for tree in TREES]
