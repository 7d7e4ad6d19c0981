"""Pruning against slow twins, against scikit-learn, and on trees too deep to recurse over."""

import math
import os
import signal
import threading
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import pruning
from reference.tables import Table, tables
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from core.growing import grow, n_categories, same_bits
from hornbeam import _core
from hornbeam.model import TREE_ARRAYS

LEVELS = 100_000
N_CATEGORIES = 40  # two words of one bit each, or ten of eight bits


# Trees to prune -----------------------------------------------------------------------------------


def children_of(tree: _core.Tree) -> list[list[int]]:
    return [list(range(first, first + n)) for first, n in zip(tree.first_child, tree.n_branches, strict=True)]


def parents_of(tree: _core.Tree) -> dict[int, int]:
    return {child: node for node, below in enumerate(children_of(tree)) for child in below}


def make_tree(
    n_branches: np.ndarray,
    weight: np.ndarray,
    impurity: np.ndarray,
    value: np.ndarray,
    *,
    numeric: bool = False,
) -> _core.Tree:
    """A tree by hand, nodes breadth-first; it tests a categorical feature or, two-way, a numeric one."""
    n_branches = np.asarray(n_branches, dtype=np.int32)
    n_nodes = len(n_branches)
    inner = n_branches > 0
    first_child = np.where(inner, 1 + np.cumsum(n_branches) - n_branches, -1)
    begins, words = np.full(n_nodes, -1, dtype=np.int64), []
    if not numeric:
        for node in np.flatnonzero(inner):
            begins[node] = len(words)
            words += category_table(int(n_branches[node]), shift=int(node))
    return _core.make_tree(
        n_outputs=1,
        n_values=value.shape[1],
        categories=np.array([0, N_CATEGORIES], dtype=np.uint32),
        first_child=first_child.astype(np.int32),
        n_branches=n_branches,
        feature=np.where(inner, 0 if numeric else 1, -2).astype(np.int32),
        threshold=np.where(inner & numeric, 0.5, -2.0),
        category_begin=begins,
        missing_branch=np.zeros(n_nodes, dtype=np.int32),
        n_node_samples=np.ceil(weight).astype(np.int64),
        weighted_n_node_samples=weight.astype(float),
        impurity=impurity.astype(float),
        gain=np.where(inner, 1.0, 0.0),
        value=value.astype(float).ravel(),
        category_words=np.array(words, dtype=np.uint32),
    )


