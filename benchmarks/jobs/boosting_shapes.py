"""Gradient boosting on awkward tables: skewed, few distinct values, duplicated rows, missing, categories."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks import data
from benchmarks.data import Dataset
from benchmarks.harness import Case, Job
from benchmarks.learners.boosting import Plan, boosting_contestants
from benchmarks.targets import score_near, times_faster_than_fastest

SHAPES: dict[str, Callable[[int], Dataset]] = {
    "skewed": data.skewed,
    "few values": data.few_values,
    "duplicates": data.duplicates,
    "missing": data.missing,
    "categorical": data.categorical,
}


def _case(name: str, generate: Callable[[int], Dataset]) -> Case:
    return Case(
        name=name,
        data=lambda setting: generate(setting.rows),
        contestants=boosting_contestants(Plan()),
        score_name="test AUC",
        targets=(times_faster_than_fastest(2), score_near("LightGBM", 0.003)),
    )


JOB = Job(
    name="boosting_shapes",
    title="Gradient boosting on awkward columns, 100 trees of 63 leaves",
    rows=100_000,
    quick_rows=10_000,
    cases=tuple(_case(name, generate) for name, generate in SHAPES.items()),
)
