"""What holds for every tree, whatever the data: laws that need no second implementation to check.

Grown-out trees make no avoidable mistake; limits are never passed; draws are fair; threads, the form of the
table and the order of its rows change nothing.
"""

import itertools
import math
import warnings
from collections import defaultdict
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from core.growing import encode, grow, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.splits import is_categorical
from reference.tables import WEIGHT_KINDS, Table, tables
from scipy import sparse, stats

import hornbeam as hb
from hornbeam.threads import usable_cores
from hornbeam.warnings import ThreadsWarning

# Tables of one row or of constant columns come up; they are fitted with a warning.
pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")

OF_CLASSES = ("gini", "entropy", "accuracy", "gain_ratio", "chi2")
OF_NUMBERS = ("squared_error", "poisson", "f_test")
STRUCTURE = ("first_child", "feature", "threshold", "category_begin", "category_words", "missing_branch")


def frame_of(columns: list[np.ndarray]) -> pd.DataFrame:
    """Numeric columns as they are, category codes as categories."""
    return pd.DataFrame(
        {
            f"x{j}": pd.Categorical.from_codes(column, [f"c{code}" for code in range(8)])
            if is_categorical(column)
            else column
            for j, column in enumerate(columns)
        }
    )


def reordered(table: Table, order: list[int]) -> Table:
    return Table(
        [column[order] for column in table.columns],
        table.y[order],
        None if table.weights is None else table.weights[order],
        table.n_classes,
    )


def groups_of_equal_rows(columns: list[np.ndarray]) -> list[list[int]]:
    """Rows that no test can tell apart: equal in every column, a gap being equal to a gap and -0.0 to 0.0."""
    groups: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for row, values in enumerate(zip(*(column.tolist() for column in columns), strict=True)):
        groups[tuple(None if value != value else value for value in values)].append(row)
    return list(groups.values())


# ------------------------------------------------------------------------------------------------------------
# A grown-out tree makes no avoidable mistake


def kept_rows(table: Table) -> Table:
    """The rows with weight: the others must not matter, and hold categories that the fit has not seen."""
    if table.weights is None:
        return table
    return reordered(table, np.flatnonzero(table.weights).tolist())


@settings(max_examples=100)
@given(tables("classes"), st.sampled_from(OF_CLASSES), st.sampled_from(["best", "random"]))
def test_the_training_error_is_the_share_of_contradictory_rows(table, criterion, splitter):
    model = hb.DecisionTreeClassifier(criterion=criterion, splitter=splitter, random_state=0)
    model.fit(frame_of(table.columns), table.y, sample_weight=table.weights)
    table = kept_rows(table)
    weights = np.ones(len(table.y)) if table.weights is None else table.weights
    contradicted = 0.0
    for rows in groups_of_equal_rows(table.columns):
        by_class = np.bincount(table.y[rows], weights=weights[rows])
        contradicted += by_class.sum() - by_class.max()
    mistakes = weights[model.predict(frame_of(table.columns)) != table.y].sum()
    if table.weights is None:
        assert mistakes == contradicted
    else:
        assert mistakes == pytest.approx(contradicted, rel=1e-9, abs=1e-9 * weights.sum())


@settings(max_examples=100)
@given(tables("numbers"), st.sampled_from(OF_NUMBERS), st.sampled_from(["best", "random"]))
def test_a_grown_out_regression_tree_predicts_the_mean_of_equal_rows(table, criterion, splitter):
    if criterion == "poisson":
        table = Table(table.columns, np.abs(table.y) + 1, table.weights, None)
    model = hb.DecisionTreeRegressor(criterion=criterion, splitter=splitter, random_state=0)
    model.fit(frame_of(table.columns), table.y, sample_weight=table.weights)
    table = kept_rows(table)
    weights = np.ones(len(table.y)) if table.weights is None else table.weights
    predicted = model.predict(frame_of(table.columns))
    for rows in groups_of_equal_rows(table.columns):
        mean = np.average(table.y[rows], weights=weights[rows])
        np.testing.assert_allclose(predicted[rows], mean, rtol=1e-9, atol=1e-9 * np.abs(table.y).max())


