"""Pruning against slow twins, against scikit-learn, and on trees too deep to recurse over."""

import math
import os
import signal
import threading
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from core.growing import grow, same_bits
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import pruning
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from hornbeam import _core
from prune.pruned_trees import (
    LEVELS,
    children_of,
    costs_of,
    make_tree,
    staircase,
    staircase_of_rows,
    tree_of_counts,
    trees,
)

# Cost complexity ----------------------------------------------------------------------------------


def inner_at(path: dict[str, Any], step: int) -> set[int]:
    return set(np.flatnonzero(path["removed_at"] > step).tolist())


def assert_consistent(log: dict[str, np.ndarray], tree: _core.Tree, first: float) -> None:
    """Each cut starts from the error the one before left."""
    assert len(set(log["node"].tolist())) == len(log["node"])
    assert all(tree.n_branches[node] > 0 for node in log["node"])
    before, after = log["error_before"].tolist(), log["error_after"].tolist()
    assert before[1:] == after[:-1]
    assert before[:1] in ([], [pytest.approx(first, rel=1e-12)])


@settings(max_examples=200)
@given(trees(), st.booleans())
def test_cost_complexity_path_is_breimans(tree: _core.Tree, by_error: bool) -> None:
    children, costs = children_of(tree), costs_of(tree, by_error)
    steps = pruning.pruning_path(children, costs.tolist())
    path = _core.cost_complexity_path(tree, by_error)
    scale = max(costs[0], 1e-300)
    assert path["n_leaves"].tolist() == [step.n_leaves for step in steps]
    np.testing.assert_allclose(path["alpha"], [step.alpha for step in steps], rtol=1e-9, atol=1e-12 * scale)
    np.testing.assert_allclose(path["cost"], [step.cost for step in steps], rtol=1e-9, atol=1e-12 * scale)
    assert [inner_at(path, i) for i in range(len(steps))] == [step.inner for step in steps]
    assert path["alpha"][0] == 0
    assert all(later > earlier for earlier, later in pairwise(path["alpha"][1:]))


@settings(max_examples=100)
@given(trees(), st.booleans())
def test_the_log_of_cost_complexity_adds_up(tree: _core.Tree, by_error: bool) -> None:
    path = _core.cost_complexity_path(tree, by_error)
    log = path["log"]
    assert_consistent(log, tree, path["cost"][0])
    children = children_of(tree)
    cut: frozenset[int] = frozenset()
    for node, removed in zip(log["node"].tolist(), log["nodes_removed"].tolist(), strict=True):
        assert node in pruning.inner_nodes(children, cut)
        assert len(pruning.nodes_of(children, node, cut)) - 1 == removed
        cut |= {node}
    assert pruning.inner_nodes(children, cut) == []
    for step in range(1, len(path["alpha"])):
        last = np.flatnonzero(path["removed_at"][log["node"]] <= step)[-1]
        assert log["error_after"][last] == path["cost"][step]


@settings(max_examples=100)
@given(trees(), st.booleans(), st.floats(0, 1))
def test_prune_cost_complexity_takes_the_smallest_best_tree(
    tree: _core.Tree, by_error: bool, share: float
) -> None:
    children, costs = children_of(tree), costs_of(tree, by_error)
    steps = pruning.pruning_path(children, costs.tolist())
    for before, after in pairwise([*steps, steps[-1]]):
        alpha = before.alpha + share * (after.alpha - before.alpha)
        assume(alpha == 0 or abs(alpha - after.alpha) > 1e-9 * alpha or before is after)
        smaller = _core.prune_cost_complexity(tree, alpha, by_error=by_error)
        expected = steps[0] if alpha == 0 else [s for s in steps if s.alpha <= alpha * (1 + 1e-11)][-1]
        cut = frozenset(range(len(children))) - expected.inner
        remaining = pruning.nodes_of(children, 0, cut)
        assert smaller.node_count == len(remaining)
        np.testing.assert_array_equal(smaller.value, tree.value[remaining])
        penalised = expected.cost + alpha * expected.n_leaves
        least = pruning.least_penalised_cost(children, costs.tolist(), alpha)
        assert penalised == pytest.approx(least, rel=1e-9, abs=1e-12)


