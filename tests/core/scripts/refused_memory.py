"""Refuses the core each of its requests for memory in turn: all it may say is MemoryError.

Runs with failing_memory loaded before everything else; prints, per piece of work, how many requests there are
and how often it was broken off. `--most 0` refuses every one; else so many, spread over all.
"""

import argparse
import ctypes
import json
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hornbeam as hb

lib = ctypes.CDLL(None)
lib.refuse.argtypes = [ctypes.c_long, ctypes.c_bool]
lib.requests.restype = ctypes.c_long

RNG = np.random.default_rng(0)
N = 400


def table() -> pd.DataFrame:
    """Numbers with gaps, few values, categories, many categories, dates."""
    frame = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])
    frame.loc[::7, "b"] = np.nan
    frame["few"] = RNG.integers(0, 4, N)
    frame["kind"] = RNG.choice(["x", "y", "z"], N)
    frame["many"] = [f"m{k}" for k in RNG.integers(0, 60, N)]
    frame["when"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(RNG.integers(0, 500, N), unit="D")
    return frame


X = table()
NUMBERS = (X["a"] + X["b"].fillna(0) * (X["kind"] == "x") + RNG.normal(size=N)).to_numpy()
TWO = np.where(NUMBERS > 0, "yes", "no")
THREE = np.digitize(NUMBERS, [-1, 1])
PLAIN = X[["a", "c", "few"]].to_numpy()


def work() -> dict[str, Callable[[], Any]]:
    """Name pieces of work: fits of every method, and questions."""
    forest = hb.RandomForestRegressor(6, keep=["oob", "leaf_rows"], random_state=0).fit(X, NUMBERS)
    boosting = hb.GradientBoostingClassifier(6, random_state=0).fit(X, THREE)
    neighbors = hb.KNeighborsClassifier(5).fit(PLAIN, TWO)
    some = {"random_state": 0}

    def saved_and_loaded() -> Any:
        with tempfile.TemporaryDirectory() as folder:
            hb.save(boosting, Path(folder) / "m")
            return hb.load(Path(folder) / "m").predict(X)

    def predicted(model: Any, y: Any, rows: Any = X) -> Callable[[], Any]:
        return lambda: model.fit(rows, y).predict(rows)

    two = {"n_jobs": 2}
    return {
        "tree": predicted(hb.DecisionTreeClassifier(**some), TWO),
        "tree of surrogates": predicted(hb.DecisionTreeClassifier(missing="surrogate", **some), THREE),
        "pruned tree": predicted(hb.DecisionTreeRegressor(prune="cost_complexity", cv=2, **some), NUMBERS),
        "tree of two outputs": predicted(hb.DecisionTreeRegressor(**some), np.c_[NUMBERS, -NUMBERS], PLAIN),
        "medians": predicted(hb.DecisionTreeRegressor(criterion="absolute_error", **some), NUMBERS, PLAIN),
        "forest": predicted(hb.RandomForestClassifier(4, oob_score=True, **some), TWO),
        "forest, two threads": predicted(hb.RandomForestRegressor(4, **some, **two), NUMBERS),
        "extra trees": predicted(hb.ExtraTreesClassifier(4, **some), THREE, PLAIN),
        "boosting": predicted(hb.GradientBoostingClassifier(4, **some), TWO),
        "boosting, two threads": predicted(hb.GradientBoostingRegressor(4, **some, **two), NUMBERS),
        "boosting, automatic": predicted(
            hb.GradientBoostingRegressor(n_members=2, n_iter_no_change=1, learning_rate=0.9, **some), NUMBERS
        ),
        "AdaBoost": predicted(hb.AdaBoostClassifier(n_estimators=4, **some), TWO),
        "density": lambda: hb.DensityTree(**some).fit(PLAIN).score_samples(PLAIN),
        "neighbours": predicted(hb.KNeighborsRegressor(5, weights="distance"), NUMBERS, PLAIN),
        "predict": lambda: boosting.predict_proba(X),
        "predict_interval": lambda: forest.predict_interval(X),
        "predict_quantiles": lambda: forest.predict_quantiles(X[:9]),
        "predict_std": lambda: forest.predict_std(X[:40]),
        "contributions": lambda: boosting.contributions(X).values,
        "contributions, background": lambda: boosting.contributions(X[:9], background=X[:50]).values,
        "interactions": lambda: boosting.contributions(X[:9], interactions=True).values,
        "decision_path": lambda: np.asarray(forest.decision_path(X)[0].sum(axis=0)),
        "kneighbors": lambda: neighbors.kneighbors(PLAIN)[1],
        "save and load": saved_and_loaded,
    }


def attempt(do: Callable[[], Any], number: int, and_all_others: bool) -> tuple[Any, int]:
    """Do something while a request is refused; return what came of it, and the number of requests."""
    lib.refuse(number, and_all_others)
    try:
        return do(), lib.requests()
    except MemoryError:
        return MemoryError, lib.requests()


def main() -> int:
    """Refuse the requests of every piece of work."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, default=25)
    parser.add_argument("--of", default="")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    counts = {}
    for name, do in work().items():
        if given.of not in name:
            continue
        print(name, file=sys.stderr, flush=True)
        do()  # what is made once per process
        expected, n_requests = attempt(do, -1, False)
        n_requests = max(n_requests, 1)
        most = given.most or n_requests
        refused = 0
        for number in np.unique(np.linspace(0, n_requests - 1, min(most, n_requests)).astype(int)).tolist():
            for and_all_others in (False, True):
                found, _ = attempt(do, number, and_all_others)
                if found is MemoryError:
                    refused += 1
                elif not np.array_equal(found, expected, equal_nan=np.asarray(found).dtype.kind == "f"):
                    raise AssertionError(f"{name}: another answer without request {number}")
            again = do()
            if not np.array_equal(again, expected, equal_nan=np.asarray(again).dtype.kind == "f"):
                raise AssertionError(f"{name}: another answer after request {number} was refused")
        counts[name] = [n_requests, refused]
    print(json.dumps(counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
