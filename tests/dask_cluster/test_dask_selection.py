"""Comparisons and searches on a real cluster of processes: the numbers of one machine."""

import time

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin

import hornbeam as hb

pytest.importorskip("distributed")

from dask_cluster.rows import table

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(280)]


def test_tune_finds_the_same_scores(client):
    frame, score = table(600)
    grid = {"max_depth": [2, 4], "min_samples_leaf": [1, 10, -1]}  # the last is no setting
    options = {"cv": 3, "train_scores": True, "choose": "one_standard_error"}
    found = hb.tune(frame, score, hb.DecisionTreeRegressor(), grid, client=client, **options)
    expected = hb.tune(frame, score, hb.DecisionTreeRegressor(), grid, **options)
    for name, column in expected.cv_results_.items():
        if not name.endswith("_time") and not name.startswith("param"):
            assert np.array_equal(found.cv_results_[name], column, equal_nan=True), name
    assert found.errors == expected.errors
    assert set(found.errors) == {2, 5}
    assert found.chosen_index_ == expected.chosen_index_


@pytest.mark.parametrize("limited", [False, True])
def test_compare_finds_the_same_winner(client, limited):
    frame, score = table(300)
    y = np.where(score > 0, "late", "in time")

    def broken(X, y):
        raise ValueError(f"no {len(y)}")

    methods = ["tree", "linear", "neighbors", "stacking"]
    options = {"cv": 3, "methods": methods, "random_state": 1, "n_bootstrap": 20}
    options |= {"add": {"broken": broken}, "time_budget": None, "inner_cv": 2}
    if limited:  # and long enough
        options["time_budget"] = 3_600
    found = hb.compare(frame, y, client=client, **options)
    expected = hb.compare(frame, y, **options)
    assert found.cut_short is None
    assert found.names == expected.names
    assert found.failures == expected.failures
    assert "no 200" in found.failures["broken"]
    assert np.array_equal(found.scores.values, expected.scores.values, equal_nan=True)
    for ours, theirs in zip(found.records, expected.records, strict=True):
        assert ours["settings"] == theirs["settings"]
        assert ours["bytes"] == theirs["bytes"]


def wait_for(path):
    """Be long, until somebody says that it is enough."""
    end = time.monotonic() + 120
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.05)


class Constant(RegressorMixin, BaseEstimator):
    """Predicts a number, and may take its time for it."""

    def __init__(self, value=0.0, until=None):
        self.value, self.until = value, until

    def fit(self, X, y):
        if self.until is not None:
            wait_for(self.until)
        return self

    def predict(self, X):
        return np.full(len(X), self.value)


def test_tune_compares_what_was_judged_in_time(client, tmp_path):
    frame, score = table(300)
    first = hb.tune(frame, score, Constant(), {"value": [3.0, 4.0]}, cv=2, client=client, time_budget=1e-9)
    assert [setting["value"] for setting in first.settings] == [3.0]
    long = {"value": [2.0], "until": [tmp_path / "enough"]}
    grid = [{"value": [0.0, 1.0]}, long, {"value": [3.0]}]
    start = time.monotonic()
    found = hb.tune(frame, score, Constant(), grid, cv=2, client=client, time_budget=6)
    assert time.monotonic() - start < 60
    (tmp_path / "enough").touch()
    assert [setting["value"] for setting in found.settings] == [0.0, 1.0, 3.0]
    expected = hb.tune(frame, score, Constant(), {"value": [0.0, 1.0, 3.0]}, cv=2)
    for name in ("split0_test_score", "split1_test_score", "rank_test_score"):
        assert np.array_equal(found.cv_results_[name], expected.cv_results_[name])


def test_compare_names_what_workers_had_no_time_for(client, tmp_path):
    frame, score = table(300)

    def slow(X, y):
        wait_for(tmp_path / "enough")
        return lambda rows: np.zeros(len(rows))

    options = {"methods": ["tree", "linear"], "cv": 2, "search": False, "random_state": 1}
    hb.compare(frame, score, client=client, **options)  # workers import what they need
    start = time.monotonic()
    found = hb.compare(frame, score, client=client, add={"slow": slow}, time_budget=24, **options)
    assert time.monotonic() - start < 60
    (tmp_path / "enough").touch()
    assert found.failures == {"slow": "the time budget ran out before it was finished"}
    assert "24 s was too short for a full turn of slow" in found.cut_short
    expected = hb.compare(frame, score, **options)
    assert found.names == expected.names
    assert np.array_equal(found.scores.values, expected.scores.values)
