"""The lane of blocks of ranks changes no tree: two classes, weights, more classes, both, numbers."""

import numpy as np
import pytest
from core.growing import encode, grow, same_bits
from core.lane_tables import (
    blocks_change_nothing,
    kinds_of_weights,
    least_branches,
    of_more_classes,
    weights_of,
    wide_tables,
)
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=200)
@given(
    wide_tables(),
    st.integers(0, 2**64 - 1),
    st.sampled_from(["gini", "entropy"]),
    st.sampled_from([1, 3, 127, 128, 255]),
    st.sampled_from([100, 65536]),
    st.sampled_from([0, 4]),
    st.sampled_from([2, 6]),
    st.sampled_from([0.0, 0.01]),
    least_branches,
)
def test_growing_blocks_of_ranks_changes_nothing(
    table,
    key,
    criterion,
    most_times,
    subtree_rows,
    max_depth,
    min_samples_split,
    min_impurity_decrease,
    limits,
):
    """Blocks hold rows that are drawn up to 127 times, and nodes of a limited weight."""
    columns, y, times, max_features = table
    data = encode(columns)
    if times is not None:
        times = np.minimum(times ** (7 if most_times > 3 else 1), most_times)
    weights = None if key % 2 else np.full(len(y), 0.3)

    assert blocks_change_nothing(
        data,
        y,
        weights,
        criterion=criterion,
        multiplicity=times,
        max_features=max_features,
        max_depth=max_depth,
        min_samples_split=min_samples_split,
        min_impurity_decrease=min_impurity_decrease,
        key=key,
        subtree_rows=subtree_rows,
        **limits,
    )


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("digits", [1, 3, 9])
def test_growing_blocks_of_ranks_in_a_large_table_changes_nothing(digits, criterion):
    """More rows than a block holds; values that repeat a lot, here and there, or never."""
    rng = np.random.default_rng(13)
    n = 30_000
    numbers = np.round(rng.normal(size=(n, 12)), digits)
    y = (numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=n) > 0).astype(int)
    data = encode(list(numbers.T))
    times = 1 + rng.poisson(0.6, size=n)

    def grown(**more: object):
        return grow(
            data, y, n_classes=2, criterion=criterion, multiplicity=times, max_features=3, key=7, **more
        )

    for limits in ({}, {"min_samples_leaf": 5}):
        node_by_node = grown(grows_blocks=False, searches_groups=False, **limits)
        assert same_bits(grown(**limits), node_by_node)
        assert same_bits(grown(n_threads=2, **limits), node_by_node)


@pytest.mark.parametrize("apart", [2.0**k for k in (5, 6, 10, 15, 19)] + [2.0**20 - 1, 2.0**20, 2.0**20 + 1])
@pytest.mark.parametrize("n", [3_000, 30_000])
def test_growing_blocks_of_classes_that_weigh_far_apart_changes_nothing(n, apart):
    """What ties, in units of rough scores, is more than any of them from some ratio of the weights on."""
    rng = np.random.default_rng(11)
    numbers = np.round(rng.normal(size=(n, 5)), 2)
    y = (numbers[:, 0] + rng.normal(size=n) > 0).astype(int)
    times = 1 + rng.poisson(0.3, size=n)
    for weights in (np.where(y == 1, apart, 1.0), np.where(y == 1, 1.0, apart)):
        assert blocks_change_nothing(
            encode(list(numbers.T)), y, weights, multiplicity=times, max_features=2, key=3
        )


