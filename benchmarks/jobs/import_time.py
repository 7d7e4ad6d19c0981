"""How long ``import`` takes in a fresh interpreter: from nothing, and on top of numpy and scikit-learn.

The score is how many of pandas, polars and matplotlib the library's own code imports at once: a user who
fits a tree on an array should not wait for them. What scikit-learn imports by itself is nobody else's fault.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np

from benchmarks.data import Dataset
from benchmarks.harness import Case, Contestant, Job, Setting, Timed
from benchmarks.targets import score_at_most, unit_at_most

TIME_IMPORT = """
import json, time
{before}
start = time.perf_counter()
import {module}
print(json.dumps(time.perf_counter() - start))
"""

# A module already imported leaves no trace when it is imported again, so requests are recorded, not modules.
RECORD_REQUESTS = """
import builtins, json
heavy, own, seen = ["pandas", "polars", "matplotlib"], "{module}".partition(".")[0], set()
plain_import = builtins.__import__
def recording_import(name, globals=None, locals=None, fromlist=(), level=0):
    importer = (globals or dict()).get("__name__") or ""
    found = plain_import(name, globals, locals, fromlist, level)
    if importer.partition(".")[0] == own and level == 0:
        seen.add(name.partition(".")[0])
    return found
builtins.__import__ = recording_import
import {module}
print(json.dumps([name for name in heavy if name in seen]))
"""


def _contestant(name: str, module: str, before: str, *, ours: bool = False) -> Contestant:
    return Contestant(
        name=name,
        needs=(module,),
        prepare=lambda table, setting: None,
        run=lambda state, table: Timed(_fresh(TIME_IMPORT.format(before=before, module=module)), None),
        score=lambda state, result, table: len(_fresh(RECORD_REQUESTS.format(module=module))),
        ours=ours,
    )


def _fresh(script: str) -> Any:
    """Run a script in a new interpreter and read its last line."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


def _nothing(setting: Setting) -> Dataset:
    """An import needs no data."""
    table, labels = np.zeros((0, 0)), np.zeros(0)
    return Dataset("no data", "binary", table, labels, table, labels)


def _case(name: str, before: str, *, seconds: float | None) -> Case:
    peers = {
        "sklearnex": "sklearnex.ensemble",
        "LightGBM": "lightgbm",
        "XGBoost": "xgboost",
        "CatBoost": "catboost",
        "YDF": "ydf",
    }
    if not before:
        peers["scikit-learn"] = "sklearn.ensemble"
    return Case(
        name=name,
        data=_nothing,
        contestants=(
            _contestant("hornbeam", "hornbeam", before, ours=True),
            *(_contestant(peer, module, before) for peer, module in peers.items()),
        ),
        score_name="heavy imports",
        targets=() if seconds is None else (unit_at_most(seconds, "s"), score_at_most(0)),
        warm_up="full",
    )


JOB = Job(
    name="import_time",
    title="Import time in a fresh interpreter",
    rows=1,
    quick_rows=1,
    threads=1,
    cases=(
        _case("on top of numpy and scikit-learn", "import numpy, sklearn.ensemble", seconds=0.3),
        _case("from nothing", "", seconds=None),
    ),
    notes="Files are warm in the page cache: the first, untimed import reads them.",
)
