"""What a sweep found: a curve per method, in words, as a plot, and as a table for RESULTS.md.

Sizes and seconds come in; out come fitted exponents and whether the target of the sweep is reached: no more
than n log n, a limit on what twice the rows may cost, a least speed-up by two threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.growth import Growth, fit_growth
from benchmarks.report import Machine, markdown_line
from benchmarks.sweeps import METHODS, SWEEPS, Sweep

LEAST_SPEED_UP = 1.8
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")  # told apart by every eye
MARKERS = "osD^vP"
HEADINGS = ("varied", "method", "sizes", "time at the largest", "time grows", "memory grows", "target", "")


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

    def target(self) -> str:
        """What the curve is meant to reach."""
        if self.sweep == "threads":
            return f">= {LEAST_SPEED_UP}x"
        if self.sweep == "rows":
            return f"<= n log n, <= {METHODS[self.method].most_per_doubling:g}x per doubling"
        return "<= n log n"

    def verdict(self) -> str:
        found = self.growth_of_time()
        if not found:
            return "open"
        return "NOT reached" if "ABOVE" in found or "BELOW" in found else "reached"

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


# ---------------------------------------------------------------------------------------------------- a table


def as_markdown(machine: Machine, curves: Sequence[Curve], chart: str) -> str:
    """The section of RESULTS.md: when and where, then a line per curve."""
    lines = [f"Measured {machine.sentence()}.", "", f"![Time and memory against size]({chart})", ""]
    if machine.is_busy:
        lines += ["The machine was busy with other work: exponents are less certain than usual.", ""]
    lines += [markdown_line(HEADINGS), markdown_line(["---"] * len(HEADINGS))]
    lines += [markdown_line(_cells(curve)) for curve in curves]
    stopped = [
        f"* {curve.sweep}, {curve.method}: ended after {_short(curve.sizes[-1:])}, {curve.stopped}"
        for curve in curves
        if curve.stopped
    ]
    return "\n".join([*lines, "", *stopped]).strip()


def _cells(curve: Curve) -> tuple[str, ...]:
    seconds = f"{curve.seconds[-1]:.3g} s" if curve.seconds else ""
    name = curve.method if curve.library == "hornbeam" else f"{curve.method} ({curve.library})"
    growth = (curve.growth_of_time(), curve.growth_of_memory())
    sizes = f"{_short(curve.sizes[:1])} to {_short(curve.sizes[-1:])}" if curve.sizes else ""
    return (curve.sweep, name, sizes, seconds, *growth, curve.target(), curve.verdict())


def _short(sizes: Sequence[int]) -> str:
    return f"{sizes[0]:,}" if sizes else "nothing"


# ------------------------------------------------------------------------------------------------------ plots


def draw_sweep(path: Path, curves: Sequence[Curve], machine: Machine) -> None:
    """Time and memory against size of one sweep."""
    draw_sweeps(path, [curves], machine)


def draw_sweeps(path: Path, sweeps: Sequence[Sequence[Curve]], machine: Machine) -> None:
    """Two panels per sweep: time and memory against size, with n log n as a dashed guide."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    drawn = [found for curves in sweeps if (found := [curve for curve in curves if curve.sizes])]
    if not drawn:
        return
    figure = Figure(figsize=(12, 4.6 * len(drawn) + 0.4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(drawn), 2, squeeze=False)
    for row, curves in zip(panels, drawn, strict=True):
        _draw_row(row, SWEEPS[curves[0].sweep], curves)
    figure.suptitle(machine.sentence(), fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)


def _draw_row(panels: Any, sweep: Sweep, curves: Sequence[Curve]) -> None:
    time_panel, memory_panel = panels
    for curve, colour, marker in zip(
        curves, itertools.cycle(COLOURS), itertools.cycle(MARKERS), strict=False
    ):
        name = curve.method if curve.library == "hornbeam" else f"{curve.library} {curve.method}"
        style = {"color": colour, "marker": marker, "markersize": 5}
        peaks = [float("nan") if peak is None else peak / 2**20 for peak in curve.peak_bytes]
        time_panel.plot(curve.sizes, curve.seconds, label=f"{name}  {curve.growth_of_time()}", **style)
        memory_panel.plot(curve.sizes, peaks, label=f"{name}  {curve.growth_of_memory()}", **style)
    _draw_guide(time_panel, curves[0])
    for panel, label in ((time_panel, "seconds, best of the runs"), (memory_panel, "peak memory, MiB")):
        panel.set(xscale="log", yscale="log", xlabel=sweep.axis, ylabel=label)
        panel.set_title(f"growth with {sweep.name}", fontsize=9, loc="left")
        sizes = sorted({size for curve in curves for size in curve.sizes})
        panel.set_xticks(sizes, [f"{size:,}" for size in sizes])
        panel.set_xticks([], minor=True)
        panel.grid(alpha=0.3, which="both")
        panel.legend(fontsize=7)


def _draw_guide(panel: Any, curve: Curve) -> None:
    """A dashed line that grows as n log n, or falls as 1 / threads, through the first point of a curve."""
    import numpy as np

    if len(curve.sizes) < 2:
        return
    sizes = np.asarray(curve.sizes, dtype=float)
    is_threads = curve.sweep == "threads"
    shape = 1 / sizes if is_threads else sizes * np.log(np.maximum(sizes, np.e))
    label = "1 / threads" if is_threads else "n log n"
    panel.plot(sizes, curve.seconds[0] * shape / shape[0], "k--", linewidth=1, label=label)
