"""The trees of a round start from one pass over the codes; each must be the tree that grows by itself."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornbeam import _core

OPTIONS: dict[str, Any] = {
    "weights": None, "loss": "", "loss_parameter": 0.0, "learning_rate": 0.5, "growth": "best_first",
    "max_depth": 0, "max_leaf_nodes": 8, "min_samples_leaf": 2, "min_hessian_leaf": 1e-3,
    "l1_regularization": 0.0, "l2_regularization": 0.1, "min_split_gain": 0.0, "max_features": 0,
    "monotonic": [], "categorical_smoothing": 1.0,
}  # fmt: skip
PARTS = ("feature", "threshold", "value", "gain", "n_node_samples", "first_child", "missing_branch")


def make_codes(rng: np.random.Generator, n_rows: int, n_numbers: int) -> _core.Dataset:
    """Columns with few and many distinct values, gaps, and categories in a byte and beyond."""
    columns: list[Any] = []
    for _ in range(n_numbers):
        values = rng.normal(size=n_rows).round(int(rng.integers(0, 4)))
        columns.append((np.where(rng.random(n_rows) < 0.1, np.nan, values),))
    columns.append((rng.integers(-1, 6, size=n_rows).astype(np.int32), 6))
    columns.append((rng.integers(-1, 300, size=n_rows).astype(np.int32), 300))
    return _core.encode_table(n_rows, columns, 255, 1)


def grown(
    codes: _core.Dataset,
    gradients: np.ndarray,
    hessians: np.ndarray,
    rows: np.ndarray | None,
    keys: np.ndarray,
    n_threads: int = 1,
) -> list[_core.Tree]:
    """Grow the trees of one round on given derivatives, scores x rows."""
    y = np.zeros(gradients.shape[1], dtype=np.float32)
    booster = _core.Booster(codes, y=y, n_scores=len(gradients), n_threads=n_threads, **OPTIONS)
    booster.scores()[:] = 0.0
    booster.gradients()[:] = gradients
    booster.hessians()[:] = hessians
    return booster.grow(rows, None, keys)


def same(tree: _core.Tree, other: _core.Tree) -> bool:
    return all(np.array_equal(getattr(tree, part), getattr(other, part), equal_nan=True) for part in PARTS)


def derivatives(rng: np.random.Generator, n_trees: int, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Sizes that differ from tree to tree; one tree in four has a gradient that needs wide cells."""
    gradients = rng.normal(size=(n_trees, n_rows)) * 10.0 ** rng.integers(-3, 4, size=(n_trees, 1))
    gradients[rng.random(n_trees) < 0.25, 0] *= 1e6
    return gradients.astype(np.float32), rng.uniform(0.1, 1.0, size=(n_trees, n_rows)).astype(np.float32)


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(400, 1200),  # the pass begins at 512
    n_numbers=st.integers(0, 20),
    n_trees=st.integers(2, 19),
    sampled=st.booleans(),
)
def test_trees_of_a_round_are_those_that_grow_alone(
    seed: int, n_rows: int, n_numbers: int, n_trees: int, sampled: bool
) -> None:
    """Any number of trees, of lanes and of passes; some of the trees may not take part."""
    rng = np.random.default_rng(seed)
    codes = make_codes(rng, n_rows, n_numbers)
    gradients, hessians = derivatives(rng, n_trees, n_rows)
    chosen = np.flatnonzero(rng.random(n_rows) < 0.7).astype(np.uint32)
    rows = chosen if sampled and len(chosen) else None
    keys = np.arange(n_trees, dtype=np.uint64)
    together = grown(codes, gradients, hessians, rows, keys)
    for k, tree in enumerate(together):
        (alone,) = grown(codes, gradients[[k]], hessians[[k]], rows, keys[[k]])
        assert same(tree, alone)


@pytest.mark.parametrize("n_trees", [3, 7])
def test_more_rows_than_packed_cells_hold_and_any_number_of_threads(n_trees: int) -> None:
    rng = np.random.default_rng(n_trees)
    n_rows = 150_000
    codes = make_codes(rng, n_rows, 4)
    gradients, hessians = derivatives(rng, n_trees, n_rows)
    keys = np.arange(n_trees, dtype=np.uint64)
    together = grown(codes, gradients, hessians, None, keys)
    assert {tree.n_leaves for tree in together} == {8}
    for n_threads in (2, 4):
        shared_out = grown(codes, gradients, hessians, None, keys, n_threads)
        assert all(same(*pair) for pair in zip(together, shared_out, strict=True))
    for k, tree in enumerate(together):
        (alone,) = grown(codes, gradients[[k]], hessians[[k]], None, keys[[k]])
        assert same(tree, alone)
