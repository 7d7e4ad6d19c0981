"""The benchmarks still work: every job on a tiny table with hornbeam and scikit-learn, reports, scaling.

Nothing here looks at how long anything took. Peers are not needed; public tables only where they are present.
"""

from __future__ import annotations

import dataclasses
import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import data, jobs, report, results_chart, run
from benchmarks.data import REPOSITORY, DataAbsentError, Dataset
from benchmarks.harness import AbsentError, Case, Contestant, Setting, job_names, load_case, load_job, require
from benchmarks.measure import CaseResult, Outcome, race, run_job
from benchmarks.quality import picture
from benchmarks.quality.race import Turn
from benchmarks.quality.verdict import as_markdown
from benchmarks.targets import (
    at_most_times_slower,
    score_at_most_share_of,
    score_near,
    times_faster_than,
    times_faster_than_fastest,
)
from benchmarks.worker import Session

AT_HAND = {"hornbeam", "sklearn", "scipy"}
TINY = Setting(rows=400, threads=1, trees=3)


pytestmark = pytest.mark.usefixtures("one_thread")


def at_hand(contestant: Contestant) -> bool:
    return {path.partition(".")[0] for path in contestant.needs} <= AT_HAND


def empty_result(case: Case, repeats: int = 1) -> CaseResult:
    return CaseResult(
        "job", case.name, "title", case.score_name, TINY.rows, TINY.threads, repeats, outcomes=[]
    )


def raced(job: str, case: Case) -> CaseResult:
    result = empty_result(case)
    source = ("benchmarks.harness:load_case", {"job": job, "case": case.name})
    race(case, [c for c in case.contestants if at_hand(c)], source, TINY, result, in_this_process=True)
    return result


# ------------------------------------------------------------------------------------------- every job


# A few rows do not have all categories of the test part.
@pytest.mark.filterwarnings("ignore::hornbeam.warnings.UnseenCategoryWarning")
@pytest.mark.parametrize(
    ("job", "case"), [(name, case.name) for name in job_names() for case in load_job(name).cases]
)
def test_a_tiny_run_of_every_case_works(job, case):
    result = raced(job, load_case(job, case))
    absent = [outcome.reason for outcome in result.outcomes if outcome.status == "absent"]
    assert [o.reason for o in result.outcomes if o.status == "failed"] == []
    finished = [outcome for outcome in result.outcomes if outcome.finished]
    if not finished:
        pytest.skip(f"nobody can run here: {sorted(set(absent))}")
    for outcome in finished:
        assert len(outcome.seconds) == 1
        assert outcome.seconds[0] > 0
        assert outcome.score is not None
        assert math.isfinite(outcome.score)


def test_names_files_and_results_agree():
    files = {path.stem for path in (REPOSITORY / "benchmarks" / "jobs").glob("*.py")} - {"__init__"}
    assert files == set(jobs.NAMES)
    results = (REPOSITORY / "benchmarks" / "RESULTS.md").read_text()
    for name in ("scaling", "kernels"):
        assert report.replace_section(results, name, "x") != results
    for name in jobs.NAMES:
        assert load_job(name).name == name
        assert report.replace_section(results, name, "x").count(f"<!-- job: {name} -->") == 1


@pytest.mark.parametrize("name", job_names())
def test_every_job_has_us_and_distinct_contestants_and_checkable_targets(name):
    job = load_job(name)
    assert 0 < job.quick_rows <= job.rows
    for case in job.cases:
        names = [contestant.name for contestant in case.contestants]
        assert len(set(names)) == len(names)
        assert any(contestant.ours for contestant in case.contestants)
        fast = [Outcome(c.name, c.ours, seconds=[1.0], score=1.0, peak_bytes=1) for c in case.contestants]
        result = empty_result(case)
        result.outcomes, result.work, result.memory_limit = fast, 1.0, 10.0
        # A target that names a contestant which is not there could never be reached.
        assert all(target.verdict(result).reached is not None for target in case.targets)


def test_unknown_jobs_cases_and_contestants_name_the_known_ones():
    with pytest.raises(KeyError, match="boosting_1m"):
        load_job("boosting_1M")
    with pytest.raises(KeyError, match="grown out"):
        load_case("tree", "grown")
    with pytest.raises(KeyError, match="scikit-learn"):
        load_case("tree", "depth 8").contestant("sklearn")