def test_equally_weak_links_go_together() -> None:
    # On paper each of the three lowest splits gains 0.05^2 / 3; in floats no two of them agree.
    y = np.array([0.0, 0.1, 10.0, 10.1, 20.3, 20.4])
    tree = grow([np.arange(6.0)], y, criterion="squared_error")
    path = _core.cost_complexity_path(tree, False)
    assert path["n_leaves"].tolist() == [6, 3, 2, 1]
    assert path["alpha"][1] == pytest.approx(0.05**2 / 3, rel=1e-12)
    assert len(set(np.diff(path["log"]["error_after"][:3]))) > 1


def test_splits_that_gain_nothing_go_at_any_positive_alpha() -> None:
    tree = tree_of_counts([2, 2, 0, 0, 0], [[0, 4], [2, 1], [2, 1]])  # the lower split gains nothing
    path = _core.cost_complexity_path(tree, False)
    assert path["alpha"][:2].tolist() == [0, 0]
    assert path["n_leaves"].tolist() == [3, 2, 1]
    assert path["removed_at"].tolist() == [2, 1, 0, 0, 0]
    assert _core.prune_cost_complexity(tree, 0.0).node_count == 5
    assert _core.prune_cost_complexity(tree, 1e-300).node_count == 3
    assert _core.prune_cost_complexity(tree, math.inf).node_count == 1


def test_a_lone_leaf_has_a_path_of_one_step() -> None:
    path = _core.cost_complexity_path(tree_of_counts([0], [[1, 2]]), False)
    assert path["n_leaves"].tolist() == [1] and path["removed_at"].tolist() == [0]
    assert len(path["log"]["node"]) == 0


@pytest.mark.parametrize("alpha", [-1e-3, math.nan])
def test_ccp_alpha_must_not_be_negative(alpha: float) -> None:
    with pytest.raises(ValueError, match="ccp_alpha must be 0 or more"):
        _core.prune_cost_complexity(tree_of_counts([0], [[1, 2]]), alpha)


def test_cost_complexity_needs_weights() -> None:
    tree = make_tree(np.array([2, 0, 0]), np.zeros(3), np.zeros(3), np.zeros((3, 1)))
    with pytest.raises(ValueError, match="the root has weight 0"):
        _core.cost_complexity_path(tree, False)


# The same trees in scikit-learn -------------------------------------------------------------------


def from_sklearn(model: Any) -> _core.Tree:
    """Its tree under our numbering."""
    theirs = model.tree_
    order = [0]
    for node in order:
        if theirs.children_left[node] >= 0:
            order += [int(theirs.children_left[node]), int(theirs.children_right[node])]
    inner = theirs.children_left[order] >= 0
    n_branches = np.where(inner, 2, 0).astype(np.int32)
    return _core.make_tree(
        n_outputs=theirs.n_outputs,
        n_values=theirs.max_n_classes,
        categories=np.zeros(theirs.n_features, dtype=np.uint32),
        first_child=np.where(inner, 1 + np.cumsum(n_branches) - 2, -1).astype(np.int32),
        n_branches=n_branches,
        feature=theirs.feature[order].astype(np.int32),
        threshold=theirs.threshold[order],
        category_begin=np.full(len(order), -1, dtype=np.int64),
        missing_branch=np.zeros(len(order), dtype=np.int32),
        n_node_samples=theirs.n_node_samples[order].astype(np.int64),
        weighted_n_node_samples=theirs.weighted_n_node_samples[order],
        impurity=theirs.impurity[order],
        gain=np.zeros(len(order)),
        value=theirs.value[order].ravel(),
        category_words=np.array([], dtype=np.uint32),
    )


