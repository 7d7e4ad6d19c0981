"""How time and memory grow: ``python benchmarks/scaling.py [sweep ...]``.

Varies rows, features, trees, classes and threads, and grows the degenerate staircase; each point is measured
in a process of its own. Out come a table with fitted exponents, a plot per sweep and one JSON file; curves
that grow faster than n log n are flagged, as are doublings of the rows that cost more than a method may take
and speed-ups by two threads below 1.8.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from benchmarks import report
from benchmarks.data import REPOSITORY
from benchmarks.growth import Growth, fit_growth
from benchmarks.harness import Setting
from benchmarks.measure import CaseResult, Outcome, race
from benchmarks.sweeps import LIBRARIES, METHODS, SWEEPS, Sweep, point

LEAST_SPEED_UP = 1.8


@dataclass
class Curve:
    """One method of one library over the sizes of a sweep; ``stopped`` says why it has no further points."""

    sweep: str
    method: str
    library: str
    sizes: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    peak_bytes: list[int | None] = field(default_factory=list)
    stopped: str = ""

    def growth_of_time(self) -> str:
        if self.sweep == "threads":
            return self._speed_up()
        growth = fit_growth(self.sizes, self.seconds)
        if growth is None:
            return ""
        return growth.words() + (self._doubling(growth) if self.sweep == "rows" else "")

    def growth_of_memory(self) -> str:
        known = [(size, peak) for size, peak in zip(self.sizes, self.peak_bytes, strict=True) if peak]
        if self.sweep == "threads" or len(known) < 2:
            return ""
        growth = fit_growth([size for size, _ in known], [peak for _, peak in known])
        return growth.words() if growth else ""

    def _doubling(self, growth: Growth) -> str:
        most = METHODS[self.method].most_per_doubling
        flag = "" if growth.per_doubling <= most else f", ABOVE {most:g}x"
        return f", {growth.per_doubling:.2f}x per doubling{flag}"

    def _speed_up(self) -> str:
        if len(self.seconds) < 2:
            return ""
        ratio = self.seconds[0] / self.seconds[-1]
        flag = "" if ratio >= LEAST_SPEED_UP else f", BELOW {LEAST_SPEED_UP}x"
        return f"{ratio:.2f}x by {self.sizes[-1]} threads{flag}"


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
    parser.add_argument("--out", type=Path, default=REPOSITORY / "out" / "scaling", metavar="FOLDER")
    chosen = parser.parse_args(given)
    unknown = [name for name in chosen.sweep if name not in SWEEPS]
    if unknown:
        parser.error(f"unknown sweep {unknown[0]!r}; there are: {', '.join(SWEEPS)}")
    return chosen


def main(given: Sequence[str] | None = None) -> int:
    chosen = arguments(given)
    console = Console(width=max(Console().width, 140))
    machine = report.this_machine()
    console.print(machine.sentence())
    curves: list[Curve] = []
    for name in chosen.sweep or SWEEPS:
        found = measure_sweep(console, SWEEPS[name], chosen)
        print_curves(console, SWEEPS[name], found)
        draw_curves(chosen.out / f"{name}.png", SWEEPS[name], found, machine)
        curves += found
        write_curves(chosen.out / "scaling.json", machine, curves)
    console.print(f"wrote plots and scaling.json to {chosen.out}")
    return 0


def measure_sweep(console: Console, sweep: Sweep, chosen: argparse.Namespace) -> list[Curve]:
    methods = [method for method in sweep.methods if not chosen.method or method in chosen.method]
    curves = []
    for library in chosen.library or ["hornbeam"]:
        for method in methods:
            with console.status(f"{sweep.name}: {library} {method}"):
                curves.append(measure_curve(sweep, method, library, chosen))
    return curves


def measure_curve(sweep: Sweep, method: str, library: str, chosen: argparse.Namespace) -> Curve:
    """Measure sizes from small to large until one takes too long or cannot run."""
    curve = Curve(sweep.name, method, library)
    for size in sweep.quick_sizes if chosen.quick else sweep.sizes:
        outcome = measure_point(sweep, method, library, size, chosen)
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


def measure_point(
    sweep: Sweep,
    method: str,
    library: str,
    size: int,
    chosen: argparse.Namespace,
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
    result = CaseResult(
        sweep.name, case.name, case.name, case.score_name, size, threads, chosen.repeats, outcomes=[]
    )
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
        style = "red" if any(word in text for text in growth for word in ("ABOVE", "BELOW")) else ""
        table.add_row(curve.library, curve.method, largest, seconds, *growth, curve.stopped, style=style)
    console.print(table)


def draw_curves(path: Path, sweep: Sweep, curves: Sequence[Curve], machine: report.Machine) -> None:
    """Time and memory against size, both axes logarithmic, with n log n as a dashed guide."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = [curve for curve in curves if curve.sizes]
    if not drawn:
        return
    figure = Figure(figsize=(12, 5), layout="constrained")
    FigureCanvasAgg(figure)
    time_panel, memory_panel = figure.subplots(1, 2)
    for curve in drawn:
        name = f"{curve.library} {curve.method}"
        time_panel.plot(curve.sizes, curve.seconds, marker="o", label=f"{name}: {curve.growth_of_time()}")
        peaks = [float("nan") if peak is None else peak / 2**20 for peak in curve.peak_bytes]
        memory_panel.plot(curve.sizes, peaks, marker="o", label=f"{name}: {curve.growth_of_memory()}")
    _draw_guide(time_panel, drawn[0])
    for panel, label in ((time_panel, "seconds, best of the runs"), (memory_panel, "peak memory, MiB")):
        panel.set(xscale="log", yscale="log", xlabel=sweep.axis, ylabel=label)
        panel.grid(alpha=0.3, which="both")
        panel.legend(fontsize=7)
    figure.suptitle(machine.sentence(), fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)


def _draw_guide(panel: Any, curve: Curve) -> None:
    """A dashed line that grows as n log n, through the first point of a curve."""
    import numpy as np

    if len(curve.sizes) < 2 or curve.sweep == "threads":
        return
    sizes = np.asarray(curve.sizes, dtype=float)
    shape = sizes * np.log(np.maximum(sizes, np.e))
    panel.plot(sizes, curve.seconds[0] * shape / shape[0], "k--", linewidth=1, label="n log n")


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


if __name__ == "__main__":
    sys.exit(main())
