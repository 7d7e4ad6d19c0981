"""Rules as text, as lines and as objects: what they say is what the tree does."""

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from inside.staircase import staircase
from inside.strategies import grown_trees, other_rows
from sklearn.exceptions import NotFittedError

import hornbeam as hb
from hornbeam import datasets
from hornbeam.warnings import UnseenCategoryWarning

pytestmark = pytest.mark.filterwarnings("ignore::hornbeam.warnings.UnseenCategoryWarning")


def predictions(rules, rows):
    """Answer each row by the only rule that covers it."""
    answers = []
    for row in rows:
        covering = [rule for rule in rules if rule.covers(row)]
        assert len(covering) == 1
        answers.append(covering[0].prediction)
    return answers


@settings(max_examples=40)
@given(grown_trees(), st.integers(0, 2**32 - 1))
def test_exactly_one_rule_covers_a_row_and_it_predicts_what_the_tree_does(grown, seed):
    rules = grown.tree.rules("list")
    assert predictions(rules, grown.rows) == grown.tree.predict(grown.X).tolist()
    others = other_rows(grown.X, seed)
    assert predictions(rules, others.to_dict(orient="records")) == grown.tree.predict(others).tolist()


@settings(max_examples=40)
@given(grown_trees("regressor"))
def test_rules_of_a_regressor_predict_its_numbers(grown):
    assert predictions(grown.tree.rules("list"), grown.rows) == grown.tree.predict(grown.X).tolist()


@settings(max_examples=40)
@given(grown_trees())
def test_every_leaf_has_a_line_a_rule_and_its_rows(grown):
    tree = grown.tree
    rules, lines, text = tree.rules("list"), tree.rules("lines").splitlines(), tree.rules().splitlines()
    assert len(rules) == len(lines) == tree.get_n_leaves()
    assert len(text) == tree.tree_.node_count
    assert lines == [str(rule) for rule in rules]
    assert sum(rule.rows for rule in rules) == len(grown.X)
    with_rows = {rule.node for rule in rules if rule.rows}  # branches of a category may be empty
    assert with_rows == set(tree.apply(grown.X))
    for rule in rules:
        features = [condition.feature for condition in rule.conditions]
        assert len(features) == len(set(features))
        assert rule.share == max(rule.shares.values()) == rule.shares[rule.prediction]
        assert repr(rule) == f"<Rule: {rule}>"


def test_restaurant_as_text():
    table = datasets.restaurant()
    tree = hb.DecisionTreeClassifier(criterion="entropy").fit(table.frame(), table.y)
    assert tree.rules() == "\n".join(
        [
            "12 rows: 50 % No, 50 % Yes",
            "Patrons in {Full, None} (8 rows: 75 % No, 25 % Yes)",
            "|   Hungry = No -> No (4 rows, 100 %)",
            "|   Hungry = Yes (4 rows: 50 % No, 50 % Yes)",
            "|   |   FriSat = No -> No (1 row, 100 %)",
            "|   |   FriSat = Yes (3 rows: 67 % Yes, 33 % No)",
            "|   |   |   Price = $$$ -> No (1 row, 100 %)",
            "|   |   |   Price in {$, $$} -> Yes (2 rows, 100 %)",
            "Patrons = Some -> Yes (4 rows, 100 %)",
        ]
    )
    assert tree.rules("lines").splitlines()[2] == (
        "if Patrons in {Full, None} and Hungry = Yes and FriSat = Yes and Price = $$$ then No (1 row, 100 %)"
    )


def test_tests_of_one_feature_are_put_together():
    x = np.arange(6.0)
    rules = hb.DecisionTreeClassifier().fit(x[:, None], [0, 0, 1, 1, 0, 0]).rules("list")
    assert [str(rule) for rule in rules] == [
        "if x0 <= 1.5 then 0 (2 rows, 100 %)",
        "if 1.5 < x0 <= 3.5 then 1 (2 rows, 100 %)",
        "if x0 > 3.5 then 0 (2 rows, 100 %)",
    ]
    middle = rules[1].conditions[0]
    assert (middle.feature, middle.above, middle.up_to, middle.categories) == ("x0", 1.5, 3.5, None)
    assert [middle.holds(value) for value in (1.5, 2, 3.5, 4)] == [False, True, True, False]


def test_ordered_categories_are_told_by_name():
    sizes = pd.Categorical(["S", "M", "L", "XL"] * 2, ["S", "M", "L", "XL"], ordered=True)
    X = pd.DataFrame({"size": sizes})
    assert hb.DecisionTreeClassifier().fit(X, [0, 0, 1, 1] * 2).rules("lines").splitlines() == [
        "if size <= M then 0 (4 rows, 100 %)",
        "if size > M then 1 (4 rows, 100 %)",
    ]
    assert hb.DecisionTreeClassifier().fit(X, [0, 1, 1, 0] * 2).rules("lines").splitlines() == [
        "if size = S then 0 (2 rows, 100 %)",
        "if S < size <= L then 1 (4 rows, 100 %)",
        "if size = XL then 0 (2 rows, 100 %)",
    ]


def test_the_way_of_missing_values_is_told_where_the_fit_met_some():
    X = pd.DataFrame({"x": [1.0, 2.0, 3.0, np.nan, 1.5, 3.5]})
    y = [0, 0, 1, 1, 0, 1]
    assert "x > 2.5 or missing -> 1 (3 rows, 100 %)" in hb.DecisionTreeClassifier().fit(X, y).rules()
    assert "missing" not in hb.DecisionTreeClassifier().fit(X.fillna(3.0), y).rules()