@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize(
    "column", [["a", "a", "a", None, None, None] * 2, [1.0, 1.0, 1.0, None, None, None] * 2]
)
def test_one_known_value_is_parted_from_gaps(column, n_classes):
    """The only test such a column has; the others must not be looked for."""
    X = pd.DataFrame({"x": column})
    y = np.where(X["x"].isna(), 0, 1 + np.arange(12) % (n_classes - 1))
    model = hb.DecisionTreeClassifier().fit(X, y)
    assert model.get_n_leaves() == 2
    assert model.tree_.missing_branch[0] == 1
    assert (model.predict(X[X["x"].isna()]) == 0).all()


def boolean_functions(n_bits: int) -> list[np.ndarray]:
    """All of them for few bits; for more, a fixed selection that holds parity and its negation."""
    n_inputs = 2**n_bits
    if n_bits <= 3:
        numbers = list(range(2**n_inputs))
    else:
        parity = sum(1 << row for row in range(n_inputs) if row.bit_count() % 2)
        numbers = [0, parity, 2**n_inputs - 1 - parity]
        numbers += np.random.default_rng(n_bits).integers(0, 2**n_inputs, 100).tolist()
    return [np.array([number >> row & 1 for row in range(n_inputs)]) for number in numbers]


@pytest.mark.parametrize("form", ["numbers", "categories"])
@pytest.mark.parametrize("splitter", ["best", "random"])
@pytest.mark.parametrize("n_bits", [1, 2, 3, 4])
def test_every_boolean_function_is_learned_within_its_number_of_bits(n_bits, splitter, form):
    bits = np.array(list(itertools.product([0.0, 1.0], repeat=n_bits)))
    columns = [bits[:, j] if form == "numbers" else bits[:, j].astype(int) for j in range(n_bits)]
    data = encode(columns)
    for number, y in enumerate(boolean_functions(n_bits)):
        for criterion, target in {
            "gini": y,
            "entropy": y,
            "accuracy": y,
            "squared_error": y,
            "poisson": y,
        }.items():
            tree = grow(
                data,
                target,
                n_classes=2 if criterion in ("gini", "entropy", "accuracy") else None,
                criterion=criterion,
                random_splits=splitter == "random",
                key=number,
            )
            assert tree.max_depth <= n_bits
            leaves = tree.first_child == -1
            assert (tree.impurity[leaves] == 0).all()
            # Pure leaves that together hold every row once: no row is answered wrongly.
            assert tree.n_node_samples[leaves].sum() == len(y)


@pytest.mark.parametrize("n_bits", [1, 2, 3])
def test_estimators_learn_boolean_functions_as_the_core_does(n_bits):
    X = np.array(list(itertools.product([False, True], repeat=n_bits)))
    for y in boolean_functions(n_bits):
        model = hb.DecisionTreeClassifier().fit(X, y)
        assert (model.predict(X) == y).all()
        assert model.get_depth() <= n_bits


@pytest.mark.parametrize("criterion", [*OF_CLASSES, *OF_NUMBERS])
def test_splits_without_gain_are_made_unless_forbidden(criterion):
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    y = np.array([1, 2, 2, 1])
    kind = hb.DecisionTreeClassifier if criterion in OF_CLASSES else hb.DecisionTreeRegressor
    grown = kind(criterion=criterion).fit(X, y)
    assert grown.tree_.gain[0] == 0
    assert grown.tree_.feature[0] == 0
    assert grown.get_n_leaves() == 4
    assert grown.score(X, y) == 1
    assert kind(criterion=criterion, min_impurity_decrease=1e-6).fit(X, y).get_n_leaves() == 1


