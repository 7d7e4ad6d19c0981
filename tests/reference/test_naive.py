"""The oracle itself is checked: worked numbers, scikit-learn's trees node by node, laws of growth."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reference.criteria import Criterion, branch_score, impurity
from reference.naive import grow, near_order, near_ties
from reference.naive_cases import (
    CLASS_CRITERIA,
    LARGEST,
    TINY,
    cases,
    grow_table,
    leaf_count,
    same_features,
    shape_of,
)
from reference.nodes import Rules
from reference.splits import branches_of, halfway
from reference.tables import Table
from reference.walks import (
    apply,
    children,
)


@pytest.mark.parametrize("criterion", [*CLASS_CRITERIA, "squared_error", "poisson"])
def test_score_differences_are_differences_of_weighted_impurity(criterion: Criterion) -> None:
    """The score drops constants of the node only, so it ranks splits as the impurity does."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 30) if criterion in CLASS_CRITERIA else rng.uniform(0.1, 5, 30)
    w = rng.uniform(0.5, 2, 30)

    def both(cut: int) -> tuple[float, float]:
        sides = [slice(0, cut), slice(cut, 30)]
        score = sum(branch_score(criterion, y[s], w[s]) for s in sides)
        return score, sum(w[s].sum() * impurity(criterion, y[s], w[s]) for s in sides)

    (score_a, cost_a), (score_b, cost_b) = both(7), both(19)
    assert score_a - score_b == pytest.approx(cost_b - cost_a)
    assert abs(score_a - score_b) > 1e-3


# Thresholds, missing values, categories -----------------------------------------------------------


@pytest.mark.parametrize(
    ("lo", "hi", "t"),
    [
        (1.0, 2.0, 1.5),
        (1e308, 1.5e308, 1.25e308),
        (-LARGEST, LARGEST, 0.0),
        (1.0, math.nextafter(1.0, 2.0), 1.0),
        (math.nextafter(1.0, 2.0), 1.0 + 2 * np.finfo(float).eps, math.nextafter(1.0, 2.0)),
        (0.0, TINY, 0.0),
        (TINY, 2 * TINY, TINY),
        (-TINY, 0.0, -TINY),
        (-math.inf, 3.0, -LARGEST),
        (-math.inf, -LARGEST, -math.inf),
        (3.0, math.inf, LARGEST),
        (LARGEST, math.inf, LARGEST),
        (-math.inf, math.inf, 0.0),
    ],
)
def test_halfway(lo: float, hi: float, t: float) -> None:
    assert halfway(lo, hi) == t
    assert lo <= t < hi


def test_missing_rows_take_the_learned_branch() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, np.nan, np.nan])
    for y, branch in (([0, 0, 1, 1, 0, 0], 0), ([0, 0, 1, 1, 1, 1], 1)):
        nodes = grow([x], np.array(y))
        assert len(nodes) == 3 and nodes[0].split is not None
        assert (nodes[0].split.threshold, nodes[0].split.missing_branch) == (2.5, branch)


def test_known_against_missing_can_be_the_split() -> None:
    nodes = grow([np.array([1.0, 2.0, np.inf, np.nan, np.nan])], np.array([0, 0, 0, 1, 1]))
    assert nodes[0].split is not None and len(nodes) == 3
    assert (nodes[0].split.threshold, nodes[0].split.missing_branch) == (math.inf, 1)


def test_equal_scores_prefer_missing_left_and_the_lower_threshold() -> None:
    # Missing left at 1.5 and missing right at 1.5 are both zero-gain here; so is every other candidate.
    nodes = grow([np.array([1.0, 1.0, 2.0, 2.0, np.nan, np.nan])], np.array([0, 1] * 3))
    assert nodes[0].split is not None
    assert (nodes[0].split.threshold, nodes[0].split.missing_branch) == (1.5, 0)


def test_without_missing_rows_the_heavier_branch_is_the_default() -> None:
    x, y = np.array([1.0, 2.0, 3.0]), np.array([0, 1, 1])
    for weights, branch in (([1, 1, 1], 1), ([2, 1, 1], 0), ([1, 0.25, 0.25], 0)):
        root = grow([x], y, np.array(weights))[0]
        assert root.split is not None and root.split.missing_branch == branch


