"""Boosting on a real cluster of processes: the model of one machine, whatever happens to workers."""

import importlib
import os
import pickle
import signal
import subprocess
import sys
import time
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import hornbeam as hb

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")

from dask import delayed  # noqa: E402

from dask_cluster.rows import N_ROWS, assert_same, table  # noqa: E402
from hornbeam.dask import GradientBoostingClassifier, GradientBoostingRegressor  # noqa: E402
from hornbeam.dask.parts import DaskParts  # noqa: E402

# Dask and its parts leave sockets and files to the collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(280),
]


def test_frames_give_the_model_of_one_machine(client):
    frame, score = table()
    y = pd.Series(np.digitize(score, [0.0, 1.5]), name="y")
    rows = dd.from_pandas(frame, npartitions=7)
    model = GradientBoostingClassifier(n_estimators=4, max_leaf_nodes=15).fit(
        rows, dd.from_pandas(y, npartitions=4)
    )
    expected = hb.GradientBoostingClassifier(n_estimators=4, max_leaf_nodes=15).fit(frame, y)
    assert_same(model, expected)
    assert np.array_equal(model.classes_, expected.classes_)
    lazy = model.predict_proba(rows)
    assert isinstance(lazy, dd.DataFrame)
    assert np.array_equal(lazy.compute().to_numpy(), expected.predict_proba(frame))
    assert np.array_equal(model.predict(rows).compute().to_numpy(), expected.predict(frame))
    # In memory it is an estimator like any other.
    assert np.array_equal(model.predict(frame), expected.predict(frame))
    assert np.array_equal(
        pickle.loads(pickle.dumps(model.to_local())).predict(frame), expected.predict(frame)
    )
    assert type(model.to_local()) is hb.GradientBoostingClassifier


def test_arrays_with_weights_samples_and_rows_that_do_not_count(client):
    frame, score = table()
    X = frame[["number", "few", "gaps"]].to_numpy()
    weights = np.random.default_rng(1).random(N_ROWS)
    weights[:3000] = 0.0  # which empties whole partitions
    options = {"n_estimators": 3, "subsample": 0.6, "max_features": 2, "random_state": 4, "loss": "huber"}
    rows = da.from_array(X, chunks=(2_777, 2))
    model = GradientBoostingRegressor(**options).fit(
        rows, da.from_array(score.to_numpy(), chunks=5_000), sample_weight=weights
    )
    expected = hb.GradientBoostingRegressor(**options).fit(X, score, weights)
    assert_same(model, expected)
    assert np.array_equal(model.predict(rows).compute(), expected.predict(X))


def test_delayed_parts_some_of_them_empty_and_rows_to_judge_by(client):
    frame, score = table()
    X_val, y_val = table(500, seed=9)
    cuts = [0, 0, 1, 9_000, 9_000, N_ROWS]
    parts = [delayed(frame.iloc[a:b]) for a, b in pairwise(cuts)]
    targets = [delayed(score.iloc[a:b]) for a, b in pairwise(cuts)]
    options = {"n_estimators": 30, "early_stopping": True, "n_iter_no_change": 2, "learning_rate": 1.0}
    model = GradientBoostingRegressor(**options).fit(parts, targets, X_val=X_val, y_val=y_val)
    expected = hb.GradientBoostingRegressor(**options).fit(frame, score, X_val=X_val, y_val=y_val)
    assert_same(model, expected)
    assert model.n_iter_ == expected.n_iter_ < 30
    assert np.array_equal(model.train_score_, expected.train_score_)
    assert np.array_equal(
        np.concatenate([p.compute() for p in model.predict(parts)]), expected.predict(frame)
    )


def not_asked(*arguments, **options):
    """Stand for a way that must not be taken; at the end of a fit, workers are told to forget it."""
    assert options == {"on_error": "ignore"}, options


