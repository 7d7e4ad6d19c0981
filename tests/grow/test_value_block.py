"""The lane of blocks of values changes no tree of random tests."""

import numpy as np
import pytest
from core.growing import encode, grow, same_bits
from core.lane_tables import blocks_change_nothing, least_branches, narrow_tables
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=300)
@given(
    narrow_tables(),
    st.integers(0, 2**64 - 1),
    st.sampled_from(["gini", "entropy"]),
    st.sampled_from([20, 65536]),
    st.sampled_from([0, 2, 4]),
    st.sampled_from([2, 6]),
    st.sampled_from([0.0, 0.01]),
    least_branches,
)
def test_growing_blocks_changes_nothing(
    table, key, criterion, subtree_rows, max_depth, min_samples_split, min_impurity_decrease, limits
):
    columns, y, weights, max_features = table
    data = encode(columns)

    assert blocks_change_nothing(
        data,
        y,
        weights,
        criterion=criterion,
        random_splits=True,
        max_features=max_features,
        max_depth=max_depth,
        min_samples_split=min_samples_split,
        min_impurity_decrease=min_impurity_decrease,
        key=key,
        subtree_rows=subtree_rows,
        **limits,
    )


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize(
    ("n", "n_features", "max_features"), [(70_000, 5, 4), (20_000, 70, 6), (20_000, 40, 4)]
)
def test_growing_blocks_of_many_rows_changes_nothing(n, n_features, max_features, criterion):
    """More rows than a block holds, and more than its counts of a stretch of them."""
    rng = np.random.default_rng(12)
    numbers = rng.normal(size=(n, n_features)).astype(np.float32)
    numbers[:, 1] = np.round(numbers[:, 1], 1)
    y = (numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=n) > 0).astype(int)
    numbers[:, 3 : n_features // 2] = 0  # a node may draw nothing else at first
    data = encode(list(numbers.T))

    def grown(**more: object):
        return grow(
            data,
            y,
            n_classes=2,
            criterion=criterion,
            random_splits=True,
            max_features=max_features,
            key=7,
            **more,
        )

    row_by_row = grown(grows_blocks=False)
    assert same_bits(grown(), row_by_row)
    assert same_bits(grown(n_threads=2), row_by_row)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("n", [2, 3, 15, 16, 17])
def test_growing_blocks_of_few_rows_changes_nothing(n, criterion):
    """Fewer rows than a block has lanes, as many, and more; the sanitizer sees what is read beyond them."""
    rng = np.random.default_rng(n)
    columns = list(rng.normal(size=(3, n)).astype(np.float32))
    y = np.arange(n) % 2
    options = {"criterion": criterion, "random_splits": True, "max_features": 2, "key": 5}
    assert blocks_change_nothing(encode(columns), y, None, **options)
