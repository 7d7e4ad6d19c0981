"""Gradient boosting on a wide table, 100,000 x 400: 100 trees, 63 leaves, 255 bins."""

from __future__ import annotations

from benchmarks import data
from benchmarks.harness import Case, Job
from benchmarks.learners.boosting import Plan, boosting_contestants
from benchmarks.targets import score_near, times_faster_than_fastest

JOB = Job(
    name="boosting_wide",
    title="Gradient boosting, 100k x 400, 100 trees of 63 leaves, 255 bins, binning included",
    rows=100_000,
    quick_rows=10_000,
    cases=(
        Case(
            name="fit",
            data=lambda setting: data.wide(setting.rows),
            contestants=boosting_contestants(Plan(lightgbm_layout="col")),
            score_name="test AUC",
            targets=(times_faster_than_fastest(2), score_near("LightGBM", 0.0005)),
        ),
    ),
)
