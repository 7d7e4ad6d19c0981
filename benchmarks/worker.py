"""One contestant in one process: load the data, get ready, run when told, score.

:class:`Session` does the work. Run as a module it serves a session over its standard streams: the order comes
as one line of JSON, then each line ``run`` or ``score`` is answered by one line of JSON. What libraries print
goes to standard error, so that it cannot be taken for an answer.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import importlib.metadata
import json
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from typing import Any

from benchmarks.data import DataAbsentError, Dataset
from benchmarks.harness import AbsentError, Case, Contestant, Setting, Timed, require

WARM_UP_ROWS = 2_000
DISTRIBUTIONS = {
    "sklearn": "scikit-learn",
    "sklearnex": "scikit-learn-intelex",
    "daal4py": "scikit-learn-intelex",
    "xgboost": "xgboost-cpu",
    "faiss": "faiss-cpu",
}


@dataclass
class Ready:
    """What is known before the first run."""

    versions: dict[str, str]
    data: str
    work: float | None
    memory_limit: float | None


@dataclass
class Timing:
    """One timed run; ``peak_bytes`` is the memory above what was in use before it, None when unknown."""

    seconds: float
    cpu_seconds: float
    peak_bytes: int | None


class Session:
    """A contestant of a case, with its data loaded."""

    def __init__(self, case: Case, contestant: Contestant, setting: Setting) -> None:
        self.case = case
        self.contestant = contestant
        self.setting = setting
        self.data: Dataset
        self.state: Any = None
        self.result: Any = None

    def open(self) -> Ready:
        """Import, load the data, prepare and warm up."""
        for path in self.contestant.needs:
            require(path)
        self.data = self.case.data(self.setting)
        self._warm_up()
        unit, limit = self.case.unit, self.case.memory_limit
        return Ready(
            versions=versions(self.contestant.needs),
            data=self.data.describe(),
            work=unit.work(self.data, self.setting) if unit else None,
            memory_limit=limit(self.data) if limit else None,
        )

    def run(self) -> Timing:
        """One timed run; the previous result is freed first, so that it counts as neither time nor memory."""
        self.result = None
        release_memory()
        before = restart_peak()
        cpu_start, start = time.process_time(), time.perf_counter()
        result = self.contestant.run(self.state, self.data)
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
        # After a full warm-up the allocator still holds what the work needs: no honest peak to report.
        peak = peak_since(before) if self.case.warm_up == "head" else None
        if isinstance(result, Timed):
            seconds, result = result.seconds, result.result
        self.result = result
        return Timing(seconds, cpu_seconds, peak)

    def score(self) -> float:
        """Judge the latest result."""
        return float(self.contestant.score(self.state, self.result, self.data))

    def _warm_up(self) -> None:
        """Pay one-off costs (thread pools, lazy imports, compilation) before the first timed run."""
        if self.case.warm_up == "head":
            small = self.data.head(min(WARM_UP_ROWS, self.data.rows))
            self.contestant.run(self.contestant.prepare(small, self.setting), small)
            self.state = self.contestant.prepare(self.data, self.setting)
        else:
            self.state = self.contestant.prepare(self.data, self.setting)
            self.contestant.run(self.state, self.data)


def versions(needs: tuple[str, ...]) -> dict[str, str]:
    """Installed versions of the distributions behind some import paths."""
    found = {}
    for path in needs:
        package = path.partition(".")[0]
        name = DISTRIBUTIONS.get(package, package)
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def release_memory() -> None:
    """Hand freed memory back to the system, so that the next peak counts new memory only."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def restart_peak() -> int | None:
    """Set the kernel's high-water mark back to the memory in use, and return that; None where impossible."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
        return _memory_field("VmRSS")
    except OSError:
        return None


def peak_since(before: int | None) -> int | None:
    if before is None:
        return None
    return max(0, _memory_field("VmHWM") - before)


def _memory_field(name: str) -> int:
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(name + ":"):
                return int(line.split()[1]) * 1024
    raise OSError(f"no {name} in /proc/self/status")


# ----------------------------------------------------------------------------------------------- as a process


def die_with_parent() -> None:
    """End when the race ends, however it ends: a stopped process would otherwise wait for ever (Linux)."""
    set_parent_death_signal = 1
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").prctl(set_parent_death_signal, signal.SIGKILL)


def keep_to_threads(threads: int) -> None:
    """Confine this process to as many cores as it may use threads: some libraries know no other limit."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[: max(1, threads)])


def session_from(order: dict[str, Any]) -> Session:
    """An order names a function that gives the case (``module:function``), its arguments, the contestant."""
    module, _, function = order["factory"].partition(":")
    case: Case = getattr(importlib.import_module(module), function)(**order["arguments"])
    return Session(case, case.contestant(order["contestant"]), Setting(**order["setting"]))


def answer_to(session: Session, request: str) -> dict[str, Any]:
    """Do what was asked; whatever goes wrong becomes an answer too."""
    try:
        if request == "open":
            return {"status": "ok", **vars(session.open())}
        if request == "run":
            return {"status": "ok", **vars(session.run())}
        return {"status": "ok", "score": session.score()}
    except (AbsentError, DataAbsentError) as absence:
        return {"status": "absent", "reason": str(absence)}
    except NotImplementedError as error:
        return {"status": "absent", "reason": f"not built yet: {error}".rstrip(": ")}
    except Exception as error:
        traceback.print_exc()
        return {"status": "failed", "reason": f"{type(error).__name__}: {error}"}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    die_with_parent()
    os.dup2(2, 1)  # from here on, prints of any library land on standard error
    order = json.loads(sys.stdin.readline())
    keep_to_threads(order["setting"]["threads"])
    session = session_from(order)
    for line in sys.stdin:
        answers.write(json.dumps(answer_to(session, line.strip())) + "\n")


if __name__ == "__main__":
    main()
