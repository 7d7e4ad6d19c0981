"""Random draws of single trees: reproducible and fair."""

import math

import numpy as np
import pytest
from core.growing import same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.tables import tables
from scipy import stats

import hornbeam as hb

# Tables of one row or of constant columns come up; they are fitted with a warning.
pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")


# ------------------------------------------------------------------------------------------------------------
# Random draws: reproducible and fair


def noise_data(n_rows: int = 60, n_features: int = 6) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(11)
    return rng.random((n_rows, n_features)), rng.integers(0, 2, n_rows)


@pytest.mark.parametrize("options", [{"splitter": "random"}, {"max_features": 2}])
@pytest.mark.parametrize("kind", [hb.DecisionTreeClassifier, hb.DecisionTreeRegressor])
def test_a_seed_gives_the_same_tree_again_and_another_seed_another_tree(kind, options):
    X, y = noise_data()
    first, again, other = (kind(random_state=seed, **options).fit(X, y).tree_ for seed in (5, 5, 6))
    assert same_bits(first, again)
    assert not same_bits(first, other)


def test_a_generator_moves_on_and_none_follows_the_global_state():
    X, y = noise_data()
    generator = np.random.RandomState(5)
    model = hb.DecisionTreeClassifier(splitter="random", random_state=generator)
    first, second = model.fit(X, y).tree_, model.fit(X, y).tree_
    assert not same_bits(first, second)
    free = hb.DecisionTreeClassifier(splitter="random")
    state = np.random.get_state()
    try:
        trees = []
        for _ in range(2):
            np.random.seed(5)
            trees.append(free.fit(X, y).tree_)
    finally:
        np.random.set_state(state)
    assert same_bits(*trees)


def test_without_draws_the_seed_does_not_matter():
    X, y = noise_data()
    assert same_bits(*(hb.DecisionTreeClassifier(random_state=seed).fit(X, y).tree_ for seed in (1, 2)))


N_SEEDS = 800
LEAST_P = 1e-3  # seeds are fixed: the tests pass always or never


def test_each_feature_is_drawn_equally_often_and_children_draw_anew():
    X, y = noise_data(n_features=4)
    seen = np.zeros((4, 4))
    for seed in range(N_SEEDS):
        tree = hb.DecisionTreeClassifier(max_features=1, max_depth=2, random_state=seed).fit(X, y).tree_
        child = next(node for node in (1, 2) if tree.feature[node] >= 0)
        seen[tree.feature[0], tree.feature[child]] += 1
    assert stats.chisquare(seen.sum(axis=1)).pvalue > LEAST_P
    assert stats.chisquare(seen.ravel()).pvalue > LEAST_P


def test_each_set_of_features_is_drawn_equally_often():
    """Columns ordered by worth: the root tests the first of those drawn, which tells the draws apart."""
    n_features, drawn = 6, 2
    rng = np.random.default_rng(12)
    y = np.arange(400.0)
    X = y[:, None] + rng.normal(size=(400, n_features)) * 10.0 ** np.arange(n_features)
    firsts = np.zeros(n_features)
    for seed in range(N_SEEDS):
        model = hb.DecisionTreeRegressor(max_features=drawn, max_depth=1, random_state=seed)
        firsts[model.fit(X, y).tree_.feature[0]] += 1
    ways = np.array([math.comb(n_features - 1 - first, drawn - 1) for first in range(n_features)])
    possible = ways > 0
    assert firsts[~possible].sum() == 0
    expected = N_SEEDS * ways[possible] / ways.sum()
    assert stats.chisquare(firsts[possible], expected).pvalue > LEAST_P


def test_constant_features_do_not_use_up_the_draw():
    X = np.zeros((50, 6))
    X[:, 4] = np.arange(50)
    for seed in range(50):
        model = hb.DecisionTreeClassifier(max_features=1, max_depth=1, random_state=seed)
        assert model.fit(X, np.arange(50) // 25).tree_.feature[0] == 4


def test_random_thresholds_are_uniform_over_the_range_of_the_node():
    """Uniform in value, whatever the density of the rows; in the children over their own range."""
    values = np.sort(np.concatenate([[0.0, 1.0], np.random.default_rng(13).beta(0.5, 3, 98)]))
    X, y = values.reshape(-1, 1), np.arange(100) % 2
    at_root, below = [], []
    for seed in range(N_SEEDS):
        model = hb.DecisionTreeClassifier(splitter="random", max_depth=2, random_state=seed).fit(X, y)
        tree = model.tree_
        at_root.append(tree.threshold[0])
        left = values[values <= tree.threshold[0]]
        if len(left) > 1 and tree.feature[1] >= 0:
            below.append((tree.threshold[1] - left[0]) / (left[-1] - left[0]))
    assert stats.kstest(at_root, "uniform").pvalue > LEAST_P
    assert len(below) > N_SEEDS / 2
    assert stats.kstest(below, "uniform").pvalue > LEAST_P


@settings(max_examples=60)
@given(tables(categorical=False), st.integers(0, 1000))
def test_random_thresholds_part_the_rows_of_their_node(table, seed):
    X = np.column_stack(table.columns)
    kind = hb.DecisionTreeRegressor if table.n_classes is None else hb.DecisionTreeClassifier
    model = kind(splitter="random", random_state=seed).fit(X, table.y, sample_weight=table.weights)
    tree = model.tree_
    paths = model.decision_path(X).tocsc()
    for node in np.flatnonzero(tree.feature >= 0):
        rows = paths.indices[paths.indptr[node] : paths.indptr[node + 1]]
        rows = rows if table.weights is None else rows[table.weights[rows] > 0]
        values = X[rows, tree.feature[node]]
        known = values[~np.isnan(values)]
        if known.min() == known.max():
            assert tree.threshold[node] == math.inf  # known against missing
            assert len(known) < len(values)
        else:
            assert known.min() <= tree.threshold[node] < known.max()
