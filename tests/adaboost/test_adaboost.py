"""AdaBoost: the laws of the algorithm, the same members by every way of fitting them, and bad input."""

import logging
import math
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import AdaBoostClassifier as Peer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier as PeerTree

import hornbeam as hb
from adaboost.boosted_members import boosted, noisy_problem, same_boosting
from hornbeam.warnings import DataWarning


class Unsaid(BaseEstimator):
    """Does not say that it is a classifier."""

    def fit(self, X: Any, y: Any) -> "Unsaid":
        self.first_, self.classes_ = KNeighborsClassifier(1).fit(X, y), np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return self.first_.predict(X)


# ------------------------------------------------------------------------------------------------------------
# The algorithm


def test_ten_points_on_which_the_gini_stump_is_not_that_of_least_error() -> None:
    X = np.arange(10.0).reshape(-1, 1)
    y = np.array([0, 0, 0, 0, 1, 0, 1, 0, 0, 1])
    least = boosted(X, y, n_estimators=1)
    gini = boosted(X, y, n_estimators=1, estimator=hb.DecisionTreeClassifier(max_depth=1))
    assert (least._model.trees[0].threshold[0], least.estimator_errors_[0]) == (8.5, 0.2)
    assert (gini._model.trees[0].threshold[0], gini.estimator_errors_[0]) == (3.5, 0.3)


def test_the_unnormalised_form_gives_the_same_classifier() -> None:
    """Only mistakes are multiplied, by e^alpha with alpha = ln((1 - err) / err), and weights never normed."""
    X, y = noisy_problem()
    model = boosted(X, y)
    weights = np.ones(len(y))
    votes = np.zeros(len(y))
    for member, beta in zip(model.estimators_, model.estimator_weights_, strict=True):
        wrong = member.predict(X) != y
        error = weights[wrong].sum() / weights.sum()
        alpha = math.log((1 - error) / error)
        assert alpha == pytest.approx(2 * beta, rel=1e-9)
        weights[wrong] *= math.exp(alpha)
        votes += alpha * (2 * member.predict(X) - 1)
    np.testing.assert_allclose(votes, 2 * model.decision_function(X), rtol=1e-9)
    assert np.array_equal(model.predict(X), (votes > 0).astype(int))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rounds_are_what_the_formulas_say(n_classes: int) -> None:
    X, y = noisy_problem(n_classes=n_classes)
    model = boosted(X, y, learning_rate=0.7)
    weights = np.full(len(y), 1 / len(y))
    for t, member in enumerate(model.estimators_):
        np.testing.assert_allclose(model.sample_weights_[t], weights, rtol=1e-9)
        wrong = member.predict(X) != y
        error = weights[wrong].sum()
        beta = 0.7 / 2 * (math.log((1 - error) / error) + math.log(n_classes - 1))
        assert model.estimator_errors_[t] == pytest.approx(error, rel=1e-9)
        assert model.estimator_weights_[t] == pytest.approx(beta, rel=1e-9)
        weights = weights * np.exp(np.where(wrong, beta, -beta))
        weights /= weights.sum()


def test_training_error_stays_below_the_bound_and_the_last_member_knows_nothing_of_the_next_weights() -> None:
    X, y = noisy_problem()
    model = boosted(X, y, n_estimators=40)
    errors = model.estimator_errors_
    bound = np.cumprod(2 * np.sqrt(errors * (1 - errors)))
    training = [1 - score for score in model.staged_score(X, y)]
    assert len(training) == 40
    assert np.all(training <= bound + 1e-12)
    for member, following in zip(model.estimators_, model.sample_weights_[1:], strict=False):
        assert following[member.predict(X) != y].sum() == pytest.approx(0.5, abs=1e-12)


def test_the_default_members_have_least_weighted_error() -> None:
    X, y = noisy_problem(n_rows=60)
    model = boosted(X, y, n_estimators=5)
    for weights, error in zip(model.sample_weights_, model.estimator_errors_, strict=True):
        least = 1.0
        for column in X.T:
            for cut in column:
                for left in (0, 1):
                    wrong = np.where(column <= cut, left, 1 - left) != y
                    least = min(least, weights[wrong].sum(), weights[y != left].sum())
        assert error == pytest.approx(least, abs=1e-12)


