"""Falling limits of address space, as `ulimit -v` sets them: a result, or one clear MemoryError.

Each piece of work is done in a child of this process: once with all the memory there is, then under limits
from what it took down to nothing. An answer must be the one without a limit; a file must be the old one or
the new one, whole.

    python -m hostile.little_memory --limits 40         # from tests/; --of "Forest|save" for some of it
"""

import argparse
import ctypes
import gc
import os
import pickle
import re
import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import hornbeam as hb
from hornbeam.params import estimators, options_of
from hornbeam.warnings import HornbeamWarning

N_ROWS = 20_000  # at most
SECONDS = 300  # longer is a hang
# For glibc: arrays are mappings of their own and threads have no reserves, so nothing is left from before.
NO_RESERVES = {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "65536", "MALLOC_ARENA_MAX": "1"}
SMALL = {"n_estimators": 5, "random_state": 0}  # where an estimator has these options
RARER = {
    "KNeighborsClassifier": 10,
    "KNeighborsRegressor": 10,
}  # which look at all pairs: so many times fewer rows

Work = Callable[[int], bytes]  # with so many rows


def table() -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers, gaps, categories, and a target of few classes that all of them say something about."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(N_ROWS, 6)).round(3), columns=list("abcdef"))
    frame.loc[::7, "b"] = np.nan
    frame["kind"] = rng.choice(["x", "y", "z"], N_ROWS)
    frame["many"] = [f"m{k}" for k in rng.integers(0, 300, N_ROWS)]
    return frame, np.digitize(frame["a"] + (frame["kind"] == "x") + rng.normal(size=N_ROWS), [0.0, 1.5])


X, CLASSES = table()
NUMBERS = X["a"].to_numpy() ** 2 + X["c"].to_numpy()