@settings(max_examples=150)
@given(
    wide_tables(),
    st.integers(0, 2**64 - 1),
    kinds_of_weights,
    st.sampled_from(["gini", "entropy"]),
    st.sampled_from([100, 65536]),
    st.sampled_from([0, 1, 4]),
    st.sampled_from([2, 6]),
    st.sampled_from([0.0, 0.01]),
    least_branches,
)
def test_growing_blocks_of_weighted_ranks_changes_nothing(
    table, key, kind, criterion, subtree_rows, max_depth, min_samples_split, min_impurity_decrease, limits
):
    """Weights of one size per class, which are counted unless a row is drawn too often, and of any sizes."""
    columns, y, times, max_features = table
    rng = np.random.default_rng(key)
    if key % 5 == 0:
        times = np.where(rng.random(len(y)) < 0.02, rng.choice([127, 128]), 1)
    assert blocks_change_nothing(
        encode(columns),
        y,
        weights_of(rng, y, kind),
        criterion=criterion,
        multiplicity=times,
        max_features=max_features,
        max_depth=max_depth,
        min_samples_split=min_samples_split,
        min_impurity_decrease=min_impurity_decrease,
        key=key,
        subtree_rows=subtree_rows,
        **limits,
    )


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize("digits", [1, 9])
@pytest.mark.parametrize("kind", ["any", "by class"])
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 5, "min_weight_leaf": 8.0}])
def test_growing_blocks_of_weighted_ranks_in_a_large_table_changes_nothing(digits, limits, kind, criterion):
    """More rows than a block holds, on one thread and two."""
    rng = np.random.default_rng(13)
    n = 20_000
    numbers = np.round(rng.normal(size=(n, 12)), digits)
    y = (numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=n) > 0).astype(int)
    data = encode(list(numbers.T))
    weights = weights_of(rng, y, kind)
    times = 1 + rng.poisson(0.6, size=n)
    options = {"criterion": criterion, "multiplicity": times, "max_features": 3, "key": 7, **limits}

    node_by_node = grow(data, y, weights, n_classes=2, grows_blocks=False, **options)
    assert same_bits(grow(data, y, weights, n_classes=2, **options), node_by_node)
    assert same_bits(grow(data, y, weights, n_classes=2, n_threads=2, **options), node_by_node)


@settings(max_examples=200)
@given(
    wide_tables(),
    st.integers(0, 2**64 - 1),
    st.sampled_from([3, 7, 16, 17, 40, 64, 65]),
    st.sampled_from([100, 65536]),
    st.sampled_from([0, 1, 4]),
    st.sampled_from([2, 6]),
    st.sampled_from([0.0, 0.01]),
    least_branches,
)
def test_growing_blocks_of_ranks_of_more_classes_changes_nothing(
    table, key, n_classes, subtree_rows, max_depth, min_samples_split, min_impurity_decrease, limits
):
    """Classes that fit a register and more; rows drawn up to 255 times; 65 classes are left to others."""
    columns, y, times, max_features = table
    rng = np.random.default_rng(key)
    many = of_more_classes(rng, y, n_classes)
    if key % 5 == 0:
        times = np.where(rng.random(len(y)) < 0.02, 255, 1)
    options = {
        "n_classes": n_classes,
        "multiplicity": times,
        "max_features": max_features,
        "max_depth": max_depth,
        "min_samples_split": min_samples_split,
        "min_impurity_decrease": min_impurity_decrease,
        "key": key,
        "subtree_rows": subtree_rows,
        **limits,
    }
    data = encode(columns)
    assert same_bits(grow(data, many, **options), grow(data, many, grows_blocks=False, **options))


@pytest.mark.parametrize("digits", [1, 9])
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 5, "min_weight_leaf": 8.0}])
@pytest.mark.parametrize(("n_classes", "max_features"), [(7, 3), (40, 12)])
def test_growing_blocks_of_ranks_of_more_classes_in_a_large_table_changes_nothing(
    digits, limits, n_classes, max_features
):
    """More rows than a block holds, on one thread and two."""
    rng = np.random.default_rng(13)
    n = 20_000
    numbers = np.round(rng.normal(size=(n, 12)), digits)
    signal = numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=n)
    y = np.digitize(signal, np.linspace(-2, 2, n_classes - 1))
    data = encode(list(numbers.T))
    options = {
        "n_classes": n_classes,
        "multiplicity": 1 + rng.poisson(0.6, size=n),
        "max_features": max_features,
        "key": 7,
        **limits,
    }

    node_by_node = grow(data, y, subtree_rows=0, **options)
    assert same_bits(grow(data, y, **options), node_by_node)
    assert same_bits(grow(data, y, n_threads=2, **options), node_by_node)


@settings(max_examples=200)
@given(
    wide_tables(),
    st.integers(0, 2**64 - 1),
    st.sampled_from([3, 7, 16, 40, 64, 65]),
    kinds_of_weights,
    st.sampled_from(["gini", "entropy"]),
    st.sampled_from([100, 65536]),
    st.sampled_from([0, 1, 4]),
    st.sampled_from([2, 6]),
    st.sampled_from([0.0, 0.01]),
    least_branches,
)
def test_growing_blocks_of_weighted_ranks_of_more_classes_changes_nothing(
    table,
    key,
    n_classes,
    kind,
    criterion,
    subtree_rows,
    max_depth,
    min_samples_split,
    min_impurity_decrease,
    limits,
):
    """Nodes that have all classes and nodes that lack some; 65 classes are left to others."""
    columns, y, times, max_features = table
    rng = np.random.default_rng(key)
    many = of_more_classes(rng, y, n_classes)
    options = {
        "n_classes": n_classes,
        "criterion": criterion,
        "multiplicity": times,
        "max_features": max_features,
        "max_depth": max_depth,
        "min_samples_split": min_samples_split,
        "min_impurity_decrease": min_impurity_decrease,
        "key": key,
        "subtree_rows": subtree_rows,
        **limits,
    }
    data, weights = encode(columns), weights_of(rng, many, kind)
    node_by_node = grow(data, many, weights, grows_blocks=False, **options)
    assert same_bits(grow(data, many, weights, **options), node_by_node)