def test_boosting_by_gini_stumps_is_that_of_scikit_learn() -> None:
    X, y = load_breast_cancer(return_X_y=True)
    stump = PeerTree(max_depth=1)
    ours = boosted(X, y, n_estimators=10, estimator=clone(stump))
    peer = Peer(stump, n_estimators=10, random_state=0).fit(X, y)
    np.testing.assert_allclose(ours.estimator_errors_, peer.estimator_errors_, rtol=1e-6)
    np.testing.assert_allclose(2 * ours.estimator_weights_, peer.estimator_weights_, rtol=1e-6)
    assert np.array_equal(ours.predict(X), peer.predict(X))


def test_a_member_without_error_decides_alone() -> None:
    X, y = noisy_problem(n_rows=80)
    model = boosted(X, y, estimator=hb.DecisionTreeClassifier())
    assert model.stop_reason_ == "no_error"
    assert model.estimator_errors_.tolist() == [0.0]
    assert model.estimator_weights_.tolist() == [math.inf]
    assert np.array_equal(model.predict_proba(X), np.eye(2)[y])
    assert [score for score in model.staged_score(X, y)] == [1.0]


def test_boosting_that_ends_at_a_member_without_error_forgets_the_others_from_there() -> None:
    X, y = noisy_problem(n_rows=80)
    weak, strong = DummyClassifier(strategy="prior"), PeerTree()
    model = hb.AdaBoostClassifier(_Turns([weak, strong])).fit(
        np.c_[X, np.arange(80)], y ^ (np.arange(80) < 9)
    )
    assert model.stop_reason_ == "no_error"
    assert len(model.estimator_weights_) == 2
    assert model.score(np.c_[X, np.arange(80)], y ^ (np.arange(80) < 9)) == 1.0
    stages = list(model.staged_predict(np.c_[X, np.arange(80)]))
    assert len(set(stages[0].tolist())) == 1
    assert np.array_equal(stages[1], model.predict(np.c_[X, np.arange(80)]))


class _Turns(PeerTree):
    """Fits another estimator at each turn; a stand-in for learners whose luck changes."""

    splitter, criterion = "best", "gini"  # scikit-learn 1.6 reads its tags from them

    def __init__(self, estimators: Any = None, random_state: Any = None) -> None:
        self.estimators = estimators
        self.random_state = random_state

    def __sklearn_clone__(self) -> Any:
        return self.estimators.pop(0)


def test_members_no_better_than_chance_are_dropped(caplog: pytest.LogCaptureFixture) -> None:
    """Of three a and two b with nothing to tell them apart, the first member gets the a; then it is even."""
    with caplog.at_level(logging.INFO, logger="hornbeam"), pytest.warns(DataWarning, match="constant"):
        model = boosted(np.zeros((5, 1)), list("aabba"))
    assert model.stop_reason_ == "no_better_than_chance"
    assert "stops after 1 member(s): the next has a weighted error of 0.5" in caplog.text
    assert model.estimator_errors_.tolist() == [0.4]
    assert model.predict([[0.0]]).tolist() == ["a"]


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.DataWarning")
def test_nothing_to_learn_leaves_one_member_without_a_say() -> None:
    model = boosted(np.zeros((4, 1)), ["b", "a", "b", "a"])
    assert (model.estimator_errors_.tolist(), model.estimator_weights_.tolist()) == ([0.5], [0.0])
    assert model.predict([[0.0]]).tolist() == ["a"]
    assert model.predict_proba([[0.0]]).tolist() == [[0.5, 0.5]]
    assert model.feature_importances_.tolist() == [0.0]


def test_shares_are_those_of_least_exponential_loss() -> None:
    X, y = noisy_problem()
    model = boosted(X, y)
    scores = model.decision_function(X)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * scores)), rtol=1e-12)
    X, y = load_iris(return_X_y=True)
    model = boosted(X, y, n_estimators=5)
    shares = model.predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert np.array_equal(np.argmax(shares, axis=1), np.argmax(model.decision_function(X), axis=1))


def test_test_error_may_fall_after_training_error_is_zero() -> None:
    X, y = make_classification(1200, 10, n_informative=8, flip_y=0, class_sep=0.7, random_state=2)
    model = hb.AdaBoostClassifier(hb.DecisionTreeClassifier(max_depth=4), n_estimators=150)
    model.fit(X[:600], y[:600])
    train = np.array(list(model.staged_score(X[:600], y[:600])))
    test = np.array(list(model.staged_score(X[600:], y[600:])))
    done = int(np.argmax(train == 1))
    assert train[done] == 1
    assert test[-1] > test[done]


