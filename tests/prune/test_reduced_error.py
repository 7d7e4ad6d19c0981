"""Pruning by the errors of other rows is the greedy rule."""

import math

import numpy as np
import pytest
from core.growing import same_bits
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import pruning
from reference.tables import Table

from hornbeam import _core
from prune.pruned_trees import children_of, grown, multiway_trees, parents_of, tree_of_counts
from prune.test_prune import assert_consistent, assert_cuts


def costs_for(data: st.DataObject, tree: _core.Tree, elements: st.SearchStrategy[float]) -> np.ndarray:
    n = tree.node_count
    return np.array(data.draw(st.lists(elements, min_size=n, max_size=n)), dtype=float)


COUNTS = st.integers(0, 4).map(float)  # few whole numbers, so that ties are common


@settings(max_examples=300)
@given(multiway_trees(), st.data(), st.sampled_from([COUNTS, st.floats(0, 10), st.just(0.1)]))
def test_reduced_error_is_the_greedy_rule(
    tree: _core.Tree, data: st.DataObject, elements: st.SearchStrategy[float]
) -> None:
    costs = costs_for(data, tree, elements)
    children = children_of(tree)
    cuts = pruning.reduced_error(children, costs.tolist())
    smaller, log = _core.prune_reduced_error(tree, costs)
    assert_cuts(log, cuts)
    assert_consistent(log, tree, pruning.cost_of(children, costs.tolist(), 0, frozenset()))
    assert np.all(log["error_after"] < log["error_before"])
    assert same_bits(smaller, _core.collapse(tree, log["node"]))


@settings(max_examples=50)
@given(grown(), st.integers(0, 2**32 - 1))
def test_reduced_error_on_validation_rows(case: tuple[_core.Tree, Table], seed: int) -> None:
    tree, table = case
    assume(tree.n_values > 1)
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, tree.n_values, len(table.y))
    columns = [c.astype(np.int32) if np.issubdtype(c.dtype, np.integer) else c for c in table.columns]
    predicted = np.array(tree.value)[:, 0].argmax(axis=1)

    def validation_error(of: _core.Tree) -> int:
        leaves = _core.find_leaves(of, columns, len(truth), False, 1)
        return int((np.array(of.value)[leaves, 0].argmax(axis=1) != truth).sum())

    costs, parents = np.zeros(tree.node_count), parents_of(tree)
    for leaf, label in zip(_core.find_leaves(tree, columns, len(truth), False, 1), truth, strict=True):
        at: int | None = int(leaf)
        while at is not None:
            costs[at] += predicted[at] != label
            at = parents.get(at)
    smaller, log = _core.prune_reduced_error(tree, costs)
    errors = [validation_error(tree), *log["error_after"]]
    assert errors[-1] == validation_error(smaller)
    assert log["error_before"].tolist() == errors[:-1]
    assert_cuts(log, pruning.reduced_error(children_of(tree), costs.tolist()))


def test_greedy_over_all_nodes_is_not_bottom_up() -> None:
    # Nodes 1 and 2 save 3 each, the root saves 4: greedy takes the root at once; bottom-up takes the other
    # two and then finds nothing left to save at the root.
    tree = tree_of_counts([2, 2, 2, 0, 0, 0, 0], [[1, 0], [0, 1], [1, 0], [0, 1]])
    costs = np.array([6.0, 2, 2, 2, 3, 2, 3])
    smaller, log = _core.prune_reduced_error(tree, costs)
    assert log["node"].tolist() == [0] and log["nodes_removed"].tolist() == [6]
    assert (log["error_before"].tolist(), log["error_after"].tolist()) == ([10.0], [6.0])
    assert smaller.node_count == 1
    assert pruning.bottom_up_reduced_error(children_of(tree), costs.tolist()) == [1, 2]


def test_reduced_error_ties() -> None:
    # Nodes 1 (two nodes below) and 2 (four) save 1 each; so does node 5 inside 2. The larger goes first.
    tree = tree_of_counts([2, 2, 2, 0, 0, 2, 0, 0, 0], [[1, 0], [0, 1], [1, 0], [0, 1], [1, 0]])
    _, log = _core.prune_reduced_error(tree, np.array([9.0, 1, 1, 1, 1, 1, 0, 1, 1]))
    assert log["node"].tolist() == [2, 1]
    assert log["nodes_removed"].tolist() == [4, 2]
    # Equal size: the lower node first. A cut that changes nothing is not made.
    tree = tree_of_counts([3, 2, 2, 2, 0, 0, 0, 0, 0, 0], [[1, 0]] * 6)
    _, log = _core.prune_reduced_error(tree, np.array([9.0, 1, 1, 2, 1, 1, 1, 1, 1, 1]))
    assert log["node"].tolist() == [1, 2]


def test_sums_that_differ_by_rounding_are_ties() -> None:
    # 0.1 + 0.2 is a little more than 0.3: no reason to cut.
    tree = tree_of_counts([2, 0, 0], [[1, 0], [0, 1]])
    smaller, log = _core.prune_reduced_error(tree, np.array([0.3, 0.1, 0.2]))
    assert smaller.node_count == 3 and len(log["node"]) == 0


def test_reduced_error_refuses_bad_costs() -> None:
    tree = tree_of_counts([2, 0, 0], [[1, 0], [0, 1]])
    with pytest.raises(ValueError, match="has 2 numbers, but the tree has 3 nodes"):
        _core.prune_reduced_error(tree, np.zeros(2))
    with pytest.raises(ValueError, match="node 1 has nan"):
        _core.prune_reduced_error(tree, np.array([0.0, math.nan, 0.0]))
