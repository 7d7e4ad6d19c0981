"""What reaches the members of a bag besides X and y: metadata of predictions, classes that a sample lacks."""

from typing import Any

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC

import hornbeam as hb


class Shifted(RegressorMixin, BaseEstimator):
    """Predicts 0 and what it is told to add."""

    def fit(self, X: Any, y: Any) -> "Shifted":
        self.n_features_in_ = X.shape[1]
        return self

    def predict(self, X: Any, shift: Any = 0.0) -> Any:
        return np.zeros(len(X)) + shift


class Told(ClassifierMixin, BaseEstimator):
    """Predicts the class that it is told, as a vote."""

    def fit(self, X: Any, y: Any) -> "Told":
        self.classes_ = np.unique(y)
        return self

    def predict(self, X: Any, message: Any = 0) -> Any:
        return np.full(len(X), message)


class ToldShares(Told):
    """Says the same in shares, and in numbers."""

    def predict_proba(self, X: Any, message: Any = 0) -> Any:
        return np.tile((self.classes_ == message).astype(float), (len(X), 1))

    def decision_function(self, X: Any, message: Any = 0) -> Any:
        return np.full(len(X), float(message))


X = np.arange(12.0).reshape(-1, 2)
Y = np.array([0, 1, 0, 1, 0, 1])


def test_metadata_of_predictions_reach_the_members() -> None:
    with sklearn.config_context(enable_metadata_routing=True):
        numbers = hb.BaggingRegressor(Shifted().set_predict_request(shift=True), 3).fit(X, Y)
        assert numbers.predict(X).tolist() == [0.0] * 6
        assert numbers.predict(X, shift=np.arange(6.0)).tolist() == [0, 1, 2, 3, 4, 5]

        votes = hb.BaggingClassifier(Told().set_predict_request(message=True), 3).fit(X, Y)
        assert votes.predict(X, message=1).tolist() == [1] * 6
        assert votes.predict_proba(X, message=1)[:, 1].tolist() == [1.0] * 6
        assert votes.predict_log_proba(X, message=1)[:, 1].tolist() == [0.0] * 6

        shares = ToldShares().set_predict_proba_request(message=True)
        shares = hb.BaggingClassifier(shares.set_decision_function_request(message=True), 3).fit(X, Y)
        assert shares.predict(X, message=1).tolist() == [1] * 6  # which asks for predict_proba
        assert shares.decision_function(X, message=3).tolist() == [3.0] * 6
        with pytest.raises(UnsetMetadataPassedError, match="message"):
            shares.set_params(voting="hard").predict(X, message=1)  # which asks for predict


def test_metadata_that_nobody_asks_for_is_refused() -> None:
    bag = hb.BaggingRegressor(Shifted(), 2).fit(X, Y)
    message = (
        r"BaggingRegressor.predict has no argument 'shift'.*enable_metadata_routing.*set_predict_request"
    )
    with pytest.raises(TypeError, match=message):
        bag.predict(X, shift=1.0)
    with sklearn.config_context(enable_metadata_routing=True):
        with pytest.raises(UnsetMetadataPassedError, match="shift"):
            bag.predict(X, shift=1.0)
        with pytest.raises(TypeError, match="shift"):
            hb.BaggingRegressor(n_estimators=2).fit(X, Y).predict(X, shift=1.0)


def one_of_the_other_class(n_rows: int = 40) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    y = np.zeros(n_rows, dtype=int)
    y[0] = 1
    return X, y


def test_a_sample_of_one_class_is_learned_from_with_the_other_without_weight() -> None:
    X, y = one_of_the_other_class()
    weights = np.linspace(1, 2, len(y))
    for given in (None, weights):
        bag = hb.BaggingClassifier(LogisticRegression(), 10, random_state=0).fit(X, y, given)
        lacking = [0 not in sample for sample in bag.estimators_samples_]
        assert any(lacking)
        assert not all(lacking)
        for member, sample, lacks in zip(bag.estimators_, bag.estimators_samples_, lacking, strict=True):
            times = np.bincount(sample, minlength=len(y)).astype(float)
            times = times if given is None else times * given
            rows = np.arange(len(y)) if lacks else np.flatnonzero(times)
            alone = LogisticRegression().fit(X[rows], y[rows], times[rows])
            np.testing.assert_allclose(member.predict_proba(X), alone.predict_proba(X), atol=1e-12)


def test_who_learns_from_one_class_sees_its_sample_only() -> None:
    X, y = one_of_the_other_class()
    bag = hb.BaggingClassifier(GaussianNB(), 10, random_state=0).fit(X, y)
    for member, sample in zip(bag.estimators_, bag.estimators_samples_, strict=True):
        assert member.classes_.tolist() == np.unique(y[sample]).tolist()


def test_who_cannot_learn_from_one_class_in_any_way_is_named() -> None:
    X, y = one_of_the_other_class()
    with pytest.raises(ValueError, match=r"Member \d, a SVC, failed to fit.*stratify=True draws from every"):
        hb.BaggingClassifier(SVC(), 10, random_state=0, n_jobs=1).fit(X, y)