def test_test_error_falls_on_letters_after_training_error_is_zero(shared_data: Callable[..., Any]) -> None:
    """The curves of docs/adaboost.md, on a quarter of the rows."""
    table = shared_data("letter")
    X, y = table.drop(columns="letter"), table["letter"]
    model = hb.AdaBoostClassifier(hb.DecisionTreeClassifier(max_depth=10), n_estimators=50)
    model.fit(X[:4000], y[:4000])
    train = 1 - np.array(list(model.staged_score(X[:4000], y[:4000])))
    test = 1 - np.array(list(model.staged_score(X[16_000:], y[16_000:])))
    done = int(np.argmax(train == 0))
    assert 0 < done < 30
    assert (train[done:] == 0).all()
    assert test[-1] < 0.9 * test[done]


# ------------------------------------------------------------------------------------------------------------
# Laws that hold for every estimator of the library


def test_threads_change_nothing() -> None:
    X, y = noisy_problem(n_rows=3000)
    models = [boosted(X, y, n_jobs=n_jobs) for n_jobs in (1, 2)]
    assert same_boosting(*models)


def test_weights_of_zero_are_rows_left_out() -> None:
    X, y = noisy_problem()
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    kept = weights > 0
    whole = hb.AdaBoostClassifier(n_estimators=5, keep_weights=True).fit(X, y, weights)
    part = hb.AdaBoostClassifier(n_estimators=5, keep_weights=True).fit(X[kept], y[kept], weights[kept])
    assert same_boosting(whole, part)
    assert whole.sample_weights_.shape == (5, len(y))
    assert not whole.sample_weights_[:, ~kept].any()
    assert np.array_equal(whole.sample_weights_[:, kept], part.sample_weights_)


@pytest.mark.parametrize("factor", [2.0**-900, 2.0**900])
def test_the_unit_of_weights_does_not_matter(factor: float) -> None:
    X, y = noisy_problem()
    weights = np.random.default_rng(0).random(len(y)) + 0.1
    models = [hb.AdaBoostClassifier(n_estimators=5).fit(X, y, weights * k) for k in (1.0, factor)]
    assert same_boosting(*models)


def test_tables_with_categories_and_gaps() -> None:
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue", "black"], 300)
    frame = pd.DataFrame(
        {"colour": pd.Categorical(colour), "size": np.where(rng.random(300) < 0.2, np.nan, rng.random(300))}
    )
    y = np.isin(colour, ["red", "blue"]) ^ (frame["size"].to_numpy() > 0.7)
    model = boosted(frame, y)
    assert model._model.trees[0].category_begin[0] == 0
    assert model.score(frame, y) > 0.75
    assert sorted({int(tree.feature[0]) for tree in model._model.trees}) == [0, 1]
    assert model.feature_names_in_.tolist() == ["colour", "size"]
    assert model.apply(frame).shape == (300, len(model.estimators_))
    assert "colour" in model.estimators_[0].rules()


def test_a_model_survives_pickling_and_refitting() -> None:
    X, y = noisy_problem()
    model = boosted(X, y)
    copy = pickle.loads(pickle.dumps(model))
    assert same_boosting(model, copy)
    assert np.array_equal(model.predict_proba(X), copy.predict_proba(X))
    model.set_params(keep_weights=False).fit(X[:, :3], y)
    assert not hasattr(model, "sample_weights_")
    assert model.n_features_in_ == 3


def test_importances_are_weighted_by_the_vote() -> None:
    X, y = noisy_problem()
    model = boosted(X, y)
    expected = np.zeros(6)
    for tree, beta in zip(model._model.trees, model.estimator_weights_, strict=True):
        expected[tree.feature[0]] += beta
    np.testing.assert_allclose(model.feature_importances_, expected / expected.sum())


# ------------------------------------------------------------------------------------------------------------
# Numbers


LOSSES = {"linear": lambda d: d, "square": lambda d: d**2, "exponential": lambda d: 1 - np.exp(-d)}


@pytest.mark.parametrize("loss", LOSSES)
def test_rounds_of_r2_are_what_drucker_says(loss: Any) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = hb.AdaBoostRegressor(n_estimators=8, loss=loss, keep_weights=True, learning_rate=0.5).fit(X, y)
    weights = np.full(len(y), 1 / len(y))
    for t, member in enumerate(model.estimators_):
        np.testing.assert_allclose(model.sample_weights_[t], weights, rtol=1e-9)
        distance = np.abs(member.predict(X) - y)
        losses = LOSSES[loss](distance / distance.max())
        error = (weights * losses).sum()
        beta = error / (1 - error)
        assert model.estimator_errors_[t] == pytest.approx(error, rel=1e-9)
        assert model.estimator_weights_[t] == pytest.approx(0.5 * math.log(1 / beta), rel=1e-9)
        weights = weights * beta ** (0.5 * (1 - losses))
        weights /= weights.sum()