def category_table(n_branches: int, shift: int) -> list[int]:
    """The packed table that sends category c to branch (c + shift) mod n_branches."""
    bits = 1 if n_branches <= 2 else 8
    packed = sum(((c + shift) % n_branches) << (c * bits) for c in range(N_CATEGORIES))
    return [packed >> (32 * i) & 0xFFFFFFFF for i in range(-(-N_CATEGORIES * bits // 32))]


def tree_of_counts(n_branches: list[int], leaf_counts: list[list[int]]) -> _core.Tree:
    """A tree with these class counts in its leaves; empty leaves predict what their parent does."""
    first_child = 1 + np.cumsum(n_branches) - n_branches
    counts = np.zeros((len(n_branches), len(leaf_counts[0])))
    counts[np.equal(n_branches, 0)] = leaf_counts
    for node in reversed(np.flatnonzero(n_branches)):
        counts[node] = counts[first_child[node] : first_child[node] + n_branches[node]].sum(axis=0)
    weight = counts.sum(axis=1)
    value = counts / np.maximum(weight, 1)[:, None]
    for node in np.flatnonzero(n_branches):
        for child in range(first_child[node], first_child[node] + n_branches[node]):
            value[child] = value[child] if weight[child] > 0 else value[node]
    gini = np.where(weight > 0, 1 - (value**2).sum(axis=1), 0.0)
    return make_tree(np.array(n_branches), weight, gini, value)


@st.composite
def multiway_trees(draw: st.DrawFn, max_inner: int = 9) -> _core.Tree:
    """Trees with two to five branches at each inner node, empty branches among them."""
    n_branches: list[int] = []
    while len(n_branches) <= sum(n_branches):
        full = sum(n > 0 for n in n_branches) >= max_inner
        n_branches.append(0 if full else draw(st.sampled_from([0, 2, 2, 3, 5])))
    n_leaves = sum(n == 0 for n in n_branches)
    counts = st.lists(st.integers(0, 6), min_size=3, max_size=3)
    leaf_counts = draw(st.lists(counts, min_size=n_leaves, max_size=n_leaves))
    leaf_counts[0][0] += 1  # the root must not be empty
    return tree_of_counts(n_branches, leaf_counts)


@st.composite
def grown(draw: st.DrawFn) -> tuple[_core.Tree, Table]:
    kind = draw(st.sampled_from(["classes", "numbers"]))
    weights = ("none", "integers", "with_zeros", "powers_of_two")
    table = draw(tables(kind, weights=weights))
    criterion = draw(st.sampled_from(["gini", "entropy"] if kind == "classes" else ["squared_error"]))
    leaf = draw(st.sampled_from([1, 1, 2, 4]))
    options: dict[str, Any] = {"n_classes": table.n_classes, "criterion": criterion, "min_samples_leaf": leaf}
    return grow(table.columns, table.y, table.weights, **options), table


def grown_trees() -> st.SearchStrategy[_core.Tree]:
    return grown().map(lambda case: case[0])


def trees() -> st.SearchStrategy[_core.Tree]:
    return st.one_of(grown_trees(), multiway_trees())


def class_trees() -> st.SearchStrategy[_core.Tree]:
    return trees().filter(lambda tree: tree.n_values > 1)


def staircase(weight: np.ndarray, impurity: np.ndarray, value: np.ndarray) -> _core.Tree:
    """At every level a leaf to the left and the rest to the right."""
    n_branches = np.array([2, 0] * LEVELS + [0])
    return make_tree(n_branches, weight, impurity, value, numeric=True)


def staircase_of_rows(labels: np.ndarray) -> _core.Tree:
    """A staircase that splits off one row of two classes per level."""
    leaf_counts = np.eye(2)[labels]
    counts = np.zeros((2 * LEVELS + 1, 2))
    counts[1::2], counts[-1] = leaf_counts[:-1], leaf_counts[-1]
    counts[::2] = leaf_counts[::-1].cumsum(axis=0)[::-1]
    weight = counts.sum(axis=1)
    value = counts / weight[:, None]
    return staircase(weight, 1 - (value**2).sum(axis=1), value)


def errors_of(tree: _core.Tree) -> np.ndarray:
    """The share of a node that its majority gets wrong, averaged over the outputs."""
    return 1 - np.array(tree.value).max(axis=2).mean(axis=1)


def costs_of(tree: _core.Tree, by_error: bool) -> np.ndarray:
    each = errors_of(tree) if by_error and tree.n_values > 1 else np.array(tree.impurity)
    return np.array(tree.weighted_n_node_samples) / tree.weighted_n_node_samples[0] * each


# Collapsing ---------------------------------------------------------------------------------------


def sound(tree: _core.Tree, categories: list[int]) -> bool:
    """Whether the tree passes the checks for trees from outside."""
    arrays = {name: np.array(getattr(tree, name)).ravel() for name in TREE_ARRAYS}
    known = np.array(categories, dtype=np.uint32)
    again = _core.make_tree(n_outputs=tree.n_outputs, n_values=tree.n_values, categories=known, **arrays)
    return same_bits(tree, again)


def assert_collapsed(tree: _core.Tree, smaller: _core.Tree, cut: frozenset[int], n_codes: list[int]) -> None:
    """Node by node: what remains says what it said, new leaves say nothing about a test."""
    children = children_of(tree)
    remaining = pruning.nodes_of(children, 0, cut)
    assert smaller.node_count == len(remaining)
    n_words = 0
    for new, old in enumerate(remaining):
        for name in ("n_node_samples", "weighted_n_node_samples", "impurity"):
            assert getattr(smaller, name)[new] == getattr(tree, name)[old]
        np.testing.assert_array_equal(smaller.value[new], tree.value[old])
        if not pruning.is_inner(children, old, cut):
            leaf = [smaller.first_child, smaller.feature, smaller.threshold, smaller.category_begin]
            assert [field[new] for field in leaf] == [-1, -2, -2.0, -1]
            assert [smaller.n_branches[new], smaller.missing_branch[new], smaller.gain[new]] == [0, 0, 0.0]
            continue
        for name in ("n_branches", "feature", "threshold", "missing_branch", "gain"):
            assert getattr(smaller, name)[new] == getattr(tree, name)[old]
        first = smaller.first_child[new]
        assert remaining[first : first + smaller.n_branches[new]] == children[old]
        if tree.category_begin[old] >= 0:
            codes = n_codes[tree.feature[old]]
            theirs, ours = (t.branches_of_categories(n, codes) for t, n in ((tree, old), (smaller, new)))
            np.testing.assert_array_equal(ours, theirs)
            n_words += -(-codes * (1 if tree.n_branches[old] <= 2 else 8) // 32)
    assert len(smaller.category_words) == n_words
    assert sound(smaller, n_codes)


def some_nodes(data: st.DataObject, tree: _core.Tree) -> list[int]:
    return data.draw(st.lists(st.integers(0, tree.node_count - 1), max_size=4))


@settings(max_examples=100)
@given(multiway_trees(), st.data())
def test_collapse_multiway(tree: _core.Tree, data: st.DataObject) -> None:
    nodes = some_nodes(data, tree)
    smaller = _core.collapse(tree, np.array(nodes, dtype=np.int32))
    assert_collapsed(tree, smaller, frozenset(nodes), [0, N_CATEGORIES])


@settings(max_examples=100)
@given(grown(), st.data())
def test_collapse_grown(case: tuple[_core.Tree, Table], data: st.DataObject) -> None:
    tree, table = case
    nodes = some_nodes(data, tree)
    smaller = _core.collapse(tree, np.array(nodes, dtype=np.int32))
    codes = [n_categories(c) if np.issubdtype(c.dtype, np.integer) else 0 for c in table.columns]
    assert_collapsed(tree, smaller, frozenset(nodes), codes)
    # Every row stops at the first new leaf on its way.
    remaining = pruning.nodes_of(children_of(tree), 0, frozenset(nodes))
    columns = [c.astype(np.int32) if n else c for c, n in zip(table.columns, codes, strict=True)]
    was, now = (_core.find_leaves(t, columns, len(table.y), False, 1).tolist() for t in (tree, smaller))
    parents = parents_of(tree)
    for leaf, new_leaf in zip(was, now, strict=True):
        at = leaf
        while at not in remaining:
            at = parents[at]
        assert remaining[new_leaf] == at


def test_collapsing_nothing_or_everything() -> None:
    tree = tree_of_counts([3, 2, 0, 0, 0, 0], [[1, 0], [2, 1], [0, 3], [1, 1]])
    assert same_bits(_core.collapse(tree, np.array([], dtype=np.int32)), tree)
    assert _core.collapse(tree, np.array([1, 0], dtype=np.int32)).node_count == 1


@pytest.mark.parametrize("node", [-1, 6])
def test_collapse_refuses_nodes_that_do_not_exist(node: int) -> None:
    tree = tree_of_counts([3, 2, 0, 0, 0, 0], [[1, 0], [2, 1], [0, 3], [1, 1]])
    with pytest.raises(ValueError, match=f"has 6 nodes and none with number {node}"):
        _core.collapse(tree, np.array([0, node], dtype=np.int32))


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


def costs_for(data: st.DataObject, tree: _core.Tree, elements: st.SearchStrategy[float]) -> np.ndarray:
    n = tree.node_count
    return np.array(data.draw(st.lists(elements, min_size=n, max_size=n)), dtype=float)


COUNTS = st.integers(0, 4).map(float)  # few whole numbers, so that ties are common


@settings(max_examples=300)
@given(multiway_trees(), st.data(), st.sampled_from([COUNTS, st.floats(0, 10), st.just(0.1)]))
def test_reduced_error_is_the_greedy_rule(
    tree: _core.Tree, data: st.DataObject, elements: st.SearchStrategy[float]
) -> None:
    costs = costs_for(data, tree, elements)
    children = children_of(tree)
    cuts = pruning.reduced_error(children, costs.tolist())
    smaller, log = _core.prune_reduced_error(tree, costs)
    assert_cuts(log, cuts)
    assert_consistent(log, tree, pruning.cost_of(children, costs.tolist(), 0, frozenset()))
    assert np.all(log["error_after"] < log["error_before"])
    assert same_bits(smaller, _core.collapse(tree, log["node"]))


@settings(max_examples=50)
@given(grown(), st.integers(0, 2**32 - 1))
def test_reduced_error_on_validation_rows(case: tuple[_core.Tree, Table], seed: int) -> None:
    tree, table = case
    assume(tree.n_values > 1)
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, tree.n_values, len(table.y))
    columns = [c.astype(np.int32) if np.issubdtype(c.dtype, np.integer) else c for c in table.columns]
    predicted = np.array(tree.value)[:, 0].argmax(axis=1)

    def validation_error(of: _core.Tree) -> int:
        leaves = _core.find_leaves(of, columns, len(truth), False, 1)
        return int((np.array(of.value)[leaves, 0].argmax(axis=1) != truth).sum())

    costs, parents = np.zeros(tree.node_count), parents_of(tree)
    for leaf, label in zip(_core.find_leaves(tree, columns, len(truth), False, 1), truth, strict=True):
        at: int | None = int(leaf)
        while at is not None:
            costs[at] += predicted[at] != label
            at = parents.get(at)
    smaller, log = _core.prune_reduced_error(tree, costs)
    errors = [validation_error(tree), *log["error_after"]]
    assert errors[-1] == validation_error(smaller)
    assert log["error_before"].tolist() == errors[:-1]
    assert_cuts(log, pruning.reduced_error(children_of(tree), costs.tolist()))


def test_greedy_over_all_nodes_is_not_bottom_up() -> None:
    # Nodes 1 and 2 save 3 each, the root saves 4: greedy takes the root at once; bottom-up takes the other
    # two and then finds nothing left to save at the root.
    tree = tree_of_counts([2, 2, 2, 0, 0, 0, 0], [[1, 0], [0, 1], [1, 0], [0, 1]])
    costs = np.array([6.0, 2, 2, 2, 3, 2, 3])
    smaller, log = _core.prune_reduced_error(tree, costs)
    assert log["node"].tolist() == [0] and log["nodes_removed"].tolist() == [6]
    assert (log["error_before"].tolist(), log["error_after"].tolist()) == ([10.0], [6.0])
    assert smaller.node_count == 1
    assert pruning.bottom_up_reduced_error(children_of(tree), costs.tolist()) == [1, 2]


def test_reduced_error_ties() -> None:
    # Nodes 1 (two nodes below) and 2 (four) save 1 each; so does node 5 inside 2. The larger goes first.
    tree = tree_of_counts([2, 2, 2, 0, 0, 2, 0, 0, 0], [[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]])
    _, log = _core.prune_reduced_error(tree, np.array([9.0, 1, 1, 1, 1, 1, 0, 1, 1]))
    assert log["node"].tolist() == [2, 1]
    assert log["nodes_removed"].tolist() == [4, 2]
    # Equal size: the lower node first. A cut that changes nothing is not made.
    tree = tree_of_counts([3, 2, 2, 2, 0, 0, 0, 0, 0, 0], [[1, 0]] * 6)
    _, log = _core.prune_reduced_error(tree, np.array([9.0, 1, 1, 2, 1, 1, 1, 1, 1, 1]))
    assert log["node"].tolist() == [1, 2]


def test_sums_that_differ_by_rounding_are_ties() -> None:
    # 0.1 + 0.2 is a little more than 0.3: no reason to cut.
    tree = tree_of_counts([2, 0, 0], [[1, 0], [0, 1]])
    smaller, log = _core.prune_reduced_error(tree, np.array([0.3, 0.1, 0.2]))
    assert smaller.node_count == 3 and len(log["node"]) == 0


def test_reduced_error_refuses_bad_costs() -> None:
    tree = tree_of_counts([2, 0, 0], [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="has 2 numbers, but the tree has 3 nodes"):
        _core.prune_reduced_error(tree, np.zeros(2))
    with pytest.raises(ValueError, match="node 1 has nan"):
        _core.prune_reduced_error(tree, np.array([0.0, math.nan, 0.0]))


# Pessimistic --------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [1e-6, 0.05, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("trials", [1, 2, 6, 16, 168, 300])
def test_upper_error_rate_solves_the_binomial_sum(trials: int, confidence: float) -> None:
    for errors in sorted({0, 1, 2, 5, trials // 2, trials - 1, trials}):
        if errors <= trials:
            expected = pruning.upper_error_rate(errors, trials, confidence)
            assert _core.upper_error_rate(errors, trials, confidence) == pytest.approx(expected, rel=1e-12)


@settings(max_examples=200)
@given(st.floats(0, 1), st.floats(1e-3, 1e6), st.floats(1e-3, 0.999))
def test_upper_error_rate_between_whole_numbers(share: float, trials: float, confidence: float) -> None:
    errors = share * trials
    expected = pruning.upper_error_rate(errors, trials, confidence)
    assert _core.upper_error_rate(errors, trials, confidence) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("errors", "trials"), [(1, 10**9), (10**5, 10**8), (5 * 10**8, 10**9)])
def test_upper_error_rate_of_many_trials(errors: int, trials: int) -> None:
    # The tail is steep here: a small error in it would be a large one in the rate.
    rate = _core.upper_error_rate(errors, trials, 0.25)
    spread = math.sqrt(errors * (1 - errors / trials)) / trials
    assert errors / trials < rate < errors / trials + 2 * spread
    assert pruning.binomial_tail(errors, trials, rate) == pytest.approx(0.25, rel=1e-6)


def test_a_branch_of_quinlans_voting_tree_becomes_a_leaf() -> None:
    # Quinlan (1993), chapter 4: leaves of 6, 9 and 1 cases without an error against one of 16 with one error.
    # He has 3.273 against 2.512 errors; the second is his program's approximation, 16 * 0.157.
    rates = [_core.upper_error_rate(errors, n, 0.25) for errors, n in ((0, 6), (0, 9), (0, 1), (1, 16))]
    assert [round(rate, 3) for rate in rates] == [0.206, 0.143, 0.750, 0.160]
    smaller, log = _core.prune_pessimistic(tree_of_counts([3, 0, 0, 0], [[6, 0], [9, 0], [0, 1]]))
    assert smaller.node_count == 1
    assert log["nodes_removed"].tolist() == [3]
    assert log["error_before"][0] == pytest.approx(3.273, abs=1e-3)
    assert log["error_after"][0] == pytest.approx(16 * rates[3], rel=1e-12)


@settings(max_examples=100)
@given(class_trees(), st.sampled_from([0.01, 0.25, 0.5]))
def test_pessimistic_is_bottom_up(tree: _core.Tree, confidence: float) -> None:
    weights = np.array(tree.weighted_n_node_samples)
    errors = np.round(weights * errors_of(tree), 9)  # whole numbers again
    cuts = pruning.pessimistic(children_of(tree), errors.tolist(), weights.tolist(), confidence)
    smaller, log = _core.prune_pessimistic(tree, confidence)
    assert_cuts(log, cuts)
    assert same_bits(smaller, _core.collapse(tree, log["node"]))


def test_pessimistic_refuses_what_it_cannot_do() -> None:
    tree = tree_of_counts([2, 0, 0], [[1, 0], [0, 1]])
    for confidence in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
            _core.prune_pessimistic(tree, confidence)
    numbers = grow([np.arange(4.0)], np.array([0.0, 1.0, 2.0, 5.0]), criterion="squared_error")
    with pytest.raises(ValueError, match="predicts numbers"):
        _core.prune_pessimistic(numbers)


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