def test_parity_needs_and_gets_the_whole_depth():
    X = np.array(list(itertools.product([0, 1], repeat=8)))
    y = X.sum(axis=1) % 2
    model = hb.DecisionTreeClassifier().fit(X, y)
    assert model.score(X, y) == 1
    assert (model.get_depth(), model.get_n_leaves()) == (8, 256)


# ------------------------------------------------------------------------------------------------------------
# Threads change nothing


def large_columns(*, categories: bool, gaps: bool) -> list[np.ndarray]:
    """More than 20,000 rows: enough for features and subtrees to be handed to several threads."""
    rng = np.random.default_rng(7)
    n_rows = 24_000
    columns: list[np.ndarray] = [rng.normal(size=n_rows) for _ in range(3)]
    columns.append(rng.integers(0, 50, n_rows).astype(float))
    columns += [rng.integers(0, 8, n_rows) if categories else rng.random(n_rows) for _ in range(2)]
    if gaps:
        columns[0][rng.random(n_rows) < 0.2] = math.nan
        columns[4][rng.random(n_rows) < 0.2] = -1
    return columns


def large_target(columns: list[np.ndarray], n_classes: int | None) -> np.ndarray:
    noise = np.random.default_rng(8).normal(size=len(columns[0]))
    signal = np.nan_to_num(columns[0]) + columns[1] * columns[2] + (columns[3] > 20) + columns[4] % 3 + noise
    if n_classes is None:
        return signal
    return np.searchsorted(np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]), signal)


LARGE_CASES: dict[str, dict[str, Any]] = {
    "classes": {"n_classes": 3},
    "weighted entropy": {"n_classes": 2, "criterion": "entropy", "weighted": True},
    "numbers": {"criterion": "squared_error"},
    "counts by level": {"criterion": "poisson", "growth": "level"},
    "random thresholds": {"n_classes": 3, "random_splits": True},
    "drawn features": {"criterion": "squared_error", "max_features": 2},
    "categories and gaps": {"n_classes": 2, "categories": True, "gaps": True},
    "random categories and gaps": {
        "criterion": "squared_error",
        "categories": True,
        "gaps": True,
        "random_splits": True,
        "max_features": 3,
    },
    "limited leaves": {"n_classes": 3, "max_leaf_nodes": 200},
    "constrained": {"n_classes": 2, "monotonic": [1, 0, -1, 0, 0, 0], "min_samples_leaf": 5},
}


@pytest.mark.parametrize("name", LARGE_CASES)
def test_the_same_bits_for_any_number_of_threads(name):
    """The core is asked directly: an estimator would cut four threads down to the cores of the machine."""
    case = dict(LARGE_CASES[name])
    columns = large_columns(categories=case.pop("categories", False), gaps=case.pop("gaps", False))
    n_classes = case.pop("n_classes", None)
    y = large_target(columns, n_classes)
    if case.get("criterion") == "poisson":
        y = np.floor(np.exp(np.clip(y, -2, 2)))
    weights = np.random.default_rng(9).uniform(0.5, 2, len(y)) if case.pop("weighted", False) else None
    data = encode(columns)
    alone, *others = (
        grow(data, y, weights, n_classes=n_classes, key=3, n_threads=n_threads, **case)
        for n_threads in (1, 2, 4)
    )
    assert alone.n_leaves > 100
    assert all(same_bits(alone, other) for other in others)


@pytest.mark.parametrize("kind", [hb.DecisionTreeClassifier, hb.DecisionTreeRegressor])
def test_n_jobs_changes_no_bit_of_model_or_prediction(kind):
    columns = large_columns(categories=True, gaps=True)
    y = large_target(columns, 3 if kind is hb.DecisionTreeClassifier else None)
    X = frame_of(columns)
    models = []
    for n_jobs in (1, 2, 4):
        model = kind(n_jobs=n_jobs, random_state=0, max_features=4)
        with warnings.catch_warnings():
            if n_jobs > usable_cores():
                warnings.simplefilter("ignore", ThreadsWarning)
            models.append(model.fit(X, y))
            leaves = model.apply(X)
        assert same_bits(model.tree_, models[0].tree_)
        assert (leaves == models[0].apply(X)).all()


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