def fit_of(cls: Any, n_jobs: int, n_rows: int) -> Any:
    """Return an estimator, fitted on rows that suit it."""
    some = slice(n_rows // RARER.get(cls.__name__, 1))
    options = {name: value for name, value in SMALL.items() if name in options_of(cls)}
    if "n_jobs" in options_of(cls):
        options["n_jobs"] = n_jobs
    if cls.__name__.startswith("Stacking"):
        kind = cls.__name__.removeprefix("Stacking")
        options["levels"] = [[("tree", getattr(hb, f"DecisionTree{kind}")(max_depth=4))]]
    if cls.__name__.startswith("Blend"):
        kind = cls.__name__.removeprefix("Blend")
        tree, forest = getattr(hb, f"DecisionTree{kind}"), getattr(hb, f"RandomForest{kind}")
        options["members"] = [("tree", tree(max_depth=4)), ("forest", forest(3, random_state=0))]
    numbers = X[list("acdef")][some]
    if cls.__name__ == "DensityTree":
        return cls(**options).fit(numbers)
    y = (CLASSES if cls.__name__.endswith("Classifier") else NUMBERS)[some]
    return cls(**options).fit(numbers if "Neighbors" in cls.__name__ else X[some], y)


def answers_of(model: Any, n_rows: int) -> bytes:
    """Return what a model says of the first rows."""
    rows = X[list(model.feature_names_in_)][:n_rows]
    ask = next(
        getattr(model, name) for name in ("score_samples", "predict_proba", "predict") if hasattr(model, name)
    )
    return bytes(np.ascontiguousarray(ask(rows)).tobytes())


def as_bytes(said: Any) -> bytes:
    """Return an answer in bytes."""
    return said.encode() if isinstance(said, str) else np.ascontiguousarray(said).tobytes()


def pieces_of_work(folder: Path) -> dict[str, Work]:
    """Name all that is done; files go into the folder."""
    works: dict[str, Work] = {}
    for cls in estimators():
        for n_jobs in (1, 2) if "n_jobs" in options_of(cls) else (1,):
            name = f"{cls.__name__}, n_jobs={n_jobs}"
            works[name] = lambda n, cls=cls, n_jobs=n_jobs: answers_of(fit_of(cls, n_jobs, n), n)  # type: ignore[misc]
    forest: list[Any] = []  # fitted where it is first asked for
    model, page = folder / "model.hornbeam", folder / "page.html"

    def fitted() -> Any:
        if not forest:
            forest.append(hb.RandomForestClassifier(10, random_state=0).fit(X, CLASSES))
        return forest[0]

    def saved(_: int) -> bytes:
        hb.save(fitted(), model)
        return model.read_bytes()

    def loaded(n: int) -> bytes:
        if not model.exists():
            hb.save(fitted(), model)
        return answers_of(hb.load(model), n)

    def reported(n: int) -> bytes:
        hb.report(fitted(), X[: n // 5], CLASSES[: n // 5], page, cv=None)
        return page.read_bytes()

    asked: dict[str, Callable[[int], Any]] = {
        "contributions": lambda n: fitted().contributions(X[: n // 10]).values,
        "contributions, background": lambda n: (
            fitted().contributions(X[: n // 1000 + 1], background=X[:100]).values
        ),
        "interactions": lambda n: fitted().contributions(X[: n // 1000 + 1], interactions=True).values,
        "path_contributions": lambda n: fitted().path_contributions(X[: n // 4])[0],
        "explain": lambda n: str(fitted().explain(X[:1])),
        "counterfactual": lambda n: str(fitted().counterfactual(X[:1], X[: n // 10])),
        "importance": lambda n: str(fitted().importance("contributions", X=X[: n // 20])),
        "effect": lambda n: str(fitted().effect(X[: n // 10], "a")),
        "apply": lambda n: fitted().apply(X[:n]),
        "decision_path": lambda n: fitted().decision_path(X[:n])[0].indices,
        "predict_std": lambda n: fitted().predict_std(X[: n // 10]),
        "rules": lambda n: str(fitted().rules()[:100]),
        "to_frame": lambda n: str(fitted().to_frame()),
    }
    works |= {name: lambda n, ask=ask: as_bytes(ask(n)) for name, ask in asked.items()}  # type: ignore[misc]
    return works | {"save": saved, "load": loaded, "report": reported}


def address_space(what: str) -> int:
    """Return how many bytes of addresses this process has (VmSize), or has had at most (VmPeak)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(what))


def in_a_child(work: Work, n_rows: int, more: int | None) -> tuple[str, Any]:
    """Do something with so many bytes more than there are now; say how it ended, and what it said.

    ("done", (answer, bytes it took)), ("refused", error), ("other error", traceback), ("killed by", signal),
    ("ended without a word", exit code).
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        signal.alarm(SECONDS)
        before = address_space("VmSize")
        if more is not None:
            resource.setrlimit(resource.RLIMIT_AS, (before + more, resource.RLIM_INFINITY))
        try:
            try:
                said: tuple[str, Any] = ("done", (work(n_rows), address_space("VmPeak") - before))
            finally:  # to say how it ended takes memory, too
                resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        except MemoryError as error:
            said = ("refused", f"{type(error).__name__}: {error}")
        except BaseException:
            said = ("other error", traceback.format_exc())
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(said, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said_by_child = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "killed by", signal.Signals(os.WTERMSIG(status)).name
    if (
        not said_by_child
    ):  # OpenBLAS, for one, ends the process itself where it gets no memory for its threads
        return "ended without a word", f"exit code {os.WEXITSTATUS(status)}"
    found: tuple[str, Any] = pickle.loads(said_by_child)
    return found


def unclear(message: str) -> bool:
    """Whether an error about memory does not say so to a user; Python's own have no text."""
    return "bad_alloc" in message


def half_written(folder: Path, known: dict[str, set[bytes]]) -> str:
    """Name a file that is neither what was there nor what was to be written."""
    for file in folder.iterdir():
        if file.name not in known or file.read_bytes() not in known[file.name]:
            return file.name
    return ""


def sweep(name: str, work: Work, folder: Path, n_rows: int, n_limits: int) -> tuple[str, list[str]]:
    """Do something under falling limits; return how often it was done and refused, and what must not be."""
    work(300)  # what is loaded and made once per process
    old = {file.name: b"what was there" for file in folder.iterdir()} if name != "load" else {}
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    how, what = in_a_child(work, n_rows, None)
    if how != "done":
        return "", [f"without a limit: {how} {what}"]
    expected, needed = what
    known = {
        file.name: {file.read_bytes(), old.get(file.name, file.read_bytes())} for file in folder.iterdir()
    }
    counts: Counter[str] = Counter()
    wrong = []
    for step in range(n_limits):
        for file_name, content in old.items():
            (folder / file_name).write_bytes(content)
        more = int(needed * (1.1 - 1.1 * step / n_limits))
        how, what = in_a_child(work, n_rows, more)
        counts[how] += 1
        if how == "done" and what[0] != expected:
            wrong.append(f"{more} bytes: another answer")
        elif how not in ("done", "refused") or (how == "refused" and unclear(what)):
            wrong.append(f"{more} bytes: {how} {what}")
        if left := half_written(folder, known):
            wrong.append(f"{more} bytes: left {left}")
    return f"{needed / 2**20:.1f} MiB: {counts['done']} done, {counts['refused']} refused", wrong


def main() -> int:
    """Sweep all pieces of work; report what must not happen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limits", type=int, default=20)
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--of", default="", help="what of it is done: a regular expression")
    given = parser.parse_args()
    if not os.environ.keys() >= NO_RESERVES.keys():
        command = [sys.executable, "-m", "hostile.little_memory", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | NO_RESERVES)
    warnings.simplefilter("error")
    warnings.simplefilter("ignore", HornbeamWarning)
    n_wrong = 0
    with tempfile.TemporaryDirectory() as name_of_folder:
        folder = Path(name_of_folder)
        for name, work in pieces_of_work(folder).items():
            if not re.search(given.of, name):
                continue
            counts, wrong = sweep(name, work, folder, given.rows, given.limits)
            n_wrong += len(wrong)
            print(f"{name}: {counts}", *wrong[:3], sep="\n    ", flush=True)
            for file in folder.iterdir():
                file.unlink()
    print(f"{n_wrong} that must not happen")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
