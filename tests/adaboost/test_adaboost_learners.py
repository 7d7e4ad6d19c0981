"""AdaBoost of any learner: the same members by every way of fitting them."""

from typing import Any

import numpy as np
import pytest
from core.growing import same_bits
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier as PeerTree

import hornbeam as hb
from adaboost.boosted_members import boosted, noisy_problem, same_boosting
from hornbeam.estimators.adaboost import given
from hornbeam.estimators.adaboost.learners import OtherLearner, is_plain_stump

# ------------------------------------------------------------------------------------------------------------
# Ways of fitting members


TREES: list[Any] = [
    hb.DecisionTreeClassifier(max_depth=1, criterion="accuracy"),
    hb.DecisionTreeClassifier(max_depth=2),
    hb.DecisionTreeClassifier(max_depth=3, min_samples_leaf=0.05, class_weight="balanced"),
    hb.DecisionTreeClassifier(max_depth=3, max_features=2, splitter="random", criterion="entropy"),
    hb.DecisionTreeClassifier(max_leaf_nodes=6, ccp_alpha=0.01, min_weight_fraction_leaf=0.1),
]


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_trees_on_one_encoding_are_those_of_separate_fits(tree: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = noisy_problem(n_rows=150, n_classes=3)
    weights = np.random.default_rng(0).integers(0, 3, len(y))
    model = hb.AdaBoostClassifier(tree, n_estimators=6, random_state=3)
    fast = clone(model).fit(X, y, weights)
    monkeypatch.setattr(
        given, "_read_for_trees", lambda model, tree, *rows: given._read_for_others(model, *rows)
    )
    slow = clone(model).fit(X, y, weights)
    assert len(slow.estimators_) > 1
    assert np.array_equal(fast.estimator_weights_, slow.estimator_weights_)
    for one, other in zip(fast.estimators_, slow.estimators_, strict=True):
        assert same_bits(one.tree_, other.tree_)


def test_regression_trees_on_one_encoding_are_those_of_separate_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_diabetes(return_X_y=True)
    model = hb.AdaBoostRegressor(n_estimators=5, loss="square")
    fast = clone(model).fit(X, y)
    monkeypatch.setattr(
        given, "_read_for_trees", lambda model, tree, *rows: given._read_for_others(model, *rows)
    )
    slow = clone(model).set_params(estimator=hb.DecisionTreeRegressor(max_depth=3)).fit(X, y)
    assert np.array_equal(fast.estimator_weights_, slow.estimator_weights_)
    for one, other in zip(fast.estimators_, slow.estimators_, strict=True):
        assert same_bits(one.tree_, other.tree_)
    np.testing.assert_array_equal(fast.predict(X), slow.predict(X))


def test_a_pruned_tree_can_be_boosted() -> None:
    X, y = noisy_problem()
    tree = hb.DecisionTreeClassifier(max_depth=4, prune="pessimistic")
    model = boosted(X, y, estimator=tree, n_estimators=4)
    alone = clone(tree).fit(X, y)
    assert same_bits(model.estimators_[0].tree_, alone.tree_)


@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        PeerTree(max_depth=2, max_features=2),
        hb.RandomForestClassifier(5, max_depth=2, n_jobs=1),
    ],
    ids=lambda e: type(e).__name__,
)
def test_any_estimator_that_takes_weights_is_boosted(estimator: Any) -> None:
    X, y = noisy_problem(n_classes=3)
    labels = np.array(["a", "b", "c"])[y]
    model = boosted(X, labels, estimator=estimator, n_estimators=5, random_state=0)
    assert np.array_equal(model.decision_function(X), boosted(
        X, labels, estimator=estimator, n_estimators=5, random_state=0
    ).decision_function(X))  # fmt: skip
    first = clone(estimator)
    assert type(model.estimators_[0]) is type(first)
    assert model.score(X, labels) > 0.5
    assert set(model.predict(X)) <= set(labels)


@pytest.mark.parametrize(
    "estimator",
    [KNeighborsClassifier(), make_pipeline(StandardScaler(), LogisticRegression()), TREES[0], None],
    ids=["neighbours", "pipeline", "tree", "stump"],
)
def test_resampling_takes_any_estimator(estimator: Any) -> None:
    X, y = noisy_problem()
    parameters = {"estimator": estimator, "resample": True, "n_estimators": 5}
    model = boosted(X, y, random_state=0, **parameters)
    again = boosted(X, y, random_state=0, **parameters)
    other = boosted(X, y, random_state=1, **parameters)
    assert np.array_equal(model.decision_function(X), again.decision_function(X))
    assert not np.array_equal(model.decision_function(X), other.decision_function(X))
    assert model.score(X, y) > 0.6


