"""Bagging of any estimator; trees that share an encoding answer as trees fitted one by one do."""

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from core.growing import same_bits
from model_files import same_trees, trees_of
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import BaggingClassifier as PeerClassifier
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import hornbeam as hb
from hornbeam.warnings import MembersWarning, OutOfBagWarning

STRUCTURE = ("feature", "threshold", "n_node_samples", "missing_branch")


def problem(n_rows: int = 120) -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        n_rows, 6, n_informative=4, n_classes=3, n_clusters_per_class=1, random_state=0
    )
    return X.round(1), np.array(["low", "mid", "high"])[y]


class Foreign(ClassifierMixin, BaseEstimator):
    """A tree in the clothes of a stranger, so that bagging fits its members one by one."""

    def __init__(self, tree: Any = None, random_state: Any = None) -> None:
        self.tree = tree
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "Foreign":
        self.tree_ = self.tree.set_params(random_state=self.random_state).fit(X, y, sample_weight)
        self.classes_ = getattr(self.tree_, "classes_", None)
        return self

    def predict(self, X: Any) -> Any:
        return self.tree_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.tree_.predict_proba(X)


class ForeignNumbers(RegressorMixin, Foreign):
    pass


def frame_problem() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    colour = rng.choice(["red", "green", "blue", "grey", "black"], 150)
    size = np.where(rng.random(150) < 0.2, np.nan, rng.normal(size=150).round(1))
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "size": size, "noise": rng.normal(size=150)})
    return frame, (np.isin(colour, ["red", "grey"]) ^ (np.nan_to_num(size) > 0)).astype(int)


