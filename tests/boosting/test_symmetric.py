"""Trees with one test for all nodes of a level, against every test that a level could have had."""

import dataclasses

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.boosting import Precision, splits_of_categories, splits_of_numbers

import hornbeam as hb
from boosting.test_engine import PACKED_BITS, WIDE_BITS, Problem, Terms, grown, problems
from hornbeam.estimators.base import paths_to

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")


def symmetric(problem, **limits):
    return grown(problem, symmetric=True, **limits)


def all_tests(problem, bits):
    """Every test that a level may have: rows that go left, and the terms of its gain at a node."""
    g, h, terms = problem.gradients, problem.hessians, problem.terms
    for values, n_kinds in zip(problem.columns, problem.kinds, strict=True):
        if n_kinds is None:
            yield from ((left, None) for left in splits_of_numbers(values))
        else:  # in the order that they have in the whole table
            rounded = Precision.of(g, h, bits).rounded(g, h)
            sets = splits_of_categories(values.astype(int), *rounded, terms.smoothing)
            yield from ((left, n_kinds) for left in sets)


def gain_of_level(problem, level, left, n_kinds):
    """What a test gains over the nodes of a level; those that it cannot divide gain nothing."""
    g, h, terms = problem.gradients, problem.hessians, problem.terms
    total = 0.0
    for rows in level:
        here = left[rows]
        if here.any() and not here.all():
            its = terms if n_kinds is None else terms.of_sets(n_kinds, h[rows].sum())
            total += its.gain(g[rows], h[rows], here)
    return total


def levels_of(problem, tree, leaves):
    """The nodes of each level as masks of rows, the rows its test sends left, and its categories.

    A node that a test does not divide stays whole and waits for the next one, so what the levels were can
    only be told as long as all nodes of one have the same test.
    """
    paths = paths_to(tree, leaves, 1).toarray().astype(bool)

    def test_of(node):
        n_kinds = problem.kinds[tree.feature[node]]
        sets = () if n_kinds is None else tuple(tree.branches_of_categories(node, n_kinds))
        return tree.feature[node], n_kinds, None if n_kinds is not None else tree.threshold[node], sets

    level = [0]
    while all(tree.n_branches[node] for node in level) and len({test_of(node) for node in level}) == 1:
        lefts = [paths[:, tree.first_child[node]] for node in level]
        yield [paths[:, node] for node in level], np.logical_or.reduce(lefts), test_of(level[0])[1]
        level = [tree.first_child[node] + branch for node in level for branch in (0, 1)]


@settings(max_examples=80)
@given(problems(), st.booleans())
def test_a_level_has_the_best_test_there_is(problem, wide):
    problem = dataclasses.replace(
        problem, terms=dataclasses.replace(problem.terms, min_samples_leaf=1, one_vs_rest=False)
    )
    tree, leaves = symmetric(problem, wide=wide, max_leaf_nodes=8)
    candidates = list(all_tests(problem, WIDE_BITS if wide else PACKED_BITS))
    slack = 1e-9 + 4e-3 * np.abs(problem.gradients).sum() ** 2 / len(leaves) if not wide else 1e-6
    for level, goes_left, n_kinds in levels_of(problem, tree, leaves):
        own = gain_of_level(problem, level, goes_left, n_kinds)
        best = max(gain_of_level(problem, level, *test) for test in candidates)
        assert own >= best - slack * max(1.0, abs(best))


@settings(max_examples=30)
@given(problems(), st.integers(2, 9), st.integers(1, 3))
def test_limits_are_never_exceeded(problem, max_leaf_nodes, max_depth):
    problem = dataclasses.replace(problem, terms=dataclasses.replace(problem.terms, one_vs_rest=False))
    tree, leaves = symmetric(problem, max_leaf_nodes=max_leaf_nodes, max_depth=max_depth)
    assert tree.max_depth <= min(max_depth, int(np.log2(max_leaf_nodes)))
    assert min(tree.n_node_samples) >= min(problem.terms.min_samples_leaf, len(leaves))
    for leaf in np.unique(leaves):
        rows = leaves == leaf
        step = 0.3 * problem.terms.value(problem.gradients[rows], problem.hessians[rows])
        assert tree.value[leaf, 0, 0] == pytest.approx(step, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("max_depth", [0, 61, 62, 63])
def test_levels_end_at_62(max_depth):
    """A column parts each row from the others: a level each, up to where the numbers of nodes end."""
    n = 70
    frame = pd.DataFrame(np.eye(n), columns=[f"number{j}" for j in range(n)])
    gradients = np.where(np.arange(n) % 2, 1.0, -1.0) * (1 + np.arange(n) / n)
    problem = Problem(frame, gradients, np.ones(n), Terms(min_samples_leaf=1))
    tree, _ = symmetric(problem, max_depth=max_depth, wide=True)
    assert tree.max_depth == min(max_depth or 62, 62)


def test_nodes_of_a_level_share_their_test():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"number{j}": rng.integers(0, 2, 500).astype(float) for j in range(6)})
    problem = Problem(frame, rng.normal(size=500), np.ones(500), Terms())
    tree, _ = symmetric(problem, max_leaf_nodes=16)
    level, n_levels = [0], 0
    while tree.n_branches[level[0]]:
        assert len({(tree.feature[node], tree.threshold[node]) for node in level}) == 1
        level = [tree.first_child[node] + b for node in level for b in (0, 1)]
        n_levels += 1
    assert (n_levels, tree.n_leaves) == (4, 16)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("n_rows", [65_536, 65_537, 200_000])  # up to which cells are packed, and beyond
