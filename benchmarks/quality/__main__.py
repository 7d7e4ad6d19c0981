"""The command: `python -m benchmarks.quality`, or `make bench ARGS=quality`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.data import REPOSITORY
from benchmarks.quality.held_out import read_held_out
from benchmarks.quality.learners import LEARNERS, OURS
from benchmarks.quality.picture import draw
from benchmarks.quality.race import read_turns, run
from benchmarks.quality.tables import read_tables
from benchmarks.quality.verdict import as_markdown
from benchmarks.report import replace_section, this_machine

RESULTS = REPOSITORY / "benchmarks" / "RESULTS.md"
MOST_ROWS = 5_000


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Race everybody with no settings, on all public tables.")
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="most rows of a table (default 5000)")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=2, help="deals of the folds of small tables")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="only contestants whose name contains this text")
    parser.add_argument("--table", default="", help="only tables whose name contains this text")
    parser.add_argument(
        "--held-out", action="store_true", help="the tables of R's packages, by which nothing was chosen"
    )
    parser.add_argument("--out", type=Path, help="where turns are kept (default: out/quality*.jsonl)")
    parser.add_argument("--write-results", action="store_true", help="put the tables into RESULTS.md")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    chosen = arguments(given)
    job = "quality_held_out" if chosen.held_out else _job_of(chosen.rows)
    path = chosen.out or REPOSITORY / "out" / f"{job}.jsonl"
    tables = (read_held_out if chosen.held_out else read_tables)(chosen.rows, chosen.table)
    names = [name for name in LEARNERS if chosen.only in name]
    run(
        tables,
        names,
        n_folds=chosen.folds,
        n_seeds=chosen.seeds,
        processes=chosen.processes,
        path=path,
    )
    turns = read_turns(path)
    opening = (
        f"No settings at all, {chosen.folds} folds, at most {chosen.rows:,} rows of a table, one thread; "
        f"log loss, or squared error over the variance of the target. {this_machine().sentence()}"
    )
    section = as_markdown(turns, OURS, opening)
    print(section)
    if chosen.write_results:
        RESULTS.write_text(replace_section(RESULTS.read_text(), job, section))
        draw(RESULTS, RESULTS.with_name("quality.png"))
    return 1 if any(turn.fault for turn in turns if turn.learner in OURS) else 0


def _job_of(most_rows: int) -> str:
    """The section of RESULTS.md: rungs of fewer rows have their own."""
    return "quality" if most_rows == MOST_ROWS else f"quality_{most_rows}"


if __name__ == "__main__":
    sys.exit(main())
