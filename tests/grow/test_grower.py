"""The engine against the oracle, on thousands of small adversarial tables."""

import math
from fractions import Fraction

import numpy as np
import pytest
from core.cases import CRITERIA, GROWTH, READ_WEIGHTS_AS_COUNTS, cases, grow_with
from core.comparing import compare
from core.growing import encode, grow, n_categories, same_bits
from core.lane_tables import kinds_of_weights, least_branches, of_more_classes, weights_of, wide_tables
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import naive
from reference.nodes import Rules
from reference.tables import Table

from hornbeam import _core
from hornbeam.model import TREE_ARRAYS


@settings(max_examples=1000)
@given(cases())
def test_the_engine_grows_the_oracles_tree(case):
    table, rules = case
    nodes = naive.grow(table.columns, table.y, table.weights, n_classes=table.n_classes, rules=rules)
    compare(grow_with(table, rules), nodes, table, rules)


def test_branches_that_weigh_the_same_but_for_rounding():
    """By the doubles' own values 0.2 + 1.1 is more than 1.3; rounded, it is the same."""
    weights = np.array([1.3, 0.2, 1.1])
    assert Fraction(0.2) + Fraction(1.1) > Fraction(1.3)
    assert math.fsum(weights[1:]) == weights[0]
    table = Table([np.array([0.0, 1.0, 1.0])], np.array([2, 1, 0]), weights, 3)
    for criterion in CRITERIA["classes"]:
        rules = Rules(criterion=criterion, max_depth=1)
        nodes = naive.grow(table.columns, table.y, table.weights, n_classes=3, rules=rules)
        tree = grow_with(table, rules)
        compare(tree, nodes, table, rules)
        assert tree.missing_branch[0] == 1


@settings(max_examples=300)
@given(cases(weights=["none", "integers"], missing=False))
def test_whole_number_weights_are_like_repeated_rows(case):
    table, rules = case
    if rules.min_samples_leaf > 1 or rules.min_samples_split > 2 or table.weights is None:
        return
    times = table.weights.astype(int)
    repeated = Table(
        [np.repeat(c, times) for c in table.columns], np.repeat(table.y, times), None, table.n_classes
    )
    a, b = grow_with(table, rules), grow_with(repeated, rules)
    nodes = naive.grow(table.columns, table.y, table.weights, n_classes=table.n_classes, rules=rules)
    if any(naive.near_ties(n, trust_ties=table.n_classes is not None) for n in nodes) or any(
        naive.near_order(n) for n in nodes
    ):
        return
    assert same_bits(a, b, ("first_child", "feature", "threshold", "category_words"))


@settings(max_examples=200)
@given(cases(), st.integers(-40, 40))
def test_weights_times_a_power_of_two_change_nothing(case, exponent):
    table, rules = case
    if rules.min_weight_leaf > 0 or rules.criterion in READ_WEIGHTS_AS_COUNTS:
        return
    if rules.categorical_split == "merge":
        return  # p-values read weights as numbers of rows
    weights = np.ones(len(table.y)) if table.weights is None else table.weights
    a = grow_with(Table(table.columns, table.y, weights, table.n_classes), rules)
    b = grow_with(Table(table.columns, table.y, np.ldexp(weights, exponent), table.n_classes), rules)
    fields = ("first_child", "feature", "threshold", "category_words", "impurity", "value", "missing_branch")
    assert same_bits(a, b, fields)
    assert (np.ldexp(a.weighted_n_node_samples, exponent) == b.weighted_n_node_samples).all()


@settings(max_examples=200)
@given(cases(), st.data())
def test_a_view_of_rows_is_like_a_copy_of_them(case, data):
    table, rules = case
    n = len(table.y)
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1), min_size=1))))
    weights = None if table.weights is None else table.weights + 0.5
    if rules.criterion == "poisson" and not table.y[rows].any():
        return
    common = {
        "n_classes": table.n_classes,
        "criterion": rules.criterion,
        "growth": GROWTH[rules.order],
        "categorical_split": rules.categorical_split,
    }
    view = grow(encode(table.columns), table.y, weights, rows=rows, **common)
    # The copy keeps the category tables of the whole: codes must mean the same.
    columns = [c[rows] for c in table.columns]
    parts = encode_with_categories(columns, table.columns)
    copy = grow(
        parts, table.y[rows], None if weights is None else weights[rows], rows=np.arange(len(rows)), **common
    )
    assert same_bits(view, copy)


def encode_with_categories(columns, originals):
    parts = [
        (c.astype(np.int32), n_categories(o)) if np.issubdtype(c.dtype, np.integer) else (c,)
        for c, o in zip(columns, originals, strict=True)
    ]
    return _core.encode_table(len(columns[0]), parts, 0, 1)


