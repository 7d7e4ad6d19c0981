"""Counterfactuals: the nearest change that changes the answer, beside all combinations of cells."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.counterfactual import options_of_number, smallest_distance, spread_of
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_wine

import hornbeam as hb
from hornbeam.inside import boxes

# A new number may lie so far beyond a threshold, in units of the spread, to be shorter.
ROUNDING = 1.001e-3

MODELS = [
    hb.DecisionTreeClassifier(max_depth=4),
    hb.DecisionTreeRegressor(max_depth=4),
    hb.RandomForestClassifier(4, max_depth=3, random_state=0),
    hb.RandomForestClassifier(3, max_depth=3, voting="hard", random_state=0),
    hb.ExtraTreesRegressor(3, max_depth=3, random_state=0),
    hb.BaggingClassifier(n_estimators=3, random_state=0),
    hb.AdaBoostClassifier(n_estimators=5),
    hb.AdaBoostRegressor(hb.DecisionTreeRegressor(max_depth=2), n_estimators=5, random_state=0),
    hb.GradientBoostingClassifier(n_estimators=4, max_leaf_nodes=4),
    hb.GradientBoostingClassifier(n_estimators=4, max_leaf_nodes=4, class_trees="shared"),
    hb.GradientBoostingRegressor(n_estimators=5, max_leaf_nodes=4),
    hb.GradientBoostingRegressor(loss="poisson", n_estimators=5, max_leaf_nodes=4),
]


def mixed(seed, n_classes, n=50):
    random = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "a": random.normal(size=n).round(2),
            "b": np.where(random.random(n) < 0.2, np.nan, random.exponential(size=n).round(2)),
            "c": pd.Series(random.choice(["x", "y", "z"], n), dtype=object),
        }
    )
    score = X["a"] + X["b"].fillna(2) * (X["c"] == "y") + 0.3 * random.normal(size=n)
    classes = np.digitize(score, np.quantile(score, [0.5] if n_classes == 2 else [0.3, 0.6]))
    return X, np.array(["no", "yes", "well"])[classes], np.exp(score / 3)


def trees_of(model):
    return model._trees_to_explain().trees


def thresholds_of(model, column):
    found = {float(t) for tree in trees_of(model) for t in tree.threshold[tree.feature == column]}
    return sorted(t for t in found if math.isfinite(t))


@settings(max_examples=8)
@given(seed=st.integers(0, 10_000), n_classes=st.sampled_from([2, 3]))
@pytest.mark.parametrize("model", MODELS, ids=lambda one: type(one).__name__)
def test_nothing_nearer_has_the_answer(model, seed, n_classes):
    X, classes, numbers = mixed(seed, n_classes)
    model = clone(model).fit(X, classes if is_classifier(model) else numbers)
    row = X.iloc[seed % 50].to_dict()
    options = {"a": options_of_number(row["a"], thresholds_of(model, 0), spread_of(X["a"]))}
    if not math.isnan(row["b"]):
        options["b"] = options_of_number(row["b"], thresholds_of(model, 1), spread_of(X["b"]))
    options["c"] = [(one, float(one != row["c"])) for one in "xyz"]
    said = model.predict(X.iloc[[seed % 50]])[0]
    wanted = None if is_classifier(model) else (float(np.median(numbers)), None)
    if wanted is not None and said >= wanted[0]:
        wanted = (None, wanted[0] - 0.01)

    def is_wanted(answer):
        if wanted is None:
            return answer != said
        return (wanted[0] is None or answer >= wanted[0]) and (wanted[1] is None or answer <= wanted[1])

    def ask(rows):
        return model.predict(pd.DataFrame(rows, columns=X.columns)).tolist()

    nearest = smallest_distance(ask, row, options, is_wanted)
    found = model.counterfactual(row, X, wanted=wanted, columns=list(options))
    assert found.is_exact
    if math.isinf(nearest):
        assert found.changes is None and "There is none." in found.text
        return
    assert nearest - 1e-9 <= found.distance <= nearest + ROUNDING * 3
    assert is_wanted(ask([found.row])[0])
    assert ask([found.row])[0] == pytest.approx(found.prediction) if wanted else True
    assert found.text.count(". ") == 1


def test_by_hand():
    # The threshold is 2.5. The spread is (1.5 + 0.5 + 0.5 + 2) / 4 = 1.125, so 2.501 is 1.501 / 1.125 away.
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.5], "b": [1.0, 1.0, 2.0, 2.0]})
    tree = hb.DecisionTreeClassifier().fit(X, ["no", "no", "yes", "yes"])
    found = tree.counterfactual({"a": 1.0, "b": 1.0}, X, columns=["a"])
    spread = np.abs(X["a"] - 2.5).mean()
    ((old, new),) = found.changes.values()
    assert old == 1.0 and 2.5 < new <= 2.5 + 1e-3 * spread
    assert found.distance == pytest.approx((new - 1) / spread)
    assert found.before == "no" and found.prediction == "yes" and found.shares == {"no": 0.0, "yes": 1.0}
    assert found.text.startswith(
        "The model would predict yes, probability 100 %, instead of no if a were 2.501"
    )
    assert found.text.endswith("No smaller change of a does it: these add up to 1.33422 spreads.")


def test_whole_numbers_stay_whole_and_directions_are_kept():
    X = pd.DataFrame({"age": [10, 20, 30, 40, 50, 60], "size": [1.5, 2, 3, 1, 2, 3]})
    tree = hb.DecisionTreeClassifier().fit(X, ["old", "young", "young", "young", "old", "old"])
    row = {"age": 30, "size": 1.0}
    either = tree.counterfactual(row, X)
    assert either.changes == {"age": (30, 15)} or either.changes == {"age": (30, 46)}
    up = tree.counterfactual(row, X, directions={"age": "up"})
    assert up.changes == {"age": (30, 46)} and isinstance(up.changes["age"][1], int)
    down = tree.counterfactual(row, X, directions={"age": "down"})
    assert down.changes == {"age": (30, 15)}
    none = tree.counterfactual(row, X, fixed=["age"])
    assert none.changes is None and none.distance == math.inf and none.is_exact
    assert none.text == (
        "The model predicts young; no change of size was found that makes it another class. There is none."
    )


def test_missing_values_may_be_filled_and_new_categories_changed():
    X = pd.DataFrame({"n": [1.0, 2, 8, 9, np.nan, np.nan], "c": ["u", "v", "u", "v", "u", "v"]})
    y = ["low", "low", "high", "high", "low", "low"]
    tree = hb.DecisionTreeClassifier().fit(X, y)
    found = tree.counterfactual({"n": None, "c": "u"}, X)
    assert found.changes == {"n": (None, 9.0)} or found.changes == {"n": (None, 8.0)}
    assert found.distance == 1 and "instead of missing" in found.text
    by_text = hb.DecisionTreeClassifier().fit(X[["c"]], ["p", "q", "p", "q", "p", "q"])
    new = by_text.counterfactual({"c": "w"}, X[["c"]])
    assert new.changes["c"][0] == "w" and new.prediction != new.before


def test_a_number_of_minus_one_is_not_taken_for_a_missing_one():
    X = pd.DataFrame({"a": [np.nan] * 4 + [-1.0] * 4, "b": [1.0, 2.0] * 4})
    tree = hb.DecisionTreeClassifier().fit(X, ["no"] * 4 + ["yes"] * 4)
    found = tree.counterfactual({"a": np.nan, "b": 1.0}, X)
    assert found.is_exact and found.prediction == "yes"
    assert found.changes["a"][1] == -1.0 and found.distance == 1.0


def test_a_large_model_says_how_much_nearer_another_may_be():
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    forest = hb.RandomForestClassifier(60, random_state=0).fit(X, y)
    found = forest.counterfactual(X.iloc[[20]], X, max_boxes=60)
    assert not found.is_exact
    assert 0 < found.bound < found.distance < math.inf
    assert "a smaller one may exist, but none below" in found.text
    assert forest.predict(pd.DataFrame([found.row]))[0] == found.prediction == 1 - found.before
    closer = forest.counterfactual(X.iloc[[20]], X, max_boxes=300)
    assert found.bound < closer.bound <= closer.distance <= found.distance


def test_several_classes_are_looked_for_at_once(monkeypatch):
    X, y = load_wine(return_X_y=True)
    forest = hb.RandomForestClassifier(7, max_depth=4, random_state=0).fit(X, y)
    row = X[60]
    of_class = {label: forest.counterfactual(row, X, wanted=label, max_boxes=10**9) for label in (0, 2)}
    assert all(found.is_exact for found in of_class.values())
    either = forest.counterfactual(row, X, max_boxes=10**9)
    assert either == min(of_class.values(), key=lambda found: found.distance)
    # max_boxes is what all classes may have together.
    opened = []
    original = boxes._Search.begins
    monkeypatch.setattr(
        boxes._Search, "begins", lambda self, leaves: opened.append(1) or original(self, leaves)
    )
    many = np.arange(len(X)) % 12
    large = hb.RandomForestClassifier(40, random_state=0).fit(X, many)
    stopped = large.counterfactual(row, X, max_boxes=50)
    assert not stopped.is_exact and len(opened) == 50


def test_trees_of_a_round_that_share_their_tests_are_searched_as_one(monkeypatch):
    X, y = load_wine(return_X_y=True)
    row = X[[3]]
    shared = hb.GradientBoostingClassifier(6, class_trees="shared", max_leaf_nodes=6, min_samples_leaf=5)
    assert boxes.with_equal_tests(shared.fit(X, y)._model) == [[k, k + 1, k + 2] for k in range(0, 18, 3)]
    together = [shared.counterfactual(row, X, max_boxes=most) for most in (30, 10**9)]
    one_by_one = [[k] for k in range(18)]
    monkeypatch.setattr("hornbeam.estimators.counterfactuals.with_equal_tests", lambda model: one_by_one)
    apart = [shared.counterfactual(row, X, max_boxes=most) for most in (30, 10**9)]
    assert together[1].changes == apart[1].changes
    assert together[0].bound > apart[0].bound  # a box of leaves that go together promises less


def test_changes_that_are_too_far_to_be_added_up_are_none():
    # Only where both are above 1 is the class another; each is 1.7e308 away, in spreads of 1.
    X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
    tree = hb.DecisionTreeClassifier().fit(X, [0, 0, 0, 1])
    found = tree.counterfactual([-1.7e308, -1.7e308], X)
    assert found.changes is None and found.distance == math.inf
    assert tree.counterfactual([-1.7e308, 2.0], X).distance == 1.7e308


def test_wrong_questions_are_named():
    X = pd.DataFrame({"a": [1.0, 2, 3, 4], "b": [np.nan, 1, 2, 3]})
    tree = hb.DecisionTreeClassifier().fit(X, ["n", "n", "y", "y"])
    ask = tree.counterfactual
    with pytest.raises(ValueError, match="answers 'n' already"):
        ask([1, 1], X, wanted="n")
    with pytest.raises(ValueError, match="one of the classes"):
        ask([1, 1], X, wanted="maybe")
    with pytest.raises(ValueError, match="no column 'nowhere'"):
        ask([1, 1], X, fixed=["nowhere"])
    with pytest.raises(ValueError, match="'up' or 'down'; got 'left'"):
        ask([1, 1], X, directions={"a": "left"})
    with pytest.raises(ValueError, match="No column may change"):
        ask([1, 1], X, columns=["a"], fixed=["a"])
    with pytest.warns(Warning):
        same = hb.AdaBoostClassifier(n_estimators=2).fit(X.fillna(0), ["n"] * 4)
    with pytest.raises(ValueError, match="knows one class only, 'n'"):
        same.counterfactual([1, 1], X.fillna(0))
    numbers = hb.DecisionTreeRegressor().fit(X, [1.0, 2, 3, 4])
    with pytest.raises(ValueError, match=r"wanted=\(low, high\)"):
        numbers.counterfactual([1, 1], X)
    standing_in = hb.DecisionTreeClassifier(missing="surrogate").fit(X, ["n", "n", "y", "y"])
    with pytest.raises(ValueError, match="Column 'b' of the row is missing"):
        standing_in.counterfactual([1, None], X)
    assert standing_in.counterfactual([1, 1], X).prediction == "y"


def test_ties_infinities_and_what_is_so_already():
    # One leaf, three classes, two of them level: nothing can change the answer.
    with pytest.warns(Warning):
        level = hb.DecisionTreeClassifier(max_depth=1).fit([[1.0]] * 5, [0, 0, 1, 2, 2])
    found = level.counterfactual([1.0], [[1.0]] * 5)
    assert found.changes is None and found.is_exact
    X = np.array([[1.0, np.inf], [2, 1e308], [3, -1e308], [4, 5]])
    tree = hb.DecisionTreeClassifier().fit(X, ["n", "n", "y", "y"])
    for row in X:
        found = tree.counterfactual(row, X)
        assert set(found.changes) == {"x0"} and found.prediction != found.before
    numbers = hb.DecisionTreeRegressor().fit(X, [1.0, 2, 3, 4])
    with pytest.raises(ValueError, match=r"answers 3\.0 already"):
        numbers.counterfactual(X[2], X, wanted=(3, None))
