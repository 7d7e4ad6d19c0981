"""How long ``import`` takes in a fresh interpreter: from nothing, and on top of numpy and scikit-learn.

The score is how many of pandas, polars and matplotlib the import drags in: a library that needs none of them
to fit a tree should not make the user wait for them.
"""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from benchmarks.data import Dataset
from benchmarks.harness import Case, Contestant, Job, Setting, Timed
from benchmarks.targets import score_at_least, unit_at_most

HEAVY = ("pandas", "polars", "matplotlib")
SCRIPT = """
import json, sys, time
{before}
present = set(sys.modules)
start = time.perf_counter()
import {module}
seconds = time.perf_counter() - start
print(json.dumps([seconds, [m for m in {heavy} if m in sys.modules and m not in present]]))
"""


def _nothing(setting: Setting) -> Dataset:
    """An import needs no data."""
    empty = np.zeros((0, 0))
    return Dataset("no data", "binary", empty, empty[:, 0:0], empty, empty[:, 0:0])


def _contestant(name: str, module: str, before: str, *, ours: bool = False) -> Contestant:
    script = SCRIPT.format(before=before, module=module, heavy=HEAVY)

    def run(state: object, table: Dataset) -> Timed:
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        seconds, dragged_in = json.loads(done.stdout.strip().splitlines()[-1])
        return Timed(seconds, dragged_in)

    return Contestant(
        name=name,
        needs=(module,),
        prepare=lambda table, setting: None,
        run=run,
        score=lambda state, dragged_in, table: -float(len(dragged_in)),
        ours=ours,
    )


def _case(name: str, before: str, limit: float | None) -> Case:
    peers = {
        "scikit-learn": "sklearn.ensemble",
        "sklearnex": "sklearnex.ensemble",
        "LightGBM": "lightgbm",
        "XGBoost": "xgboost",
        "CatBoost": "catboost",
        "YDF": "ydf",
    }
    if "sklearn" in before:
        del peers["scikit-learn"]
    return Case(
        name=name,
        data=_nothing,
        contestants=(
            _contestant("hornbeam", "hornbeam", before, ours=True),
            *(_contestant(peer, module, before) for peer, module in peers.items()),
        ),
        score_name="minus heavy imports",
        targets=() if limit is None else (unit_at_most(limit, "s"), score_at_least(0)),
        warm_up="full",
    )


JOB = Job(
    name="import_time",
    title="Import time in a fresh interpreter",
    rows=1,
    quick_rows=1,
    threads=1,
    cases=(
        _case("on top of numpy and scikit-learn", "import numpy, sklearn.ensemble", 0.3),
        _case("from nothing", "", None),
    ),
    notes="Files are warm in the page cache: the first, untimed import reads them.",
)
