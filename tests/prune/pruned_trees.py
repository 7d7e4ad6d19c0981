"""Trees to prune: made by hand, drawn at random, grown, or staircases; and what pruning must leave."""

from typing import Any

import numpy as np
from core.growing import grow, same_bits
from hypothesis import strategies as st
from reference import pruning
from reference.tables import Table, tables

from hornbeam import _core
from hornbeam.model import TREE_ARRAYS

LEVELS = 100_000
N_CATEGORIES = 40  # two words of one bit each, or ten of eight bits


# Trees to prune -----------------------------------------------------------------------------------


def children_of(tree: _core.Tree) -> list[list[int]]:
    return [list(range(first, first + n)) for first, n in zip(tree.first_child, tree.n_branches, strict=True)]


def parents_of(tree: _core.Tree) -> dict[int, int]:
    return {child: node for node, below in enumerate(children_of(tree)) for child in below}


def make_tree(
    n_branches: np.ndarray,
    weight: np.ndarray,
    impurity: np.ndarray,
    value: np.ndarray,
    *,
    numeric: bool = False,
) -> _core.Tree:
    """A tree by hand, nodes breadth-first; it tests a categorical feature or, two-way, a numeric one."""
    n_branches = np.asarray(n_branches, dtype=np.int32)
    n_nodes = len(n_branches)
    inner = n_branches > 0
    first_child = np.where(inner, 1 + np.cumsum(n_branches) - n_branches, -1)
    begins, words = np.full(n_nodes, -1, dtype=np.int64), []
    if not numeric:
        for node in np.flatnonzero(inner):
            begins[node] = len(words)
            words += category_table(int(n_branches[node]), shift=int(node))
    return _core.make_tree(
        n_outputs=1,
        n_values=value.shape[1],
        categories=np.array([0, N_CATEGORIES], dtype=np.uint32),
        first_child=first_child.astype(np.int32),
        n_branches=n_branches,
        feature=np.where(inner, 0 if numeric else 1, -2).astype(np.int32),
        threshold=np.where(inner & numeric, 0.5, -2.0),
        category_begin=begins,
        missing_branch=np.zeros(n_nodes, dtype=np.int32),
        n_node_samples=np.ceil(weight).astype(np.int64),
        weighted_n_node_samples=weight.astype(float),
        impurity=impurity.astype(float),
        gain=np.where(inner, 1.0, 0.0),
        value=value.astype(float).ravel(),
        category_words=np.array(words, dtype=np.uint32),
    )


