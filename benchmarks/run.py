"""The one command: ``python benchmarks/run.py [job ...]`` races hornbeam and its peers and reports.

Jobs in, on the terminal a table per case, in files JSON and a bar chart, and with ``--write-results`` new
sections of RESULTS.md. Exit code 0 also when a contestant is absent; 1 when one failed; 2 for a wrong call.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from rich.console import Console

from benchmarks import report, results_chart
from benchmarks.data import REPOSITORY
from benchmarks.harness import Job, Setting, job_names, load_job
from benchmarks.measure import SECONDS_PER_TURN, CaseResult, run_job

RESULTS = REPOSITORY / "benchmarks" / "RESULTS.md"
USUAL_THREADS = 2
USUAL_REPEATS = 5
QUICK_REPEATS = 3


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Race hornbeam and its peers on the same work.")
    parser.add_argument("job", nargs="*", help="names of jobs (see --list); all when none is given")
    parser.add_argument(
        "--list", action="store_true", help="list the jobs and their contestants, run nothing"
    )
    parser.add_argument(
        "--quick", action="store_true", help="fewer rows and rounds: a first impression in minutes"
    )
    parser.add_argument("--threads", type=_positive, help=f"threads for everybody (default {USUAL_THREADS})")
    parser.add_argument("--rows", type=_positive, help="training rows in place of each job's own")
    parser.add_argument("--trees", type=_positive, help="trees or rounds in place of each job's own")
    parser.add_argument("--repeats", type=_positive, help=f"interleaved rounds (default {USUAL_REPEATS})")
    parser.add_argument("--only", metavar="NAME", help="only contestants whose name contains this text")
    parser.add_argument(
        "--limit",
        type=_positive,
        default=SECONDS_PER_TURN,
        metavar="SECONDS",
        help="stop a contestant that takes longer for one turn, and say so (default %(default)s)",
    )
    parser.add_argument("--json", type=Path, default=REPOSITORY / "out" / "benchmarks.json", metavar="FILE")
    parser.add_argument("--chart", type=Path, default=REPOSITORY / "out" / "benchmarks.png", metavar="FILE")
    parser.add_argument(
        "--write-results", action="store_true", help="put the tables into benchmarks/RESULTS.md"
    )
    chosen = parser.parse_args(given)
    unknown = [name for name in chosen.job if name not in job_names()]
    if unknown:
        parser.error(f"unknown job {unknown[0]!r}; there are: {', '.join(job_names())}")
    if chosen.write_results and chosen.only:
        parser.error("--write-results needs every contestant: leave out --only")
    return chosen


def setting_for(job: Job, chosen: argparse.Namespace) -> Setting:
    """Rows and threads of one job under the chosen options; a job about one thread stays with one."""
    rows = chosen.rows or (job.quick_rows if chosen.quick else job.rows)
    threads = job.threads or chosen.threads or min(USUAL_THREADS, os.cpu_count() or 1)
    return Setting(rows=rows, threads=threads, trees=chosen.trees)


def main(given: Sequence[str] | None = None) -> int:
    given = sys.argv[1:] if given is None else given
    if given and given[0] == "quality":  # another kind of race, with options of its own
        from benchmarks.quality.__main__ import main as race_for_quality

        return race_for_quality(given[1:])
    chosen = arguments(given)
    console = Console(width=max(Console().width, 140))
    names = chosen.job or list(job_names())
    if chosen.list:
        list_jobs(console, names)
        return 0
    machine = report.this_machine()
    console.print(machine.sentence())
    if machine.is_busy:
        console.print(
            "[yellow]other work is running on this machine: trust the ratios only after a quiet run[/]"
        )
    results: list[CaseResult] = []
    for name in names:
        results += run_and_show(console, load_job(name), chosen, machine)
        report.write_json(chosen.json, machine, results)  # after each job, so that a long run can be stopped
    report.write_chart(chosen.chart, machine, results)
    if chosen.write_results:
        results_chart.draw(RESULTS, RESULTS.with_name("results.png"))
    console.print(f"wrote {chosen.json} and {chosen.chart}")
    return 1 if any(o.status == "failed" for result in results for o in result.outcomes) else 0


def run_and_show(
    console: Console, job: Job, chosen: argparse.Namespace, machine: report.Machine
) -> list[CaseResult]:
    console.rule(job.title)
    repeats = chosen.repeats or (QUICK_REPEATS if chosen.quick else USUAL_REPEATS)
    results = []
    stolen = report.StolenTime()
    for result in run_job(job, setting_for(job, chosen), repeats, only=chosen.only, limit=chosen.limit):
        report.print_result(console, result)
        results.append(result)
    if job.notes:
        console.print(job.notes + "\n")
    if chosen.write_results and results:
        report.write_section(RESULTS, dataclasses.replace(machine, stolen=stolen.share()), results)
    return results


def list_jobs(console: Console, names: Sequence[str]) -> None:
    for name in names:
        job = load_job(name)
        console.print(f"[bold]{name}[/]: {job.title} ({job.rows:,} rows, quick {job.quick_rows:,})")
        for case in job.cases:
            console.print(f"    {case.name}: {', '.join(contestant.name for contestant in case.contestants)}")


def _positive(text: str) -> int:
    number = int(text.replace("_", ""))
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


if __name__ == "__main__":
    sys.exit(main())
