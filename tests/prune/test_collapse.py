"""Collapsing nodes of a tree leaves what a slow copy leaves."""

import numpy as np
import pytest
from core.growing import n_categories, same_bits
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import pruning
from reference.tables import Table

from hornbeam import _core
from prune.pruned_trees import (
    N_CATEGORIES,
    assert_collapsed,
    children_of,
    grown,
    multiway_trees,
    parents_of,
    some_nodes,
    tree_of_counts,
)


@settings(max_examples=100)
@given(multiway_trees(), st.data())
def test_collapse_multiway(tree: _core.Tree, data: st.DataObject) -> None:
    nodes = some_nodes(data, tree)
    smaller = _core.collapse(tree, np.array(nodes, dtype=np.int32))
    assert_collapsed(tree, smaller, frozenset(nodes), [0, N_CATEGORIES])


@settings(max_examples=100)
@given(grown(), st.data())
def test_collapse_grown(case: tuple[_core.Tree, Table], data: st.DataObject) -> None:
    tree, table = case
    nodes = some_nodes(data, tree)
    smaller = _core.collapse(tree, np.array(nodes, dtype=np.int32))
    codes = [n_categories(c) if np.issubdtype(c.dtype, np.integer) else 0 for c in table.columns]
    assert_collapsed(tree, smaller, frozenset(nodes), codes)
    # Every row stops at the first new leaf on its way.
    remaining = pruning.nodes_of(children_of(tree), 0, frozenset(nodes))
    columns = [c.astype(np.int32) if n else c for c, n in zip(table.columns, codes, strict=True)]
    was, now = (_core.find_leaves(t, columns, len(table.y), False, 1).tolist() for t in (tree, smaller))
    parents = parents_of(tree)
    for leaf, new_leaf in zip(was, now, strict=True):
        at = leaf
        while at not in remaining:
            at = parents[at]
        assert remaining[new_leaf] == at


def test_collapsing_nothing_or_everything() -> None:
    tree = tree_of_counts([3, 2, 0, 0, 0, 0], [[1, 0], [2, 1], [0, 3], [1, 1]])
    assert same_bits(_core.collapse(tree, np.array([], dtype=np.int32)), tree)
    assert _core.collapse(tree, np.array([1, 0], dtype=np.int32)).node_count == 1


@pytest.mark.parametrize("node", [-1, 6])
def test_collapse_refuses_nodes_that_do_not_exist(node: int) -> None:
    tree = tree_of_counts([3, 2, 0, 0, 0, 0], [[1, 0], [2, 1], [0, 3], [1, 1]])
    with pytest.raises(ValueError, match=f"has 6 nodes and none with number {node}"):
        _core.collapse(tree, np.array([0, node], dtype=np.int32))
