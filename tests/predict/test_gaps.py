"""Rows that lack values, in trees of every policy: the core against walks in plain Python."""

import numpy as np
import pytest
from core.growing import encode, grow, n_categories
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import prediction
from reference.tables import Table, tables

from hornbeam import _core

POLICIES = ("majority", "surrogate", "fractional", "available")


@st.composite
def grown(draw: st.DrawFn) -> tuple[list[_core.Tree], Table, list[np.ndarray], list[int]]:
    """Trees of one policy on parts of a table, and rows of it with values knocked out."""
    table = draw(tables("classes", max_rows=25, weights=["none", "integers"]))
    policy = draw(st.sampled_from(POLICIES))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    data = encode(table.columns)
    trees = []
    for _ in range(draw(st.integers(1, 3))):
        rows = np.flatnonzero(generator.random(len(table.y)) < 0.8)
        rows = rows if len(rows) else np.array([0])
        weights = None if table.weights is None else table.weights
        trees.append(grow(data, table.y, weights, rows=rows, n_classes=table.n_classes, missing=policy))
    columns = []
    for column in table.columns:
        knocked = column.copy()
        if np.issubdtype(column.dtype, np.integer):
            knocked[generator.random(len(column)) < 0.3] = prediction.MISSING
            knocked[generator.random(len(column)) < 0.1] = prediction.UNSEEN
        else:
            knocked[generator.random(len(column)) < 0.3] = np.nan
        columns.append(knocked)
    categories = [n_categories(c) if np.issubdtype(c.dtype, np.integer) else 0 for c in table.columns]
    return trees, table, columns, categories


def core_columns(columns: list[np.ndarray]) -> list[np.ndarray]:
    return [c.astype(np.int32) if np.issubdtype(c.dtype, np.integer) else c for c in columns]


@settings(max_examples=300)
@given(grown(), st.booleans(), st.booleans())
def test_rows_without_values_are_answered_as_by_hand(case, unseen_to_majority, hard_votes):
    trees, table, columns, categories = case
    n_rows = len(table.y)
    predictor = _core.Predictor(tuple(trees), None, unseen_to_majority)
    leaves = predictor.leaves(core_columns(columns), n_rows, 0, len(trees), 1)
    scores = np.zeros((n_rows, 1, predictor.n_values))
    predictor.add(core_columns(columns), n_rows, 0, len(trees), scores, None, hard_votes, 1, None)
    for i in range(n_rows):
        row = [float(column[i]) for column in columns]
        expected = np.zeros(predictor.n_values)
        for t, tree in enumerate(trees):
            shares = prediction.shares_of_leaves(tree, row, categories, unseen_to_majority=unseen_to_majority)
            if not shares:
                assert tree.gaps == "available"
                assert tree.first_child[leaves[i, t]] >= 0
                continue
            assert shares[leaves[i, t]] == pytest.approx(max(shares.values()))
            said = sum(share * tree.value[leaf, 0] for leaf, share in shares.items())
            largest = np.flatnonzero(said >= said.max() - 1e-9)
            if hard_votes and len(largest) > 1:
                return  # rounding decides
            expected += np.eye(len(said))[largest[0]] if hard_votes else said
        assert scores[i, 0] == pytest.approx(expected, abs=1e-12)


@settings(max_examples=50)
@given(grown())
def test_answers_do_not_depend_on_threads(case):
    trees, table, columns, _ = case
    predictor = _core.Predictor(tuple(trees), None, False)
    found = []
    for n_threads in (1, 3):
        scores = np.zeros((len(table.y), 1, predictor.n_values))
        predictor.add(
            core_columns(columns), len(table.y), 0, len(trees), scores, None, False, n_threads, None
        )
        found.append(scores.tobytes())
    assert found[0] == found[1]