def test_categories_are_ordered_by_share_and_unknown_ones_follow_missing() -> None:
    codes = np.array([0, 0, 1, 1, 1, 3, 3, 3, 3])
    y = np.array([1, 1, 0, 0, 0, 1, 0, 0, 0])
    root = grow([codes], y, rules=Rules(max_depth=1))[0]
    assert root.split is not None and root.split.branch_of_code == {0: 1, 1: 0, 3: 0}
    assert branches_of(root.split, np.array([0, 1, 2, 3, 9, -1])).tolist() == [1, 0, 0, 0, 0, 0]


def test_prefix_search_finds_the_best_of_all_subsets() -> None:
    """For two classes and for numbers a best group is a prefix of the order by mean (Breiman, Fisher)."""
    rng = np.random.default_rng(3)
    criteria: list[Criterion] = ["gini", "entropy", "squared_error", "poisson"]
    for criterion in criteria:
        for _ in range(10):
            codes, w = rng.integers(0, 5, 40), rng.uniform(0.5, 2, 40)
            y = rng.integers(0, 2, 40) if criterion in CLASS_CRITERIA else rng.uniform(0, 9, 40)
            root = grow([codes], y, w, rules=Rules(criterion=criterion, max_depth=1))[0]
            assert root.winner is not None
            shift = np.average(y, weights=w) if criterion == "squared_error" else 0.0
            scores = []
            for mask in range(1, 2**5 - 1):
                left = (mask >> codes & 1).astype(bool)
                scores.append(sum(branch_score(criterion, (y - shift)[s] if shift else y[s], w[s])
                                  for s in (left, ~left)))  # fmt: skip
            assert root.winner.score == pytest.approx(max(scores), rel=1e-12)


def test_many_classes_try_every_group_in_mask_order() -> None:
    codes, y = np.array([0, 2, 5, 0, 2, 5]), np.array([0, 1, 2, 0, 1, 2])
    root = grow([codes], y, rules=Rules(max_depth=1))[0]
    tried = [c.split.branch_of_code for c in root.candidates]
    assert tried == [{0: 0, 2: 1, 5: 1}, {0: 0, 2: 0, 5: 1}, {0: 0, 2: 1, 5: 0}]
    assert root.split is not None and root.split.branch_of_code == tried[0]
    with pytest.raises(NotImplementedError, match="more than 8 categories"):
        grow([np.arange(9)], np.arange(9) % 3)


@settings(max_examples=60, deadline=None)
@given(cases())
def test_a_grown_out_tree_separates_whatever_can_be_separated(case: tuple[Table, Criterion]) -> None:
    table, criterion = case
    nodes = grow_table(table, criterion=criterion)
    leaves = apply(nodes, table.columns)
    kept = np.ones(len(table.y)) if table.weights is None else table.weights
    for at, node in enumerate(nodes):
        rows = node.row_ids
        if node.split is None:
            assert set(rows) == set(np.flatnonzero((leaves == at) & (kept > 0)))
            pure = len(np.unique(table.y[rows])) == 1
            assert pure or same_features(table.columns, rows)
        else:
            left, right = (nodes[child] for child in children(nodes, at))
            assert node.first_child > at and left.depth == right.depth == node.depth + 1
            assert left.rows + right.rows == node.rows and min(left.rows, right.rows) >= 1
            assert node.decrease is not None and node.decrease >= 0
    assert sorted(c for at in range(len(nodes)) for c in children(nodes, at)) == list(range(1, len(nodes)))


@settings(max_examples=30, deadline=None)
@given(cases(), st.sampled_from(["depth", "level", "best"]))
def test_order_of_growth_does_not_matter_without_a_budget(case: tuple[Table, Criterion], order: str) -> None:
    table, criterion = case
    expected = grow_table(table, criterion=criterion)
    assert shape_of(grow_table(table, criterion=criterion, order=order)) == shape_of(expected)


