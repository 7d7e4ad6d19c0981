"""Shows results: a table for the terminal, JSON, a bar chart, and sections of RESULTS.md."""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.measure import CaseResult, Outcome

OUR_COLOUR, PEER_COLOUR = "#2b6f3e", "#9aa5ad"
MOST_IN_USE, MOST_STOLEN = 0.15, 0.05  # of the cores; above, a run is said to be uncertain
LONGEST_REASON = 100  # in tables; JSON has the whole text
HEADINGS = ("contestant", "best", "median", "vs fastest peer", "score", "peak memory", "versions", "note")


@dataclass(frozen=True)
class Machine:
    """Where and when a run took place, and how busy the machine was before it."""

    date: str
    cpu: str
    cores: int
    system: str
    python: str
    busy: float | None  # the share of its cores that somebody used just before the run
    stolen: float | None = None  # the share that other tenants of a virtual machine took during it

    def sentence(self) -> str:
        busy = "" if self.busy is None else f", {self.busy:.0%} in use before the run"
        stolen = "" if self.stolen is None else f", {self.stolen:.0%} taken by other tenants during it"
        return (
            f"{self.date}, {self.cpu}, {self.cores} cores, {self.system}, Python {self.python}{busy}{stolen}"
        )

    @property
    def is_busy(self) -> bool:
        return (self.busy or 0.0) > MOST_IN_USE or (self.stolen or 0.0) > MOST_STOLEN


def this_machine() -> Machine:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return Machine(
        date=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        cpu=_cpu_name(),
        cores=cores,
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        busy=_share_in_use(),
    )


def _share_in_use(seconds: float = 1.0) -> float | None:
    """Look at the processor while this process sleeps: the load average still remembers what has ended."""
    try:
        import psutil
    except ImportError:
        return None
    return float(psutil.cpu_percent(interval=seconds)) / 100


class StolenTime:
    """How much of the processor a hypervisor gives to others, from the making of this object on."""

    def __init__(self) -> None:
        self._before = self._times()

    def share(self) -> float | None:
        """The share so far; None where the system does not tell."""
        after = self._times()
        if self._before is None or after is None:
            return None
        stolen, total = (now - then for now, then in zip(after, self._before, strict=True))
        return stolen / total if total > 0 else None

    @staticmethod
    def _times() -> tuple[float, float] | None:
        try:
            import psutil
        except ImportError:
            return None
        times = psutil.cpu_times()
        return (times.steal, sum(times)) if hasattr(times, "steal") else None


