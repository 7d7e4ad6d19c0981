"""The lane of small subtrees changes no tree, on both sides of the 64 rows that fit a word."""

import numpy as np
import pytest
from core.growing import encode, grow, same_bits

MOST_ROWS = 64  # SmallSubtree::kMostRows in cpp/grow/fast/small_subtree.h


@pytest.mark.parametrize("n_rows", [2, 3, MOST_ROWS - 1, MOST_ROWS, MOST_ROWS + 1, 3 * MOST_ROWS])
@pytest.mark.parametrize("criterion", ["gini", "accuracy", "gain_ratio", "chi2", "squared_error", "poisson"])
@pytest.mark.parametrize("min_samples_leaf", [1, 3])
@pytest.mark.parametrize("random_splits", [False, True])
def test_a_word_of_rows_changes_nothing(n_rows, criterion, min_samples_leaf, random_splits):
    """Values that repeat, so that tests tie; with and without a missing value, which the lane declines."""
    of_classes = criterion not in ("squared_error", "poisson")
    for seed in range(5):
        rng = np.random.default_rng([n_rows, seed])
        columns = [np.round(rng.normal(size=n_rows), digits) for digits in (0, 1, 4)]
        y = rng.integers(0, 3, n_rows) if of_classes else np.round(rng.exponential(size=n_rows), 1)
        for gap in (False, True):
            if gap:
                columns[1][seed % n_rows] = np.nan
            data = encode(columns)
            for weights in (None, rng.integers(1, 4, n_rows).astype(float)):
                options = {
                    "n_classes": 3 if of_classes else None,
                    "criterion": criterion,
                    "min_samples_leaf": min_samples_leaf,
                    "random_splits": random_splits,
                    "max_features": 2,
                    "key": seed,
                }
                node_by_node = grow(data, y, weights, subtree_rows=0, **options)
                assert same_bits(grow(data, y, weights, **options), node_by_node)


@pytest.mark.parametrize("n_rows", [MOST_ROWS, MOST_ROWS + 1])
def test_several_outputs_and_leaves_of_some_weight_change_nothing(n_rows):
    rng = np.random.default_rng(n_rows)
    data = encode([np.round(rng.normal(size=n_rows), 1) for _ in range(4)])
    weights = rng.random(n_rows) + 0.1
    classes, numbers = rng.integers(0, 3, (n_rows, 2)), rng.normal(size=(n_rows, 2))
    for y, n_classes in ((classes, 3), (numbers, None)):
        options = {"n_classes": n_classes, "min_weight_leaf": 1.5}
        node_by_node = grow(data, y, weights, subtree_rows=0, **options)
        assert same_bits(grow(data, y, weights, **options), node_by_node)
        assert not same_bits(grow(data, y, weights, n_classes=n_classes), node_by_node)  # the limit binds