def test_absence_is_told_apart_from_failure(tmp_path, monkeypatch):
    with pytest.raises(AbsentError, match="not installed"):
        require("a_library_that_nobody_has")
    with pytest.raises(AbsentError, match="not installed"):
        require("sklearn.NoSuchThing")
    (tmp_path / "broken_library.py").write_text("import a_dependency_that_nobody_has\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="a_dependency_that_nobody_has"):
        require("broken_library")


def test_absent_public_tables_say_where_they_were_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("HORNBEAM_SHARED_DATA", str(tmp_path))
    with pytest.raises(DataAbsentError, match="HORNBEAM_SHARED_DATA"):
        data.letter()
    result = raced("boosting_covertype", load_case("boosting_covertype", "fit"))
    sklearn = next(o for o in result.outcomes if o.contestant == "scikit-learn HGB")
    assert sklearn.status == "absent"
    assert "covertype.csv.gz" in sklearn.reason


# ------------------------------------------------------------------------------------------- measuring


def test_contestants_in_processes_of_their_own_measure_time_score_and_memory():
    job = load_job("tree")
    results = list(run_job(job, TINY, repeats=2, only="scikit"))
    assert [result.case for result in results] == ["grown out", "depth 8"]
    for result in results:
        (outcome,) = result.outcomes
        assert outcome.status == "ok", outcome.reason
        assert len(outcome.seconds) == len(outcome.cpu_seconds) == 2
        assert 0.4 < outcome.score <= 1
        assert outcome.versions["scikit-learn"]
        if sys.platform == "linux":
            assert outcome.peak_bytes is not None
        assert [verdict.reached for verdict in result.verdicts] == [None, None]


def test_a_contestant_that_takes_too_long_is_stopped_and_says_so():
    result = next(run_job(load_job("tree"), TINY, repeats=1, only="scikit", limit=0.01))
    (outcome,) = result.outcomes
    assert (outcome.status, outcome.reason) == ("stopped", "stopped after 0.01 s")
    assert not outcome.finished


def allocating_case(prepared: int, used: int) -> Case:
    def run_it(state: object, table: Dataset) -> int:
        return int(np.ones(used, dtype=np.uint8).sum())

    contestant = Contestant(
        "allocates",
        needs=("numpy",),
        prepare=lambda table, setting: np.ones(prepared, dtype=np.uint8),
        run=run_it,
        score=lambda state, result, table: float(result),
    )
    return Case("memory", lambda setting: data.staircase(10), (contestant,), score_name="bytes")


@pytest.mark.skipif(sys.platform != "linux", reason="the peak is read from /proc")
def test_peak_memory_counts_the_run_and_not_the_preparation():
    case = allocating_case(prepared=200_000_000, used=60_000_000)
    session = Session(case, case.contestants[0], TINY)
    session.open()
    timing = session.run()
    if timing.peak_bytes is None:
        pytest.skip("this system does not let a process reset its own peak")
    assert 55_000_000 < timing.peak_bytes < 120_000_000
    assert session.score() == 60_000_000


def test_a_failing_contestant_is_reported_and_the_others_go_on():
    good = load_case("tree", "depth 8").contestant("scikit-learn")

    def explode(state: object, table: Dataset) -> object:
        raise RuntimeError("boom")

    bad = Contestant("bad", ("numpy",), lambda table, setting: None, explode, lambda *_: 0.0)
    case = Case("mixed", lambda setting: data.rounded(100), (bad, good), score_name="test accuracy")
    MIXED["case"] = case
    result = empty_result(case)
    race(case, [bad, good], (f"{__name__}:mixed_case", {}), TINY, result, in_this_process=True)
    assert [outcome.status for outcome in result.outcomes] == ["failed", "ok"]
    assert result.outcomes[0].reason == "RuntimeError: boom"


MIXED: dict[str, Case] = {}


def mixed_case() -> Case:
    return MIXED["case"]


# ------------------------------------------------------------------------------------------- reporting


def result_with_times(**times: float) -> CaseResult:
    case = load_case("forest", "fit")
    result = empty_result(case)
    result.data = "noisy: 400 x 20"
    result.outcomes = [
        Outcome(name, name.startswith("hornbeam"), seconds=[2 * seconds, seconds, 3 * seconds], score=0.8)
        for name, seconds in times.items()
    ]
    result.outcomes.append(Outcome("late", False, status="absent", reason="not installed"))
    return result


def test_ratios_use_best_times_of_peers_only():
    result = result_with_times(hornbeam=1.0, quick=3.0, slow=12.0)
    ratios = {o.contestant: result.speed_against_fastest_peer(o) for o in result.outcomes}
    assert ratios == {"hornbeam": 3.0, "quick": 1.0, "slow": 0.25, "late": None}
    assert result.outcomes[0].median == 2.0


def test_targets_are_judged_by_what_was_measured():
    result = result_with_times(hornbeam=1.0, quick=3.0)
    assert times_faster_than_fastest(3).verdict(result).reached is True
    assert times_faster_than("quick", 3.1).verdict(result).reached is False
    assert times_faster_than("late", 2).verdict(result).reached is None
    assert at_most_times_slower("quick", "hornbeam", 2.9).verdict(result).reached is False
    result.outcomes[0].score = 0.7995
    assert score_near("quick", 0.001).verdict(result).reached is True
    assert score_near("quick", 0.0001).verdict(result).reached is False
    result.outcomes[0].score, result.outcomes[1].score = 6.0, 10.0
    assert score_at_most_share_of("quick", 0.6).verdict(result).reached is True
    assert score_at_most_share_of("quick", 0.59).verdict(result).reached is False
    assert score_at_most_share_of("late", 0.6).verdict(result).reached is None


def test_sections_of_results_are_replaced_alone():
    text = (
        "# Results\n<!-- job: a -->\nold\n<!-- end: a -->\nbetween\n<!-- job: b -->\nkept\n<!-- end: b -->\n"
    )
    replaced = report.replace_section(text, "a", "new")
    assert "old" not in replaced
    assert "<!-- job: a -->\nnew\n<!-- end: a -->\nbetween\n<!-- job: b -->\nkept" in replaced
    assert report.replace_section(replaced, "a", "new") == replaced
    with pytest.raises(ValueError, match="no section for 'c'"):
        report.replace_section(text, "c", "new")


def test_the_picture_shows_what_the_tables_say(tmp_path):
    result = result_with_times(hornbeam=1.0, quick=0.0305, slow=12.0)
    section = report.as_markdown(report.this_machine(), [result])
    text = f"<!-- job: forest -->\n{section}\n<!-- end: forest -->\n"
    (panel,) = results_chart.read_panels(text)
    assert panel[:2] == ("forest", "fit")
    assert {bar.contestant: (bar.seconds, bar.time) for bar in panel.bars} == {
        "quick": (0.0305, "30.50 ms"),
        "hornbeam": (1.0, "1.000 s"),
        "slow": (12.0, "12.000 s"),
    }
    (tmp_path / "results.md").write_text(text)
    results_chart.draw(tmp_path / "results.md", tmp_path / "results.png")
    assert (tmp_path / "results.png").read_bytes().startswith(b"\x89PNG")


def test_the_picture_of_losses_shows_what_the_tables_say(tmp_path):
    turns = [
        Turn(learner, table, 900, 0, fold, loss=loss, seconds=1.0)
        for learner, losses in {"hornbeam boosting": (0.2, 0.5), "CatBoost": (0.4, 0.25)}.items()
        for table, loss in zip(("ours", "theirs"), losses, strict=True)
        for fold in range(2)
    ]
    section = as_markdown(turns, ["hornbeam boosting"], "Measured.")
    text = f"<!-- job: quality -->\n{section}\n<!-- end: quality -->\n"
    assert picture.losses_of(text) == {
        "ours": {"hornbeam boosting": 0.2, "CatBoost": 0.4},
        "theirs": {"hornbeam boosting": 0.5, "CatBoost": 0.25},
    }
    assert picture.losses_of(text, "another job") == {}
    (tmp_path / "results.md").write_text(text)
    picture.draw(tmp_path / "results.md", tmp_path / "quality.png")
    assert (tmp_path / "quality.png").read_bytes().startswith(b"\x89PNG")


def test_every_job_in_the_picture_has_a_table():
    text = (run.REPOSITORY / "benchmarks" / "RESULTS.md").read_text()
    assert {panel.job for panel in results_chart.read_panels(text)} == set(results_chart.JOBS)


def test_a_run_says_what_others_took_from_it():
    quiet = dataclasses.replace(report.this_machine(), busy=0.01, stolen=None)
    assert not quiet.is_busy
    assert "1% in use before the run" in quiet.sentence()
    robbed = dataclasses.replace(quiet, stolen=0.14)
    assert robbed.is_busy
    assert robbed.sentence().endswith("14% taken by other tenants during it")
    share = report.StolenTime().share()
    assert share is None or 0 <= share <= 1


def test_files_hold_every_contestant_and_every_run(tmp_path):
    pytest.importorskip("matplotlib")
    machine = report.this_machine()
    result = result_with_times(hornbeam=1.0, quick=3.0)
    result.verdicts = [times_faster_than_fastest(2).verdict(result)]
    report.write_json(tmp_path / "deep" / "out.json", machine, [result])
    (stored,) = json.loads((tmp_path / "deep" / "out.json").read_text())["results"]
    assert [o["seconds"] for o in stored["outcomes"]] == [[2.0, 1.0, 3.0], [6.0, 3.0, 9.0], []]
    report.write_chart(tmp_path / "chart.png", machine, [result])
    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
    results = tmp_path / "RESULTS.md"
    results.write_text("<!-- job: job -->\nNo run yet.\n<!-- end: job -->\n")
    report.write_section(results, machine, [result])
    written = results.read_text()
    assert "No run yet" not in written
    assert "| hornbeam | 1.000 s | 2.000 s | 3.00x | 0.8000 |" in written
    assert "| late | not installed |" in written
    assert "target >= 2x the fastest peer: 3.00x quick, reached" in written
    assert machine.cpu in written


def test_the_command_runs_a_job_and_writes_files(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib")
    results = tmp_path / "RESULTS.md"
    results.write_text(run.RESULTS.read_text())
    monkeypatch.setattr(run, "RESULTS", results)
    files = ["--json", str(tmp_path / "r.json"), "--chart", str(tmp_path / "r.png")]
    code = run.main(["tree", "--rows", "300", "--repeats", "1", "--write-results", *files])
    assert code == 0
    section = results.read_text().partition("<!-- job: tree -->")[2].partition("<!-- end: tree -->")[0]
    assert section.count("| scikit-learn |") == 2
    assert "300 x 8" in section
    assert (tmp_path / "results.png").exists()
    assert len(json.loads((tmp_path / "r.json").read_text())["results"]) == 2
    assert "scikit-learn" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["no_such_job"], "unknown job 'no_such_job'"),
        (["tree", "--rows", "0"], "at least 1"),
        (["tree", "--only", "x", "--write-results"], "leave out --only"),
    ],
)
def test_wrong_calls_are_explained(words, complaint, capsys):
    with pytest.raises(SystemExit) as stop:
        run.main(words)
    assert stop.value.code == 2
    assert complaint in capsys.readouterr().err


def test_settings_follow_the_options_and_jobs_about_one_thread_keep_it():
    chosen = run.arguments(["tree", "forest", "--quick", "--threads", "2", "--trees", "7"])
    assert run.setting_for(load_job("forest"), chosen) == Setting(rows=10_000, threads=2, trees=7)
    assert run.setting_for(load_job("tree"), chosen).threads == 1
    assert run.setting_for(load_job("forest"), run.arguments(["--rows", "123"])).rows == 123


@pytest.mark.parametrize("name", ["answers", "boosting", "kernels", "measure"])
def test_the_program_that_measures_kernels_compiles(name: str) -> None:
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    if compiler is None:
        pytest.skip("needs a C++ compiler")
    source = REPOSITORY / "benchmarks" / "kernels" / f"{name}.cpp"
    options = ["-std=c++20", "-fsyntax-only", f"-I{REPOSITORY / 'cpp'}"]
    done = subprocess.run([compiler, *options, source], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
