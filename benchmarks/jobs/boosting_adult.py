"""Gradient boosting on the public adult table: categories and missing values, by each library's own means."""

from __future__ import annotations

from benchmarks import data
from benchmarks.harness import Case, Job
from benchmarks.learners.boosting import Plan, boosting_contestants
from benchmarks.targets import score_near, times_faster_than_fastest

JOB = Job(
    name="boosting_adult",
    title="Gradient boosting, adult, categories and missing values, 100 trees of 63 leaves",
    rows=32_561,
    quick_rows=8_000,
    cases=(
        Case(
            name="fit",
            data=lambda setting: data.adult(setting.rows),
            contestants=boosting_contestants(Plan()),
            score_name="test AUC",
            targets=(times_faster_than_fastest(2), score_near("LightGBM", 0.0005)),
        ),
    ),
    notes="CatBoost encodes categories by ordered target statistics; the others split on sets of categories.",
)
