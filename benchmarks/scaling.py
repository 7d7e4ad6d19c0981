"""How time and memory grow: ``python -m benchmarks.scaling [sweep ...]``.

Varies rows, features, trees, classes and threads, and grows the degenerate staircase; each point is measured
in a process of its own. Out come a table with fitted exponents, a plot per sweep and one JSON file; curves
that grow faster than n log n are flagged, as are doublings of the rows that cost more than a method may take
and speed-ups by two threads below 1.8. ``--minutes 12 --write-results`` is the run behind RESULTS.md: fewer
sizes, each curve as far as its share of the time allows.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from benchmarks import report
from benchmarks.curves import Curve, as_markdown, draw_sweep, draw_sweeps
from benchmarks.data import REPOSITORY
from benchmarks.growth import exponent
from benchmarks.harness import Setting
from benchmarks.measure import CaseResult, Outcome, race
from benchmarks.run import RESULTS
from benchmarks.sweeps import LIBRARIES, METHODS, SWEEPS, Sweep, point

CHART = REPOSITORY / "benchmarks" / "scaling.png"
MEASURED_LAST = ("threads", "rows")  # the longest: they may take what the others leave
SHARES = 2.0  # a curve may take so many times an equal share of the time that is left
START_SECONDS = 3.0  # of a process: imports and data
REPEATED_SECONDS = 4.0  # a point is repeated as long as all its runs together take less


class Clock:
    """Divides the time of a whole run among its curves; without an end, all may take what they like."""

    def __init__(self, minutes: float | None, n_curves: int) -> None:
        self.end = math.inf if minutes is None else time.monotonic() + 60 * minutes
        self.n_curves = n_curves
        self.curve_end = math.inf

    def begin_curve(self) -> None:
        left = self.end - time.monotonic()
        self.curve_end = time.monotonic() + min(left, SHARES * left / max(1, self.n_curves))
        self.n_curves -= 1

    def allows(self, seconds: float) -> bool:
        return time.monotonic() + seconds <= self.curve_end


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Measure how time and memory grow with the size of the work."
    )
    parser.add_argument("sweep", nargs="*", help=f"any of: {', '.join(SWEEPS)}; all when none is given")
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    parser.add_argument(
        "--library", choices=LIBRARIES, action="append", help="default hornbeam; may be repeated"
    )
    parser.add_argument("--method", choices=tuple(METHODS), action="append", help="default all of the sweep")
    parser.add_argument("--threads", type=int, help="threads where they are not what is varied (default 2)")
    parser.add_argument("--repeats", type=int, default=3, help="runs per point, of which the best counts")
    parser.add_argument(
        "--budget", type=float, default=60.0, help="end a curve after a run of this many seconds"
    )
    parser.add_argument(
        "--minutes", type=float, help="the whole run takes about so long: every second size, shorter curves"
    )
    parser.add_argument("--out", type=Path, default=REPOSITORY / "out" / "scaling", metavar="FOLDER")
    parser.add_argument(
        "--write-results", action="store_true", help="also write benchmarks/scaling.png and RESULTS.md"
    )
    chosen = parser.parse_args(given)
    unknown = [name for name in chosen.sweep if name not in SWEEPS]
    if unknown:
        parser.error(f"unknown sweep {unknown[0]!r}; there are: {', '.join(SWEEPS)}")
    if chosen.write_results and (chosen.sweep or chosen.method):
        parser.error("--write-results needs every curve: leave out sweeps and --method")
    return chosen


def main(given: Sequence[str] | None = None) -> int:
    chosen = arguments(given)
    console = Console(width=max(Console().width, 140))
    machine = report.this_machine()
    console.print(machine.sentence())
    names = chosen.sweep or list(SWEEPS)
    libraries = chosen.library or ["hornbeam"]
    clock = Clock(chosen.minutes, sum(len(_methods(SWEEPS[name], chosen)) for name in names) * len(libraries))
    found: dict[str, list[Curve]] = {}
    for name in sorted(names, key=lambda name: (name in MEASURED_LAST, name == MEASURED_LAST[-1])):
        found[name] = measure_sweep(console, SWEEPS[name], chosen, clock)
        print_curves(console, SWEEPS[name], found[name])
        draw_sweep(chosen.out / f"{name}.png", found[name], machine)
        write_curves(
            chosen.out / "scaling.json", machine, [each for curves in found.values() for each in curves]
        )
    console.print(f"wrote plots and scaling.json to {chosen.out}")
    if chosen.write_results:
        write_results(machine, [found[name] for name in names])
        console.print(f"wrote {CHART} and {RESULTS}")
    return 0


def _methods(sweep: Sweep, chosen: argparse.Namespace) -> list[str]:
    return [method for method in sweep.methods if not chosen.method or method in chosen.method]


def measure_sweep(console: Console, sweep: Sweep, chosen: argparse.Namespace, clock: Clock) -> list[Curve]:
    curves = []
    for library in chosen.library or ["hornbeam"]:
        for method in _methods(sweep, chosen):
            with console.status(f"{sweep.name}: {library} {method}"):
                clock.begin_curve()
                curves.append(measure_curve(sweep, method, library, chosen, clock))
    return curves


def measure_curve(sweep: Sweep, method: str, library: str, chosen: argparse.Namespace, clock: Clock) -> Curve:
    """Measure sizes from small to large until one takes too long or cannot run."""
    curve = Curve(sweep.name, method, library)
    sizes = sweep.quick_sizes if chosen.quick else sweep.sizes
    for size in sizes if chosen.minutes is None else every_second(sizes):
        expected = expected_seconds(curve, size)
        if curve.sizes and not clock.allows(START_SECONDS + expected):
            curve.stopped = f"its share of {chosen.minutes:g} minutes was over"
            break
        repeats = chosen.repeats  # always, where two points are compared
        if sweep.threads is None:
            repeats = max(1, min(repeats, int(REPEATED_SECONDS / max(expected, 1e-9))))
        outcome = measure_point(sweep, method, library, size, chosen, repeats=repeats)
        if not outcome.finished:
            curve.stopped = outcome.reason
            break
        curve.sizes.append(size)
        curve.seconds.append(outcome.best)
        curve.peak_bytes.append(outcome.peak_bytes)
        if outcome.best > chosen.budget:
            curve.stopped = f"over {chosen.budget:g} s"
            break
    return curve


def every_second(sizes: Sequence[int]) -> list[int]:
    """About half of the sizes, at even distances, the smallest and the largest among them."""
    n_kept = len(sizes) // 2 + 1
    return [sizes[round(k * (len(sizes) - 1) / (n_kept - 1))] for k in range(n_kept)]


def expected_seconds(curve: Curve, size: int) -> float:
    """How long the next size will take, by the last two; a little more than in proportion to begin with."""
    if not curve.sizes:
        return 0.0
    if curve.sweep == "threads":
        return curve.seconds[-1]
    slope = max(1.1, exponent(curve.sizes[-2:], curve.seconds[-2:]) if len(curve.sizes) > 1 else 1.1)
    return float(curve.seconds[-1] * (size / curve.sizes[-1]) ** slope)


def measure_point(
    sweep: Sweep,
    method: str,
    library: str,
    size: int,
    chosen: argparse.Namespace,
    *,
    repeats: int | None = None,
    in_this_process: bool = False,
) -> Outcome:
    place: dict[str, Any] = {
        "sweep": sweep.name,
        "method": method,
        "library": library,
        "size": size,
        "quick": chosen.quick,
    }
    case = point(**place)
    threads = sweep.threads(size) if sweep.threads else chosen.threads or min(2, os.cpu_count() or 1)
    setting = Setting(rows=size, threads=threads)
    runs = chosen.repeats if repeats is None else repeats
    result = CaseResult(sweep.name, case.name, case.name, case.score_name, size, threads, runs, outcomes=[])
    race(
        case,
        list(case.contestants),
        ("benchmarks.sweeps:point", place),
        setting,
        result,
        in_this_process=in_this_process,
    )
    return result.outcomes[0]


def print_curves(console: Console, sweep: Sweep, curves: Sequence[Curve]) -> None:
    table = Table(title=f"growth with {sweep.axis}", title_justify="left")
    for name in ("library", "method", "largest", "time there", "time grows", "memory grows", "ended"):
        table.add_column(name)
    for curve in curves:
        largest = f"{curve.sizes[-1]:,}" if curve.sizes else ""
        seconds = f"{curve.seconds[-1]:.3f} s" if curve.seconds else ""
        growth = (curve.growth_of_time(), curve.growth_of_memory())
        style = "red" if curve.verdict() == "NOT reached" else ""
        table.add_row(curve.library, curve.method, largest, seconds, *growth, curve.stopped, style=style)
    console.print(table)


def write_curves(path: Path, machine: report.Machine, curves: Sequence[Curve]) -> None:
    content = {
        "machine": vars(machine),
        "curves": [
            {**asdict(curve), "time_grows": curve.growth_of_time(), "memory_grows": curve.growth_of_memory()}
            for curve in curves
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, indent=1) + "\n")


def write_results(machine: report.Machine, sweeps: Sequence[Sequence[Curve]]) -> None:
    """Put the table into RESULTS.md and all plots into one picture beside it."""
    draw_sweeps(CHART, sweeps, machine)
    section = as_markdown(machine, [curve for curves in sweeps for curve in curves], CHART.name)
    RESULTS.write_text(report.replace_section(RESULTS.read_text(), "scaling", section))


if __name__ == "__main__":
    sys.exit(main())
