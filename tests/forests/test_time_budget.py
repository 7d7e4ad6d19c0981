"""Forests and bags that run out of time: what is finished is the model of a fit with as many members."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import hornbeam as hb

KINDS = [
    hb.RandomForestClassifier(100_000, random_state=0, oob_score=True),
    hb.ExtraTreesClassifier(100_000, random_state=0),
    hb.BaggingClassifier(n_estimators=100_000, random_state=0),
    hb.BaggingClassifier(LogisticRegression(max_iter=1000), n_estimators=1_000, random_state=0),
]


@pytest.mark.filterwarnings("ignore::hornbeam.warnings.OutOfBagWarning")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seconds", [1e-9, 0.2])
def test_members_that_were_made_in_time_are_the_model(kind, seconds):
    X, y = load_iris(return_X_y=True)
    model = kind.set_params(time_budget=seconds).fit(X, y)
    n_members = len(model.estimators_)
    assert 1 <= n_members < kind.n_estimators
    if seconds < 1e-3:
        assert n_members == 2
    again = type(kind)(**{**kind.get_params(deep=False), "n_estimators": n_members, "time_budget": None})
    np.testing.assert_array_equal(again.fit(X, y).predict_proba(X), model.predict_proba(X))
    if kind.oob_score:
        assert again.oob_score_ == model.oob_score_


def test_a_forest_that_needs_no_limit_does_not_notice_it():
    X, y = load_iris(return_X_y=True)
    limited = hb.RandomForestClassifier(20, random_state=0, time_budget=600).fit(X, y)
    free = hb.RandomForestClassifier(20, random_state=0).fit(X, y)
    np.testing.assert_array_equal(limited.predict_proba(X), free.predict_proba(X))


def test_a_number_of_members_that_is_found_ends_in_time():
    X, y = load_iris(return_X_y=True)
    model = hb.RandomForestClassifier("auto", random_state=0, time_budget=1e-9).fit(X, y)
    settled = hb.RandomForestClassifier("auto", random_state=0).fit(X, y)
    assert 1 <= len(model.estimators_) < len(settled.estimators_)
