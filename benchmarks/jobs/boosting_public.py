"""Gradient boosting on smaller public tables: physics, letters, digits, house prices, flights."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import data
from benchmarks.data import Dataset
from benchmarks.harness import Case, Job
from benchmarks.learners.boosting import Plan, boosting_contestants
from benchmarks.scores import usual_score
from benchmarks.targets import score_near, times_faster_than_fastest


def _case(name: str, read: Callable[[int | None], Dataset], plan: Plan) -> Case:
    return Case(
        name=name,
        data=lambda setting: read(setting.rows),
        contestants=boosting_contestants(plan),
        score_name=usual_score(plan.task),
        targets=(times_faster_than_fastest(2), score_near("LightGBM", 0.005)),
    )


def _plan(**differences: object) -> Plan:
    return Plan(leaves=31, depth=5, **differences)  # type: ignore[arg-type]


JOB = Job(
    name="boosting_public",
    title="Gradient boosting on smaller public tables, 100 rounds of 31 leaves",
    rows=1_000_000,
    quick_rows=2_000,
    cases=(
        _case("higgs_7500", data.higgs_7500, _plan()),
        _case("letter", data.letter, _plan(task="multiclass", classes=26)),
        _case("mnist_20k", data.mnist_20k, _plan(task="multiclass", classes=10, lightgbm_layout="col")),
        _case("california_housing", data.california_housing, _plan(task="regression")),
        _case("nycflights13", data.nycflights13, _plan()),
    ),
    notes="All rows of each table are used; `--rows` limits them.",
)
