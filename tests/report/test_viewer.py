"""The tree viewer of a report: which nodes it has, and the words in them."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer

import hornbeam as hb
from hornbeam.report.viewer import readings_shown, viewer_data
from report.pages import IRIS, SPECIES, facts_of

# --- Trees -----------------------------------------------------------------------------------------------


def test_the_viewer_has_every_node_and_the_leaf_of_every_row():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = hb.RandomForestClassifier(n_estimators=4, random_state=0).fit(X, y)
    facts = facts_of(forest, X, y, cv=None)
    data = viewer_data(facts)
    leaves = forest.apply(X)
    assert [member["title"] for member in data["members"]] == ["tree 1", "tree 2", "tree 3", "tree 4"]
    for number, (member, tree) in enumerate(zip(data["members"], forest._model.trees, strict=True)):
        assert sorted(member["node"]) == list(range(tree.node_count))
        for row, place in zip(data["rows"], data["paths"][number], strict=True):
            assert member["node"][place] == leaves[row["number"], number]
            assert member["children"][place] == []
    assert json.loads(json.dumps(data)) == data


def test_a_tree_that_is_too_large_is_cut_where_few_rows_are(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    tree = hb.DecisionTreeClassifier(random_state=0).fit(X, y)
    facts = facts_of(tree, X, y, cv=None)
    monkeypatch.setattr(sys.modules["hornbeam.report.viewer"], "MOST_NODES", 9)
    (member,) = viewer_data(facts)["members"]
    assert len(member["node"]) == 9 and member["cut"]
    assert all(not member["children"][place] for place in member["cut"])
    assert max(viewer_data(facts)["paths"][0]) < 9


def test_rounds_say_what_they_add_to():
    boosting = hb.GradientBoostingClassifier(n_estimators=2).fit(IRIS.data, SPECIES)
    titles = [
        member["title"] for member in viewer_data(facts_of(boosting, IRIS.data, SPECIES, cv=None))["members"]
    ]
    assert titles[:4] == [
        "round 1, score of setosa",
        "round 1, score of versicolor",
        "round 1, score of virginica",
        "round 2, score of setosa",
    ]
    ada = hb.AdaBoostClassifier(n_estimators=1).fit(IRIS.data[:100], SPECIES[:100])
    assert len(readings_shown(ada)) == 1


# --- Narrow tables -----------------------------------------------------------------------------------------

TREE_MODELS = [
    hb.DecisionTreeClassifier(),
    hb.DecisionTreeRegressor(),
    hb.RandomForestClassifier(3, random_state=0),
    hb.RandomForestRegressor(3, random_state=0),
    hb.ExtraTreesClassifier(3, random_state=0),
    hb.ExtraTreesRegressor(3, random_state=0),
    hb.BaggingClassifier(n_estimators=3, random_state=0),
    hb.BaggingRegressor(n_estimators=3, random_state=0),
    hb.AdaBoostClassifier(n_estimators=3),
    hb.AdaBoostRegressor(n_estimators=3, random_state=0),
    hb.GradientBoostingClassifier(3),
    hb.GradientBoostingRegressor(3),
]


@pytest.mark.parametrize("n_columns", [1, 2])
@pytest.mark.parametrize("model", TREE_MODELS, ids=lambda model: type(model).__name__)
def test_tables_of_one_column_and_of_two(model, n_columns, tmp_path):
    """Leaves ask about no column; the rows to follow show what the tests ask about, and nothing else."""
    x = np.repeat(np.arange(12.0), 5)
    X = pd.DataFrame({"x": x, "nothing": 1.0}).iloc[:, :n_columns]
    y = (x > 5).astype(int)
    fitted = clone(model).fit(X, y)
    data = viewer_data(facts_of(fitted, X, y))
    assert [row["values"] for row in data["rows"]] == [{"0": f"{value:g}"} for value in x]
    if isinstance(model, hb.DecisionTreeClassifier):
        hb.report(fitted, X, y, path=tmp_path / "page.html")
        assert (tmp_path / "page.html").stat().st_size > 10_000


# --- Words of the viewer -----------------------------------------------------------------------------------


def members_of(model, X, y):
    return viewer_data(facts_of(model.fit(X, y), X, y, cv=None))["members"][0]


def test_the_viewer_says_where_missing_values_go_and_what_each_branch_takes():
    x = np.repeat([1.0, 2.0, 3.0, np.nan], 10)
    X, y = pd.DataFrame({"x": x}), np.where((x <= 1.5) | np.isnan(x), "a", "b")
    tree = members_of(hb.DecisionTreeClassifier(), X, y)
    assert tree["test"][0] == "x <= 1.5 or missing" and tree["way"][1:] == ["yes", "no"]
    assert tree["reached"][1:] == ["x <= 1.5 or missing", "x > 1.5"]
    known = members_of(hb.DecisionTreeClassifier(), X, np.where(np.isnan(x), "a", "b"))
    assert sorted(known["reached"][1:]) == ["x is known", "x is missing"]


def test_long_lists_of_categories_are_counted_and_nothing_is_negated_twice():
    letters = [f"kind {k:02}" for k in range(30)]
    X = pd.DataFrame({"kind": np.repeat(letters, 4)})
    few = np.isin(X["kind"], letters[:3])
    for y in (few, ~few):
        tree = members_of(hb.DecisionTreeClassifier(max_depth=1), X, y.astype(int))
        assert "not" not in tree["test"][0]
        if tree["way"][1] == "yes":
            assert tree["brief"][0] == "kind in 3 of 30"
        else:  # the question has no yes and no: branches go by what takes them
            assert tree["test"][0] == "kind"
            assert set(tree["way"][1:]) == {"kind 00 and 2 more", "kind 03 and 26 more"}


@pytest.mark.parametrize(
    "model", [hb.DecisionTreeClassifier(max_depth=2), hb.DecisionTreeRegressor(max_depth=2)]
)
def test_gain_is_the_same_in_the_viewer_in_frames_and_in_tables_of_splits(model):
    fitted = clone(model).fit(IRIS.data, IRIS.target)
    viewed = viewer_data(facts_of(fitted, IRIS.data, IRIS.target, cv=None))["members"][0]
    table = fitted.split_table(IRIS.data, IRIS.target, 0)
    best = table.loc[table["chosen"], "gain"].item()
    assert fitted.to_frame()["gain"][0] == pytest.approx(best)
    assert viewed["gain"][0] == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("model", [hb.GradientBoostingRegressor(2), hb.GradientBoostingClassifier(2)])
def test_a_leaf_of_boosting_adds(model):
    data = viewer_data(facts_of(clone(model).fit(IRIS.data, IRIS.target), IRIS.data, IRIS.target, cv=None))
    assert data["adds"] is True
    tree = viewer_data(
        facts_of(hb.DecisionTreeClassifier().fit(IRIS.data, IRIS.target), IRIS.data, IRIS.target)
    )
    assert tree["adds"] is False
