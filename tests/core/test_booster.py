"""The booster keeps its promises: scores are what its trees say, and threads do not matter."""

import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam import _core

LOSSES = ["log_loss", "squared_error", "poisson", "absolute_error"]


def make_table(seed: int, n_rows: int) -> tuple[list[np.ndarray], _core.Dataset]:
    """Columns of every kind: smooth, with gaps, of few values, of a few categories and of many."""
    rng = np.random.default_rng(seed)
    smooth = rng.normal(size=n_rows)
    gappy = np.where(rng.random(n_rows) < 0.2, np.nan, rng.normal(size=n_rows))
    few = rng.integers(0, 4, size=n_rows).astype(float)
    kinds = rng.integers(-1, 6, size=n_rows).astype(np.int32)
    many = rng.integers(-1, 400, size=n_rows).astype(np.int32)
    columns: list[np.ndarray] = [smooth, gappy, few, kinds, many]
    codes = _core.encode_table(n_rows, [(smooth,), (gappy,), (few,), (kinds, 6), (many, 400)], 255, 1)
    return columns, codes


def boost(
    codes: _core.Dataset,
    y: np.ndarray,
    weights: np.ndarray | None,
    *,
    loss: str,
    n_threads: int,
    rows: np.ndarray | None = None,
    n_rounds: int = 8,
    interactions: list[list[int]] | None = None,
    **others: Any,
) -> tuple[_core.Booster, list[_core.Tree]]:
    """Run some rounds with small leaves, so that odd cases come up."""
    options: dict[str, Any] = {
        "n_scores": 1,
        "loss": loss,
        "loss_parameter": 0.0,
        "learning_rate": 0.5,
        "growth": "best_first",
        "max_depth": 0,
        "max_leaf_nodes": 12,
        "min_samples_leaf": 2,
        "min_hessian_leaf": 1e-3,
        "l1_regularization": 0.0,
        "l2_regularization": 0.1,
        "min_split_gain": 0.0,
        "max_features": 0,
        "monotonic": [],
        "categorical_smoothing": 1.0,
        "interactions": interactions or [],
        **others,
    }
    booster = _core.Booster(codes, y=y, weights=weights, n_threads=n_threads, **options)
    booster.scores()[:] = 0.0
    trees = []
    for round_number in range(n_rounds):
        booster.compute_derivatives()
        trees += booster.grow(rows, None, np.array([round_number], dtype=np.uint64))
    return booster, trees


@given(
    seed=st.integers(0, 10_000),
    n_rows=st.integers(1, 300),
    loss=st.sampled_from(LOSSES),
    weighted=st.booleans(),
    sampled=st.booleans(),
)
@settings(max_examples=150, deadline=None)
def test_scores_are_what_the_trees_say(
    seed: int, n_rows: int, loss: str, weighted: bool, sampled: bool
) -> None:
    """Training moves rows about; prediction walks down: both must end in the same leaf."""
    columns, codes = make_table(seed, n_rows)
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n_rows).astype(np.float32)
    # Weights over many powers of ten: some derivatives round to nothing.
    weights = (10.0 ** rng.uniform(-12, 2, size=n_rows)).astype(np.float32) if weighted else None
    rows = np.flatnonzero(rng.random(n_rows) < 0.6).astype(np.uint32) if sampled else None
    if rows is not None and len(rows) == 0:
        rows = None
    booster, trees = boost(codes, y, weights, loss=loss, n_threads=1, rows=rows)
    leaves = _core.Predictor(tuple(trees), None, False).leaves(columns, n_rows, 0, len(trees), 1)
    said = np.zeros(n_rows)
    for position, tree in enumerate(trees):
        said += tree.value[leaves[:, position], 0, 0]
    np.testing.assert_array_equal(booster.scores()[0], said)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", LOSSES)