def test_any_number_of_threads_gives_the_same_tree(n_rows, wide):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"number{j}": rng.normal(size=n_rows).round(2) for j in range(12)})
    frame.loc[rng.random(n_rows) < 0.1, "number1"] = np.nan
    frame["kind"] = pd.Categorical(rng.choice(list("abcdefg"), n_rows))
    gradients = (
        rng.normal(size=n_rows) + (frame["number0"] > 1).to_numpy() - (frame["kind"] == "c").to_numpy()
    )
    problem = Problem(frame, gradients, rng.uniform(0.1, 1, n_rows), Terms(min_samples_leaf=20))
    alone, leaves = symmetric(problem, max_leaf_nodes=64, wide=wide)
    assert alone.n_leaves > 16
    for n_threads in (2, 3, 8):
        tree, others = symmetric(problem, max_leaf_nodes=64, wide=wide, n_threads=n_threads)
        assert np.array_equal(others, leaves)
        assert np.array_equal(tree.value, alone.value)


def test_a_parity_is_seen_at_once():
    """No test alone tells anything of it, so trees that take the best of each node begin at random."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 6)).astype(float)
    y = X[:, :3].sum(axis=1) % 2
    model = hb.GradientBoostingRegressor(60, growth="symmetric", max_depth=6, min_samples_leaf=1).fit(X, y)
    assert ((model.predict(X) > 0.5) == y).all()


def table(n_rows=300):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n_rows, 4))
    return X, X[:, 0] * X[:, 1] + rng.normal(size=n_rows)


@pytest.mark.parametrize(
    ("options", "growth"),
    [
        ({}, "mixed"),
        ({"max_depth": 3}, "mixed"),
        ({"growth": "symmetric"}, "symmetric"),
        ({"growth": "mixed", "max_leaf_nodes": 4}, "mixed"),
        ({"n_members": 1}, "best_first"),
        ({"max_leaf_nodes": 8}, "best_first"),
        ({"n_estimators": 5}, "best_first"),
        ({"monotonic_cst": [1, 0, 0, 0]}, "best_first"),
        ({"interaction_cst": "pairwise"}, "best_first"),
        ({"categorical_split": "subset"}, "best_first"),
        ({"growth": "level", "n_estimators": 5}, "level"),
        ({"growth": "symmetric", "n_estimators": 5}, "symmetric"),
    ],
)
def test_what_auto_stands_for(options, growth):
    X, y = table()
    model = hb.GradientBoostingRegressor(random_state=0, n_iter_no_change=3, **options).fit(X, y)
    assert model.settings_["growth"] == growth
    again = hb.GradientBoostingRegressor(
        random_state=0, **{**options, **model.settings_, "n_estimators": options.get("n_estimators", "auto")}
    ).fit(X, y)
    assert np.array_equal(again.predict(X), model.predict(X))


def distinct_tests(tree):
    return {(tree.feature[node], tree.threshold[node]) for node in np.flatnonzero(tree.n_branches)}


def test_members_take_turns():
    """Every other member grows symmetric trees, of up to four times as many leaves."""
    X, y = table(2_000)
    model = hb.GradientBoostingRegressor(
        random_state=0, n_members=4, n_iter_no_change=3, max_leaf_nodes=8, growth="mixed"
    ).fit(X, y)
    trees = list(model._model.trees)
    for turn in range(4):
        n_tests = [len(distinct_tests(tree)) for tree in trees[turn::4]]
        n_leaves = [tree.n_leaves for tree in trees[turn::4]]
        if turn % 2 == 0:
            assert 8 < max(n_leaves) <= 32
            assert max(n_tests) == 5  # one for each level
        else:
            assert max(n_leaves) == 8
            assert max(n_tests) > 5


@pytest.mark.parametrize(
    "options", [{"n_estimators": 5}, {"n_members": 1}, {"early_stopping": False}, {"warm_start": True}]
)
def test_a_single_member_cannot_take_turns(options):
    X, y = table()
    with pytest.raises(ValueError, match="growth='mixed' goes with several members"):
        hb.GradientBoostingRegressor(growth="mixed", **options).fit(X, y)


def test_rows_to_judge_by_leave_one_member():
    X, y = table()
    with pytest.raises(ValueError, match="growth='mixed' goes with several members"):
        hb.GradientBoostingRegressor(growth="mixed").fit(X, y, X_val=X[:50], y_val=y[:50])


def test_several_classes_grow_best_first():
    X, y = table()
    model = hb.GradientBoostingClassifier(random_state=0, n_iter_no_change=3).fit(X, np.digitize(y, [-1, 1]))
    assert model.settings_["growth"] == "best_first"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"monotonic_cst": [1, 0, 0, 0]}, "does not go with monotonic_cst"),
        ({"interaction_cst": "pairwise"}, "does not go with interaction_cst"),
        ({"categorical_split": "one_vs_rest"}, "does not go with categorical_split='one_vs_rest'"),
    ],
)
def test_what_symmetric_trees_cannot_is_refused(options, words):
    X, y = table()
    with pytest.raises(ValueError, match=words):
        hb.GradientBoostingRegressor(5, growth="symmetric", **options).fit(X, y)


@pytest.mark.parametrize("n_categories", [255, 256])
def test_sets_of_a_byte_of_categories(n_categories):
    codes = np.arange(2_000) % n_categories
    X = pd.DataFrame({"kind": pd.Categorical([f"k{c:03}" for c in codes]), "x": np.arange(2_000.0)})
    model = hb.GradientBoostingRegressor(5, growth="symmetric", categorical_split="subset")
    if n_categories == 256:
        with pytest.raises(ValueError, match="Column 'kind' has 256 categories"):
            model.fit(X, codes % 2)
    else:
        assert model.fit(X, codes % 2).score(X, codes % 2) > 0.5