def test_a_worker_that_is_gone_is_not_called(client, monkeypatch):
    # The scheduler would try to reach it for half a minute.
    monkeypatch.setattr(client, "run", not_asked)
    parts = DaskParts(client, [SimpleNamespace(first_row=0, n_rows_of_all=1, n_rows=1)], [None])
    parts._homes, parts._n_calls = ["tcp://127.0.0.1:9"], [1]
    assert parts._straight(parts._begin([0], "sizes", [()])) == {}


def test_workers_that_cannot_be_reached_are_called_by_the_scheduler(client, monkeypatch):
    asked, ways, workers, connect = [], [], set(client.nthreads()), client.rpc.connect

    async def refused(address, *given, **how):
        if address not in workers:
            return await connect(address, *given, **how)
        asked.append(address)
        raise OSError("no way there")

    def noted(*given, **how):
        ways.append(how.get("workers"))
        return run(*given, **how)

    run = client.run
    monkeypatch.setattr(client.rpc, "connect", refused)
    monkeypatch.setattr(client, "run", noted)
    frame, score = table(2_000)
    options = {"n_estimators": 2, "max_leaf_nodes": 4}
    model = GradientBoostingRegressor(**options).fit(dd.from_pandas(frame, npartitions=3), score)
    assert len(asked) == 1  # which tells
    assert any(ways)
    assert_same(model, hb.GradientBoostingRegressor(**options).fit(frame, score))


@pytest.mark.parametrize("way", ["direct", "by the scheduler", "tasks"])
@pytest.mark.parametrize("n_parts", [8, 9, 65])
def test_answers_are_added_up_eight_at_a_time(client, monkeypatch, n_parts, way):
    # Straight to the workers, each adds up its own. Where calls are tasks, the driver adds up to eight parts;
    # workers do it on the way for more, in two steps for more than 64.
    if way == "by the scheduler":
        monkeypatch.setattr(client, "direct_to_workers", False)
    else:
        monkeypatch.setattr(client, "run", not_asked)
    if way == "tasks":
        monkeypatch.setattr(DaskParts, "_straight", lambda *asked: {})
    frame, score = table(2_000)
    options = {"n_estimators": 2, "max_leaf_nodes": 4}
    rows = dd.from_pandas(frame, npartitions=n_parts)
    assert rows.npartitions == n_parts
    model = GradientBoostingRegressor(**options).fit(rows, score)
    assert_same(model, hb.GradientBoostingRegressor(**options).fit(frame, score))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_boosting_finds_its_own_length(client, monkeypatch, n_classes):
    # Two parts are more than are added up in one place here; members are 4 on so many rows.
    monkeypatch.setattr("hornbeam.dask.parts._AT_ONCE", 2)
    frame, score = table()
    y = np.digitize(score, [0.0, 1.5][: n_classes - 1])
    options = {"n_members": 2, "n_estimators": 4, "early_stopping": True, "random_state": 3}
    options |= {"n_iter_no_change": 1, "learning_rate": 0.9, "max_leaf_nodes": 8}
    if n_classes == 3:
        options["class_trees"] = "shared"
    model = GradientBoostingClassifier(**options).fit(dd.from_pandas(frame, npartitions=5), y)
    expected = hb.GradientBoostingClassifier(**options).fit(frame, y)
    assert_same(model, expected)
    assert model.settings_ == expected.settings_
    assert np.array_equal(model.oof_decision_function_, expected.oof_decision_function_, equal_nan=True)
    assert np.array_equal(model.validation_score_, expected.validation_score_)


def test_with_no_settings_a_cluster_gives_the_model_of_one_machine(client):
    # Several members of one score, which take turns; categories that become means beside others.
    frame, score = table()
    frame["city"] = np.char.add("c", np.random.default_rng(5).integers(0, 60, N_ROWS).astype(str))
    options = {"random_state": 3, "n_iter_no_change": 1, "learning_rate": 0.9, "n_members": 2}
    model = GradientBoostingRegressor(**options).fit(dd.from_pandas(frame, npartitions=5), score)
    assert model.settings_["growth"] == "mixed"
    expected = hb.GradientBoostingRegressor(**options).fit(frame, score)
    assert_same(model, expected)
    assert model.settings_ == expected.settings_
    assert np.array_equal(model.validation_score_, expected.validation_score_)


