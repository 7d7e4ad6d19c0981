"""What a benchmark is made of: jobs, cases, contestants, settings.

A job file in ``jobs/`` declares a :class:`Job`. A job has one or more cases; a :class:`Case` is one race:
everyone in it does the same work on the same data. A :class:`Contestant` says how one library does that work.
Nothing here measures or prints: ``measure.py`` runs a case, ``report.py`` shows what came out.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from benchmarks.data import Dataset

if TYPE_CHECKING:
    from benchmarks.targets import Target


class AbsentError(Exception):
    """A contestant cannot take part here; the message is what the table shows in place of a time."""


@dataclass(frozen=True)
class Setting:
    """What the command line decides: training rows, threads, and trees in place of the job's own number."""

    rows: int
    threads: int
    trees: int | None = None

    def tree_count(self, usual: int) -> int:
        return usual if self.trees is None else self.trees


@dataclass(frozen=True)
class Contestant:
    """One library doing the work of a case.

    ``prepare`` is not timed: it imports, sets threads and, in prediction jobs, trains the model. ``run`` is
    timed; whatever a user would pay for (converting the table, binning) belongs there. ``score`` is not
    timed. ``needs`` are import paths (``"lightgbm"``, ``"hornbeam.DecisionTreeClassifier"``); without them
    the contestant is shown as absent.
    """

    name: str
    needs: tuple[str, ...]
    prepare: Callable[[Dataset, Setting], Any]
    run: Callable[[Any, Dataset], Any]
    score: Callable[[Any, Any, Dataset], float]
    ours: bool = False
    note: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Timed:
    """Returned by a ``run`` that keeps its own clock, as the harness's would measure more than the work."""

    seconds: float
    result: Any


@dataclass(frozen=True)
class Unit:
    """Shows a time per piece of work, e.g. nanoseconds (``per_second=1e9``) per row and tree."""

    label: str
    per_second: float
    work: Callable[[Dataset, Setting], float]


@dataclass(frozen=True)
class Case:
    """One race. ``warm_up`` runs everyone once before it: on a few rows (``"head"``) or all (``"full"``)."""

    name: str
    data: Callable[[Setting], Dataset]
    contestants: tuple[Contestant, ...]
    score_name: str
    unit: Unit | None = None
    targets: tuple[Target, ...] = ()
    memory_limit: Callable[[Dataset], float] | None = None
    warm_up: Literal["head", "full"] = "head"

    def contestant(self, name: str) -> Contestant:
        for contestant in self.contestants:
            if contestant.name == name:
                return contestant
        raise KeyError(f"{self.name!r} has no contestant {name!r}: {[c.name for c in self.contestants]}")


@dataclass(frozen=True)
class Job:
    """A named benchmark. ``rows`` are the training rows of a full run, ``quick_rows`` of ``--quick``."""

    name: str
    title: str
    rows: int
    cases: tuple[Case, ...]
    quick_rows: int
    threads: int | None = None
    notes: str = ""

    def case(self, name: str) -> Case:
        for case in self.cases:
            if case.name == name:
                return case
        raise KeyError(f"{self.name!r} has no case {name!r}: {[c.name for c in self.cases]}")


def job_names() -> tuple[str, ...]:
    from benchmarks import jobs

    return jobs.NAMES


def load_job(name: str) -> Job:
    if name not in job_names():
        raise KeyError(f"no job {name!r}; there are: {', '.join(job_names())}")
    job = importlib.import_module(f"benchmarks.jobs.{name}").JOB
    if not isinstance(job, Job):
        raise TypeError(f"benchmarks/jobs/{name}.py: JOB is a {type(job).__name__}, not a Job")
    return job


def load_case(job: str, case: str) -> Case:
    """The address of a case across processes: contestants hold functions, so only names travel."""
    return load_job(job).case(case)


def require(path: str) -> Any:
    """Import ``"package"`` or ``"package.Name"``; raise :class:`AbsentError` when it is not installed.

    A dependency missing inside an installed library is an error of the installation, not an absence, and is
    raised.
    """
    package = path.partition(".")[0]
    missing = "not built yet" if package == "hornbeam" else "not installed"
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != package:
            raise
        raise AbsentError(missing) from None
    return _resolve(path, missing)


def _resolve(path: str, missing: str) -> Any:
    """The object behind a dotted path, importing modules on the way as needed."""
    package, *names = path.split(".")
    found: Any = importlib.import_module(package)
    for depth, name in enumerate(names, start=1):
        if not hasattr(found, name):
            try:
                importlib.import_module(".".join([package, *names[:depth]]))
            except ModuleNotFoundError:
                raise AbsentError(missing) from None
        found = getattr(found, name)
    return found