def test_regressors_without_weights_are_fitted_to_drawn_rows() -> None:
    """As scikit-learn's AdaBoostRegressor does with all of them; of unknown kind, too."""

    class Mean(BaseEstimator):
        def fit(self, X: Any, y: Any) -> Any:
            self.mean_ = np.mean(y)

        def predict(self, X: Any) -> Any:
            return np.full(len(X), self.mean_)

    X, y = load_diabetes(return_X_y=True)
    for estimator in (KNeighborsRegressor(), Mean()):
        given_ = {"estimator": estimator, "n_estimators": 3, "random_state": 0}
        model = hb.AdaBoostRegressor(**given_).fit(X, y)
        said = hb.AdaBoostRegressor(**given_, resample=True).fit(X, y)
        assert np.array_equal(model.predict(X), said.predict(X))
        assert len(model.estimator_weights_) == len(model.estimator_errors_) >= 1
        with pytest.raises(AttributeError, match=r"member 0, a \w+, has no feature_importances_"):
            _ = model.feature_importances_


def test_members_know_the_seeds_of_their_draws() -> None:
    """A member that drew columns is the same tree again, on the same weights."""
    X, y = noisy_problem()
    options = {"n_estimators": 4, "keep_weights": True, "random_state": 0}
    model = hb.AdaBoostClassifier(hb.DecisionTreeClassifier(max_depth=3, max_features=1), **options).fit(X, y)
    seeds = [member.random_state for member in model.estimators_]
    assert len(set(seeds)) == 4
    assert [member.random_state for member in model.first(2).estimators_] == seeds[:2]
    for member, weights in zip(model.estimators_, model.sample_weights_, strict=True):
        again = clone(member).fit(X, y, sample_weight=weights)
        assert np.array_equal(again.tree_.threshold, member.tree_.threshold)


@pytest.mark.parametrize(
    ("layout", "expected"), [("csr", "csr"), ("csc", "csc"), ("coo", "csr"), ("lil", "csr")]
)
def test_members_see_sparse_tables_as_they_are(layout: str, expected: str) -> None:
    X, y = noisy_problem()
    seen = []

    class Notes(LogisticRegression):
        def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
            seen.append(X.format)
            return super().fit(X, y, sample_weight)

    model = hb.AdaBoostClassifier(Notes(), n_estimators=2, random_state=0)
    model.fit(sparse.csr_array(np.maximum(X, 0)).asformat(layout), y)
    assert set(seen) == {expected}


def test_rows_are_drawn_by_their_weights() -> None:
    from hornbeam.recipes.adaboost import Rounds, _drawn_by

    weights = np.array([0.0, 1.0, 3.0, 0.0, 4.0])
    rounds = Rounds(1, resample=True, key=7)
    times = sum(_drawn_by(weights, rounds, member) for member in range(4000))
    assert times.sum() == 5 * 4000
    assert times[[0, 3]].tolist() == [0, 0]
    expected = weights / 8
    standard_errors = np.sqrt(expected * (1 - expected) / times.sum())
    assert np.all(np.abs(times / times.sum() - expected) <= 5 * standard_errors)


def test_resampled_rows_are_repeated_for_others() -> None:
    X, y = np.arange(4.0).reshape(-1, 1), np.array([0, 1, 0, 1])
    seen: dict[str, Any] = {}

    class Watcher(DummyClassifier):
        def fit(self, X: Any, y: Any) -> Any:
            seen["X"] = X
            return super().fit(X, y)

    learner = OtherLearner(Watcher(), X, y, ("x0",), False, False, True, key=0)
    learner.fit(np.array([2.0, 0.0, 1.0, 1.0]), 0)
    assert seen["X"].ravel().tolist() == [0, 0, 2, 3]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_core_without_lanes_grows_the_same_stumps_as_trees(
    monkeypatch: pytest.MonkeyPatch, n_classes: int
) -> None:
    X, y = noisy_problem(n_classes=n_classes)
    searched = boosted(X, y)
    monkeypatch.setattr(given._core, "has_lanes", lambda: False)
    monkeypatch.setattr(given, "StumpLearner", None)  # not asked
    assert same_boosting(searched, boosted(X, y))


def test_no_option_of_a_stump_is_ignored() -> None:
    stump = {"criterion": "accuracy", "max_depth": 1}
    assert is_plain_stump(hb.DecisionTreeClassifier(**stump, missing="error", max_bins=8))
    for option in (
        *({"min_significance": 0.05}, {"min_samples_leaf": 2}, {"class_weight": "balanced"}),
        *({"splitter": "random"}, {"categorical_split": "one_vs_rest"}, {"missing": "majority"}),
    ):
        assert not is_plain_stump(hb.DecisionTreeClassifier(**{**stump, **option}))
    X, y = load_iris(return_X_y=True)
    tree = hb.DecisionTreeClassifier(**stump, min_significance=0.05)
    with pytest.raises(
        ValueError, match=r"min_significance is 0\.05, but criterion='accuracy' has no p-values"
    ):
        hb.AdaBoostClassifier(tree).fit(X, y)