def test_threads_do_not_change_a_bit(loss: str, weighted: bool) -> None:
    """Enough rows that nodes are shared out, and more than packed cells may hold."""
    n_rows = 70_000
    _, codes = make_table(0, n_rows)
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, size=n_rows).astype(np.float32)
    if loss == "log_loss":
        y = np.minimum(y, 1)
    weights = rng.uniform(0.5, 2, size=n_rows).astype(np.float32) if weighted else None
    alone, _ = boost(codes, y, weights, loss=loss, n_threads=1, n_rounds=3)
    for n_threads in (2, 4):
        together, _ = boost(codes, y, weights, loss=loss, n_threads=n_threads, n_rounds=3)
        np.testing.assert_array_equal(alone.scores(), together.scores())


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize(
    "limits",
    [
        {"max_leaf_nodes": 31},
        {"max_leaf_nodes": 0, "max_depth": 5},
        {"max_leaf_nodes": 31, "growth": "level", "max_features": 2, "monotonic": [1, 0, -1, 0, 0]},
    ],
)
def test_nodes_grown_in_step_are_those_of_one_thread(limits: dict[str, Any], sampled: bool) -> None:
    """Five threads are enough for that: up to four, each takes a node of its own.

    A node is large if there are 25,000 updates for each thread: of these four groups of columns, 31,250 rows
    for five threads, 43,750 for seven, and nothing but the root of the whole table for eleven.
    """
    n_rows = 70_000
    columns, codes = make_table(0, n_rows)
    rng = np.random.default_rng(2)
    y = (np.sin(2 * columns[0]) + columns[2] + rng.normal(size=n_rows)).astype(np.float32)
    rows = np.flatnonzero(rng.random(n_rows) < 0.95).astype(np.uint32) if sampled else None
    one, trees = boost(codes, y, None, loss="squared_error", n_threads=1, n_rounds=3, rows=rows, **limits)
    for n_threads in (4, 5, 7, 11):
        many, same = boost(
            codes, y, None, loss="squared_error", n_threads=n_threads, n_rounds=3, rows=rows, **limits
        )
        np.testing.assert_array_equal(one.scores(), many.scores())
        for tree, other in zip(trees, same, strict=True):
            np.testing.assert_array_equal(tree.feature, other.feature)
            np.testing.assert_array_equal(tree.value, other.value)
            np.testing.assert_array_equal(tree.gain, other.gain)


def test_threads_without_work_sleep() -> None:
    """They look for the next round for a moment only: the processors are somebody else's meanwhile."""
    _, codes = make_table(0, 20_000)
    y = np.random.default_rng(1).normal(size=20_000).astype(np.float32)
    boost(codes, y, None, loss="squared_error", n_threads=4, n_rounds=2)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.05


def test_a_column_of_many_categories_alone_is_learned() -> None:
    """No column fits a byte: there are no tiles, and the categories decide everything."""
    rng = np.random.default_rng(3)
    n_rows, n_categories = 30_000, 1_000
    kinds = rng.integers(0, n_categories, size=n_rows).astype(np.int32)
    effect = rng.normal(size=n_categories)
    y = (effect[kinds] + 0.1 * rng.normal(size=n_rows)).astype(np.float32)
    codes = _core.encode_table(n_rows, [(kinds, n_categories)], 255, 1)
    booster, _ = boost(codes, y, None, loss="squared_error", n_threads=2, n_rounds=20)
    assert np.mean((booster.scores()[0] - y) ** 2) < 0.02 * np.var(y)


def test_features_of_different_groups_do_not_meet_on_a_path() -> None:
    """Groups {0, 1} and {2, 3, 4}: every path stays within one of them."""
    _, codes = make_table(0, 2_000)
    y = np.random.default_rng(0).normal(size=2_000).astype(np.float32)
    groups = [[0, 1], [2, 3, 4]]
    _, trees = boost(codes, y, None, loss="squared_error", n_threads=2, interactions=groups)
    used = set()
    for tree in trees:
        for leaf in np.flatnonzero(tree.feature < 0):
            path, node = set(), tree.parent[leaf]
            while node >= 0:
                path.add(int(tree.feature[node]))
                node = tree.parent[node]
            assert any(path <= set(group) for group in groups)
            used |= path
    assert len(used) > 2
