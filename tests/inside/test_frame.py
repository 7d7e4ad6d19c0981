"""A tree as a data frame: one row per node, and everything in it true."""

import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from inside.staircase import staircase
from inside.strategies import grown_trees

import hornbeam as hb

COLUMNS = [
    *("node", "parent", "branch", "depth"),
    *("test", "feature", "threshold", "categories", "missing_to"),
    *("rows", "weight", "impurity", "gain", "prediction"),
]


@settings(max_examples=40)
@given(grown_trees())
def test_frame_holds_the_tree(grown):
    tree = grown.tree.tree_
    frame = grown.tree.to_frame()
    classes = grown.tree.classes_
    assert list(frame.columns) == [*COLUMNS, *(f"share {label}" for label in classes)]
    assert frame["node"].tolist() == list(range(tree.node_count))
    np.testing.assert_array_equal(frame["rows"], tree.n_node_samples)
    np.testing.assert_array_equal(
        frame[[f"share {label}" for label in classes]], tree.value[:, 0, : len(classes)]
    )
    leaves = frame.loc[grown.tree.apply(grown.X)]
    assert leaves["prediction"].tolist() == grown.tree.predict(grown.X).tolist()
    assert leaves[["test", "feature", "threshold", "categories", "missing_to", "gain"]].isna().all(axis=None)


@settings(max_examples=40)
@given(grown_trees())
def test_children_hang_where_the_frame_says(grown):
    tree = grown.tree.tree_
    frame = grown.tree.to_frame()
    assert frame["parent"].isna().tolist() == [True] + [False] * (tree.node_count - 1)
    for row in frame.iloc[1:].itertuples():
        assert tree.first_child[row.parent] + row.branch == row.node
        assert frame["depth"][row.parent] == row.depth - 1
    for row in frame[frame["feature"].notna()].itertuples():
        children = frame[frame["parent"] == row.node]
        assert children["rows"].sum() == row.rows
        assert row.missing_to in set(children["node"])
        assert row.test.startswith(row.feature)


def test_categories_are_listed_by_branch():
    X = pd.DataFrame(
        {"c": ["a", "b", "c"], "s": pd.Categorical(["S", "M", "L"], ["S", "M", "L"], ordered=True)}
    )
    by_colour = hb.DecisionTreeClassifier(max_depth=1).fit(X[["c"]], [0, 1, 0]).to_frame()
    assert by_colour["categories"][0] == (("a", "c"), ("b",))
    assert np.isnan(by_colour["threshold"][0])
    by_size = hb.DecisionTreeClassifier().fit(X[["s"]], [0, 1, 1]).to_frame()
    assert by_size["categories"][0] == (("S",), ("M", "L"))
    assert by_size["threshold"][0] == 0.5


def test_numbers_and_several_outputs():
    X = np.arange(4.0)[:, None]
    numbers = hb.DecisionTreeRegressor().fit(X, [1.0, 1.0, 3.0, 3.0]).to_frame()
    assert list(numbers.columns) == COLUMNS
    assert numbers["prediction"].tolist() == [2.0, 1.0, 3.0]
    both = hb.DecisionTreeClassifier().fit(X, np.array([[0, 0], [0, 1], [1, 2], [1, 2]])).to_frame()
    assert list(both.columns[len(COLUMNS) - 1 :]) == [
        *("prediction 0", "share 0 0", "share 0 1"),
        *("prediction 1", "share 1 0", "share 1 1", "share 1 2"),
    ]


def test_a_deep_tree_has_a_frame():
    frame = staircase(20_000).to_frame()
    assert frame["depth"].iloc[-1] == 20_000


def test_without_pandas_the_error_says_what_to_install(monkeypatch):
    tree = hb.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs pandas.*pip install hornbeam\[frames\]"):
        tree.to_frame()
