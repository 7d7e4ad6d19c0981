"""Forks before, after and during fits; every child fits and predicts with two threads, and must end."""

import json
import multiprocessing
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable
from hashlib import sha256

import numpy as np

from hornbeam import DecisionTreeClassifier

# Python warns of any fork beside threads since 3.12: that these forks work is what is to be shown.
warnings.filterwarnings("ignore", category=DeprecationWarning, message=".*multi-threaded, use of fork")

RNG = np.random.default_rng(0)
X = RNG.random(size=(10_000, 12))  # enough for both ways in which a fit uses threads
Y = RNG.integers(0, 3, len(X))
CHILD_SECONDS = 30


def fit_and_predict() -> str:
    model = DecisionTreeClassifier(n_jobs=2, max_depth=6).fit(X, Y)
    tree = model.tree_
    return sha256(tree.threshold.tobytes() + tree.value.tobytes() + model.apply(X).tobytes()).hexdigest()


def child_gives(expected: str, work: Callable[[], str] = fit_and_predict) -> bool:
    """Fork; the child works and leaves without the parent's clean-up. A child that hangs is ended."""
    child = os.fork()
    if child == 0:
        os._exit(0 if work() == expected else 1)
    deadline = time.monotonic() + CHILD_SECONDS
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.002)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def forks_during_fits(expected: str, n_forks: int) -> list[bool]:
    stop = threading.Event()
    given: list[str] = []

    def keep_fitting() -> None:
        while not stop.is_set():
            given.append(fit_and_predict())

    thread = threading.Thread(target=keep_fitting)
    thread.start()
    results = []
    for _ in range(n_forks):
        time.sleep(0.01)
        results.append(child_gives(expected))
    stop.set()
    thread.join()
    return [*results, set(given) == {expected}]


def grandchild_gives(expected: str) -> bool:
    return child_gives(expected, lambda: expected if child_gives(expected) else "")


def other_start_methods(expected_leaves: bytes) -> dict[str, bool]:
    """Fit in processes that share nothing, or that were forked from a server which imported the library."""
    seen = {}
    multiprocessing.set_forkserver_preload(["hornbeam"])
    for method in ("spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(1) as pool:
            fit = DecisionTreeClassifier(n_jobs=2, max_depth=6).fit
            model = pool.apply_async(fit, (X, Y)).get(timeout=100)
            seen[method] = model.apply(X).tobytes() == expected_leaves
    return seen


def main() -> None:
    os.environ["HORNBEAM_NUM_THREADS"] = "2"
    before = child_gives("", lambda: "" if fit_and_predict() else "nothing")  # no thread exists yet
    expected = fit_and_predict()
    report = {
        "before": before,
        "after": [child_gives(expected) for _ in range(30)],
        "during": forks_during_fits(expected, 15),
        "grandchild": grandchild_gives(expected),
        "parent_works_on": fit_and_predict() == expected,
    }
    leaves = DecisionTreeClassifier(n_jobs=1, max_depth=6).fit(X, Y).apply(X).tobytes()
    report |= other_start_methods(leaves)
    print(json.dumps(report))


if __name__ == "__main__":
    main()