def test_numbers_are_weighted_medians() -> None:
    X, y = load_diabetes(return_X_y=True)
    model = hb.AdaBoostRegressor(n_estimators=7).fit(X, y)
    said = np.array([member.predict(X) for member in model.estimators_])
    for row, answer in zip(said.T[:50], model.predict(X)[:50], strict=True):
        weight = model.estimator_weights_
        half = weight.sum() / 2
        candidates = [value for value in row if weight[row <= value].sum() >= half - 1e-12]
        assert answer == min(candidates)
    assert np.array_equal(list(model.staged_predict(X))[-1], model.predict(X))
    assert len(list(model.staged_score(X, y))) == 7


def test_a_regressor_that_is_exact_decides_alone_and_one_that_is_far_off_stays_without_a_say() -> None:
    X = np.arange(8.0).reshape(-1, 1)
    exact = hb.AdaBoostRegressor(hb.DecisionTreeRegressor()).fit(X, X[:, 0])
    assert (exact.stop_reason_, exact.estimator_weights_.tolist()) == ("no_error", [math.inf])
    assert exact.predict(X).tolist() == X[:, 0].tolist()
    y = np.array([1, -1, 1, -1, 1, -1, 1, -1.0])
    poor = hb.AdaBoostRegressor(LinearRegression()).fit(X, y)
    assert (poor.stop_reason_, poor.estimator_weights_.tolist()) == ("no_better_than_chance", [0.0])
    np.testing.assert_allclose(poor.predict(X), LinearRegression().fit(X, y).predict(X))


def test_huge_numbers_stay_finite() -> None:
    X = np.arange(6.0).reshape(-1, 1)
    y = np.array([-1.7e308, 1.7e308, -1.7e308, 1.6e308, 0.0, 1.0])
    model = hb.AdaBoostRegressor(hb.DecisionTreeRegressor(max_depth=1), n_estimators=4).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.estimator_errors_).all()


# ------------------------------------------------------------------------------------------------------------
# Bad input


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"learning_rate": 0}, "learning_rate must be a finite number > 0; got 0"),
        ({"learning_rate": math.nan}, "learning_rate must be a finite number > 0; got nan"),
        ({"learning_rate": math.inf}, "learning_rate must be"),
        ({"n_estimators": 0}, "n_estimators must be a whole number >= 1; got 0"),
        ({"n_estimators": True}, "n_estimators must be"),
        ({"resample": 1}, "resample must be"),
        ({"estimator": "stump"}, "estimator must be"),
        ({"estimator": hb.DecisionTreeClassifier}, "That is a class; make an object of it"),
        ({"estimator": 3}, "estimator must be None or an estimator of scikit-learn's kind; got 3"),
        ({"estimator": hb.DecisionTreeClassifier(max_depth=0)}, "max_depth must be"),
        (
            {"estimator": KNeighborsClassifier()},
            "KNeighborsClassifier doesn't support sample_weight.*resample",
        ),
        ({"estimator": Unsaid()}, "Unsaid doesn't support sample_weight"),
        ({"estimator": LinearRegression()}, "estimator must be a classifier; LinearRegression is not"),
    ],
    ids=str,
)
def test_parameters_that_cannot_be_are_named(parameters: dict[str, Any], says: str) -> None:
    X, y = noisy_problem(n_rows=20)
    with pytest.raises(ValueError, match=says.replace("()", r"\(\)")):
        hb.AdaBoostClassifier(**parameters).fit(X, y)


def test_who_does_not_say_what_it_predicts_is_taken() -> None:
    X, y = noisy_problem(n_rows=20)
    unsaid = hb.AdaBoostClassifier(Unsaid(), resample=True, random_state=0, n_estimators=3).fit(X, y)
    said = hb.AdaBoostClassifier(KNeighborsClassifier(1), resample=True, random_state=0, n_estimators=3)
    assert np.array_equal(unsaid.predict_proba(X), said.fit(X, y).predict_proba(X))


def test_a_regressor_takes_regressors() -> None:
    X, y = noisy_problem(n_rows=20)
    with pytest.raises(ValueError, match="estimator must be a regressor; LogisticRegression is not"):
        hb.AdaBoostRegressor(LogisticRegression()).fit(X, y)
    with pytest.raises(ValueError, match="loss must be 'linear', 'square' or 'exponential'"):
        hb.AdaBoostRegressor(loss="quadratic").fit(X, y)


