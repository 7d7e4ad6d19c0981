"""Boosting on many threads, beside LightGBM and XGBoost, by turns.

    python -m benchmarks.many_threads --rows 1000000 --threads 1 2 4 8 16 --repeats 2

100 trees of 63 leaves on 28 columns of numbers. The peers run with the most threads only.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks import data

ROUNDS, LEAVES, RATE = 100, 63, 0.1


def hornbeam(threads: int) -> Any:
    """Return our estimator."""
    import hornbeam as hb

    return hb.GradientBoostingClassifier(
        n_estimators=ROUNDS, max_leaf_nodes=LEAVES, learning_rate=RATE, n_jobs=threads
    )


def lightgbm(threads: int, *, quantised: bool) -> Any:
    """Return LightGBM's, with gradients quantised or not."""
    from lightgbm import LGBMClassifier

    options = {"n_estimators": ROUNDS, "num_leaves": LEAVES, "learning_rate": RATE, "n_jobs": threads}
    return LGBMClassifier(**options, use_quantized_grad=quantised, verbose=-1)


def xgboost(threads: int) -> Any:
    """Return XGBoost's, growing best first as the others do."""
    from xgboost import XGBClassifier

    how = {"tree_method": "hist", "grow_policy": "lossguide", "max_depth": 0, "max_leaves": LEAVES}
    return XGBClassifier(n_estimators=ROUNDS, learning_rate=RATE, n_jobs=threads, **how)


def contestants(threads: list[int]) -> dict[str, Callable[[], Any]]:
    """Name all who run, in their order."""
    most = max(threads)
    ours = {f"hornbeam, {k} threads": partial(hornbeam, k) for k in threads}
    return ours | {
        f"LightGBM quantised, {most} threads": partial(lightgbm, most, quantised=True),
        f"LightGBM, {most} threads": partial(lightgbm, most, quantised=False),
        f"XGBoost, {most} threads": partial(xgboost, most),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2, 4, 8, 16])
    parser.add_argument("--repeats", type=int, default=2)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    made = data.physics(given.rows)
    for _ in range(given.repeats):
        for name, make in contestants(given.threads).items():
            model, clock, cpu = make(), time.perf_counter(), time.process_time()
            model.fit(made.X, made.y)
            clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
            p = np.clip(model.predict_proba(made.X_test)[np.arange(len(made.y_test)), made.y_test], 1e-15, 1)
            loss = -np.mean(np.log(p))
            print(f"{name}: {clock:.2f} s, {cpu:.1f} s of CPU, log loss {loss:.5f}", flush=True)


if __name__ == "__main__":
    main()
