"""Both lanes of random tests change no tree, whatever rows add up to."""

import numpy as np
import pytest
from core.growing import encode, grow, same_bits
from core.lane_tables import least_branches, narrow_tables
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=300)
@given(
    narrow_tables(),
    st.sampled_from([2, 3, 4, 8, 9, 33, 40, 64, 65, None]),
    st.sampled_from([False, False, True]),
    st.sampled_from(["each row once", "rows drawn again", "weights"]),
    st.integers(0, 2**64 - 1),
    st.sampled_from([20, 65536]),
    st.sampled_from([0, 2, 4]),
    st.sampled_from([0.0, 0.01]),
    least_branches,
)
def test_random_tests_of_all_kinds_of_rows_change_nothing(
    table, n_classes, other_criterion, how_often, key, subtree_rows, max_depth, min_impurity_decrease, limits
):
    """Classes that fit one word, several, or none; numbers; 32 and 64 bits; constants; weights of 0."""
    columns, _, _, max_features = table
    n = len(columns[0])
    rng = np.random.default_rng(key)
    y = rng.integers(0, n_classes, n) if n_classes else np.round(rng.exponential(size=n), 1)
    criteria = ("gini", "entropy") if n_classes else ("squared_error", "poisson")
    options = {
        "n_classes": n_classes,
        "criterion": criteria[other_criterion],
        "random_splits": True,
        "max_features": max_features,
        "max_depth": max_depth,
        "min_impurity_decrease": min_impurity_decrease,
        "key": key,
        **limits,
    }
    if how_often == "rows drawn again":
        options["multiplicity"] = 1 + rng.poisson(0.6, size=n)
    weights = rng.choice([0.0, 0.5, 1.0, 3.25], n) if how_often == "weights" else None
    if weights is not None:
        weights[0] = 1.0
    wide = [columns[0] * np.float64(1.1), *columns[1:]] if key % 4 == 0 else columns
    data = encode(wide)
    node_by_node = grow(data, y, weights, subtree_rows=0, **options)
    assert same_bits(grow(data, y, weights, subtree_rows=subtree_rows, **options), node_by_node)
    assert same_bits(grow(data, y, weights, grows_blocks=False, **options), node_by_node)


@pytest.mark.parametrize("how_often", ["each row once", "rows drawn again", "weights"])
@pytest.mark.parametrize("other_criterion", [False, True])
@pytest.mark.parametrize(("n_classes", "max_features"), [(2, 4), (7, 4), (40, 12), (None, 4), (None, 12)])
def test_random_tests_of_many_rows_change_nothing(n_classes, max_features, other_criterion, how_often):
    """More rows than a block holds and than one sum of counts has room for; rows drawn 255 times."""
    rng = np.random.default_rng(21)
    n = 30_000
    numbers = rng.normal(size=(n, 12)).astype(np.float32)
    numbers[:, 1] = np.round(numbers[:, 1])
    numbers[:, 2] = 0
    signal = numbers[:, 0] * numbers[:, 1] + rng.normal(size=n)
    y = np.digitize(signal, np.linspace(-1, 1, n_classes - 1)) if n_classes else np.round(np.exp(signal))
    criteria = ("gini", "entropy") if n_classes else ("squared_error", "poisson")
    options = {
        "n_classes": n_classes,
        "criterion": criteria[other_criterion],
        "random_splits": True,
        "max_features": max_features,
        "max_depth": 12,
        "key": 7,
    }
    if how_often == "rows drawn again":
        options["multiplicity"] = np.where(rng.random(n) < 0.5, 255, 1)
    weights = rng.gamma(2.0, size=n) if how_often == "weights" else None
    data = encode(list(numbers.T))
    node_by_node = grow(data, y, weights, subtree_rows=0, **options)
    assert same_bits(grow(data, y, weights, **options), node_by_node)
    assert same_bits(grow(data, y, weights, n_threads=2, **options), node_by_node)