@pytest.mark.parametrize("known", [[1.0, 2.0, 3.0], ["a", "b", "c"]])
def test_a_test_for_missing_values_says_so(known):
    X = pd.DataFrame({"x": pd.Series([*known, None, None])})
    lines = hb.DecisionTreeClassifier().fit(X, [0, 0, 0, 1, 1]).rules("lines").splitlines()
    assert lines == ["if x is known then 0 (3 rows, 100 %)", "if x is missing then 1 (2 rows, 100 %)"]


def test_two_conditions_with_missing_values_are_kept_apart():
    X = pd.DataFrame({"x": [1.0, 1.0, 2.0, 2.0, np.nan, 2.0], "z": [1.0, 2.0, 1.0, 2.0, 2.0, 2.0]})
    lines = hb.DecisionTreeClassifier().fit(X, [0, 0, 1, 0, 0, 0]).rules("lines")
    assert " and (x <= 1.5 or missing) then" in lines or "if (x <= 1.5 or missing) and " in lines


def test_a_long_set_of_categories_is_told_by_the_other_side():
    letters = np.array(list("abcdefgh"), dtype=object)[:, None]
    text = hb.DecisionTreeClassifier().fit(letters, [0] * 7 + [1]).rules()
    assert "x0 not in {h} -> 0 (7 rows, 100 %)" in text
    assert "x0 = h -> 1 (1 row, 100 %)" in text


def test_thresholds_that_would_look_alike_are_written_in_full():
    x = 0.1 * np.array([1.0]) + np.spacing(0.1) * np.arange(8)
    tree = hb.DecisionTreeClassifier().fit(x[:, None], [0, 1] * 4)
    thresholds = [c.up_to for rule in tree.rules("list") for c in rule.conditions if c.up_to is not None]
    assert len(set(thresholds)) == 7
    text = tree.rules()
    assert all(repr(threshold) in text for threshold in thresholds)


def test_a_lone_leaf_always_says_the_same():
    tree = hb.DecisionTreeClassifier(max_depth=1, min_samples_leaf=3).fit(
        np.arange(4.0)[:, None], [0, 1, 1, 1]
    )
    assert tree.rules() == "always 1 (4 rows: 75 % 1, 25 % 0)"
    assert tree.rules("lines") == "always 1 (4 rows, 75 %)"
    assert tree.rules("list")[0].conditions == ()


def test_numbers_are_means():
    tree = hb.DecisionTreeRegressor(max_depth=1).fit(np.arange(4.0)[:, None], [0, 1, 5, 6.5])
    assert tree.rules().splitlines() == [
        "4 rows: mean 3.125",
        "x0 <= 1.5 -> 0.5 (2 rows)",
        "x0 > 1.5 -> 5.75 (2 rows)",
    ]
    assert tree.rules("lines").splitlines()[0] == "if x0 <= 1.5 then 0.5 (2 rows)"
    assert [rule.share for rule in tree.rules("list")] == [None, None]


def test_weights_are_told_where_they_differ_from_the_rows():
    tree = hb.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1], sample_weight=[0.5, 2])
    assert tree.rules().splitlines() == [
        "2 rows of weight 2.5: 80 % 1, 20 % 0",
        "x0 <= 0.5 -> 0 (1 row of weight 0.5, 100 %)",
        "x0 > 0.5 -> 1 (1 row of weight 2, 100 %)",
    ]


def test_several_outputs_answer_together():
    y = np.array([["a", "u"], ["a", "v"], ["b", "v"], ["b", "v"]], dtype=object)
    tree = hb.DecisionTreeClassifier(max_depth=1).fit(np.arange(4.0)[:, None], y)
    rules = tree.rules("list")
    assert [rule.prediction for rule in rules] == [tuple(row) for row in tree.predict([[0.0], [3.0]])]
    assert len(rules[0].shares) == len(rules[0].share) == 2
    assert tree.rules().splitlines()[0] == "4 rows: output 0: 50 % a, 50 % b; output 1: 75 % v, 25 % u"


def test_unknown_styles_are_refused():
    tree = hb.DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(
        ValueError, match=r"'text', 'list', 'lines', 'formula' or 'code'; got 'line'. Did you mean 'lines'"
    ):
        tree.rules("line")
    with pytest.raises(ValueError, match="style must be"):
        tree.rules(["text"])


def test_before_fit_it_says_so():
    with pytest.raises(NotFittedError):
        hb.DecisionTreeClassifier().rules()


def test_unseen_categories_follow_the_stated_policy():
    X = pd.DataFrame({"c": ["a", "b", "b", None]})
    for unseen in ("missing", "majority"):
        tree = hb.DecisionTreeClassifier(unseen=unseen).fit(X, [1, 0, 0, 1])
        with pytest.warns(UnseenCategoryWarning):
            expected = tree.predict(pd.DataFrame({"c": ["new"]}))
        assert predictions(tree.rules("list"), [{"c": "new"}]) == expected.tolist()


def test_a_staircase_of_100000_levels_prints():
    tree = staircase(100_000)
    started = time.process_time()
    lines = tree.rules().splitlines()
    assert time.process_time() - started < 10
    assert len(lines) == 200_001
    assert max(map(len, lines)) < 200
    assert lines[-1].strip("| ") == "[depth 100,000] x0 > 99999.5 -> even (1 row, 100 %)"


def test_the_other_styles_follow_a_deep_tree():
    tree = staircase(20_000)
    assert tree.rules("lines").splitlines()[-1] == "if x0 > 19999.5 then even (1 row, 100 %)"
    assert len(tree.rules("list")) == 20_001
    assert tree.rules("formula")["odd"].count(" or ") == 9_999
