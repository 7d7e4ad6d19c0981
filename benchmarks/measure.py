"""Runs the contestants of a case against each other and collects times, scores and peak memory.

Every contestant lives in a process of its own, started afresh for the case with its thread limits set. Rounds
are interleaved (A B C, A B C, ...), so that a slow spell of the machine hits everybody; while one runs, all
others are stopped, so that no idle thread pool can spin beside it.
"""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from benchmarks.data import REPOSITORY
from benchmarks.harness import Case, Contestant, Job, Setting
from benchmarks.targets import Verdict
from benchmarks.worker import answer_to, session_from

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "LOKY_MAX_CPU_COUNT",
    "HORNBEAM_NUM_THREADS",
)
SECONDS_PER_TURN = 1800.0


@dataclass
class Outcome:
    """What one contestant did; ``status`` is "ok", or "absent", "failed" or "stopped" with a ``reason``."""

    contestant: str
    ours: bool
    status: str = "ok"
    reason: str = ""
    note: str = ""
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    score: float | None = None
    peak_bytes: int | None = None
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def finished(self) -> bool:
        return self.status == "ok" and bool(self.seconds)


@dataclass
class CaseResult:
    """The outcome of one race, with everything a reader needs to judge it."""

    job: str
    case: str
    title: str
    score_name: str
    rows: int
    threads: int
    repeats: int
    outcomes: list[Outcome]
    data: str = ""
    unit: str = ""
    unit_per_second: float = 1.0
    work: float | None = None
    memory_limit: float | None = None
    verdicts: list[Verdict] = field(default_factory=list)

    def finished(self, name: str) -> Outcome | None:
        return next((o for o in self.outcomes if o.contestant == name and o.finished), None)

    def main(self) -> Outcome | None:
        """Our own entry; where we have several, the first that the case lists."""
        ours = next((o for o in self.outcomes if o.ours), None)
        return ours if ours is not None and ours.finished else None

    def fastest_peer(self) -> Outcome | None:
        peers = [o for o in self.outcomes if o.finished and not o.ours]
        return min(peers, key=lambda outcome: outcome.best, default=None)

    def speed_against_fastest_peer(self, outcome: Outcome) -> float | None:
        """How many times faster than the fastest peer; below one is slower."""
        peer = self.fastest_peer()
        return None if peer is None or not outcome.finished else peer.best / outcome.best

    def per_unit(self, seconds: float) -> float | None:
        """Time per piece of work, in the unit of the case."""
        return None if self.work is None else seconds / self.work * self.unit_per_second

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class Player(Protocol):
    """A session that can be asked to open, run or score."""

    def ask(self, request: str) -> dict[str, Any]: ...
    def close(self) -> None: ...


