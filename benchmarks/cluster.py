"""Gradient boosting on a Dask cluster of this machine: killed workers, and what a cluster costs.

    python -m benchmarks.cluster kills --times 50        kill -9 at random moments of one fit: the same bits?
    python -m benchmarks.cluster workers --workers 4     (--threads of each) beside one process

`kills` ends one of the workers in each round, at a moment that is drawn, until so many have died within one
fit. `workers` runs by turns, and prints the processor time of the driver and of all workers beside the clock.
"""

import argparse
import os
import random
import signal
import threading
import time
from typing import Any

import numpy as np

import hornbeam as hb
from hornbeam.model import tree_to_arrays


def cluster_of(n_workers: int, n_threads: int = 1) -> tuple[Any, Any]:
    """Start workers of so many threads each."""
    import dask
    import distributed

    # On a busy machine a worker takes longer to come back than the 15 s after which it would be given up.
    dask.config.set({"distributed.deploy.lost-worker-timeout": "1h"})
    cluster = distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=n_threads,
        memory_limit=0,
        dashboard_address=None,
        silence_logs=50,
    )
    return cluster, distributed.Client(cluster)


def rows_of(n_rows: int, n_columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw numbers and two classes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, n_columns)).astype(np.float32)
    score = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] + rng.logistic(size=n_rows)
    return X, (score > 0).astype(np.int8)


def same_trees(a: Any, b: Any) -> bool:
    """Tell whether two models have the same trees, bit for bit."""
    pairs = zip(a._model.trees, b._model.trees, strict=True)
    return len(a._model.trees) == len(b._model.trees) and all(
        np.array_equal(array, theirs[name], equal_nan=array.dtype.kind == "f")
        for ours, theirs in ((tree_to_arrays(x), tree_to_arrays(y)) for x, y in pairs)
        for name, array in ours.items()
    )


def _in_words(a: Any, b: Any) -> str:
    return "the same" if same_trees(a, b) else "ANOTHER"


def measure_kills(given: argparse.Namespace) -> None:
    """Kill workers during a fit, and compare the model."""
    from hornbeam.dask import GradientBoostingClassifier

    X, y = rows_of(given.rows, 9)
    options: dict[str, Any] = {"n_estimators": given.rounds, "max_leaf_nodes": 15, "subsample": 0.7}
    options["random_state"] = 1
    expected = hb.GradientBoostingClassifier(**options).fit(X, y)
    cluster, client = cluster_of(given.workers)
    chance, in_rounds = random.Random(given.seed), []
    last, timers = [time.perf_counter()], []

    def kill(number: int) -> None:
        pids = client.run(os.getpid, on_error="ignore").values()
        alive = [pid for pid in pids if isinstance(pid, int)]
        if alive:
            os.kill(chance.choice(alive), signal.SIGKILL)
            in_rounds.append(number)

    def after_round(done: Any) -> None:
        """Have a worker killed at some moment of the rounds that follow."""
        took, last[0] = time.perf_counter() - last[0], time.perf_counter()
        if len(in_rounds) < given.times:
            timers.append(threading.Timer(chance.uniform(0, 2 * min(took, 5)), kill, (done.number,)))
            timers[-1].start()

    import dask.array as da

    start = time.perf_counter()
    model = GradientBoostingClassifier(**options, verbose=1).fit(
        da.from_array(X, chunks=(-(-len(X) // 9), X.shape[1])), y, callbacks=[after_round]
    )
    print(
        f"{len(in_rounds)} workers killed in one fit of {given.rounds} rounds, after rounds {in_rounds}; "
        f"{time.perf_counter() - start:.0f} s; the model is {_in_words(model, expected)}"
    )
    for timer in timers:
        timer.cancel()
    client.close()
    cluster.close(timeout=120)


def measure_workers(given: argparse.Namespace) -> None:
    """Fit on a cluster and in one process, by turns."""
    from hornbeam.dask import GradientBoostingClassifier

    X, y = rows_of(given.rows, 28)
    options: dict[str, Any] = {"n_estimators": given.rounds, "max_leaf_nodes": 63}
    n_threads = given.workers * given.threads
    cluster, client = cluster_of(given.workers, given.threads)
    step = -(-len(X) // (4 * given.workers))
    homes = list(client.nthreads())
    parts = [
        client.scatter(X[begin : begin + step], workers=[homes[k % len(homes)]])
        for k, begin in enumerate(range(0, len(X), step))
    ]
    for _ in range(given.repeats):
        clock, cpu = time.perf_counter(), time.process_time()
        one = hb.GradientBoostingClassifier(n_jobs=n_threads, **options).fit(X, y)
        alone = time.perf_counter() - clock, time.process_time() - cpu
        before = sum(client.run(time.process_time).values())
        clock, cpu = time.perf_counter(), time.process_time()
        many = GradientBoostingClassifier(**options).fit(parts, y)
        shared = time.perf_counter() - clock, time.process_time() - cpu
        at_work = sum(client.run(time.process_time).values()) - before
        print(
            f"{len(X)} rows, {given.rounds} rounds: one process of {n_threads} threads {alone[0]:.1f} s, "
            f"{alone[1]:.1f} s of CPU; {given.workers} workers {shared[0]:.1f} s, {shared[1]:.1f} s of CPU "
            f"the driver, {at_work:.1f} s they; {shared[0] / alone[0]:.2f} times the time; the model is "
            f"{_in_words(one, many)}",
            flush=True,
        )
    client.close()
    cluster.close(timeout=120)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("kills", "workers"))
    parser.add_argument("--rows", type=int, help="30,000 for kills, 5,000,000 for workers")
    parser.add_argument("--rounds", type=int, help="25 more than kills, 100 for workers")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=1, help="of each worker, for workers")
    parser.add_argument("--times", type=int, default=50, help="how many workers are killed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    usual_rows, usual_rounds = (30_000, given.times + 25) if given.what == "kills" else (5_000_000, 100)
    given.rows, given.rounds = given.rows or usual_rows, given.rounds or usual_rounds
    (measure_kills if given.what == "kills" else measure_workers)(given)


if __name__ == "__main__":
    main()
