"""Comparisons and searches on a real cluster of processes: the numbers of one machine."""

import numpy as np
import pytest

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
    with pytest.raises(ValueError, match="time_budget does not go with client"):
        hb.tune(frame, score, hb.DecisionTreeRegressor(), grid, client=client, time_budget=5)


def test_compare_finds_the_same_winner(client):
    frame, score = table(300)
    y = np.where(score > 0, "late", "in time")

    def broken(X, y):
        raise ValueError(f"no {len(y)}")

    methods = ["tree", "linear", "neighbors", "stacking"]
    options = {"cv": 3, "methods": methods, "random_state": 1, "n_bootstrap": 20}
    options |= {"add": {"broken": broken}, "time_budget": None, "inner_cv": 2}
    found = hb.compare(frame, y, client=client, **options)
    expected = hb.compare(frame, y, **options)
    assert found.names == expected.names
    assert found.failures == expected.failures
    assert "no 200" in found.failures["broken"]
    assert np.array_equal(found.scores.values, expected.scores.values, equal_nan=True)
    for ours, theirs in zip(found.records, expected.records, strict=True):
        assert ours["settings"] == theirs["settings"]
        assert ours["bytes"] == theirs["bytes"]
    with pytest.raises(ValueError, match="Set time_budget=None"):
        hb.compare(frame, y, client=client)
