"""The search for stumps against the oracle's stump, and against itself with other threads and other rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import naive
from reference.nodes import Rules
from reference.tables import Table, tables

from core.comparing import compare
from core.growing import encode, grow, same_bits
from hornbeam import _core

RULES = Rules(criterion="accuracy", max_depth=1)


def search_of(columns, y, n_classes: int, n_threads: int = 1) -> _core.StumpSearch:
    return _core.StumpSearch(encode(columns), y.astype(np.int32), n_classes, n_threads)


def weights_of(table: Table) -> np.ndarray:
    return np.ones(len(table.y)) if table.weights is None else np.asarray(table.weights, dtype=float)


@settings(max_examples=300)
@given(tables("classes"))
def test_the_search_finds_the_oracles_stump(table: Table) -> None:
    nodes = naive.grow(table.columns, table.y, table.weights, n_classes=table.n_classes, rules=RULES)
    tree, wrong, _ = search_of(table.columns, table.y, table.n_classes).best(weights_of(table), 1)
    compare(tree, nodes, table, RULES)
    leaves = _core.find_leaves(tree, _as_predicted(table.columns), len(table.y), False, 1)
    answers = np.argmax(tree.value[:, 0, :], axis=1)[leaves]
    assert wrong.tolist() == (answers != table.y).astype(int).tolist()


def _as_predicted(columns: list[np.ndarray]) -> list[np.ndarray]:
    return [
        column.astype(np.int32) if np.issubdtype(column.dtype, np.integer) else column for column in columns
    ]


@settings(max_examples=300)
@given(tables("classes"))
def test_the_stump_is_bit_for_bit_the_growers_tree_of_depth_1(table: Table) -> None:
    weights = weights_of(table)
    tree, _, _ = search_of(table.columns, table.y, table.n_classes).best(weights, 1)
    grown = grow(
        table.columns, table.y, weights, n_classes=table.n_classes, criterion="accuracy", max_depth=1
    )
    assert same_bits(tree, grown)


@settings(max_examples=200)
@given(tables("classes", categorical=False, weights=["none", "integers", "powers_of_two"]))
def test_equals_are_told_apart_as_the_oracle_does(table: Table) -> None:
    """With such weights every score is exact, so nothing excuses another choice among equal ones."""
    nodes = naive.grow(table.columns, table.y, table.weights, n_classes=table.n_classes, rules=RULES)
    tree, _, _ = search_of(table.columns, table.y, table.n_classes).best(weights_of(table), 1)
    assert tree.node_count == len(nodes)
    if nodes[0].split is not None:
        assert tree.feature[0] == nodes[0].split.feature
        assert tree.threshold[0] == nodes[0].split.threshold
        assert tree.missing_branch[0] == nodes[0].split.missing_branch


@settings(max_examples=100)
@given(tables("classes"), st.randoms(use_true_random=False))
def test_a_search_can_be_asked_again_and_by_more_threads(table: Table, random) -> None:
    search = search_of(table.columns, table.y, table.n_classes, n_threads=2)
    for _ in range(3):
        weights = np.array([random.choice([1.0, 0.25, random.random() + 1e-3]) for _ in table.y])
        tree, wrong, _ = search.best(weights, 2)
        alone, also_wrong, _ = search_of(table.columns, table.y, table.n_classes).best(weights, 1)
        assert same_bits(tree, alone)
        assert wrong.tolist() == also_wrong.tolist()


@settings(max_examples=150)
@given(tables("classes"), st.data())
def test_rows_that_do_not_count_are_as_if_they_were_not_there(table: Table, data: st.DataObject) -> None:
    n_rows = len(table.y)
    kept = np.array(data.draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows)))
    kept[0] = True
    weights = weights_of(table)
    weights[weights == 0] = 1.0
    # A weight of 0 and one that is lost beside the others are the same.
    weights[~kept] = data.draw(st.sampled_from([0.0, weights[kept].sum() * 2.0**-60]))
    tree, _, n_weightless = search_of(table.columns, table.y, table.n_classes).best(weights, 1)
    some = [column[kept] for column in table.columns]
    codes = [int(c.max()) + 1 if np.issubdtype(c.dtype, np.integer) else 0 for c in table.columns]
    if any(k and int(c.max(initial=-1)) + 1 != k for c, k in zip(some, codes, strict=True)):
        return  # tables of categories would differ in length
    alone, _, _ = search_of(some, table.y[kept], table.n_classes).best(weights[kept], 1)
    fields = ("feature", "missing_branch", "n_node_samples", "category_words", "first_child", "threshold")
    assert same_bits(tree, alone, fields)
    assert tree.value == pytest.approx(alone.value, rel=1e-12)
    assert n_weightless == (0 if weights[~kept].sum() == 0 else np.count_nonzero(~kept))


@pytest.mark.parametrize("weights", [[1.0], [1.0, np.nan], [1.0, -1.0], [0.0, 0.0], [1.0, np.inf]], ids=str)
def test_weights_that_cannot_be_are_refused(weights: list[float]) -> None:
    search = search_of([np.array([1.0, 2.0])], np.array([0, 1]), 2)
    with pytest.raises(ValueError, match="weight"):
        search.best(np.array(weights), 1)