@pytest.mark.parametrize("digits", [1, 9])
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 5, "min_weight_leaf": 8.0}])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
@pytest.mark.parametrize(("n_classes", "max_features", "kind"), [(7, 3, "any"), (40, 12, "by class")])
def test_growing_blocks_of_weighted_ranks_of_more_classes_in_a_large_table_changes_nothing(
    digits, limits, n_classes, max_features, kind, criterion
):
    """More rows than a block holds, on one thread and two."""
    rng = np.random.default_rng(13)
    n = 20_000
    numbers = np.round(rng.normal(size=(n, 12)), digits)
    signal = numbers[:, 0] * numbers[:, 1] + numbers[:, 2] + rng.normal(size=n)
    y = np.digitize(signal, np.linspace(-2, 2, n_classes - 1))
    data, weights = encode(list(numbers.T)), weights_of(rng, y, kind)
    options = {
        "n_classes": n_classes,
        "criterion": criterion,
        "multiplicity": 1 + rng.poisson(0.6, size=n),
        "max_features": max_features,
        "key": 7,
        **limits,
    }

    node_by_node = grow(data, y, weights, subtree_rows=0, **options)
    assert same_bits(grow(data, y, weights, **options), node_by_node)
    assert same_bits(grow(data, y, weights, n_threads=2, **options), node_by_node)


@settings(max_examples=200)
@given(
    wide_tables(),
    st.integers(0, 2**64 - 1),
    st.sampled_from(["no weights", "zeros", "any", "far apart"]),
    st.sampled_from([0, 1, 9]),
    st.booleans(),
    st.sampled_from([100, 65536]),
    st.sampled_from([0, 1, 4]),
    st.sampled_from([0.0, 0.01]),
    least_branches,
)
def test_growing_blocks_of_ranks_of_numbers_changes_nothing(
    table, key, kind, digits, tries_all, subtree_rows, max_depth, min_impurity_decrease, limits
):
    """Numbers with ties and without, weights of all kinds, some features tried or all."""
    columns, y, times, max_features = table
    rng = np.random.default_rng(key)
    numbers = np.round(y + columns[0] + rng.exponential(size=len(y)), digits)
    weights = None if kind == "no weights" else weights_of(rng, y, kind)
    if kind == "zeros":
        weights = np.where(rng.random(len(y)) < 0.3, 0.0, weights)
        weights[0] = 1.0
        times = None
    options = {
        "multiplicity": times,
        "max_features": len(columns) if tries_all else max_features,
        "max_depth": max_depth,
        "min_impurity_decrease": min_impurity_decrease,
        "key": key,
        "subtree_rows": subtree_rows,
        **limits,
    }
    data = encode(columns)
    node_by_node = grow(data, numbers, weights, grows_blocks=False, **options)
    assert same_bits(grow(data, numbers, weights, **options), node_by_node)


@pytest.mark.parametrize("max_features", [3, 12])
@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 5, "min_weight_leaf": 8.0}])
def test_growing_blocks_of_ranks_of_numbers_in_a_large_table_changes_nothing(max_features, limits):
    """More rows than a block holds, on one thread and two."""
    rng = np.random.default_rng(13)
    n = 20_000
    numbers = np.round(rng.normal(size=(n, 12)), 3)
    y = rng.poisson(np.exp(numbers[:, 0] * numbers[:, 1] * 0.3)) + numbers[:, 2].round()
    data = encode(list(numbers.T))
    options = {"multiplicity": 1 + rng.poisson(0.6, size=n), "max_features": max_features, "key": 7, **limits}

    node_by_node = grow(data, y, subtree_rows=0, **options)
    assert same_bits(grow(data, y, **options), node_by_node)
    assert same_bits(grow(data, y, n_threads=2, **options), node_by_node)