# ------------------------------------------------------------------------------------------------------------
# Ties


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", [*OF_CLASSES, *OF_NUMBERS])
def test_among_columns_that_say_the_same_the_first_wins(criterion, weighted):
    rng = np.random.default_rng(14)
    x = np.round(rng.normal(size=200), 1)
    y = rng.integers(0, 3, 200)
    weights = rng.uniform(0.1, 3, 200) if weighted else None
    kind = hb.DecisionTreeClassifier if criterion in OF_CLASSES else hb.DecisionTreeRegressor
    alone = kind(criterion=criterion).fit(x[:, None], y, sample_weight=weights).tree_
    monotone = np.exp(x / 4)  # other values, same order
    for twins in ([x, x], [x, -x], [x, monotone], [x, -x, monotone, x]):
        tree = kind(criterion=criterion).fit(np.column_stack(twins), y, sample_weight=weights).tree_
        assert set(tree.feature[tree.feature >= 0].tolist()) == {0}
        assert same_bits(tree, alone)


# ------------------------------------------------------------------------------------------------------------
# Limits

LIMITS = {
    "max_depth": st.sampled_from([None, 1, 3, 6]),
    "min_samples_split": st.sampled_from([2, 9, 0.2]),
    "min_samples_leaf": st.sampled_from([1, 4, 0.1]),
    "min_weight_fraction_leaf": st.sampled_from([0.0, 0.05, 0.3]),
    "min_impurity_decrease": st.sampled_from([0.0, 0.003, 0.02]),
    "max_leaf_nodes": st.sampled_from([None, 2, 5, 14]),
    "max_nodes": st.sampled_from([None, 1, 2, 8, 15]),
    "max_features": st.sampled_from([None, 2]),
    "splitter": st.sampled_from(["best", "random"]),
}


def mixed_rows(seed: int, n_rows: int = 120) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=n_rows), rng.integers(0, 5, n_rows).astype(float), rng.integers(-1, 8, n_rows)]
    columns[0][rng.random(n_rows) < 0.15] = math.nan
    return frame_of(columns), rng.integers(0, 3, n_rows), rng.uniform(0.2, 3, n_rows)


@settings(max_examples=80)
@given(st.integers(0, 30), st.booleans(), st.booleans(), st.fixed_dictionaries(LIMITS))
def test_limits_hold_in_every_node(seed, classify, weighted, limits):
    X, y, weights = mixed_rows(seed)
    kind = hb.DecisionTreeClassifier if classify else hb.DecisionTreeRegressor
    model = kind(random_state=0, **limits).fit(X, y, sample_weight=weights if weighted else None)
    tree = model.tree_
    n_rows, total = len(y), weights.sum() if weighted else len(y)
    inner = tree.feature >= 0
    children = np.arange(1, tree.node_count)

    def rows(limit: float) -> int:
        return limit if isinstance(limit, int) else math.ceil(limit * n_rows)

    assert tree.max_depth <= (limits["max_depth"] or math.inf)
    assert tree.n_leaves <= (limits["max_leaf_nodes"] or math.inf)
    assert tree.node_count <= (limits["max_nodes"] or math.inf)
    assert (tree.n_node_samples[inner] >= rows(limits["min_samples_split"])).all()
    assert (tree.n_node_samples[children] >= rows(limits["min_samples_leaf"])).all()
    least = limits["min_weight_fraction_leaf"] * total
    assert (tree.weighted_n_node_samples[children] >= least * (1 - 1e-9)).all()
    assert (tree.gain[inner] / total >= limits["min_impurity_decrease"] - 1e-12).all()
    # What a node says it holds is what reaches it, and branches share out their node.
    np.testing.assert_array_equal(np.ravel(model.decision_path(X).sum(axis=0)), tree.n_node_samples)
    first = tree.first_child[inner]
    np.testing.assert_array_equal(
        tree.n_node_samples[first] + tree.n_node_samples[first + 1], tree.n_node_samples[inner]
    )
    np.testing.assert_allclose(
        tree.weighted_n_node_samples[first] + tree.weighted_n_node_samples[first + 1],
        tree.weighted_n_node_samples[inner],
    )


