"""One logical expression per class: Python that says what the tree does."""

import ast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inside.strategies import grown_trees, other_rows

import hornbeam as hb
from hornbeam import datasets
from hornbeam.inside.formula import holds

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.warnings.UnseenCategoryWarning")


def answers(formulas, row):
    return [label for label, formula in formulas.items() if holds(formula, row)]


@settings(max_examples=40)
@given(grown_trees())
def test_exactly_the_expression_of_the_predicted_class_holds(grown):
    formulas = grown.tree.rules("formula")
    assert list(formulas) == grown.tree.classes_.tolist()
    for row, expected in zip(grown.rows, grown.tree.predict(grown.X), strict=True):
        assert answers(formulas, row) == [expected]


@settings(max_examples=40)
@given(grown_trees("regressor"))
def test_numbers_have_expressions_too(grown):
    formulas = grown.tree.rules("formula")
    for row, expected in zip(grown.rows, grown.tree.predict(grown.X), strict=True):
        assert answers(formulas, row) == [expected]


@settings(max_examples=40)
@given(grown_trees(), st.integers(0, 2**32 - 1))
def test_new_gaps_and_categories_are_covered_where_the_fit_met_gaps(grown, seed):
    others = other_rows(grown.X, seed)
    for name in grown.X.columns[~grown.X.isna().any()]:
        others[name] = grown.X[name]  # where the fit met none, the expressions do not speak of them
    formulas = grown.tree.rules("formula")
    expected = grown.tree.predict(others)
    for row, label in zip(others.to_dict(orient="records"), expected, strict=True):
        assert answers(formulas, row) == [label]


def test_restaurant_in_logic():
    table = datasets.restaurant()
    tree = hb.DecisionTreeClassifier(criterion="entropy").fit(table.frame(), table.y)
    assert tree.rules("formula")["Yes"] == (
        "(Patrons in {'Full', 'None'} and Hungry == 'Yes' and FriSat == 'Yes' and Price in {'$', '$$'}) "
        "or Patrons == 'Some'"
    )


def test_expressions_are_plain_python_over_the_columns():
    X = pd.DataFrame({"width": [1.0, 2.0, 3.0], "colour": ["red", "blue", "red"]})
    formulas = hb.DecisionTreeClassifier().fit(X, ["a", "b", "c"]).rules("formula")
    for row, expected in zip(X.to_dict(orient="records"), "abc", strict=True):
        found = [label for label, formula in formulas.items() if eval(formula, {}, row)]
        assert found == [expected]


def test_missing_numbers_pass_a_negated_comparison():
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, np.nan]})
    formulas = hb.DecisionTreeClassifier().fit(X, [0, 0, 1, 1]).rules("formula")
    assert formulas == {0: "x <= 2.5", 1: "not x <= 2.5"}
    assert [holds(formulas[1], {"x": gap}) for gap in (None, np.nan, pd.NA, float("nan"))] == [True] * 4


def test_missing_and_new_categories_may_go_different_ways():
    X = pd.DataFrame({"c": ["a", "b", "b", "b", None]})
    tree = hb.DecisionTreeClassifier(unseen="majority").fit(X, [1, 0, 0, 0, 1])
    assert tree.rules("formula") == {0: "c not in {'a', None}", 1: "c in {'a', None}"}
    new = pd.DataFrame({"c": ["new"]})
    assert tree.predict(new).tolist() == answers(tree.rules("formula"), {"c": "new"}) == [0]


def test_a_class_without_a_leaf_and_a_tree_without_a_test():
    tree = hb.DecisionTreeClassifier(min_samples_leaf=3).fit(np.arange(4.0)[:, None], [0, 1, 1, 1])
    assert tree.rules("formula") == {0: "False", 1: "True"}


@pytest.mark.parametrize(
    "name", ["petal length", "class", "row", "None", "ﬁ", "a\n'\"b", "", "long " * 10_000]
)
def test_names_that_are_no_identifiers_are_looked_up(name):
    X = (
        pd.DataFrame({name: [1.0, 2.0], "row": [0.0, 0.0]})
        if name != "row"
        else pd.DataFrame({name: [1.0, 2.0]})
    )
    formulas = hb.DecisionTreeClassifier().fit(X, ["a", "b"]).rules("formula")
    assert formulas["a"] == f"row[{name!a}] <= 1.5"
    ast.parse(formulas["a"], mode="eval")
    for row, expected in zip(X.to_dict(orient="records"), "ab", strict=True):
        assert answers(formulas, row) == [expected]


def test_infinities_are_compared():
    X = np.array([[-np.inf], [0.0], [np.inf], [1.0]])
    tree = hb.DecisionTreeClassifier().fit(X, [0, 1, 2, 1])
    for value, expected in zip(X[:, 0], tree.predict(X), strict=True):
        assert answers(tree.rules("formula"), {"x0": value}) == [expected]


def test_several_outputs_have_a_table_each():
    y = np.array([["a", "u"], ["a", "v"], ["b", "v"]], dtype=object)
    X = np.arange(3.0)[:, None]
    tree = hb.DecisionTreeClassifier().fit(X, y)
    tables = tree.rules("formula")
    for value, row in zip(X[:, 0], tree.predict(X), strict=True):
        assert [answers(table, {"x0": value}) for table in tables] == [[label] for label in row]


@pytest.mark.parametrize(
    "text", ["__import__('os').getcwd()", "[x for x in (1, 2)]", "x.real > 1", "lambda: 0"]
)
def test_holds_evaluates_comparisons_only(text):
    with pytest.raises(ValueError, match="consists of comparisons; this one holds a"):
        holds(text, {"x": 1})
