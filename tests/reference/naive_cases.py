"""Small problems for the oracle, and what its trees are asked."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from reference.criteria import Criterion, impurity
from reference.naive import grow
from reference.nodes import Candidate, Node, Rules
from reference.splits import is_missing
from reference.tables import TARGETS, Table, Target, tables
from reference.walks import (
    children,
    leaves_below,
)

CLASS_CRITERIA: tuple[Criterion, ...] = ("gini", "entropy", "accuracy")
LARGEST = np.finfo(float).max
TINY = 5e-324


def leaf_count(nodes: list[Node]) -> int:
    return len(leaves_below(nodes, 0))


def shape_of(nodes: list[Node]) -> list[tuple]:
    """What must agree when two trees are the same tree."""
    return [(n.split, n.first_child, n.rows, n.weight, n.impurity, n.value.tolist()) for n in nodes]


# Worked numbers -----------------------------------------------------------------------------------


def weighted_impurity(criterion: Criterion, groups: Sequence[np.ndarray]) -> float:
    """The average impurity of the branches of a split, weighted with their rows."""
    rows = sum(len(group) for group in groups)
    return sum(len(group) / rows * impurity(criterion, group, np.ones(len(group))) for group in groups)


def counts(*per_class: int) -> np.ndarray:
    """Class codes with so many rows of class 0, of class 1, ..."""
    return np.repeat(np.arange(len(per_class)), per_class)


# Against scikit-learn -----------------------------------------------------------------------------


def sklearn_tree(X: np.ndarray, y: np.ndarray, w: np.ndarray | None, criterion: str, **params: Any) -> Any:
    model = DecisionTreeClassifier if criterion in CLASS_CRITERIA else DecisionTreeRegressor
    return model(criterion=criterion, random_state=0, **params).fit(X, y, sample_weight=w)


def tied_with_winner(node: Node) -> list[Candidate]:
    """Every candidate that scikit-learn, which tries features in random order, may take instead."""
    assert node.winner is not None
    floor = node.winner.score - 1e-9 * max(abs(node.winner.score), node.score_scale)
    return [c for c in node.candidates if c.margin >= 0 and c.score >= floor]


def assert_same_tree(nodes: list[Node], model: Any, X: np.ndarray) -> int:
    """Compare node by node from the root, stopping below a tie; return the number of splits compared."""
    tree, compared, pairs = model.tree_, 0, [(0, 0)]
    while pairs:
        ours, theirs = pairs.pop()
        node = nodes[ours]
        assert node.rows == tree.n_node_samples[theirs]
        assert node.weight == pytest.approx(tree.weighted_n_node_samples[theirs])
        assert node.impurity == pytest.approx(tree.impurity[theirs], abs=1e-12)
        np.testing.assert_allclose(node.value, tree.value[theirs], atol=1e-12)
        their_children = [tree.children_left[theirs], tree.children_right[theirs]]
        if node.split is None:
            assert their_children == [-1, -1]
            continue
        feature, threshold = int(tree.feature[theirs]), float(tree.threshold[theirs])
        tied = {(c.split.feature, c.split.threshold) for c in tied_with_winner(node)}
        assert (feature, threshold) in tied
        if len(tied) > 1 or (len(tied_with_winner(node)) > 1 and np.isnan(X[node.row_ids, feature]).any()):
            continue
        if np.isnan(X[node.row_ids, feature]).any():
            assert node.split.missing_branch == 1 - tree.missing_go_to_left[theirs]
        compared += 1
        pairs += zip(children(nodes, ours), their_children, strict=True)
    return compared


def random_problem(seed: int, criterion: str, rows: int = 80) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Continuous data, X exact in the float32 that scikit-learn uses; y depends on X with noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, 3)).astype(np.float32).astype(float)
    signal = X[:, 0] + 0.5 * X[:, 1] * X[:, 2] + rng.normal(scale=0.5, size=rows)
    if criterion in CLASS_CRITERIA:
        y = np.digitize(signal, [0.0] if seed % 2 else [-0.5, 0.5])
    else:
        y = np.exp(signal / 2) if criterion == "poisson" else signal
    return X, y, rng.integers(4, 17, size=rows) / 8  # weights whose sums are exact, so pure is pure


CRITERIA: list[Criterion] = ["gini", "entropy", "squared_error", "poisson"]
LIMITS: list[dict[str, Any]] = [
    {},
    {"max_depth": 3},
    {"min_samples_leaf": 4},
    {"min_samples_split": 12},
    {"min_impurity_decrease": 0.003},
]


# Laws of growth on adversarial tables -------------------------------------------------------------


CRITERIA_FOR: dict[Target, list[Criterion]] = {
    "classes": list(CLASS_CRITERIA),
    "numbers": ["squared_error"],
    "counts": ["poisson", "squared_error"],
}


@st.composite
def cases(draw: st.DrawFn, **options: Any) -> tuple[Table, Criterion]:
    target = draw(st.sampled_from(TARGETS))
    return draw(tables(target, max_rows=20, **options)), draw(st.sampled_from(CRITERIA_FOR[target]))


def grow_table(table: Table, **rules: Any) -> list[Node]:
    return grow(table.columns, table.y, table.weights, n_classes=table.n_classes, rules=Rules(**rules))


def same_features(columns: list[np.ndarray], rows: np.ndarray) -> bool:
    """True where no test can tell these rows apart."""
    for column in columns:
        x, missing = column[rows], is_missing(column[rows])
        if missing.any() != missing.all() or len(np.unique(x[~missing])) > 1:
            return False
    return True
