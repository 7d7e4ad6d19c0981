"""What becomes of rows that lack a test's feature: each policy against the oracle, on small tables."""

import numpy as np
import pytest
from core.cases import cases, grow_with
from core.comparing import compare
from core.growing import grow, same_bits
from hypothesis import given, settings
from reference import naive
from reference.nodes import Rules
from reference.tables import Table


@settings(max_examples=400)
@given(cases(policy="majority"))
def test_majority_grows_the_oracles_tree(case):
    table, rules = case
    nodes = naive.grow(table.columns, table.y, table.weights, n_classes=table.n_classes, rules=rules)
    compare(grow_with(table, rules), nodes, table, rules)


@settings(max_examples=100)
@given(cases(policy="majority"))
def test_majority_does_not_depend_on_how_rows_are_kept(case):
    table, rules = case
    assert same_bits(grow_with(table, rules), grow_with(table, rules, subtree_rows=0))


# Sums of these weights are exact, so that agreements are equal or they are not.
EXACT = ["none", "integers", "with_zeros", "powers_of_two"]


@settings(max_examples=400)
@given(cases(policy="surrogate", weights=EXACT))
def test_surrogate_grows_the_oracles_tree(case):
    table, rules = case
    nodes = naive.grow(table.columns, table.y, table.weights, n_classes=table.n_classes, rules=rules)
    compare(grow_with(table, rules), nodes, table, rules)


@settings(max_examples=100)
@given(cases(policy="surrogate"))
def test_surrogates_do_not_depend_on_how_rows_are_kept(case):
    table, rules = case
    assert same_bits(grow_with(table, rules), grow_with(table, rules, subtree_rows=0))


@settings(max_examples=300)
@given(cases(policy="fractional", weights=EXACT, max_rows=20))
def test_fractional_grows_the_oracles_tree(case):
    table, rules = case
    nodes = naive.grow(table.columns, table.y, table.weights, n_classes=table.n_classes, rules=rules)
    compare(grow_with(table, rules), nodes, table, rules)


@pytest.mark.parametrize("criterion", ["squared_error", "poisson"])
@pytest.mark.parametrize("scale", [1.0, 1000.0])
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_bounds_of_constraints_are_compared_with_what_branches_of_parts_predict(criterion, scale, shift):
    """Above 0.25 rows have 5, so below nothing may predict more than the middle: 2 alone at 0 would."""
    gap = np.nan
    x = np.array([0.5, gap, gap, -1, -1, -1, gap, -1, gap, -1, -1, gap, gap, gap, gap, gap, gap, -1, 0])
    y = np.array([5.0] + [0.0] * 17 + [2.0])
    y = np.where(y > 0, y, 0.25) if criterion == "poisson" else y
    table = Table([x], scale * y + shift, np.array([3.0] + [1.0] * 18), None)
    rules = Rules(criterion=criterion, monotonic_cst=[1], missing="fractional")
    nodes = naive.grow(table.columns, table.y, table.weights, n_classes=None, rules=rules)
    assert nodes[1].split is None
    compare(grow_with(table, rules), nodes, table, rules)


@settings(max_examples=200)
@given(cases(policy="available"))
def test_available_grows_the_oracles_tree(case):
    table, rules = case
    nodes = naive.grow(table.columns, table.y, table.weights, n_classes=table.n_classes, rules=rules)
    tree = grow_with(table, rules)
    assert tree.gaps == "available"
    compare(tree, nodes, table, rules)


@settings(max_examples=100)
@given(cases(policy="available"))
def test_available_does_not_depend_on_how_rows_are_kept(case):
    table, rules = case
    assert same_bits(grow_with(table, rules), grow_with(table, rules, subtree_rows=0))


@settings(max_examples=100)
@given(cases(policy="fractional"))
def test_the_parts_of_a_row_add_up_to_it(case):
    table, rules = case
    tree = grow_with(table, rules)
    weight = tree.weighted_n_node_samples
    inner = np.flatnonzero(tree.first_child >= 0)
    children = [weight[tree.first_child[i] :][: tree.n_branches[i]].sum() for i in inner]
    assert children == pytest.approx(weight[inner], rel=1e-14)
    if rules.categorical_split not in ("multiway", "merge"):  # of whose branches only two need be large
        assert tree.n_leaves <= len(table.y)


def test_parts_of_rows_by_hand():
    # 2 of 3 known rows go left, so does two thirds of the row without a value.
    x = np.array([0.0, 1.0, 2.0, np.nan])
    y = np.array([0, 0, 1, 1])
    tree = grow([x], y, n_classes=2, max_depth=1, missing="fractional")
    assert tree.gaps == "fractional"
    assert tree.n_node_samples.tolist() == [4, 3, 2]
    assert tree.weighted_n_node_samples == pytest.approx([4, 2 + 2 / 3, 1 + 1 / 3], abs=1e-6)
    assert tree.value[1, 0] == pytest.approx([3 / 4, 1 / 4], abs=1e-6)


def test_rows_without_the_feature_go_to_the_larger_branch_and_do_not_choose_the_test():
    x = np.array([0.0, 1.0, 2.0, 3.0, 4.0, np.nan, np.nan])
    y = np.array([0, 0, 1, 1, 1, 0, 0])
    tree = grow([x], y, n_classes=2, max_depth=1, missing="majority")
    assert tree.threshold[0] == 1.5
    assert tree.missing_branch[0] == 1
    assert tree.n_node_samples.tolist() == [7, 2, 5]
    # 5 known rows of gini 0.48 become pure: the gain is theirs alone.
    assert tree.gain[0] == pytest.approx(5 * 0.48)
