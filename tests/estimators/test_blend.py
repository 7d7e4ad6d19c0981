"""Blends: weights by hand, answers to unseen rows by refitting, time limits, files, and bad input."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import KFold

import hornbeam as hb
from hornbeam.errors import MemberError
from hornbeam.recipes.blend import greedy_weights, losses_of
from hornbeam.recipes.clock import Clock

FEW_OF_CLASSES = [
    ("forest", hb.RandomForestClassifier(20)),
    ("line", LogisticRegression(max_iter=1000)),
    ("near", hb.KNeighborsClassifier(10)),
]
FEW_OF_NUMBERS = [("boosting", hb.GradientBoostingRegressor(n_members=2)), ("line", Ridge())]


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.fixture(scope="module")
def diabetes():
    return load_diabetes(return_X_y=True)


# --- Weights -----------------------------------------------------------------------------------------------


def test_weights_are_those_of_adding_the_best_time_and_again():
    """The recipe spelled out: every step tries every member, the best prefix counts."""
    generator = np.random.default_rng(0)
    for _ in range(20):
        y = generator.normal(size=30)
        answers = [y[:, np.newaxis] + generator.normal(size=(30, 1)) for _ in range(4)]
        chosen, best, best_loss = [], None, np.inf
        for _ in range(100):
            losses = [
                np.mean((np.mean([answers[m][:, 0] for m in [*chosen, new]], axis=0) - y) ** 2)
                for new in range(4)
            ]
            chosen.append(int(np.argmin(losses)))
            if min(losses) < best_loss:
                best_loss, best = min(losses), list(chosen)
        expected = np.bincount(best, minlength=4) / len(best)
        np.testing.assert_allclose(greedy_weights(answers, None, y), expected)


def test_weights_of_two_members_are_near_the_best_of_all_weights():
    generator = np.random.default_rng(1)
    codes = generator.integers(3, size=200)
    shares = [
        generator.dirichlet(np.ones(3), size=200) * 0.5 + np.eye(3)[codes] * 0.5 * strength
        for strength in (0.9, 0.8)
    ]
    shares = [each / each.sum(axis=1, keepdims=True) for each in shares]
    weights = greedy_weights(shares, codes, codes.astype(float))
    grid = np.linspace(0, 1, 1001)
    losses = [losses_of(w * shares[0] + (1 - w) * shares[1], codes, codes).mean() for w in grid]
    assert abs(weights[0] - grid[np.argmin(losses)]) <= 0.011  # steps of one in a hundred
    assert weights.sum() == pytest.approx(1)


def test_a_useless_member_has_no_part_in_a_blend(diabetes):
    X, y = diabetes

    class Noise(Ridge):
        def predict(self, X):
            return 1e4 * np.sin(1e6 * np.asarray(X)[:, 0])

    model = hb.BlendRegressor([("line", Ridge()), ("noise", Noise())], random_state=0).fit(X, y)
    assert model.weights_ == {"line": 1.0} and list(model.named_estimators_) == ["line"]
    assert [record["member"] for record in model.members_] == ["line", "noise"]
    assert model.members_[1]["weight"] == model.members_[1]["adds"] == 0


# --- Answers to rows that were not seen --------------------------------------------------------------------


def test_boosting_keeps_what_members_say_of_rows_they_left_out(iris):
    X, y = iris
    model = hb.GradientBoostingClassifier(random_state=0).fit(X, y)
    given = model.oof_decision_function_[np.arange(len(y)), y]
    assert -np.log(given).mean() == pytest.approx(-model.validation_score_.max())
    weights = np.where(np.arange(len(y)) % 7 == 0, 0.0, 1.0)
    model.fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(np.isnan(model.oof_decision_function_).any(axis=1), weights == 0)
    model.set_params(n_estimators=5).fit(X, y)
    assert not hasattr(model, "oof_decision_function_")


def test_members_without_answers_of_their_own_are_refitted_in_folds(diabetes):
    """A blend of one member: its record is the error of five folds, and none of a row's own target."""
    X, y = diabetes
    model = hb.BlendRegressor([("line", Ridge(0.01))], random_state=3).fit(X, y)
    record = model.members_[0]
    similar = []
    for seed in range(5):
        found = np.empty(len(y))
        for fit, judge in KFold(5, shuffle=True, random_state=seed).split(X):
            found[judge] = Ridge(0.01).fit(X[fit], y[fit]).predict(X[judge])
        similar.append(np.sqrt(np.mean((found - y) ** 2)))
    assert min(similar) - 0.5 < record["RMSE"] < max(similar) + 0.5
    line = Ridge(0.01).fit(X, y)  # whose columns are added one after the other, in any company
    by_hand = sum(column * weight for column, weight in zip(X.T, line.coef_, strict=True)) + line.intercept_
    np.testing.assert_array_equal(model.predict(X), by_hand)


