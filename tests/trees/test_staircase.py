"""Trees of 100,000 levels: nothing may recurse over depth, nor need more time and memory than nodes explain.

Targets that alternate along one feature make a staircase: the best split always takes off the first row.
Growing one of n levels reads n^2 / 2 rows, which takes minutes for 100,000. So a staircase of fewer levels is
grown, and the tall one is made from arrays that are shown to be what growing gives. With HORNBEAM_SLOW_TESTS
set, the tall one is grown too.
"""

import copy
import dataclasses
import os
import pickle
from typing import Any

import numpy as np
import pytest
from core.growing import same_bits

import hornbeam as hb
from hornbeam.model import TREE_ARRAYS, tree_from_arrays

GROWN_LEVELS = 10_000
TALL_LEVELS = 100_000
EXACT_FIELDS = tuple(field for field in TREE_ARRAYS if field not in ("impurity", "gain"))


def stairs(n_levels: int) -> tuple[np.ndarray, np.ndarray]:
    """n + 1 rows for n levels: the last inner node parts the last two rows."""
    rows = np.arange(n_levels + 1)
    return rows.astype(float).reshape(-1, 1), rows % 2


def staircase_arrays(n_levels: int) -> dict[str, np.ndarray]:
    """What growing on `stairs` gives: node 2k parts row k from those after it, node 2k + 1 is its leaf."""
    n_nodes = 2 * n_levels + 1
    nodes = np.arange(n_nodes)
    step = nodes // 2
    is_inner = (nodes % 2 == 0) & (step < n_levels)
    is_single = ~is_inner
    n_rows = np.where(is_single, 1, n_levels + 1 - step)
    # Rows step, step + 1, ..., n_levels are in node 2 * step: half of them odd, rounded by where they begin.
    n_odd = np.where(is_single, step % 2, (n_levels + 1) // 2 - step // 2)
    odd_share = n_odd / n_rows
    impurity = 2 * odd_share * (1 - odd_share)
    gain = np.zeros(n_nodes)
    inner = nodes[is_inner]
    gain[inner] = n_rows[inner] * impurity[inner] - n_rows[inner + 2] * impurity[inner + 2]
    return {
        "first_child": np.where(is_inner, nodes + 1, -1).astype(np.int32),
        "n_branches": np.where(is_inner, 2, 0).astype(np.int32),
        "feature": np.where(is_inner, 0, -2).astype(np.int32),
        "threshold": np.where(is_inner, step + 0.5, -2.0),
        "category_begin": np.full(n_nodes, -1, dtype=np.int64),
        # No gaps were met, so a missing value goes where more rows went: right, but at the last step left.
        "missing_branch": (is_inner & (step < n_levels - 1)).astype(np.int32),
        "n_node_samples": n_rows.astype(np.int64),
        "weighted_n_node_samples": n_rows.astype(float),
        "impurity": impurity,
        "gain": gain,
        "value": np.stack([(n_rows - n_odd) / n_rows, odd_share], axis=1).reshape(n_nodes, 1, 2),
        "category_words": np.empty(0, dtype=np.uint32),
    }


@pytest.fixture(scope="module")
def tall() -> hb.DecisionTreeClassifier:
    """A fitted classifier whose tree has 100,000 levels."""
    model: Any = hb.DecisionTreeClassifier().fit(*stairs(3))
    tree = tree_from_arrays(staircase_arrays(TALL_LEVELS), model._model.schema)
    model._model = dataclasses.replace(model._model, trees=(tree,))
    return model


# ------------------------------------------------------------------------------------------------------------
# Growing


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_a_staircase_grows_step_by_step(criterion):
    X, y = stairs(GROWN_LEVELS)
    model = hb.DecisionTreeClassifier(criterion=criterion).fit(X, y)
    assert model.get_depth() == GROWN_LEVELS
    expected = staircase_arrays(GROWN_LEVELS)
    tree = model.tree_
    for field in EXACT_FIELDS:
        np.testing.assert_array_equal(getattr(tree, field), expected[field], err_msg=field)
    if criterion == "gini":
        np.testing.assert_allclose(tree.impurity, expected["impurity"], rtol=1e-12)
        np.testing.assert_allclose(tree.gain, expected["gain"], rtol=1e-6)
    assert (model.predict(X[::100]) == y[::100]).all()


@pytest.mark.parametrize("limit", [{"max_leaf_nodes": 5000}, {"max_depth": 4999}])
def test_a_staircase_stops_at_its_limit(limit):
    model = hb.DecisionTreeClassifier(**limit).fit(*stairs(5500))
    assert model.get_depth() == 4999
    assert model.get_n_leaves() == 5000


def test_a_regression_staircase_grows():
    X, y = stairs(3000)
    tree = hb.DecisionTreeRegressor().fit(X, y).tree_
    expected = staircase_arrays(3000)
    assert tree.max_depth == 3000
    for field in ("first_child", "feature", "threshold", "n_node_samples"):
        np.testing.assert_array_equal(getattr(tree, field), expected[field], err_msg=field)
    np.testing.assert_allclose(tree.value[:, 0, 0], expected["value"][:, 0, 1], rtol=1e-12)


@pytest.mark.timeout(3600)
@pytest.mark.skipif(
    "HORNBEAM_SLOW_TESTS" not in os.environ, reason="takes minutes; set HORNBEAM_SLOW_TESTS to run it"
)
def test_a_tall_staircase_grows(tall):
    X, y = stairs(TALL_LEVELS)
    model = hb.DecisionTreeClassifier().fit(X, y)
    assert model.get_depth() == TALL_LEVELS
    assert same_bits(model.tree_, tall.tree_, EXACT_FIELDS)


# ------------------------------------------------------------------------------------------------------------
# Using a tall tree

SOME_STEPS = np.array([0, 1, 2, 999, 31_415, 65_536, TALL_LEVELS - 1, TALL_LEVELS])


def leaf_of(step: np.ndarray) -> np.ndarray:
    return np.minimum(2 * step + 1, 2 * TALL_LEVELS)


def test_rows_find_their_leaf_and_answer(tall):
    rows = SOME_STEPS.astype(float).reshape(-1, 1)
    assert tall.get_depth() == TALL_LEVELS
    assert tall.get_n_leaves() == TALL_LEVELS + 1
    np.testing.assert_array_equal(tall.apply(rows), leaf_of(SOME_STEPS))
    np.testing.assert_array_equal(tall.predict(rows), SOME_STEPS % 2)
    np.testing.assert_array_equal(tall.predict_proba(rows)[:, 1], SOME_STEPS % 2)
    assert tall.feature_importances_.tolist() == [1.0]


def test_a_block_of_rows_predicts(tall):
    """Half a million steps of a walk: the rows at the top of the stairs, and a few at the bottom."""
    X, y = stairs(TALL_LEVELS)
    chosen = np.r_[0:800, TALL_LEVELS - 3 : TALL_LEVELS + 1]
    np.testing.assert_array_equal(tall.predict(X[chosen]), y[chosen])


def test_the_path_of_a_row_is_the_whole_staircase(tall):
    rows = SOME_STEPS.astype(float).reshape(-1, 1)
    paths = tall.decision_path(rows)
    assert paths.shape == (len(SOME_STEPS), 2 * TALL_LEVELS + 1)
    for row, step in enumerate(SOME_STEPS):
        expected = np.append(np.arange(0, 2 * min(step, TALL_LEVELS - 1) + 1, 2), leaf_of(step))
        np.testing.assert_array_equal(paths[[row]].indices, expected)


def test_copies_and_pickles_are_the_same_tree_and_of_linear_size(tall):
    data = pickle.dumps(tall)
    assert len(data) < 150 * tall.tree_.node_count
    for other in (pickle.loads(data), copy.deepcopy(tall)):
        assert same_bits(other.tree_, tall.tree_)
        assert other.predict([[777.0]]).tolist() == [1]


def test_the_rules_have_a_line_for_every_node(tall):
    text = tall.rules().splitlines()
    assert len(text) == tall.tree_.node_count
    assert max(map(len, text)) < 200  # indentation does not grow without end
