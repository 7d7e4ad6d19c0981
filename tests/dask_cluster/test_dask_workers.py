"""Workers with too little memory, and workers that come while a fit is under way, on real clusters."""

import contextlib
import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

from dask import delayed  # noqa: E402

import hornbeam as hb  # noqa: E402
from dask_cluster.rows import assert_same, table  # noqa: E402
from hornbeam.dask import GradientBoostingRegressor  # noqa: E402
from hornbeam.dask.parts import DaskParts  # noqa: E402
from hornbeam.dask.worker_pool import WorkerPool  # noqa: E402
from hornbeam.warnings import WorkersWarning  # noqa: E402

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(280)]


@contextlib.contextmanager
def cluster_of_one(**options):
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50, **options
    )
    client = distributed.Client(cluster, set_as_default=False)
    try:
        yield cluster, client
    finally:
        client.close()
        cluster.close(timeout=120)


def greedy():
    """Take more memory than a worker may have, slowly enough to be seen."""
    taken = []
    for _ in range(200):
        taken.append(np.ones(2**20))
        time.sleep(0.02)
    return pd.DataFrame({"a": np.concatenate(taken)})


def test_a_partition_beyond_the_memory_of_a_worker_is_named():
    with cluster_of_one(memory_limit="600MB") as (cluster, client):
        cluster.scheduler.allowed_failures = 0  # else it is tried on four workers
        parts = [delayed(pd.DataFrame({"a": np.arange(10.0)})), delayed(greedy)()]
        with pytest.raises(MemoryError, match=r"Partition 1 has cost one worker.*smaller partitions"):
            GradientBoostingRegressor(n_estimators=1).fit(parts, np.arange(20.0), client=client)


def numbers(k):
    return pd.DataFrame({"a": np.random.default_rng(k).random(200_000, dtype=np.float32)})


def resident_bytes(dask_worker):
    return dask_worker.monitor.update()["memory"]


def test_a_part_beyond_the_memory_of_its_worker_is_named(monkeypatch):
    # Of a row the worker holds the number and its code, a part some 40 bytes more.
    monkeypatch.setattr("hornbeam.dask.parts._MOST_SHORT_LIVES", 2)
    parts, n_rows = [delayed(numbers)(k) for k in range(30)], 6_000_000
    model = GradientBoostingRegressor(n_estimators=50, max_leaf_nodes=4)
    with cluster_of_one(memory_limit=0) as (cluster, client):
        model.set_params(n_estimators=1).fit(parts[:1], np.arange(200_000.0), client=client)
        [needed] = client.run(resident_bytes).values()
    limit = int((needed + 25 * n_rows) / 0.95)
    with (
        dask.config.set(
            {f"distributed.worker.memory.{what}": False for what in ("target", "spill", "pause")}
        ),
        cluster_of_one(memory_limit=limit) as (cluster, client),
    ):
        cluster.scheduler.allowed_failures = 0
        with pytest.raises(
            MemoryError, match=r"Part 0 \(rows 0 to 5999999\) has cost one worker after another"
        ):
            model.set_params(n_estimators=50).fit(parts, np.arange(6e6), client=client)


def read_slowly(frame, flag, begun):
    """Return a partition; while there is the flag, say who is at it, and do not end."""
    if flag.exists():
        begun.write_text(str(os.getpid()))
    while flag.exists():
        time.sleep(0.05)
    return frame


def test_what_codes_are_made_of_is_made_again_when_its_worker_dies_too(tmp_path):
    frame, score = table(600)
    options = {"n_estimators": 3, "max_leaf_nodes": 4}
    flag, begun = tmp_path / "flag", tmp_path / "begun"

    def kill_whoever_begins():
        while not begun.exists() or not begun.read_text():
            time.sleep(0.05)
        os.kill(int(begun.read_text()), signal.SIGKILL)
        flag.unlink()

    with cluster_of_one() as (cluster, client):
        cluster.scheduler.allowed_failures = 0

        def kill(done):
            if done.number == 1:
                flag.touch()
                threading.Thread(target=kill_whoever_begins).start()
                os.kill(*client.run(os.getpid).values(), signal.SIGKILL)

        parts = [delayed(read_slowly)(frame, flag, begun)]
        model = GradientBoostingRegressor(**options).fit(parts, score, client=client, callbacks=[kill])
    assert begun.exists()
    assert_same(model, hb.GradientBoostingRegressor(**options).fit(frame, score))