def test_rows_of_a_group_are_not_divided(iris):
    """Each row is there four times: a neighbour that may see the others knows every answer."""
    X, y = iris
    generator = np.random.default_rng(0)
    y = generator.permutation(y)
    X, y, groups = np.tile(X, (4, 1)), np.tile(y, 4), np.tile(np.arange(len(y)), 4)
    member = [("near", hb.KNeighborsClassifier(1))]
    apart = hb.BlendClassifier(member, random_state=0).fit(X, y).members_[0]["log loss"]
    together = hb.BlendClassifier(member, random_state=0).fit(X, y, groups=groups).members_[0]["log loss"]
    assert apart < 1 < together


# --- The model ---------------------------------------------------------------------------------------------


def test_a_blend_is_the_mean_of_its_members(iris):
    X, y = iris
    model = hb.BlendClassifier(FEW_OF_CLASSES, random_state=0).fit(X, y)
    mean = sum(w * model.named_estimators_[name].predict_proba(X) for name, w in model.weights_.items())
    np.testing.assert_allclose(model.predict_proba(X), mean, rtol=1e-15)
    assert sum(model.weights_.values()) == pytest.approx(1) and len(model.weights_) > 1
    losses = {record["member"]: record["log loss"] for record in model.members_}
    assert list(losses.values()) == sorted(losses.values())
    assert all(np.isfinite(record["adds"]) for record in model.members_)
    assert f"The mean of {len(model.weights_)} members" in model.verdict_


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_same_seed_gives_the_same_blend_for_any_number_of_threads(iris, n_jobs):
    X, y = iris
    one, other = (hb.BlendClassifier(FEW_OF_CLASSES, random_state=5, n_jobs=k).fit(X, y) for k in (1, n_jobs))
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))


@pytest.mark.parametrize("seed", [0, None])
def test_the_settings_of_a_fit_that_ran_out_of_time_fit_the_same_again(diabetes, seed):
    X, y = diabetes
    members = [
        *FEW_OF_NUMBERS,
        ("forest", hb.RandomForestRegressor(1000)),
        ("extra", hb.ExtraTreesRegressor(10)),
    ]
    model = hb.BlendRegressor(members, time_budget=0.5, random_state=seed).fit(X, y)
    again = hb.BlendRegressor(**model.settings_).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.weights_ == model.weights_ and again.time_budget is None


def test_a_simple_tree_is_shown_where_it_is_as_good():
    X = np.random.default_rng(0).uniform(size=(300, 3))
    near = [("near", hb.KNeighborsRegressor(10))]
    model = hb.BlendRegressor(near, random_state=0).fit(X, np.where(X[:, 0] > 0.5, 1.0, 0.0))
    assert model.simple_tree_.tree_.n_leaves == 2
    assert "A single pruned tree of 2 leaves is within one standard error" in model.verdict_
    line = [("line", Ridge())]
    assert hb.BlendRegressor(line, random_state=0).fit(X, X @ [1.0, 2.0, 3.0]).simple_tree_ is None


def test_members_of_trees_can_be_looked_into(iris):
    X, y = iris
    model = hb.BlendClassifier(FEW_OF_CLASSES, random_state=0).fit(X, y)
    trees = {name for name in model.weights_ if name == "forest"}
    assert set(model.importance()) == set(model.contributions(X[:3])) == trees


# --- Bad input ---------------------------------------------------------------------------------------------


def test_a_member_that_fails_is_named(iris):
    X, y = iris
    X = np.where(X > 7, np.nan, X)
    with pytest.raises(MemberError, match="Member 'line', a LogisticRegression, failed"):
        hb.BlendClassifier(FEW_OF_CLASSES).fit(X, y)


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "There is none"),
        ([("a", Ridge()), ("a", Ridge())], "given twice"),
        ([Ridge()], "not a pair"),
        ([("a", LogisticRegression(), 1)], "not a pair"),
    ],
)
def test_odd_members_are_refused(diabetes, members, message):
    with pytest.raises(ValueError, match=message):
        hb.BlendRegressor(members).fit(*diabetes)


def test_a_clock_counts_what_is_left():
    assert Clock(None).left == np.inf
    clock = Clock(1000)
    assert 0 <= clock.spent < 500 and clock.left + clock.spent == pytest.approx(1000, abs=1)


# --- Time limits of boosting -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "seconds"),
    [*itertools.product([{}, {"n_members": 1}, {"n_estimators": 100_000}], [1e-9, 0.05])],
)
def test_boosting_ends_in_time_and_its_settings_fit_the_same_again(diabetes, options, seconds):
    X, y = diabetes
    limited = hb.GradientBoostingRegressor(**options, subsample=0.7, time_budget=seconds, random_state=1)
    limited.fit(X, y)
    if seconds < 1e-3:
        assert limited.n_iter_ == limited.settings_["n_estimators"] == 1
    again = hb.GradientBoostingRegressor(**limited.settings_, random_state=1).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), limited.predict(X))