@pytest.mark.parametrize("kind", [hb.DecisionTreeClassifier, hb.DecisionTreeRegressor])
def test_a_limit_on_leaves_or_nodes_is_used_up_and_never_passed(kind):
    X, y, _ = mixed_rows(1)
    leaves = kind().fit(X, y).get_n_leaves()
    for limit in (2, 3, 7, leaves - 1, leaves, leaves + 1, 10 * leaves):
        assert kind(max_leaf_nodes=limit).fit(X, y).get_n_leaves() == min(limit, leaves)
    for limit in (1, 2, 3, 4, 10, 2 * leaves - 2, 2 * leaves - 1, 2 * leaves):
        expected = min(limit - (limit + 1) % 2, 2 * leaves - 1)  # a binary tree has an odd number of nodes
        assert kind(max_nodes=limit).fit(X, y).tree_.node_count == expected
    assert kind(max_leaf_nodes=5, max_nodes=7).fit(X, y).get_n_leaves() == 4


def test_a_tree_of_few_leaves_is_the_top_of_a_tree_of_more():
    """Best-first growth: one more leaf splits one leaf and leaves the rest as it was."""
    X, y, _ = mixed_rows(2)
    for n_leaves in range(2, 20):
        small, large = (
            hb.DecisionTreeRegressor(max_leaf_nodes=n).fit(X, y) for n in (n_leaves, n_leaves + 1)
        )
        grouping = pd.DataFrame({"small": small.apply(X), "large": large.apply(X)}).drop_duplicates()
        assert len(grouping) == n_leaves + 1  # every leaf of the larger tree lies inside one of the smaller
        assert sorted(grouping["small"].value_counts())[-2:] in ([1, 2], [2])


# ------------------------------------------------------------------------------------------------------------
# The form of a table and the order of its rows


def numeric_rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(15)
    X = np.column_stack(
        [rng.normal(size=150), rng.integers(0, 4, 150), rng.poisson(0.5, 150), rng.random(150)]
    )
    X[:, 3] *= rng.random(150) < 0.4
    return X, (X[:, 0] + X[:, 1] + rng.normal(size=150) > 1.5).astype(int)


def with_none(X: np.ndarray) -> list[list[float | None]]:
    return [[None if math.isnan(value) else value for value in row] for row in X.tolist()]


NUMERIC_FORMS = {
    "Fortran order": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "objects": lambda X: X.astype(object),
    "lists": lambda X: X.tolist(),
    "pandas": pd.DataFrame,
    "pandas, one type per column": lambda X: pd.DataFrame(X).astype({2: "float32", 3: "float64"}),
    "pandas, nullable": lambda X: pd.DataFrame(X).convert_dtypes(),
    "pandas, Arrow": lambda X: pd.DataFrame(X).astype("float64[pyarrow]"),
    "polars": lambda X: pl.DataFrame(X, schema=[f"x{j}" for j in range(X.shape[1])]),
    "Arrow": lambda X: pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])}),
}
SPARSE_FORMS = {
    name: getattr(sparse, name)
    for name in ("csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array")
}