class LocalPlayer:
    """A session in this very process: for smoke tests, where memory and thread limits do not matter."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.session = session_from(order)

    def ask(self, request: str) -> dict[str, Any]:
        return answer_to(self.session, request)

    def close(self) -> None:
        self.session.state = self.session.result = None


class RemotePlayer:
    """A session in a fresh process, stopped whenever it is not its turn."""

    def __init__(self, order: dict[str, Any], environment: Mapping[str, str], limit: float) -> None:
        self.limit = limit
        self.noise = tempfile.TemporaryFile(mode="w+")  # noqa: SIM115 - closed in close()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.noise,
            text=True,
            env=_environment(order["setting"]["threads"], environment),
        )
        self._send(json.dumps(order))
        self._pause()

    def ask(self, request: str) -> dict[str, Any]:
        self._continue()
        started = time.monotonic()
        watchdog = threading.Timer(self.limit, self.process.kill)
        watchdog.start()
        try:
            self._send(request)
            assert self.process.stdout is not None
            line = self.process.stdout.readline()
        finally:
            watchdog.cancel()
        if not line and time.monotonic() - started >= self.limit:
            return {"status": "stopped", "reason": f"stopped after {self.limit:g} s"}
        if not line:
            return {"status": "failed", "reason": self._why_it_died()}
        self._pause()
        answer: dict[str, Any] = json.loads(line)
        return answer

    def close(self) -> None:
        self._continue()
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.noise.close()

    def _send(self, line: str) -> None:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # the process died; the empty answer says so

    def _why_it_died(self) -> str:
        code = self.process.wait()
        self.noise.seek(0)
        lines = self.noise.read().strip().splitlines()
        return f"process ended with code {code}" + (f": {lines[-1]}" if lines else "")

    def _pause(self) -> None:
        self._signal("SIGSTOP")

    def _continue(self) -> None:
        self._signal("SIGCONT")

    def _signal(self, name: str) -> None:
        if hasattr(signal, name) and self.process.poll() is None:
            self.process.send_signal(getattr(signal, name))


def run_job(
    job: Job,
    setting: Setting,
    repeats: int,
    *,
    only: str | None = None,
    limit: float = SECONDS_PER_TURN,
    in_this_process: bool = False,
) -> Iterator[CaseResult]:
    """Race every case of a job.

    ``only`` keeps the contestants whose name contains that text; who takes longer than ``limit`` seconds for
    one turn is stopped and leaves the race.
    """
    for case in job.cases:
        source = ("benchmarks.harness:load_case", {"job": job.name, "case": case.name})
        result = CaseResult(
            job.name,
            case.name,
            job.title,
            case.score_name,
            setting.rows,
            setting.threads,
            repeats,
            outcomes=[],
        )
        chosen = [c for c in case.contestants if only is None or only.lower() in c.name.lower()]
        race(case, chosen, source, setting, result, limit=limit, in_this_process=in_this_process)
        if result.outcomes:
            yield result


def race(
    case: Case,
    contestants: list[Contestant],
    source: tuple[str, dict[str, Any]],
    setting: Setting,
    result: CaseResult,
    *,
    limit: float = SECONDS_PER_TURN,
    in_this_process: bool = False,
) -> None:
    """Fill in ``result``: get everyone ready, run the interleaved rounds, score, check the targets."""
    with ExitStack() as stack:
        racing: list[tuple[Player, Outcome]] = []
        for contestant in contestants:
            order = _order(source, contestant, setting)
            player = stack.enter_context(_player(order, contestant, limit, in_this_process))
            outcome = Outcome(contestant.name, contestant.ours, note=contestant.note)
            result.outcomes.append(outcome)
            if _open(player, outcome, case, result):
                racing.append((player, outcome))
        for number in range(result.repeats):
            for player, outcome in racing:
                _run_once(player, outcome, first=number == 0)
    result.verdicts = [target.verdict(result) for target in case.targets]


def _open(player: Player, outcome: Outcome, case: Case, result: CaseResult) -> bool:
    answer = player.ask("open")
    if not _accept(answer, outcome):
        return False
    outcome.versions = answer["versions"]
    result.data, result.work, result.memory_limit = answer["data"], answer["work"], answer["memory_limit"]
    if case.unit is not None:
        result.unit, result.unit_per_second = case.unit.label, case.unit.per_second
    return True


def _run_once(player: Player, outcome: Outcome, *, first: bool) -> None:
    """One turn. Memory is taken from the first: later ones find what the first left in the heap."""
    if outcome.status != "ok":
        return
    answer = player.ask("run")
    if not _accept(answer, outcome):
        return
    outcome.seconds.append(answer["seconds"])
    outcome.cpu_seconds.append(answer["cpu_seconds"])
    if not first:
        return
    outcome.peak_bytes = answer["peak_bytes"]
    answer = player.ask("score")
    if _accept(answer, outcome):
        outcome.score = answer["score"]


def _accept(answer: dict[str, Any], outcome: Outcome) -> bool:
    outcome.status, outcome.reason = answer["status"], answer.get("reason", "")
    return outcome.status == "ok"


def _order(source: tuple[str, dict[str, Any]], contestant: Contestant, setting: Setting) -> dict[str, Any]:
    factory, arguments = source
    return {
        "factory": factory,
        "arguments": arguments,
        "contestant": contestant.name,
        "setting": asdict(setting),
    }


@contextmanager
def _player(
    order: dict[str, Any], contestant: Contestant, limit: float, in_this_process: bool
) -> Iterator[Player]:
    player: Player
    player = LocalPlayer(order) if in_this_process else RemotePlayer(order, contestant.environment, limit)
    try:
        yield player
    finally:
        player.close()


def _environment(threads: int, extra: Mapping[str, str]) -> dict[str, str]:
    """The environment of a contestant: this one, with the thread limits and the way to this package."""
    paths = [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        **dict.fromkeys(THREAD_VARIABLES, str(threads)),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        **extra,
    }