def test_a_fit_that_fails_leaves_the_model_as_it_was() -> None:
    X, y = noisy_problem()
    model = boosted(X, y)
    before = model.predict_proba(X)

    class Broken(DummyClassifier):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            raise RuntimeError("no luck")

    for estimator in (Broken(), KNeighborsClassifier()):
        with pytest.raises((RuntimeError, ValueError)):
            clone(model).set_params(estimator=estimator).fit(X, y)
        with pytest.raises((RuntimeError, ValueError)):
            model.set_params(estimator=estimator).fit(X[:, :2], y)
        assert np.array_equal(model.set_params(estimator=None).predict_proba(X), before)


class NearestMean(ClassifierMixin, BaseEstimator):
    """Takes X of any number of dimensions: the class of the nearest mean, entry by entry."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        self.classes_ = np.unique(y)
        of_class = [y == label for label in self.classes_]
        self.means_ = [np.average(X[rows], axis=0, weights=sample_weight[rows]) for rows in of_class]
        return self

    def predict(self, X: Any) -> Any:
        gaps = [((X - mean) ** 2).reshape(len(X), -1).sum(axis=1) for mean in self.means_]
        return self.classes_[np.argmin(gaps, axis=0)]


@pytest.mark.parametrize("weights", [None, np.repeat([0.0, 1.0], 15)])
def test_members_that_take_more_dimensions_are_given_them(weights: Any) -> None:
    """A row may be a table, such as readings over time: the same model as with its entries in a row."""
    X = np.random.default_rng(0).normal(size=(30, 3, 4))
    y = (X.sum(axis=(1, 2)) > 0).astype(int)
    model = hb.AdaBoostClassifier(NearestMean(), n_estimators=5).fit(X, y, weights)
    flat = hb.AdaBoostClassifier(NearestMean(), n_estimators=5).fit(X.reshape(30, -1), y, weights)
    assert model.n_features_in_ == 3
    np.testing.assert_allclose(model.predict_proba(X), flat.predict_proba(X.reshape(30, -1)))
    with pytest.raises(ValueError, match="X has 2 features, but AdaBoostClassifier is expecting 3"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match=r"Found array with dim 3.*Reshape your data"):
        hb.AdaBoostClassifier().fit(X, y)


def test_members_that_answer_wrongly_are_named() -> None:
    class Short(DummyClassifier):
        def predict(self, X: Any) -> Any:
            return super().predict(X)[:-1]

    X, y = noisy_problem(n_rows=20)
    with pytest.raises(ValueError, match=r"predictions of Short have shape \(19,\).*20 rows"):
        hb.AdaBoostClassifier(Short()).fit(X, y)


def test_weights_too_small_to_count_are_said_once() -> None:
    X, y = noisy_problem()
    weights = np.ones(len(y))
    weights[:3] = 1e-30
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        boosted_once = hb.AdaBoostClassifier(n_estimators=5).fit(X, y, weights)
    assert len(boosted_once.estimators_) == 5
    assert [str(w.message)[:8] for w in caught] == ["3 row(s)"]


def test_a_single_row_and_a_single_class() -> None:
    with pytest.warns(DataWarning, match="single row"):
        model = boosted([[1.0]], ["a"])
    assert model.predict([[2.0]]).tolist() == ["a"]
    model = boosted([[1.0], [2.0]], ["a", "a"])
    assert model.predict_proba([[1.0]]).tolist() == [[1.0]]


@pytest.mark.parametrize("seconds", [1e-9, 0.05])
@pytest.mark.parametrize("resample", [False, True])
@pytest.mark.parametrize("cls", [hb.AdaBoostClassifier, hb.AdaBoostRegressor])
def test_rounds_that_were_done_in_time_are_the_model(cls, resample: bool, seconds: float, tmp_path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = rng.integers(0, 2, 300) if cls is hb.AdaBoostClassifier else rng.normal(size=300)
    options = {"learning_rate": 1e-4, "resample": resample, "random_state": 0}
    model = cls(n_estimators=1_000_000, time_budget=seconds, **options).fit(X, y)
    n_rounds = len(model.estimators_)
    if seconds < 1e-3:
        assert n_rounds == 1
    if model.stop_reason_ != "no_better_than_chance":  # a drawn member may be
        assert model.stop_reason_ == "time_budget"
    again = cls(n_estimators=n_rounds, **options).fit(X, y)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.estimator_weights_, model.estimator_weights_)
    hb.save(model, tmp_path / "model.hb")
    assert hb.load(tmp_path / "model.hb").stop_reason_ == model.stop_reason_