def random_problem(seed: int, task: str) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Features with few values, so that equally weak links are common, or with many."""
    rng = np.random.default_rng(seed)
    n, weighted, coarse = int(rng.integers(20, 150)), seed % 3 == 1, seed % 2 == 0
    X = rng.integers(0, 6, (n, 4)).astype(float) if coarse else rng.normal(size=(n, 4))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n)
    y = np.digitize(signal, np.quantile(signal, [0.3, 0.7])) if task == "classes" else signal
    if task == "outputs":
        y = np.column_stack([np.digitize(signal, [0.0]), rng.integers(0, 3, n)])
    return X, y, rng.integers(1, 5, n).astype(float) if weighted else None


MODELS = [
    ("classes", DecisionTreeClassifier, "gini"),
    ("classes", DecisionTreeClassifier, "entropy"),
    ("outputs", DecisionTreeClassifier, "gini"),
    ("numbers", DecisionTreeRegressor, "squared_error"),
]


@pytest.mark.parametrize(("task", "model", "criterion"), MODELS)
@pytest.mark.parametrize("seed", range(30))
def test_path_and_trees_are_scikit_learns(task: str, model: Any, criterion: str, seed: int) -> None:
    X, y, w = random_problem(seed, task)
    params = {"criterion": criterion, "min_samples_leaf": 1 + seed % 4, "random_state": seed}
    theirs = model(**params).cost_complexity_pruning_path(X, y, sample_weight=w)
    full = from_sklearn(model(**params).fit(X, y, w))
    path = _core.cost_complexity_path(full, False)
    # scikit-learn cuts one link at a time; of a run of equally weak ones the last entry is our step.
    root_cost = float(full.impurity[0])
    last = np.append(np.diff(theirs.ccp_alphas) > 1e-13 * root_cost, True)
    last[0] = True
    exact = {"rtol": 1e-12, "atol": 1e-15 * root_cost}
    np.testing.assert_allclose(path["alpha"], theirs.ccp_alphas[last], **exact)
    np.testing.assert_allclose(path["cost"], theirs.impurities[last], **exact)
    alphas = theirs.ccp_alphas[last]
    for step in np.random.default_rng(seed).choice(len(alphas), 4):
        between = (alphas[step] + alphas[min(step + 1, len(alphas) - 1)]) / 2
        for alpha in {max(0.0, alphas[step]), between}:
            expected = from_sklearn(model(**params, ccp_alpha=alpha).fit(X, y, w))
            assert same_bits(_core.prune_cost_complexity(full, alpha), expected)


# Reduced error ------------------------------------------------------------------------------------


def assert_cuts(log: dict[str, np.ndarray], cuts: list[pruning.Cut]) -> None:
    assert log["node"].tolist() == [cut.node for cut in cuts]
    assert log["nodes_removed"].tolist() == [cut.nodes_removed for cut in cuts]
    scale = max((abs(cut.before) for cut in cuts), default=0)
    np.testing.assert_allclose(log["error_before"], [c.before for c in cuts], rtol=1e-9, atol=1e-9 * scale)
    np.testing.assert_allclose(log["error_after"], [c.after for c in cuts], rtol=1e-9, atol=1e-9 * scale)


# Deep trees ---------------------------------------------------------------------------------------


def test_a_staircase_pruned_level_by_level() -> None:
    # As a leaf, the node h levels above the lowest leaves costs h^2, and leaves cost nothing: the weakest
    # link is always the lowest inner node, with strength h^2 - (h-1)^2 = 2h - 1.
    heights = np.arange(LEVELS, -1.0, -1.0)
    impurity = np.zeros(2 * LEVELS + 1)
    impurity[::2] = heights**2
    tree = staircase(np.ones(2 * LEVELS + 1), impurity, np.zeros((2 * LEVELS + 1, 1)))
    path = _core.cost_complexity_path(tree, False)
    np.testing.assert_array_equal(path["alpha"][1:], 2 * np.arange(1, LEVELS + 1) - 1)
    np.testing.assert_array_equal(path["cost"], np.arange(LEVELS + 1.0) ** 2)
    np.testing.assert_array_equal(path["n_leaves"], np.arange(LEVELS + 1, 0, -1))
    smaller = _core.prune_cost_complexity(tree, 2.0 * 1000)  # cuts heights 1 to 1000
    assert smaller.max_depth == LEVELS - 1000
    assert _core.collapse(tree, np.array([2 * 777], dtype=np.int32)).max_depth == 777


def test_a_staircase_of_equal_links_goes_at_once() -> None:
    impurity = np.zeros(2 * LEVELS + 1)
    impurity[::2] = np.arange(LEVELS, -1, -1) * 0.1
    tree = staircase(np.ones(2 * LEVELS + 1), impurity, np.zeros((2 * LEVELS + 1, 1)))
    path = _core.cost_complexity_path(tree, False)
    assert path["n_leaves"].tolist() == [LEVELS + 1, 1]
    assert path["alpha"][1] == pytest.approx(0.1, rel=1e-9)


def test_a_staircase_with_random_costs_is_pruned_best() -> None:
    rng = np.random.default_rng(0)
    impurity = rng.random(2 * LEVELS + 1)
    impurity[::2] = np.cumsum(1 + rng.random(LEVELS + 1) * np.linspace(1, 3, LEVELS + 1))[::-1]
    tree = staircase(np.ones(2 * LEVELS + 1), impurity, np.zeros((2 * LEVELS + 1, 1)))
    children, costs = children_of(tree), impurity.tolist()
    path = _core.cost_complexity_path(tree, False)
    assert len(path["alpha"]) > 50
    assert path["n_leaves"][-1] == 1 and path["cost"][-1] == pytest.approx(costs[0], rel=1e-9)
    for step in rng.choice(len(path["alpha"]), 4):
        alpha = path["alpha"][step]
        least = pruning.least_penalised_cost(children, costs, alpha)
        assert path["cost"][step] + alpha * path["n_leaves"][step] == pytest.approx(least, rel=1e-11)


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="the system has no such signal")
def test_a_signal_ends_pruning() -> None:
    """A first signal is heard at the end of the call at the latest, a second only by a call that listens.

    Every level has a number of rows and errors of its own, so that pruning takes its time.
    """
    tree = staircase_of_rows(np.random.default_rng(3).integers(0, 2, LEVELS + 1))
    heard = threading.Event()
    over = threading.Event()

    def hear(signum: int, frame: object) -> None:
        if heard.is_set() and not over.is_set():
            raise KeyboardInterrupt
        heard.set()

    def knock_twice() -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        heard.wait()
        os.kill(os.getpid(), signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, hear)
    knocking = threading.Timer(0.02, knock_twice)
    try:
        knocking.start()
        with pytest.raises(KeyboardInterrupt):
            _core.prune_pessimistic(tree, 0.25)
            over.set()
    finally:
        over.set()
        knocking.join()
        signal.signal(signal.SIGUSR1, before)


def test_a_staircase_under_the_other_two_methods() -> None:
    rng = np.random.default_rng(1)
    tree = staircase_of_rows(rng.integers(0, 2, LEVELS + 1))
    costs = rng.integers(0, 2, tree.node_count).astype(float)
    costs[::2] = rng.integers(0, LEVELS, LEVELS + 1)  # inner nodes, from the root down
    before = costs[1::2].sum() + costs[-1]
    smaller, log = _core.prune_reduced_error(tree, costs)
    assert len(log["node"]) == 1  # on a staircase all inner nodes lie above or below each other
    saved = costs[1::2][::-1].cumsum()[::-1] + costs[-1] - costs[:-1:2]
    assert log["error_before"] - log["error_after"] == saved.max()
    assert smaller.node_count == tree.node_count - log["nodes_removed"][0]
    assert log["error_before"] == before
    smaller, log = _core.prune_pessimistic(tree)
    assert_consistent(log, tree, log["error_before"][0])
    assert smaller.node_count == tree.node_count - log["nodes_removed"].sum()
    assert np.all(log["error_after"] <= log["error_before"])
