"""Forests and single trees on a real cluster of processes: those of one machine, whatever happens."""

import os
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

import hornbeam.dask as on_cluster  # noqa: E402
from dask_cluster.rows import N_ROWS, assert_same, table  # noqa: E402
from hornbeam.dask.worker_pool import WorkerPool  # noqa: E402

# Dask and its parts leave sockets and files to the collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(280),
]

FITTED = ("oob_score_", "oob_curve_", "oob_prediction_", "oob_decision_function_", "_oob_errors", "in_bag_")


def with_many_categories():
    frame, score = table()
    cities = np.random.default_rng(5).integers(0, 60, N_ROWS)
    frame["city"] = np.char.add("c", cities.astype(str))
    return frame, score + (cities % 7 == 0)


@pytest.mark.parametrize(
    ("name", "options", "weighted"),
    [
        ("RandomForestClassifier", {"oob_score": True, "class_weight": "balanced_subsample"}, True),
        ("RandomForestRegressor", {"keep": ["oob", "in_bag"], "ccp_alpha": 1e-3}, False),
        ("ExtraTreesRegressor", {"min_samples_leaf": 3, "missing": "majority"}, True),
        ("ExtraTreesClassifier", {"max_features": 2, "categorical_split": "subset"}, False),
        ("DecisionTreeClassifier", {"prune": "reduced_error", "splitter": "random"}, True),
        ("DecisionTreeRegressor", {"max_depth": 5}, False),
    ],
)
def test_members_are_those_of_one_machine(client, name, options, weighted):
    frame, score = with_many_categories()
    y = pd.Series(np.digitize(score, [0.0, 1.5]) if name.endswith("Classifier") else score)
    weights = None
    if weighted:
        weights = np.random.default_rng(1).random(N_ROWS)
        weights[:3000] = 0.0  # which empties a partition, and takes a category away
    options = {"max_bins": 64, "random_state": 3, **options}
    if not name.startswith("Decision"):
        options["n_estimators"] = 5
    rows = dd.from_pandas(frame, npartitions=7)
    targets = dd.from_pandas(y, npartitions=4)
    model = getattr(on_cluster, name)(**options).fit(rows, targets, sample_weight=weights)
    expected = getattr(hb, name)(**options).fit(frame, y, weights)
    assert_same(model, expected)
    assert type(model.to_local()) is getattr(hb, name)
    for fitted in FITTED:
        assert hasattr(model, fitted) == hasattr(expected, fitted)
        if hasattr(expected, fitted):
            assert np.array_equal(getattr(model, fitted), getattr(expected, fitted), equal_nan=True)
    assert np.array_equal(model.predict(rows).compute(), expected.predict(frame))
    if name.endswith("Classifier"):
        assert np.array_equal(model.predict_proba(rows).compute(), expected.predict_proba(frame))


def test_a_generator_moves_on_as_it_does_here(client):
    frame, score = table(400)
    X = frame[["number", "few"]].to_numpy()
    here, there = np.random.RandomState(0), np.random.RandomState(0)
    options = {"max_bins": 32, "splitter": "random", "max_depth": 4}
    for _ in range(2):
        expected = hb.DecisionTreeRegressor(random_state=here, **options).fit(X, score)
        model = on_cluster.DecisionTreeRegressor(random_state=there, **options)
        assert_same(model.fit(da.from_array(X, chunks=(150, 2)), score), expected)


def test_members_are_grown_again_when_workers_die(client, monkeypatch):
    frame, score = table()
    pids = sorted(client.run(os.getpid).values())
    handed_out = []

    def kill_later(self, *arguments):
        handed_out.append(arguments)
        if len(handed_out) == 2:
            threading.Thread(target=lambda: (time.sleep(0.05), os.kill(pids[0], signal.SIGKILL))).start()
        return hand_out(self, *arguments)

    hand_out = WorkerPool._hand_out
    monkeypatch.setattr(WorkerPool, "_hand_out", kill_later)
    options = {"n_estimators": 12, "max_bins": 255, "random_state": 0, "oob_score": True}
    model = on_cluster.RandomForestRegressor(**options).fit(dd.from_pandas(frame, npartitions=5), score)
    expected = hb.RandomForestRegressor(**options).fit(frame, score)
    assert_same(model, expected)
    assert model.oob_score_ == expected.oob_score_
    assert pids[0] not in client.run(os.getpid).values()


def test_what_cannot_be_is_said_before(client, monkeypatch):
    frame, score = table(300)
    rows = dd.from_pandas(frame, npartitions=2)
    with pytest.raises(ValueError, match=r"max_bins=None.*Set max_bins"):
        on_cluster.RandomForestRegressor(n_estimators=2, max_bins=None).fit(rows, score)
    with pytest.raises(ValueError, match="leaf_rows"):
        on_cluster.RandomForestRegressor(n_estimators=2, max_bins=32, keep="leaf_rows").fit(rows, score)
    monkeypatch.setattr("hornbeam.dask.whole._BASE_BYTES", 1 << 50)
    with pytest.raises(MemoryError, match=r"300 rows of 4 columns take about .* on every worker.*tcp"):
        on_cluster.ExtraTreesRegressor(n_estimators=2, max_bins=32).fit(rows, score)
