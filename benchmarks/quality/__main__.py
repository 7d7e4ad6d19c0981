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
FULL_SIZE = 40_000  # rows of a table at most, on the rung of tables that have more than MOST_ROWS


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Race everybody with no settings, on all public tables.")
    parser.add_argument("--rows", type=int, help=f"most rows of a table (default {MOST_ROWS})")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--first-folds", type=int, help="how many of the folds are run (default: all)")
    parser.add_argument("--seeds", type=int, default=2, help="deals of the folds of small tables")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        help="only the contestant of this name, or those whose name contains it; may be given several times",
    )
    parser.add_argument("--table", default="", help="only tables whose name contains this text")
    rung = parser.add_mutually_exclusive_group()
    rung.add_argument(
        "--held-out", action="store_true", help="the tables of R's packages, by which nothing was chosen"
    )
    rung.add_argument(
        "--full-size",
        action="store_true",
        help=f"tables of more than {MOST_ROWS} rows, with at most {FULL_SIZE}, the first of the folds",
    )
    parser.add_argument("--out", type=Path, help="where turns are kept (default: out/quality*.jsonl)")
    parser.add_argument("--write-results", action="store_true", help="put the tables into RESULTS.md")
    chosen = parser.parse_args(given)
    chosen.rows = chosen.rows or (FULL_SIZE if chosen.full_size else MOST_ROWS)
    if chosen.full_size and chosen.first_folds is None:
        chosen.first_folds = 1
    return chosen


def main(given: Sequence[str] | None = None) -> int:
    chosen = arguments(given)
    job = job_of(chosen)
    path = chosen.out or REPOSITORY / "out" / f"{job}.jsonl"
    tables = (read_held_out if chosen.held_out else read_tables)(chosen.rows, chosen.table)
    if chosen.full_size:
        tables = [table for table in tables if len(table.y) > MOST_ROWS]
    run(
        tables,
        contestants(chosen.only),
        n_folds=chosen.folds,
        n_seeds=chosen.seeds,
        processes=chosen.processes,
        path=path,
        first_folds=chosen.first_folds,
    )
    turns = read_turns(path)
    section = as_markdown(turns, OURS, opening(chosen))
    print(section)
    if chosen.write_results:
        RESULTS.write_text(replace_section(RESULTS.read_text(), job, section))
        draw(RESULTS, RESULTS.with_name("quality.png"))
    return 1 if any(turn.fault for turn in turns if turn.learner in OURS) else 0


def contestants(only: Sequence[str]) -> list[str]:
    """Return all names, or those that are one of the texts or contain one that is nobody's name."""
    names = [name for name in LEARNERS if not only or any(_is_asked_for(name, text) for text in only)]
    if not names:
        raise SystemExit(
            f"No contestant's name contains {' or '.join(only)}. There are: {', '.join(LEARNERS)}."
        )
    return names


def _is_asked_for(name: str, text: str) -> bool:
    return name == text if text in LEARNERS else text in name


def opening(chosen: argparse.Namespace) -> str:
    folds = f"{chosen.folds} folds"
    if chosen.first_folds is not None and chosen.first_folds < chosen.folds:
        folds = f"the first {chosen.first_folds} of {folds}"
    which = f", tables of more than {MOST_ROWS:,} rows" if chosen.full_size else ""
    return (
        f"No settings at all, {folds}{which}, at most {chosen.rows:,} rows of a table, one thread; "
        f"log loss, or squared error over the variance of the target. {this_machine().sentence()}"
    )


def job_of(chosen: argparse.Namespace) -> str:
    """The section of RESULTS.md: rungs of fewer or more rows have their own."""
    if chosen.held_out:
        return "quality_held_out"
    if chosen.full_size:
        return "quality_full_size"
    return "quality" if chosen.rows == MOST_ROWS else f"quality_{chosen.rows}"


if __name__ == "__main__":
    sys.exit(main())
