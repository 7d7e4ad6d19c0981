"""Trees that were fitted one by one answer the same when they are put over the columns of all."""

import json

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb

SEEDED = {"random_state": 0}


def table(n=200, seed=0):
    """Categories and classes so rare that samples lack them, gaps, columns of every kind."""
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": draw.normal(size=n).round(1),
            "city": draw.choice(
                [*"pqrs", *(f"rare {k}" for k in range(9))], n, p=[0.22] * 4 + [0.12 / 9] * 9
            ),
            "b": draw.normal(size=n),
            "size": pd.Categorical(draw.choice(["S", "M", "L"], n), ["S", "M", "L"], ordered=True),
        }
    )
    number = frame["a"] + (frame["city"] > "q") * 1.0 + (frame["size"] == "M")
    label = np.where(frame["city"] == "rare 3", "odd", np.where(number > 0.5, "yes", "no"))
    return frame.mask(draw.random(frame.shape) < 0.1), label, number.to_numpy()


BY_HAND = {
    "bins": (hb.DecisionTreeClassifier(max_bins=6), {}),
    "some columns": (hb.DecisionTreeClassifier(max_bins=6), {"max_features": 2}),
    "columns drawn twice": (
        hb.DecisionTreeClassifier(splitter="random", **SEEDED),
        {"bootstrap_features": True},
    ),
    "new to the majority": (hb.DecisionTreeClassifier(unseen="majority"), {}),
    "many branches": (hb.DecisionTreeClassifier(categorical_split="multiway", max_bins=6), {}),
    "pruned": (hb.DecisionTreeClassifier(prune="pessimistic"), {}),
    "votes": (hb.DecisionTreeClassifier(max_bins=6, max_depth=3), {"voting": "hard"}),
}


@pytest.mark.parametrize("name", BY_HAND)
@pytest.mark.filterwarnings("ignore")
def test_a_bag_answers_the_same(name):
    X, labels, _ = table()
    tree, more = BY_HAND[name]
    bag = hb.BaggingClassifier(tree, n_estimators=8, max_samples=0.3, **more, **SEEDED).fit(X, labels)
    assert bag._grown is None
    assert min(len(member.classes_) for member in bag.estimators_) < 3  # or the test shows less
    whole = bag._on_one_table()
    fresh = table(seed=1)[0].replace("p", "never seen")
    np.testing.assert_array_equal(whole.predict_proba(fresh), bag.predict_proba(fresh))
    parts = bag.contributions(fresh[:20]).values
    np.testing.assert_allclose(whole.contributions(fresh[:20]).values, parts, atol=1e-12)


@pytest.mark.filterwarnings("ignore")
def test_columns_without_names_drawn_twice():
    draw = np.random.default_rng(0)
    X = draw.normal(size=(150, 3))
    tree = hb.DecisionTreeRegressor(splitter="random", max_depth=4, **SEEDED)
    bag = hb.BaggingRegressor(tree, n_estimators=5, bootstrap_features=True, **SEEDED).fit(X, X[:, 0])
    assert any(len(set(columns.tolist())) < 3 for columns in bag.estimators_features_)
    np.testing.assert_array_equal(bag._on_one_table().predict(X), bag.predict(X))


@pytest.mark.filterwarnings("ignore")
def test_surrogates_where_all_know_the_categories_and_where_not():
    X, labels, _ = table()
    few = X.assign(city=X["city"].where(X["city"].isin([*"pqrs"]), "s"))
    tree = hb.DecisionTreeClassifier(missing="surrogate", max_depth=4)
    bag = hb.BaggingClassifier(tree, n_estimators=5, **SEEDED).fit(few, labels)
    np.testing.assert_array_equal(bag._on_one_table().predict_proba(X), bag.predict_proba(X))
    bag = hb.BaggingClassifier(tree, n_estimators=8, max_samples=0.3, **SEEDED).fit(X, labels)
    with pytest.raises(
        ValueError, match=r"has not seen the category 'rare .*' of column 'city'.*estimators_"
    ):
        bag.counterfactual(X.iloc[[0]], X)


@pytest.mark.filterwarnings("ignore")
def test_a_counterfactual_of_a_bag_by_hand_changes_its_answer():
    X, labels, _ = table()
    bag = hb.BaggingClassifier(hb.DecisionTreeClassifier(max_bins=6, max_depth=3), 5, **SEEDED).fit(X, labels)
    found = bag.counterfactual(X.iloc[[3]], X)
    assert found.before == bag.predict(X.iloc[[3]])[0]
    changed = X.iloc[[3]].astype(object).assign(**{name: [new] for name, (_, new) in found.changes.items()})
    assert bag.predict(changed)[0] == found.prediction != found.before


@pytest.mark.filterwarnings("ignore")
def test_json_of_members_by_hand_holds_the_columns_of_all():
    X, labels, _ = table()
    bag = hb.BaggingClassifier(
        hb.DecisionTreeClassifier(max_bins=6, max_depth=3), 4, max_features=2, max_samples=0.4, **SEEDED
    ).fit(X, labels)
    document = json.loads(hb.export(bag, "json", verify="required"))
    assert [feature["name"] for feature in document["features"]] == list(X.columns)
    assert document["classes"] == [["no", "odd", "yes"]] and "Run in" in document["tested"][1]


@pytest.mark.parametrize("prune", ["pessimistic", "cost_complexity"])
@pytest.mark.filterwarnings("ignore")
def test_adaboost_of_pruned_trees_explains_itself(prune):
    X, labels, number = table()
    tree = hb.DecisionTreeClassifier(max_depth=4, prune=prune, **SEEDED)
    model = hb.AdaBoostClassifier(tree, n_estimators=5, resample=True, **SEEDED).fit(X, labels)
    found = model.contributions(X)
    np.testing.assert_allclose(found.scores, model.decision_function(X), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(
        model.apply(X), np.stack([one.apply(X) for one in model.estimators_], axis=1)
    )
    message = model.explain(X.iloc[[3]])
    assert message.prediction == model.predict(X.iloc[[3]])[0]
    median = hb.AdaBoostRegressor(
        hb.DecisionTreeRegressor(max_depth=3, prune="cost_complexity", **SEEDED), n_estimators=4, **SEEDED
    ).fit(X, number)
    np.testing.assert_allclose(median.contributions(X[:30]).scores, median.predict(X[:30]), rtol=1e-9)


@pytest.mark.parametrize("missing", ["fractional", "available"])
@pytest.mark.filterwarnings("ignore")
def test_votes_of_divided_rows_are_no_sum(missing):
    X, labels, _ = table()
    tree = hb.DecisionTreeClassifier(max_depth=2, missing=missing)
    model = hb.AdaBoostClassifier(tree, n_estimators=3).fit(X, labels)
    assert "city" in str(model.rules()) or "a <=" in str(model.rules())
    with pytest.raises(ValueError, match=rf"missing='{missing}' the vote of a tree .* estimators_\[0\]"):
        model.contributions(X)
    with pytest.raises(ValueError, match="not a sum over its leaves"):
        model.explain(X.iloc[[0]])
