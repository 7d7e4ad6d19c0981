"""Sends itself SIGINT at a random moment of the long work of every estimator; reports how soon each ended."""

import json
import os
import random
import signal
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import hornbeam as hb

RNG = np.random.default_rng(0)
ROWS = RNG.random(size=(200_000, 8)).astype(np.float32)
LABELS = (ROWS[:, 0] + RNG.normal(size=len(ROWS)) > 0.5).astype(int)
NUMBERS = ROWS[:, 1] + RNG.normal(size=len(ROWS))
FEW, FEW_LABELS, FEW_NUMBERS = ROWS[:50], LABELS[:50], NUMBERS[:50]
MANY = np.broadcast_to(ROWS[5], (100_000_000, 8))  # one row over and over: it takes no memory
DELAY = random.Random(os.getpid())


def fits(n_jobs: int) -> dict[str, Callable[[], Any]]:
    """Name work of many seconds: few large pieces, and very many small ones."""
    jobs: dict[str, Any] = {"n_jobs": n_jobs, "random_state": 0}
    return {
        "forest of tiny trees": lambda: hb.RandomForestClassifier(500_000, **jobs).fit(FEW, FEW_LABELS),
        "forest of small trees": lambda: hb.RandomForestRegressor(20_000, **jobs).fit(
            ROWS[:2000], NUMBERS[:2000]
        ),
        "forest": lambda: hb.RandomForestClassifier(500, **jobs).fit(ROWS, LABELS),
        "extra trees, tiny": lambda: hb.ExtraTreesClassifier(500_000, **jobs).fit(FEW, FEW_LABELS),
        "bagging": lambda: hb.BaggingRegressor(n_estimators=500_000, **jobs).fit(FEW, FEW_NUMBERS),
        "bagging of others": lambda: hb.BaggingClassifier(
            hb.KNeighborsClassifier(), n_estimators=100_000, **jobs
        ).fit(FEW, FEW_LABELS),
        "AdaBoost": lambda: hb.AdaBoostClassifier(n_estimators=200_000, **jobs).fit(FEW, RANDOM_LABELS),
        "AdaBoost of trees": lambda: hb.AdaBoostRegressor(n_estimators=200_000, **jobs).fit(ROWS, NUMBERS),
        "boosting, small": lambda: hb.GradientBoostingClassifier(200_000, **jobs).fit(FEW, FEW_LABELS),
        "boosting": lambda: hb.GradientBoostingRegressor(20_000, **jobs).fit(ROWS, NUMBERS),
        "pruned tree": lambda: hb.DecisionTreeRegressor(prune="cost_complexity", cv=50, **jobs).fit(
            ROWS, NUMBERS
        ),
        "medians": lambda: hb.RandomForestRegressor(50, criterion="absolute_error", **jobs).fit(
            ROWS, NUMBERS
        ),
        "medians of categories": lambda: hb.RandomForestRegressor(
            50, criterion="absolute_error", categorical_split="one_vs_rest", max_features=1.0, **jobs
        ).fit(KINDS, NUMBERS),
        "boosting, automatic": lambda: hb.GradientBoostingRegressor(max_leaf_nodes=64, **jobs).fit(
            ROWS, NUMBERS
        ),
        "density tree": lambda: hb.DensityTree(cv=50, **jobs).fit(ROWS),
        "stacking": lambda: hb.StackingClassifier([[("forest", hb.RandomForestClassifier(300))]], **jobs).fit(
            ROWS, LABELS
        ),
    }


KINDS = pd.DataFrame({f"kind {j}": RNG.integers(0, 250, len(ROWS)).astype(str) for j in range(2)})
RANDOM_LABELS = RNG.integers(0, 2, len(FEW))


def answers(n_jobs: int) -> dict[str, Callable[[], Any]]:
    """Name long questions to fitted models."""
    forest = hb.RandomForestRegressor(60, keep=["oob", "leaf_rows"], random_state=0, n_jobs=n_jobs)
    forest.fit(ROWS[:20_000], NUMBERS[:20_000])
    neighbors = hb.KNeighborsClassifier(50, n_jobs=n_jobs).fit(ROWS[:50_000], LABELS[:50_000])
    tree = hb.DecisionTreeRegressor(random_state=0, n_jobs=n_jobs).fit(ROWS, NUMBERS)
    rounds = hb.GradientBoostingRegressor(100, max_leaf_nodes=127, random_state=0, n_jobs=n_jobs)
    rounds.fit(ROWS[:20_000], NUMBERS[:20_000])
    large = np.repeat(ROWS, 15, axis=0)
    return {
        "predict": lambda: forest.predict(MANY[:20_000_000]),
        "apply": lambda: forest.apply(large),
        "decision_path": lambda: [tree.decision_path(ROWS) for _ in range(100)],
        "predict_std": lambda: forest.predict_std(large[:200_000]),
        "predict_interval": lambda: forest.predict_interval(ROWS),
        "predict_quantiles": lambda: forest.predict_quantiles(ROWS),
        "contributions": lambda: rounds.contributions(ROWS),
        "contributions, other rows": lambda: rounds.contributions(ROWS, background=ROWS[:100]),
        "interactions": lambda: rounds.contributions(ROWS, interactions=True),
        "neighbours": lambda: neighbors.predict(ROWS),
    }


def interrupt(work: Callable[[], Any]) -> dict[str, Any]:
    """Report how long the exception took to come, and whether the work was over before."""
    sent_at = [0.0]

    def wait_and_send() -> None:
        time.sleep(DELAY.uniform(0.05, 0.8))
        sent_at[0] = time.monotonic()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=wait_and_send)
    thread.start()
    over = False
    try:
        work()
        over = True
        time.sleep(60)
    except KeyboardInterrupt:
        seconds = time.monotonic() - sent_at[0]
    thread.join()
    return {"seconds": round(seconds, 3), "too_late": over}


def main() -> None:
    """Interrupt everything, once with one thread and once with two."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore it
    seen = {}
    for n_jobs in (1, 2):
        for kind in (fits, answers):
            for name, work in kind(n_jobs).items():
                seen[f"{name}, {n_jobs}"] = interrupt(work)
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