@pytest.mark.parametrize("kind", [hb.DecisionTreeClassifier, hb.DecisionTreeRegressor])
@pytest.mark.parametrize("name", [*NUMERIC_FORMS, *SPARSE_FORMS])
def test_every_form_of_a_table_gives_the_same_tree(name, kind):
    X, y = numeric_rows()
    form = {**NUMERIC_FORMS, **SPARSE_FORMS}[name](X)
    plain, other = kind().fit(X, y), kind().fit(form, y)
    assert same_bits(plain.tree_, other.tree_)
    assert plain.predict(X).tobytes() == other.predict(form).tobytes()


@pytest.mark.parametrize("name", [*NUMERIC_FORMS, "lists with None"])
def test_gaps_in_every_form_give_the_same_tree(name):
    X, y = numeric_rows()
    X[np.random.default_rng(16).random(X.shape) < 0.2] = math.nan
    form = {**NUMERIC_FORMS, "lists with None": with_none}[name](X)
    plain, other = (hb.DecisionTreeClassifier().fit(table, y) for table in (X, form))
    assert same_bits(plain.tree_, other.tree_)
    assert plain.predict_proba(X).tobytes() == other.predict_proba(form).tobytes()


def test_categories_in_every_kind_of_frame_give_the_same_tree():
    rng = np.random.default_rng(17)
    colours = np.array(["red", "green", "blue", None], dtype=object)[rng.integers(0, 4, 200)]
    columns = {"colour": colours, "size": rng.normal(size=200), "known": rng.random(200) < 0.5}
    y = (columns["size"] + (colours == "red") > 0.3).astype(int)
    texts = pd.DataFrame(columns)
    frames = [
        texts,
        texts.astype({"colour": "category"}),
        texts.astype({"colour": "string"}),
        pl.DataFrame({**columns, "colour": colours.tolist()}),
        pl.DataFrame({**columns, "colour": pl.Series(colours.tolist(), dtype=pl.Categorical)}),
        pa.table({**columns, "colour": pa.array(colours.tolist())}),
        pa.table({**columns, "colour": pa.array(colours.tolist()).dictionary_encode()}),
    ]
    models = [hb.DecisionTreeClassifier().fit(frame, y) for frame in frames]
    assert any(models[0].tree_.category_begin >= 0)
    for model, frame in itertools.product(models, frames):
        assert same_bits(model.tree_, models[0].tree_)
        assert (model.apply(frame) == models[0].apply(texts)).all()


@settings(max_examples=60)
@given(tables("classes", weights=["none", "integers", "powers_of_two"]), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter_to_a_classifier(table, random):
    order = list(range(len(table.y)))
    random.shuffle(order)
    assert same_bits(fit_tree(table, "gini"), fit_tree(reordered(table, order), "gini"))


@settings(max_examples=60)
@given(tables("counts", weights=WEIGHT_KINDS[:4]), st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter_to_a_regressor(table, random):
    """Whole-number targets: their sum, and with it the point they are centred on, is exact in any order."""
    order = list(range(len(table.y)))
    random.shuffle(order)
    one, other = fit_tree(table, "squared_error"), fit_tree(reordered(table, order), "squared_error")
    assert same_bits(one, other, (*STRUCTURE, "n_node_samples"))
    for fact in ("weighted_n_node_samples", "impurity", "value"):
        np.testing.assert_allclose(getattr(one, fact), getattr(other, fact), rtol=1e-12, atol=1e-12)


def fit_tree(table: Table, criterion: str) -> Any:
    kind = hb.DecisionTreeClassifier if criterion == "gini" else hb.DecisionTreeRegressor
    model = kind(criterion=criterion).fit(frame_of(table.columns), table.y, sample_weight=table.weights)
    return model.tree_


def test_an_outlier_does_not_blind_the_rest():
    """Squares of sums around the mean of all rows would drown the gains of every other node."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 5))
    y = (X[:, 1] > 0) * 1.0
    y[0] = 1e10
    tree = hb.DecisionTreeRegressor(max_depth=14).fit(X, y)
    assert np.abs(tree.predict(X) - y)[1:].max() < 1e-9