@settings(max_examples=200)
@given(cases(weights=["none"]), st.data())
def test_multiplicities_are_like_weights(case, data):
    table, rules = case
    times = np.array(data.draw(st.lists(st.integers(1, 6), min_size=len(table.y), max_size=len(table.y))))
    common = {
        "n_classes": table.n_classes,
        "criterion": rules.criterion,
        "min_samples_leaf": rules.min_samples_leaf,
        "categorical_split": rules.categorical_split,
    }
    drawn = grow(table.columns, table.y, multiplicity=times, **common)
    weighted = grow(table.columns, table.y, times.astype(float), **common)
    nodes = naive.grow(
        table.columns,
        table.y,
        times.astype(float),
        n_classes=table.n_classes,
        rules=Rules(
            criterion=rules.criterion,
            min_samples_leaf=rules.min_samples_leaf,
            categorical_split=rules.categorical_split,
        ),
    )
    if any(naive.near_ties(n) for n in nodes):
        return
    assert same_bits(
        drawn, weighted, ("first_child", "feature", "threshold", "category_words", "n_node_samples")
    )


@settings(max_examples=100)
@given(wide_tables(), st.integers(0, 2**64 - 1), kinds_of_weights, st.booleans(), least_branches)
def test_a_class_without_rows_changes_no_tree_of_weighted_rows(table, key, kind, random_splits, limits):
    """Two classes have cells of their own; with a third one, which no row has, those of more are used."""
    columns, y, times, max_features = table
    data = encode(columns)
    weights = weights_of(np.random.default_rng(key), y, kind)
    options = {"multiplicity": times, "max_features": max_features, "key": key, **limits}
    two, three = (grow(data, y, weights, n_classes=n, random_splits=random_splits, **options) for n in (2, 3))
    assert same_bits(two, three, tuple(name for name in TREE_ARRAYS if name != "value"))
    assert np.array_equal(np.array(two.value), np.array(three.value)[..., :2])


@settings(max_examples=100)
@given(wide_tables(), st.integers(0, 2**64 - 1), st.sampled_from([2, 3, 7, 17]))
def test_weights_of_classes_are_added_up_like_portions_of_rows(table, key, n_classes):
    """A column that tells nothing but lacks a value makes a fit in portions use the general cells."""
    columns, y, _, _ = table
    rng = np.random.default_rng(key)
    many = of_more_classes(rng, y, n_classes)
    weights = rng.integers(1, 50, len(y)).astype(float)
    lacking = np.zeros(len(y))
    lacking[0] = np.nan
    whole = grow(columns, many, weights, n_classes=n_classes)
    portions = grow([*columns, lacking], many, weights, n_classes=n_classes, missing="fractional")
    assert same_bits(whole, portions)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_leaf_sizes_count_rows_and_not_how_often_they_were_drawn(criterion, n_classes):
    """Every leaf has at least so many rows, each once; drawing rows twice is weighing them twice."""
    rng = np.random.default_rng(5)
    n = 1200
    columns = list(np.round(rng.normal(size=(6, n)), 1))
    y = np.digitize(columns[0] + columns[1] + rng.normal(size=n), np.linspace(-1, 1, n_classes - 1))
    times = 1 + rng.poisson(0.6, size=n)
    options = {
        "n_classes": n_classes,
        "criterion": criterion,
        "min_samples_leaf": 7,
        "max_features": 2,
        "key": 3,
    }
    drawn = grow(columns, y, multiplicity=times, **options)
    leaves = drawn.first_child < 0
    assert drawn.n_node_samples[leaves].min() >= 7
    weighed = grow(columns, y, times.astype(float), **options)
    assert np.array_equal(drawn.feature, weighed.feature)
    assert np.array_equal(drawn.threshold, weighed.threshold, equal_nan=True)
    assert np.array_equal(drawn.n_node_samples, weighed.n_node_samples)


@pytest.mark.parametrize("seed", range(6))
def test_poisson_scores_all_that_can_win(seed):
    """Where a feature has many values, only tests that a bound leaves in the race are scored exactly."""
    rng = np.random.default_rng(seed)
    n, scale = 150, (0.1, 1.0, 3.0)[seed % 3]  # from faint to strong signals
    columns = [rng.normal(size=n), rng.integers(0, 40, n).astype(float), rng.random(n).round(2)]
    y = rng.poisson(np.exp(scale * columns[0])).astype(float)
    y[0] = 1.0
    table = Table(columns, y, rng.integers(1, 4, n).astype(float) if seed % 2 else None, None)
    rules = Rules(criterion="poisson", max_depth=3)
    nodes = naive.grow(table.columns, table.y, table.weights, rules=rules)
    assert len(nodes) > 7
    compare(grow_with(table, rules), nodes, table, rules)
