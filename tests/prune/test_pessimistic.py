"""Pruning by pessimistic estimates of a node's error."""

import math

import numpy as np
import pytest
from core.growing import grow, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import pruning

from hornbeam import _core
from prune.pruned_trees import children_of, class_trees, errors_of, tree_of_counts
from prune.test_prune import assert_cuts

# Pessimistic --------------------------------------------------------------------------------------


@pytest.mark.parametrize("confidence", [1e-6, 0.05, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("trials", [1, 2, 6, 16, 168, 300])
def test_upper_error_rate_solves_the_binomial_sum(trials: int, confidence: float) -> None:
    for errors in sorted({0, 1, 2, 5, trials // 2, trials - 1, trials}):
        if errors <= trials:
            expected = pruning.upper_error_rate(errors, trials, confidence)
            assert _core.upper_error_rate(errors, trials, confidence) == pytest.approx(expected, rel=1e-12)


@settings(max_examples=200)
@given(st.floats(0, 1), st.floats(1e-3, 1e6), st.floats(1e-3, 0.999))
def test_upper_error_rate_between_whole_numbers(share: float, trials: float, confidence: float) -> None:
    errors = share * trials
    expected = pruning.upper_error_rate(errors, trials, confidence)
    assert _core.upper_error_rate(errors, trials, confidence) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("errors", "trials"), [(1, 10**9), (10**5, 10**8), (5 * 10**8, 10**9)])
def test_upper_error_rate_of_many_trials(errors: int, trials: int) -> None:
    # The tail is steep here: a small error in it would be a large one in the rate.
    rate = _core.upper_error_rate(errors, trials, 0.25)
    spread = math.sqrt(errors * (1 - errors / trials)) / trials
    assert errors / trials < rate < errors / trials + 2 * spread
    assert pruning.binomial_tail(errors, trials, rate) == pytest.approx(0.25, rel=1e-6)


def test_a_branch_of_quinlans_voting_tree_becomes_a_leaf() -> None:
    # Quinlan (1993), chapter 4: leaves of 6, 9 and 1 cases without an error against one of 16 with one error.
    # He has 3.273 against 2.512 errors; the second is his program's approximation, 16 * 0.157.
    rates = [_core.upper_error_rate(errors, n, 0.25) for errors, n in ((0, 6), (0, 9), (0, 1), (1, 16))]
    assert [round(rate, 3) for rate in rates] == [0.206, 0.143, 0.750, 0.160]
    smaller, log = _core.prune_pessimistic(tree_of_counts([3, 0, 0, 0], [[6, 0], [9, 0], [0, 1]]))
    assert smaller.node_count == 1
    assert log["nodes_removed"].tolist() == [3]
    assert log["error_before"][0] == pytest.approx(3.273, abs=1e-3)
    assert log["error_after"][0] == pytest.approx(16 * rates[3], rel=1e-12)


@settings(max_examples=100)
@given(class_trees(), st.sampled_from([0.01, 0.25, 0.5]))
def test_pessimistic_is_bottom_up(tree: _core.Tree, confidence: float) -> None:
    weights = np.array(tree.weighted_n_node_samples)
    errors = np.round(weights * errors_of(tree), 9)  # whole numbers again
    cuts = pruning.pessimistic(children_of(tree), errors.tolist(), weights.tolist(), confidence)
    smaller, log = _core.prune_pessimistic(tree, confidence)
    assert_cuts(log, cuts)
    assert same_bits(smaller, _core.collapse(tree, log["node"]))


def test_pessimistic_refuses_what_it_cannot_do() -> None:
    tree = tree_of_counts([2, 0, 0], [[1, 0], [0, 1]])
    for confidence in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="confidence must lie between 0 and 1"):
            _core.prune_pessimistic(tree, confidence)
    numbers = grow([np.arange(4.0)], np.array([0.0, 1.0, 2.0, 5.0]), criterion="squared_error")
    with pytest.raises(ValueError, match="predicts numbers"):
        _core.prune_pessimistic(numbers)
