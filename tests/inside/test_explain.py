"""Why one row gets its answer: the path is the row's own, and it can be given in many forms."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inside.staircase import staircase
from inside.strategies import grown_trees, other_rows
from scipy import sparse
from sklearn.exceptions import NotFittedError

import hornbeam as hb
from hornbeam import datasets

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.warnings.UnseenCategoryWarning")


@pytest.fixture
def restaurant_tree():
    table = datasets.restaurant()
    return hb.DecisionTreeClassifier(criterion="entropy").fit(table.frame(), table.y)


@settings(max_examples=40)
@given(grown_trees(), st.integers(0, 2**32 - 1))
def test_the_path_is_the_one_predict_takes(grown, seed):
    for X in (grown.X, other_rows(grown.X, seed)):
        row = seed % len(X)
        explanation = grown.tree.explain(X.iloc[[row]])
        one = X.iloc[[row]]
        assert explanation.leaf == grown.tree.apply(one)[0]
        assert explanation.prediction == grown.tree.predict(one)[0]
        nodes = [0, *(step.child for step in explanation.steps)]
        assert nodes[:-1] == [step.node for step in explanation.steps] and nodes[-1] == explanation.leaf
        assert list(explanation.shares.values()) == grown.tree.predict_proba(one)[0].tolist()
        assert grown.tree.explain(X.iloc[row].to_dict()).leaf == explanation.leaf


def test_restaurant_in_words(restaurant_tree):
    row = datasets.restaurant().frame().iloc[3]
    assert str(restaurant_tree.explain(row)) == "\n".join(
        [
            "start: 12 rows, 50 % No, 50 % Yes",
            "1. Patrons = Full is in {Full, None}, so left: 8 rows, 75 % No, 25 % Yes",
            "2. Hungry = Yes, so right: 4 rows, 50 % No, 50 % Yes",
            "3. FriSat = Yes, so right: 3 rows, 67 % Yes, 33 % No",
            "4. Price = $ is in {$, $$}, so right: 2 rows, 100 % Yes",
            "answer: Yes",
        ]
    )


def test_a_step_holds_what_it_says(restaurant_tree):
    explanation = restaurant_tree.explain(datasets.restaurant().frame().iloc[[3]])
    first = explanation.steps[0]
    assert (first.node, first.feature, first.value, first.branch) == (0, "Patrons", "Full", 0)
    assert (first.rows, first.prediction, first.shares) == (8, "No", {"No": 0.75, "Yes": 0.25})
    assert explanation.shares == {"No": 0.0, "Yes": 1.0}
    assert repr(explanation) == str(explanation)


def test_one_row_in_every_form_goes_the_same_way():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0], "b": ["u", "v", "u", "v"]})
    tree = hb.DecisionTreeClassifier().fit(X, [0, 1, 2, 3])
    forms = [
        X.iloc[[2]],
        X.iloc[2],
        {"b": "u", "a": 3.0},
        [3.0, "u"],
        (3, "u"),
        np.array([3.0, "u"], dtype=object),
        pl.DataFrame({"a": [3.0], "b": ["u"]}),
        pl.DataFrame({"a": [3.0], "b": ["u"]}).row(0, named=True),
    ]
    expected = tree.explain(X.iloc[[2]])
    assert expected.prediction == 2
    assert [tree.explain(form) for form in forms] == [expected] * len(forms)


def test_a_fit_without_names_takes_arrays_series_and_sparse_rows():
    X = np.array([[1.0, 0.0], [2.0, 5.0], [3.0, 0.0]])
    tree = hb.DecisionTreeClassifier().fit(X, [0, 1, 2])
    for form in (X[2], X[[2]], pd.Series(X[2]), sparse.csr_array(X[[2]]), {"x0": 3.0, "x1": 0.0}):
        assert tree.explain(form).prediction == 2


def test_missing_new_and_ordered_values_in_words():
    X = pd.DataFrame(
        {
            "x": [1.0, 2.0, np.nan, 2.5],
            "c": ["a", "b", "b", "c"],
            "s": pd.Categorical(["S", "L", "L", "L"], ["S", "M", "L"], ordered=True),
        }
    )
    y = [0, 1, 1, 1]

    def first_step(column, value):
        return str(hb.DecisionTreeClassifier().fit(X[[column]], y).explain({column: value}).steps[0]).split(
            ":"
        )[0]

    assert first_step("x", None) == "x is missing, so right"
    assert first_step("x", pd.NA) == "x is missing, so right"
    assert first_step("x", 1) == "x = 1 <= 1.5, so left"
    assert first_step("c", "violet") == "c = violet is new to the tree, so right"
    assert first_step("c", "c") == "c = c is in {b, c}, so right"
    assert first_step("s", "M") == "s = M <= M, so left"
    assert first_step("s", "L") == "s = L, so right"
    known = pd.DataFrame({"x": [1.0, 2.0, None]})
    assert "x = 2.0 is known, so left" in str(
        hb.DecisionTreeClassifier().fit(known, [0, 0, 1]).explain([2.0])
    )


def test_a_comparison_never_looks_wrong():
    noisy = (0.1 + 0.2) / 2  # written 0.15, and a little more than that
    assert noisy > 0.15
    tree = hb.DecisionTreeClassifier().fit([[0.1], [0.2]], [0, 1])
    assert tree.tree_.threshold[0] == noisy
    assert "x0 = 0.15 <= 0.15, so left" in str(tree.explain([0.15]))
    assert f"x0 = {noisy} <= {noisy}, so left" in str(tree.explain([noisy]))
    above = np.nextafter(noisy, 1)
    assert f"x0 = {above} > " in str(tree.explain([above]))
    narrow = np.array([[0.1], [0.2]], dtype=np.float32)
    assert "x0 = 0.1 <= 0.15" in str(hb.DecisionTreeClassifier().fit(narrow, [0, 1]).explain(narrow[0]))


def test_numbers_change_along_the_path():
    tree = hb.DecisionTreeRegressor().fit(np.arange(3.0)[:, None], [0.0, 1.0, 5.0])
    assert str(tree.explain([0])).splitlines() == [
        "start: 3 rows, mean 2",
        "1. x0 = 0 <= 1.5, so left: 2 rows, mean 0.5",
        "2. x0 = 0 <= 0.5, so left: 1 row, mean 0",
        "answer: 0",
    ]
    assert tree.explain([0]).shares is None


def test_a_deep_path_is_told():
    explanation = staircase(20_000).explain([19_999.6])
    assert len(explanation.steps) == 20_000
    assert len(str(explanation).splitlines()) == 20_002


def test_bad_rows_are_refused_with_a_way_out(restaurant_tree):
    X = datasets.restaurant().frame()
    whole = X.iloc[0].to_dict()
    with pytest.raises(ValueError, match="explain takes one row; this table has 12"):
        restaurant_tree.explain(X)
    with pytest.raises(ValueError, match="no value for column 'Bar'"):
        restaurant_tree.explain({name: value for name, value in whole.items() if name != "Bar"})
    with pytest.raises(ValueError, match="a value for 'bar', which is not a column of the fit"):
        restaurant_tree.explain({**whole, "bar": "Yes"})
    with pytest.raises(ValueError, match="The row has 2 values, but the fit had 10 columns"):
        restaurant_tree.explain(["Yes", "No"])
    with pytest.raises(TypeError, match="explain takes one row: a table of one row"):
        restaurant_tree.explain("Yes")
    with pytest.raises(NotFittedError):
        hb.DecisionTreeClassifier().explain([1])


def test_policies_of_the_estimator_are_kept():
    X = pd.DataFrame({"c": ["a", "b"]})
    strict = hb.DecisionTreeClassifier(missing="error", unseen="error").fit(X, [0, 1])
    with pytest.raises(ValueError, match="the value is missing and missing='error' refuses that"):
        strict.explain({"c": None})
    with pytest.raises(ValueError, match="the fit has not seen the category 'new'"):
        strict.explain({"c": "new"})