@pytest.mark.parametrize(
    ("tree", "options"),
    [
        ({}, {}),
        ({"max_depth": 3, "min_samples_leaf": 4}, {"voting": "hard"}),
        ({"max_features": 2, "criterion": "entropy"}, {"max_samples": 0.5}),
        ({"splitter": "random"}, {"bootstrap": False, "max_samples": 0.6}),
        ({"class_weight": "balanced", "max_leaf_nodes": 6}, {"stratify": True}),
        ({"class_weight": {"low": 3.0}}, {}),
        ({"class_weight": {"low": 0.0}}, {}),
        ({"min_weight_fraction_leaf": 0.1}, {}),
        ({"ccp_alpha": 0.01}, {}),
        ({}, {"max_features": 3}),
        ({"max_features": 2}, {"max_features": 3}),
        ({}, {"max_features": 6, "bootstrap_features": True}),
        ({"max_bins": 5}, {}),
        ({"min_samples_leaf": 0.1}, {}),
        ({"prune": "pessimistic"}, {}),
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_one_encoding_gives_what_members_fitted_one_by_one_give(
    tree: dict[str, Any], options: dict[str, Any], weighted: bool
) -> None:
    X, y = problem()
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float) if weighted else None
    member = hb.DecisionTreeClassifier(**tree)
    settings = {"n_estimators": 6, "random_state": 5, "oob_score": options.get("bootstrap", True), **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OutOfBagWarning)
        fast = hb.BaggingClassifier(member, **settings).fit(X, y, weights)
        slow = hb.BaggingClassifier(Foreign(member), **settings).fit(X, y, weights)
    assert slow._grown is None
    np.testing.assert_array_equal(fast.predict(X), slow.predict(X))
    np.testing.assert_allclose(fast.predict_proba(X), slow.predict_proba(X), rtol=1e-12)
    for one, other in zip(fast.estimators_, slow.estimators_, strict=True):
        if not settings.get("max_features"):
            assert same_bits(one.tree_, other.tree_.tree_, STRUCTURE)
            weights_of = [tree.weighted_n_node_samples for tree in (one.tree_, other.tree_.tree_)]
            np.testing.assert_allclose(*weights_of, rtol=1e-12)
    for attribute in ("estimators_samples_", "estimators_features_"):
        for one, other in zip(getattr(fast, attribute), getattr(slow, attribute), strict=True):
            assert np.array_equal(one, other)
    if settings["oob_score"]:
        np.testing.assert_allclose(fast.oob_decision_function_, slow.oob_decision_function_, rtol=1e-12)
        assert fast.oob_score_ == slow.oob_score_


@pytest.mark.parametrize("tree", [{}, {"criterion": "poisson"}, {"max_depth": 3, "max_features": 2}])
def test_one_encoding_gives_the_same_numbers(tree: dict[str, Any]) -> None:
    X, y = make_friedman1(100, random_state=0)
    member = hb.DecisionTreeRegressor(**tree)
    settings: dict[str, Any] = {"n_estimators": 30, "random_state": 1, "oob_score": True}
    fast = hb.BaggingRegressor(member, **settings).fit(X, y)
    slow = hb.BaggingRegressor(ForeignNumbers(member), **settings).fit(X, y)
    assert fast._grown is not None and slow._grown is None
    np.testing.assert_allclose(fast.predict(X), slow.predict(X), rtol=1e-12)
    np.testing.assert_allclose(fast.oob_prediction_, slow.oob_prediction_, rtol=1e-12)


def test_one_encoding_gives_the_same_on_categories_and_gaps() -> None:
    frame, y = frame_problem()
    settings: dict[str, Any] = {"n_estimators": 20, "random_state": 1}
    fast = hb.BaggingClassifier(hb.DecisionTreeClassifier(), **settings).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # members meet categories that their samples lack
        slow = hb.BaggingClassifier(Foreign(hb.DecisionTreeClassifier()), **settings).fit(frame, y)
        np.testing.assert_allclose(fast.predict_proba(frame), slow.predict_proba(frame), rtol=1e-12)


def test_a_forest_of_all_features_is_bagging_draw_by_draw() -> None:
    X, y = problem()
    bagging = hb.BaggingClassifier(hb.DecisionTreeClassifier(), 8, random_state=4).fit(X, y)
    forest = hb.RandomForestClassifier(8, max_features=None, smoothing=0, random_state=4).fit(X, y)
    assert same_trees(bagging, forest)
    assert np.array_equal(bagging.predict_proba(X), forest.predict_proba(X))


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (KNeighborsClassifier(3), {}),
        (LogisticRegression(), {"max_features": 0.5}),
        (SVC(), {"voting": "hard"}),
        (make_pipeline(StandardScaler(), LogisticRegression()), {}),
        (hb.RandomForestClassifier(3), {}),
    ],
)
def test_any_estimator(estimator: Any, options: dict[str, Any]) -> None:
    X, y = problem()
    bag = hb.BaggingClassifier(estimator, 30, random_state=0, oob_score=True, **options).fit(X, y)
    peer = PeerClassifier(
        estimator, 30, random_state=0, oob_score=True, max_features=options.get("max_features", 1.0)
    )
    peer.fit(X, y)
    assert abs(bag.oob_score_ - peer.oob_score_) < 0.1
    again = hb.BaggingClassifier(estimator, 30, random_state=0, oob_score=True, **options).fit(X, y)
    assert np.array_equal(bag.predict_proba(X), again.predict_proba(X))
    frame = pd.DataFrame(X, columns=[f"c{j}" for j in range(6)])
    named = hb.BaggingClassifier(estimator, 3, random_state=0, **options).fit(frame, y)
    assert list(named.feature_names_in_) == list(frame.columns)
    assert np.array_equal(named.predict(frame), named.predict(frame))


def test_warm_start_adds_members() -> None:
    X, y = make_friedman1(80, random_state=0)
    for estimator in (KNeighborsRegressor(2), hb.DecisionTreeRegressor(), Ridge()):
        whole = hb.BaggingRegressor(estimator, 8, random_state=0).fit(X, y)
        parts = hb.BaggingRegressor(estimator, 5, random_state=0, warm_start=True).fit(X, y)
        parts.set_params(n_estimators=8).fit(X, y)
        assert np.array_equal(whole.predict(X), parts.predict(X))
    with pytest.raises(ValueError, match="the last fit, with its estimator"):
        parts.set_params(estimator=hb.DecisionTreeRegressor(), n_estimators=9).fit(X, y)