def category_table(n_branches: int, shift: int) -> list[int]:
    """The packed table that sends category c to branch (c + shift) mod n_branches."""
    bits = 1 if n_branches <= 2 else 8
    packed = sum(((c + shift) % n_branches) << (c * bits) for c in range(N_CATEGORIES))
    return [packed >> (32 * i) & 0xFFFFFFFF for i in range(-(-N_CATEGORIES * bits // 32))]


def tree_of_counts(n_branches: list[int], leaf_counts: list[list[int]]) -> _core.Tree:
    """A tree with these class counts in its leaves; empty leaves predict what their parent does."""
    first_child = 1 + np.cumsum(n_branches) - n_branches
    counts = np.zeros((len(n_branches), len(leaf_counts[0])))
    counts[np.equal(n_branches, 0)] = leaf_counts
    for node in reversed(np.flatnonzero(n_branches)):
        counts[node] = counts[first_child[node] : first_child[node] + n_branches[node]].sum(axis=0)
    weight = counts.sum(axis=1)
    value = counts / np.maximum(weight, 1)[:, None]
    for node in np.flatnonzero(n_branches):
        for child in range(first_child[node], first_child[node] + n_branches[node]):
            value[child] = value[child] if weight[child] > 0 else value[node]
    gini = np.where(weight > 0, 1 - (value**2).sum(axis=1), 0.0)
    return make_tree(np.array(n_branches), weight, gini, value)


@st.composite
def multiway_trees(draw: st.DrawFn, max_inner: int = 9) -> _core.Tree:
    """Trees with two to five branches at each inner node, empty branches among them."""
    n_branches: list[int] = []
    while len(n_branches) <= sum(n_branches):
        full = sum(n > 0 for n in n_branches) >= max_inner
        n_branches.append(0 if full else draw(st.sampled_from([0, 2, 2, 3, 5])))
    n_leaves = sum(n == 0 for n in n_branches)
    counts = st.lists(st.integers(0, 6), min_size=3, max_size=3)
    leaf_counts = draw(st.lists(counts, min_size=n_leaves, max_size=n_leaves))
    leaf_counts[0][0] += 1  # the root must not be empty
    return tree_of_counts(n_branches, leaf_counts)


@st.composite
def grown(draw: st.DrawFn) -> tuple[_core.Tree, Table]:
    kind = draw(st.sampled_from(["classes", "numbers"]))
    weights = ("none", "integers", "with_zeros", "powers_of_two")
    table = draw(tables(kind, weights=weights))
    criterion = draw(st.sampled_from(["gini", "entropy"] if kind == "classes" else ["squared_error"]))
    leaf = draw(st.sampled_from([1, 1, 2, 4]))
    options: dict[str, Any] = {"n_classes": table.n_classes, "criterion": criterion, "min_samples_leaf": leaf}
    return grow(table.columns, table.y, table.weights, **options), table


def grown_trees() -> st.SearchStrategy[_core.Tree]:
    return grown().map(lambda case: case[0])


def trees() -> st.SearchStrategy[_core.Tree]:
    return st.one_of(grown_trees(), multiway_trees())


def class_trees() -> st.SearchStrategy[_core.Tree]:
    return trees().filter(lambda tree: tree.n_values > 1)


def staircase(weight: np.ndarray, impurity: np.ndarray, value: np.ndarray) -> _core.Tree:
    """At every level a leaf to the left and the rest to the right."""
    n_branches = np.array([2, 0] * LEVELS + [0])
    return make_tree(n_branches, weight, impurity, value, numeric=True)


def staircase_of_rows(labels: np.ndarray) -> _core.Tree:
    """A staircase that splits off one row of two classes per level."""
    leaf_counts = np.eye(2)[labels]
    counts = np.zeros((2 * LEVELS + 1, 2))
    counts[1::2], counts[-1] = leaf_counts[:-1], leaf_counts[-1]
    counts[::2] = leaf_counts[::-1].cumsum(axis=0)[::-1]
    weight = counts.sum(axis=1)
    value = counts / weight[:, None]
    return staircase(weight, 1 - (value**2).sum(axis=1), value)


def errors_of(tree: _core.Tree) -> np.ndarray:
    """The share of a node that its majority gets wrong, averaged over the outputs."""
    return 1 - np.array(tree.value).max(axis=2).mean(axis=1)


def costs_of(tree: _core.Tree, by_error: bool) -> np.ndarray:
    each = errors_of(tree) if by_error and tree.n_values > 1 else np.array(tree.impurity)
    return np.array(tree.weighted_n_node_samples) / tree.weighted_n_node_samples[0] * each


# Collapsing ---------------------------------------------------------------------------------------


def sound(tree: _core.Tree, categories: list[int]) -> bool:
    """Whether the tree passes the checks for trees from outside."""
    arrays = {name: np.array(getattr(tree, name)).ravel() for name in TREE_ARRAYS}
    known = np.array(categories, dtype=np.uint32)
    again = _core.make_tree(n_outputs=tree.n_outputs, n_values=tree.n_values, categories=known, **arrays)
    return same_bits(tree, again)


def assert_collapsed(tree: _core.Tree, smaller: _core.Tree, cut: frozenset[int], n_codes: list[int]) -> None:
    """Node by node: what remains says what it said, new leaves say nothing about a test."""
    children = children_of(tree)
    remaining = pruning.nodes_of(children, 0, cut)
    assert smaller.node_count == len(remaining)
    n_words = 0
    for new, old in enumerate(remaining):
        for name in ("n_node_samples", "weighted_n_node_samples", "impurity"):
            assert getattr(smaller, name)[new] == getattr(tree, name)[old]
        np.testing.assert_array_equal(smaller.value[new], tree.value[old])
        if not pruning.is_inner(children, old, cut):
            leaf = [smaller.first_child, smaller.feature, smaller.threshold, smaller.category_begin]
            assert [field[new] for field in leaf] == [-1, -2, -2.0, -1]
            assert [smaller.n_branches[new], smaller.missing_branch[new], smaller.gain[new]] == [0, 0, 0.0]
            continue
        for name in ("n_branches", "feature", "threshold", "missing_branch", "gain"):
            assert getattr(smaller, name)[new] == getattr(tree, name)[old]
        first = smaller.first_child[new]
        assert remaining[first : first + smaller.n_branches[new]] == children[old]
        if tree.category_begin[old] >= 0:
            codes = n_codes[tree.feature[old]]
            theirs, ours = (t.branches_of_categories(n, codes) for t, n in ((tree, old), (smaller, new)))
            np.testing.assert_array_equal(ours, theirs)
            n_words += -(-codes * (1 if tree.n_branches[old] <= 2 else 8) // 32)
    assert len(smaller.category_words) == n_words
    assert sound(smaller, n_codes)


def some_nodes(data: st.DataObject, tree: _core.Tree) -> list[int]:
    return data.draw(st.lists(st.integers(0, tree.node_count - 1), max_size=4))
