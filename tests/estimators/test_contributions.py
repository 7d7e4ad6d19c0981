"""Contributions of every model made of our trees: they sum to the score, whatever is asked for."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from reference.shapley import shapley_values, worth_of_sets
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

import hornbeam as hb
from hornbeam.model import tree_from_arrays, tree_to_arrays
from hornbeam.warnings import NoAnswerWarning

SEEDED = {"random_state": 0}
CLASSIFIERS = [
    hb.DecisionTreeClassifier(max_depth=3, **SEEDED),
    hb.RandomForestClassifier(8, **SEEDED),
    hb.RandomForestClassifier(8, voting="hard", **SEEDED),
    hb.ExtraTreesClassifier(5, **SEEDED),
    hb.BaggingClassifier(n_estimators=5, **SEEDED),
    hb.BaggingClassifier(hb.DecisionTreeClassifier(max_bins=9), n_estimators=5, max_features=2, **SEEDED),
    hb.AdaBoostClassifier(n_estimators=9),
    hb.GradientBoostingClassifier(n_estimators=7),
]
REGRESSORS = [
    hb.DecisionTreeRegressor(max_depth=4, **SEEDED),
    hb.RandomForestRegressor(5, **SEEDED),
    hb.ExtraTreesRegressor(5, **SEEDED),
    hb.BaggingRegressor(n_estimators=3, **SEEDED),
    hb.BaggingRegressor(hb.DecisionTreeRegressor(prune="cost_complexity"), n_estimators=3, **SEEDED),
    hb.GradientBoostingRegressor(n_estimators=9),
    hb.GradientBoostingRegressor(n_estimators=9, loss="poisson"),
]


def named(models):
    return pytest.mark.parametrize(
        "model", models, ids=[f"{type(one).__name__}{number}" for number, one in enumerate(models)]
    )


def score_of(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict_proba(X)


@named(CLASSIFIERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(model, n_classes):
    X, y = load_iris(return_X_y=True, as_frame=True)
    X, y = X[y < n_classes], np.array(["a", "b", "c"])[y[y < n_classes]]
    model = clone(model).fit(X, y)
    found = model.contributions(X)
    np.testing.assert_allclose(found.scores, score_of(model, X), rtol=1e-9, atol=1e-12)
    by_rows = model.contributions(X, background=X[::7])
    np.testing.assert_allclose(by_rows.scores, score_of(model, X), rtol=1e-9, atol=1e-12)
    mean = score_of(model, X[::7]).mean(axis=0)
    np.testing.assert_allclose(by_rows.base_values, mean, rtol=1e-9, atol=1e-12)
    pairs = model.contributions(X, interactions=True)
    np.testing.assert_allclose(pairs.values.sum(axis=2), found.values, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(pairs.values, np.swapaxes(pairs.values, 1, 2), rtol=1e-9, atol=1e-12)
    answers = model.contributions(X, of="answer").scores
    expected = model.predict_proba(X)
    np.testing.assert_allclose(answers, expected[:, 1] if answers.ndim == 1 else expected, atol=1e-9)


@named(REGRESSORS)
def test_numbers(model):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = clone(model).fit(X[:200], y[:200])
    for message in (
        model.contributions(X, of="answer"),
        model.contributions(X[200:], background=X[:30], of="answer"),
        model.contributions(X[:50], interactions=True, of="answer"),
    ):
        np.testing.assert_allclose(message.scores, model.predict(message.X), rtol=1e-9)
    assert message.names == tuple(X.columns)


def test_a_small_forest_by_definition():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0]) * np.nan_to_num(X[:, 1])
    weights = rng.integers(1, 4, size=60)
    forest = hb.RandomForestRegressor(3, max_depth=3, **SEEDED).fit(X, y, sample_weight=weights)
    found = forest.contributions(X)
    for row in range(5):
        worth = sum(
            worth_of_sets(tree, lambda node, t=tree: t.value[node, 0], X[row], None, [0] * 4) / 3
            for tree in forest._model.trees
        )
        np.testing.assert_allclose(found[row], shapley_values(worth)[:, 0], atol=1e-12)
        assert found.base_values == pytest.approx(worth[0, 0])


def test_a_stump_by_hand():
    # 3 of 4 rows are at most 0.5 and have the mean 1, the other has 5: an unknown row has 2.
    tree = hb.DecisionTreeRegressor().fit([[0.0, 9], [0, 9], [0, 9], [1, 9]], [1.0, 1, 1, 5])
    found = tree.contributions([[1.0, 7], [0, 7]])
    assert found.base_values == 2.0
    np.testing.assert_array_equal(found, [[3.0, 0], [-1, 0]])
    # Against one row on the other side all of the difference is put down to the column.
    found = tree.contributions([[1.0, 7]], background=[[0.0, 7]])
    assert found.base_values == 1.0
    np.testing.assert_array_equal(found, [[4.0, 0]])


def test_columns_that_only_some_members_have_seen():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    y = X @ [1, 2, 0, 0, 3]
    bag = hb.BaggingRegressor(
        hb.DecisionTreeRegressor(max_bins=30), n_estimators=4, max_features=2, **SEEDED
    ).fit(X, y)
    found = bag.contributions(X)
    seen = np.unique(np.concatenate(bag.estimators_features_))
    assert not np.delete(found.values, seen, axis=1).any()
    np.testing.assert_allclose(found.scores, bag.predict(X), rtol=1e-9)


def test_several_outputs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    numbers = hb.RandomForestRegressor(4, **SEEDED).fit(X, X[:, :2])
    found = numbers.contributions(X)
    assert found.shape == (80, 3, 2)
    np.testing.assert_allclose(found.scores, numbers.predict(X), rtol=1e-9, atol=1e-12)
    labels = np.stack([X[:, 0] > 0, np.digitize(X[:, 1], [-0.5, 0.5])], axis=1)
    classes = hb.DecisionTreeClassifier(max_depth=3).fit(X, labels)
    found = classes.contributions(X)
    assert found.shape == (80, 3, 2, 3)
    np.testing.assert_allclose(found.scores[:, 1], classes.predict_proba(X)[1], atol=1e-12)
    with pytest.raises(ValueError, match="not fit into a flat table"):
        found.to_frame()


@pytest.mark.parametrize("missing", ["learn", "majority", "surrogate", "fractional", "available"])
def test_every_policy_of_missing_values(missing):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"a": rng.normal(size=120), "b": rng.choice(["x", "y", "z"], size=120), "c": rng.normal(size=120)}
    )
    y = frame["a"] + (frame["b"] == "x") + 0.1 * frame["c"]
    frame = frame.mask(rng.random(frame.shape) < 0.2)
    more = {"max_depth": 2} if missing == "available" else {}
    forest = hb.RandomForestRegressor(6, missing=missing, **more, **SEEDED).fit(frame, y)
    holes = frame.mask(rng.random(frame.shape) < 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoAnswerWarning)
        expected = forest.predict(holes)
    found = forest.contributions(holes)
    np.testing.assert_allclose(found.scores, expected, rtol=1e-9)
    assert np.ndim(found.base_values) == (missing == "available")
    if missing == "fractional":  # a row that lacks a value goes as an unknown row goes
        assert not found.values[holes.isna().to_numpy()].any()


def test_frames_and_arrays():
    X, y = load_iris(return_X_y=True, as_frame=True)
    tree = hb.DecisionTreeClassifier(max_depth=2).fit(X, y)
    found = tree.contributions(X)
    frame = found.to_frame()
    assert frame[0].columns.tolist() == ["base", *X.columns]
    np.testing.assert_allclose(frame[1].sum(axis=1), tree.predict_proba(X)[:, 1], atol=1e-12)
    np.testing.assert_array_equal(found.of(1).values, found[:, :, 1])
    np.testing.assert_array_equal(np.asarray(found), found.values)
    assert len(found) == 150
    with pytest.raises(ValueError, match="outputs are: 0, 1, 2"):
        found.of(7)
    with pytest.raises(ValueError, match="rows x columns x columns"):
        tree.contributions(X, interactions=True).to_frame()
    unnamed = hb.DecisionTreeRegressor(max_depth=2).fit(X.to_numpy(), y)
    assert unnamed.contributions(X.to_numpy()).to_frame().columns.tolist() == ["base", "x0", "x1", "x2", "x3"]


def test_what_cannot_be_explained_says_so():
    X, y = load_iris(return_X_y=True, as_frame=True)
    tree = hb.DecisionTreeClassifier(max_depth=2)
    with pytest.raises(Exception, match="not fitted"):
        tree.contributions(X)
    tree.fit(X, y)
    with pytest.raises(ValueError, match=r"(?s)background: .*petal"):
        tree.contributions(X, background=X.iloc[:, :2])
    with pytest.raises(TypeError, match="background: X is 'train', a text"):
        tree.contributions(X, background="train")
    with pytest.raises(ValueError, match="sepal width"):
        tree.contributions(X.drop(columns="sepal width (cm)"))
    with pytest.raises(ValueError, match="of must be 'score' or 'answer'"):
        tree.contributions(X, of="probability")
    many = np.random.default_rng(0).normal(size=(200, 15))
    median = hb.AdaBoostRegressor(hb.DecisionTreeRegressor(), n_estimators=3, random_state=0)
    with pytest.raises(ValueError, match=r"median of its members.* 15 columns, and 14 are the most"):
        median.fit(many, many.sum(axis=1)).contributions(many)
    with pytest.raises(ValueError, match="member 0 is a KNeighborsClassifier"):
        hb.BaggingClassifier(hb.KNeighborsClassifier(), n_estimators=2).fit(X, y).contributions(X)


def test_trees_without_the_weight_of_their_rows_need_a_background():
    X, y = load_iris(return_X_y=True)
    tree = hb.DecisionTreeClassifier(max_depth=2).fit(X, y)
    arrays = tree_to_arrays(tree._own_tree())
    arrays["weighted_n_node_samples"] = np.zeros(tree.tree_.node_count)
    tree._model = replace(tree._model, trees=(tree_from_arrays(arrays, tree._model.schema),))
    with pytest.raises(ValueError, match="give a background"):
        tree.contributions(X)
    np.testing.assert_allclose(tree.contributions(X, background=X).scores, tree.predict_proba(X), atol=1e-12)


def test_the_same_for_any_number_of_threads():
    X, y = load_diabetes(return_X_y=True)
    model = hb.GradientBoostingRegressor(n_estimators=20).fit(X, y)
    one = model.set_params(n_jobs=1).contributions(X)
    two = model.set_params(n_jobs=2).contributions(X)
    assert one.values.tobytes() == two.values.tobytes()


@pytest.mark.parametrize(
    "model",
    [
        hb.DecisionTreeRegressor(max_depth=4),
        hb.RandomForestRegressor(4, random_state=0),
        hb.GradientBoostingRegressor(n_estimators=4),
    ],
)
def test_a_model_without_training_counts_asks_for_a_background(model, tmp_path):
    X, y = load_diabetes(return_X_y=True)
    model = clone(model).fit(X, y)
    hb.save(model, tmp_path / "m", slim=True)
    slim = hb.load(tmp_path / "m")
    with pytest.raises(ValueError, match=r"give a background: contributions\(X, background="):
        slim.contributions(X)
    with pytest.raises((ValueError, AttributeError), match=r"weight of the rows|predict_only=True"):
        slim.explain(X[0])
    found = slim.contributions(X[:9], background=X[:20])
    np.testing.assert_array_equal(found, model.contributions(X[:9], background=X[:20]))