def _cpu_name() -> str:
    """The processor's name and its widest vector instructions, as far as the system tells."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    name = re.search(r"model name\s*:\s*(.+)", text)
    flags = set((re.search(r"flags\s*:\s*(.+)", text) or [""])[0].split())
    widest = "AVX-512" if "avx512f" in flags else "AVX2" if "avx2" in flags else "no AVX2"
    return f"{name.group(1).strip() if name else platform.machine()} ({widest})"


# -------------------------------------------------------------------------------------------- rows of a table


def cells(result: CaseResult, outcome: Outcome) -> tuple[str, ...]:
    """One contestant as texts, in the order of ``HEADINGS``."""
    versions = ", ".join(f"{name} {version}" for name, version in outcome.versions.items())
    if not outcome.finished:
        reason = textwrap.shorten(outcome.reason or outcome.status, LONGEST_REASON)
        return (outcome.contestant, reason, "", "", "", "", versions, outcome.note)
    ratio = result.speed_against_fastest_peer(outcome)
    return (
        outcome.contestant,
        _time(result, outcome.best),
        _time(result, outcome.median),
        "" if ratio is None else f"{ratio:.2f}x",
        "" if outcome.score is None else f"{outcome.score:.4f}",
        "" if outcome.peak_bytes is None else f"{outcome.peak_bytes / 2**20:,.0f} MiB",
        versions,
        outcome.note,
    )


def in_order(result: CaseResult) -> list[Outcome]:
    """Fastest first, then those that did not finish."""
    return sorted(result.outcomes, key=lambda o: (not o.finished, o.best if o.finished else 0.0))


def _time(result: CaseResult, seconds: float) -> str:
    measured = result.per_unit(seconds)
    if measured is not None:
        return f"{measured:.3g} {result.unit.partition(' per ')[0]}"
    return f"{seconds:.3f} s" if seconds >= 0.1 else f"{seconds * 1e3:.2f} ms"


def heading(result: CaseResult) -> str:
    unit = f"; times are {result.unit}" if result.unit else ""
    threads = "1 thread" if result.threads == 1 else f"{result.threads} threads"
    rounds = "1 round" if result.repeats == 1 else f"{result.repeats} rounds"
    return f"{result.case} ({result.data or 'no data'}; {threads}, {rounds}{unit})"


def verdict_lines(result: CaseResult) -> list[str]:
    words = {True: "reached", False: "NOT reached", None: "open"}
    return [f"target {v.target}: {v.measured}, {words[v.reached]}" for v in result.verdicts]


# --------------------------------------------------------------------------------------------------- terminal


def print_result(console: Console, result: CaseResult) -> None:
    table = Table(title=f"{result.job}: {heading(result)}", title_justify="left")
    for number, name in enumerate(HEADINGS):
        right = 1 <= number <= 5
        table.add_column(result.score_name if name == "score" else name, justify="right" if right else "left")
    for outcome in in_order(result):
        table.add_row(*cells(result, outcome), style=_style(outcome))
    console.print(table)
    for line in verdict_lines(result):
        console.print("  " + line)
    console.print()


def _style(outcome: Outcome) -> str:
    if outcome.status == "failed":
        return "red"
    if not outcome.finished:
        return "dim"
    return "bold green" if outcome.ours else ""


# ------------------------------------------------------------------------------------------------------ files


def write_json(path: Path, machine: Machine, results: Sequence[CaseResult]) -> None:
    content: dict[str, Any] = {"machine": vars(machine), "results": [result.as_json() for result in results]}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")


def write_chart(path: Path, machine: Machine, results: Sequence[CaseResult]) -> None:
    """One panel per case: best times as bars, fastest on top, ours in green."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = [result for result in results if any(outcome.finished for outcome in result.outcomes)]
    if not drawn:
        return
    heights = [0.9 + 0.32 * sum(o.finished for o in result.outcomes) for result in drawn]
    figure = Figure(figsize=(9, sum(heights) + 0.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(drawn), 1, squeeze=False, gridspec_kw={"height_ratios": heights})
    for panel, result in zip(panels[:, 0], drawn, strict=True):
        _draw_case(panel, result)
    figure.suptitle(machine.sentence(), fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def _draw_case(panel: Any, result: CaseResult) -> None:
    finished = [outcome for outcome in in_order(result) if outcome.finished]
    places = range(len(finished), 0, -1)
    panel.barh(
        list(places),
        [outcome.best for outcome in finished],
        color=[OUR_COLOUR if outcome.ours else PEER_COLOUR for outcome in finished],
    )
    panel.set_yticks(list(places), [outcome.contestant for outcome in finished], fontsize=8)
    for place, outcome in zip(places, finished, strict=True):
        score = "" if outcome.score is None else f", {result.score_name} {outcome.score:.4f}"
        panel.text(outcome.best, place, f" {_time(result, outcome.best)}{score}", va="center", fontsize=7)
    panel.set_xlim(0, 1.5 * max(outcome.best for outcome in finished))
    panel.set_title(f"{result.job}: {result.case} ({result.data})", fontsize=9, loc="left")
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(axis="x", labelsize=7)
    panel.set_xlabel("seconds, best of the rounds", fontsize=7)


# ------------------------------------------------------------------------------------------------- RESULTS.md


def as_markdown(machine: Machine, results: Sequence[CaseResult]) -> str:
    """The section of one job: when and where, then a table and the targets of every case."""
    lines = [f"Measured {machine.sentence()}.", ""]
    if machine.is_busy:
        lines += ["The machine was busy with other work: ratios are less certain than usual.", ""]
    for result in results:
        names = [result.score_name if name == "score" else name for name in HEADINGS]
        lines += [f"**{heading(result)}**", "", markdown_line(names), markdown_line(["---"] * len(names))]
        lines += [markdown_line(cells(result, outcome)) for outcome in in_order(result)]
        lines += ["", *(f"* {line}" for line in verdict_lines(result)), ""]
    return "\n".join(lines).strip()


def replace_section(text: str, job: str, section: str) -> str:
    """Put a section between the marks of its job; a text without these marks is an error."""
    start, end = f"<!-- job: {job} -->", f"<!-- end: {job} -->"
    before, found_start, rest = text.partition(start)
    _, found_end, after = rest.partition(end)
    if not (found_start and found_end):
        raise ValueError(f"RESULTS.md has no section for {job!r}: expected the lines {start!r} and {end!r}")
    return f"{before}{start}\n{section}\n{end}{after}"


def write_section(path: Path, machine: Machine, results: Sequence[CaseResult]) -> None:
    """Replace a job's section in a results file."""
    job = results[0].job
    path.write_text(replace_section(path.read_text(), job, as_markdown(machine, results)))


def markdown_line(texts: Sequence[str]) -> str:
    """One row of a table."""
    return "| " + " | ".join(text.replace("|", "/").replace("\n", " ") for text in texts) + " |"
