"""A limit on leaves or nodes that is kept by cutting a complete tree gives the tree that grows best-first."""

from dataclasses import replace

import numpy as np
import pytest
from core.cases import cases, grow_with
from core.growing import encode, grow, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st


@settings(max_examples=300)
@given(cases(), st.integers(2, 9), st.sampled_from(["max_leaf_nodes", "max_nodes"]), st.booleans())
def test_a_complete_tree_is_cut_to_what_grows_best_first(case, limit, which, random_splits):
    table, rules = case
    limited = replace(rules, **{"max_leaf_nodes": None, "max_nodes": None, which: limit})
    cut, grown = (
        grow_with(table, replace(limited, order=order), random_splits=random_splits, key=limit)
        for order in ("depth", "best")
    )
    assert same_bits(cut, grown)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
@pytest.mark.parametrize("random_splits", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_large_trees_are_cut_to_what_grows_best_first(criterion, random_splits, weighted):
    """Gains in the thousands, of which many are equal; on one thread and two."""
    rng = np.random.default_rng(17)
    n = 12_000
    numbers = np.round(rng.normal(size=(n, 6)), 1)
    signal = numbers[:, 0] * numbers[:, 1] + rng.normal(size=n)
    is_class = criterion != "squared_error"
    y = np.digitize(signal, [-1, 0, 1]) if is_class else np.round(signal, 1)
    weights = rng.gamma(2.0, size=n) if weighted else None
    data = encode(list(numbers.T.astype(np.float32)))
    options = {
        "n_classes": 4 if is_class else None,
        "criterion": criterion,
        "random_splits": random_splits,
        "max_features": 2,
        "key": 3,
    }
    for limit in ({"max_leaf_nodes": 1000}, {"max_nodes": 1600}, {"max_leaf_nodes": 10**6}):
        grown = grow(data, y, weights, growth="best_first", **limit, **options)
        assert same_bits(grow(data, y, weights, **limit, **options), grown)
        assert same_bits(grow(data, y, weights, n_threads=2, **limit, **options), grown)
