"""Peak memory of a boosting fit on a million rows, two and seven classes, against our own limit."""

from __future__ import annotations

from benchmarks import data
from benchmarks.data import Dataset
from benchmarks.harness import Case, Job
from benchmarks.learners.boosting import Plan, boosting_contestants
from benchmarks.scores import usual_score
from benchmarks.targets import memory_within_limit

LIMIT_IN_WORDS = (
    "peak <= 3 bytes per value + 40 bytes per row (+ 16 per row and class beyond two) above the data"
)


def limit(table: Dataset) -> float:
    """Bytes that a fit may take on top of its input."""
    per_row = 40 + 16 * max(0, table.classes - 2)
    return table.rows * (3 * table.features + per_row)


def _case(name: str, plan: Plan) -> Case:
    return Case(
        name=name,
        data=lambda setting: data.physics(setting.rows, classes=plan.classes),
        contestants=boosting_contestants(plan),
        score_name=usual_score(plan.task),
        targets=(memory_within_limit(LIMIT_IN_WORDS),),
        memory_limit=limit,
    )


JOB = Job(
    name="memory_boosting",
    title="Peak memory of boosting, 1M x 28, 10 rounds of 63 leaves",
    rows=1_000_000,
    quick_rows=100_000,
    cases=(
        _case("2 classes", Plan(trees=10)),
        _case("7 classes", Plan(trees=10, task="multiclass", classes=7)),
    ),
    notes="Memory is what the first fit adds to a process that has imported the library and loaded the data.",
)