def test_a_cluster_without_workers_is_waited_for_and_said(monkeypatch):
    monkeypatch.setattr("hornbeam.dask.connection._SECONDS_BETWEEN_LOOKS", 0.3)
    frame, score = table(600)
    options = {"n_estimators": 3, "max_leaf_nodes": 4}
    with cluster_of_one() as (cluster, client):

        def dismiss(done):
            if done.number == 1:
                cluster.scale(0)
                while client.nthreads():
                    time.sleep(0.05)
                threading.Timer(3, cluster.scale, (1,)).start()

        model = GradientBoostingRegressor(**options)
        with pytest.warns(WorkersWarning, match="no workers, and the fit waits"):
            model.fit([delayed(frame)], score, client=client, callbacks=[dismiss])
    assert_same(model, hb.GradientBoostingRegressor(**options).fit(frame, score))


def go_on(dask_worker):
    dask_worker.memory_manager.memory_pause_fraction = 0.99


def test_workers_that_are_paused_are_waited_for_and_said(monkeypatch):
    # Dask pauses a worker that holds a share of its memory, here one that every process holds.
    monkeypatch.setattr("hornbeam.dask.connection._SECONDS_BETWEEN_LOOKS", 0.3)
    frame, score = table(600)
    options = {"n_estimators": 3, "max_leaf_nodes": 4}
    with (
        dask.config.set({"distributed.worker.memory.pause": 0.001}),
        cluster_of_one(memory_limit="4GB") as (_, client),
    ):
        while any(worker["status"] != "paused" for worker in client.scheduler_info()["workers"].values()):
            time.sleep(0.05)
        timer = threading.Timer(4, client.run, (go_on,))
        timer.start()
        with pytest.warns(WorkersWarning, match="paused all workers .* more memory"):
            model = GradientBoostingRegressor(**options).fit([delayed(frame)], score, client=client)
        timer.join()
    assert_same(model, hb.GradientBoostingRegressor(**options).fit(frame, score))


def test_a_part_is_given_up_after_a_dozen_short_lives_in_a_row():
    parts = DaskParts(
        SimpleNamespace(direct_to_workers=None),
        [SimpleNamespace(first_row=0, n_rows_of_all=9, n_rows=9)],
        [None],
    )

    def lose(times, n_calls):
        for _ in range(times):
            parts._n_calls_since_made = [n_calls]
            parts._note_loss(0)

    lose(11, 9)
    lose(1, 10)  # lived on for a while
    lose(11, 9)
    with pytest.raises(MemoryError, match=r"Part 0 \(rows 0 to 8\) has cost one worker after another"):
        lose(1, 9)


def test_workers_that_come_late_take_over_and_take_work():
    frame, score = table()
    options = {"n_estimators": 4, "max_leaf_nodes": 8}
    with cluster_of_one() as (cluster, client):
        [first] = client.run(os.getpid).values()

        def relieve(done):
            if done.number == 1:
                cluster.scale(2)
                client.wait_for_workers(2, timeout=60)
                os.kill(first, signal.SIGKILL)

        parts = [delayed(frame[:5_000]), delayed(frame[5_000:])]
        model = GradientBoostingRegressor(**options).fit(parts, score, client=client, callbacks=[relieve])
        assert_same(model, hb.GradientBoostingRegressor(**options).fit(frame, score))

        def where(rows, known, number):
            time.sleep(0.2)
            return os.getpid()

        client.wait_for_workers(2, timeout=60)
        homes = []
        for _, future in WorkerPool(client, None, None).results(
            where, [(k,) for k in range(20)], ["piece"] * 20
        ):
            homes.append(future.result())
            if len(homes) == 1:
                cluster.scale(3)
                client.wait_for_workers(3, timeout=60)
        assert len(set(homes)) == 3