class LogCosh:
    def gradient_hessian(self, y, score):
        slope = np.tanh(score - y)
        return slope, 1 - slope**2

    def baseline(self, y, sample_weight):
        return np.average(y, weights=sample_weight)

    def loss(self, y, score, sample_weight):
        return np.average(np.logaddexp(score - y, y - score), weights=sample_weight)


@pytest.mark.parametrize("options", [{"n_estimators": 3, "subsample": 0.7}, {"n_members": 2}])
def test_a_loss_of_ones_own(client, options):
    frame, score = table()
    options |= {"loss": LogCosh(), "max_leaf_nodes": 8, "n_iter_no_change": 1, "random_state": 2}
    if "n_members" in options:
        options |= {"learning_rate": 0.9}
    weights = np.random.default_rng(1).random(N_ROWS)
    rows = dd.from_pandas(frame, npartitions=5)
    model = GradientBoostingRegressor(**options).fit(rows, 5 * score, sample_weight=weights)
    expected = hb.GradientBoostingRegressor(**options).fit(frame, 5 * score, weights)
    assert_same(model, expected)
    assert model.n_iter_ == expected.n_iter_


def test_more_rounds_on_top(client):
    frame, score = table()
    y = np.digitize(score, [0.0, 1.5])
    rows = dd.from_pandas(frame, npartitions=5)
    options = {"warm_start": True, "max_leaf_nodes": 8, "subsample": 0.7, "random_state": 1}
    model = GradientBoostingClassifier(n_estimators=2, **options).fit(rows, y)
    model.set_params(n_estimators=4).fit(rows, y)
    expected = hb.GradientBoostingClassifier(n_estimators=2, **options).fit(frame, y)
    assert_same(model, expected.set_params(n_estimators=4).fit(frame, y))


def test_what_symmetric_trees_cannot_is_refused_on_a_cluster_too(client):
    frame, score = table(500)
    rows = dd.from_pandas(frame, npartitions=2)
    model = GradientBoostingRegressor(n_estimators=2, growth="symmetric", monotonic_cst={"number": 1})
    with pytest.raises(ValueError, match=r"growth='symmetric' does not go with monotonic_cst"):
        model.fit(rows, score)


def test_rows_are_set_aside_on_the_workers(client):
    frame, score = table()
    weights = np.random.default_rng(1).random(N_ROWS)
    weights[:3000] = 0.0
    options = {"n_estimators": 6, "early_stopping": True, "random_state": 3, "learning_rate": 1.0}
    rows = dd.from_pandas(frame, npartitions=5)
    model = GradientBoostingRegressor(**options).fit(rows, score, weights)
    expected = hb.GradientBoostingRegressor(**options).fit(frame, score, weights)
    assert_same(model, expected)
    assert np.array_equal(model.validation_score_, expected.validation_score_)


def test_a_lost_scheduler_ends_the_fit_and_a_checkpoint_goes_on(client, tmp_path):
    frame, score = table(2_000)
    rows, options = dd.from_pandas(frame, npartitions=2), {"n_estimators": 4, "max_leaf_nodes": 4}
    place = tmp_path / "scheduler.json"
    dask = Path(sys.executable).with_name("dask")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    start = [dask, "scheduler", "--port", "0", "--no-dashboard", "--scheduler-file", place]
    scheduler = subprocess.Popen(start, **quiet)
    start = [dask, "worker", "--scheduler-file", place, "--no-dashboard", "--no-nanny", "--nthreads", "1"]
    worker = subprocess.Popen(start, **quiet)
    lost = []

    def kill(done):
        if done.number == 2:
            scheduler.kill()
            scheduler.wait()
            lost.append(time.monotonic())

    with distributed.Client(scheduler_file=place, timeout=60, set_as_default=False) as other:
        try:
            other.wait_for_workers(1, timeout=60)
            model = GradientBoostingRegressor(**options)
            with pytest.raises(ConnectionError, match=r"scheduler of the Dask cluster is gone.*checkpoint="):
                model.fit(rows, score, client=other, callbacks=[kill], checkpoint=tmp_path / "kept")
            assert time.monotonic() - lost[0] < 20
            other.close(timeout=1)
        finally:
            worker.kill()
            worker.wait()
    ran = []
    model.fit(
        rows,
        score,
        client=client,
        callbacks=[lambda done: ran.append(done.number) and None],
        checkpoint=tmp_path / "kept",
    )
    assert ran[0] > 1
    assert_same(model, hb.GradientBoostingRegressor(**options).fit(frame, score))


