"""Leaves the interpreter while a daemon thread fits; the report comes first, the exit code says the rest."""

import json
import sys
import threading
import time

import numpy as np

from hornbeam import DecisionTreeClassifier

RNG = np.random.default_rng(0)
X = RNG.random(size=(100_000, 10))
Y = RNG.integers(0, 2, len(X))


def main(n_jobs: int) -> None:
    started = threading.Event()

    def keep_fitting() -> None:
        started.set()
        while True:
            DecisionTreeClassifier(n_jobs=n_jobs).fit(X, Y)

    threading.Thread(target=keep_fitting, daemon=True).start()
    started.wait()
    time.sleep(0.3)
    print(json.dumps({"left": True}))


main(int(sys.argv[1]))