def test_weights_of_rows_that_members_cannot_take_are_drawn() -> None:
    X, y = problem()
    weights = np.where(y == "low", 5.0, 1.0)
    bag = hb.BaggingClassifier(KNeighborsClassifier(), 50, random_state=0).fit(X, y, weights)
    drawn = np.mean([np.mean(y[sample] == "low") for sample in bag.estimators_samples_])
    share = weights[y == "low"].sum() / weights.sum()
    assert drawn == pytest.approx(share, abs=0.02)
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        bag.set_params(bootstrap=False, max_samples=0.5).fit(X, y, weights)


class Fails(ClassifierMixin, BaseEstimator):
    def fit(self, X: Any, y: Any) -> "Fails":
        if len(np.unique(y)) < 3:
            raise ValueError("too few classes")
        if len(np.unique(X[:, 0])) < 40:
            raise RuntimeError("no luck")
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[0])

    def predict_proba(self, X: Any) -> Any:
        return np.full((len(X), 3), 1 / 3)


def test_a_member_that_fails_is_named() -> None:
    X, y = problem()
    y[:] = "low"
    y[0], y[1] = "mid", "high"
    bag = hb.BaggingClassifier(Fails(), 10, random_state=0, n_jobs=1)
    with pytest.raises(
        ValueError, match=r"Member \d, a Fails, failed to fit: too few classes Its sample lacks"
    ):
        bag.fit(X, y)
    with pytest.raises(RuntimeError, match=r"Member 0, a Fails, failed to fit: no luck"):
        bag.set_params(max_samples=30, stratify=True).fit(X, problem()[1])
    assert not hasattr(bag, "classes_")
    assert not hasattr(bag, "n_features_in_")


def test_members_without_shares_vote_by_their_classes() -> None:
    X, y = problem()
    soft = hb.BaggingClassifier(Perceptron(), random_state=0, oob_score=True).fit(X, y)
    hard = hb.BaggingClassifier(Perceptron(), voting="hard", random_state=0).fit(X, y)
    votes = np.stack([member.predict(X) for member in hard.estimators_])
    expected = np.stack([(votes == label).mean(axis=0) for label in hard.classes_], axis=1)
    np.testing.assert_allclose(hard.predict_proba(X), expected)
    assert np.array_equal(soft.predict_proba(X), hard.predict_proba(X))
    answered = np.isfinite(soft.oob_decision_function_).all(axis=1)
    np.testing.assert_allclose(soft.oob_decision_function_[answered].sum(axis=1), 1)


@pytest.mark.parametrize("max_features", [1.0, 0.5])
def test_decision_functions_are_averaged(max_features: float) -> None:
    X, y = problem()
    options = {"max_features": max_features, "random_state": 0}
    bag = hb.BaggingClassifier(LogisticRegression(), 5, **options).fit(X, y)
    expected = np.mean(
        [
            member.decision_function(X[:, columns])
            for member, columns in zip(bag.estimators_, bag.estimators_features_, strict=True)
        ],
        axis=0,
    )
    np.testing.assert_allclose(bag.decision_function(X), expected)
    two = hb.BaggingClassifier(SVC(), 5, **options).fit(X, y == "low")
    assert two.decision_function(X).shape == (len(X),)
    assert np.mean((two.decision_function(X) > 0) == (y == "low")) > 0.9


def test_decision_functions_there_are_none_of() -> None:
    X, y = problem()
    bag = hb.BaggingClassifier(n_estimators=3)
    assert not hasattr(bag, "decision_function")
    assert not hasattr(bag.fit(X, y), "decision_function")
    assert hasattr(hb.BaggingClassifier(LogisticRegression()), "decision_function")
    rare = np.where(np.arange(len(y)) < 2, "rare", y)
    bag = hb.BaggingClassifier(LogisticRegression(), 10, max_samples=30, random_state=0).fit(X, rare)
    with pytest.raises(ValueError, match=r"sample of member \d+ lacks the class 'rare'.*stratify=True"):
        bag.decision_function(X)


class ForgetsItself(RegressorMixin, BaseEstimator):
    """An estimator whose fit returns nothing."""

    def fit(self, X: Any, y: Any) -> None:
        self.mean_ = float(np.mean(y))

    def predict(self, X: Any) -> np.ndarray:
        return np.full(len(X), self.mean_)


