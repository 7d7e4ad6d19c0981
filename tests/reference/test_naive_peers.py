"""The oracle grows scikit-learn's trees, where the rules are the same."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from reference.criteria import Criterion
from reference.naive import grow, near_order, near_ties
from reference.naive_cases import (
    CRITERIA,
    LIMITS,
    assert_same_tree,
    leaf_count,
    random_problem,
    shape_of,
    sklearn_tree,
    tied_with_winner,
)
from reference.nodes import Rules
from reference.walks import (
    feature_importances,
    predict_value,
    pruned,
    pruning_path,
)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(20))
def test_same_tree_as_scikit_learn(seed: int, criterion: Criterion) -> None:
    X, y, w = random_problem(seed, criterion)
    weights, limits = (w if seed % 3 else None), LIMITS[seed % len(LIMITS)]
    model = sklearn_tree(X, y, weights, criterion, **limits)
    nodes = grow(list(X.T), y, weights, rules=Rules(criterion=criterion, **limits))
    assert assert_same_tree(nodes, model, X) >= 3
    if not any(len(tied_with_winner(n)) > 1 for n in nodes if n.split is not None):
        np.testing.assert_allclose(
            predict_value(nodes, list(X.T)), model.tree_.predict(X.astype(np.float32)).reshape(80, 1, -1)
        )
        np.testing.assert_allclose(feature_importances(nodes, 3), model.feature_importances_, atol=1e-12)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("leaves", [2, 5, 9])
def test_best_first_growth_as_scikit_learn(criterion: Criterion, leaves: int) -> None:
    X, y, w = random_problem(leaves, criterion, rows=120)
    rules = Rules(criterion=criterion, max_leaf_nodes=leaves, min_samples_leaf=3)
    nodes = grow(list(X.T), y, w, rules=rules)
    model = sklearn_tree(X, y, w, criterion, max_leaf_nodes=leaves, min_samples_leaf=3)
    assert leaf_count(nodes) == leaves
    assert not any(near_order(n) for n in nodes)
    assert assert_same_tree(nodes, model, X) == leaves - 1
    same = grow(list(X.T), y, w, rules=Rules(criterion=criterion, max_nodes=2 * leaves, min_samples_leaf=3))
    assert shape_of(same) == shape_of(nodes)  # an even limit leaves one node unused


def test_min_weight_leaf_as_scikit_learn() -> None:
    X, y, w = random_problem(4, "squared_error")
    nodes = grow(list(X.T), y, w, rules=Rules(criterion="squared_error", min_weight_leaf=0.05 * w.sum()))
    model = sklearn_tree(X, y, w, "squared_error", min_weight_fraction_leaf=0.05)
    assert assert_same_tree(nodes, model, X) >= 10
    assert len(nodes) == model.tree_.node_count


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("leaves", [None, 6])
@pytest.mark.parametrize("seed", [1, 3, 5, 7])
def test_monotonic_constraints_as_scikit_learn(seed: int, criterion: Criterion, leaves: int | None) -> None:
    X, y, w = random_problem(seed, criterion)
    signs = [1, -1, 0] if seed % 4 == 1 else [-1, 0, 1]
    limits: dict[str, Any] = {"monotonic_cst": signs, "max_leaf_nodes": leaves, "min_samples_leaf": 4}
    nodes = grow(list(X.T), y, w, rules=Rules(criterion=criterion, **limits))
    model = sklearn_tree(X, y, w, criterion, **limits)
    assert assert_same_tree(nodes, model, X) >= (3 if signs[0] == 1 else 1)
    assert any(c.margin < 0 for n in nodes for c in n.candidates)


def test_monotonic_trees_are_monotonic() -> None:
    """Moving a row up in a constrained feature never lowers the share of class 1, or the mean."""
    grid = np.linspace(-3, 3, 25)
    for criterion in ("gini", "squared_error"):
        X, y, w = random_problem(11, criterion)
        rules = Rules(criterion=criterion, monotonic_cst=[1, 0, -1], min_samples_leaf=2)  # type: ignore[arg-type]
        nodes = grow(list(X.T), y, w, rules=rules)
        for feature, sign in ((0, 1), (2, -1)):
            swept = [np.repeat(X[:12, j], len(grid)) for j in range(3)]
            swept[feature] = np.tile(grid, 12)
            value = predict_value(nodes, swept)[:, 0, -1].reshape(12, len(grid))
            assert (np.diff(value, axis=1) * sign >= 0).all()
            assert np.ptp(value) > 0


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", range(5))
def test_missing_values_as_scikit_learn(seed: int, criterion: Criterion) -> None:
    X, y, w = random_problem(seed, criterion)
    rng = np.random.default_rng(100 + seed)
    X[rng.random(X.shape) < 0.25] = np.nan
    nodes = grow(list(X.T), y, w, rules=Rules(criterion=criterion, min_samples_leaf=4, max_depth=4))
    model = sklearn_tree(X, y, w, criterion, min_samples_leaf=4, max_depth=4)
    assert assert_same_tree(nodes, model, X) >= 3
    learned = [n.winner.learned for n in nodes if n.split is not None and n.winner is not None]
    assert any(branch is not None for branch in learned)


@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_several_outputs_as_scikit_learn(criterion: Criterion) -> None:
    X, first, w = random_problem(1, criterion)
    _, second, _ = random_problem(3, criterion)
    Y = np.column_stack([first, second])
    nodes = grow(list(X.T), Y, w, rules=Rules(criterion=criterion, min_samples_leaf=3))
    model = sklearn_tree(X, Y, w, criterion, min_samples_leaf=3)
    assert nodes[0].value.shape == (2, 2 if criterion == "gini" else 1)
    assert assert_same_tree(nodes, model, X) >= 5


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("seed", [0, 1, 2, 4, 5])
def test_pruning_path_as_scikit_learn(seed: int, criterion: Criterion) -> None:
    X, y, w = random_problem(seed, criterion)
    params: dict[str, Any] = {"min_samples_leaf": 3, "max_depth": 5}
    nodes = grow(list(X.T), y, w, rules=Rules(criterion=criterion, **params))
    model = sklearn_tree(X, y, w, criterion, **params)
    assert not any(near_ties(n) for n in nodes)  # scikit-learn would settle them at random
    path, theirs = pruning_path(nodes), model.cost_complexity_pruning_path(X, y, sample_weight=w)
    # scikit-learn cuts one link at a time; of equally weak links only the last entry is ours.
    last = np.append(np.diff(theirs.ccp_alphas) > 1e-12, True)
    last[0] = True
    np.testing.assert_allclose([step.alpha for step in path], theirs.ccp_alphas[last], atol=1e-12)
    np.testing.assert_allclose([step.impurity for step in path], theirs.impurities[last], atol=1e-12)
    assert path[-1].nodes[0].split is None and path[0].nodes == nodes
    alpha = (path[3].alpha + path[4].alpha) / 2
    smaller = sklearn_tree(X, y, w, criterion, ccp_alpha=alpha, **params)
    assert_same_tree(pruned(nodes, alpha), smaller, X)
    assert len(pruned(nodes, alpha)) == smaller.tree_.node_count == len(path[3].nodes)


def test_equally_weak_links_are_cut_together() -> None:
    x = np.arange(8.0)
    y = np.array([0, 1, 1, 0, 2, 3, 3, 2])
    nodes = grow([x], y, rules=Rules(criterion="entropy"))
    path = pruning_path(nodes)
    assert [len(step.nodes) for step in path][-1] == 1
    alphas = [step.alpha for step in path]
    assert all(later > earlier for earlier, later in pairwise(alphas[1:]))
    model = DecisionTreeClassifier(criterion="entropy", random_state=0)
    theirs = model.cost_complexity_pruning_path(x[:, None], y)
    assert len(theirs.ccp_alphas) > len(path)  # one link at a time there
    assert set(np.round(alphas, 9)) == set(np.round(np.abs(theirs.ccp_alphas), 9))


def test_equally_weak_links_are_cut_together_in_spite_of_rounding() -> None:
    y = np.array([0.0, 0.1, 10.0, 10.1, 20.3, 20.4])
    path = pruning_path(grow([np.arange(6.0)], y, rules=Rules(criterion="squared_error")))
    assert [len(step.nodes) for step in path] == [11, 5, 3, 1]
    assert len({n.impurity for n in path[1].nodes if n.split is None}) > 1  # not equal to the last bit


def test_poisson_parts_rows_without_events_from_the_others() -> None:
    x, y = np.arange(6.0), np.array([0.0, 0, 0, 1, 2, 4])
    nodes = grow([x], y, rules=Rules(criterion="poisson", max_depth=1))
    assert nodes[0].split is not None and nodes[0].split.threshold == 2.5
    assert nodes[1].impurity == 0 and nodes[1].value[0, 0] == 0
    # scikit-learn refuses such a branch; where there is none, both grow the same tree.
    model = sklearn_tree(x[:, None], y + 1, None, "poisson")
    assert assert_same_tree(grow([x], y + 1, rules=Rules(criterion="poisson")), model, x[:, None]) >= 2