def test_many_categories_become_means_of_the_target(client):
    frame, score = table()
    frame["city"] = np.char.add("c", np.random.default_rng(5).integers(0, 60, N_ROWS).astype(str))
    frame.loc[9_000:9_100, "city"] = None
    weights = np.ones(N_ROWS)
    weights[:3000] = 0.0
    options = {"n_estimators": 3, "random_state": 4}
    model = GradientBoostingRegressor(**options).fit(
        dd.from_pandas(frame, npartitions=4), score, sample_weight=weights
    )
    assert_same(model, hb.GradientBoostingRegressor(**options).fit(frame, score, weights))


def test_a_killed_worker_changes_nothing(client, capsys):
    frame, score = table()
    y = (score > score.median()).astype(int)
    killed = []

    def kill(done):
        """Between two rounds, one worker; within the round after that, another."""
        if done.number in {2, 3}:
            pid = sorted(client.run(os.getpid).values())[0]
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)

    options = {"n_estimators": 6, "max_leaf_nodes": 8}
    model = GradientBoostingClassifier(**options, verbose=1).fit(
        dd.from_pandas(frame, npartitions=5), dd.from_pandas(y, npartitions=5), callbacks=[kill]
    )
    assert_same(model, hb.GradientBoostingClassifier(**options).fit(frame, y))
    assert len(killed) == 2
    said = capsys.readouterr().out
    assert "6 trees from 3 parts" in said
    assert "MB back" in said
    assert "; 0 parts made anew" not in said


def test_errors_name_the_partition(client):
    frame, score = table(300)
    y = (score > 0).astype(int)
    model = GradientBoostingClassifier(n_estimators=2)
    halves = [frame[:100], frame[100:]]

    def refused(second, words, *, y=y, model=model):
        with pytest.raises((ValueError, TypeError), match=words):
            model.fit([delayed(halves[0]), delayed(second)], y)
        assert not hasattr(model, "_model")

    refused(halves[1].assign(more=1), "Partition 1 has a column 'more' that partition 0 has not")
    refused(halves[1].drop(columns="few"), "Partition 1 lacks the column 'few'")
    refused(halves[1].assign(number="a"), "'number' is categorical in partition 1 and numeric in partition 0")
    refused(halves[1].assign(kind=1.5), "'kind' is numeric in partition 1 and categorical in partition 0")
    refused(halves[1], "y: row 7|row 7", y=y.astype(float).where(y.index != 7))
    refused(halves[1], "'gaps'", model=GradientBoostingClassifier(n_estimators=2, missing="error"))
    scorer = GradientBoostingClassifier(scoring=lambda model, X, y: 0.0)
    refused(halves[1], "scoring is a function of rows", model=scorer)
    with pytest.raises(TypeError, match="hornbeam's own estimators make the same model"):
        model.fit(frame, y)


def test_without_dask_the_error_says_what_to_install(monkeypatch):
    for name in [name for name in sys.modules if name.startswith("hornbeam.dask")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dask", None)
    with pytest.raises(ModuleNotFoundError, match=r"Fitting on a Dask cluster needs dask.*hornbeam\[dask\]"):
        importlib.import_module("hornbeam.dask")
