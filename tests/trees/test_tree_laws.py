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
import pytest
from core.growing import encode, grow, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.tables import Table, tables

import hornbeam as hb
from hornbeam.threads import usable_cores
from hornbeam.warnings import ThreadsWarning
from trees.tree_tables import frame_of, reordered

# Tables of one row or of constant columns come up; they are fitted with a warning.
pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")

OF_CLASSES = ("gini", "entropy", "accuracy", "gain_ratio", "chi2")
OF_NUMBERS = ("squared_error", "poisson", "f_test")


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
