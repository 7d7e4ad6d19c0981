"""The C++ kernels alone, against their gates: ``python -m benchmarks.inner_loops [--write-results]``.

Builds ``kernels/`` with CMake, runs the program, and shows each line with the gate it has to meet, if it has
one. The gates say how quick a loop must be for what is built on it to reach its targets; those of whole
learners (boosting, trees, neighbours, a single row) are targets of the jobs of the same names.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console
from rich.table import Table

from benchmarks import report
from benchmarks.data import REPOSITORY
from benchmarks.run import RESULTS

BUILD = REPOSITORY / "build" / "kernels"
LINE = re.compile(r"(?P<loop>\S.*?)\s+(?P<nanoseconds>[0-9.]+) ns per (?P<unit>.+)")
HEADINGS = ("loop", "ns", "per", "gate", "")

# What the name of a loop begins with -> the most nanoseconds it may take.
GATES = {
    "add rows to 28 histograms of 255 bins, 20,000 rows": 0.55,
    "add rows to 28 histograms of 255 bins, 2,000,000 rows": 0.7,
    "part rows of boosting": 1.0,
    "255 bins, edges known": 2.0,
    "subtract a sibling and score all cuts": 0.8,
    "100 trees of 31 leaves, one thread, bit-sliced": 0.8,
}


@dataclass(frozen=True)
class Loop:
    """One measured loop: nanoseconds per piece of work, and the most it may take, if there is a gate."""

    name: str
    nanoseconds: float
    unit: str
    gate: float | None

    def verdict(self) -> str:
        if self.gate is None:
            return ""
        return "met" if self.nanoseconds <= self.gate else "NOT met"

    def cells(self) -> tuple[str, ...]:
        gate = "" if self.gate is None else f"<= {self.gate:g}"
        return (self.name, f"{self.nanoseconds:.3f}", self.unit, gate, self.verdict())


def read_loops(text: str) -> list[Loop]:
    """Read what the program prints; a gate whose loop is not there is an error."""
    loops = []
    for line in text.splitlines():
        found = LINE.fullmatch(line)
        if found is None:
            raise ValueError(f"not a line of the kernels: {line!r}")
        gate = next((most for begin, most in GATES.items() if found["loop"].startswith(begin)), None)
        loops.append(Loop(found["loop"], float(found["nanoseconds"]), found["unit"], gate))
    lacking = [begin for begin in GATES if not any(loop.name.startswith(begin) for loop in loops)]
    if lacking:
        raise ValueError(f"no loop was measured for the gate of {lacking[0]!r}")
    return loops


def built_program(launcher: str | None) -> Path:
    """Build the kernels and say where the program is."""
    options = [f"-DCMAKE_CXX_COMPILER_LAUNCHER={launcher}"] if launcher else []
    subprocess.run(
        ["cmake", "-S", str(REPOSITORY), "-B", str(BUILD), "-DHORNBEAM_BENCH_KERNELS=ON", *options],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run(
        ["cmake", "--build", str(BUILD), "--target", "hornbeam_kernels", "-j", "2"],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return BUILD / "benchmarks" / "kernels" / "hornbeam_kernels"


def as_markdown(machine: report.Machine, loops: Sequence[Loop]) -> str:
    lines = [f"Measured {machine.sentence()}; one thread, best of seven runs.", ""]
    if machine.is_busy:
        lines += ["The machine was busy with other work: the loops are quicker when it is not.", ""]
    lines += [report.markdown_line(HEADINGS), report.markdown_line(["---"] * len(HEADINGS))]
    return "\n".join([*lines, *(report.markdown_line(loop.cells()) for loop in loops)])


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Measure the C++ kernels alone, against their gates.")
    parser.add_argument("--program", type=Path, help="a program that is built already; else it is built")
    parser.add_argument("--launcher", help="a compiler launcher, such as ccache")
    parser.add_argument("--write-results", action="store_true", help="put the table into RESULTS.md")
    chosen = parser.parse_args(given)
    program = chosen.program or built_program(chosen.launcher)
    machine = report.this_machine()
    done = subprocess.run([str(program)], check=True, capture_output=True, text=True)
    loops = read_loops(done.stdout)
    console = Console()
    table = Table(title=machine.sentence(), title_justify="left")
    for number, name in enumerate(HEADINGS):
        table.add_column(name, justify="right" if number == 1 else "left")
    for loop in loops:
        table.add_row(*loop.cells(), style="red" if loop.verdict() == "NOT met" else "")
    console.print(table)
    if chosen.write_results:
        text = report.replace_section(RESULTS.read_text(), "kernels", as_markdown(machine, loops))
        RESULTS.write_text(text)
        console.print(f"wrote {RESULTS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