def test_members_are_what_was_fitted_whatever_fit_returns() -> None:
    X, y = make_friedman1(50, random_state=0)
    bag = hb.BaggingRegressor(ForgetsItself(), 3, random_state=0).fit(X, y)
    assert bag.predict(X)[0] == pytest.approx(
        np.mean([y[sample].mean() for sample in bag.estimators_samples_])
    )


def test_classes_that_a_sample_lacks() -> None:
    X, _ = problem()
    y = np.array([0] * 118 + [1, 2])
    bag = hb.BaggingClassifier(KNeighborsClassifier(1), 10, random_state=0).fit(X, y)
    assert any(len(member.classes_) < 3 for member in bag.estimators_)
    shares = bag.predict_proba(X)
    assert shares.shape == (120, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": SVC}, "That is a class; make an object of it"),
        ({"estimator": 3}, "estimator must be"),
        ({"max_features": 7}, "max_features is 7, but X has only 6"),
        ({"max_samples": 12_001}, "max_samples is 12001, but there are only 120 rows"),
        ({"oob_score": True, "bootstrap": False}, "only available if bootstrap=True"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    X, y = problem()
    with pytest.raises(ValueError, match=message):
        hb.BaggingClassifier(**options).fit(X, y)


def test_groups_stay_together() -> None:
    X, y = problem()
    groups = np.arange(120) // 4
    for estimator in (hb.DecisionTreeClassifier(), LogisticRegression()):
        bag = hb.BaggingClassifier(estimator, 5, random_state=0).fit(X, y, groups=groups)
        for sample in bag.estimators_samples_:
            times = np.bincount(sample, minlength=120).reshape(30, 4)
            assert np.all(times == times[:, :1])


def test_trees_of_a_bag_are_its_members() -> None:
    X, y = problem()
    bag = hb.BaggingClassifier(hb.DecisionTreeClassifier(max_depth=3), 4, random_state=0).fit(X, y)
    shares = np.mean([member.predict_proba(X) for member in bag.estimators_], axis=0)
    np.testing.assert_allclose(bag.predict_proba(X), shares, rtol=1e-12)
    assert [member.get_depth() for member in bag.estimators_] == [tree.max_depth for tree in trees_of(bag)]
    assert isinstance(bag.estimator_, hb.DecisionTreeClassifier)


def test_a_cell_that_nobody_reads_is_refused_whatever_rows_are_drawn() -> None:
    X = np.random.default_rng(0).normal(size=(40, 3)).astype(object)
    y = np.arange(40) % 2
    X[7, 1] = {"a": 1}
    model = hb.BaggingClassifier(LogisticRegression(), n_estimators=1)
    for seed in range(5):  # a third of the samples would not have row 7
        with pytest.raises(TypeError, match=r"Column 'x1', row 7: .* string or a number .* dict"):
            model.set_params(random_state=seed).fit(X, y)


@pytest.mark.parametrize("kind", [hb.BaggingClassifier, hb.BaggingRegressor])
@pytest.mark.parametrize("weights", [None, np.ones(120)], ids=["plain", "weighted"])
def test_a_bag_of_equal_trees_says_so(kind: Any, weights: np.ndarray | None) -> None:
    X, y = problem()
    y = (y == "low").astype(int)
    words = (
        f"With {kind.__name__} it"
        if weights is None
        else f"When fitting {kind.__name__} with sample_weight it"
    )
    with pytest.warns(
        MembersWarning, match=f"{words} is recommended to use bootstrap=True.* all 3 are the same"
    ):
        bag = kind(n_estimators=3, bootstrap=False).fit(X, y, weights)
    first, *others = bag.estimators_
    assert trees_of(first)
    assert all(same_trees(first, other) for other in others)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bootstrap": False, "n_estimators": 1},
        {"bootstrap": False, "max_samples": 0.9},
        {"bootstrap": False, "max_features": 5},
        {"bootstrap": False, "bootstrap_features": True},
        {"bootstrap": False, "estimator": hb.DecisionTreeClassifier(max_features=5)},
        {"bootstrap": False, "estimator": hb.DecisionTreeClassifier(splitter="random")},
    ],
    ids=str,
)
def test_trees_that_differ_bring_no_warning(options: dict[str, Any]) -> None:
    hb.BaggingClassifier(**{"n_estimators": 4, "random_state": 0, **options}).fit(*problem())
