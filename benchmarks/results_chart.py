"""Draws results.png from the tables of RESULTS.md, so that the picture shows what the text says.

    python -m benchmarks.results_chart

A run with ``--write-results`` does the same after it has written its section.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.harness import job_names
from benchmarks.report import OUR_COLOUR, PEER_COLOUR

FOLDER = Path(__file__).parent
# Of many small tables, without a peer, not about time, or not measured yet: for reading.
NOT_DRAWN = {
    "explain",
    "imported",
    "tree_criteria",
    "tree_pruning",
    "boosting_shapes",
    "boosting_public",
    "forest_settings",
    "memory_boosting",
    "import_time",
}
JOBS = tuple(job for job in job_names() if job not in NOT_DRAWN)
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}
MOST_TIMES_OURS = 12  # a bar that is longer ends there, with a mark


class Bar(NamedTuple):
    """One contestant."""

    contestant: str
    seconds: float  # or what the table measures in their place: only proportions are drawn
    time: str  # as the table says it

    @property
    def is_ours(self) -> bool:
        """Whether it is hornbeam."""
        return self.contestant.startswith("hornbeam")


class Panel(NamedTuple):
    """One table: a case of a job."""

    job: str
    case: str
    processor: str
    bars: list[Bar]


def read_panels(text: str) -> list[Panel]:
    """Find the tables of ``JOBS``, in that order; contestants that did not finish are left out."""
    return [panel for job in JOBS for panel in _panels_of(job, _section(text, job))]


def _section(text: str, job: str) -> str:
    found = re.search(f"<!-- job: {job} -->(.*?)<!-- end: {job} -->", text, flags=re.DOTALL)
    return found.group(1) if found else ""


def _panels_of(job: str, section: str) -> Iterator[Panel]:
    where = re.search(r"^Measured [^,]+, (.+?)(?: \(| @|,)", section, flags=re.MULTILINE)
    for found in re.finditer(r"^\*\*(.+?)\*\*\n\n((?:\|.*\n)+)", section, flags=re.MULTILINE):
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found.group(2).splitlines()]
        bars = [bar for row in rows[2:] if (bar := _bar(row[0], row[1])) is not None]
        if any(bar.is_ours for bar in bars):
            yield Panel(job, found.group(1).partition(" (")[0], where.group(1) if where else "", bars)


def _bar(contestant: str, best: str) -> Bar | None:
    found = re.fullmatch(r"([\d.,e+-]+) (\S+)", best)
    if found is None or found.group(2) not in SECONDS:
        return None
    return Bar(contestant, float(found.group(1).replace(",", "")) * SECONDS[found.group(2)], best)


def draw(results: Path = FOLDER / "RESULTS.md", chart: Path = FOLDER / "results.png") -> None:
    """Draw a panel per table, best times as bars, fastest on top, ours in green."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from PIL import Image

    panels = read_panels(results.read_text())
    n_rows = (len(panels) + 1) // 2
    figure = Figure(figsize=(11, 1.75 * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    places = figure.subplots(n_rows, 2, squeeze=False).ravel()
    for place, panel in zip(places, panels, strict=False):
        _draw_panel(place, panel)
    for place in places[len(panels) :]:
        place.set_axis_off()
    figure.savefig(chart, dpi=100)
    with Image.open(chart) as full:
        few_colours = full.convert("RGB").quantize(64)  # a third of the bytes
    few_colours.save(chart, optimize=True)


def _draw_panel(place: Any, panel: Panel) -> None:
    bars = sorted(panel.bars, key=lambda bar: -bar.seconds)
    longest = MOST_TIMES_OURS * min(bar.seconds for bar in bars if bar.is_ours)
    lengths = [min(bar.seconds, longest) for bar in bars]
    place.barh(range(len(bars)), lengths, color=[OUR_COLOUR if bar.is_ours else PEER_COLOUR for bar in bars])
    place.set_yticks(range(len(bars)), [bar.contestant for bar in bars], fontsize=7)
    for number, (bar, length) in enumerate(zip(bars, lengths, strict=True)):
        cut = "… " if length < bar.seconds else ""
        place.text(length, number, f" {cut}{bar.time}", va="center", fontsize=7)
    place.set_xlim(0, 1.25 * max(lengths))
    place.set_xticks([])
    place.set_title(f"{panel.job}: {panel.case} — {panel.processor}", fontsize=8, loc="left")
    place.spines[["top", "right", "bottom"]].set_visible(False)


if __name__ == "__main__":
    draw()