@settings(max_examples=30, deadline=None)
@given(cases(), st.integers(1, 6), st.integers(1, 12))
def test_limits_are_kept(case: tuple[Table, Criterion], leaves: int, max_nodes: int) -> None:
    table, criterion = case
    nodes = grow_table(table, criterion=criterion, max_leaf_nodes=leaves, max_nodes=max_nodes)
    full = grow_table(table, criterion=criterion)
    assert leaf_count(nodes) == min(leaves, (max_nodes + 1) // 2, leaf_count(full))
    small = grow_table(table, criterion=criterion, min_samples_leaf=leaves, max_depth=3)
    assert all(n.rows >= min(leaves, small[0].rows) and n.depth <= 3 for n in small)


@settings(max_examples=30, deadline=None)
@given(cases(weights=["with_zeros"]))
def test_zero_weight_equals_dropped_and_integer_weight_equals_repeated(case: tuple[Table, Criterion]) -> None:
    table, criterion = case
    assert table.weights is not None
    times = table.weights.astype(int)
    nodes = grow_table(table, criterion=criterion)
    kept = times > 0
    dropped = Table([c[kept] for c in table.columns], table.y[kept], table.weights[kept], table.n_classes)
    assert shape_of(grow_table(dropped, criterion=criterion)) == shape_of(nodes)
    repeated = Table(
        [np.repeat(c, times) for c in table.columns], np.repeat(table.y, times), None, table.n_classes
    )
    again = grow_table(repeated, criterion=criterion)
    if not any(near_ties(n) for n in nodes):  # pure leaves and ties may see other roundings of the mean
        assert [(n.split, n.weight) for n in again] == [(n.split, n.weight) for n in nodes]


@settings(max_examples=30, deadline=None)
@given(cases(), st.integers(-20, 20))
def test_scaling_weights_by_a_power_of_two_changes_nothing(
    case: tuple[Table, Criterion], exponent: int
) -> None:
    table, criterion = case
    nodes = grow_table(table, criterion=criterion)
    weights = (np.ones(len(table.y)) if table.weights is None else table.weights) * 2.0**exponent
    scaled = grow_table(Table(table.columns, table.y, weights, table.n_classes), criterion=criterion)
    # The logarithms of scaled weights round differently, so a near tie may go the other way.
    if criterion in ("gini", "accuracy", "squared_error") or not any(near_ties(n) for n in nodes):
        assert [(n.split, n.rows, n.impurity) for n in scaled] == [
            (n.split, n.rows, n.impurity) for n in nodes
        ]


def test_near_ties_sees_other_partitions_only() -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    y = np.array([0, 0, 1, 1, 1])
    assert not near_ties(grow([x, -x], y)[0])  # the mirror image makes the same partition
    xor = grow([np.array([0.0, 0, 1, 1]), np.array([0.0, 1, 0, 1])], np.array([0, 1, 1, 0]))
    assert near_ties(xor[0])
    assert not near_ties(xor[0], trust_ties=True)
    close = grow([x[:3]], np.array([-1.0, 0.0, 1.0 + 1e-10]), rules=Rules(criterion="squared_error"))
    assert near_ties(close[0]) and near_ties(close[0], trust_ties=True)
    assert not near_ties(close[0], slack=1e-12)


def test_near_ties_sees_categories_whose_order_is_in_doubt() -> None:
    codes = np.array([0, 0, 1, 1, 2, 2])
    y = np.array([0.1, 0.3, 0.2, 0.2, 0.15, 0.25])  # three equal means, up to rounding
    assert near_ties(grow([codes], y, rules=Rules(criterion="squared_error"))[0])


def test_near_order_sees_equally_good_nodes() -> None:
    columns = [np.array([0.0, 0, 1, 1]), np.array([0.0, 1, 0, 1])]
    nodes = grow(columns, np.array([0, 1, 1, 0]), rules=Rules(max_leaf_nodes=3))
    assert [n.first_child for n in nodes] == [1, 3, -1, -1, -1]  # the left one was created first
    assert near_order(nodes[1]) and not near_order(nodes[0])
