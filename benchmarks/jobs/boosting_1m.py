"""Gradient boosting on 1,000,000 x 28: 100 trees, 63 leaves, 255 bins; binning is part of the time."""

from __future__ import annotations

from benchmarks import data
from benchmarks.harness import Case, Job
from benchmarks.learners.boosting import Plan, boosting_contestants
from benchmarks.targets import score_near, times_faster_than_fastest

JOB = Job(
    name="boosting_1m",
    title="Gradient boosting, 1M x 28, 100 trees of 63 leaves, 255 bins, binning included",
    rows=1_000_000,
    quick_rows=50_000,
    cases=(
        Case(
            name="fit",
            data=lambda setting: data.physics(setting.rows),
            contestants=boosting_contestants(Plan()),
            score_name="test AUC",
            targets=(times_faster_than_fastest(2), score_near("LightGBM", 0.0005)),
        ),
    ),
)
